"""What is handed to a committer's thread, and how whoever waits for it is woken."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

__all__ = ["Operation", "Waiter", "wake"]

C = TypeVar("C")
T = TypeVar("T")


@dataclass(slots=True, eq=False, kw_only=True)
class Waiter:
    """What is handed to the thread, by somebody who waits on a lock, or on a loop, or not at all."""

    lock: threading.Lock | None = None
    future: asyncio.Future[None] | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class Operation(Waiter, Generic[C, T]):
    """One function of the connection on its way through the thread."""

    run: Callable[[C], T]
    writes: bool
    """Whether it may write."""
    result: T | None = None
    error: BaseException | None = None

    def outcome(self) -> T:
        """What it returned; raises what it raised."""
        if self.error is not None:
            raise self.error
        return cast("T", self.result)


def wake(items: Iterable[Waiter]) -> None:
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
