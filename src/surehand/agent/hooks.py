"""What an agent's middlewares bring along, read and checked once, when the agent is built."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any, Final, Literal, TypeAlias, TypeGuard, TypeVar, get_args

from surehand.agent.middleware import AgentMiddleware
from surehand.callables import is_async_callable
from surehand.calls import ToolCallMiddleware, as_middleware
from surehand.concurrency import entered_by_sync_door, run_in_thread
from surehand.concurrency.callbacks import run_with_callback
from surehand.errors import OptionError
from surehand.policy import text
from surehand.shapes import is_a
from surehand.tools import BaseTool, as_tools

__all__ = ["NODE_HOOKS", "Hook", "HookName", "Stack", "read_stack"]

T = TypeVar("T")

HookName: TypeAlias = Literal[
    "before_agent", "before_model", "wrap_model_call", "after_model", "wrap_tool_call", "after_agent"
]
"""The hooks of a middleware."""

NODE_HOOKS: Final[tuple[HookName, ...]] = ("before_agent", "before_model", "after_model", "after_agent")
"""The hooks that are steps of the graph."""
_INSIDE_OUT: Final[frozenset[HookName]] = frozenset({"after_model", "after_agent"})
"""The hooks of which the outermost middleware's is the last."""
_WRITTEN_AS: Final = (*get_args(HookName), *(f"a{name}" for name in get_args(HookName)))
"""The names of methods that are run, the asynchronous twins included."""
_MISSPELT: Final = 0.9
"""How like a hook's a name is that was meant to be one: a letter or two apart, and not ``before_tools``."""
_OF_AGENTS: Final = (*NODE_HOOKS, "wrap_model_call")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """One hook of one middleware, in the one or two ways to run it."""

    middleware: str
    """The middleware's name."""
    name: HookName
    here: Callable[..., Any] | None
    """Runs it on a thread; None where there is only the asynchronous form."""
    awaited: Callable[..., Awaitable[Any]] | None
    """Runs it on the loop; None where there is only the synchronous form."""

    def __str__(self) -> str:
        return f"{self.middleware}.{self.name}"

    async def call(self, *arguments: Any) -> Any:
        """What the hook returns."""
        if self.awaited is not None and (self.here is None or not entered_by_sync_door()):
            return await self.awaited(*arguments)
        assert self.here is not None  # noqa: S101 - narrows the type; a hook has one form at least
        return await _settled(await run_in_thread(partial(self.here, *arguments)))

    async def around(self, request: T, handler: Callable[[T], Awaitable[Any]]) -> Any:
        """What a hook returns that is put around something; ``handler`` does what it is around."""
        if self.awaited is not None and (self.here is None or not entered_by_sync_door()):
            return await self.awaited(request, handler)
        assert self.here is not None  # noqa: S101 - narrows the type; a hook has one form at least
        return await _settled(await run_with_callback(partial(self.here, request), handler))

    def blame(self, error: BaseException) -> None:
        """Have an exception say where it comes from."""
        error.add_note(f"In {self.name} of the middleware {self.middleware!r}.")


async def _settled(returned: Any) -> Any:
    """What a synchronous function returned, awaited where that is something to await."""
    return await returned if inspect.isawaitable(returned) else returned


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """What all middlewares of an agent bring along; the first one is the outermost."""

    hooks: Mapping[HookName, tuple[Hook, ...]]
    """The hooks that are steps, in the order in which they run."""
    around_model: tuple[Hook, ...]
    around_calls: tuple[ToolCallMiddleware, ...]
    tools: tuple[BaseTool, ...]
    schemas: Mapping[str, object]
    """What they add to the state, by the middleware's name."""

    @property
    def steps(self) -> int:
        """How many steps they add to the graph."""
        return sum(map(len, self.hooks.values()))


