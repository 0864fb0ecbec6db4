"""Turns whatever a tool returned into what a model can read, and never fails at it.

Text stays text. A list of content blocks stays one. Everything else becomes strict JSON, with Unicode as it is and
every lossy step noted. Plain JSON data takes a short way: one walk that looks at the types, then the C encoder. All
else is first brought to plain data by ``_Reader``, which asks a value for its own form at any depth and treats every
answer as hostile: a value may raise, lie, be endless, or contain itself.
"""

# Values of any type are read here, and isinstance() narrows Any to a container of unknown items.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import base64
import datetime as dt
import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from io import IOBase
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from itertools import islice
from pathlib import PurePath
from types import NoneType
from typing import Any, Final, NamedTuple
from uuid import UUID

from surehand.calls.redact import REDACTED, is_secret_name
from surehand.calls.text import shorten, well_formed
from surehand.messages import Message, message_to_dict

__all__ = ["NO_OUTPUT", "Rendered", "render_value"]

NO_OUTPUT: Final = "(no output)"
"""What the model reads where a tool returned nothing: providers refuse an empty content."""

MAX_CONTAINERS: Final = 100_000
"""The most lists, mappings and objects of one value that are read; what comes after is cut with a note."""
MAX_DEPTH: Final = 100
"""How deep a value that is no plain JSON is read; plain JSON may be as deep as the interpreter's stack allows."""
MAX_ITEMS: Final = 10_000
"""The most items that are taken from an iterator, which may be endless."""
MAX_NOTES: Final = 20
"""The most notes on one value."""
MAX_BITS: Final = 14_000
"""The longest integer that is written in decimal digits: the interpreter converts at most 4,300 of them."""
CUT: Final = "…"
"""Stands for what was not read."""


class Rendered(NamedTuple):
    """A result as the model is given it.

    A named tuple and not a dataclass because one is built for every call, at a third of the cost.
    """

    content: str | list[dict[str, Any]]
    """Never empty, always well-formed."""
    artifact: Any = None
    """The value as it was returned, where the content does not show all of it."""
    has_artifact: bool = False
    """Whether ``artifact`` says anything."""
    notes: tuple[str, ...] = ()
    """What was lost or changed, each with its JSON path."""


def render_value(value: Any, *, max_output: int | None) -> Rendered:
    """The value as text or content blocks; whatever the value does, this returns.

    Args:
        value: What a tool returned.
        max_output: The most characters the model is given; None for no limit. Over it the content is the head and the
            tail with a notice of the sizes between them, and the whole value is the artifact.
    """
    try:
        return _rendered(value, max_output)
    except Exception as error:  # noqa: BLE001 - the value's own code: even asking for its type may fail
        kind = type_name(type(value))
        note = f"$: reading it raised {type(error).__name__}, only its type is shown"
        return Rendered(_encode({"type": kind}), value, True, (note,))


def _rendered(value: Any, max_output: int | None) -> Rendered:
    if type(value) is str:
        return _text(value, value, (), max_output)
    if value is None:
        return _NOTHING
    if type(value) is list and value and _is_typed(value[0]):
        blocks = _blocks(value, max_output)
        if blocks is not None:
            return blocks
    encoded = _encode_plain(value)
    if encoded is not None:
        return _text(encoded, value, (), max_output)
    if isinstance(value, Message):  # such as the last words of an agent that is used as a tool
        return _rendered(value.content, max_output)
    reader = _Reader()
    data = reader.plain(value, ())
    text = data if isinstance(data, str) else _encode(data)
    # What came out of an iterator cannot be read a second time: the list stands for it.
    whole = data if isinstance(value, Iterator) else value
    rendered = _text(text, whole, reader.all_notes(), max_output)
    return rendered._replace(artifact=whole, has_artifact=True) if reader.is_cut else rendered


_NOTHING: Final = Rendered(NO_OUTPUT)
_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False).encode


def _text(text: str, value: Any, notes: tuple[str, ...], max_output: int | None) -> Rendered:
    """The text as content, made fit to be sent."""
    clean = well_formed(text)
    if clean is not text:
        notes = (*notes, "lone surrogates or NUL characters were replaced by U+FFFD")
    if not clean or clean.isspace():
        return Rendered(NO_OUTPUT, value, True, notes)
    if max_output is None or len(clean) <= max_output:
        return Rendered(clean, None, False, notes)
    note = f"cut to {max_output:,} of {len(clean):,} characters"
    return Rendered(shorten(clean, max_output), value, True, (*notes, note))


# -- plain JSON data -------------------------------------------------------------------------------------------------

_SCALARS: Final = frozenset({str, int, float, bool, NoneType})


