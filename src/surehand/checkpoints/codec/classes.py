"""Values of the host's own classes: enums, dataclasses, pydantic models, named tuples.

A text names the class, and only a class that was given is ever found by that name. An instance is put together again
field by field, as it was: what its constructor and validators once made of their input is not put through them a second
time, which might make something else of it. Pydantic models are nevertheless validated when they are read, to notice
damage and classes that have changed since. Whether a model passes is tried when it is written: one that was changed
after its validation, or whose validators do not take what they return themselves, is marked and read unseen.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from enum import Enum, Flag
from functools import cache, cached_property
from typing import Any, Final, cast

from pydantic import AliasChoices, BaseModel, TypeAdapter, ValidationError
from pydantic_core import PydanticUndefined

from surehand.checkpoints.codec.reading import Damaged, list_of, object_of, text_of
from surehand.checkpoints.codec.writing import OUT_OF_STATE, Unstorable, Write, Writer
from surehand.errors import shown
from surehand.messages import AIMessageChunk, Message
from surehand.wording import clipped

__all__ = ["ENUM", "OWN", "TAGS", "Family", "family_of", "full_name", "refusal"]

_BUILT_IN: Final = (str, bool, int, float, complex, bytes, list, dict, tuple, set, frozenset, BaseException)
"""What a class of the host's may hold beside its fields."""
_COMPLAINT: Final = 300
"""Characters of what a model says about its values."""

_set = object.__setattr__  # past what frozen classes and validated assignment say


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A kind of classes that are stored alike."""

    tag: str
    holds: Callable[[type[Any]], bool]
    taken: Callable[[Any], list[Any]]
    """What stands behind the class's name: values of kinds that can be written themselves."""
    made: Callable[[type[Any], list[Any]], Any]
    """The instance of a class; raises whatever it likes for parts that are none of it."""

    def writer(self, name: str) -> Write:
        """Writes instances of the class that is called so."""

        def write(writer: Writer, value: Any, depth: int) -> Any:
            try:
                parts = self.taken(value)
            except Unstorable:
                raise
            except Exception as error:  # the class's own code, for example a property in place of a field
                raise Unstorable(value, f"cannot be taken apart ({type(error).__name__}: {error})") from error
            return {self.tag: [name, *(writer.form(part, depth + 2) for part in parts)]}

        return write


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
    makers = {name: _giving(defaults[name]) if name in defaults else None for name in kind._fields}
    values = _completed(kind, object_of(stored), makers)
    return tuple.__new__(kind, [values[name] for name in kind._fields])  # pyright: ignore[reportUnknownMemberType] - a tuple of anything


# -- dataclasses -----------------------------------------------------------------------------------------------------

_ABSENT: Final = object()
"""The value of a field that may have none: the constructor does not set it, and it has no default."""


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
        held = getattr(value, field.name, _ABSENT)
        if held is not _ABSENT:
            fields[field.name] = held
        elif _maker_of(field) is not _absent:
            raise _incomplete(value, field.name)
    return fields


def _is_cached(kind: type[Any], name: str) -> bool:
    """Whether an attribute is only the memory of one that is computed."""
    return isinstance(getattr(kind, name, None), cached_property)


def _made_record(kind: type[Any], parts: list[Any]) -> Any:
    stored, *more = parts
    values = _completed(kind, object_of(stored), {field.name: _maker_of(field) for field in dataclasses.fields(kind)})
    made = object.__new__(kind)
    for name, value in (values | (object_of(more[0]) if more else {})).items():
        if value is not _ABSENT:
            _set(made, name, value)
    return made


def _maker_of(field: dataclasses.Field[Any]) -> Callable[[], Any] | None:
    if field.default is not dataclasses.MISSING:
        return _giving(field.default)
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory
    return None if field.init else _absent


def _absent() -> Any:
    return _ABSENT


# Our own: what has its default is left out.


