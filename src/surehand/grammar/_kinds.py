"""What kind of JSON a value is, and whether two values are the same."""

from __future__ import annotations

from typing import Any, TypeGuard

__all__ = ["is_list", "is_object", "kind_of", "same_value"]


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a value that was read from JSON is an object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether a value that was read from JSON is a list."""
    return isinstance(value, list)


def kind_of(value: object) -> str:
    """The value's kind in JSON's words, with an article."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a text"
    return "a list" if isinstance(value, list | tuple) else f"a value of type {type(value).__name__}"


def same_value(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: 1 is neither 1.0 nor true, and the order of keys says nothing."""
    rest = [(one, other)]
    while rest:
        one, other = rest.pop()
        if type(one) is not type(other):
            return False
        if is_object(one):
            if one.keys() != other.keys():
                return False
            rest.extend((item, other[key]) for key, item in one.items())
        elif is_list(one):
            if len(one) != len(other):
                return False
            rest.extend(zip(one, other, strict=True))
        elif one != other or (isinstance(one, float) and str(one) != str(other)):
            return False
    return True
