"""Daemon threads of our own for synchronous bodies.

The event loop's default executor is no place for code that may hang: its threads are joined when the loop or the
program ends. These threads are daemons. They are reused, they end after some idle seconds, and one that was given up
stops counting against the number that may work at a time, so that hung bodies never starve the others.

One lock guards three counts. A thread is in at most one of them: *working* (with a job, or started for one), *idle*
(waiting for one), *abandoned* (its job was given up); in none while its body waits for other bodies. Whoever moves a
thread from one to another does it under the lock, together with the fact that decides it. A queue of the standard
library would not do: it cannot say whether somebody is waiting to take, so that each job would cost a new thread or
perhaps stand behind a hung one. What would change our minds: threads that can be ended from outside.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import os
import threading
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Generic, TypeVar, cast

__all__ = [
    "Job",
    "Workers",
    "WorkersExhausted",
    "run_in_thread",
    "run_in_time",
    "served_here",
    "when_started",
    "workers",
]

T = TypeVar("T")

MAX_WORKING: Final = 64
"""How many bodies may be working on threads at a time; more wait for a thread."""
MAX_ABANDONED: Final = 1_000
"""How many given-up bodies may still be running in the process before new ones are refused."""
IDLE_SECONDS: Final = 10.0
"""How long a thread without work is kept."""


class WorkersExhausted(Exception):
    """Too many given-up bodies are still running: no new one may start."""


@dataclass(slots=True, eq=False)
class Job(Generic[T]):
    """One body on its way through a thread; ``result`` and ``error`` are set once ``done`` is."""

    run: Callable[[], T]
    deliver: Callable[[Job[T]], None]
    """Called on the worker's thread when the body has ended, unless it was given up."""
    context: contextvars.Context = field(default_factory=contextvars.copy_context)
    result: T | None = None
    error: BaseException | None = None
    has_waited: bool = False
    """Whether no thread was free for it at first."""
    on_start: Callable[[], None] | None = None
    """Called on the worker's thread before the body, if it had to wait for a thread; must not raise."""
    waits: int = 0
    """How many waits for other bodies it is in, one inside of the other; its thread counts as working in none."""
    is_abandoned: bool = False
    is_over: bool = False
    """Whether the body has ended before anybody gave it up."""
    on_late: Callable[[Job[T]], None] | None = None
    """Called when a body that was given up has ended after all, on its thread; at once where it had ended before."""

    def refuse(self) -> None:
        """End a job that was never begun; whoever waits for it learns of its start too."""
        self.error, self.is_over = WorkersExhausted(), True
        if self.on_start is not None:
            self.on_start()
        self.deliver(self)

    def outcome(self) -> T:
        """What the body returned, once it has ended; what it raised is raised, the same object."""
        if self.error is not None:
            raise self.error
        return cast("T", self.result)


