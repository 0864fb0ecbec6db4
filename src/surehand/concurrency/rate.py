"""So many starts in a time: whoever comes too early waits, in the order of coming."""

from __future__ import annotations

import threading
from collections import deque
from contextlib import AsyncExitStack

from surehand.concurrency.clock import SYSTEM_CLOCK, Clock
from surehand.concurrency.doors import has_running_loop, run_sync
from surehand.concurrency.slots import Held, Slots
from surehand.policy.rate import RateLimit

__all__ = ["RateWindow"]


class RateWindow:
    """Keeps a rate limit: in no span of its length are there more starts than it allows.

    Safe to use from any number of threads and loops at once. In a thread without a running loop, waiting blocks it.
    What it remembers is bounded by the number of starts that the limit allows.
    """

    def __init__(self, limit: RateLimit, clock: Clock = SYSTEM_CLOCK) -> None:
        self._limit = limit
        self._clock = clock
        self._lock = threading.Lock()
        self._starts: deque[float] = deque(maxlen=limit.calls)
        self._line = Slots()
        """One key with one place, for the first of those who wait: the others sleep until it has started."""

    async def wait(self, held: Held | None = None) -> None:
        """Wait for a start, first come, first served; who is cancelled meanwhile has used up none.

        Args:
            held: Places to enter as soon as the time has come; nobody holds them while he waits for time. The start
                counts from when they are entered. They are the caller's to release, once this has returned.
        """
        async with self._line.hold(_FIRST):
            while delay := self.delay():
                await self._sleep(delay)
            async with AsyncExitStack() as entered:
                if held is not None:
                    await entered.enter_async_context(held)
                while delay := self.take():  # somebody started without standing in line
                    await self._sleep(delay)
                entered.pop_all()

    def take(self) -> float:
        """Start now, and return 0; where it is too early, start nothing and return the seconds until it is not."""
        with self._lock:
            now = self._clock.now()
            delay = self._delay(now)
            if not delay:
                self._starts.append(now)
            return delay

    def delay(self) -> float:
        """Seconds until the next start; 0 for now."""
        with self._lock:
            return self._delay(self._clock.now())

    def _delay(self, now: float) -> float:
        if len(self._starts) < self._limit.calls:
            return 0.0
        return max(0.0, self._starts[0] + self._limit.per - now)

    async def _sleep(self, seconds: float) -> None:
        if has_running_loop():
            await self._clock.sleep(seconds)
        else:
            run_sync(lambda: self._clock.sleep(seconds))


_FIRST = {"first": 1}
