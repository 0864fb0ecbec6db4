"""One thread that owns a connection to a database, and commits what others ask for in groups.

A commit waits for the disk or for a server, which takes longer than all the rest. While one is on its way, operations
pile up; all of them go into the next transaction, so that a hundred parallel calls cost few commits more than one.
Drivers are spared threads that share a connection, callers on a loop are spared a worker thread each, and a cancelled
caller leaves nothing half done: its operation was handed over, and takes place before all that are asked for later.

An operation is a function of the connection that may be run again: whatever it does beside the database, such as
raising a conflict, follows from what it reads there. That is what takes the place of savepoints, which would cost two
round trips each.

The connection lives in a local variable of the thread. A forked child has a copy of it that must be neither used nor
closed, for it is the parent's connection, too; the frames of threads that a child does not have are never cleared.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar
from weakref import WeakSet

from surehand.checkpoints.committing.database import Database
from surehand.checkpoints.committing.operations import Operation, Waiter, wake
from surehand.checkpoints.committing.transactions import Transactions
from surehand.errors import StoreError

__all__ = ["Committer"]

C = TypeVar("C")
T = TypeVar("T")

_MAX_GROUP: Final = 256
"""How many operations go into one transaction: those that come first need not wait for any number of others."""
_EXIT_SECONDS: Final = 5.0
"""How long the end of the program may wait for what was asked for and not awaited, and for connections to close."""


@dataclass(slots=True, eq=False, kw_only=True)
class _Request(Waiter):
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
        self._queue: queue.SimpleQueue[Operation[C, Any] | _Request] = queue.SimpleQueue()
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
        task = Operation(run=operation, writes=writes, lock=ended)
        self._submit(task)
        ended.acquire()
        return task.outcome()

    async def arun(self, operation: Callable[[C], T], *, writes: bool = True) -> T:
        """``run``, awaited, without a thread of its own. Where the wait is cancelled, the operation takes place."""
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        task = Operation(run=operation, writes=writes, future=ended)
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

    def _submit(self, task: Operation[C, Any]) -> None:
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

    def _put(self, item: Operation[C, Any] | _Request) -> None:
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
        transactions = Transactions(self._database)
        while not self._is_over:
            group, request = self._next_group()
            transactions.settle(group)
            if request is not None:
                self._answer(request, transactions)
            del group, request  # a thread that waits keeps no results, and nobody's objects, alive
        self._clear_queue()

    def _next_group(self) -> tuple[list[Operation[C, Any]], _Request | None]:
        """All operations that wait, up to a number or a request; waits for one of either."""
        group: list[Operation[C, Any]] = []
        item = self._queue.get()
        while isinstance(item, Operation):
            group.append(item)
            if len(group) >= _MAX_GROUP:
                break
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                break
        return group, (item if isinstance(item, _Request) else None)

    def _answer(self, request: _Request, transactions: Transactions[C]) -> None:
        is_end = request.is_end()
        if is_end or (request.is_rest and self._database.outlives_connection):
            transactions.close()
        if is_end:
            self._is_closed = self._is_over = True
        wake([request])

    def _clear_queue(self) -> None:
        """Tell everybody who came too late; the thread and latecomers may do so at the same time."""
        with contextlib.suppress(queue.Empty):
            while True:
                item = self._queue.get_nowait()
                if isinstance(item, Operation):
                    item.error = self._closed()
                wake([item])


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
