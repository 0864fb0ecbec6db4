"""Reading the signature of whatever can be called.

``inspect`` finds the parameters and ``typing`` resolves annotations that are text, as long as a module holds the names
in them. A class that is local to the function around the tool is in no module, and in the closure only if the tool's
body uses it too. So the frames that are still running are searched for that function, by its name and module: right
for a tool that is made where its types are, and an error that says so where the function has returned.
To search them all and take the first name that fits would find more, and now and then another class of that name. Each
annotation is resolved alone, so that an error names its parameter, and none is raised for a return type.

Whose a parameter is, its annotation says and never its name, with one exception: Python does not mark a method that is
decorated in its class, so ``self`` and ``cls`` are known by name and place. What would change our minds: annotations
that keep their scope (Python 3.14 does, for those that are not text) in every Python we support.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, get_args, get_origin

from typing_extensions import Unpack, is_typeddict

from surehand.callables import caller_frames, closure_names, is_async_callable
from surehand.errors import ToolDefinitionError, shown
from surehand.policy import UNSET, Unset
from surehand.spec.injection import Injection, injection_of

__all__ = ["Parameter", "Signature", "inner_function", "read_signature"]

_WRAPPERS = (functools.partial, types.MethodType, classmethod, staticmethod)
_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter whose value the model gives."""

    name: str
    annotation: Any
    """Resolved; Any where there is none."""
    default: Any = UNSET
    """UNSET where the model has to give a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What a callable takes, sorted by who provides it."""

    function: Callable[..., Any]
    """What to call: the callable itself, or the function inside a raw class or static method."""
    is_async: bool = False
    parameters: tuple[Parameter, ...] = ()
    """The parameters of the model."""
    injections: tuple[Injection, ...] = ()
    """The parameters of the host."""
    positional: tuple[tuple[str, Any], ...] = ()
    """Name and default of each parameter that has to be passed by position."""
    variadic: str | None = None
    """The name of the ``*args`` parameter."""
    extras: Any = UNSET
    """The annotation of each value of ``**kwargs``; UNSET where there is no such parameter."""
    receiver: str | None = None
    """``self`` or ``cls``, for a method taken from its class."""
    accepted: frozenset[str] = field(default_factory=frozenset[str])
    """The names of all parameters."""
    reserved: frozenset[str] = field(default_factory=frozenset[str])
    """The names whose values stand already: what a partial binds, and the instance or class of a method."""


def read_signature(function: Any, *, tool: str) -> Signature:
    """Sort the parameters of a callable; one without a readable signature takes any keyword.

    Raises:
        ToolDefinitionError: Not a callable, or an annotation cannot be resolved.
    """
    is_class_method = isinstance(function, classmethod)
    if is_class_method or isinstance(function, staticmethod):
        function = _inside(function)
    if not callable(function):
        raise ToolDefinitionError(
            tool=tool, problem=f"{shown(function)} cannot be called", remedy="Give it a function, method or callable."
        )
    is_async = is_async_callable(function)
    try:
        raw = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        return Signature(function=function, is_async=is_async, extras=Any)
    receiver = _receiver(function, raw, is_class_method=is_class_method)
    bound = set(function.keywords) if isinstance(function, functools.partial) else set[str]()
    resolve = _Resolver(function, tool=tool)
    kept = [p for p in raw[1 if receiver else 0 :] if p.name not in bound]
    found = _sort(function, kept, resolve, is_async=is_async, receiver=receiver)
    return replace(found, reserved=_reserved(function) - found.accepted)


def _reserved(function: Any) -> frozenset[str]:
    """The names of all that could be given to the function inside, and of what partials give to it."""
    try:
        inner = inspect.signature(inner_function(function)).parameters.values()
    except (ValueError, TypeError):
        return frozenset()
    # a model could send these too, and what it sends must not replace what the host has bound
    names = {item.name for item in inner if _is_named(item)}
    while isinstance(function, functools.partial):
        names |= set(function.keywords)
        function = function.func
    return frozenset(names)


def _is_named(parameter: inspect.Parameter) -> bool:
    return parameter.kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _sort(
    function: Any,
    raw: list[inspect.Parameter],
    resolve: _Resolver,
    *,
    is_async: bool,
    receiver: str | None,
) -> Signature:
    parameters: list[Parameter] = []
    injections: list[Injection] = []
    extras: Any = UNSET
    variadic: str | None = None
    for item in raw:
        annotation = resolve(item)
        default = UNSET if item.default is inspect.Parameter.empty else item.default
        if item.kind is inspect.Parameter.VAR_KEYWORD:
            unpacked = list(_unpacked(annotation))
            parameters += unpacked
            extras = UNSET if unpacked else annotation
        elif item.kind is inspect.Parameter.VAR_POSITIONAL:
            variadic = item.name
            items = types.GenericAlias(list, (annotation,))
            parameters.append(Parameter(name=item.name, annotation=items, default=[]))
        elif (injection := injection_of(item.name, annotation, default=default)) is not None:
            injections.append(injection)
        else:
            parameters.append(Parameter(name=item.name, annotation=annotation, default=default))
    return Signature(
        function=function,
        is_async=is_async,
        parameters=tuple(parameters),
        injections=tuple(injections),
        positional=_positional(raw, has_variadic=variadic is not None),
        variadic=variadic,
        extras=extras,
        receiver=receiver,
        accepted=frozenset(item.name for item in raw),
    )


