"""Calls that wait: a thousand of them at once, in waves of a hundred, and what a place costs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import nullcontext

from benchmarks import peers
from benchmarks.calls import in_loop, our_message, raw_calls
from benchmarks.harness import Case, Contender
from surehand import ToolNode, tool
from surehand.concurrency import Slots

CALLS = 1_000
LIMIT = 100
WAIT_S = 0.05
ENTRIES = 10_000
"""How often a place is entered in one run."""

inside = 0
peak = 0


async def fetch(city: str, days: int) -> str:
    """Fetch a forecast, which takes fifty milliseconds.

    Args:
        city: The city's name.
        days: How many days.
    """
    global inside, peak  # noqa: PLW0603 - the tool has no other place to count in
    inside += 1
    peak = max(peak, inside)
    await asyncio.sleep(WAIT_S)
    inside -= 1
    return f"{city}, {days} days"


def with_peak(expected: int, make: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[object]]:
    """The same work, which fails where the most that ran at a time is another number."""

    async def work() -> None:
        global peak  # noqa: PLW0603 - see fetch
        peak = 0
        await make()
        assert peak == expected, f"{peak} calls ran at a time, expected {expected}"

    return work


async def bare(limit: int | None) -> None:
    """The same waits without anything around them."""
    places = nullcontext() if limit is None else asyncio.Semaphore(limit)

    async def one() -> None:
        async with places:
            await fetch("Oslo", 3)

    async with asyncio.TaskGroup() as group:
        for _ in range(CALLS):
            group.create_task(one())


def turn_case(runner: asyncio.Runner, *, limit: int | None, goal: str) -> Case:
    """All calls in one turn, as many at a time as may."""
    calls = raw_calls("fetch", CALLS)
    node = ToolNode([tool(fetch)], max_concurrency=limit)
    width = CALLS if limit is None else limit
    crowd = "all at once" if limit is None else f"{limit} at a time"
    works: dict[str, Callable[[], Awaitable[object]]] = {
        "bare TaskGroup": lambda: bare(limit),
        "surehand ToolNode": lambda: node.ainvoke([our_message(calls)]),
    }
    if peers.is_there() and limit is None:  # their node has no limit at its async door
        works["langgraph ToolNode"] = peers.turn(fetch, calls)
    return Case(
        title=f"{CALLS:,} async calls of {1000 * WAIT_S:.0f} ms, {crowd}, per turn",
        ours="surehand ToolNode",
        contenders=tuple(
            Contender(name=name, run=in_loop(runner, with_peak(width, work))) for name, work in works.items()
        ),
        rounds=10 if limit is None else 5,
        goal=goal,
    )


def place_case(runner: asyncio.Runner) -> Case:
    """Entering and leaving a place that is free."""
    slots, semaphore = Slots(), asyncio.Semaphore(LIMIT)
    places = {"node": LIMIT, "file": 1}

    async def ours() -> None:
        for _ in range(ENTRIES):
            async with slots.hold(places):
                pass

    async def theirs() -> None:
        for _ in range(ENTRIES):
            async with semaphore, semaphore:
                pass

    return Case(
        title="two free places, entered and left",
        ours="surehand Slots, any loop or thread",
        contenders=(
            Contender(name="two asyncio.Semaphores, of one loop", run=in_loop(runner, theirs), calls=ENTRIES),
            Contender(name="surehand Slots, any loop or thread", run=in_loop(runner, ours), calls=ENTRIES),
        ),
    )


def cases(runner: asyncio.Runner) -> Iterator[Case]:
    """The cases of this module."""
    yield turn_case(runner, limit=None, goal="at most 110 ms, and 2 x the bare task group")
    waves = CALLS // LIMIT
    yield turn_case(runner, limit=LIMIT, goal=f"{waves} waves: {1000 * waves * WAIT_S:.0f} ms and little more")
    yield place_case(runner)
