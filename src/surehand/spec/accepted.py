"""Annotations in a form that pydantic takes, where it does not take them as they are."""

from __future__ import annotations

import collections
import collections.abc
import functools
import sys
import types
import typing
from enum import Enum
from typing import Any, Final, get_args, get_origin

import typing_extensions
from pydantic import AfterValidator, BeforeValidator

from surehand.spec.legacy_schema import LegacyField, is_legacy_model

__all__ = ["accepted"]

_CONTAINERS: Final = (
    list,
    set,
    frozenset,
    tuple,
    dict,
    collections.deque,
    collections.abc.Sequence,
    collections.abc.MutableSequence,
    collections.abc.Set,
    collections.abc.Mapping,
    collections.abc.MutableMapping,
)
_LITERALS: Final = (typing.Literal, typing_extensions.Literal)
_UNIONS: Final = (typing.Union, types.UnionType)
_MARKS: Final = (typing.Required, typing.NotRequired)


def accepted(annotation: Any) -> Any:
    """The annotation with what pydantic does not take replaced in it.

    That is every v1 model, every Literal of enum members, and before Python 3.12 every ``typing.TypedDict``.
    """
    if is_legacy_model(annotation):
        return typing.Annotated[Any, LegacyField(annotation)]
    if _is_old_typed_dict(annotation):
        return _modern(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in _LITERALS and any(isinstance(choice, Enum) for choice in arguments):
        return _valued(arguments)
    return _rebuilt(annotation, origin, arguments)


def _rebuilt(annotation: Any, origin: Any, arguments: tuple[Any, ...]) -> Any:
    if origin is typing.Annotated:
        return typing.Annotated[(accepted(arguments[0]), *arguments[1:])]
    if origin not in (collections.abc.Iterable, *_CONTAINERS, *_UNIONS, *_MARKS):
        return annotation
    parts = tuple(accepted(part) for part in arguments)
    if origin is collections.abc.Iterable:
        return _of(list, parts)  # pydantic would check the items only when the tool walks through them
    if parts == arguments:
        return annotation
    if origin in _UNIONS:
        return typing.Union[parts]  # noqa: UP007 - made of parts
    return _of(origin, parts[0] if origin in _MARKS else parts)


def _valued(choices: tuple[Any, ...]) -> Any:
    """A Literal of the members' values: pydantic shows these for a Literal of members, and then takes only members."""
    literal = _of(typing.Literal, tuple(_value_of(choice) for choice in choices))
    to_member = AfterValidator(functools.partial(_member_of, choices))
    return _of(typing.Annotated, (literal, BeforeValidator(_value_of), to_member))


def _value_of(choice: Any) -> Any:
    return choice.value if isinstance(choice, Enum) else choice


def _member_of(choices: tuple[Any, ...], value: Any) -> Any:
    members = (choice for choice in choices if isinstance(choice, Enum))
    return next((one for one in members if type(one.value) is type(value) and one.value == value), value)


def _of(origin: Any, parts: Any) -> Any:
    return origin[parts]


def _is_old_typed_dict(annotation: Any) -> bool:
    return sys.version_info < (3, 12) and typing.is_typeddict(annotation)


def _modern(kind: Any) -> Any:
    """The same TypedDict made by ``typing_extensions``, which pydantic asks for before Python 3.12."""
    if (known := _modern_kinds.get(kind)) is not None:
        return known
    hints = typing.get_type_hints(kind, include_extras=True)
    fields: dict[str, Any] = {}
    for name, hint in hints.items():
        mark = typing.Required if name in kind.__required_keys__ else typing.NotRequired
        part = accepted(hint)
        fields[name] = part if get_origin(part) in _MARKS else mark[part]
    make: Any = typing_extensions.TypedDict
    modern: Any = make(kind.__name__, fields)
    modern.__module__, modern.__doc__ = kind.__module__, kind.__doc__
    if (config := getattr(kind, "__pydantic_config__", None)) is not None:
        modern.__pydantic_config__ = config
    _modern_kinds[kind] = modern
    return modern


_modern_kinds: Final[dict[Any, Any]] = {}
"""Each class is rebuilt once, so that two parameters of one type share a definition."""