def _encode_plain(value: Any) -> str | None:
    """The value's JSON where it is plain data of exactly the JSON types; None where it is not."""
    try:
        return _encode(value) if _is_plain(value) else None
    except (ValueError, RecursionError, RuntimeError):
        # NaN, an integer of more digits than the interpreter converts, nesting beyond the stack, or a container that
        # another thread changes meanwhile: the long way copes with all of them.
        return None


def _is_plain(value: Any) -> bool:
    """Whether the value is made of dicts with text keys, lists and scalars only, none of them subclassed.

    Subclasses are looked at more closely, because the encoder would take an enum's or a named tuple's base for it,
    and it would turn the key 1 into "1" without a word. The bound also ends the walk through a cycle.
    """
    if type(value) in _SCALARS:
        return True
    waiting = [value]
    for _ in range(MAX_CONTAINERS):
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


# -- content blocks --------------------------------------------------------------------------------------------------

_MEDIA_FIELDS: Final = ("source", "data", "url", "base64", "file_id", "image", "audio", "video", "file")
_BLOCK_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "text": ("text",),
    "image_url": ("image_url",),
    "image": _MEDIA_FIELDS,
    "audio": _MEDIA_FIELDS,
    "video": _MEDIA_FIELDS,
    "file": _MEDIA_FIELDS,
    "document": ("source", "content"),
    "input_text": ("text",),
    "input_image": ("image_url", "file_id"),
    "input_audio": ("input_audio",),
    "input_file": ("file_data", "file_id", "file_url"),
    "json": ("json",),
    "search_result": ("source", "content"),
    "custom_tool_call_output": ("output",),
}
"""Block types that providers know, each with the fields of which one has to be there. The field tells a block from a
record that only happens to have a ``type``, such as ``{"type": "file", "name": "a.txt"}`` in a directory listing."""
_TYPES: Final = tuple(_BLOCK_FIELDS)
_TEXT_BLOCKS: Final = frozenset({"text", "input_text"})
_COUNTED_BLOCKS: Final = frozenset({"text", "input_text", "json", "search_result", "custom_tool_call_output"})
"""Blocks whose size counts as characters. An image or a file cannot be cut without destroying it."""


def _is_typed(item: Any) -> bool:
    """Whether a list that begins with the item may be one of content blocks: a quick look before the thorough one."""
    return isinstance(item, Mapping) and item.get("type") in _TYPES


def _is_block(block: object) -> bool:
    if not isinstance(block, dict):
        return False
    kind = block.get("type")
    if not isinstance(kind, str) or kind not in _BLOCK_FIELDS:
        return False
    if kind in _TEXT_BLOCKS:
        return isinstance(block.get("text"), str)
    return any(block.get(field) is not None for field in _BLOCK_FIELDS[kind])


def _blocks(value: list[Any], max_output: int | None) -> Rendered | None:
    """The value as content blocks; None where one of its items is none."""
    reader = _Reader(is_binary_kept=True)
    data = value if all(map(_is_plain, value)) else reader.plain(value, ())
    if not isinstance(data, list) or not all(map(_is_block, data)):
        return None
    blocks = [block for block in data if not _is_blank(block)]
    if not blocks:
        return Rendered(NO_OUTPUT, value, True, reader.all_notes())
    if len(blocks) < len(data):
        reader.note((), "blank text blocks were left out, providers refuse them")
    clean = _clean_blocks(blocks, reader)
    shown = clean if max_output is None else _shorten_blocks(clean, max_output, reader)
    is_whole = shown is clean and len(blocks) == len(data)
    return Rendered(shown, None if is_whole else value, not is_whole, reader.all_notes())


def _is_blank(block: Mapping[str, Any]) -> bool:
    return block["type"] in _TEXT_BLOCKS and not block["text"].strip()


def _clean_blocks(blocks: list[dict[str, Any]], reader: _Reader) -> list[dict[str, Any]]:
    """The blocks as strict, well-formed JSON data."""
    try:
        text = _encode(blocks)
    except (ValueError, RecursionError, RuntimeError):
        blocks = reader.plain(blocks, ())
        text = _encode(blocks)
    clean = well_formed(text)
    if clean is text and "\\u0000" not in text:
        return [dict(block) for block in blocks]
    reader.note((), "lone surrogates or NUL characters were replaced by U+FFFD")
    return [_well_formed_data(block) for block in blocks]


def _well_formed_data(data: Any) -> Any:
    if isinstance(data, str):
        return well_formed(data)
    if isinstance(data, list):
        return [_well_formed_data(item) for item in data]
    if isinstance(data, dict):
        return {well_formed(key): _well_formed_data(item) for key, item in data.items()}
    return data