def read_stack(given: Any) -> Stack:
    """What a host gave an agent as ``middleware=``: agent middlewares and such of calls, mixed.

    Raises:
        OptionError: Something among it is no middleware, a hook is misspelt or cannot be called, or two have one name.
        ToolDefinitionError: A middleware brings along what is no tool.
    """
    if isinstance(given, str | Mapping) or not hasattr(given, "__iter__"):
        raise OptionError(option="middleware", value=given, expected="a list of middlewares")
    items: tuple[Any, ...] = tuple(given)
    ours = [item for item in items if _is_of_agents(item)]
    _check_names(ours)
    for item in ours:
        _check_spelling(item)
    around_calls = [around for item in items for around in _around_calls(item)]
    as_middleware(around_calls)  # refused here, also where there is no node to refuse it
    return Stack(
        hooks={name: _in_order(name, ours) for name in NODE_HOOKS},
        around_model=tuple(hook for item in ours if (hook := _hook_of(item, "wrap_model_call")) is not None),
        around_calls=tuple(around_calls),
        tools=tuple(tool for item in ours for tool in as_tools(item.tools)),
        schemas={item.name: item.state_schema for item in ours if item.state_schema is not None},
    )


def _is_of_agents(item: object) -> TypeGuard[AgentMiddleware[Any]]:
    return is_a(item, AgentMiddleware)


def _check_names(middlewares: list[AgentMiddleware[Any]]) -> None:
    names: set[str] = set()
    for middleware in middlewares:
        name = text("name", middleware.name)
        if name in names:
            raise OptionError(
                option="middleware",
                value=name,
                expected="middlewares of different names",
                remedy="Leave one of the two out, or give it a name of its own.",
            )
        names.add(name)


def _check_spelling(middleware: AgentMiddleware[Any]) -> None:
    """Refuse a method that nobody would ever call, as its name is nearly a hook's."""
    for name in sorted(set(dir(type(middleware))) - set(dir(AgentMiddleware)) - set(_WRITTEN_AS)):
        meant = get_close_matches(name, _WRITTEN_AS, n=1, cutoff=_MISSPELT)
        if meant and not name.startswith(("_", *(f"{hook}_" for hook in _WRITTEN_AS))):
            raise OptionError(
                option="middleware",
                value=middleware,
                expected=f"hooks under their own names, and {name!r} is none",
                remedy=f"Did you mean {meant[0]!r}? A method that is no hook needs a name less like one.",
            )


def _in_order(name: HookName, middlewares: list[AgentMiddleware[Any]]) -> tuple[Hook, ...]:
    hooks = [hook for item in middlewares if (hook := _hook_of(item, name)) is not None]
    return tuple(reversed(hooks) if name in _INSIDE_OUT else hooks)


def _hook_of(middleware: AgentMiddleware[Any], name: HookName) -> Hook | None:
    """A hook of a middleware; None where it leaves it out.

    Raises:
        OptionError: It cannot be called with two arguments.
    """
    here, awaited = _written(middleware, name), _written(middleware, f"a{name}")
    if here is not None and is_async_callable(here):
        here, awaited = None, awaited or here
    for function in (here, awaited):
        if function is not None and not _takes_two(function):
            raise OptionError(
                option="middleware", value=function, expected=f"{name} of {middleware.name!r} to take two arguments"
            )
    if here is None and awaited is None:
        return None
    return Hook(middleware=middleware.name, name=name, here=here, awaited=awaited)


def _written(middleware: AgentMiddleware[Any], name: str) -> Callable[..., Any] | None:
    """A method that the host has written; None where it is left as our class has it."""
    method: Any = getattr(middleware, name, None)
    base: object = vars(AgentMiddleware).get(name)
    return None if method is None or getattr(method, "__func__", method) is base else method


def _takes_two(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        return False
    except ValueError:  # its signature cannot be read
        return True
    return True


class _AroundCalls:
    """The hook of an agent's middleware around its calls, as nodes take it."""

    def __init__(self, middleware: AgentMiddleware[Any], hook: Hook) -> None:
        self.__name__ = hook.middleware
        self.wrap_tool_call = hook.here
        self.awrap_tool_call = hook.awaited
        self.never_waits = getattr(middleware, "never_waits", False) is True


def _around_calls(item: Any) -> Iterator[Any]:
    if _is_of_agents(item):
        hook = _hook_of(item, "wrap_tool_call")
        if hook is not None:
            yield _AroundCalls(item, hook)
        return
    written = [name for name in _OF_AGENTS if not isinstance(item, type) and hasattr(item, name)]
    if written:
        raise OptionError(
            option="middleware",
            value=item,
            expected=f"an AgentMiddleware, for it has {written[0]}",
            remedy="Make it a subclass of AgentMiddleware, and pass an instance.",
        )
    yield item
