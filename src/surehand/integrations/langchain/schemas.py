"""The arguments of a LangChain tool, checked as those of any tool are.

LangChain checks them once more when it runs the tool. A value that was made typed must not go through that again: a
validator that adds one would add two. So the typed values are for whoever looks at the call, and the tool is given the
arguments that they were made of.
"""

# LangChain's own types are partly unknown, and isinstance() narrows Any to a container of unknown items.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Any, get_args, get_origin

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, Tool
from pydantic import AliasChoices, BaseModel, Field, create_model
from typing_extensions import override

from surehand.integrations.langchain.markers import RUN_PARAMETERS, body_of
from surehand.spec import ArgumentSchema, schema_of
from surehand.spec.json_schema import JsonSchema
from surehand.spec.signature import Parameter, read_signature
from surehand.spec.typed_schema import ModelSchema, SignatureSchema

__all__ = ["Checked", "CheckedSchema", "schema_for"]


class Checked(dict[str, Any]):
    """Typed values, and the arguments that they were made of."""

    __slots__ = ("sent",)
    sent: dict[str, Any]


class CheckedSchema(ArgumentSchema):
    """A schema whose values remember what they were made of.

    Args:
        inner: What checks them.
    """

    def __init__(self, inner: ArgumentSchema) -> None:
        self._inner = inner
        self.model = inner.model
        self.json_schema = inner.json_schema
        self.names = inner.names
        self.required = inner.required
        self.extras = inner.extras
        self.directions = inner.directions
        self.other_direction = inner.other_direction
        self.is_exact = inner.is_exact
        self.is_input_shown = inner.is_input_shown

    @override
    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        values = Checked(self._inner.validate(arguments))
        values.sent = dict(arguments)
        return values

    @override
    def dump_json(self, arguments: Mapping[str, Any]) -> str:
        return self._inner.dump_json(arguments)


def schema_for(tool: BaseTool, *, hidden: frozenset[str]) -> ArgumentSchema:
    """The schema of a tool's arguments, without the parameters that its host fills.

    Raises:
        ToolDefinitionError: No schema can be made of what the tool declares.
        MissingExtraError: It declares a JSON Schema, and the ``jsonschema`` extra is not installed.
    """
    declared: Any = tool.args_schema
    if isinstance(declared, Mapping):
        return CheckedSchema(JsonSchema(declared, tool=tool.name, hidden=hidden))
    if isinstance(declared, type) and issubclass(declared, BaseModel):
        return CheckedSchema(ModelSchema(declared, hidden=hidden))
    if declared is not None:  # a model of pydantic.v1
        return CheckedSchema(schema_of(tool.tool_call_schema if hidden else declared, tool=tool.name))
    if isinstance(tool, Tool):
        return CheckedSchema(ModelSchema(_SingleText))
    return _of_signature(tool, hidden=hidden)


_SingleText = create_model("SingleText", tool_input=(str, Field(validation_alias=AliasChoices("__arg1", "tool_input"))))
"""A tool of one text; LangChain tells models that its argument is called ``__arg1``."""


def _of_signature(tool: BaseTool, *, hidden: frozenset[str]) -> ArgumentSchema:
    """LangChain checks nothing here, so the function is given the typed values themselves."""
    signature = read_signature(body_of(tool), tool=tool.name)
    kept = tuple(_seen_by_model(signature.parameters, hidden))
    return SignatureSchema(replace(signature, parameters=kept), tool=tool.name, descriptions={})


def _seen_by_model(parameters: Iterable[Parameter], hidden: frozenset[str]) -> Iterable[Parameter]:
    return (
        parameter
        for parameter in parameters
        if parameter.name not in hidden | RUN_PARAMETERS and not _is_config(parameter.annotation)
    )


def _is_config(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        return _is_config(get_args(annotation)[0])
    return annotation is RunnableConfig or any(map(_is_config, get_args(annotation)))