def _taken_own(value: Any) -> list[Any]:
    fields = dataclasses.fields(value)
    held = {field.name: getattr(value, field.name) for field in fields}
    return [{field.name: held[field.name] for field in fields if held[field.name] is not field.default}]


# -- pydantic models -------------------------------------------------------------------------------------------------


def _is_model(kind: type[Any]) -> bool:
    return issubclass(kind, BaseModel)


def _taken_model(value: BaseModel) -> list[Any]:
    kind = type(value)
    held = value.__dict__
    fields = {name: held[name] for name in kind.model_fields if name in held}
    for name in kind.model_fields:
        if name not in fields:
            raise _incomplete(value, name)
    extra, private = value.__pydantic_extra__ or {}, value.__pydantic_private__ or {}
    given = value.__pydantic_fields_set__
    beside: dict[str, Any] = {"extra": extra, "private": private}
    if given != fields.keys() | extra.keys():
        beside["set"] = sorted(given)
    if _complaint(kind, fields, extra):
        beside["unseen"] = True
    beside = {name: part for name, part in beside.items() if part or name == "set"}
    return [fields, beside] if beside else [fields]


def _made_model(kind: type[BaseModel], parts: list[Any]) -> BaseModel:
    stored, beside = object_of(parts[0]), object_of(parts[1]) if len(parts) > 1 else {}
    extra = object_of(beside.get("extra", {}))
    known = kind.model_fields
    makers = {name: None if field.is_required() else _absent for name, field in known.items()}
    fields = _completed(kind, stored, makers)
    for name, value in fields.items():
        if value is _ABSENT:
            fields[name] = known[name].get_default(call_default_factory=True, validated_data=fields)
    complaint = None if beside.get("unseen") is True else _complaint(kind, fields, extra)
    if complaint:
        raise Damaged(
            f"what is stored is no {kind.__qualname__}: {complaint}", "Give the class back the rules it was stored by."
        )
    made = object.__new__(kind)
    _set(made, "__dict__", fields)
    _set(made, "__pydantic_fields_set__", set(list_of(beside.get("set", [*stored, *extra]))))
    _set(made, "__pydantic_extra__", extra if kind.model_config.get("extra") == "allow" else None)
    _set(made, "__pydantic_private__", _private_of(kind, object_of(beside.get("private", {}))))
    return made


def _private_of(kind: type[BaseModel], stored: dict[str, Any]) -> dict[str, Any] | None:
    attributes = kind.__private_attributes__
    if not stored and not attributes:
        return None
    defaults = {name: attributes[name].get_default() for name in attributes if name not in stored}
    return {name: value for name, value in defaults.items() if value is not PydanticUndefined} | stored


def _complaint(kind: type[BaseModel], fields: Mapping[str, Any], extra: Mapping[str, Any]) -> str | None:
    """Why the model's own rules do not take these values, or None."""
    names = {name: _wire_name(kind, name) for name in fields}
    # Copies, one level deep: validators that change what they are given are not to change the state.
    given: Any = {names[name]: _own(value) for name, value in fields.items()} | dict(extra)
    if kind.__pydantic_root_model__:
        given = _own(fields["root"])
    try:
        kind.__pydantic_validator__.validate_python(given)
    except ValidationError as error:
        complaints = error.errors(include_url=False, include_context=False, include_input=False)
        words = [f"{'.'.join(['$', *map(str, each['loc'])])}: {each['msg']}" for each in complaints]
        return clipped("; ".join(words), _COMPLAINT)
    except Exception as error:  # noqa: BLE001 - validators are the host's code
        return clipped(f"{type(error).__name__}: {error}", _COMPLAINT)
    return None


def _own(value: object) -> object:
    return copy(value) if type(value) in (list, dict, set) else value


