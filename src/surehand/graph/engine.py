"""The engine: supersteps over plain values.

A run is a chain of snapshots. Each step runs the tasks of one snapshot, all of them, and makes the next snapshot of
what they asked for: updates are applied together, in the order of the nodes; then edges, branches and commands say what
runs next. Nothing else changes: the one assignment in ``Run._next_step`` is where a run moves on, and where the run is
kept, the snapshot is stored before. A step in which a task waits for an answer moves nothing: what its siblings asked
for is kept beside the snapshot, and used when the step is taken up again.

There is one implementation, a coroutine per step. The synchronous door drives the same coroutine. A step of one
synchronous node never waits, so that door runs it to its end without an event loop: the node stays in the caller's
thread, where connections and the like that belong to a thread are at home, and may itself enter by a synchronous door.
Every other step goes through ``run_sync``. What would change our minds: an event loop that can be entered twice.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from surehand.concurrency import finish_without_loop, run_sync
from surehand.control import START, Command
from surehand.errors import GraphRecursionError
from surehand.graph.channels import Write
from surehand.graph.kept import Kept, Source
from surehand.graph.outlet import Follower
from surehand.graph.plan import Node, Plan
from surehand.graph.routing import ENTRY, WHOLE_STATE, Task, arrive, next_tasks, place_of, targets_of_branch
from surehand.graph.saving import Recorder
from surehand.graph.siblings import Job, run_together
from surehand.graph.snapshot import Snapshot, Step
from surehand.graph.state import Values
from surehand.graph.subgraphs import values_for_subgraph, writes_of_subgraph
from surehand.graph.tasks import Settings, Tasks
from surehand.graph.updates import Update, read_update
from surehand.interrupts import Interrupt, Interrupted, interrupted_in

__all__ = ["Run", "beginning", "begun_with", "drive", "drive_here"]


class Run:
    """One run of a graph.

    Args:
        plan: The graph.
        settings: What holds for the whole run.
        snapshot: Where it begins.
        recorder: What keeps it; None for nothing.
        is_nested: Whether there is a graph around this one, which takes what its nodes write.
        asks_around: Whether what is around this one keeps its questions.
        source: What makes its first checkpoint.
    """

    def __init__(
        self,
        plan: Plan,
        settings: Settings,
        snapshot: Snapshot,
        *,
        recorder: Recorder | None = None,
        is_nested: bool = False,
        asks_around: bool = False,
        source: Source = "input",
    ) -> None:
        self._plan = plan
        self._settings = settings
        self._recorder = recorder
        self._is_nested = is_nested
        self._asks_around = is_nested or asks_around
        self._source: Source = source
        self._tasks = Tasks(plan, settings, self, recorder=recorder, is_nested=is_nested)
        outlet = settings.outlet
        self._follower = None if outlet is None else Follower(outlet, plan.name, plan.state, snapshot.values)
        self._inner: dict[int, Run] = {}
        """The graphs that run inside of the tasks of this step, by position."""
        self._known: dict[int, Update] = {}
        """What tasks of this step asked for that have ended before it was taken up again, by position."""
        self._first = snapshot.step + (snapshot.tasks == (ENTRY,))
        """The number of steps that are not this run's."""
        self.snapshot = snapshot
        self._is_paused = False
        """Whether it stops here, as the graph was compiled to, until somebody goes on with it."""
        self.interrupts: tuple[Interrupt, ...] = ()
        """What has to be answered before the run can go on."""
        self.writes: list[Write] = []
        """Everything that nodes wrote, in order; kept for the graph around this one only."""
        self.for_parent: list[Command] = []
        """Commands for the graph around this one; they end the run."""

    @classmethod
    def resumed(
        cls,
        plan: Plan,
        settings: Settings,
        kept: Kept,
        recorder: Recorder,
        *,
        is_nested: bool = False,
        asks_around: bool = False,
    ) -> Run:
        """A run that goes on from where it is kept."""
        run = cls(
            plan,
            settings,
            kept.snapshot,
            recorder=recorder,
            is_nested=is_nested,
            asks_around=asks_around,
            source="step",
        )
        run.writes, run.for_parent = kept.writes, kept.for_parent
        run._known = dict(kept.updates)
        return run

    @property
    def plan(self) -> Plan:
        """The graph."""
        return self._plan

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to run, or nothing can before somebody answers or goes on."""
        return not self.snapshot.tasks or self._is_paused or bool(self.interrupts)

    @property
    def result(self) -> Any:
        """The state that was reached, as the host sees it."""
        return self._plan.state.view(self.snapshot.values)

    def step(self) -> Coroutine[Any, Any, Step]:
        """Run the next tasks together and go on to what follows.

        Raises:
            GraphRecursionError: The limit of steps is reached.
            NodeError: A node returned what is no update.
            RoutingError: The graph was sent to a node that it does not have.
            Interrupted: A node of a graph that is not kept itself asks.
            CheckpointConflict: Another run has gone on with the thread.
            StoreError: The run could not be kept.
            Exception: What a node raised, the same object.
        """
        return self._step(is_here=False)

    def step_here(self) -> Step:
        """``step`` for synchronous callers: in this thread without a loop where that can be, else through the door."""
        if self._can_stay_here():
            return finish_without_loop(self._step(is_here=True))
        return run_sync(self.step)

    async def _step(self, *, is_here: bool) -> Step:
        step = await self._next_step(is_here=is_here)
        if self._follower is not None:
            await self._follower.follow(step, is_here=is_here)
        return step

    async def _next_step(self, *, is_here: bool) -> Step:
        before = self.snapshot
        limit = self._settings.recursion_limit or self._plan.recursion_limit
        if before.step - self._first >= limit:  # asked before the step, so that what was reached is a whole state
            raise GraphRecursionError(limit=limit, state=self.result)
        done = await self._execute(before, is_here=is_here)
        updates = [part for part in done if isinstance(part, Update)]
        if len(updates) < len(done):
            asked = [part for part in done if isinstance(part, Interrupted)]
            return self._waiting(before, [question for part in asked for question in part.interrupts])
        self.snapshot = after = await self._moved(before, updates, is_here=is_here)
        self._inner, self._known = {}, {}
        self._is_paused = self._recorder is not None and not self._asks_around and self._pauses_at(after)
        return Step(updates=tuple(updates), after=after)

    async def _moved(self, before: Snapshot, updates: Sequence[Update], *, is_here: bool) -> Snapshot:
        """Where the run goes on, kept; where that fails, nothing was written, for the step may be tried again."""
        writes, for_parent = self.writes, self.for_parent
        after: Snapshot | None = None
        try:
            after = await self._follow(before, updates, is_here=is_here)
            if self._recorder is not None:
                await self._keep(self._recorder, before, updates, after, is_here=is_here)
        except BaseException:
            self.writes, self.for_parent = writes, for_parent
            if after is None:
                await self._keep_alone(before, updates, is_here=is_here)
            raise
        return after

    def _waiting(self, before: Snapshot, questions: Sequence[Interrupt]) -> Step:
        if self._recorder is None or self._asks_around:  # whoever is around this graph keeps the questions
            raise Interrupted(questions)
        self.interrupts = tuple(questions)
        return Step(updates=(), after=before, interrupts=self.interrupts)

    def _pauses_at(self, after: Snapshot) -> bool:
        comes_next = any(task.node in self._plan.pauses_before for task in after.tasks)
        return comes_next or any(name in self._plan.pauses_after for name in after.ran)

    async def _keep(
        self, recorder: Recorder, before: Snapshot, updates: Sequence[Update], after: Snapshot, *, is_here: bool
    ) -> None:
        source, self._source = self._source, "step"
        wrote = None if before.tasks == (ENTRY,) else {write.key for update in updates for write in update.writes}
        await recorder.put(
            after, source=source, wrote=wrote, writes=self.writes, for_parent=self.for_parent, is_here=is_here
        )

    async def _keep_alone(self, before: Snapshot, updates: Sequence[Update], *, is_here: bool) -> None:
        """Keep what a lone task came to, where the step cannot end: where it may go on could not be decided."""
        if self._recorder is None or len(before.tasks) > 1 or self._known:  # else it is kept already
            return
        for position, update in enumerate(updates):
            self._known[position] = update
            await self._recorder.put_update(position, update, is_here=is_here)

    def _can_stay_here(self) -> bool:
        """Whether no part of the next step has to wait for an event loop."""
        tasks = self.snapshot.tasks
        branches = (branch for task in tasks for branch in self._plan.branches.get(task.node, ()))
        # Siblings run together, which takes a loop; one after the other they would take the sum of their times.
        if len(tasks) > 1 or any(branch.path.here is None for branch in branches):
            return False
        nodes = [self._plan.nodes[task.node] for task in tasks if task is not ENTRY]
        return all(
            node.timeout is None and (node.subgraph is not None or node.action.here is not None) for node in nodes
        )

    # Running the tasks

    async def _execute(self, before: Snapshot, *, is_here: bool) -> list[Update | Interrupted]:
        """What the tasks asked for, of the graph or of somebody, in their order."""
        known = self._known
        left = [position for position, task in enumerate(before.tasks) if task is not ENTRY and position not in known]
        done: list[Update | Interrupted] = []
        if is_here:
            done = [await self._task(before, position, is_here=True) for position in left]
        elif left:
            jobs = [self._job(before, position) for position in left]
            done = await run_together(jobs, limit=self._settings.max_concurrency)
        if not known:
            return done
        by_position = {**known, **dict(zip(left, done, strict=True))}
        return [by_position[position] for position in range(len(before.tasks)) if position in by_position]

    def _job(self, before: Snapshot, position: int) -> Job[Update | Interrupted]:
        node = self._plan.nodes[before.tasks[position].node]
        # Where the run is kept, so is what a sibling comes to: it is waited for, and no call in it is left in doubt.
        is_stoppable = self._recorder is None and (node.subgraph is not None or node.action.awaited is not None)
        return Job(node=node.name, run=partial(self._task, before, position, is_here=False), is_stoppable=is_stoppable)

    async def _task(self, before: Snapshot, position: int, *, is_here: bool) -> Update | Interrupted:
        """Run a task, and keep what it came to where the step may end without it."""
        try:
            update = await self._tasks.run(before, position, is_here=is_here)
        except BaseException as error:
            asked = interrupted_in(error)
            if asked is None:
                raise
            if self._recorder is not None:
                await self._recorder.put_questions(position, asked.interrupts, is_here=is_here)
            return asked
        if self._recorder is not None and len(before.tasks) > 1:
            await self._recorder.put_update(position, update, is_here=is_here)
        return update

    async def run_subgraph(self, before: Snapshot, position: int, node: Node, plan: Plan, *, is_here: bool) -> Update:
        """Run a graph that is a node; its nodes' writes of the keys that both graphs have are the update."""
        inner = self._inner.get(position)
        if inner is None:  # else it goes on where it failed
            task = before.tasks[position]
            inner = self._inner[position] = await self._enter(before, position, task, plan, is_here=is_here)
        if is_here:
            drive_here(inner)
        else:
            await drive(inner)
        state = self._plan.state
        writes = writes_of_subgraph(node.name, state, inner.plan.state, inner.writes, inner.snapshot.values)
        update = Update(node=node.name, writes=writes, targets=[], for_parent=[])
        for command in inner.for_parent:
            asked = read_update(node.name, command, seen=None, values=before.values, state=state)
            update.writes += asked.writes
            update.targets += asked.targets
        return update

    async def _enter(self, before: Snapshot, position: int, task: Task, plan: Plan, *, is_here: bool) -> Run:
        """The run of a graph that is a node, from where it is kept or from its beginning."""
        # Limits hold for each graph by itself: an inner loop does not use up the steps of the outer one.
        outlet = self._settings.outlet
        if outlet is not None:
            outlet = outlet.inside(place_of(before.tasks, position))
        settings = replace(self._settings, store=self._tasks.store, outlet=outlet)
        recorder = None if self._recorder is None else self._recorder.inside(position)
        if recorder is not None:
            kept = await recorder.load(plan, is_here=is_here)
            if kept is not None:
                recorder.stand_on(kept)
                return Run.resumed(plan, settings, kept, recorder, is_nested=True)
        values: Values
        if task.arg is WHOLE_STATE:
            values = values_for_subgraph(self._plan.state, before.values, plan.state)
        else:
            values = begun_with(plan, task.arg)
        return Run(plan, settings, beginning(values), recorder=recorder, is_nested=True)

    # Going on

    async def _follow(self, before: Snapshot, updates: Sequence[Update], *, is_here: bool) -> Snapshot:
        """The snapshot after a step: its updates merged, and what they and the edges lead to."""
        sources = list(dict.fromkeys(update.node for update in updates)) or [START]
        values = self._merge(before.values, updates, sources)
        ran = () if sources == [START] else tuple(sources)
        if self.for_parent:  # the graph around this one takes over, whatever the edges here say
            return Snapshot(step=before.step + 1, values=values, tasks=(), ran=ran)
        commanded = [(update.node, target) for update in updates for target in update.targets]
        return await self.led_on(before, sources, values, ran=ran, commanded=commanded, is_here=is_here)

    async def led_on(
        self,
        before: Snapshot,
        sources: Sequence[str],
        values: Values,
        *,
        ran: tuple[str, ...],
        commanded: Sequence[tuple[str, object]] = (),
        is_here: bool,
    ) -> Snapshot:
        """The snapshot after nodes ran: where their edges, branches and commands lead.

        Branches see the state after the whole step.
        """
        step = before.step + 1
        targets: list[tuple[str, object]] = []
        for source in sources:
            targets += [(source, target) for target in self._plan.edges.get(source, ())]
            for branch in self._plan.branches.get(source, ()):
                answer = await self._tasks.ask(branch, values, step=step, is_here=is_here)
                targets += [(source, target) for target in targets_of_branch(branch, answer)]
        arrived, complete = arrive(self._plan, before.arrived, sources)
        now, deferred = next_tasks([*targets, *complete, *commanded], self._plan, before.deferred)
        return Snapshot(step=step, values=values, tasks=now, arrived=arrived, deferred=deferred, ran=ran)

    def _merge(self, values: Values, updates: Sequence[Update], sources: Sequence[str]) -> Values:
        writes = [write for update in updates for write in update.writes]
        if self._is_nested:
            # Writes and not values go to the graph around this one: its reducers have to see what was added, and a
            # value that began as theirs would be merged with itself.
            self.writes = [*self.writes, *writes]
            self.for_parent = [*self.for_parent, *(command for update in updates for command in update.for_parent)]
        if not writes:
            return values
        merged = self._plan.state.merge(values, writes)
        self._plan.state.check(merged, sources)
        return merged


def begun_with(plan: Plan, given: object, *, on: Values | None = None) -> Values:
    """The values of a graph that begins with an input, on those that its thread has reached.

    Raises:
        InputError: It is no input for the graph's state.
    """
    state = plan.state
    values = state.merge(state.initial() if on is None else on, state.read_input(given))
    state.check(values, (START,))
    return values


def beginning(values: Values, *, step: int = -1) -> Snapshot:
    """The snapshot that a run begins with."""
    return Snapshot(step=step, values=values, tasks=(ENTRY,))


async def drive(run: Run) -> None:
    """Run to the end, or until it waits for answers."""
    while not run.is_over:
        await run.step()


def drive_here(run: Run) -> None:
    """Run to the end, or until it waits for answers, from synchronous code."""
    while not run.is_over:
        run.step_here()
