"""Whether two values are the same: equal, of the same types all the way down, in the same order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from surehand.messages import Message, parts_of

__all__ = ["is_same"]


def is_same(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        return False
    if isinstance(left, Message):
        return is_same(parts_of(left), parts_of(right))
    if isinstance(left, dict):
        return _are_same(left.items(), right.items())  # pyright: ignore[reportUnknownArgumentType] - of anything
    if isinstance(left, list | tuple | deque):
        return _are_same(left, right)  # pyright: ignore[reportUnknownArgumentType] - of anything
    if isinstance(left, float | complex):
        return repr(left) == repr(right)
    return bool(left == right)


def _are_same(left: Iterable[Any], right: Iterable[Any]) -> bool:
    lefts, rights = list(left), list(right)
    return len(lefts) == len(rights) and all(map(is_same, lefts, rights))
