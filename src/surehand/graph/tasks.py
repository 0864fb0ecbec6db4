"""Running one task: a node, as often as its policy allows, in its own time and with what it may ask."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, TypeVar, cast

from surehand.concurrency import SYSTEM_CLOCK, WorkersExhausted, paced, run_in_thread, run_sync
from surehand.control import RunConfig, Runtime, _runtime  # pyright: ignore[reportPrivateUsage] - the engine is what sets it
from surehand.errors import NodeError, NodeTimedOut
from surehand.graph.actions import Call
from surehand.graph.caching import MISSED
from surehand.graph.channels import copied
from surehand.graph.kept import Keeping
from surehand.graph.outlet import Outlet, Voice
from surehand.graph.plan import Branch, Node, Plan
from surehand.graph.routing import WHOLE_STATE, Task, place_of
from surehand.graph.saving import Recorder
from surehand.graph.snapshot import Snapshot
from surehand.graph.updates import Update, read_update
from surehand.interrupts import InterruptScope, current_scope, set_scope
from surehand.messages import AIMessage, as_new
from surehand.messages.base import are_messages
from surehand.retries import Retries
from surehand.shapes import is_array

__all__ = ["Settings", "Subgraphs", "Tasks"]

T = TypeVar("T")

_PLAIN: Final = frozenset({str, dict, list, type(None)})
"""What nodes and paths nearly always return: there is nothing to await in them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What holds for a whole run."""

    config: RunConfig
    context: Any = None
    outlet: Outlet | None = None
    """Where the run puts what is read while it runs; None outside a stream."""
    recursion_limit: int | None = None
    """Steps a run may take; None takes the plan's own limit."""
    max_concurrency: int | None = None
    store: Any = None
    """For graphs that were compiled without one."""
    keeping: Keeping | None = None
    """Where the run is kept; None where it is not."""
    checkpoint_id: str | None = None
    """The checkpoint to begin from; None for the newest."""


class Subgraphs(Protocol):
    """What runs the graphs that are nodes."""

    async def run_subgraph(self, before: Snapshot, position: int, node: Node, plan: Plan, *, is_here: bool) -> Update:
        """Run the graph to its end, going on where it stopped when it was run before; its update."""
        ...


