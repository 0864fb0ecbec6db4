"""The parameters of a function that is to be filled from a state."""

# States of any type are read here, and isinstance() narrows Any to a container of unknown items.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import functools
import inspect
import typing
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from itertools import islice
from types import SimpleNamespace
from typing import Annotated, Any, Final, get_args, get_origin

from pydantic import BaseModel, ConfigDict, TypeAdapter
from pydantic.errors import PydanticUserError
from typing_extensions import is_typeddict

from surehand.callables import caller_frames, closure_names
from surehand.control import RunConfig

__all__ = ["Parameter", "parameters_of", "takes_whole_state"]

_MAX_FRAMES: Final = 30
"""How far back callers are looked through: a local type is most often local to one of the nearest."""
_LENIENT: Final = ConfigDict(arbitrary_types_allowed=True)
_BY_POSITION: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_MAPPINGS: Final = (dict, Mapping, typing.Any, typing.MutableMapping)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter, with the check of its annotation made once."""

    name: str
    annotation: Any
    """Resolved; Any where there is none."""
    default: Any
    """``inspect.Parameter.empty`` where there is none."""
    kind: Any
    """As in ``inspect``."""
    check: Callable[[Any], Any]
    """Gives the value as the annotation's type; raises pydantic's ValidationError."""

    @property
    def has_default(self) -> bool:
        """Whether it may be left out."""
        return self.default is not inspect.Parameter.empty

    @property
    def is_positional_only(self) -> bool:
        """Whether it cannot be given by name."""
        return self.kind is inspect.Parameter.POSITIONAL_ONLY

    @property
    def is_rest(self) -> bool:
        """Whether it takes every key that no other parameter names."""
        return self.kind is inspect.Parameter.VAR_KEYWORD

    @property
    def is_config(self) -> bool:
        """Whether it takes the run's configuration."""
        return self.annotation is RunConfig

    def is_model_of(self, state: Any) -> bool:
        """Whether it wants a whole mapping as a dataclass or Pydantic model."""
        return isinstance(state, Mapping) and _is_record(self.annotation)


def parameters_of(fn: Callable[..., Any]) -> tuple[Parameter, ...]:
    """The parameters in order; ``*args`` is left out, since no key of a state belongs there.

    Raises:
        NameError: An annotation names something that cannot be found.
    """
    signature = inspect.signature(fn)
    resolve = _Resolver(fn)
    return tuple(
        _parameter(parameter, resolve(parameter))
        for parameter in signature.parameters.values()
        if parameter.kind is not inspect.Parameter.VAR_POSITIONAL
    )


def takes_whole_state(parameters: Sequence[Parameter], state: Any, fields: Mapping[str, Any]) -> bool:
    """Whether the function is one of the whole state: its one parameter is called ``state``, or has the state's type.

    A parameter whose name is a key of the state is that key's, whatever its type; only ``state`` always is the state.
    """
    own = [parameter for parameter in parameters if not parameter.is_config]
    if len(own) != 1 or own[0].kind not in _BY_POSITION:
        return False
    parameter = own[0]
    if parameter.name == "state":
        return True
    if parameter.name in fields or parameter.annotation is Any:
        return False
    return _is_type_of(parameter.annotation, state)


def _is_type_of(annotation: Any, state: Any) -> bool:
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    plain = get_origin(annotation) or annotation
    if isinstance(state, Mapping):
        return is_typeddict(plain) or plain in _MAPPINGS or _is_record(plain)
    return isinstance(plain, type) and isinstance(state, plain)


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and (is_dataclass(kind) or issubclass(kind, BaseModel))


def _parameter(parameter: inspect.Parameter, annotation: Any) -> Parameter:
    return Parameter(
        name=parameter.name,
        annotation=annotation,
        default=parameter.default,
        kind=parameter.kind,
        check=_check_of(annotation),
    )


def _check_of(annotation: Any) -> Callable[[Any], Any]:
    if annotation is Any or annotation is RunConfig:
        return _unchecked
    try:
        return TypeAdapter(annotation, config=_LENIENT).validate_python
    except PydanticUserError:
        pass  # a model, dataclass or TypedDict brings its own configuration
    try:
        return TypeAdapter(annotation).validate_python
    except PydanticUserError:
        return _unchecked  # an annotation that pydantic knows nothing of cannot be checked


def _unchecked(value: Any) -> Any:
    return value


class _Resolver:
    """Resolves annotations, also postponed ones that name things local to a function."""

    def __init__(self, fn: Any) -> None:
        while isinstance(fn, functools.partial):
            fn = fn.func
        inner = inspect.unwrap(getattr(fn, "__func__", fn))
        if not hasattr(inner, "__globals__"):
            inner = getattr(type(inner), "__call__", inner)  # noqa: B004 - the method itself is wanted
        self._globals: dict[str, Any] = getattr(inner, "__globals__", {})
        callers = islice(caller_frames(), _MAX_FRAMES)
        self._locals = ChainMap(closure_names(inner), *(frame.f_locals for frame in callers))

    def __call__(self, parameter: inspect.Parameter) -> Any:
        annotation = parameter.annotation
        if annotation is inspect.Parameter.empty:
            return Any
        # One at a time, so that `return`, which may name what only type checkers import, is never looked at.
        holder = SimpleNamespace(__annotations__={"it": annotation})
        return typing.get_type_hints(holder, self._globals, self._locals, include_extras=True)["it"]