class Workers:
    """A set of daemon threads that run jobs."""

    def __init__(
        self,
        *,
        max_working: int = MAX_WORKING,
        max_abandoned: int = MAX_ABANDONED,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._max_working = max_working
        self._max_abandoned = max_abandoned
        self._idle_seconds = idle_seconds
        self._changed = threading.Condition()
        self._waiting: deque[Job[Any]] = deque()
        self._idle = 0
        self._working = 0
        self._abandoned = 0

    @property
    def abandoned(self) -> int:
        """How many given-up bodies are still running."""
        return self._abandoned

    def start(self, job: Job[Any]) -> bool:
        """Hand a job to a thread, now (True) or as soon as one is free (False).

        Raises:
            WorkersExhausted: Too many given-up bodies are still running, or the system gives no thread at all.
        """
        with self._changed:
            if self._abandoned >= self._max_abandoned:
                raise WorkersExhausted
            self._waiting.append(job)
            # A thread that was notified counts as idle until it wakes, so the jobs that are to be taken count too.
            if self._idle >= len(self._waiting):
                self._changed.notify()
            elif self._idle + self._working >= self._max_working or not self._add_thread():
                if not self._working and not self._idle:  # no thread will ever come back to take it
                    self._waiting.remove(job)
                    raise WorkersExhausted
                job.has_waited = True
            return not job.has_waited

    def abandon(self, job: Job[Any], on_late: Callable[[Job[Any]], None] | None = None) -> None:
        """Give a job up: its result goes nowhere, and its thread counts as abandoned until it ends.

        When too many are abandoned, the jobs that wait for a thread end with ``WorkersExhausted``.
        """
        refused: list[Job[Any]] = []
        with self._changed:
            if job in self._waiting:
                self._waiting.remove(job)
                return
            # A body may end in the very moment in which its caller stops waiting. Its thread has gone on then, and
            # must not be counted as abandoned: nobody would ever count it back.
            if not job.is_over:
                job.on_late = on_late
                job.is_abandoned = True
                self._abandoned += 1
                self._working -= not job.waits
                if self._abandoned >= self._max_abandoned:  # each in the queue may hang as well
                    refused, self._waiting = list(self._waiting), deque()
                self._replace_thread()
        for waiting in refused:
            waiting.refuse()
        if not job.is_abandoned and on_late is not None:
            on_late(job)

    def _replace_thread(self) -> None:
        """Start a thread in the place of one that stopped counting, if there is work for it."""
        if self._waiting and self._idle + self._working < self._max_working:
            self._add_thread()

    def _add_thread(self) -> bool:
        """Start one more thread; False when the system gives none, so that the work waits for those there are."""
        try:
            threading.Thread(target=self._serve, name="surehand-worker", daemon=True).start()
        except RuntimeError:
            return False
        self._working += 1
        return True

    @contextmanager
    def waiting(self) -> Generator[None, None, None]:
        """Leave a worker's place to others while its body waits for what they may have to do.

        A body may enter by a synchronous door and so need threads itself. If it kept its place, enough of such bodies
        would wait for one another for ever.
        """
        job = cast("Job[Any]", _thread.job)
        with self._changed:
            job.waits += 1
            if job.waits == 1 and not job.is_abandoned:
                self._working -= 1
                self._replace_thread()
        try:
            yield
        finally:
            with self._changed:
                job.waits -= 1
                if not job.waits and not job.is_abandoned:
                    self._working += 1  # perhaps beyond the limit: a body that has begun does not wait for its place

    def _serve(self) -> None:
        """Work until there is nothing to do; the caller has counted this thread as working."""
        _thread.serves = self
        while (job := self._next()) is not None:
            _thread.job = job
            if job.has_waited and job.on_start is not None:
                job.on_start()
            try:
                job.result = job.context.run(job.run)
            except BaseException as error:  # noqa: BLE001 - user code ends here; the waiting side decides what it means
                job.error = error
            if not self._finish(job):
                return

    def _next(self) -> Job[Any] | None:
        with self._changed:
            while not self._waiting:
                self._working -= 1
                self._idle += 1
                has_work = self._changed.wait(self._idle_seconds)
                self._idle -= 1
                if not has_work and not self._waiting:  # a job may come in between the timeout and the lock
                    return None
                self._working += 1
            return self._waiting.popleft()

    def _finish(self, job: Job[Any]) -> bool:
        """Tell whoever cares; False when this thread was replaced and has to go."""
        with self._changed:
            was_abandoned = job.is_abandoned
            job.is_over = not was_abandoned
            if was_abandoned:
                self._abandoned -= 1
        # Outside the lock: both run code of others, which may start jobs itself.
        if not was_abandoned:
            job.deliver(job)
        elif job.on_late is not None:
            job.on_late(job)
        return not was_abandoned


_workers: Workers = Workers()
_thread = threading.local()


def served_here() -> Workers | None:
    """The threads that the calling one belongs to; None outside of them."""
    return getattr(_thread, "serves", None)


def workers() -> Workers:
    """The threads of this process."""
    return _workers


async def run_in_thread(run: Callable[[], T]) -> T:
    """Run a function on a worker thread, with the caller's context variables, and return what it returns.

    Raises:
        BaseException: Whatever the function raises, the same object.
        WorkersExhausted: Too many given-up bodies are still running in this process.
    """
    job: Job[T] = Job(run, deliver=lambda _: None)
    ended = deliver_to_loop(job)
    workers().start(job)
    try:
        await ended
    except asyncio.CancelledError:
        workers().abandon(job)
        raise
    return job.outcome()


def run_in_time(job: Job[Any], seconds: float, on_late: Callable[[Job[Any]], None]) -> bool:
    """Run a job on a worker thread and block until it has ended; False where it was given up after ``seconds``.

    The clock starts when the body does. This is for callers that have no loop: two locks wake their waiters in a third
    of the time that a loop takes to hear of another thread.

    Raises:
        WorkersExhausted: Too many given-up bodies are still running in this process.
        BaseException: What interrupted the waiting, such as Ctrl-C; the body is given up then too.
    """
    begun, ended = _held_lock(), _held_lock()
    job.on_start = begun.release
    job.deliver = lambda _: ended.release()
    has_thread = workers().start(job)
    served = served_here()
    try:
        with served.waiting() if served is not None else contextlib.nullcontext():
            if not has_thread:
                begun.acquire()
            if ended.acquire(timeout=min(seconds, threading.TIMEOUT_MAX)):
                return True
    except BaseException:
        workers().abandon(job, on_late)
        raise
    workers().abandon(job, on_late)
    return False


def _held_lock() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


def deliver_to_loop(job: Job[Any]) -> asyncio.Future[None]:
    """A future of the running loop that is done when the job has ended."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    job.deliver = lambda _: _tell(loop, partial(_set_done, ended))
    return ended


def when_started(job: Job[Any], act: Callable[[], None]) -> None:
    """Have the running loop act when a body starts that had to wait for a thread."""
    job.on_start = partial(_tell, asyncio.get_running_loop(), act)


def _tell(loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits any more
        loop.call_soon_threadsafe(act)


def _set_done(ended: asyncio.Future[None]) -> None:
    if not ended.done():
        ended.set_result(None)


def _forget_after_fork() -> None:
    """A child process has none of its parent's threads."""
    global _workers  # noqa: PLW0603 - one per process, remade after a fork
    _workers = Workers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
