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
    """A row of a database such as ``sqlite3.Row``, and whatever else can be asked for its keys, as ``dict()`` does."""
    kind: Any = type(value)
    if isinstance(value, type) or not callable(getattr(kind, "keys", None)) or not hasattr(kind, "__getitem__"):
        return NOT_MINE
    try:
        pairs = _pairs(kind, value)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - the value's own code: what it calls keys() may be another thing
        return NOT_MINE
    return NOT_MINE if pairs is None else reader.mapping(pairs, path)


def _pairs(kind: Any, value: Any) -> Iterable[tuple[Any, Any]] | None:
    """The keys of a value with what stands under each; None where it goes through other parts, as an element of XML."""
    keys = _some(value.keys())
    held = _some(value) if hasattr(kind, "__iter__") else keys
    if len(keys) != len(held):
        return None
    for key in keys[:1]:
        value[key]
    if any(key is not item for key, item in zip(keys, held, strict=True)) and keys != held:
        return zip(keys, held, strict=True)
    return value.items() if callable(getattr(kind, "items", None)) else ((key, value[key]) for key in keys)


def read_http_response(reader: Reader, value: Any, path: Path) -> Any:
    """An answer of ``requests`` or ``httpx``: its status and its body, and none of its headers.

    A body that the tool has not read is still on its way, and is not waited for here, where nothing bounds the time.
    """
    kind: Any = type(value)
    if kind.__name__ != "Response" or kind.__module__.partition(".")[0] not in ("requests", "httpx"):
        return NOT_MINE
    if vars(value).get("_content", False) is False:
        reader.note(path, f"of {type_name(kind)} the status is shown, its body was not read by the tool")
        return reader.mapping([("status", value.status_code)], path)
    is_text = "charset=" in str(value.headers.get("content-type", ""))
    reader.note(path, f"of {type_name(kind)} the status and the body are shown")
    return reader.mapping([("status", value.status_code), ("body", value.text if is_text else value.content)], path)


def _some(values: Iterable[Any]) -> list[Any]:
    return list(islice(values, _MAX_KEYS))
