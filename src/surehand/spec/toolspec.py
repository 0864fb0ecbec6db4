"""A tool as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

from surehand.errors import OptionError
from surehand.policy import ToolOptions, flag
from surehand.spec.body import Body
from surehand.spec.injection import Injection
from surehand.spec.names import check_tool_name
from surehand.spec.schema import ArgumentSchema

__all__ = ["ResponseFormat", "ToolSpec"]

ResponseFormat: TypeAlias = Literal["content", "content_and_artifact"]
"""What a tool returns: the content alone, or a pair of content and artifact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """Everything that a call has to know about a tool."""

    name: str
    """What the model calls it by."""
    description: str
    """What the model is told about it; may be empty."""
    schema: ArgumentSchema
    """The arguments the model may give."""
    body: Body
    """What is run."""
    options: ToolOptions = field(default_factory=ToolOptions)
    """How it is run; unset options are the node's to decide."""
    return_direct: bool = False
    """Whether an agent ends with the result as its answer."""
    response_format: ResponseFormat = "content"
    """Whether the function returns a pair of content and artifact."""
    tags: tuple[str, ...] = ()
    """Free-form words for traces and filters."""
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The host's own notes about the tool; nothing of it goes to a model."""

    def __post_init__(self) -> None:
        check_tool_name(self.name)
        flag("return_direct", self.return_direct)
        if self.response_format not in get_args(ResponseFormat):
            raise OptionError(
                option="response_format", value=self.response_format, expected=" or ".join(get_args(ResponseFormat))
            )

    @property
    def injections(self) -> tuple[Injection, ...]:
        """What the host has to put into a call."""
        return self.body.injections

    def bind(self, receiver: object) -> ToolSpec:
        """The same tool for a method that was taken from its class, bound to an instance (or class)."""
        return replace(self, body=self.body.bind(receiver))
