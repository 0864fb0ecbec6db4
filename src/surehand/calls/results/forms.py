"""The forms of values: which types become what, in the order in which they are tried."""

# Values of any type are read here, and isinstance() narrows Any to a container of unknown items.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import base64
import datetime as dt
import math
import re
from collections import UserString
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from io import IOBase
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from pathlib import PurePath
from typing import Any, Final
from uuid import UUID

from surehand.calls.redaction import REDACTED, is_secret_name
from surehand.calls.results.arrays import read_array
from surehand.calls.results.reader import NOT_MINE, Form, Path, Reader, type_name
from surehand.calls.results.rows import read_http_response, read_record, read_row
from surehand.calls.results.strict_json import MAX_VALUES, encode
from surehand.messages import Message, message_to_dict

__all__ = ["FORMS", "MAX_ITEMS", "MODEL_READS"]

MAX_ITEMS: Final = 10_000
"""The most items that are taken from an iterator, which may be endless."""
MAX_BINARY: Final = 30_000
"""The most bytes that are written as base64: what is cut of it is of no use to anybody, and costs as much as text."""
_FIRST_BYTES: Final = 48
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
"""What no readable text holds."""
MAX_BITS: Final = 14_000
"""The longest integer that is written in decimal digits: the interpreter converts at most 4,300 of them."""


def _enum(reader: Reader, value: Any, path: Path) -> Any:
    return reader.plain(value.value, path) if isinstance(value, Enum) else NOT_MINE


def _scalar(reader: Reader, value: Any, path: Path) -> Any:
    """The JSON scalars and their subclasses, read without any method that a subclass may have replaced."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return _whole_number(reader, int.__int__(value), path)
    if isinstance(value, float):
        number = float.__float__(value)
        if math.isfinite(number):
            return number
        reader.note(path, f"{number} is no JSON number, null stands for it")
        return None
    return NOT_MINE


def _whole_number(reader: Reader, number: int, path: Path) -> int | str:
    if number.bit_length() < MAX_BITS:
        return number
    reader.note(path, "the integer is too long for decimal digits, it is written as hexadecimal text")
    return hex(number)


def _time(reader: Reader, value: Any, path: Path) -> Any:
    if isinstance(value, dt.date | dt.time):
        text = str(value.isoformat())
        if text != "NaT":  # pandas' missing time is a datetime by type
            return text
        reader.note(path, "NaT is no time, null stands for it")
        return None
    return _iso_duration(value) if isinstance(value, dt.timedelta) else NOT_MINE


def _iso_duration(value: dt.timedelta) -> str:
    """ISO 8601, as ``-P1DT2H3M4.5S``."""
    sign, value = ("-", -value) if value < dt.timedelta(0) else ("", value)
    minutes, seconds = divmod(value.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{value.microseconds:06d}".rstrip("0") if value.microseconds else ""
    days = f"{value.days}D" if value.days else ""
    clock = "".join(
        f"{amount}{unit}"
        for amount, unit in ((hours, "H"), (minutes, "M"), (f"{seconds}{fraction}", "S"))
        if str(amount) != "0"
    )
    if not clock:
        return f"{sign}P{days}" if days else "PT0S"
    return f"{sign}P{days}T{clock}"


_WRITTEN_AS_TEXT: Final = (
    Decimal,
    UUID,
    PurePath,
    Fraction,
    complex,
    UserString,
    IPv4Address,
    IPv6Address,
    IPv4Network,
    IPv6Network,
    IPv4Interface,
    IPv6Interface,
)
"""Types whose text says everything about them; a Decimal as a JSON number would lose digits."""


def _written(_: Reader, value: Any, __: Path) -> Any:
    return str.__str__(str(value)) if isinstance(value, _WRITTEN_AS_TEXT) else NOT_MINE


def _binary(reader: Reader, value: Any, path: Path) -> Any:
    """Bytes as text where they are readable UTF-8, else as base64; always base64 inside content blocks."""
    if not isinstance(value, bytes | bytearray | memoryview):
        return NOT_MINE
    raw = bytes(value)
    if not reader.is_binary_kept:
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            pass
        else:
            if _CONTROL.search(text) is None:
                reader.note(path, f"{len(raw):,} bytes were read as UTF-8 text")
                return text
    if len(raw) > MAX_BINARY and not reader.is_binary_kept:
        reader.cut(path, f"{len(raw):,} bytes that are no text were left out")
        return {"type": type_name(type(value)), "size": len(raw), "base64_of_first": _base64(raw[:_FIRST_BYTES])}
    reader.note(path, f"{len(raw):,} bytes are written as base64")
    return _base64(raw)


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _mapping(reader: Reader, value: Any, path: Path) -> Any:
    if type(value) is dict or isinstance(value, Mapping):
        return reader.mapping(value.items(), path)
    return NOT_MINE


def _own_export(reader: Reader, value: Any, path: Path) -> Any:
    """What the value says of itself: pydantic's ``model_dump``, ``to_dict``, ``asdict``, pydantic v1's ``dict``.

    Methods are looked up on the type, so that a mock, which has every attribute, is not taken for a model.
    """
    kind = type(value)
    if isinstance(value, type):
        return NOT_MINE
    if (root := _root_of(kind)) is not None:
        return _value_of_root(reader, value, root, path)
    failed = ""
    for name, options in _EXPORTS:
        data = _asked(getattr(kind, name, None), value, options)
        if isinstance(data, Mapping):
            return reader.mapping(_with_own_values(reader, value, data).items(), path)
        if isinstance(data, list) and data is not value:
            return reader.plain(data, path)
        failed = name if data is _FAILED else failed
    if not hasattr(kind, "model_dump") and hasattr(kind, "__get_validators__"):
        data = _asked(getattr(kind, "dict", None), value, {})
        if isinstance(data, Mapping):
            return reader.mapping(_with_own_values(reader, value, data).items(), path)
    if failed:
        reader.note(path, f"its {failed}() failed, what it holds is shown without it")
    return NOT_MINE


def _root_of(kind: type) -> str | None:
    """The one field of a pydantic model that stands for a value without a name; v1's is called like no attribute."""
    if getattr(kind, "__pydantic_root_model__", False) is True:
        return "root"
    return "__root__" if getattr(kind, "__custom_root_type__", False) is True else None


