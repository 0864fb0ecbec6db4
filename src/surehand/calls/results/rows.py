"""Rows of databases and answers of servers: what other libraries give, and what is no mapping by type.

The libraries are known by what their values can be asked for, and never imported for it.
"""

# Values of any type are read here, and isinstance() narrows Any to a container of unknown items.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Final

from surehand.calls.results.reader import NOT_MINE, Path, Reader, type_name

__all__ = ["read_http_response", "read_record", "read_row"]

_MAX_KEYS: Final = 10_000


def read_record(reader: Reader, value: Any, path: Path) -> Any:
    """A sequence that knows the names of its fields and is no tuple, as SQLAlchemy gives a row."""
    kind: type = type(value)
    names = getattr(value, "_fields", None) if issubclass(kind, Sequence) and not issubclass(kind, tuple) else None
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
        return NOT_MINE
    return reader.mapping(zip(names, value, strict=True), path)


def read_row(reader: Reader, value: Any, path: Path) -> Any:
    """A row of a database such as ``sqlite3.Row``, and whatever else can be asked for its keys."""
    kind: Any = type(value)
    if isinstance(value, type) or not callable(getattr(kind, "keys", None)) or not hasattr(kind, "__getitem__"):
        return NOT_MINE
    keys, held = _some(value.keys()), _some(value)
    if len(keys) != len(held) or not _has(value, keys[:1]):
        return NOT_MINE  # it goes through other parts than those it has keys for, as an element of XML does
    if any(key is not item for key, item in zip(keys, held, strict=True)) and keys != held:
        return reader.mapping(zip(keys, held, strict=True), path)
    pairs = value.items() if callable(getattr(kind, "items", None)) else ((key, value[key]) for key in keys)
    return reader.mapping(pairs, path)


def read_http_response(reader: Reader, value: Any, path: Path) -> Any:
    """An answer of ``requests`` or ``httpx``: its status and its body, and none of its headers."""
    kind: Any = type(value)
    if kind.__name__ != "Response" or kind.__module__.partition(".")[0] not in ("requests", "httpx"):
        return NOT_MINE
    is_text = "charset=" in str(value.headers.get("content-type", ""))
    reader.note(path, f"of {type_name(kind)} the status and the body are shown")
    return reader.mapping([("status", value.status_code), ("body", value.text if is_text else value.content)], path)


def _some(values: Iterable[Any]) -> list[Any]:
    return list(islice(values, _MAX_KEYS))


def _has(value: Any, keys: Iterable[Any]) -> bool:
    try:
        for key in keys:
            value[key]
    except (TypeError, LookupError):
        return False
    return True
