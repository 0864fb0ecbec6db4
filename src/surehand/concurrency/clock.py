"""Time as something that can be given: real for programs, made up for tests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

__all__ = ["SYSTEM_CLOCK", "Clock", "Timer"]


class Timer(Protocol):
    """Something that will happen, unless it is called off."""

    def cancel(self) -> object:
        """Call it off; once it has happened this does nothing."""
        ...


class Clock(Protocol):
    """What the time is, and how to wait."""

    def now(self) -> float:
        """Seconds on a clock that only goes forward."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...

    def call_later(self, seconds: float, act: Callable[[], object]) -> Timer:
        """Have the running loop call a function later."""
        ...


class _SystemClock:
    now = staticmethod(time.perf_counter)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def call_later(self, seconds: float, act: Callable[[], object]) -> Timer:
        return asyncio.get_running_loop().call_later(seconds, act)


SYSTEM_CLOCK: Clock = _SystemClock()
"""The machine's own clock."""