def _positional(raw: list[inspect.Parameter], *, has_variadic: bool) -> tuple[tuple[str, Any], ...]:
    """Positional-only parameters; before ``*args`` the others too, or its items would take their places."""
    kinds = _BY_POSITION if has_variadic else (inspect.Parameter.POSITIONAL_ONLY,)
    return tuple(
        (item.name, UNSET if item.default is inspect.Parameter.empty else item.default)
        for item in raw
        if item.kind in kinds
    )


def _unpacked(annotation: Any) -> Iterator[Parameter]:
    """The keys of ``**kwargs: Unpack[SomeTypedDict]`` as parameters of their own."""
    kind = get_args(annotation)[0] if get_origin(annotation) is Unpack else None
    if kind is None or not is_typeddict(kind):
        return
    for name, hint in typing.get_type_hints(kind, include_extras=True).items():
        # with postponed annotations __required_keys__ does not know of NotRequired
        is_required = name in kind.__required_keys__ and get_origin(hint) is not typing.NotRequired
        yield Parameter(name=name, annotation=_unmarked(hint), default=UNSET if is_required else MISSING)


def _unmarked(annotation: Any) -> Any:
    while get_origin(annotation) in (typing.Required, typing.NotRequired):
        annotation = get_args(annotation)[0]
    return annotation


class _Missing(Unset):
    """The type of MISSING."""


MISSING: typing.Final = _Missing()
"""The default of a key that may be left out and then is not passed on at all."""


def _inside(wrapper: Any) -> Any:
    """The function inside a partial, or inside a bound, class or static method."""
    return wrapper.func if isinstance(wrapper, functools.partial) else wrapper.__func__


def inner_function(function: Any) -> Any:
    """The function at the bottom of partials, wrappers, methods and callable objects."""
    for _ in range(100):  # a host's object may be its own __wrapped__, or make new ones for ever
        if isinstance(function, _WRAPPERS):
            function = _inside(function)
        elif (wrapped := getattr(function, "__wrapped__", None)) is not None:
            function = wrapped
        elif not isinstance(function, types.FunctionType | type) and callable(function):
            inner = type(function).__call__
            if not isinstance(inner, types.FunctionType):
                break
            function = inner
        else:
            break
    return function


def _receiver(function: Any, raw: list[inspect.Parameter], *, is_class_method: bool) -> str | None:
    """The name of the first parameter, where it is the instance or class of a method not bound yet."""
    if not raw or raw[0].kind not in _BY_POSITION:
        return None
    if is_class_method:
        return raw[0].name
    if not inspect.isfunction(function) or raw[0].name not in ("self", "cls"):
        return None
    owner = function.__qualname__.rpartition(".")[0]
    return raw[0].name if owner and not owner.endswith("<locals>") else None


class _Resolver:
    """Resolves annotations where the function was defined, names of enclosing functions included."""

    def __init__(self, function: Any, *, tool: str) -> None:
        self.tool = tool
        inner = inner_function(function)
        self.globals: dict[str, Any] = dict(getattr(inner, "__globals__", {}))
        self.locals: dict[str, Any] = dict(_enclosing_names(inner))

    def __call__(self, parameter: inspect.Parameter) -> Any:
        annotation = parameter.annotation
        if annotation is inspect.Parameter.empty:
            return Any
        if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
            return annotation
        if isinstance(annotation, str) and parameter.kind is inspect.Parameter.VAR_KEYWORD:
            # typing refuses to read a bare Unpack[…] from text
            return self._hints(parameter.name, f"__wrap__[{annotation}]", wrap=True)
        return self._hints(parameter.name, annotation)

    def _hints(self, name: str, annotation: Any, *, wrap: bool = False) -> Any:
        holder = types.SimpleNamespace(__annotations__={name: annotation})
        scope = {**self.locals, "__wrap__": _Wrap} if wrap else self.locals
        try:
            found = typing.get_type_hints(holder, self.globals, scope, include_extras=True)[name]
        except Exception as error:
            text = annotation if isinstance(annotation, str) else shown(annotation)
            raise ToolDefinitionError(
                tool=self.tool,
                problem=f"the annotation {text.removeprefix('__wrap__[')!r} of parameter {name!r} "
                f"cannot be resolved ({type(error).__name__}: {error})",
                remedy="Define or import the names it uses where the function is defined, at run time too.",
            ) from error
        return get_args(found)[0] if wrap else found


ItemT = typing.TypeVar("ItemT")


class _Wrap(typing.Generic[ItemT]):
    """Holds an annotation that ``typing`` takes only inside another."""


def _enclosing_names(function: Any) -> Iterator[tuple[str, Any]]:
    """Names of the functions around the given one, inner ones last: those still running, then what its closure kept."""
    qualname: str = getattr(function, "__qualname__", "")
    parts = qualname.split(".<locals>")[:-1]
    for end in range(1, len(parts) + 1):
        yield from _running(".<locals>".join(parts[:end]), getattr(function, "__globals__", None)).items()
    yield from closure_names(function).items()


def _running(qualname: str, scope: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The local names of the innermost running function of that name; none where it has returned."""
    for frame in caller_frames():
        if frame.f_code.co_qualname == qualname and frame.f_globals is scope:
            return dict(frame.f_locals)
    return {}