def _wire_name(kind: type[BaseModel], name: str) -> str:
    """The name under which a model takes a field."""
    if kind.model_config.get("populate_by_name") or kind.model_config.get("validate_by_name"):
        return name
    alias = kind.model_fields[name].validation_alias
    if isinstance(alias, AliasChoices):
        alias = next((choice for choice in alias.choices if isinstance(choice, str)), None)
    return alias if isinstance(alias, str) else name


# Models of pydantic 1, where they are still used: as they were, unseen.


def _is_legacy_model(kind: type[Any]) -> bool:
    module = sys.modules.get("pydantic.v1.main")
    return module is not None and issubclass(kind, module.BaseModel)


def _taken_legacy(value: object) -> list[Any]:
    kind: Any = type(value)
    given: Any = getattr(value, "__fields_set__")  # noqa: B009 - no attribute that a checker knows of
    private = {name: getattr(value, name) for name in kind.__private_attributes__ if hasattr(value, name)}
    return [dict(vars(value)), {"set": sorted(given), "private": private}]


def _made_legacy(kind: Any, parts: list[Any]) -> Any:
    stored, beside = map(object_of, list_of(parts, 2))
    makers = {name: None if field.required else field.get_default for name, field in kind.__fields__.items()}
    is_open = kind.__config__.extra == "allow"
    fields = _completed(kind, stored, makers | (dict.fromkeys(stored) if is_open else {}))
    made = object.__new__(kind)
    _set(made, "__dict__", fields)
    _set(made, "__fields_set__", set(list_of(beside["set"])))
    for name, value in object_of(beside["private"]).items():
        _set(made, name, value)
    return made


# -- URLs of pydantic ------------------------------------------------------------------------------------------------


def _is_url(kind: type[Any]) -> bool:
    module = sys.modules.get("pydantic.networks")
    return module is not None and issubclass(kind, module.AnyUrl)


@cache
def _urls_of(kind: Any) -> TypeAdapter[Any]:
    """Reads URLs of a class as a field of that class does; in some versions the class itself makes others."""
    return TypeAdapter(kind)


# -- what they have in common ----------------------------------------------------------------------------------------


def _giving(value: Any) -> Callable[[], Any]:
    return lambda: value


def _incomplete(value: object, name: str) -> Unstorable:
    return Unstorable(value, f"has no value for its field {name!r}", "Give it one.")


def _completed(
    kind: type[Any], stored: dict[str, Any], makers: Mapping[str, Callable[[], Any] | None]
) -> dict[str, Any]:
    """The fields of a class, in its order; one that is new since is made by its default."""
    foreign = stored.keys() - makers.keys()
    if foreign:
        names = ", ".join(sorted(foreign))
        raise Damaged(f"{kind.__qualname__} has no field {names} any more", "Give it back, if only with a default.")
    values: dict[str, Any] = {}
    for name, make in makers.items():
        if name in stored:
            values[name] = stored[name]
        elif make is None:
            raise Damaged(f"no {name} of {kind.__qualname__} is stored, which it needs", "Give that field a default.")
        else:
            values[name] = make()
    return values


OWN: Final = Family(tag="$surehand", holds=lambda _: False, taken=_taken_own, made=_made_record)
"""Dataclasses of ours."""

ENUM: Final = Family(tag="$enum", holds=lambda kind: issubclass(kind, Enum), taken=_taken_enum, made=_made_enum)

_FAMILIES: Final = (
    ENUM,
    Family(tag="$tuple_of", holds=_is_named_tuple, taken=_taken_tuple, made=_made_tuple),
    Family(tag="$record", holds=_is_plain_dataclass, taken=_taken_record, made=_made_record),
    Family(tag="$model", holds=_is_model, taken=_taken_model, made=_made_model),
    Family(tag="$model_v1", holds=_is_legacy_model, taken=_taken_legacy, made=_made_legacy),
    Family(
        tag="$url",
        holds=_is_url,
        taken=lambda value: [str(value)],
        made=lambda kind, parts: _urls_of(cast("Any", kind)).validate_python(text_of(list_of(parts, 1)[0])),
    ),
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
