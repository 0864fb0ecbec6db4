"""What a host gives as a node or as a path, in one shape: called with ``(state, config)``, here or awaited."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol, TypeAlias, cast

from surehand.callables import is_async_callable
from surehand.control import RunConfig
from surehand.errors import GraphDefinitionError, shown
from surehand.foreign import as_own_model
from surehand.messages import asked

__all__ = [
    "Action",
    "AsyncInvokable",
    "Call",
    "Invokable",
    "NodeAction",
    "PathAction",
    "is_chat_model",
    "name_of",
    "read_action",
]

Call: TypeAlias = Callable[[Any, RunConfig], Any]


class _ByName(Protocol):
    def __call__(self, state: Any, /, *, config: Any) -> Any: ...


PathAction: TypeAlias = Callable[[Any], Any] | Callable[[Any, Any], Any] | _ByName
"""What decides where a graph goes on: a function of ``(state)`` or ``(state, config)``."""


class Invokable(Protocol):
    """An object that is run by its ``invoke``, and awaited by its ``ainvoke`` where it has one."""

    @property
    def invoke(self) -> Callable[..., Any]:
        """Takes the state and, if it can, the configuration."""
        ...


class AsyncInvokable(Protocol):
    """An object that is only awaited."""

    @property
    def ainvoke(self) -> Callable[..., Awaitable[Any]]:
        """Takes the state and, if it can, the configuration."""
        ...


NodeAction: TypeAlias = PathAction | Invokable | AsyncInvokable
"""What can be a node."""

_EXPECTED: Final = "a function of (state) or (state, config), or an object with invoke or ainvoke"
_ELSEWHERE: Final = frozenset({"context", "previous", "runtime", "store", "writer"})
"""Second parameters that other graph libraries fill with something else than the configuration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """The one or two ways to run it."""

    here: Call | None
    """Runs it in the calling thread; None where there is only the asynchronous form."""
    awaited: Callable[[Any, RunConfig], Awaitable[Any]] | None
    """Runs it on the event loop; None where there is only the synchronous form."""


def read_action(action: object, label: str) -> Action:
    """The action behind a function or an object with ``invoke`` or ``ainvoke``.

    Raises:
        GraphDefinitionError: It is neither, it is a generator, or it takes other arguments.
    """
    if is_chat_model(action):
        action = as_own_model(action)
    invoke, ainvoke = getattr(action, "invoke", None), getattr(action, "ainvoke", None)
    if inspect.isclass(action):
        raise GraphDefinitionError(
            problem=f"{label} is the class {action.__name__}", remedy="Pass an instance of it, or a function."
        )
    if callable(invoke) or callable(ainvoke):
        awaited = _adapted(ainvoke, label) if callable(ainvoke) else None
        if awaited is not None and is_chat_model(action):
            awaited = partial(asked, action, awaited)  # told piece by piece where somebody reads it
        return Action(here=_adapted(invoke, label) if callable(invoke) else None, awaited=awaited)
    if not callable(action):
        raise GraphDefinitionError(problem=f"{label} is {shown(action)}", remedy=f"Expected {_EXPECTED}.")
    call = _adapted(action, label)
    return Action(here=None, awaited=call) if is_async_callable(action) else Action(here=call, awaited=None)


def is_chat_model(action: object) -> bool:
    """Whether it is called with messages and answers with one."""
    return hasattr(action, "bind_tools") and (hasattr(action, "invoke") or hasattr(action, "ainvoke"))


def name_of(action: object) -> str:
    """The name that a node gets when the host gives none.

    Raises:
        GraphDefinitionError: It has no name of its own.
    """
    for attribute in ("name", "__name__"):
        name = getattr(action, attribute, None)
        if isinstance(name, str) and name and name != "<lambda>":
            return name
    raise GraphDefinitionError(
        problem=f"The node {shown(action)} has no name of its own", remedy="Name it: add_node('name', node)."
    )


def _adapted(function: Callable[..., Any], label: str) -> Call:
    if any(check(form) for check in _GENERATORS for form in (function, getattr(function, "__call__", None))):  # noqa: B004 - the method itself
        raise GraphDefinitionError(
            problem=f"{label} is a generator",
            remedy="Return one update; use current_runtime().emit(…) for what is to be streamed meanwhile.",
        )
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # builtins without a signature take the state
        return lambda state, _: function(state)
    return _by_signature(function, signature, label)


_GENERATORS: Final = (inspect.isgeneratorfunction, inspect.isasyncgenfunction)


def _by_signature(function: Callable[..., Any], signature: inspect.Signature, label: str) -> Call:
    parameters = signature.parameters.values()
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    named = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    is_open = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    second = positional[1] if len(positional) > 1 else None
    wants_second = second is not None and (second.default is second.empty or second.name == "config")
    wants_named = any(p.name == "config" for p in named)
    too_many = any(p.default is p.empty for p in positional[2:]) or any(
        p.default is p.empty and p.name != "config" for p in named
    )
    if too_many or (not positional and not is_open) or (second and wants_second and second.name in _ELSEWHERE):
        raise GraphDefinitionError(
            problem=f"{label} takes {signature}",
            remedy=f"Expected {_EXPECTED}; store, context and emit are attributes of current_runtime().",
        )
    if wants_second:
        return cast("Call", function)
    if wants_named:
        return lambda state, config: function(state, config=config)
    return lambda state, _: function(state)
