"""Code of the host's that runs around a call: what can be one, and what it is given.

A middleware takes a request and ``run``, which does everything that is left to do for the call and gives its answer.
What it returns is the call's answer: the one it was given, another, or one that it made without running anything.

    def audited(request, run):
        answer = run(request)
        log.info("%s: %s", request.tool_call["name"], answer.status)
        return answer

Only calls that are ready to run come here: their tool is known and their arguments are valid. What a model did wrong is
answered before, so that no middleware has to expect arguments of any shape, and none can make a call that was cut off
or cannot be read into one that runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

from surehand.callables import is_async_callable
from surehand.calls.arguments_view import Arguments
from surehand.errors import OptionError
from surehand.messages import ToolCall, ToolMessage
from surehand.policy import UNSET, ToolOptions
from surehand.shapes import is_object
from surehand.spec import ToolSpec

__all__ = ["AsyncRun", "Middleware", "Run", "ToolCallMiddleware", "ToolCallRequest", "as_middleware", "same_call"]


@contextmanager
def _until_end(give_back: Callable[[], object]) -> Generator[None]:
    try:
        yield
    finally:
        give_back()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ToolCallRequest:
    """A call that is ready to run, as a middleware is given it."""

    tool_call: ToolCall
    """The call: ``id``, ``name`` and ``args`` as JSON. A copy: changes reach the tool only through ``run``."""
    tool: ToolSpec
    """The tool that is called."""
    options: ToolOptions
    """How this node runs the tool; nothing is unset."""
    arguments: Arguments
    """The typed arguments by parameter name, to be looked at."""
    state: Any = None
    """The state of the node, read-only."""
    store: Any = None
    """The store of the node or graph; None without one."""
    context: Any = None
    """The host's own object, as given to ``invoke(…, context=…)``; None without one."""
    thread_id: str = ""
    """The conversation the call belongs to; empty where it has no name."""
    shared: dict[Any, Any] = field(default_factory=dict[Any, Any], repr=False)
    """For whatever belongs to this turn: the same dict for all its calls, and gone with it."""
    came_with_command: Callable[[], bool] = field(default=lambda: False, repr=False)
    """Whether what ``run`` gave last came with a ``Command`` for the graph, which no copy of the answer repeats."""
    holding: Callable[[Callable[[], object]], AbstractContextManager[None]] = field(default=_until_end, repr=False)
    """To be entered around ``run`` with a function that frees those who wait for this call: it is called once, at the
    end, or where the call is answered although its body swallows its cancellation and goes on."""

    def override(self, *, args: Any = UNSET, tool_call: Mapping[str, Any] | None = None) -> ToolCallRequest:
        """The same request with other arguments; ``run`` checks them as if the model had sent them.

        Args:
            args: The new arguments: a mapping, or JSON text.
            tool_call: The whole call with new ``args``; its id and name stay those of the call.

        Raises:
            OptionError: ``tool_call`` is no mapping, or is a call of another tool or with another id.
        """
        changed: Any = dict(self.tool_call) if tool_call is None else same_call(self.tool_call, tool_call)
        if args is not UNSET:
            changed["args"] = args
        return replace(self, tool_call=changed)


def same_call(call: ToolCall, given: Mapping[str, Any]) -> dict[str, Any]:
    """The call with what a middleware made of it.

    Raises:
        OptionError: It is no mapping, or a call of another tool or with another id.
    """
    if not is_object(given) or any(given.get(key, call[key]) != call[key] for key in ("id", "name")):
        raise OptionError(
            option="tool_call",
            value=given,
            expected=f"the call {call['id']!r} of {call['name']!r} with other args",
            remedy="A middleware may change what a tool is called with, not which tool answers which call.",
        )
    return {**call, **given}


Run: TypeAlias = Callable[[ToolCallRequest], ToolMessage]
"""Runs what is left of a call and waits for its answer."""
AsyncRun: TypeAlias = Callable[[ToolCallRequest], Awaitable[ToolMessage]]
"""The same, to be awaited."""
_Wrap: TypeAlias = Callable[[ToolCallRequest, Run], Any]
_AsyncWrap: TypeAlias = Callable[[ToolCallRequest, AsyncRun], Awaitable[Any]]


class _Wrapper(Protocol):
    def wrap_tool_call(self, request: ToolCallRequest, run: Run, /) -> Any: ...


class _AsyncWrapper(Protocol):
    async def awrap_tool_call(self, request: ToolCallRequest, run: AsyncRun, /) -> Any: ...


ToolCallMiddleware: TypeAlias = _Wrap | _AsyncWrap | _Wrapper | _AsyncWrapper
"""A function of a request and ``run``, or an object with ``wrap_tool_call``, ``awrap_tool_call`` (async) or both.

It returns the call's answer: a ToolMessage, or any other value, which is rendered as a tool's result would be.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Middleware:
    """A middleware as calls go through it."""

    name: str
    """What the log calls it."""
    wrap: _Wrap | None
    """Runs on a thread; None where there is only the other."""
    awrap: _AsyncWrap | None
    """Runs on the loop; None where there is only the other."""
    never_waits: bool = False
    """Whether the asynchronous one waits for nothing but ``run``, so that it needs no loop of its own."""

    @property
    def needs_loop(self) -> bool:
        """Whether a call can only go through it where there is an event loop."""
        return self.wrap is None and not self.never_waits


def as_middleware(given: Iterable[Any]) -> tuple[Middleware, ...]:
    """What a host gave as ``middleware=``, checked; the first one is the outermost.

    Raises:
        OptionError: Something among it is no middleware.
    """
    if isinstance(given, str | Mapping) or not hasattr(given, "__iter__"):
        raise OptionError(option="middleware", value=given, expected="a list of middlewares")
    return tuple(map(_as_middleware, given))


def _as_middleware(given: Any) -> Middleware:
    wrap: Any = getattr(given, "wrap_tool_call", None)
    awrap: Any = getattr(given, "awrap_tool_call", None)
    if isinstance(given, type):
        raise _refused(given, "an instance of it")
    if wrap is None and awrap is None and callable(given):
        wrap, awrap = (None, given) if is_async_callable(given) else (given, None)
    methods = [method for method in (wrap, awrap) if method is not None]
    if not methods or not all(map(_takes_two, methods)):
        raise _refused(given, "a function of (request, run), or an object with wrap_tool_call or awrap_tool_call")
    name = getattr(given, "__name__", type(given).__name__)
    return Middleware(name=str(name), wrap=wrap, awrap=awrap, never_waits=getattr(given, "never_waits", False) is True)


def _refused(given: object, expected: str) -> OptionError:
    return OptionError(option="middleware", value=given, expected=expected)


def _takes_two(function: Any) -> bool:
    """Whether the function can be called with two arguments; True where its signature cannot be read."""
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        return False
    except ValueError:
        return True
    return True
