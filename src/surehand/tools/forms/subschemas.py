"""Copies of a JSON Schema with other schemas inside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from surehand.shapes import is_array, is_object
from surehand.spec.json_places import LISTED, NAMED, SINGLE

__all__ = ["Step", "rewritten"]

Step: TypeAlias = Callable[[dict[str, Any], str], dict[str, Any]]
"""Takes a schema, which it may change, and its place, and returns what is to stand there."""


def rewritten(schema: Any, step: Step, place: str = "$") -> Any:
    """A copy of a schema in which the step has been taken at every schema, the innermost first.

    Values that are no schemas (``enum``, ``default``, ``examples``) are copied as they are.
    """
    if not is_object(schema):
        return schema
    return step({key: _inside(key, value, step, place) for key, value in schema.items()}, place)


def _inside(key: str, value: Any, step: Step, place: str) -> Any:
    if key in NAMED and is_object(value):
        return {name: rewritten(inner, step, _named_place(key, name, place)) for name, inner in value.items()}
    inner_place = f"{place}[]" if "tems" in key else place
    if key in LISTED and is_array(value):
        return [rewritten(item, step, inner_place) for item in value]
    if key in SINGLE and is_object(value):
        return rewritten(value, step, inner_place)
    return _copied(value)


def _named_place(key: str, name: str, place: str) -> str:
    return f"${name}" if key in ("$defs", "definitions") else f"{place}.{name}"


def _copied(value: Any) -> Any:
    """A copy of JSON data, faster than ``copy.deepcopy`` and without its surprises for mappings that are no dicts."""
    if is_array(value):
        return [_copied(item) for item in value]
    if is_object(value):
        pairs: Mapping[str, Any] = value
        return {key: _copied(item) for key, item in pairs.items()}
    return value
