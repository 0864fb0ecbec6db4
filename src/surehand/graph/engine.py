"""The engine: supersteps over plain values.

A run is a chain of snapshots. Each step runs the tasks of one snapshot, all of them, and makes the next snapshot of
what they asked for: updates are applied together, in the order of the nodes; then edges, branches and commands say what
runs next. Nothing else changes: the one assignment in ``Run.step`` is where a run moves on.

There is one implementation, a coroutine per step. The synchronous door drives the same coroutine. A step of one
synchronous node never waits, so that door runs it to its end without an event loop: the node stays in the caller's
thread, where connections and the like that belong to a thread are at home, and may itself enter by a synchronous door.
Every other step goes through ``run_sync``. What would change our minds: an event loop that can be entered twice.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, TypeVar, cast

from surehand.concurrency import SYSTEM_CLOCK, WorkersExhausted, finish_without_loop, run_in_thread, run_sync
from surehand.control import START, Command, RunConfig, Runtime, _runtime  # pyright: ignore[reportPrivateUsage] - the engine is what sets it
from surehand.errors import GraphRecursionError, NodeError
from surehand.graph.actions import Action, Call
from surehand.graph.channels import Write, copied
from surehand.graph.plan import Branch, Node, Plan
from surehand.graph.routing import ENTRY, WHOLE_STATE, Task, arrive, targets_of_branch, tasks_for
from surehand.graph.siblings import Job, run_together
from surehand.graph.state import Values
from surehand.graph.subgraphs import values_for_subgraph, writes_of_subgraph
from surehand.graph.updates import Update, read_update
from surehand.retries import Retries

__all__ = ["Run", "Settings", "Snapshot", "Step", "drive", "drive_here"]

T = TypeVar("T")

_PLAIN: Final = frozenset({str, dict, list, type(None)})
"""What nodes and paths nearly always return: there is nothing to await in them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What holds for a whole run."""

    config: RunConfig
    context: Any = None
    emit: Callable[[Any], None] | None = None
    """Receives what nodes put on the ``custom`` stream; None outside a stream."""
    recursion_limit: int | None = None
    """Steps a run may take; None takes the plan's own limit."""
    max_concurrency: int | None = None
    store: Any = None
    """For graphs that were compiled without one."""


class Snapshot(NamedTuple):
    """A run between two steps: all that it takes to go on."""

    step: int
    """How many steps ran."""
    values: Values
    tasks: tuple[Task, ...]
    """What runs next; nothing at the end."""
    arrived: Mapping[int, frozenset[str]] = {}
    """By the position of a join: the sources it has seen so far."""


class Step(NamedTuple):
    """What one step did."""

    updates: tuple[Update, ...]
    """In the order in which they were applied; empty for the entry."""
    after: Snapshot


