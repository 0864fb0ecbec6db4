"""What nodes emit while a step runs, handed to the one who reads the stream."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Final, TypeVar

__all__ = ["STEP_ENDED", "Outbox", "end"]

T = TypeVar("T")


class _StepEnded:
    def __repr__(self) -> str:
        return "STEP_ENDED"


STEP_ENDED: Final = _StepEnded()
"""What is taken when a step has ended and everything it emitted was taken."""


class Outbox:
    """Items for one reader on the running loop, put there from any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._items: asyncio.Queue[object] = asyncio.Queue()

    def start(self, step: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run a step while items are taken; whoever starts it has to ``end`` it."""
        task = self._loop.create_task(step)
        # Callbacks run in the order they were scheduled, and whatever the step emitted was scheduled before it ended.
        task.add_done_callback(lambda _: self._items.put_nowait(STEP_ENDED))
        return task

    async def take(self) -> object:
        """The next item, or STEP_ENDED."""
        return await self._items.get()

    def put(self, item: object) -> None:
        """Add an item; one that comes from a thread after the stream was closed is dropped."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._items.put_nowait, item)


async def end(task: asyncio.Task[Any]) -> None:
    """Cancel a step that is still running, and wait for its end."""
    if not task.done():
        task.cancel()
        await asyncio.wait([task])