def _shorten_blocks(blocks: list[dict[str, Any]], limit: int, reader: _Reader) -> list[dict[str, Any]]:
    """The blocks with their text cut to ``limit`` characters in all; the same list where nothing is cut."""
    texts = [_counted_text(block) for block in blocks]
    total = sum(map(len, texts))
    if total <= limit:
        return blocks
    reader.note((), f"cut to {limit:,} of {total:,} characters of text")
    left = limit
    shown: list[dict[str, Any]] = []
    for block, text in zip(blocks, texts, strict=True):
        if len(text) <= left:
            shown.append(block)
        elif left > 0:
            kept = block if block["type"] in _TEXT_BLOCKS else {"type": "text"}
            shown.append({**kept, "text": shorten(text, left)})
        left -= len(text)
    return shown


def _counted_text(block: Mapping[str, Any]) -> str:
    if block["type"] in _TEXT_BLOCKS:
        return str(block["text"])
    return _encode(block) if block["type"] in _COUNTED_BLOCKS else ""


# -- everything else -------------------------------------------------------------------------------------------------

Path = tuple[str | int, ...]
Form = Callable[["_Reader", Any, Path], Any]


class _NotMine:
    """What a form answers for a value that is not its own."""


_NOT_MINE: Final = _NotMine()


class _Reader:
    """Brings one value to plain JSON data, and keeps the notes on what that cost."""

    __slots__ = ("_containers", "_depth", "_more", "_notes", "_open", "is_binary_kept", "is_cut")

    def __init__(self, *, is_binary_kept: bool = False) -> None:
        self.is_binary_kept = is_binary_kept
        self.is_cut = False
        self._containers = 0
        self._depth = 0
        self._open: set[int] = set()
        self._notes: list[str] = []
        self._more = 0

    def note(self, path: Path, what: str) -> None:
        """Keeps a note on the value at the path."""
        text = f"{_shown_path(path)}: {what}"
        if text in self._notes:
            return
        if len(self._notes) < MAX_NOTES:
            self._notes.append(text)
        else:
            self._more += 1

    def cut(self, path: Path, what: str) -> None:
        """Keeps a note that a part of the value was not read."""
        self.is_cut = True
        self.note(path, what)

    def all_notes(self) -> tuple[str, ...]:
        """The notes in order; the last one counts those that were too many."""
        return (*self._notes, f"and {self._more} more") if self._more else tuple(self._notes)

    def plain(self, value: Any, path: Path) -> Any:
        """The value as plain JSON data; never raises an ``Exception``."""
        if value is None or type(value) is str or type(value) is bool:
            return value
        if id(value) in self._open:
            self.note(path, "the value contains itself, the repetition was cut")
            return CUT
        if self._depth >= MAX_DEPTH or self._containers >= MAX_CONTAINERS:
            self.cut(path, "the value is too deep or too large, the rest was cut")
            return CUT
        self._open.add(id(value))
        self._depth += 1
        try:
            return self._form(value, path)
        except Exception as error:  # noqa: BLE001 - any code of the value may run here, and a result is always shown
            self.note(path, f"reading it raised {type(error).__name__}, only its type is shown")
            return {"type": type_name(type(value))}
        finally:
            self._depth -= 1
            self._open.discard(id(value))

    def _form(self, value: Any, path: Path) -> Any:
        for form in _FORMS:
            data = form(self, value, path)
            if data is not _NOT_MINE:
                return data
        return _without_meaning(self, value, path)

    def mapping(self, items: Iterable[tuple[Any, Any]], path: Path) -> dict[str, Any]:
        """The pairs as a mapping with text keys."""
        self._containers += 1
        data: dict[str, Any] = {}
        for key, value in items:
            name = self._key(key, path)
            while name in data:
                self.note(path, f"two keys read {name!r}, the later one was given a mark")
                name += "′"
            data[name] = self.plain(value, (*path, name))
        return data

    def items(self, values: Iterable[Any], path: Path, *, limit: int = MAX_CONTAINERS) -> list[Any]:
        """At most ``limit`` of the values as a list."""
        self._containers += 1
        taken = iter(values)
        data = [self.plain(value, (*path, index)) for index, value in enumerate(islice(taken, limit))]
        if len(data) == limit and next(taken, _NOT_MINE) is not _NOT_MINE:
            self.cut(path, f"only the first {limit:,} items were read")
        return data

    def _key(self, key: Any, path: Path) -> str:
        if isinstance(key, str):
            name = key.value if isinstance(key, Enum) else str.__str__(key)
            return well_formed(str.__str__(name))
        data = self.plain(key, path)
        self.note(path, "keys that are not text were turned into text")
        return well_formed(data if isinstance(data, str) else _encode(data))


