"""One thread that owns a connection to a database, and commits what others ask for in groups.

A commit waits for the disk or for a server, which takes longer than all the rest. While one is on its way, operations
pile up; all of them go into the next transaction, so that a hundred parallel calls cost few commits more than one.
Drivers are spared threads that share a connection, callers on a loop are spared a worker thread each, and a cancelled
caller leaves nothing half done: its operation was handed over, and takes place before all that are asked for later.

An operation is a function of the connection that may be run again: whatever it does beside the database, such as
raising a conflict, follows from what it reads there. That is what takes the place of savepoints, which would cost two
round trips each. Where one fails, all is rolled back; those before it are committed without it, it is tried once more
as the first of a transaction, where its failure is its own, and those after it go on. Where the commit itself fails,
halves are tried, until those that can be kept are.

The connection lives in a local variable of the thread. A forked child has a copy of it that must be neither used nor
closed, for it is the parent's connection, too; the frames of threads that a child does not have are never cleared.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import copy
import os
import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeVar, cast
from weakref import WeakSet

from surehand.errors import StoreError

__all__ = ["Committer", "Database"]

C = TypeVar("C")
T = TypeVar("T")

_MAX_GROUP: Final = 256
"""How many operations go into one transaction: those that come first need not wait for any number of others."""
_EXIT_SECONDS: Final = 5.0
"""How long the end of the program may wait for what was asked for and not awaited, and for connections to close."""


class Database(ABC, Generic[C]):
    """What a committer has to know of a database; all of it is called on the committer's thread only.

    Methods may raise the driver's own exceptions; ``told`` says what becomes of them.
    """

    outlives_connection: bool = True
    """Whether what is stored is still there when the connection is closed and opened again."""

    @abstractmethod
    def connect(self) -> C:
        """Open a connection, ready for use: with its tables, outside of a transaction.

        Called for the first operation, and again for the next one whenever the connection was lost.
        """

    @abstractmethod
    def begin(self, connection: C, *, writes: bool) -> None:
        """Begin a transaction, and take what locks it needs; where that fails, no operation is tried alone.

        Args:
            connection: The connection.
            writes: Whether it may write. Where it may, nobody else must be able to write what it has read until it ends
                (or the commit must fail).
        """

    @abstractmethod
    def commit(self, connection: C) -> None:
        """Commit; returns when it holds, whatever happens to this process or the machine."""

    @abstractmethod
    def roll_back(self, connection: C) -> None:
        """Undo what the transaction did; does nothing where there is none."""

    @abstractmethod
    def close(self, connection: C) -> None:
        """Let go of a connection, in whatever state it is."""

    @abstractmethod
    def is_lost(self, connection: C) -> bool:
        """Whether the connection, on which something has just failed, is of no use any more; must not raise.

        A lost one is closed, and what was asked for is run once more on a new one; where it was lost in ``commit``,
        that depends on what ``holds`` says.
        """

    def holds(self, connection: C) -> bool | None:
        """Whether the transaction holds whose ``commit`` lost the connection.

        None where nobody can know: then whoever waits is told that it may hold or not.
        """
        return None

    @abstractmethod
    def told(self, error: Exception) -> Exception:
        """The exception that whoever waits is to see, a ``StoreError`` for one of the driver; must not raise."""


@dataclass(slots=True, eq=False, kw_only=True)
class _Item:
    """What is handed to the thread, by somebody who waits on a lock, or on a loop, or not at all."""

    lock: threading.Lock | None = None
    future: asyncio.Future[None] | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class _Operation(_Item, Generic[C, T]):
    """One function of the connection on its way through the thread."""

    run: Callable[[C], T]
    writes: bool
    result: T | None = None
    error: BaseException | None = None

    def outcome(self) -> T:
        if self.error is not None:
            raise self.error
        return cast("T", self.result)


@dataclass(slots=True, eq=False, kw_only=True)
class _Request(_Item):
    """Something to be done between transactions: to let go of the connection, and perhaps to end."""

    is_end: Callable[[], bool]
    is_rest: bool = False


class Committer(Generic[C]):
    """Runs operations on its thread and commits them in groups; usable from any thread and loop.

    Args:
        database: How to reach the database. The connection is opened when it is first needed.
        name: Of what is stored where, for messages: ``The saver of 'runs.db'``.

    Raises:
        StoreError: The system gives no thread.
    """

    def __init__(self, database: Database[C], *, name: str) -> None:
        self._database = database
        self._name = name
        self._process = os.getpid()
        self._queue: queue.SimpleQueue[_Operation[C, Any] | _Request] = queue.SimpleQueue()
        self._is_closed = False
        self._is_over = False
        """Whether the thread serves nobody any more; whoever puts something into the queue then clears it."""
        self._thread = threading.Thread(target=self._serve, name="surehand-committer", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:
            raise StoreError(problem=f"{name} got no thread: {error}", remedy="End some of the threads.") from error
        _live.add(self)

    def run(self, operation: Callable[[C], T], *, writes: bool = True) -> T:
        """Run an operation in a transaction, and return what it returned once it is committed.

        Args:
            operation: May be run more than once; see the module.
            writes: Whether it writes. Those that only read also work where nothing can be written.

        Raises:
            StoreError: It could not be committed; or the committer is closed, or belongs to another process.
            Exception: Whatever the operation raises; nothing of it holds then.
        """
        ended = _held_lock()
        task = _Operation(run=operation, writes=writes, lock=ended)
        self._submit(task)
        ended.acquire()
        return task.outcome()

    async def arun(self, operation: Callable[[C], T], *, writes: bool = True) -> T:
        """``run``, awaited, without a thread of its own. Where the wait is cancelled, the operation takes place."""
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        task = _Operation(run=operation, writes=writes, future=ended)
        self._submit(task)
        await ended
        return task.outcome()

    def close(self) -> None:
        """Run what was asked for so far, close the connection and end the thread; twice does nothing."""
        self._is_closed = True
        if self._process == os.getpid():
            self._request(is_end=_always, seconds=-1)

    def rest(self, seconds: float) -> None:
        """Run what was asked for so far and close the connection; it is opened again for what comes later.

        Args:
            seconds: How long to wait for that.
        """
        self._request(is_end=bool, seconds=max(seconds, 0))

    def forsake(self, is_wanted: Callable[[], bool]) -> None:
        """Close without waiting for it, unless it is wanted; a finalizer may call this, whatever is locked.

        Args:
            is_wanted: Asked on the thread, when all is done that was asked for so far.
        """
        if self._process == os.getpid():
            self._put(_Request(is_end=lambda: not is_wanted()))

    def _submit(self, task: _Operation[C, Any]) -> None:
        if self._process != os.getpid():
            raise StoreError(
                problem=f"{self._name} was opened in process {self._process}, of which this one is a fork",
                remedy="Open it in each process, after the fork; or start processes by 'spawn' or 'forkserver'.",
            )
        if self._is_closed:
            raise self._closed()
        if self._is_own_thread():  # it would wait for itself
            raise StoreError(
                problem=f"{self._name} was asked for something by code that its own thread runs",
                remedy="Let no finalizer (__del__, weakref) use it.",
            )
        self._put(task)

    def _request(self, *, is_end: Callable[[], bool], seconds: float) -> None:
        ended = _held_lock()
        self._put(_Request(is_end=is_end, is_rest=True, lock=ended))
        if not self._is_own_thread():
            ended.acquire(timeout=seconds)

    def _put(self, item: _Operation[C, Any] | _Request) -> None:
        """Hand something over; without a lock, because finalizers come here at any moment, also from here."""
        self._queue.put(item)
        if self._is_over:
            self._clear_queue()

    def _is_own_thread(self) -> bool:
        return threading.get_ident() == self._thread.ident

    def _closed(self) -> StoreError:
        return StoreError(problem=f"{self._name} is closed", remedy="Open it anew, and close it when all is done.")

    # On the thread

    def _serve(self) -> None:
        session = _Session(self._database)
        while not self._is_over:
            group, request = self._next_group()
            session.settle(group)
            if request is not None:
                self._answer(request, session)
            del group, request  # a thread that waits keeps no results, and nobody's objects, alive
        self._clear_queue()

    def _next_group(self) -> tuple[list[_Operation[C, Any]], _Request | None]:
        """All operations that wait, up to a number or a request; waits for one of either."""
        group: list[_Operation[C, Any]] = []
        item = self._queue.get()
        while isinstance(item, _Operation):
            group.append(item)
            if len(group) >= _MAX_GROUP:
                break
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                break
        return group, (item if isinstance(item, _Request) else None)

    def _answer(self, request: _Request, session: _Session[C]) -> None:
        is_end = request.is_end()
        if is_end or (request.is_rest and self._database.outlives_connection):
            session.close()
        if is_end:
            self._is_closed = self._is_over = True
        _wake([request])

    def _clear_queue(self) -> None:
        """Tell everybody who came too late; the thread and latecomers may do so at the same time."""
        with contextlib.suppress(queue.Empty):
            while True:
                item = self._queue.get_nowait()
                if isinstance(item, _Operation):
                    item.error = self._closed()
                _wake([item])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failure:
    """Why a transaction does not hold."""

    error: BaseException
    first: int = 0
    """How many of the operations may hold without the others; 0 where the first is to blame."""
    is_lost: bool = False
    """Whether all may hold on a new connection."""
    is_of: Literal["first", "writers", "all"] = "first"
    """Whom it concerns where there is nothing else to be tried."""


class _Session(Generic[C]):
    """The thread's side: the connection, and what is done on it."""

    def __init__(self, database: Database[C]) -> None:
        self._database = database
        self._connection: C | None = None

    def settle(self, group: Sequence[_Operation[C, Any]]) -> None:
        """Commit what can be committed, and wake everybody."""
        while group:
            settled = self._settle_some(group)
            _wake(settled)
            group = _without(group, settled)

    def _settle_some(self, part: Sequence[_Operation[C, Any]]) -> Sequence[_Operation[C, Any]]:
        """Commit as many as can be, the first ones, or find out whose failure it is; returns those that are settled."""
        was_lost = False
        while (failure := self._transact(part)) is not None:
            if failure.is_lost and not was_lost:
                was_lost = True
            elif failure.first:
                part = part[: failure.first]
            else:
                return _blamed(part, failure)
        return part

    def close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(Exception):  # it is let go of in any case, and all that was promised is committed
                self._database.close(self._connection)
            self._connection = None

    def _transact(self, part: Sequence[_Operation[C, Any]]) -> _Failure | None:
        try:
            if self._connection is None:
                self._connection = self._database.connect()
            return self._transact_on(self._connection, part)
        except BaseException as error:  # noqa: BLE001 - whatever it is, somebody waits for it
            self.close()
            return _Failure(error=self._told(error), is_of="all")

    def _transact_on(self, connection: C, part: Sequence[_Operation[C, Any]]) -> _Failure | None:
        index = -1
        try:
            self._database.begin(connection, writes=any(task.writes for task in part))
            for index, task in enumerate(part):  # noqa: B007 - it is needed where one fails
                task.result = task.run(connection)
            index = len(part)
            self._database.commit(connection)
        except BaseException as error:  # noqa: BLE001 - whatever it is, somebody waits for it
            return self._undone(connection, error, index, len(part))
        return None

    def _undone(self, connection: C, error: BaseException, index: int, size: int) -> _Failure | None:
        """Roll back, and say what else can be tried: ``index`` is -1 for the begin, and the size for the commit."""
        if index == size and self._database.is_lost(connection):
            return self._cut_off(connection, error)
        is_lost = self._rolled_back(connection)
        told = self._told(error)
        if index < 0:
            return _Failure(error=told, is_lost=is_lost, is_of="writers")
        if index < size:
            return _Failure(error=told, is_lost=is_lost, first=index)
        if is_lost:
            return _Failure(error=_in_doubt(told), is_of="writers")
        return _Failure(error=told, first=size // 2)

    def _cut_off(self, connection: C, error: BaseException) -> _Failure | None:
        """Find out what became of a commit whose answer was lost; None where it holds."""
        try:
            holds = self._database.holds(connection)
        except Exception:  # noqa: BLE001 - who cannot be asked has not answered
            holds = None
        if self._database.is_lost(connection):  # it may have a new line by now
            self.close()
        told = self._told(error)
        if holds is None:
            return _Failure(error=_in_doubt(told), is_of="writers")
        return None if holds else _Failure(error=told, is_lost=True, is_of="writers")

    def _rolled_back(self, connection: C) -> bool:
        """Whether the connection was lost."""
        try:
            is_lost = self._database.is_lost(connection)
            self._database.roll_back(connection)
        except Exception:  # noqa: BLE001 - what cannot be rolled back is rolled back by closing
            is_lost = True
        if is_lost:
            self.close()
        return is_lost

    def _told(self, error: BaseException) -> BaseException:
        if not isinstance(error, Exception):
            return error
        told = self._database.told(error)
        if told is not error:
            told.__cause__ = error
        return told


def _blamed(part: Sequence[_Operation[C, Any]], failure: _Failure) -> Sequence[_Operation[C, Any]]:
    """Those that a failure settles, with their errors set."""
    if failure.is_of == "first":
        settled = part[:1]
    elif failure.is_of == "writers":  # where nothing can be written, something may still be read
        settled = [task for task in part if task.writes] or part
    else:
        settled = part
    for task in settled:
        task.error = failure.error if task is settled[0] else _copy_of(failure.error)
    return settled


def _without(group: Sequence[_Operation[C, Any]], settled: Iterable[_Item]) -> Sequence[_Operation[C, Any]]:
    gone = frozenset(map(id, settled))
    return [task for task in group if id(task) not in gone]


def _copy_of(error: BaseException) -> BaseException:
    """The error for one more to raise: each that raises an exception adds to its traceback."""
    try:
        twin = copy.copy(error)
    except Exception:  # noqa: BLE001 - a class of others that cannot be copied
        return error
    twin.__cause__ = error.__cause__
    return twin


def _in_doubt(error: BaseException) -> StoreError:
    doubt = StoreError(
        problem=f"The connection was lost in a commit, so that what was to be written may hold or not ({error})",
        remedy="Read what is stored, and go on from there.",
    )
    doubt.__cause__ = error
    return doubt


def _wake(items: Iterable[_Item]) -> None:
    """Tell those who wait, each loop once."""
    of_loops: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
    for item in items:
        if item.lock is not None:
            item.lock.release()
        elif item.future is not None:
            of_loops.setdefault(item.future.get_loop(), []).append(item.future)
    for loop, futures in of_loops.items():
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits any more
            loop.call_soon_threadsafe(_set_done, futures)


def _set_done(futures: Iterable[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)


def _held_lock() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


def _always() -> bool:
    return True


_live: WeakSet[Committer[Any]] = WeakSet()


def _rest_at_exit() -> None:
    """Leave databases in order; code that runs at exit after this, too, finds them usable."""
    until = time.monotonic() + _EXIT_SECONDS
    for committer in list(_live):
        committer.rest(until - time.monotonic())


def _forget_after_fork() -> None:
    """A child process has none of its parent's threads."""
    _live.clear()


atexit.register(_rest_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
