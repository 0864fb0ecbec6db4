"""How an agent's model is brought to an answer in a form, as the host chooses it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from surehand.policy import count_or_none, flag

__all__ = ["ProviderStrategy", "ToolStrategy"]


@dataclass(frozen=True, slots=True, eq=False)
class ToolStrategy:
    """Has the model give its answer as a call of a tool that is made up for it; works with every model.

    Raises:
        OptionError: ``corrections`` is no whole number above 0.
    """

    schema: Any
    """A pydantic model, a dataclass, a TypedDict, a JSON Schema of an object, or a union of such classes."""
    _: KW_ONLY
    name: str | None = None
    """What the tool is called; None for the class's name or the schema's title."""
    description: str | None = None
    """What the model is told about it; None for the class's docstring or the schema's description."""
    corrections: int | None = 5
    """After how many turns with an answer that is not taken the run ends; None for no limit of its own."""

    def __post_init__(self) -> None:
        count_or_none("corrections", self.corrections)


@dataclass(frozen=True, slots=True, eq=False)
class ProviderStrategy:
    """Has the provider hold the model's text to a schema; for ``ChatOpenAI`` and servers that know ``json_schema``.

    Raises:
        OptionError: ``corrections`` is no whole number above 0, or ``strict`` no bool.
    """

    schema: Any
    """A pydantic model, a dataclass, a TypedDict, or a JSON Schema of an object."""
    _: KW_ONLY
    name: str | None = None
    """What the schema is called; None for the class's name or the schema's title."""
    strict: bool = True
    """Whether the provider is to guarantee the form; it can do so for a part of JSON Schema only."""
    corrections: int | None = 5
    """After how many answers that do not fit the run ends; None for no limit of its own."""

    def __post_init__(self) -> None:
        count_or_none("corrections", self.corrections)
        flag("strict", self.strict)
