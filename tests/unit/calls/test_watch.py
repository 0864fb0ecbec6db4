"""The one timer that the bodies of a turn share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from surehand import AIMessage, ToolNode, tool
from surehand.concurrency import SYSTEM_CLOCK, Timer


class CountedTimers:
    """The machine's clock, and the timers that were asked of it."""

    def __init__(self) -> None:
        self.made: list[Timer] = []

    def now(self) -> float:
        return SYSTEM_CLOCK.now()

    async def sleep(self, seconds: float) -> None:
        await SYSTEM_CLOCK.sleep(seconds)

    def call_later(self, seconds: float, act: Callable[[], object]) -> Timer:
        self.made.append(SYSTEM_CLOCK.call_later(seconds, act))
        return self.made[-1]


@tool
async def double(number: int) -> int:
    """Double a number."""
    return 2 * number


@tool
def triple(number: int) -> int:
    """Triple a number."""
    return 3 * number


@tool
async def refuse(number: int) -> int:
    """Refuse a number."""
    raise ValueError(number)


def turn(name: str) -> AIMessage:
    return AIMessage(tool_calls=[{"id": f"c{n}", "name": name, "args": {"number": n}} for n in range(20)])


def timers_of(name: str) -> list[Timer]:
    clock = CountedTimers()
    node = ToolNode([double, triple, refuse], clock=clock, timeout=3_600)
    asyncio.run(node.ainvoke([turn(name)]))
    return clock.made


@pytest.mark.parametrize("name", ["double", "triple", "refuse"])
def test_bodies_that_end_one_after_another_share_one_timer(name: str) -> None:
    assert len(timers_of(name)) == 1


@pytest.mark.parametrize("name", ["double", "triple", "refuse"])
def test_a_turn_leaves_no_timer_behind(name: str) -> None:
    timers = timers_of(name)
    assert all(isinstance(timer, asyncio.TimerHandle) and timer.cancelled() for timer in timers)


def test_a_call_at_the_synchronous_door_leaves_no_timer_on_its_loop() -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    @tool(timeout=3_600)
    def hand_back(number: int) -> object:
        """Hand back a coroutine."""

        async def later() -> int:
            loops.append(asyncio.get_running_loop())
            return number

        return later()

    assert hand_back.invoke({"number": 4}) == 4
    (loop,) = loops
    timers: list[asyncio.TimerHandle] = getattr(loop, "_scheduled", [])
    assert all(timer.cancelled() for timer in timers)
