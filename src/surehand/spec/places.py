"""Values at places inside of JSON values."""

from __future__ import annotations

from typing import Any, TypeAlias

from surehand.shapes import is_array, is_object, items_of

__all__ = ["Place", "pointed", "value_at", "with_value"]

Place: TypeAlias = tuple[str | int, ...]
"""The keys and indices that lead to a value; empty for the whole."""


def value_at(whole: Any, place: Place) -> Any:
    """The value that keys and indices lead to; None where there is none."""
    value = whole
    for step in place:
        if is_object(value):
            value = value.get(str(step))
        else:
            items = items_of(value)
            value = items[step] if isinstance(step, int) and step < len(items) else None
    return value


def with_value(whole: Any, place: Place, value: Any) -> Any:
    """The whole with another value at a place; what lies on the way is copied, and nothing changed."""
    if not place:
        return value
    step, *rest = place
    if isinstance(step, int):
        return [with_value(item, tuple(rest), value) if index == step else item for index, item in enumerate(whole)]
    return {**whole, step: with_value(whole.get(step), tuple(rest), value)}


def pointed(whole: Any, pointer: str) -> Any:
    """The value that a JSON pointer such as ``/$defs/Point`` leads to; the whole where it is empty.

    Raises:
        LookupError: It leads nowhere.
    """
    first, *steps = pointer.split("/")
    if first:
        raise LookupError(pointer)
    found = whole
    for step in steps:
        key = step.replace("~1", "/").replace("~0", "~")
        if is_object(found) and key in found:
            found = found[key]
        elif is_array(found) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            raise LookupError(pointer)
    return found
