"""The bounded way from those who put items on a stream to the one who reads it."""

from __future__ import annotations

import asyncio
import logging
import threading
import warnings
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from surehand.concurrency import run_sync
from surehand.graph import Dropped, live
from surehand.graph.live import Entry, Outbox


def entry(item: Any, mode: str = "custom") -> Entry:
    return Entry(mode, (), item)


def put_all(box: Outbox, number: int) -> None:
    """Put some items that may be missing."""
    for each in range(number):
        box.put(entry(each), may_drop=True)


async def everything(box: Outbox, step: Coroutine[Any, Any, Any], items: list[Any] | None = None) -> list[Any]:
    """What a reader takes while a step runs."""
    work = box.start(step)
    items = [] if items is None else items
    while batch := await box.take():
        items += [each.item for each in batch]
    await work
    return items


def read(
    step: Callable[[Outbox], Coroutine[Any, Any, Any]], *, size: int = 10, items: list[Any] | None = None
) -> list[Any]:
    async def main() -> list[Any]:
        box = Outbox(size)
        return await everything(box, step(box), items)

    return asyncio.run(main())


def on_thread(act: Callable[[], Any]) -> threading.Thread:
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    return thread


def test_items_are_taken_in_the_order_in_which_they_were_put() -> None:
    async def step(box: Outbox) -> None:
        for number in range(5):
            box.put(entry(number))
            await asyncio.sleep(0)

    assert read(step) == [0, 1, 2, 3, 4]


def test_a_step_that_puts_nothing_ends_the_taking() -> None:
    async def step(box: Outbox) -> None:
        await asyncio.sleep(0)

    assert read(step) == []


def test_what_was_put_before_a_step_failed_is_taken_first() -> None:
    async def main() -> list[Any]:
        box = Outbox(10)

        async def step() -> None:
            box.put(entry("before"))
            raise LookupError

        work = box.start(step())
        taken = [each.item for each in await box.take()]
        assert await box.take() == []
        with pytest.raises(LookupError):
            await work
        return taken

    assert asyncio.run(main()) == ["before"]


def test_a_thread_waits_for_room_and_loses_nothing() -> None:
    taken, ahead = list[Any](), list[int]()

    async def step(box: Outbox) -> None:
        def put() -> None:
            for number in range(1_000):
                box.put(entry(number), may_drop=True)
                ahead.append(number - len(taken))

        await asyncio.to_thread(put)

    assert read(step, items=taken) == list(range(1_000))
    assert max(ahead) <= 20  # ten on the way, and ten in the reader's hands


def test_progress_that_cannot_wait_is_counted_where_it_is_missing(caplog: pytest.LogCaptureFixture) -> None:
    async def step(box: Outbox) -> None:
        for number in range(1_000):
            box.put(entry(number), may_drop=True)

    with caplog.at_level(logging.WARNING, "surehand.graph"):
        assert read(step) == [*range(10), Dropped(count=990)]
    assert [record.getMessage() for record in caplog.records] == [
        "items of the custom stream come faster than they are read: some are dropped"
    ]


def test_each_place_where_items_are_missing_has_its_own_count() -> None:
    async def step(box: Outbox) -> None:
        put_all(box, 12)
        await box.room()
        put_all(box, 13)

    assert read(step) == [*range(10), Dropped(count=2), *range(10), Dropped(count=3)]


def test_the_progress_of_calls_is_missing_as_a_pair() -> None:
    async def step(box: Outbox) -> None:
        for number in range(3):
            box.put(entry((number, {"node": "a"}), "calls"), may_drop=True)

    assert read(step, size=2) == [(0, {"node": "a"}), (1, {"node": "a"}), (Dropped(count=1), {"node": "a"})]


def test_the_modes_are_counted_each_by_itself() -> None:
    async def step(box: Outbox) -> None:
        for number in range(4):
            box.put(entry((number, {}), "calls"), may_drop=True)
            box.put(entry(number), may_drop=True)

    missing: list[Any] = [(Dropped(count=3), {}), Dropped(count=3)]
    assert read(step, size=2) == [(0, {}), 0, *missing]


def test_what_must_not_be_lost_is_put_though_there_is_no_room() -> None:
    async def step(box: Outbox) -> None:
        for number in range(100):
            box.put(entry(number))

    assert read(step) == list(range(100))


def test_a_coroutine_waits_for_room() -> None:
    taken, ahead = list[Any](), list[int]()

    async def step(box: Outbox) -> None:
        for number in range(1_000):
            box.put(entry(number))
            ahead.append(number - len(taken))
            await box.room()

    assert read(step, items=taken) == list(range(1_000))
    assert max(ahead) <= 20


def test_closing_lets_nobody_wait_any_more() -> None:
    released: list[str] = []

    async def main() -> None:
        box = Outbox(1)
        box.put(entry("first"))

        def put() -> None:
            box.put(entry("second"))
            released.append("thread")

        async def wait() -> None:
            await box.room()
            released.append("coroutine")

        thread, task = on_thread(put), asyncio.ensure_future(wait())
        await asyncio.sleep(0.02)
        assert released == []
        box.close()
        await task
        await asyncio.to_thread(thread.join)
        box.put(entry("third"))
        assert await box.take() == []

    asyncio.run(main())
    assert sorted(released) == ["coroutine", "thread"]


def test_ending_cancels_the_step_and_waits_for_it() -> None:
    async def main() -> list[str]:
        box, ended = Outbox(1), list[str]()

        async def step() -> None:
            try:
                await asyncio.sleep(30)
            finally:
                await asyncio.sleep(0)
                ended.append("step")

        box.start(step())
        await asyncio.sleep(0)
        await box.end()
        return ended

    assert asyncio.run(main()) == ["step"]


def test_a_reader_that_never_waits_lets_others_run() -> None:
    ticks = 0

    async def main() -> int:
        box = Outbox(100)

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        ticking = asyncio.ensure_future(tick())
        await everything(box, asyncio.to_thread(put_all, box, 20_000))
        ticking.cancel()
        return ticks

    assert asyncio.run(main()) > 50


def test_nobody_waits_for_a_loop_that_stands_still_until_he_is_done() -> None:
    async def step(box: Outbox) -> None:
        async def put() -> None:  # runs on another loop, while this one is blocked by run_sync
            for number in range(100):
                box.put(entry(number), may_drop=True)
                await box.room()

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it says so once in a process
            run_sync(put)

    assert read(step) == [*range(10), Dropped(count=90)]


def test_a_thread_gives_up_on_a_loop_that_stands_still_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_PATIENCE_SECONDS", 0.02)

    async def step(box: Outbox) -> None:
        on_thread(lambda: put_all(box, 100)).join()

    assert read(step) == [*range(10), Dropped(count=90)]


def test_a_thread_does_not_give_up_on_a_slow_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_PATIENCE_SECONDS", 0.2)

    async def main() -> list[Any]:
        box = Outbox(10)
        work = box.start(asyncio.to_thread(put_all, box, 30))
        await asyncio.sleep(0.5)
        items: list[Any] = []
        while batch := await box.take():
            items += [each.item for each in batch]
        await work
        return items

    assert asyncio.run(main()) == list(range(30))


def test_what_comes_after_the_loop_was_closed_goes_nowhere() -> None:
    async def main() -> Outbox:
        box = Outbox(2)
        box.start(asyncio.sleep(0))
        return box

    box = asyncio.run(main())
    on_thread(lambda: put_all(box, 3)).join()
