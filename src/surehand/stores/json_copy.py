"""Copies of JSON values: what a store keeps must be its own, and must be what every store can keep."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, cast

from surehand.errors import StoreError, shown

__all__ = ["copy_of_object"]

MAX_DEPTH = 200
"""Containers inside containers; deeper values, and those that hold themselves, are refused."""


def copy_of_object(value: object) -> dict[str, Any]:
    """A deep copy of a JSON object; tuples become lists.

    Raises:
        StoreError: The value, or something in it, is no JSON; the message says where.
    """
    if not isinstance(value, Mapping):
        raise StoreError(
            problem=f"A store keeps JSON objects: expected a dict, got {shown(value)}",
            remedy='Wrap the value, for example {"value": …}.',
        )
    return _copy_of_members(cast("Mapping[object, object]", value), "$", 0)


def _copy_of(value: object, path: str, depth: int) -> Any:
    if value is None or isinstance(value, str | bool | int) or (isinstance(value, float) and isfinite(value)):
        return value
    if depth >= MAX_DEPTH:
        raise StoreError(
            problem=f"The value is nested deeper than {MAX_DEPTH} levels, or holds itself, at {path[:80]}",
            remedy="Store a flatter value.",
        )
    if isinstance(value, Mapping):
        return _copy_of_members(cast("Mapping[object, object]", value), path, depth)
    if isinstance(value, list | tuple):
        entries = cast("list[object] | tuple[object, ...]", value)
        return [_copy_of(entry, f"{path}[{index}]", depth + 1) for index, entry in enumerate(entries)]
    raise StoreError(
        problem=f"Not a JSON value at {path}: {shown(value)}",
        remedy="Store texts, numbers, booleans, None, lists and dicts of those.",
    )


def _copy_of_members(value: Mapping[object, object], path: str, depth: int) -> dict[str, Any]:
    copy: dict[str, Any] = {}
    for key, member in value.items():
        if not isinstance(key, str):
            raise StoreError(
                problem=f"A JSON object's keys are texts: got {shown(key)} at {path}", remedy="Use str(key)."
            )
        copy[key] = _copy_of(member, f"{path}.{key}", depth + 1)
    return copy
