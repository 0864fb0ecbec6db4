"""Which classes the values of an annotation may be of."""

from __future__ import annotations

import inspect
import sys
from collections import ChainMap
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, ForwardRef, Literal, TypeAlias, TypeVar, cast, get_args, get_origin

from typing_extensions import is_typeddict

from surehand.callables import caller_frames
from surehand.checkpoints.codec.classes import family_of

__all__ = ["types_in"]

_Part: TypeAlias = tuple[Any, type[Any] | None]
"""An annotation, and the class that it stands in."""

_MOST: Final = 10_000
"""Annotations that are looked at: generics that hold ever larger versions of themselves have no end."""


def types_in(annotation: Any) -> set[type]:
    """The enums, dataclasses, pydantic models and named tuples that an annotation names, however deep.

    Looks into generics, unions, ``Annotated``, the fields of these classes and of TypedDicts, recursive ones included.
    Never raises: what cannot be resolved is left out, and refused by the codec when such a value is written.
    """
    found: set[type] = set()
    seen: dict[int, Any] = {}  # with the annotations themselves: an id says which one it is only while that lives
    waiting: list[_Part] = [(annotation, None)]
    for _ in range(_MOST):
        if not waiting:
            break
        part, owner = waiting.pop()
        if id(part) in seen:
            continue
        seen[id(part)] = part
        try:
            if isinstance(part, type) and family_of(part) is not None:
                found.add(part)
            waiting += _parts(part, owner)
        except Exception:  # noqa: BLE001, S112 - an annotation may be any object, with code of its own
            continue
    return found


def _parts(annotation: Any, owner: type[Any] | None) -> list[_Part]:
    """The annotations that one is made of."""
    if isinstance(annotation, str | ForwardRef):
        return [(_resolved(annotation, owner), owner)]
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return _fields(annotation)
    return [(part, owner) for part in _arguments(annotation)]


def _arguments(annotation: Any) -> Iterable[Any]:
    origin = get_origin(annotation)
    if origin is Literal:
        return [type(value) for value in get_args(annotation)]
    if origin is Annotated:
        return get_args(annotation)[:1]
    if origin is not None:
        return [origin, *get_args(annotation)]
    if isinstance(annotation, list | tuple):  # the parameters of a Callable
        return cast("Iterable[Any]", annotation)
    if isinstance(annotation, TypeVar):
        return [annotation.__bound__, *annotation.__constraints__, getattr(annotation, "__default__", None)]
    # NewType has a supertype, an alias that a `type` statement makes has a value.
    return [getattr(annotation, "__supertype__", None), getattr(annotation, "__value__", None)]


def _fields(kind: type[Any]) -> list[_Part]:
    """The annotations of a class's fields."""
    if family_of(kind) is None and not is_typeddict(kind):
        return []
    generic: Mapping[str, Any] = getattr(kind, "__pydantic_generic_metadata__", {})
    # pydantic knows what its annotations name also where their module does not.
    known: Mapping[str, Any] = getattr(kind, "__pydantic_fields__", {})
    parts = [generic.get("origin"), *generic.get("args", ()), *(field.annotation for field in known.values())]
    own = [(hint, base) for base in kind.__mro__ for hint in inspect.get_annotations(base).values()]
    return [*((part, kind) for part in parts), *own]


def _resolved(hint: str | ForwardRef, owner: type[Any] | None) -> Any:
    """What an annotation that is a text names; None where that cannot be found."""
    text = hint.__forward_arg__ if isinstance(hint, ForwardRef) else hint
    module = sys.modules.get(owner.__module__) if owner is not None else None
    own = {} if owner is None else {**vars(owner), owner.__name__: owner}
    local = ChainMap(own, *(frame.f_locals for frame in caller_frames()))
    try:
        return eval(text, {} if module is None else vars(module), local)  # noqa: S307 - the host's own code
    except Exception:  # noqa: BLE001 - a name for type checkers only
        return None
