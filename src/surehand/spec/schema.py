"""What every schema of arguments can do, whatever it was written in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from surehand.shapes import is_array, is_object
from surehand.spec.directions import Direction, direct
from surehand.spec.places import Place

__all__ = ["ArgumentSchema", "Extras", "Problem", "SchemaMismatch", "Wanted", "without"]

Extras: TypeAlias = Literal["drop", "refuse", "collect"]
"""What becomes of an argument that the schema does not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One broken rule of a schema, worded for a model."""

    place: Place
    """The keys and indices that lead to the value; empty for the whole object."""
    text: str
    """What is wrong, as a clause."""
    rule: str
    """The machine-readable name of the rule."""
    expected: str = ""
    """What would be right, as a noun with its article, where the problem is a wrong type; else empty."""
    received: str = ""
    """What was given, where ``expected`` is filled."""
    is_authors: bool = False
    """Whether the text is that of the schema's author, whose validator may say what no model should read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a validator asked for at a place where it refused a value."""

    place: Place
    """The keys and indices that lead to the value."""
    types: frozenset[str]
    """The JSON types that it takes there."""
    choices: tuple[Any, ...] = ()
    """The only values that it takes there; empty where it takes others."""


class SchemaMismatch(Exception):
    """Arguments did not fit a schema. Private to ``spec`` and ``arguments``.

    The wording is made on demand: most mismatches are cured by a coercion and never told.
    """

    def __init__(
        self,
        *,
        error: Exception,
        describe: Callable[[], list[Problem]],
        wanted: Callable[[], list[Wanted]] = list[Wanted],
    ) -> None:
        super().__init__(str(error))
        self.error = error
        """What the validator raised."""
        self.describe = describe
        """Words every problem."""
        self.wanted = wanted
        """What the validator asked for instead, where it says so; a schema alone may leave it open."""


class ArgumentSchema(ABC):
    """The arguments of a tool: what the model is shown, and how what it sends is checked.

    Instances never change and may be shared between threads.
    """

    model: type | None = None
    """The class behind the schema; None for a JSON Schema."""
    json_schema: dict[str, Any]
    """What the model sees: wire names, descriptions, defaults; no injected parameter, no generated title."""
    names: dict[str, str]
    """Every name an argument may be given under -> the name that ``validate`` takes."""
    required: frozenset[str]
    """The names, as ``validate`` takes them, that have to be there."""
    extras: Extras
    """What becomes of an argument that has none of the names."""
    directions: dict[str, Direction]
    """Name as ``validate`` takes it -> what may be done to a value to make it fit."""
    other_direction: Direction | None
    """What may be done to the value of any other argument; None where the schema says nothing about it."""
    is_exact: bool = False
    """Whether ``validate`` hands values on as they are, and drops no key of a nested object."""
    is_input_shown: bool = True
    """Whether a complaint may show the value that was sent."""

    @abstractmethod
    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Python name -> typed value, defaults filled.

        Raises:
            SchemaMismatch: The arguments break a rule.
        """

    @abstractmethod
    def dump_json(self, arguments: Mapping[str, Any]) -> str:
        """The validated arguments as JSON text.

        Raises:
            SchemaMismatch: The arguments break a rule.
        """

    def _direct(self, schema: dict[str, Any]) -> Direction:
        """Fill what follows from the JSON Schema that the validator itself goes by, and return its directions."""
        root = direct(schema)
        self.directions = root.properties
        self.names = root.names
        self.other_direction = root.extras if isinstance(root.extras, Direction) else None
        self.required = root.required
        self.extras = "drop" if root.extras is None else "refuse" if root.extras is False else "collect"
        return root


def without(schema: dict[str, Any], hidden: frozenset[str]) -> dict[str, Any]:
    """The JSON Schema of an object without some of its properties."""
    found = dict(schema)
    if hidden and is_object(properties := schema.get("properties")):
        found["properties"] = {name: part for name, part in properties.items() if name not in hidden}
    if hidden and is_array(required := schema.get("required")):
        found["required"] = [name for name in required if name not in hidden]
    return found
