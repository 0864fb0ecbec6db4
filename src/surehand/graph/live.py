"""The items of a stream on their way from those who put them there to the one who reads them.

There may be many of the former, on the reader's event loop and on threads, and they may be faster than the latter. So
the way is bounded. Whoever can wait for room does: a thread blocks, a coroutine awaits ``room``. What cannot wait is
code on the reader's own loop that puts one item after the other without ever awaiting: the reader does not run before
it ends. Of such items those beyond the bound are lost, and a ``Dropped`` in their place says how many; only progress
can be lost so. What is not to be lost, the pieces of messages and the beginning and end of calls, is put all the same:
the calls of one turn, and one piece for each model, are all that it comes to.

Nobody must wait for ever. A thread does not wait for a loop that it holds up itself, nor for one that has stood still
for a long time, nor for a reader that has gone.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Coroutine
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeVar

from surehand.concurrency import blocked_loops, served_here, wake
from surehand.graph.modes import Namespace

__all__ = ["STREAM_BUFFER", "Dropped", "Entry", "Outbox"]

T = TypeVar("T")

logger = logging.getLogger("surehand.graph")

STREAM_BUFFER: Final = 1_000
"""How many items of a stream may wait for its reader."""
_BATCH: Final = 64
"""How many items the reader is handed at a time."""
_PATIENCE_SECONDS: Final = 5.0
"""After how long a thread that waits for room looks whether the reader's loop still turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """Stands on a stream in the place of progress that came faster than it was read."""

    count: int
    """How many items are missing here."""


class Entry(NamedTuple):
    """One item on its way."""

    mode: str
    namespace: Namespace
    item: Any


class _Gap:
    """Where items are missing; one for each mode and graph at a time."""

    __slots__ = ("count", "metadata")

    def __init__(self, metadata: Any) -> None:
        self.count = 0
        self.metadata = metadata

    def as_item(self) -> Any:
        dropped = Dropped(count=self.count)
        return dropped if self.metadata is None else (dropped, self.metadata)


