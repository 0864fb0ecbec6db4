"""Whether two values are the same: equal, of the same types all the way down, in the same order."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Iterable
from typing import Any, cast

from pydantic import BaseModel

from surehand.messages import Message, parts_of

__all__ = ["is_same"]


def is_same(left: Any, right: Any) -> bool:
    return left is right or _picture(left) == _picture(right)


def _picture(value: object) -> Any:
    """All that can be told of a value, as something that is compared well: also of numbers that are none."""
    kind: Any = type(value)
    held: Any = value
    if isinstance(value, Message):
        held = parts_of(value)
    elif dataclasses.is_dataclass(value):
        held = {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
    elif isinstance(value, BaseModel):
        held = [vars(value), value.model_extra, value.model_fields_set]
    if isinstance(held, dict):
        pairs = cast("Iterable[tuple[Any, Any]]", held.items())
        return kind, [(_picture(key), _picture(item)) for key, item in pairs]
    if isinstance(held, set | frozenset | list | tuple | deque):
        items = [_picture(item) for item in cast("Iterable[Any]", held)]
        return kind, sorted(items, key=repr) if isinstance(held, set | frozenset) else items
    return kind, hex(value) if isinstance(value, int) else repr(value)
