"""Rate limits: so many starts in a time, in order, from whatever loop or thread."""

from __future__ import annotations

import asyncio
import threading

import pytest

from surehand.concurrency import RateWindow, Slots, run_sync, run_without_loop
from surehand.policy import RateLimit
from surehand.testing import FakeClock


async def start(window: RateWindow, clock: FakeClock, starts: list[float]) -> None:
    """Wait for a start and note when it was."""
    await window.wait()
    starts.append(clock.now())


def starts_of(count: int, limit: RateLimit) -> list[float]:
    """When so many start that all come at once."""
    clock, starts = FakeClock(), list[float]()
    window = RateWindow(limit, clock)

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(count):
                tasks.create_task(start(window, clock, starts))

    asyncio.run(main())
    return starts


def test_so_many_start_at_once_and_the_others_when_the_span_has_passed() -> None:
    assert starts_of(7, RateLimit(3, per=10)) == [0, 0, 0, 10, 10, 10, 20]


def test_no_span_holds_more_starts_than_the_limit_wherever_it_begins() -> None:
    clock, starts = FakeClock(), list[float]()
    window = RateWindow(RateLimit(2, per=10), clock)

    async def main() -> None:
        for pause in (0, 6, 3, 4, 0, 0, 12, 0):
            await clock.sleep(pause)
            await start(window, clock, starts)

    asyncio.run(main())
    assert starts == [0, 6, 10, 16, 20, 26, 38, 38]
    assert all(later - earlier >= 10 for earlier, later in zip(starts, starts[2:], strict=False))


def test_who_comes_first_starts_first() -> None:
    clock, order = FakeClock(), list[int]()
    window = RateWindow(RateLimit(1, per=5), clock)

    async def begin(number: int) -> None:
        await window.wait()
        order.append(number)

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            for number in range(6):
                tasks.create_task(begin(number))

    asyncio.run(main())
    assert order == [0, 1, 2, 3, 4, 5]
    assert clock.sleeps == [5] * 5  # only the first in line looks at the clock: a crowd would be woken for every start


@pytest.mark.parametrize("cancelled", [1, 2], ids=["who sleeps", "who stands behind"])
def test_who_is_cancelled_uses_up_no_start(cancelled: int) -> None:
    clock, starts = FakeClock(autojump=None), list[float]()
    window = RateWindow(RateLimit(1, per=10), clock)

    async def main() -> None:
        tasks = [asyncio.ensure_future(start(window, clock, starts)) for _ in range(4)]
        await asyncio.sleep(0.001)
        tasks.pop(cancelled).cancel()
        for _ in tasks:
            await asyncio.sleep(0.001)
            clock.advance(10)
        await asyncio.gather(*tasks)

    asyncio.run(main())
    assert starts == [0, 10, 20]


def test_take_starts_only_what_may_start_now_and_says_when_else() -> None:
    clock = FakeClock(autojump=None)
    window = RateWindow(RateLimit(1, per=10), clock)

    assert window.take() == 0
    clock.advance(4)
    assert window.take() == 6
    assert window.delay() == 6
    clock.advance(6)
    assert window.take() == 0


def test_the_places_of_who_waits_for_time_stay_free() -> None:
    clock, slots = FakeClock(), Slots()
    window = RateWindow(RateLimit(1, per=10), clock)

    async def main() -> float:
        window.take()
        held = slots.hold({"node": 1})
        waiting = asyncio.ensure_future(window.wait(held))
        await asyncio.sleep(0)
        async with slots.hold({"node": 1}):
            came_in_at = clock.now()
        await waiting
        assert held.is_held
        held.release()
        return came_in_at

    assert asyncio.run(main()) == 0
    assert clock.now() == 10
    assert len(slots) == 0


def test_a_start_counts_from_when_its_places_are_entered() -> None:
    clock, slots = FakeClock(), Slots()
    window = RateWindow(RateLimit(1, per=10), clock)

    async def main() -> None:
        async with slots.hold({"node": 1}) as other:
            held = slots.hold({"node": 1})
            waiting = asyncio.ensure_future(window.wait(held))
            await clock.sleep(7)
            other.release()
            await waiting
            held.release()
        await window.wait()

    asyncio.run(main())
    assert clock.now() == 17


def test_places_go_back_where_the_start_is_taken_by_another_and_the_wait_is_cancelled() -> None:
    clock, slots = FakeClock(autojump=None), Slots()
    window = RateWindow(RateLimit(1, per=10), clock)

    async def main() -> None:
        async with slots.hold({"node": 1}) as other:
            waiting = asyncio.ensure_future(window.wait(slots.hold({"node": 1})))
            await asyncio.sleep(0)
            window.take()
            other.release()
            await asyncio.sleep(0.001)
            assert len(slots) == 1
            waiting.cancel()
            await asyncio.wait([waiting])

    asyncio.run(main())
    assert len(slots) == 0


def test_without_a_loop_the_thread_waits() -> None:
    clock = FakeClock()
    window = RateWindow(RateLimit(1, per=10), clock)
    for _ in range(3):
        run_without_loop(window.wait)
    assert clock.now() == 20


def test_the_limit_holds_across_threads_and_loops() -> None:
    clock, starts = FakeClock(), list[float]()
    window = RateWindow(RateLimit(3, per=10), clock)

    async def some() -> None:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(5):
                tasks.create_task(start(window, clock, starts))

    threads = [threading.Thread(target=run_sync, args=(some,), daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(starts) == [0, 0, 0, 10, 10, 10, 20, 20, 20, 30, 30, 30, 40, 40, 40]
