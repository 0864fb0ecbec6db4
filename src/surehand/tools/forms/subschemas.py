"""Copies of a JSON Schema with other schemas inside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from surehand.shapes import is_array, is_object
from surehand.spec.json_places import Part, with_parts

__all__ = ["Step", "rewritten"]

Step: TypeAlias = Callable[[dict[str, Any], str], dict[str, Any]]
"""Takes a schema, which it may change, and its place, and returns what is to stand there."""


def rewritten(schema: Any, step: Step, place: str = "$") -> Any:
    """A copy of a schema in which the step has been taken at every schema, the innermost first.

    Values that are no schemas (``enum``, ``default``, ``examples``) are copied as they are.
    """
    return _rewritten(_copied(schema), step, place)


def _rewritten(schema: Any, step: Step, place: str) -> Any:
    if not is_object(schema):
        return schema
    return step(with_parts(schema, lambda part: _rewritten(part.schema, step, _place_of(part, place))), place)


def _place_of(part: Part, place: str) -> str:
    if part.is_definition:
        return f"${part.key}"
    if isinstance(part.key, str):
        return f"{place}.{part.key}"
    return f"{place}[]" if "tems" in part.keyword else place


def _copied(value: Any) -> Any:
    """A copy of JSON data, faster than ``copy.deepcopy`` and without its surprises for mappings that are no dicts."""
    if is_array(value):
        return [_copied(item) for item in value]
    if is_object(value):
        pairs: Mapping[str, Any] = value
        return {key: _copied(item) for key, item in pairs.items()}
    return value
