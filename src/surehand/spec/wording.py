"""The words in which a model is told what it sent and what was expected."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from surehand.shapes import is_object
from surehand.wording import clipped

__all__ = [
    "A_DATE",
    "A_DATETIME",
    "A_DURATION",
    "A_TIME",
    "date_or_time",
    "expectation",
    "listed",
    "one_of",
    "plural",
    "received",
]

A_DATE: Final = "a date such as '2024-05-31'"
A_DATETIME: Final = "a date and time such as '2024-05-31T09:30:00Z'"
A_TIME: Final = "a time such as '09:30:00'"
A_DURATION: Final = "a duration such as 'PT1H30M' or a number of seconds"
_TIMES: Final[Mapping[str, str]] = {"date": A_DATE, "date-time": A_DATETIME, "time": A_TIME, "duration": A_DURATION}
_MAX_TEXT: Final = 60
"""The most characters of a value that are shown."""
_MAX_CHOICES: Final = 20
"""The most allowed values that are listed."""

_KINDS: Final[Mapping[str, str]] = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "array": "an array",
    "object": "an object",
}


def received(value: object, *, is_shown: bool = True) -> str:
    """What was given: ``the text 'abc'``, ``the number 3.5``, ``null``; never long, and only its kind where hidden."""
    if value is None:
        return "null"
    if is_object(value):
        return "an object" if value else "an empty object"
    if isinstance(value, list | tuple | set | frozenset):
        return f"an array of {plural(len(cast('list[Any]', value)), 'item')}"
    return _scalar(value) if is_shown else _kind(value)


def _scalar(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return f"the text {clipped(repr(value), _MAX_TEXT)}"
        case int() | float():
            return f"the number {clipped(_digits(value), _MAX_TEXT)}"
        case _:
            return _kind(value)


def _kind(value: object) -> str:
    match value:
        case bool():
            return "true or false"
        case str():
            return "a text"
        case int() | float():
            return "a number"
        case _:
            return f"a value of type {type(value).__name__}"


def _digits(value: float) -> str:
    try:
        return repr(value)
    except ValueError:  # an integer of more digits than Python is willing to print
        return "of very many digits"


def expectation(types: Iterable[str]) -> str:
    """JSON types as words: ``an integer or null``."""
    order = list(_KINDS)
    names = sorted(types, key=lambda name: order.index(name) if name in order else len(order))
    return _a_list_of([_KINDS.get(name, name) for name in names if name != "null" or len(names) == 1], "or") + (
        " or null" if "null" in names and len(names) > 1 else ""
    )


def date_or_time(formats: Iterable[str]) -> str:
    """The formats of dates, times and durations as words: ``a date such as '2024-05-31'``."""
    known = set(formats)
    return _a_list_of([words for name, words in _TIMES.items() if name in known], "or")


def listed(choices: Iterable[object]) -> str:
    """Allowed values as the model would write them, at most 20 of them."""
    known = list(choices)
    hidden = len(known) - _MAX_CHOICES
    shown = ", ".join(clipped(_literal(choice), _MAX_TEXT) for choice in known[:_MAX_CHOICES])
    return f"{shown} and {hidden} more" if hidden > 0 else shown


def one_of(choices: Iterable[object]) -> str:
    """Allowed values as an expectation: ``one of 'a', 'b' or null``."""
    known = list(choices)
    if len(known) > _MAX_CHOICES:
        return f"one of {listed(known)}"
    return f"one of {_a_list_of([clipped(_literal(choice), _MAX_TEXT) for choice in known], 'or')}"


def _literal(value: object) -> str:
    if isinstance(value, str):
        return repr(value)
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return repr(value)


def _a_list_of(words: list[str], joint: str) -> str:
    """``a``, ``a or b``, ``a, b or c``."""
    return f"{', '.join(words[:-1])} {joint} {words[-1]}" if len(words) > 1 else "".join(words)


def plural(count: Any, noun: str) -> str:
    """``1 item``, ``2 items``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
