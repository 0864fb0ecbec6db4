"""The values of the standard library: how each is written in JSON and made of it again."""

from __future__ import annotations

import base64
import datetime as dt
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from pathlib import PosixPath, PurePath, PurePosixPath, PureWindowsPath, WindowsPath
from typing import Any, Final, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic_core import TzInfo

from surehand.checkpoints.codec.reading import Damaged, list_of, object_of, text_of
from surehand.checkpoints.codec.writing import Unstorable, Write, Writer, is_unicode
from surehand.freeze import FrozenDict, FrozenList, FrozenSet
from surehand.policy import UNSET, Unset

__all__ = ["READERS", "WRITERS"]

_SMALL: Final = 2**63
"""Integers beyond are written as hexadecimal digits: to read decimal ones takes time in the square of their number."""

_MINUTE: Final = dt.timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """A class whose values are tagged."""

    type: type[Any]
    tag: str
    taken: Callable[[Any], Any]
    """The value's parts, of kinds that can be written themselves."""
    made: Callable[[Any], Any]
    """The value of what was read; raises whatever it likes for parts that are none."""


# -- what is JSON, or nearly -----------------------------------------------------------------------------------------


def _itself(_: Writer, value: Any, __: int) -> Any:
    return value


def _text(_: Writer, value: str, __: int) -> Any:
    # Two halves that stand side by side would be read as one character, so that escapes do not do.
    return value if is_unicode(value) else {"$text": _base64(value.encode("utf-8", "surrogatepass"))}


def _integer(_: Writer, value: int, __: int) -> Any:
    return value if -_SMALL < value < _SMALL else {"$int": hex(value)}


def _number(_: Writer, value: float, __: int) -> Any:
    return value if isfinite(value) else {"$float": repr(value)}


def _array(writer: Writer, value: list[Any], depth: int) -> Any:
    return writer.items(value, depth)


def _object(writer: Writer, value: dict[Any, Any], depth: int) -> Any:
    return writer.members(value, depth)


def _made_text(stored: Any) -> str:
    return _bytes(stored).decode("utf-8", "surrogatepass")


def _made_integer(stored: Any) -> int:
    return int(text_of(stored), 16)


def _made_float(stored: Any) -> float:
    if stored not in ("nan", "inf", "-inf"):
        raise Damaged(f"the text is damaged: there should be 'nan', 'inf' or '-inf' where there is {stored!r:.80}")
    return float(stored)


def _made_dict(stored: Any) -> dict[Any, Any]:
    pairs = [list_of(pair, 2) for pair in list_of(stored)]
    made = {key: value for key, value in pairs}  # noqa: C416 - dict() takes other things than pairs too
    if len(made) != len(pairs):
        raise Damaged("the text is damaged: a key stands twice in one dict")
    return made


# -- bytes, dates, paths ---------------------------------------------------------------------------------------------


def _base64(value: bytes | bytearray) -> str:
    return base64.b64encode(value).decode("ascii")


def _bytes(stored: Any) -> bytes:
    return base64.b64decode(text_of(stored), validate=True)


def _moment(value: dt.datetime | dt.time) -> Any:
    zone = value.tzinfo
    if not value.fold and (zone is None or _is_plain(zone)):
        return value.isoformat()
    return [value.replace(tzinfo=None).isoformat(), zone, value.fold]


def _is_plain(zone: dt.tzinfo) -> bool:
    """Whether it is a nameless offset in minutes; of smaller ones, Python's own reader loses some."""
    return type(zone) is dt.timezone and len(parts := _offset(zone)) == 1 and not parts[0] % _MINUTE


def _made_moment(kind: type[dt.datetime | dt.time]) -> Callable[[Any], Any]:
    def made(stored: Any) -> dt.datetime | dt.time:
        if isinstance(stored, str):
            return kind.fromisoformat(stored)
        text, zone, fold = list_of(stored, 3)
        return kind.fromisoformat(text).replace(tzinfo=zone, fold=fold)

    return made


def _offset(zone: dt.timezone) -> list[Any]:
    return list(zone.__getinitargs__())  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownArgumentType, reportUnknownMemberType] - for copies and pickles


def _seconds_of(zone: TzInfo) -> float:
    return cast("dt.timedelta", zone.utcoffset(None)).total_seconds()


def _zone_key(zone: ZoneInfo) -> str:
    if not zone.key:
        raise Unstorable(zone, "is a time zone without a name", "Make it with ZoneInfo(name).")
    return zone.key


_PATHS: Final[dict[str, type[PurePath]]] = {
    kind.__name__: kind for kind in (PosixPath, WindowsPath, PurePosixPath, PureWindowsPath)
}


def _made_path(stored: Any) -> PurePath:
    name, text = list_of(stored, 2)
    return _PATHS[name](text_of(text))


# -- collections -----------------------------------------------------------------------------------------------------

_FACTORIES: Final[dict[str, type[Any]]] = {
    kind.__name__: kind for kind in (list, dict, set, tuple, str, int, float, bool)
}


