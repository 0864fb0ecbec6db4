"""Nodes that run in one step: together, bounded, and all ended before anybody goes on.

A step is applied as a whole or not at all, so that it ends with its last node. Gathering leaves siblings running when
one fails. A task group by itself cancels all of them, which is wrong for a function on a thread: only its waiter ends,
the function goes on, and its effect comes when the run is over. So failures are kept inside the tasks here: what can be
stopped is, what cannot is awaited. Then the first failure in the order of the nodes gets out, by itself and not in a
group, because whoever runs a graph writes ``except ValueError``; the others are told in its notes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Generic, NamedTuple, TypeVar, cast

from surehand.concurrency import in_own_context, is_behind_door, is_door_closing
from surehand.errors import NodeError, shown
from surehand.interrupts import gets_through

__all__ = ["Job", "run_together"]

T = TypeVar("T")


class Job(NamedTuple, Generic[T]):
    """One node's work in a step."""

    node: str
    run: Callable[[], Coroutine[Any, Any, T]]
    is_stoppable: bool
    """Whether cancelling it ends it. A function on a thread goes on: it is waited for instead."""


async def run_together(jobs: Sequence[Job[T]], *, limit: int | None) -> list[T]:
    """The results in the order of the jobs.

    When one fails, those that have not begun are dropped, those that can be stopped are cancelled, and the others are
    waited for; then the failure gets out, the same object.

    Args:
        jobs: What to run.
        limit: How many may run at a time; None for all.

    Raises:
        BaseException: What the first of the jobs in their order raised, of those that failed by themselves.
    """
    if len(jobs) > 1:
        return await _Siblings(jobs, limit).run()
    alone = _behind_door if is_behind_door() else _in_own_task
    return [await alone(job) for job in jobs]


async def _in_own_task(job: Job[T]) -> T:
    """The result of a job that has no siblings, where somebody might cancel this task.

    Before Python 3.13, a task group that fails leaves its task marked as cancelled, and what a node does with its task
    groups must not be taken for the end of the run.
    """
    task = cast("asyncio.Task[Any]", asyncio.current_task())
    before = task.cancelling()
    try:
        result = await asyncio.get_running_loop().create_task(job.run())
    except asyncio.CancelledError as error:
        if task.cancelling() > before:
            raise
        raise _cancelled_itself(job.node) from error
    if task.cancelling() > before:  # the node swallowed it, but it was the whole run that was cancelled
        raise asyncio.CancelledError
    return result


async def _behind_door(job: Job[T]) -> T:
    """The result of a job in a task that only its synchronous door cancels: it needs but a context of its own."""
    try:
        result = await in_own_context(job.run())
    except asyncio.CancelledError as error:
        if is_door_closing():
            raise
        raise _cancelled_itself(job.node) from error
    if is_door_closing():
        raise asyncio.CancelledError
    return result


class _Siblings(Generic[T]):
    def __init__(self, jobs: Sequence[Job[T]], limit: int | None) -> None:
        self._jobs = jobs
        self._slots: AbstractAsyncContextManager[object] = nullcontext() if limit is None else asyncio.Semaphore(limit)
        self._tasks: list[asyncio.Task[None]] = []
        self._running: set[int] = set()
        self._results: dict[int, T] = {}
        self._failures: dict[int, BaseException] = {}
        self._consequences: dict[int, BaseException] = {}
        """Failures of jobs that had been asked to stop."""

    async def run(self) -> list[T]:
        # No failure leaves a job: the group's own rule would cancel all others, also those that cannot be stopped.
        async with asyncio.TaskGroup() as group:
            for position in range(len(self._jobs)):
                if self._failures:  # a loop may start its tasks at once, and one before has failed already
                    break
                self._tasks.append(group.create_task(self._one(position)))
        if self._failures:
            raise self._first_failure()
        return [self._results[position] for position in range(len(self._jobs))]

    async def _one(self, position: int) -> None:
        job = self._jobs[position]
        task = cast("asyncio.Task[None]", asyncio.current_task())
        try:
            async with self._slots:
                self._running.add(position)
                self._results[position] = await job.run()
        except asyncio.CancelledError as error:
            # `cancelling` counts what others asked of this task. At zero nobody did: the node's own code raised it, and
            # to let it through would end the whole run without a word.
            if task.cancelling():
                raise
            self._fail(position, _cancelled_itself(job.node), task, error)
        except BaseException as error:  # the nodes are the host's code; it gets out when all have ended
            if gets_through(error):
                raise
            self._fail(position, error, task)
        finally:
            self._running.discard(position)

    def _fail(
        self, position: int, error: BaseException, own: asyncio.Task[Any], cause: BaseException | None = None
    ) -> None:
        if cause is not None:
            error.__cause__ = cause
        # A node that was asked to stop may fail while it does: that is not why the step fails, and must not hide it.
        if own.cancelling():
            self._consequences[position] = error
            return
        self._failures[position] = error
        for other, task in enumerate(self._tasks):
            if other != position and (self._jobs[other].is_stoppable or other not in self._running):
                task.cancel()

    def _first_failure(self) -> BaseException:
        first = min(self._failures)
        error = self._failures[first]
        for position, other in sorted({**self._failures, **self._consequences}.items()):
            if position != first:
                error.add_note(f"Node {self._jobs[position].node!r} failed in the same step: {shown(other)}")
        return error


def _cancelled_itself(node: str) -> NodeError:
    return NodeError(
        node=node,
        problem="it raised CancelledError although nobody cancelled it",
        remedy="Catch it where the cancelled task is awaited.",
    )