class Outbox:
    """Items for one reader on the running loop, put there from any thread.

    Args:
        size: How many may wait for the reader.
    """

    def __init__(self, size: int = STREAM_BUFFER) -> None:
        self._size = size
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Entry] = deque()
        self._changed = threading.Condition()
        """Guards what is here, and wakes the threads that wait for room."""
        self._gaps: dict[tuple[str, Namespace], _Gap] = {}
        """Where items are missing now: what is lost next is counted there."""
        self._reader: asyncio.Future[None] | None = None
        self._writers: list[asyncio.Future[None]] = []
        """Coroutines on the loop that wait for room."""
        self._step: asyncio.Task[Any] | None = None
        self._is_stuck = False
        """Whether the loop stood still for so long that nobody waits for it before it turns again."""
        self._is_closed = False
        self._has_lost = False
        self.seen: set[str] = set()
        """The ids of the messages that the reader knows."""

    @property
    def is_full(self) -> bool:
        """Whether whoever can wait should."""
        return len(self._waiting) >= self._size and not self._is_closed

    # Writing

    def put(self, entry: Entry, *, may_drop: bool = False) -> None:
        """Add an item; a thread waits for room, and what comes after the stream was closed goes nowhere.

        Args:
            entry: The item.
            may_drop: Whether it is counted and lost where there is no room and this thread cannot wait.
        """
        while not self._has_taken(entry):
            if not self._wait():
                self._take_at_once(entry, may_drop=may_drop)
                return

    async def room(self) -> None:
        """Wait until there is room."""
        while self.is_full:
            if self._is_here():
                waiter = self._loop.create_future()
                self._writers.append(waiter)
                await waiter
            elif not self._wait():
                return

    def _has_taken(self, entry: Entry) -> bool:
        with self._changed:
            if self._is_closed:
                return True
            if len(self._waiting) >= self._size:
                return False
            self._gaps.pop(entry[:2], None)  # what is missing after this one is missing in another place
            self._append(entry)
        return True

    def _take_at_once(self, entry: Entry, *, may_drop: bool) -> None:
        with self._changed:
            if self._is_closed:
                return
            if may_drop:
                self._gap(entry).count += 1
            else:
                self._append(entry)
            is_first, self._has_lost = may_drop and not self._has_lost, self._has_lost or may_drop
        if is_first:  # outside of the lock: there are handlers that put what is logged on a stream
            logger.warning("items of the %s stream come faster than they are read: some are dropped", entry.mode)

    def _gap(self, entry: Entry) -> _Gap:
        """Where an item is missing that there is no room for; the lock is held."""
        gap = self._gaps.get(entry[:2])
        if gap is None:
            gap = self._gaps[entry[:2]] = _Gap(entry.item[1] if entry.mode == "calls" else None)
            self._append(entry._replace(item=gap))
        return gap

    def _append(self, entry: Entry) -> None:
        """Add an item and wake the reader; the lock is held."""
        self._waiting.append(entry)
        reader, self._reader = self._reader, None
        if reader is None:
            return
        if self._is_here():
            wake(reader)
        else:
            with suppress(RuntimeError):  # the loop was closed meanwhile
                self._loop.call_soon_threadsafe(wake, reader)

    def _wait(self) -> bool:
        """Block this thread until there is room; False where it must not, or there is no use in it."""
        if self._is_stuck or self._is_here() or self._loop in blocked_loops():
            return False
        if self._loop.is_closed():  # nobody will ever read
            self._is_closed = True
            return True
        served = served_here()
        # The reader may need a thread to go on reading, and the one that waits for it may be the last.
        with served.waiting() if served is not None else nullcontext(), self._changed:
            while not self._changed.wait_for(self._has_room, _PATIENCE_SECONDS):
                if not self._turns():
                    self._is_stuck = True
                    return False
        return True

    def _has_room(self) -> bool:
        # Not before half of it is free: to wake a thread for each item costs more than the item.
        return self._is_closed or len(self._waiting) <= self._size // 2

    def _turns(self) -> bool:
        """Whether the reader's loop turns, or may do so before long; the lock is held."""
        turned: list[bool] = []
        try:
            self._loop.call_soon_threadsafe(turned.append, True)
        except RuntimeError:  # it was closed meanwhile: nobody will ever read
            self._is_closed = True
        return self._changed.wait_for(self._has_room, _PATIENCE_SECONDS) or bool(turned)

    def _is_here(self) -> bool:
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return False

    # Reading

    def start(self, step: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run a step while items are taken; whoever starts it has to ``end`` it."""
        task = self._step = self._loop.create_task(step)
        task.add_done_callback(self._wake_at_end)
        return task

    async def take(self) -> list[Entry]:
        """What waits, the oldest first, as soon as there is something; nothing when step and items have ended."""
        if self._waiting:
            await asyncio.sleep(0)  # a reader that never waits must not keep everybody else from running
        self._is_stuck = False
        while (reader := self._must_wait()) is not None:
            await reader
        return self._next_batch()

    def _must_wait(self) -> asyncio.Future[None] | None:
        """What wakes the reader; None where there is something to take, or will never be."""
        with self._changed:  # no item must come in between the look and the entry
            if self._waiting or self._step is None or self._step.done():
                return None
            self._reader = self._loop.create_future()
            return self._reader

    def _wake_at_end(self, _: asyncio.Task[Any]) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            wake(reader)

    async def end(self) -> None:
        """Cancel a step that is still running, and wait for its end; whoever waits for room then waits no longer."""
        task = self._step
        if task is not None and not task.done():
            self.close()
            task.cancel()
            await asyncio.wait([task])

    def close(self) -> None:
        """Let nobody wait any more; what comes from now on goes nowhere."""
        with self._changed:
            self._is_closed = True
            self._waiting.clear()
            self._changed.notify_all()
        self._wake_writers()

    def _next_batch(self) -> list[Entry]:
        with self._changed:
            batch = [self._taken() for _ in range(min(_BATCH, len(self._waiting)))]
            if self._has_room():
                self._changed.notify_all()
        if self._has_room():
            self._wake_writers()
        return batch

    def _taken(self) -> Entry:
        entry = self._waiting.popleft()
        if type(entry.item) is not _Gap:
            return entry
        if self._gaps.get(entry[:2]) is entry.item:
            del self._gaps[entry[:2]]
        return entry._replace(item=entry.item.as_item())

    def _wake_writers(self) -> None:
        writers, self._writers = self._writers, []
        for writer in writers:
            wake(writer)
