"""The short way: text that is JSON already is left to the standard library and comes out as it is.

`read_plain` only ever says yes or no. Whatever it does not take, for whatever reason, goes to the scanner, which
alone decides and names the fault. One decoder is built here for good: ``json.loads`` with hooks would build one per
call.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from typing import Any, Final, NoReturn

from surehand.grammar._kinds import is_list, is_object
from surehand.grammar._numbers import to_float
from surehand.grammar.limits import MAX_DEPTH, MAX_DIGITS

__all__ = ["NOT_PLAIN", "is_well_formed", "read_plain"]

NOT_PLAIN: Final = object()
"""What `read_plain` gives when the text is not plain JSON."""

_BLANKS: Final = " \t\n\r"
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD][89abcdefABCDEF]")
_LONG_NUMBER: Final = re.compile(rf"[0-9]{{{MAX_DIGITS + 1}}}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("repeated keys")
    return found


def _constant(name: str) -> NoReturn:
    raise ValueError(name)


_decoder: Final = json.JSONDecoder(object_pairs_hook=_object, parse_float=to_float, parse_constant=_constant)


def read_plain(text: str) -> Any:
    """The value of ``text`` if it is strict JSON within all limits, else `NOT_PLAIN`."""
    if len(text) > MAX_DIGITS and _may_stall(text):
        return NOT_PLAIN
    try:
        start = len(text) - len(text.lstrip(_BLANKS)) if text[:1] in _BLANKS else 0
        value, end = _decoder.raw_decode(text, start)
    except (ValueError, RecursionError, MemoryError):
        return NOT_PLAIN
    return value if _is_whole(text, end) and _is_clean(text, value) and _is_shallow(text, value) else NOT_PLAIN


def is_well_formed(text: str) -> bool:
    """Whether every character of ``text`` can be sent on as UTF-8."""
    return text.isascii() or _SURROGATE.search(text) is None


def _may_stall(text: str) -> bool:
    """Whether Python's own bound on integers is off and the text has one that would take seconds."""
    limit = sys.get_int_max_str_digits()
    return (limit == 0 or limit > MAX_DIGITS) and _LONG_NUMBER.search(text) is not None


def _is_whole(text: str, end: int) -> bool:
    return end == len(text) or not text[end:].strip(_BLANKS)


def _is_clean(text: str, value: Any) -> bool:
    """Whether no string has half a surrogate pair, neither as it is nor made by an escape."""
    if not is_well_formed(text):
        return False
    return "\\u" not in text or _SURROGATE_ESCAPE.search(text) is None or _has_clean_strings(value)


def _has_clean_strings(value: Any) -> bool:
    rest = [value]
    while rest:
        item = rest.pop()
        if isinstance(item, str):
            if not is_well_formed(item):
                return False
        elif is_object(item):
            rest.extend(item)
            rest.extend(item.values())
        elif is_list(item):
            rest.extend(item)
    return True


def _is_shallow(text: str, value: Any) -> bool:
    """Whether the brackets are nested within the limit; counting them settles nearly every text."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return True
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [item for outer in level for item in _items(outer) if is_object(item) or is_list(item)]
        if not level:
            return True
    return False


def _items(value: Any) -> Iterable[Any]:
    return value.values() if is_object(value) else value