def _default_dict(value: defaultdict[Any, Any]) -> list[Any]:
    factory: Any = value.default_factory
    if factory is None:
        return [None, dict(value)]
    if factory not in _FACTORIES.values():
        raise Unstorable(value, "makes its defaults by a function", "Use a factory such as list or int, or a dict.")
    return [factory.__name__, dict(value)]


def _made_default_dict(stored: Any) -> defaultdict[Any, Any]:
    name, items = list_of(stored, 2)
    return defaultdict(None if name is None else _FACTORIES[name], _dict_of(items))


def _dict_of(stored: Any) -> dict[Any, Any]:
    return dict(object_of(stored))  # its keys may be of any kind


def _made_deque(stored: Any) -> deque[Any]:
    items, length = list_of(stored, 2)
    return deque(list_of(items), length)


def _members(value: set[Any] | frozenset[Any]) -> list[Any]:
    """In an order that does not depend on the process, where there is one: the same set is then the same text."""
    kinds = set(map(type, value))
    return sorted(value) if kinds in ({str}, {int}) else list(value)


def _unset(stored: Any) -> Unset:
    del stored
    return UNSET


_KINDS: Final = (
    _Kind(type=tuple, tag="$tuple", taken=list, made=lambda stored: tuple(list_of(stored))),
    _Kind(type=set, tag="$set", taken=_members, made=lambda stored: set(list_of(stored))),
    _Kind(type=frozenset, tag="$frozenset", taken=_members, made=lambda stored: frozenset(list_of(stored))),
    _Kind(type=deque, tag="$deque", taken=lambda value: [list(value), value.maxlen], made=_made_deque),
    _Kind(type=OrderedDict, tag="$ordered", taken=dict, made=lambda stored: OrderedDict(_dict_of(stored))),
    _Kind(type=Counter, tag="$counter", taken=dict, made=lambda stored: Counter(_dict_of(stored))),
    _Kind(type=defaultdict, tag="$default", taken=_default_dict, made=_made_default_dict),
    _Kind(
        type=range,
        tag="$range",
        taken=lambda value: [value.start, value.stop, value.step],
        made=lambda stored: range(*list_of(stored, 3)),
    ),
    _Kind(type=bytes, tag="$bytes", taken=_base64, made=_bytes),
    _Kind(type=bytearray, tag="$bytearray", taken=_base64, made=lambda stored: bytearray(_bytes(stored))),
    _Kind(
        type=complex,
        tag="$complex",
        taken=lambda value: [value.real, value.imag],
        made=lambda stored: complex(*list_of(stored, 2)),
    ),
    _Kind(type=Decimal, tag="$decimal", taken=str, made=lambda stored: Decimal(text_of(stored))),
    _Kind(type=UUID, tag="$uuid", taken=str, made=lambda stored: UUID(text_of(stored))),
    _Kind(type=dt.datetime, tag="$datetime", taken=_moment, made=_made_moment(dt.datetime)),
    _Kind(type=dt.time, tag="$time", taken=_moment, made=_made_moment(dt.time)),
    _Kind(
        type=dt.date,
        tag="$date",
        taken=dt.date.isoformat,
        made=lambda stored: dt.date.fromisoformat(text_of(stored)),
    ),
    _Kind(
        type=dt.timedelta,
        tag="$timedelta",
        taken=lambda value: [value.days, value.seconds, value.microseconds],
        made=lambda stored: dt.timedelta(*list_of(stored, 3)),
    ),
    _Kind(type=dt.timezone, tag="$offset", taken=_offset, made=lambda stored: dt.timezone(*list_of(stored))),
    _Kind(type=TzInfo, tag="$seconds", taken=_seconds_of, made=TzInfo),
    _Kind(type=ZoneInfo, tag="$zone", taken=_zone_key, made=lambda stored: ZoneInfo(text_of(stored))),
    *(
        _Kind(type=kind, tag="$path", taken=lambda value: [type(value).__name__, str(value)], made=_made_path)
        for kind in _PATHS.values()
    ),
    _Kind(type=Unset, tag="$unset", taken=lambda _: None, made=_unset),
)


def _writer_of(kind: _Kind) -> Write:
    tag, taken = kind.tag, kind.taken

    def write(writer: Writer, value: Any, depth: int) -> Any:
        return {tag: writer.form(taken(value), depth + 1)}

    return write


_WRITERS: Final[dict[type[Any], Write]] = {
    **dict.fromkeys((bool, type(None)), _itself),
    str: _text,
    int: _integer,
    float: _number,
    list: _array,
    dict: _object,
    **{kind.type: _writer_of(kind) for kind in _KINDS},
}
WRITERS: Final = _WRITERS | {FrozenList: _array, FrozenDict: _object, FrozenSet: _WRITERS[set]}
"""How a value of each class is written; read-only copies are read as the ordinary values that they equal."""

READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "$text": _made_text,
    "$int": _made_integer,
    "$float": _made_float,
    "$dict": _made_dict,
    "$nearest": lambda stored: stored,
    **{kind.tag: kind.made for kind in _KINDS},
}
"""How the value behind each tag is made again."""