class Tasks:
    """Runs the tasks of one run."""

    def __init__(
        self, plan: Plan, settings: Settings, subgraphs: Subgraphs, *, recorder: Recorder | None, is_nested: bool
    ) -> None:
        self._plan = plan
        self._settings = settings
        self._subgraphs = subgraphs
        self._recorder = recorder
        self._is_nested = is_nested
        self.store = settings.store if plan.store is None else plan.store
        self._shared: dict[Any, Any] = {}
        self._began = SYSTEM_CLOCK.now()
        self._runtimes: dict[str, Runtime] = {}
        """The newest one of each node."""

    async def run(self, before: Snapshot, position: int, *, is_here: bool) -> Update:
        """Run a task until it succeeds or its retry policy says stop.

        Raises:
            Interrupted: It asks.
            Exception: What the node raised, the same object, with a note that names the node.
        """
        task = before.tasks[position]
        node = self._plan.nodes[task.node]
        retries = Retries(node.retry)
        attempt = 1
        while True:
            try:
                if node.subgraph is not None:
                    running = self._subgraphs.run_subgraph(before, position, node, node.subgraph, is_here=is_here)
                    return await (running if node.timeout is None else _in_time(node.name, node.timeout, running))
                seen, returned = await self._attempt(before, position, node, attempt=attempt, is_here=is_here)
                break
            except Exception as error:  # whatever the host's node raises goes on as it is
                delay = retries.delay_after(error)
                if delay is None:
                    with suppress(Exception):  # an exception may refuse to carry anything
                        error.add_note(f"In node {node.name!r} of graph {self._plan.name!r}, step {before.step + 1}.")
                    raise
            await _pause(delay, is_here=is_here)
            attempt += 1
        # Outside the attempts: what it returned is read once, and a wrong update is no reason to run the node again.
        update = read_update(node.name, returned, seen=seen, values=before.values, state=self._plan.state)
        self._check_parent(update)
        return update

    async def _attempt(
        self, before: Snapshot, position: int, node: Node, *, attempt: int, is_here: bool
    ) -> tuple[object, object]:
        """Call the node once: what it was given, and what it returned."""
        seen = self._seen(before, before.tasks[position])
        key = None if node.cache is None else node.cache.key_of(node.name, seen)
        known = MISSED if node.cache is None else node.cache.find(key)
        if known is not MISSED:
            return seen, known
        given = self._plan.state.messages_in(seen) if node.takes_messages else seen
        call = self._call(
            node, given, self._runtime(before, position, attempt), self._scope(before, position, node), is_here=is_here
        )
        returned = await (call if node.timeout is None else _in_time(node.name, node.timeout, call))
        if node.takes_messages and isinstance(returned, AIMessage) and is_array(given) and are_messages(given):
            returned = as_new(returned, given)
        if node.cache is not None:
            node.cache.keep(key, returned)
        return seen, returned

    def _seen(self, before: Snapshot, task: Task) -> object:
        return self._plan.state.view(before.values) if task.arg is WHOLE_STATE else copied(task.arg)

    async def _call(
        self, node: Node, given: object, runtime: Runtime, scope: InterruptScope | None, *, is_here: bool
    ) -> object:
        action, config = node.action, self._settings.config.copy()
        if is_here:
            # A copy: in the caller's own thread, what a node sets in its context must not stay behind.
            context = contextvars.copy_context()
            context.run(_runtime.set, runtime)
            context.run(set_scope, scope)
            return await settled(context.run(cast("Call", action.here), given, config), is_here=True)
        _runtime.set(runtime)  # for this job's own context, which ends with it
        if scope is not None:  # else there is none around either
            set_scope(scope)
        if action.awaited is not None:
            running = action.awaited(given, config)
            return await (running if runtime.publish is None else paced(running, runtime.publish))
        call = cast("Call", action.here)
        try:
            returned = await run_in_thread(lambda: call(given, config))
        except WorkersExhausted as error:
            raise NodeError(
                node=node.name,
                problem="no thread was free: too many functions that were given up are still running",
                remedy="Look for tools and nodes that hang; asynchronous ones can be ended.",
            ) from error
        return await settled(returned, is_here=False)

    async def ask(self, branch: Branch, values: Any, *, step: int, is_here: bool) -> object:
        """What a path answers to the state after a step."""
        path, state, config = branch.path, self._plan.state.view(values), self._settings.config.copy()
        # Set and reset, where nodes get a context or a task of their own: a path runs in the task of the whole run.
        token = _runtime.set(self._runtime_for(branch.source, step))
        try:
            if path.here is not None:
                return await settled(path.here(state, config), is_here=is_here)
            return await cast("Callable[[Any, RunConfig], Awaitable[Any]]", path.awaited)(state, config)
        except Exception as error:  # the path is the host's code; what it raises goes on as it is
            error.add_note(f"In {branch.label} of graph {self._plan.name!r}, after step {step}.")
            raise
        finally:
            _runtime.reset(token)

    # What a task is given

    def _scope(self, before: Snapshot, position: int, node: Node) -> InterruptScope | None:
        if self._recorder is not None:
            return self._recorder.scope(position, node.name)
        around = current_scope()  # a graph that a node runs by itself asks as a part of that node
        return None if around is None else around.within(node.name, str(before.step), str(position))

    def _runtime(self, before: Snapshot, position: int, attempt: int) -> Runtime:
        task = before.tasks[position]
        made = self._runtime_for(task.node, before.step + 1)
        if self._settings.outlet is not None and (attempt > 1 or task.arg is not WHOLE_STATE):
            made = self._heard(made, self._settings.outlet, place_of(before.tasks, position), attempt=attempt)
        if self._recorder is None:
            return made if attempt == 1 else replace(made, attempt=attempt)
        return replace(made, attempt=attempt, namespace=self._recorder.namespace_of(position))

    def _runtime_for(self, node: str, step: int) -> Runtime:
        """What a node, and then the paths behind it, are handed in a step: the same to all of them."""
        known = self._runtimes.get(node)
        if known is not None and known.metadata["step"] == step:
            return known
        settings = self._settings
        made = Runtime(
            config=settings.config,
            store=self.store,
            context=settings.context,
            metadata={"graph": self._plan.name, "node": node, "step": step},
            elapsed=self._elapsed,
            shared=self._shared,
            keeping=settings.keeping,
        )
        if settings.outlet is not None:
            made = self._heard(made, settings.outlet, node)
        self._runtimes[node] = made
        return made

    @staticmethod
    def _heard(runtime: Runtime, outlet: Outlet, place: str, *, attempt: int = 1) -> Runtime:
        """The runtime with what puts things on the stream; the pieces of a failed attempt can be told from others."""
        metadata = runtime.metadata if attempt == 1 else {**runtime.metadata, "attempt": attempt}
        voice = Voice(outlet, place, metadata)
        emit = voice.emit if "custom" in outlet.wanted else None
        return replace(runtime, emit=emit, publish=voice, wanted=outlet.wanted)

    def _elapsed(self) -> float:
        """Seconds since this run began; a graph that is a node counts from where it was entered."""
        return SYSTEM_CLOCK.now() - self._began

    def _check_parent(self, update: Update) -> None:
        if update.for_parent and not self._is_nested:
            raise NodeError(
                node=update.node,
                problem="it returned a command for the graph around this one, but there is none",
                remedy="Use graph=None, or add this graph as a node of another one.",
            )


async def _in_time(node: str, seconds: float, running: Coroutine[Any, Any, T]) -> T:
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            # In a task of its own: in this one, the limit would cancel what may be taken for cancelled by itself.
            return await asyncio.get_running_loop().create_task(running)
    except TimeoutError as error:
        if not limit.expired():  # the node's own
            raise
        raise NodeTimedOut(node=node, timeout=seconds) from error


async def settled(result: object, *, is_here: bool) -> object:
    """The result, awaited where a synchronous function returned something to await."""
    if type(result) in _PLAIN or not inspect.isawaitable(result):
        return result
    awaitable = cast("Awaitable[object]", result)
    return run_sync(lambda: _awaited(awaitable)) if is_here else await awaitable


async def _awaited(awaitable: Awaitable[T]) -> T:
    return await awaitable


async def _pause(seconds: float, *, is_here: bool) -> None:
    if is_here:
        _sleep(seconds)
    else:
        await asyncio.sleep(seconds)


_sleep = time.sleep
"""Blocks on purpose: nothing else runs in the thread of a step that stays there."""