def type_name(kind: type) -> str:
    """The type's name with its module, ``pkg.Class``; never raises."""
    try:
        module, name = str(kind.__module__), kind.__qualname__.replace("<locals>.", "")
    except Exception:  # noqa: BLE001 - a metaclass of the host's may do anything
        return "object"
    return name if module == "builtins" else f"{module}.{name}"


def _shown_path(path: Path) -> str:
    parts = [
        f"[{part}]" if isinstance(part, int) else f".{part}" if part.isidentifier() else f"[{part[:80]!r}]"
        for part in path
    ]
    return "$" + "".join(parts)


def _package(value: Any) -> str:
    return str(type(value).__module__).partition(".")[0]


def _enum(reader: _Reader, value: Any, path: Path) -> Any:
    return reader.plain(value.value, path) if isinstance(value, Enum) else _NOT_MINE


def _scalar(reader: _Reader, value: Any, path: Path) -> Any:
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
    return _NOT_MINE


def _whole_number(reader: _Reader, number: int, path: Path) -> int | str:
    if number.bit_length() < MAX_BITS:
        return number
    reader.note(path, "the integer is too long for decimal digits, it is written as hexadecimal text")
    return hex(number)


def _time(reader: _Reader, value: Any, path: Path) -> Any:
    if isinstance(value, dt.date | dt.time):
        text = str(value.isoformat())
        if text != "NaT":  # pandas' missing time is a datetime by type
            return text
        reader.note(path, "NaT is no time, null stands for it")
        return None
    return _iso_duration(value) if isinstance(value, dt.timedelta) else _NOT_MINE


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
    IPv4Address,
    IPv6Address,
    IPv4Network,
    IPv6Network,
    IPv4Interface,
    IPv6Interface,
)
"""Types whose text says everything about them; a Decimal as a JSON number would lose digits."""


def _written(_: _Reader, value: Any, __: Path) -> Any:
    return str.__str__(str(value)) if isinstance(value, _WRITTEN_AS_TEXT) else _NOT_MINE


def _binary(reader: _Reader, value: Any, path: Path) -> Any:
    """Bytes as text where they are readable UTF-8, else as base64; always base64 inside content blocks."""
    if not isinstance(value, bytes | bytearray | memoryview):
        return _NOT_MINE
    raw = bytes(value)
    if not reader.is_binary_kept:
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            pass
        else:
            if not any(character < " " and character not in "\t\n\r" for character in text):
                reader.note(path, f"{len(raw):,} bytes were read as UTF-8 text")
                return text
    reader.note(path, f"{len(raw):,} bytes are written as base64")
    return base64.b64encode(raw).decode()


def _numpy(reader: _Reader, value: Any, path: Path) -> Any:
    """Arrays as lists and scalars as numbers, by the type's module name: numpy is never imported."""
    if _package(value) != "numpy" or not hasattr(value, "dtype"):
        return _NOT_MINE
    if value.dtype.kind in "mM":  # ``item`` would give nanoseconds as a bare number
        return reader.plain(value.astype(str).tolist(), path)
    if getattr(value, "size", 1) > MAX_CONTAINERS:
        reader.cut(path, f"only the first {MAX_CONTAINERS:,} of {value.size:,} items of the array were read")
        value = value.ravel()[:MAX_CONTAINERS]
    data = value.tolist()
    return str(data) if type(data) is type(value) else reader.plain(data, path)


def _pandas(reader: _Reader, value: Any, path: Path) -> Any:
    if _package(value) != "pandas":
        return _NOT_MINE
    name = type(value).__name__
    if name == "NAType":
        return None
    if name in {"Period", "Interval"}:
        return str(value)
    if name == "DataFrame":
        rows = _head(reader, value, path)
        return reader.plain(_with_index(reader, rows, path).to_dict(orient="records"), path)
    if name == "Series" and not _is_counted(value):
        return reader.mapping(_head(reader, value, path).to_dict().items(), path)
    return reader.plain(value.tolist(), path) if hasattr(value, "tolist") else _NOT_MINE


def _head(reader: _Reader, table: Any, path: Path) -> Any:
    if len(table) <= MAX_CONTAINERS:
        return table
    reader.cut(path, f"only the first {MAX_CONTAINERS:,} of {len(table):,} rows were read")
    return table.head(MAX_CONTAINERS)


def _is_counted(table: Any) -> bool:
    """Whether the index only counts the rows, so that nothing is lost without it."""
    return type(table.index).__name__ == "RangeIndex"


