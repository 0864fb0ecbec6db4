"""Values of the host's own classes: enums, dataclasses, pydantic models, named tuples.

A text names the class, and only a class that was given is ever found by that name. An instance is put together again
field by field, as it was: what its constructor and validators once made of their input is not put through them a second
time, which might make something else of it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from enum import Enum, Flag
from functools import cached_property
from typing import Any, Final

from surehand.checkpoints.codec.family import ABSENT, Family, absent, completed, giving, incomplete, put
from surehand.checkpoints.codec.models import OF_PYDANTIC
from surehand.checkpoints.codec.reading import Damaged, list_of, object_of
from surehand.checkpoints.codec.writing import OUT_OF_STATE, Unstorable
from surehand.errors import shown
from surehand.messages import AIMessageChunk, Message

__all__ = ["ENUM", "OWN", "TAGS", "family_of", "full_name", "refusal"]

_BUILT_IN: Final = (str, bool, int, float, complex, bytes, list, dict, tuple, set, frozenset, BaseException)
"""What a class of the host's may hold beside its fields."""


def full_name(kind: type[Any]) -> str:
    """What a class is called in a text."""
    return f"{kind.__module__}.{kind.__qualname__}"


# -- enums -----------------------------------------------------------------------------------------------------------


def _taken_enum(value: Enum) -> list[Any]:
    kind = type(value)
    if isinstance(value, Flag):  # a combination has no name of its own
        return [value.value]
    if kind.__members__.get(value.name) is not value:
        raise Unstorable(value, f"is no member of {kind.__qualname__} by its name", "Store one that is.")
    return [value.name]


def _made_enum(kind: type[Enum], parts: list[Any]) -> Enum:
    (stored,) = list_of(parts, 1)
    made: object = kind(stored) if issubclass(kind, Flag) else kind.__members__.get(stored)
    if not isinstance(made, kind):
        raise Damaged(f"{kind.__qualname__} has no member {shown(stored)}", "Give it that member back.")
    return made


# -- named tuples ----------------------------------------------------------------------------------------------------


def _is_named_tuple(kind: type[Any]) -> bool:
    return isinstance(getattr(kind, "_fields", None), tuple) and issubclass(kind, tuple)


def _taken_tuple(value: Any) -> list[Any]:
    fields: tuple[str, ...] = value._fields
    if len(fields) != len(value) or getattr(value, "__dict__", None):
        raise Unstorable(value, "is a named tuple that holds more than its fields")
    return [dict(zip(fields, value, strict=True))]


def _made_tuple(kind: Any, parts: list[Any]) -> Any:
    (stored,) = list_of(parts, 1)
    defaults: Mapping[str, Any] = kind._field_defaults
    makers = {name: giving(defaults[name]) if name in defaults else None for name in kind._fields}
    values = completed(kind, object_of(stored), makers)
    return tuple.__new__(kind, [values[name] for name in kind._fields])  # pyright: ignore[reportUnknownMemberType] - a tuple of anything


# -- dataclasses -----------------------------------------------------------------------------------------------------


def _is_plain_dataclass(kind: type[Any]) -> bool:
    """Whether instances hold nothing but what their fields say."""
    return dataclasses.is_dataclass(kind) and not issubclass(kind, _BUILT_IN)


def _taken_record(value: object) -> list[Any]:
    fields = _fields_of(value)
    beside = {
        name: held
        for name, held in getattr(value, "__dict__", {}).items()
        if name not in fields and not name.startswith("__") and not _is_cached(type(value), name)
    }
    return [fields, beside] if beside else [fields]


def _fields_of(value: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(value):
        held = getattr(value, field.name, ABSENT)
        if held is not ABSENT:
            fields[field.name] = held
        elif _maker_of(field) is not absent:
            raise incomplete(value, field.name)
    return fields


def _is_cached(kind: type[Any], name: str) -> bool:
    """Whether an attribute is only the memory of one that is computed."""
    return isinstance(getattr(kind, name, None), cached_property)


def _made_record(kind: type[Any], parts: list[Any]) -> Any:
    stored, *more = parts
    values = completed(kind, object_of(stored), {field.name: _maker_of(field) for field in dataclasses.fields(kind)})
    made = object.__new__(kind)
    for name, value in (values | (object_of(more[0]) if more else {})).items():
        if value is not ABSENT:
            put(made, name, value)
    return made


def _maker_of(field: dataclasses.Field[Any]) -> Callable[[], Any] | None:
    if field.default is not dataclasses.MISSING:
        return giving(field.default)
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory
    return None if field.init else absent


# Our own: what has its default is left out.


def _taken_own(value: Any) -> list[Any]:
    fields = dataclasses.fields(value)
    held = {field.name: getattr(value, field.name) for field in fields}
    return [{field.name: held[field.name] for field in fields if held[field.name] is not field.default}]


OWN: Final = Family(tag="$surehand", holds=lambda _: False, taken=_taken_own, made=_made_record)
"""Dataclasses of ours."""

ENUM: Final = Family(tag="$enum", holds=lambda kind: issubclass(kind, Enum), taken=_taken_enum, made=_made_enum)

_FAMILIES: Final = (
    ENUM,
    Family(tag="$tuple_of", holds=_is_named_tuple, taken=_taken_tuple, made=_made_tuple),
    Family(tag="$record", holds=_is_plain_dataclass, taken=_taken_record, made=_made_record),
    *OF_PYDANTIC,
)

TAGS: Final = frozenset({OWN.tag, *(family.tag for family in _FAMILIES)})


def family_of(kind: type[Any]) -> Family | None:
    """How instances of a class are stored; None where they are not."""
    return next((family for family in _FAMILIES if family.holds(kind)), None)


# -- what is not stored ----------------------------------------------------------------------------------------------


def refusal(value: object) -> Unstorable:
    """Why a value of an unknown class is not stored, and what to do about it."""
    kind = type(value)
    name = full_name(kind)
    if issubclass(kind, AIMessageChunk):
        return Unstorable(value, "is a piece of a stream", "Store chunk.to_message().")
    if issubclass(kind, Message):
        return Unstorable(
            value, f"is of a message class of its own, {name}", "Use Surehand's classes, with additional_kwargs."
        )
    if family_of(kind) is not None:
        remedy = f"Pass types=({kind.__qualname__},) to compile()."
        return Unstorable(value, f"is of class {name}, which is not among the types that are known here", remedy)
    plain = next((base for base in _BUILT_IN[:-1] if issubclass(kind, base)), None)
    if plain is not None:
        remedy = f"Store {plain.__name__}(value)."
        return Unstorable(value, f"is of class {name} and would come back as a plain {plain.__name__}", remedy)
    return Unstorable(value, f"is of class {name}, which has no stored form", OUT_OF_STATE)
