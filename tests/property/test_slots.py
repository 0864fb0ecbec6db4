"""Random holds, releases and cancellations: no key ever has more holders than places, and all come to an end."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from surehand.concurrency import Slots

CAPACITIES = {"a": 1, "b": 1, "c": 2, "d": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """One who asks for places, and how long each part of the visit takes, in steps of the loop."""

    keys: tuple[str, ...]
    comes_after: int
    stays: int
    ends: Literal["leaves", "releases early", "raises", "is cancelled"]
    cancelled_after: int


visitors = st.builds(
    Visitor,
    keys=st.lists(st.sampled_from("abcd"), unique=True, max_size=4).map(tuple),
    comes_after=st.integers(0, 6),
    stays=st.integers(0, 4),
    ends=st.sampled_from(["leaves", "releases early", "raises", "is cancelled"]),
    cancelled_after=st.integers(0, 12),
)


class Census:
    """Who is inside, by key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside: Counter[str] = Counter()
        self.too_many: list[str] = []

    def enter(self, keys: tuple[str, ...]) -> None:
        with self._lock:
            self._inside.update(keys)
            self.too_many += [key for key in keys if self._inside[key] > CAPACITIES[key]]

    def leave(self, keys: tuple[str, ...]) -> None:
        with self._lock:
            self._inside.subtract(keys)


async def steps(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def visit(slots: Slots, visitor: Visitor, census: Census) -> None:
    await steps(visitor.comes_after)
    async with slots.hold({key: CAPACITIES[key] for key in visitor.keys}) as held:
        census.enter(visitor.keys)
        try:
            await steps(visitor.stays)
            if visitor.ends == "raises":
                raise RuntimeError
        finally:
            census.leave(visitor.keys)
        if visitor.ends == "releases early":
            held.release()
            await steps(2)


async def crowd(slots: Slots, group: list[Visitor], census: Census) -> None:
    """All of a group at once; it ends when the last has ended."""
    tasks = [asyncio.ensure_future(visit(slots, visitor, census)) for visitor in group]
    for step in range(13):
        await asyncio.sleep(0)
        for visitor, task in zip(group, tasks, strict=True):
            if visitor.ends == "is cancelled" and visitor.cancelled_after == step:
                task.cancel()
    async with asyncio.timeout(10):
        await asyncio.gather(*tasks, return_exceptions=True)


@given(st.lists(visitors, max_size=25))
def test_in_one_loop_no_key_is_crowded_and_nobody_is_left(group: list[Visitor]) -> None:
    slots, census = Slots(), Census()
    asyncio.run(crowd(slots, group, census))
    assert census.too_many == []
    assert len(slots) == 0


@given(st.lists(st.lists(visitors, max_size=12), min_size=2, max_size=3))
def test_in_several_loops_no_key_is_crowded_and_nobody_is_left(groups: list[list[Visitor]]) -> None:
    slots, census = Slots(), Census()
    ended: list[bool] = []

    def serve(group: list[Visitor]) -> None:
        asyncio.run(crowd(slots, group, census))
        ended.append(True)

    threads = [threading.Thread(target=serve, args=(group,), daemon=True) for group in groups]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(ended) == len(groups)
    assert census.too_many == []
    assert len(slots) == 0


@given(st.lists(st.sampled_from(["a", "b"]), min_size=2, max_size=20), st.sampled_from([1, 2]))
def test_at_each_key_those_who_come_first_are_served_first(wanted: list[str], capacity: int) -> None:
    slots, order = Slots(), list[tuple[str, int]]()

    async def one(key: str, number: int) -> None:
        async with slots.hold({key: capacity}):
            order.append((key, number))
            await steps(1)

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            for number, key in enumerate(wanted):
                tasks.create_task(one(key, number))

    asyncio.run(main())
    for key in "ab":
        assert [pair for pair in order if pair[0] == key] == sorted(pair for pair in order if pair[0] == key)
