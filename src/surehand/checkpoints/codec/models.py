"""Values of pydantic: models of its second and first version, and URLs.

A model is validated when it is read, to notice damage and classes that have changed since; what it holds is
nevertheless what was stored. Whether it passes is tried when it is written: one that was changed after its validation,
or whose validators do not take what they return themselves, is marked and read unseen.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from copy import copy
from functools import cache
from typing import Any, Final, cast

from pydantic import AliasChoices, BaseModel, TypeAdapter, ValidationError
from pydantic_core import PydanticUndefined

from surehand.checkpoints.codec.family import ABSENT, Family, absent, completed, incomplete, put
from surehand.checkpoints.codec.reading import Damaged, list_of, object_of, text_of
from surehand.wording import clipped

__all__ = ["OF_PYDANTIC"]

_COMPLAINT: Final = 300
"""Characters of what a model says about its values."""


def _is_model(kind: type[Any]) -> bool:
    return issubclass(kind, BaseModel)


def _taken_model(value: BaseModel) -> list[Any]:
    kind = type(value)
    held = value.__dict__
    fields = {name: held[name] for name in kind.model_fields if name in held}
    for name in kind.model_fields:
        if name not in fields:
            raise incomplete(value, name)
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
    makers = {name: None if field.is_required() else absent for name, field in known.items()}
    fields = completed(kind, stored, makers)
    for name, value in fields.items():
        if value is ABSENT:
            fields[name] = known[name].get_default(call_default_factory=True, validated_data=fields)
    complaint = None if beside.get("unseen") is True else _complaint(kind, fields, extra)
    if complaint:
        raise Damaged(
            f"what is stored is no {kind.__qualname__}: {complaint}", "Give the class back the rules it was stored by."
        )
    made = object.__new__(kind)
    put(made, "__dict__", fields)
    put(made, "__pydantic_fields_set__", set(list_of(beside.get("set", [*stored, *extra]))))
    put(made, "__pydantic_extra__", extra if kind.model_config.get("extra") == "allow" else None)
    put(made, "__pydantic_private__", _private_of(kind, object_of(beside.get("private", {}))))
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
    fields = completed(kind, stored, makers | (dict.fromkeys(stored) if is_open else {}))
    made = object.__new__(kind)
    put(made, "__dict__", fields)
    put(made, "__fields_set__", set(list_of(beside["set"])))
    for name, value in object_of(beside["private"]).items():
        put(made, name, value)
    return made


# -- URLs of pydantic ------------------------------------------------------------------------------------------------


def _is_url(kind: type[Any]) -> bool:
    module = sys.modules.get("pydantic.networks")
    return module is not None and issubclass(kind, module.AnyUrl)


@cache
def _urls_of(kind: Any) -> TypeAdapter[Any]:
    """Reads URLs of a class as a field of that class does; in some versions the class itself makes others."""
    return TypeAdapter(kind)


OF_PYDANTIC: Final = (
    Family(tag="$model", holds=_is_model, taken=_taken_model, made=_made_model),
    Family(tag="$model_v1", holds=_is_legacy_model, taken=_taken_legacy, made=_made_legacy),
    Family(
        tag="$url",
        holds=_is_url,
        taken=lambda value: [str(value)],
        made=lambda kind, parts: _urls_of(cast("Any", kind)).validate_python(text_of(list_of(parts, 1)[0])),
    ),
)
"""The families of these classes."""
