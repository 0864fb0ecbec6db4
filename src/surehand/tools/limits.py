"""How large a strict schema may be: what providers count before they compile it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from surehand.shapes import is_array, is_object
from surehand.tools.forms import Notes
from surehand.tools.forms.lists import types_of

__all__ = ["SchemaLimits", "Size", "check_limits", "size_of"]

_LARGE_ENUM: Final = 250
_LARGE_ENUM_CHARACTERS: Final = 15_000
"""What OpenAI lets the texts of one enum of more than 250 values take together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaLimits:
    """How much of something a strict schema may hold; None where the provider does not count it."""

    properties: int | None = None
    enum_values: int | None = None
    depth: int | None = None
    """Objects and lists inside of one another, the whole among them."""
    characters: int | None = None
    """Those of the names, definitions, and values of ``enum`` and ``const`` together."""
    optional: int | None = None
    """Properties that may be left out."""
    unions: int | None = None
    """Properties with several types."""


class Size:
    """What is counted in one strict schema."""

    def __init__(self) -> None:
        self.properties = 0
        self.enum_values = 0
        self.depth = 0
        self.characters = 0
        self.optional = 0
        self.unions = 0
        self.largest_enum = 0
        """Characters of the largest enum among those that are counted by themselves."""


def size_of(schema: Mapping[str, Any]) -> Size:
    """What providers count in a strict schema; references are not followed."""
    size = Size()
    _count(schema, size, depth=0)
    return size


def check_limits(schema: Mapping[str, Any], limits: SchemaLimits, notes: Notes) -> None:
    """Refuse a schema that the provider would refuse for its size.

    Raises:
        ToolDefinitionError: Something is more than the provider takes.
    """
    size = size_of(schema)
    counted = (
        (size.properties, limits.properties, "properties", "Take fewer"),
        (size.enum_values, limits.enum_values, "values in its enums", "Take a text, and say what it may be"),
        (size.depth, limits.depth, "objects and lists inside of one another", "Flatten it"),
        (size.characters, limits.characters, "characters in names and enums", "Shorten them"),
        (size.optional, limits.optional, "arguments that may be left out", "Require more of them"),
        (size.unions, limits.unions, "arguments of several types", "Give them one type"),
    )
    for count, most, what, remedy in counted:
        if most is not None and count > most:
            raise notes.refusal("$", f"has {count:,} {what}, more than {most:,}", remedy)
    if limits.enum_values is not None and size.largest_enum > _LARGE_ENUM_CHARACTERS:
        raise notes.refusal("$", f"has an enum of {size.largest_enum:,} characters", "Take a text")


def _count(node: Any, size: Size, *, depth: int) -> None:
    if not is_object(node):
        return
    inside = depth + 1 if {"properties", "items"} & node.keys() else depth
    size.depth = max(size.depth, inside)
    _count_values(node, size)
    for name, inner in node.get("properties", {}).items():
        size.properties += 1
        size.characters += len(name)
        size.optional += name not in node.get("required", [])
        size.unions += "anyOf" in inner or len(types_of(inner)) > 1
        _count(inner, size, depth=inside)
    for inner in _inner(node):
        _count(inner, size, depth=inside)
    for key in ("$defs", "definitions"):
        for name, inner in node.get(key, {}).items():
            size.characters += len(name)
            _count(inner, size, depth=0)


def _count_values(node: Mapping[str, Any], size: Size) -> None:
    values = node.get("enum", [])
    characters = sum(len(value) for value in [*values, node.get("const")] if isinstance(value, str))
    size.enum_values += len(values)
    size.characters += characters
    if len(values) > _LARGE_ENUM:
        size.largest_enum = max(size.largest_enum, characters)


def _inner(node: Mapping[str, Any]) -> Iterator[Any]:
    if "items" in node:
        yield node["items"]
    choices = node.get("anyOf")
    if is_array(choices):
        yield from choices