class Run:
    """One run of a graph."""

    def __init__(self, plan: Plan, settings: Settings, values: Values, *, is_nested: bool = False) -> None:
        self._plan = plan
        self._settings = settings
        self._store = settings.store if plan.store is None else plan.store
        self._is_nested = is_nested
        self._shared: dict[Any, Any] = {}
        self._began = SYSTEM_CLOCK.now()
        self._runtimes: dict[str, Runtime] = {}
        """The newest one of each node."""
        self.snapshot = Snapshot(step=-1, values=values, tasks=(ENTRY,))
        self.writes: list[Write] = []
        """Everything that nodes wrote, in order; kept for the graph around this one only."""
        self.for_parent: list[Command] = []
        """Commands for the graph around this one; they end the run."""

    @classmethod
    def from_input(cls, plan: Plan, settings: Settings, given: object, *, is_nested: bool = False) -> Run:
        """A run that begins with the host's input.

        Raises:
            InputError: It is no input for the graph's state.
        """
        state = plan.state
        values = state.merge(state.initial(), state.read_input(given))
        state.check(values, (START,))
        return cls(plan, settings, values, is_nested=is_nested)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to run."""
        return not self.snapshot.tasks

    @property
    def result(self) -> Any:
        """The state that was reached, as the host sees it."""
        return self._plan.state.view(self.snapshot.values)

    async def step(self) -> Step:
        """Run the next tasks together and go on to what follows.

        Raises:
            GraphRecursionError: The limit of steps is reached.
            NodeError: A node returned what is no update.
            RoutingError: The graph was sent to a node that it does not have.
            Exception: What a node raised, the same object.
        """
        return await self._step(is_here=False)

    def step_here(self) -> Step:
        """``step`` for synchronous callers: in this thread without a loop where that can be, else through the door."""
        if self._can_stay_here():
            return finish_without_loop(self._step(is_here=True))
        return run_sync(self.step)

    async def _step(self, *, is_here: bool) -> Step:
        before = self.snapshot
        limit = self._settings.recursion_limit or self._plan.recursion_limit
        if before.step >= limit:  # asked before the step, so that what was reached is a whole state
            raise GraphRecursionError(limit=limit, state=self.result)
        updates = await self._execute(before, is_here=is_here)
        after = await self._follow(before, updates, is_here=is_here)
        self.snapshot = after
        return Step(updates=tuple(updates), after=after)

    def _can_stay_here(self) -> bool:
        """Whether no part of the next step has to wait for an event loop."""
        tasks = self.snapshot.tasks
        branches = (branch for task in tasks for branch in self._plan.branches.get(task.node, ()))
        # Siblings run together, which takes a loop; one after the other they would take the sum of their times.
        if len(tasks) > 1 or any(branch.path.here is None for branch in branches):
            return False
        nodes = [self._plan.nodes[task.node] for task in tasks if task is not ENTRY]
        return all(node.subgraph is not None or node.action.here is not None for node in nodes)

    # Running the tasks

    async def _execute(self, before: Snapshot, *, is_here: bool) -> list[Update]:
        tasks = [task for task in before.tasks if task is not ENTRY]
        if is_here:
            return [await self._attempts(before, task, is_here=True) for task in tasks]
        jobs = [self._job(before, task) for task in tasks]
        return await run_together(jobs, limit=self._settings.max_concurrency)

    def _job(self, before: Snapshot, task: Task) -> Job[Update]:
        node = self._plan.nodes[task.node]
        is_stoppable = node.subgraph is not None or node.action.awaited is not None
        return Job(node=task.node, run=lambda: self._attempts(before, task, is_here=False), is_stoppable=is_stoppable)

    async def _attempts(self, before: Snapshot, task: Task, *, is_here: bool) -> Update:
        """Run a node until it succeeds or its retry policy says stop; the exception gets a note that names the node."""
        node = self._plan.nodes[task.node]
        retries = Retries(node.retry)
        inner: Run | None = None
        while True:
            try:
                if node.subgraph is not None:
                    inner = inner or self._inner_run(before, task, node.subgraph)  # goes on where it failed
                    return await self._run_subgraph(before, node, inner, node.subgraph, is_here=is_here)
                seen, returned = await self._attempt(before, task, node, is_here=is_here)
                break
            except Exception as error:  # whatever the host's node raises goes on as it is
                delay = retries.delay_after(error)
                if delay is None:
                    with suppress(Exception):  # an exception may refuse to carry anything
                        error.add_note(f"In node {node.name!r} of graph {self._plan.name!r}, step {before.step + 1}.")
                    raise
            await _pause(delay, is_here=is_here)
        # Outside the attempts: what it returned is read once, and a wrong update is no reason to run the node again.
        update = read_update(node.name, returned, seen=seen, values=before.values, state=self._plan.state)
        self._check_parent(update)
        return update

    async def _attempt(self, before: Snapshot, task: Task, node: Node, *, is_here: bool) -> tuple[object, object]:
        """Call the node once: what it was given, and what it returned."""
        state = self._plan.state
        seen = state.view(before.values) if task.arg is WHOLE_STATE else copied(task.arg)
        given = state.messages_in(seen) if node.takes_messages else seen
        runtime = self._runtime_for(node.name, before.step + 1)
        return seen, await self._call(node.action, given, runtime, is_here=is_here)

    async def _call(self, action: Action, given: object, runtime: Runtime, *, is_here: bool) -> object:
        config = self._settings.config.copy()
        if is_here:
            # A copy: in the caller's own thread, what a node sets in its context must not stay behind.
            context = contextvars.copy_context()
            context.run(_runtime.set, runtime)
            return await _settled(context.run(cast("Call", action.here), given, config), is_here=True)
        _runtime.set(runtime)  # for this job's own task, which ends with it
        if action.awaited is not None:
            return await action.awaited(given, config)
        call = cast("Call", action.here)
        try:
            returned = await run_in_thread(lambda: call(given, config))
        except WorkersExhausted as error:
            raise NodeError(
                node=str(runtime.metadata["node"]),
                problem="no thread was free: too many functions that were given up are still running",
                remedy="Look for tools and nodes that hang; asynchronous ones can be ended.",
            ) from error
        return await _settled(returned, is_here=False)

    def _inner_run(self, before: Snapshot, task: Task, plan: Plan) -> Run:
        # Limits hold for each graph by itself: an inner loop does not use up the steps of the outer one.
        settings = replace(self._settings, store=self._store)
        if task.arg is not WHOLE_STATE:
            return Run.from_input(plan, settings, task.arg, is_nested=True)
        values = values_for_subgraph(self._plan.state, before.values, plan.state)
        return Run(plan, settings, values, is_nested=True)

    async def _run_subgraph(self, before: Snapshot, node: Node, inner: Run, plan: Plan, *, is_here: bool) -> Update:
        """Run a graph that is a node; its nodes' writes of the keys that both graphs have are the update."""
        if is_here:
            drive_here(inner)
        else:
            await drive(inner)
        state = self._plan.state
        update = Update(node=node.name)
        update.writes += writes_of_subgraph(node.name, state, plan.state, inner.writes, inner.snapshot.values)
        for command in inner.for_parent:
            asked = read_update(node.name, command, seen=None, values=before.values, state=state)
            update.writes += asked.writes
            update.targets += asked.targets
        return update

    def _runtime_for(self, node: str, step: int) -> Runtime:
        """What a node, and then the paths behind it, are handed in a step: the same to all of them."""
        known = self._runtimes.get(node)
        if known is not None and known.metadata["step"] == step:
            return known
        settings = self._settings
        made = self._runtimes[node] = Runtime(
            config=settings.config,
            store=self._store,
            context=settings.context,
            emit=settings.emit,
            metadata={"graph": self._plan.name, "node": node, "step": step},
            elapsed=self._elapsed,
            shared=self._shared,
        )
        return made

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

    # Going on

    async def _follow(self, before: Snapshot, updates: Sequence[Update], *, is_here: bool) -> Snapshot:
        """The snapshot after a step: its updates merged, and what they and the edges lead to."""
        sources = list(dict.fromkeys(update.node for update in updates)) or [START]
        values = self._merge(before.values, updates, sources)
        if self.for_parent:  # the graph around this one takes over, whatever the edges here say
            return Snapshot(step=before.step + 1, values=values, tasks=())
        targets = await self._targets(sources, values, step=before.step + 1, is_here=is_here)
        commanded = [(update.node, target) for update in updates for target in update.targets]
        arrived, complete = arrive(self._plan, before.arrived, sources)
        tasks = tasks_for([*targets, *complete, *commanded], self._plan)
        return Snapshot(step=before.step + 1, values=values, tasks=tasks, arrived=arrived)

    def _merge(self, values: Values, updates: Sequence[Update], sources: Sequence[str]) -> Values:
        writes = [write for update in updates for write in update.writes]
        if self._is_nested:
            # Writes and not values go to the graph around this one: its reducers have to see what was added, and a
            # value that began as theirs would be merged with itself.
            self.writes += writes
            self.for_parent += [command for update in updates for command in update.for_parent]
        if not writes:
            return values
        merged = self._plan.state.merge(values, writes)
        self._plan.state.check(merged, sources)
        return merged

    async def _targets(
        self, sources: Sequence[str], values: Values, *, step: int, is_here: bool
    ) -> list[tuple[str, object]]:
        """Where the edges and branches of the nodes that ran lead; branches see the state after the whole step."""
        targets: list[tuple[str, object]] = []
        for source in sources:
            targets += [(source, target) for target in self._plan.edges.get(source, ())]
            for branch in self._plan.branches.get(source, ()):
                answer = await self._ask(branch, values, step=step, is_here=is_here)
                targets += [(source, target) for target in targets_of_branch(branch, answer)]
        return targets

    async def _ask(self, branch: Branch, values: Values, *, step: int, is_here: bool) -> object:
        path, state, config = branch.path, self._plan.state.view(values), self._settings.config.copy()
        # Set and reset, where nodes get a context or a task of their own: a path runs in the task of the whole run.
        token = _runtime.set(self._runtime_for(branch.source, step))
        try:
            if path.here is not None:
                return await _settled(path.here(state, config), is_here=is_here)
            return await cast("Callable[[Any, RunConfig], Awaitable[Any]]", path.awaited)(state, config)
        except Exception as error:  # the path is the host's code; what it raises goes on as it is
            error.add_note(f"In {branch.label} of graph {self._plan.name!r}, after step {step}.")
            raise
        finally:
            _runtime.reset(token)


async def drive(run: Run) -> None:
    """Run to the end."""
    while not run.is_over:
        await run.step()


def drive_here(run: Run) -> None:
    """Run to the end, from synchronous code."""
    while not run.is_over:
        run.step_here()


async def _settled(result: object, *, is_here: bool) -> object:
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
