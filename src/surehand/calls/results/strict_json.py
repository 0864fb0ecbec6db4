"""Strict JSON text: no NaN, no escaped Unicode, and a quick way for what is plain JSON data already."""

# Values of any type are read here, and isinstance() narrows Any to a container of unknown items.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import json
from types import NoneType
from typing import Any, Final

__all__ = ["MAX_VALUES", "encode", "encode_plain", "is_plain"]

MAX_VALUES: Final = 100_000
"""The most values of one result that are read, items and fields of all levels together; the rest is cut with a note."""
_SCALARS: Final = frozenset({str, int, float, bool, NoneType})

encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False).encode
"""Writes plain data without cycles; raises ValueError for NaN, infinity and integers of too many digits."""


def encode_plain(value: Any) -> str | None:
    """The value's JSON where it is plain data of exactly the JSON types; None where it is not."""
    try:
        return encode(value) if is_plain(value) else None
    except (ValueError, RecursionError, RuntimeError):
        # NaN, an integer of more digits than the interpreter converts, nesting beyond the stack, or a container that
        # another thread changes meanwhile: the long way copes with all of them.
        return None


def is_plain(value: Any) -> bool:
    """Whether the value is made of dicts with text keys, lists and scalars only, none of them subclassed.

    Subclasses are looked at more closely, because the encoder would take an enum's or a named tuple's base for it,
    and it would turn the key 1 into "1" without a word. The bound also ends the walk through a cycle.
    """
    if type(value) in _SCALARS:
        return True
    waiting = [value]
    for _ in range(MAX_VALUES):
        if not waiting:
            return True
        item = waiting.pop()
        if type(item) is dict:
            for key, inner in item.items():
                if type(key) is not str:
                    return False
                if type(inner) not in _SCALARS:
                    waiting.append(inner)
        elif type(item) is list:
            waiting += [inner for inner in item if type(inner) not in _SCALARS]
        else:
            return False
    return False
