"""Where the tools of a turn come from: a list that is fixed, or a function that is asked anew for each turn."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Final, TypeAlias, cast

from surehand.callables import is_async_callable
from surehand.calls import ToolTable
from surehand.concurrency import run_in_thread, run_sync
from surehand.control import RunConfig
from surehand.errors import OptionError
from surehand.freeze import freeze
from surehand.policy import ToolOptions
from surehand.tools import BaseTool, as_tools

__all__ = ["ToolSet", "ToolSetFunction", "ToolSetRequest", "ToolSets"]

_KEPT: Final = 32
"""How many of the sets that a function gave are kept, for when it gives the same tools again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSetRequest:
    """What is known of a turn when its tools are asked for."""

    state: Any
    """The state of the node, read-only."""
    context: Any = None
    """The host's own object, as given to ``invoke(…, context=…)``; None without one."""
    store: Any = None
    """The store of the node or graph; None without one."""
    config: RunConfig = field(default_factory=RunConfig)
    """The run's configuration."""
    thread_id: str = ""
    """The conversation; empty where it has no name."""


ToolSetFunction: TypeAlias = Callable[[ToolSetRequest], Iterable[Any] | Awaitable[Iterable[Any]]]
"""Gives the tools of a turn, in any form that a list of tools takes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ToolSet:
    """The tools of one turn."""

    tools: tuple[BaseTool, ...]
    """What the host gave, in that order."""
    table: ToolTable
    """What may be executed: those, and what the node has of its own."""


class ToolSets:
    """The tools of a node, for any of its turns.

    Args:
        given: A list of tools, or a function that gives one.
        defaults: The node's options for tools that do not set them.
        overrides: Options per tool name; of a computed set, those that fit.
        own: The node's own tools, such as the reader of its shelf.
        may_be_empty: Whether a list without any tool is one.

    Raises:
        OptionError: There is no tool, an override names none, or the function cannot be called with a request.
        ToolDefinitionError: Something is no tool, or two tools share a name.
    """

    def __init__(
        self,
        given: Iterable[Any] | ToolSetFunction,
        *,
        defaults: ToolOptions,
        overrides: Mapping[str, ToolOptions],
        own: Sequence[BaseTool] = (),
        may_be_empty: bool = False,
    ) -> None:
        self._defaults = defaults
        self._overrides = overrides
        self._own = tuple(own)
        self._made: OrderedDict[tuple[int, ...], ToolSet] = OrderedDict()
        self._lock = Lock()
        self._function: ToolSetFunction | None = None
        self.fixed: ToolSet | None = None
        """The one set of a node with a list of tools; None where sets are computed."""
        if _is_function(given):
            self._function = cast("ToolSetFunction", given)
        else:
            self.fixed = self._fixed(cast("Iterable[Any]", given), may_be_empty=may_be_empty)

    @property
    def none(self) -> ToolSet:
        """A set without any tool of the host's."""
        return self.of(())

    def of(self, given: Any) -> ToolSet:
        """The set of tools that a function gave; the same one for the same tools.

        Raises:
            OptionError: It is no list of tools.
            ToolDefinitionError: Something is no tool, or two tools share a name.
        """
        tools = tuple(as_tools(given))
        # By identity: a set that is kept keeps its tools, so that no other can get the number of one of them.
        key = tuple(id(tool.spec) for tool in tools)
        with self._lock:
            known = self._made.get(key)
        if known is None:
            names = {tool.spec.name for tool in tools}
            known = self._set_of(tools, {name: own for name, own in self._overrides.items() if name in names})
        with self._lock:
            self._made[key] = known
            self._made.move_to_end(key)
            if len(self._made) > _KEPT:
                self._made.popitem(last=False)
        return known

    def now(self, request: ToolSetRequest) -> ToolSet:
        """The tools of this moment, from synchronous code; an asynchronous function is awaited."""
        if self.fixed is not None or self._function is None:
            return self.fixed or self.none
        function, shown = self._function, replace(request, state=freeze(request.state))
        given = run_sync(lambda: _awaited(function(shown))) if is_async_callable(function) else function(shown)
        return self.of(given)

    async def anow(self, request: ToolSetRequest) -> ToolSet:
        """The tools of this moment; a synchronous function runs on a thread, for it may wait for others."""
        if self.fixed is not None or self._function is None:
            return self.fixed or self.none
        function, shown = self._function, replace(request, state=freeze(request.state))
        given = function(shown) if is_async_callable(function) else await run_in_thread(lambda: function(shown))
        return self.of(await _awaited(given))

    def _fixed(self, given: Iterable[Any], *, may_be_empty: bool) -> ToolSet:
        tools = tuple(as_tools(given))
        if not tools and not may_be_empty:
            raise OptionError(option="tools", value=given, expected="at least one tool")
        return self._set_of(tools, self._overrides)

    def _set_of(self, tools: tuple[BaseTool, ...], overrides: Mapping[str, ToolOptions]) -> ToolSet:
        own = [tool.spec for tool in self._own]
        table = ToolTable(
            [*(tool.spec for tool in tools), *own],
            defaults=self._defaults,
            overrides=overrides,
            unlisted=[spec.name for spec in own],
        )
        return ToolSet(tools=tools, table=table)


async def _awaited(given: Any) -> Any:
    return await given if inspect.isawaitable(given) else given


def _is_function(given: object) -> bool:
    """Whether it gives tools when it is called, and is no tool itself."""
    if not callable(given) or isinstance(given, type | BaseTool) or hasattr(given, "__iter__"):
        return False
    try:
        inspect.signature(given).bind(None)
    except TypeError:
        expected = "a list of tools, or a function of one ToolSetRequest that gives one"
        raise OptionError(option="tools", value=given, expected=expected) from None
    except ValueError:  # its signature cannot be read
        return True
    return True
