"""Annotations of the host's code, resolved: also postponed ones that name things local to a function."""

from __future__ import annotations

import functools
import typing
from collections import ChainMap
from collections.abc import Iterator, Mapping
from itertools import takewhile
from types import FrameType
from typing import Any, Literal, get_args, get_origin

from surehand.callables import caller_frames, closure_names
from surehand.errors import GraphDefinitionError

__all__ = ["callers_names", "class_hints", "function_of", "literal_texts", "return_hint"]


def class_hints(kind: type) -> dict[str, Any]:
    """The annotations of a class, extras included.

    Names that the class's module does not have are looked up in the calling functions, where the class was probably
    made.

    Raises:
        GraphDefinitionError: An annotation names something that cannot be found.
    """
    try:
        return typing.get_type_hints(kind, include_extras=True)
    except NameError:
        pass  # a name local to a function; the class itself does not know of which
    try:
        return typing.get_type_hints(kind, localns=callers_names(), include_extras=True)
    except NameError as error:
        raise GraphDefinitionError(
            problem=f"The annotations of {kind.__name__} cannot be resolved: {error}",
            remedy="Import the name where the class is defined, outside of TYPE_CHECKING.",
        ) from error


def return_hint(action: object) -> Any:
    """What a callable is annotated to return; None where it is not, or where the annotation cannot be resolved."""
    function = function_of(action)
    hint = getattr(function, "__annotations__", {}).get("return")
    if not isinstance(hint, str):
        return hint
    try:
        return eval(hint, getattr(function, "__globals__", {}), _names_for(function))  # noqa: S307 - the host's own code
    except Exception:  # noqa: BLE001 - an annotation for type checkers only; it then says nothing about routes
        return None


def function_of(action: object) -> object:
    """The function behind partials, methods and callable objects."""
    while isinstance(action, functools.partial):
        action = action.func
    action = getattr(action, "__func__", action)
    return action if hasattr(action, "__code__") else getattr(type(action), "__call__", action)  # noqa: B004 - the method itself


def literal_texts(hint: Any) -> tuple[tuple[str, ...], bool]:
    """The texts of every ``Literal`` in an annotation, and whether it allows nothing else."""
    if get_origin(hint) is Literal:
        texts = tuple(value for value in get_args(hint) if isinstance(value, str))
        return texts, len(texts) == len(get_args(hint))
    parts = [literal_texts(part) for part in get_args(hint) if part is not type(None) and part is not Ellipsis]
    texts = tuple(dict.fromkeys(text for found, _ in parts for text in found))
    return texts, bool(parts) and all(is_closed for _, is_closed in parts)


def _names_for(function: object) -> Mapping[str, Any]:
    return ChainMap(closure_names(function), *(frame.f_locals for frame in _calling_functions()))


def callers_names() -> dict[str, Any]:
    """The local names of the functions that called into this package, those of the nearest first."""
    return dict(ChainMap(*(frame.f_locals for frame in _calling_functions())))


def _calling_functions() -> Iterator[FrameType]:
    """The functions that led here; a module's frame holds globals and ends the search."""
    return takewhile(lambda frame: frame.f_code.co_name != "<module>", caller_frames())