def _value_of_root(reader: Reader, value: Any, root: str, path: Path) -> Any:
    own = getattr(value, root)
    data = _asked(getattr(type(value), "model_dump", None), value, {"mode": "json"})
    is_dumped = data is not NOT_MINE and data is not _FAILED
    return reader.plain(data if is_dumped and not _is_for_renderers(reader, own) else own, path)


_FAILED: Final = object()
"""What stands for the answer of a method that raised."""


_EXPORTS: Final[tuple[tuple[str, Mapping[str, Any]], ...]] = (
    ("model_dump", {"mode": "json"}),
    ("model_dump", {}),
    ("to_dict", {}),
    ("asdict", {}),
    ("tolist", {}),
)


def _with_own_values(reader: Reader, value: Any, data: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """A model's export, but with the field's own value wherever a renderer of the host's has a say in it.

    Models dump what they hold all the way down, so that a renderer would never see it.
    """
    fields: Any = getattr(type(value), "__pydantic_fields__", None) or getattr(type(value), "__fields__", None)
    if not reader.has_renderers or not isinstance(fields, Mapping):
        return data
    own = {name: getattr(value, name) for name in fields if name in data}
    return {**data, **{name: item for name, item in own.items() if _is_for_renderers(reader, item)}}


def _is_for_renderers(reader: Reader, value: Any) -> bool:
    """Whether a field of a model holds, itself or further down, what the host has a renderer for."""
    waiting, seen = [value], set[int]()
    while waiting and len(seen) < MAX_VALUES:
        item = waiting.pop()
        if id(item) in seen:
            continue
        if reader.renderer_of(item) is not None:
            return True
        seen.add(id(item))
        waiting += _held(item)
    return False


def _held(value: Any) -> list[Any]:
    """What a value holds one level down."""
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    held: object = getattr(value, "__dict__", None)
    return list(held.values()) if isinstance(held, dict) else []


def _asked(method: Any, value: Any, options: Mapping[str, Any]) -> Any:
    if not callable(method):
        return NOT_MINE
    try:
        return method(value, **options)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - the value's own code; its fields are read one by one instead
        return _FAILED


def _named_fields(reader: Reader, value: Any, path: Path) -> Any:
    """Dataclasses, attrs classes, named tuples and pydantic models that could not be dumped, field by field."""
    kind = type(value)
    if is_dataclass(kind):
        names = [field.name for field in dataclass_fields(kind)]
    elif hasattr(kind, "__attrs_attrs__"):
        names = [field.name for field in kind.__attrs_attrs__]
    elif isinstance(value, tuple) and hasattr(kind, "_fields"):
        names = list(kind._fields)
    elif isinstance(getattr(kind, "__pydantic_fields__", None), Mapping):
        names = list(kind.__pydantic_fields__)
    else:
        return NOT_MINE
    return _attributes(reader, value, names, path)


def _attributes(reader: Reader, value: Any, names: Iterable[str], path: Path) -> dict[str, Any]:
    """The attributes by name; one that cannot be read does not cost the others."""
    pairs: list[tuple[str, Any]] = []
    for name in names:
        try:
            pairs.append((name, getattr(value, name)))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a property of the value's may raise anything
            reader.note((*path, name), f"reading it raised {type(error).__name__}, null stands for it")
            pairs.append((name, None))
    return reader.mapping(pairs, path)


def _message(reader: Reader, value: Any, path: Path) -> Any:
    """What a model may read of a message, which is not the artifact."""
    if not isinstance(value, Message):
        return NOT_MINE
    data = {name: part for name, part in message_to_dict(value).items() if name != "artifact"}
    return reader.mapping(data.items(), path)


def _for_the_model(reader: Reader, value: Any, path: Path) -> Any:
    """A result in two parts inside of another one: the part that the model reads."""
    part = getattr(type(value), MODEL_READS, None)
    return reader.plain(getattr(value, part), path) if isinstance(part, str) else NOT_MINE


MODEL_READS: Final = "__surehand_model_reads__"
"""The attribute of a class that names the one attribute of its instances which is meant for a model."""


def _exception(reader: Reader, value: Any, path: Path) -> Any:
    if not isinstance(value, BaseException):
        return NOT_MINE
    data: dict[str, Any] = {"type": type_name(type(value)), "message": str(value)}
    if isinstance(value, BaseExceptionGroup):
        data["exceptions"] = reader.items(value.exceptions, (*path, "exceptions"))
    return data


def _group(reader: Reader, value: Any, path: Path) -> Any:
    """Lists, tuples, sets, queues, views, iterators and whatever else can be gone through."""
    if isinstance(value, list | tuple):
        return reader.items(value, path)
    if isinstance(value, type | IOBase):
        return NOT_MINE
    if isinstance(value, set | frozenset):
        return _sorted(reader.items(value, path))
    if isinstance(value, Iterator):
        return reader.items(value, path, limit=MAX_ITEMS)
    if isinstance(value, Collection):
        return reader.items(value, path)
    return reader.items(value, path, limit=MAX_ITEMS) if isinstance(value, Iterable) else NOT_MINE


def _sorted(data: list[Any]) -> list[Any]:
    """In an order that does not depend on hashes: by value where the values can be compared, else by their JSON."""
    try:
        return sorted(data)
    except TypeError:
        return sorted(data, key=encode)


def _without_meaning(reader: Reader, value: Any, path: Path) -> Any:
    """An object that has no form of its own: its text where its class defines one, else its public attributes.

    Never ``<object at 0x…>``, which tells a model nothing and differs from run to run.
    """
    name = type_name(type(value))
    if isinstance(value, type):
        return type_name(value)
    own_text = _own_text(value)
    if own_text is not None:
        reader.note(path, f"{name} has no JSON form, its text is shown")
        return own_text
    reader.note(path, f"{name} has no JSON form, its type and public attributes are shown")
    if type(value).__module__ == "builtins":  # functions, coroutines, modules
        return {"type": name, "name": str(value.__name__)} if hasattr(value, "__name__") else {"type": name}
    names = [attribute for attribute in _attribute_names(value) if not attribute.startswith("_")]
    open_names = [attribute for attribute in names if not is_secret_name(attribute)]
    hidden = {attribute: REDACTED for attribute in names if is_secret_name(attribute)}
    return {"type": name, **_attributes(reader, value, open_names, path), **hidden}


def _own_text(value: Any) -> str | None:
    kind: Any = type(value)
    # The text of functions, coroutines, modules and open files is an address or a path.
    if kind.__module__ == "builtins" or isinstance(value, IOBase):
        return None
    if kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__:
        return None
    text = str.__str__(str(value))
    return None if " at 0x" in text or not text.strip() else text


def _attribute_names(value: Any) -> list[str]:
    own = [name for name in getattr(value, "__dict__", ()) if isinstance(name, str)]
    slots = [name for kind in type(value).__mro__ for name in _slot_names(kind)]
    return [*own, *(name for name in slots if name not in own and hasattr(value, name))]


def _slot_names(kind: type) -> list[str]:
    slots = kind.__dict__.get("__slots__", ())
    return [slots] if isinstance(slots, str) else list(slots)


FORMS: Final[tuple[Form, ...]] = (
    _enum,
    _scalar,
    _time,
    _written,
    _binary,
    read_array,
    _mapping,
    _for_the_model,
    read_http_response,
    _own_export,
    _named_fields,
    read_record,
    read_row,
    _message,
    _exception,
    _group,
    _without_meaning,
)
"""Tried in this order; the first that knows the value decides, and the last knows every value."""
