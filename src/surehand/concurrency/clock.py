"""Time as something that can be given: real for programs, made up for tests."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

__all__ = ["SYSTEM_CLOCK", "Clock"]


class Clock(Protocol):
    """What the time is, and how to wait."""

    def now(self) -> float:
        """Seconds on a clock that only goes forward."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class _SystemClock:
    def now(self) -> float:
        return time.perf_counter()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


SYSTEM_CLOCK: Clock = _SystemClock()
"""The machine's own clock."""
