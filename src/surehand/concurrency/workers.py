"""Daemon threads of our own for synchronous bodies.

The event loop's default executor is no place for code that may hang: its threads are joined when the loop or the
program ends. These threads are daemons. They are reused, they end after some idle seconds, and hung bodies never starve
the others: one that was given up stops counting against the number that may work at a time, and so does one that has
been at work for some seconds while others wait for a place.

A job that has begun is in at most one place: *working*, *slow* (at work, with its place left to others) or *abandoned*
(given up); in none while its body waits for other bodies. Before, it *waits*, or is *ready*: a place is kept for it and
a thread is coming. The threads that are *coming* were called, were started, or have done their last job; each takes
what is ready first, so that no job is bound to a thread that has yet to wake up. Those without work are *idle*. Whoever
moves a job or a thread does it under the one lock and settles there, so that no job waits beside room. A queue of the
standard library would not do: it cannot say whether somebody is waiting to take, so that each job would cost a new
thread or perhaps stand behind a hung one. What would change our minds: threads that can be ended from outside.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import os
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Generic, NamedTuple, TypeVar, cast

from surehand.concurrency.contexts import wake

__all__ = [
    "Counts",
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
SLOW_SECONDS: Final = 5.0
"""How long a body may be at work before it leaves its place to those that wait for one."""
MAX_ABANDONED: Final = 1_000
"""How many given-up bodies may still be running in the process before new ones are refused; slow ones leave their
places only as long as there are fewer of both."""
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
    has_begun: bool = False
    since: float = 0.0
    """When it took the place that it has, on the clock of ``time.monotonic``."""
    is_abandoned: bool = False
    is_over: bool = False
    """Whether the body has ended before anybody gave it up, or was refused."""
    on_late: Callable[[Job[T]], None] | None = None
    """Called when a body that was given up has ended after all, on its thread; at once where it had ended before."""

    def refuse(self) -> None:
        """Tell whoever waits for a job that it was refused; they learn of its start too."""
        if self.on_start is not None:
            self.on_start()
        self.deliver(self)

    def outcome(self) -> T:
        """What the body returned, once it has ended; what it raised is raised, the same object."""
        if self.error is not None:
            raise self.error
        return cast("T", self.result)


class Counts(NamedTuple):
    """How many jobs are in which place at one moment, and how many threads have none."""

    waiting: int
    """Waiting for a thread."""
    working: int
    slow: int
    abandoned: int
    idle: int
    """Threads that wait for work."""


class _Idler:
    """Where a thread without work waits."""

    __slots__ = ("_bell", "_is_wanted")

    def __init__(self) -> None:
        self._bell = _held_lock()
        self._is_wanted = False

    def ring(self, *, is_wanted: bool) -> None:
        """Have the thread come, or end; once for each time that it waits."""
        self._is_wanted = is_wanted
        self._bell.release()

    def wait(self, seconds: float) -> bool | None:
        """Whether it is to come; None when nobody rang in this time."""
        return self._is_wanted if self._bell.acquire(timeout=seconds) else None


class Workers:
    """A set of daemon threads that run jobs."""

    def __init__(
        self,
        *,
        max_working: int = MAX_WORKING,
        max_abandoned: int = MAX_ABANDONED,
        slow_seconds: float = SLOW_SECONDS,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._max_working = max_working
        self._max_abandoned = max_abandoned
        self._slow_seconds = slow_seconds
        self._idle_seconds = idle_seconds
        self._lock = threading.Lock()
        self._waiting: OrderedDict[Job[Any], None] = OrderedDict()
        self._ready: deque[Job[Any]] = deque()
        """Never more than there are threads coming."""
        self._working: dict[Job[Any], None] = {}
        """In the order in which they took their places."""
        self._slow: set[Job[Any]] = set()
        self._abandoned: set[Job[Any]] = set()
        self._idle: list[_Idler] = []
        self._coming = 0
        self._is_watched = False

    @property
    def abandoned(self) -> int:
        """How many given-up bodies are still running."""
        return len(self._abandoned)

    @property
    def counts(self) -> Counts:
        """How many jobs and threads there are."""
        with self._lock:
            return Counts(
                waiting=len(self._waiting),
                working=len(self._working) + len(self._ready),
                slow=len(self._slow),
                abandoned=len(self._abandoned),
                idle=len(self._idle) + self._coming - len(self._ready),
            )

    def start(self, job: Job[Any]) -> bool:
        """Hand a job to a thread, now (True) or as soon as one is free (False).

        Raises:
            WorkersExhausted: Too many given-up bodies are still running, or the system gives no thread at all.
        """
        with self._lock:
            if len(self._abandoned) >= self._max_abandoned:
                raise WorkersExhausted
            if not self._waiting and self._has_thread():
                self._ready.append(job)
                return True
            job.has_waited = True
            self._waiting[job] = None
            self._settle()
            if self._is_stranded():
                del self._waiting[job]
                raise WorkersExhausted
            return False

    def abandon(self, job: Job[Any], on_late: Callable[[Job[Any]], None] | None = None) -> None:
        """Give a job up: its result goes nowhere, and its thread counts as abandoned until it ends.

        A job that has not begun never will. When too many are abandoned, the jobs that wait for a thread end with
        ``WorkersExhausted``. Giving up a job once more does nothing, whatever ``on_late`` is given then.
        """
        refused: list[Job[Any]] = []
        with self._lock:
            if job.is_abandoned:
                return
            job.is_abandoned = True
            # A body may end in the very moment in which its caller stops waiting. Its thread has gone on then, and
            # must not be counted as abandoned: nobody would ever count it back.
            is_over = job.is_over
            if not job.has_begun:
                self._drop(job)
            elif not is_over:
                job.on_late = on_late
                self._leave(job)
                self._abandoned.add(job)
                refused = self._replace()
        for waiting in refused:
            waiting.refuse()
        if is_over and on_late is not None:
            on_late(job)

    def _drop(self, job: Job[Any]) -> None:
        """Let a job that has not begun never begin."""
        self._waiting.pop(job, None)
        with contextlib.suppress(ValueError):
            self._ready.remove(job)
        self._settle()

    def _replace(self) -> list[Job[Any]]:
        """Let the next one work in the place of one that was given up; the jobs that are refused instead."""
        if len(self._abandoned) < self._max_abandoned:
            self._settle()
            if not self._is_stranded():
                return []
        refused = list(self._waiting)  # each of them may hang as well
        self._waiting.clear()
        for job in refused:
            job.error, job.is_over = WorkersExhausted(), True
        return refused

    @contextmanager
    def waiting(self) -> Generator[None, None, None]:
        """Leave a worker's place to others while its body waits for what they may have to do.

        A body may enter by a synchronous door and so need threads itself. If it kept its place, enough of such bodies
        would wait for one another for ever.
        """
        job = cast("Job[Any]", _thread.job)
        with self._lock:
            job.waits += 1
            self._leave(job)
            self._settle()
        try:
            yield
        finally:
            with self._lock:
                job.waits -= 1
                if not job.waits and not job.is_abandoned:
                    self._enter(job)  # perhaps beyond the limit: a body that has begun does not wait for its place
                    self._settle()

    def _enter(self, job: Job[Any]) -> None:
        job.has_begun = True
        job.since = time.monotonic()
        self._working[job] = None

    def _leave(self, job: Job[Any]) -> None:
        self._working.pop(job, None)
        self._slow.discard(job)

    def _settle(self) -> None:
        """Use what room there is for those that wait, and keep no more threads than may work; under the lock."""
        while self._waiting and self._has_thread():
            self._ready.append(self._waiting.popitem(last=False)[0])
        while self._idle and len(self._working) + len(self._idle) + self._coming > self._max_working:
            self._idle.pop(0).ring(is_wanted=False)
        if self._waiting and not self._is_watched:
            self._is_watched = _has_started(self._watch)

    def _has_thread(self) -> bool:
        """Whether one more job may become ready: there is a place for it, and a thread comes that has no other.

        False also where the system gives no thread; then the work waits for those there are.
        """
        if not self._has_room():
            return False
        if self._coming > len(self._ready):
            return True
        if self._idle:
            self._idle.pop().ring(is_wanted=True)
        elif not _has_started(self._serve):
            return False
        self._coming += 1
        return True

    def _has_room(self) -> bool:
        """Whether one more may work. Where all places are taken, the bodies that had theirs for longest leave them."""
        while len(self._working) + len(self._ready) >= self._max_working:
            oldest = next(iter(self._working), None)
            if oldest is None or time.monotonic() - oldest.since < self._slow_seconds:
                return False
            if len(self._slow) + len(self._abandoned) >= self._max_abandoned:
                return False
            del self._working[oldest]
            self._slow.add(oldest)
        at_work = len(self._working) + len(self._ready) + len(self._slow) + len(self._abandoned)
        return at_work < self._max_working + self._max_abandoned

    def _is_stranded(self) -> bool:
        """Whether jobs wait and none is at work whose thread would come back for them: the system gives no thread."""
        return bool(self._waiting) and not (self._working or self._ready or self._slow)

    def _watch(self) -> None:
        """Settle, while jobs wait, whenever one more body has become slow."""
        while True:
            with self._lock:
                self._settle()
                if not self._waiting:
                    self._is_watched = False
                    return
                now = time.monotonic()
                ages = (now - job.since for job in self._working)
                age = next((age for age in ages if age < self._slow_seconds), 0.0)
            time.sleep(self._slow_seconds - age)

    def _serve(self) -> None:
        """Work until there is nothing to do; the caller has counted this thread as coming."""
        _thread.serves = self
        idler = _Idler()
        job = self._next(idler)
        while job is not None:
            _thread.job = job
            if job.has_waited and job.on_start is not None:
                job.on_start()
            try:
                job.result = job.context.run(job.run)
            except BaseException as error:  # noqa: BLE001 - user code ends here; the waiting side decides what it means
                job.error = error
            self._finish(job)
            job = self._next(idler, ended=job)

    def _finish(self, job: Job[Any]) -> None:
        """Tell whoever cares."""
        with self._lock:
            was_abandoned = job.is_abandoned
            job.is_over = not was_abandoned
            if was_abandoned:
                self._abandoned.discard(job)
                self._settle()
        # Outside the lock: both run code of others, which may start jobs itself.
        if not was_abandoned:
            job.deliver(job)
        elif job.on_late is not None:
            job.on_late(job)

    def _next(self, idler: _Idler, ended: Job[Any] | None = None) -> Job[Any] | None:
        """A job for the thread, as soon as there is one; None when none comes for long, or threads are too many."""
        with self._lock:
            if ended is not None:
                self._leave(ended)
                self._coming += 1
                self._settle()
            job = self._arrive(idler)
        while job is None and self._is_called(idler):
            with self._lock:
                job = self._arrive(idler)
        return job

    def _arrive(self, idler: _Idler) -> Job[Any] | None:
        """What is ready for a thread that comes; None where nothing is, and the thread is idle now."""
        self._coming -= 1
        if self._ready:
            job = self._ready.popleft()
            self._enter(job)
            return job
        self._idle.append(idler)
        self._settle()
        return None

    def _is_called(self, idler: _Idler) -> bool:
        """Wait for work; False where the thread has to end."""
        while (is_wanted := idler.wait(self._idle_seconds)) is None:
            with self._lock:
                if idler in self._idle:  # else it is being called in this moment
                    self._idle.remove(idler)
                    return False
        return is_wanted


def _has_started(run: Callable[[], None]) -> bool:
    """Whether the system gave a thread for it."""
    try:
        threading.Thread(target=run, name="surehand-worker", daemon=True).start()
    except RuntimeError:
        return False
    return True


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
    job.deliver = lambda _: _tell(loop, partial(wake, ended))
    return ended


def when_started(job: Job[Any], act: Callable[[], None]) -> None:
    """Have the running loop act when a body starts that had to wait for a thread."""
    job.on_start = partial(_tell, asyncio.get_running_loop(), act)


def _tell(loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits any more
        loop.call_soon_threadsafe(act)


def _forget_after_fork() -> None:
    """A child process has none of its parent's threads, and the one that it has serves nobody."""
    global _workers  # noqa: PLW0603 - one per process, remade after a fork
    _workers = Workers()
    _thread.serves = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