def _with_index(reader: _Reader, table: Any, path: Path) -> Any:
    if _is_counted(table):
        return table
    try:
        return table.reset_index()
    except ValueError:
        reader.note(path, "the table's index was left out, its name is also a column's")
        return table


def _polars(reader: _Reader, value: Any, path: Path) -> Any:
    if _package(value) != "polars":
        return _NOT_MINE
    for method in ("to_dicts", "to_list"):
        if hasattr(value, method):
            return reader.plain(getattr(_head(reader, value, path), method)(), path)
    return _NOT_MINE


def _mapping(reader: _Reader, value: Any, path: Path) -> Any:
    if type(value) is dict or isinstance(value, Mapping):
        return reader.mapping(value.items(), path)
    return _NOT_MINE


def _own_export(reader: _Reader, value: Any, path: Path) -> Any:
    """What the value says of itself: pydantic's ``model_dump``, ``to_dict``, ``asdict``, pydantic v1's ``dict``.

    Methods are looked up on the type, so that a mock, which has every attribute, is not taken for a model.
    """
    kind = type(value)
    if isinstance(value, type):
        return _NOT_MINE
    for name, options in (("model_dump", {"mode": "json"}), ("model_dump", {}), ("to_dict", {}), ("asdict", {})):
        data = _asked(getattr(kind, name, None), value, options)
        if isinstance(data, Mapping | list) and data is not value:
            return reader.plain(data, path)
    if not hasattr(kind, "model_dump") and hasattr(kind, "__get_validators__"):
        data = _asked(getattr(kind, "dict", None), value, {})
        if isinstance(data, Mapping):
            return reader.plain(data, path)
    return _NOT_MINE


def _asked(method: Any, value: Any, options: Mapping[str, Any]) -> Any:
    if not callable(method):
        return _NOT_MINE
    try:
        return method(value, **options)
    except Exception:  # noqa: BLE001 - the value's own code; its fields are read one by one instead
        return _NOT_MINE


def _named_fields(reader: _Reader, value: Any, path: Path) -> Any:
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
        return _NOT_MINE
    return _attributes(reader, value, names, path)


def _attributes(reader: _Reader, value: Any, names: Iterable[str], path: Path) -> dict[str, Any]:
    """The attributes by name; one that cannot be read does not cost the others."""
    pairs: list[tuple[str, Any]] = []
    for name in names:
        try:
            pairs.append((name, getattr(value, name)))
        except Exception as error:  # noqa: BLE001 - a property of the value's may raise anything
            reader.note((*path, name), f"reading it raised {type(error).__name__}, null stands for it")
            pairs.append((name, None))
    return reader.mapping(pairs, path)


def _message(reader: _Reader, value: Any, path: Path) -> Any:
    return reader.plain(message_to_dict(value), path) if isinstance(value, Message) else _NOT_MINE


def _exception(reader: _Reader, value: Any, path: Path) -> Any:
    if not isinstance(value, BaseException):
        return _NOT_MINE
    data: dict[str, Any] = {"type": type_name(type(value)), "message": str(value)}
    if isinstance(value, BaseExceptionGroup):
        data["exceptions"] = reader.items(value.exceptions, (*path, "exceptions"))
    return data


def _group(reader: _Reader, value: Any, path: Path) -> Any:
    """Lists, tuples, sets, queues, views, iterators and whatever else can be gone through."""
    if isinstance(value, list | tuple):
        return reader.items(value, path)
    if isinstance(value, type | IOBase):
        return _NOT_MINE
    if isinstance(value, set | frozenset):
        return _sorted(reader.items(value, path))
    if isinstance(value, Iterator):
        return reader.items(value, path, limit=MAX_ITEMS)
    if isinstance(value, Collection):
        return reader.items(value, path)
    return reader.items(value, path, limit=MAX_ITEMS) if isinstance(value, Iterable) else _NOT_MINE


def _sorted(data: list[Any]) -> list[Any]:
    """In an order that does not depend on hashes: by value where the values can be compared, else by their JSON."""
    try:
        return sorted(data)
    except TypeError:
        return sorted(data, key=_encode)


def _without_meaning(reader: _Reader, value: Any, path: Path) -> Any:
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
    if kind.__module__ == "builtins":  # functions, coroutines, modules: their text is an address or a path
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


_FORMS: Final[tuple[Form, ...]] = (
    _enum,
    _scalar,
    _time,
    _written,
    _binary,
    _numpy,
    _pandas,
    _polars,
    _mapping,
    _own_export,
    _named_fields,
    _message,
    _exception,
    _group,
)
"""Tried in this order; the first that knows the value decides."""
