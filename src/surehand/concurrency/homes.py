"""A loop for what has to live on one loop and is used from many: a session with a server, its process, its sockets.

What belongs to an event loop cannot be used from another one, and cannot be left in the middle by a loop that ends. So
it gets a loop of its own, on a thread of its own, and callers from any thread and any loop hand their work in there.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import os
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from surehand.concurrency.doors import BackgroundLoop, Loan, hand_over

__all__ = ["Home"]

T = TypeVar("T")

_WIND_UP_SECONDS: Final = 1.0
"""How long what was cancelled may take to end."""


class Home:
    """An event loop on a daemon thread, until it is stopped or the program ends."""

    def __init__(self) -> None:
        self._background = BackgroundLoop()
        self._process = os.getpid()
        self._is_stopped = False

    @property
    def is_gone(self) -> bool:
        """Whether nothing can be run here any more: it was stopped, or was left behind in a parent process."""
        return self._is_stopped or self._background.is_stopping or self._process != os.getpid()

    def begin(self, make: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        """Have a coroutine run here, in a copy of the caller's context; nobody has to wait for it."""
        ended: Future[T] = Future()
        self._start(make, ended)
        return ended

    def run(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine here to its end while the caller's thread waits, as ``run_sync`` does."""
        return Loan(self._background).run(make)

    async def arun(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine here while the caller's loop goes on.

        A caller that is cancelled cancels it and does not wait for its end.

        Raises:
            BaseException: Whatever the coroutine raises, the same object.
        """
        ended: Future[T] = Future()
        tasks = self._start(make, ended)
        try:
            return await asyncio.wrap_future(ended)
        except asyncio.CancelledError:
            if not self.is_gone:
                self._background.loop.call_soon_threadsafe(lambda: [task.cancel() for task in tasks])
            raise

    def stop(self) -> None:
        """Cancel what still runs here, and have the loop and its thread end."""
        if not self.is_gone:
            self._is_stopped = True
            with contextlib.suppress(RuntimeError):  # the program ends, and the loop has
                self._background.loop.call_soon_threadsafe(self._wind_up)

    def _wind_up(self) -> None:
        self._background.loop.create_task(self._stop_after_all())

    async def _stop_after_all(self) -> None:
        until = time.monotonic() + _WIND_UP_SECONDS
        # What was handed in a moment ago begins only now: it is looked for until there is nothing left. At the end of
        # the program the loop is stopped by others, and then goes on to close what is left in it.
        while not self._background.is_stopping and (left := asyncio.all_tasks() - {asyncio.current_task()}):
            for task in left:
                task.cancel()
            await asyncio.wait(left, timeout=max(0.0, until - time.monotonic()))
            if time.monotonic() >= until:
                break
        self._background.stop()

    def _start(self, make: Callable[[], Coroutine[Any, Any, T]], ended: Future[T]) -> list[asyncio.Task[T]]:
        loop, context = self._background.loop, contextvars.copy_context()
        tasks: list[asyncio.Task[T]] = []

        def start() -> None:
            if self._is_stopped:  # whoever waits must not wait for what will never run
                ended.cancel()
            if ended.cancelled():
                return
            task = loop.create_task(make(), context=context)
            tasks.append(task)
            task.add_done_callback(lambda done: hand_over(done, ended))

        loop.call_soon_threadsafe(start)
        return tasks
