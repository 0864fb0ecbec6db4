"""Places to run in: limits, order, cancellation, several loops and threads, and nothing left behind."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from collections.abc import Callable, Coroutine, Hashable, Mapping
from typing import Any

import pytest

from support.turns import Room
from surehand.concurrency import Held, Slots, run_sync, run_without_loop


async def stay(slots: Slots, places: Mapping[str, int], room: Room, name: object = None) -> None:
    """Hold the places for a few steps of the loop."""
    async with slots.hold(places):
        with room.visit(name):
            await settle()


async def wait_and_leave(slots: Slots, places: Mapping[str, int], order: list[str], name: str) -> None:
    """Come in, note it, go."""
    async with slots.hold(places):
        order.append(name)


async def settle() -> None:
    """Let everybody in the loop go as far as possible."""
    for _ in range(8):
        await asyncio.sleep(0)


def in_threads(count: int, run: Callable[[], object]) -> None:
    """Run the same in several threads, at the same time, to the end."""
    start = threading.Barrier(count)

    def together() -> None:
        start.wait(5)
        run()

    threads = [threading.Thread(target=together, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()


def test_what_is_free_is_taken_without_waiting_and_without_a_loop() -> None:
    slots = Slots()

    async def main() -> int:
        async with slots.hold({"a": 1, "b": 2}):
            return len(slots)

    assert run_without_loop(main) == 2
    assert len(slots) == 0


def test_as_many_as_may_are_inside_at_a_time_and_no_more() -> None:
    slots, room = Slots(), Room()

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(50):
                tasks.create_task(stay(slots, {"a": 7}, room))

    asyncio.run(main())
    assert room.peak == 7
    assert len(room.order) == 50
    assert len(slots) == 0


def test_who_comes_first_is_served_first() -> None:
    slots, room = Slots(), Room()

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            for number in range(20):
                tasks.create_task(stay(slots, {"a": 3}, room, number))

    asyncio.run(main())
    assert room.order == list(range(20))


def test_without_all_places_none_is_taken() -> None:
    slots, order = Slots(), list[str]()

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks, slots.hold({"narrow": 1}):
            tasks.create_task(wait_and_leave(slots, {"wide": 2, "narrow": 1}, order, "both"))
            await settle()
            async with slots.hold({"wide": 2}), slots.hold({"wide": 2}):
                order.append("both wide places")

    asyncio.run(main())
    assert order == ["both wide places", "both"]


def test_two_that_need_the_same_places_in_another_order_never_wait_for_each_other() -> None:
    slots, room = Slots(), Room()

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            for number in range(40):
                places = {"a": 1, "b": 1} if number % 2 else {"b": 1, "a": 1}
                tasks.create_task(stay(slots, places, room))

    asyncio.run(main())
    assert room.peak == 1


def test_callers_that_name_different_capacities_for_a_key_never_wait_for_each_other_either() -> None:
    slots, room = Slots(), Room()

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            for number in range(40):
                tasks.create_task(stay(slots, [{"a": 1, "b": 2}, {"a": 2, "b": 1}][number % 2], room))

    asyncio.run(main())
    assert room.peak == 1
    assert len(slots) == 0


def test_who_needs_several_places_is_not_passed_for_ever() -> None:
    slots, room = Slots(), Room()

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(stay(slots, {"a": 1}, room, "a"))
            tasks.create_task(stay(slots, {"b": 1}, room, "b"))
            tasks.create_task(stay(slots, {"a": 1, "b": 1}, room, "both"))
            for number in range(10):
                tasks.create_task(stay(slots, {"ab"[number % 2]: 1}, room, number))

    asyncio.run(main())
    assert room.order[2] == "both"


def test_a_late_comer_to_a_wide_key_stands_where_its_ticket_says() -> None:
    slots, order = Slots(), list[str]()

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            lock, place = slots.hold({"file": 1}), slots.hold({"node": 2})
            async with slots.hold({"node": 2}), place, lock:
                tasks.create_task(wait_and_leave(slots, {"node": 2, "file": 1}, order, "first"))
                await settle()
                tasks.create_task(wait_and_leave(slots, {"node": 2}, order, "second"))
                await settle()
                lock.release()
                await settle()
                assert order == []
                place.release()
                await settle()

    asyncio.run(main())
    assert order == ["first", "second"]


def test_a_waiter_that_is_cancelled_leaves_no_trace() -> None:
    slots, order = Slots(), list[str]()

    async def main() -> None:
        async with slots.hold({"a": 1}):
            waiting = [asyncio.ensure_future(wait_and_leave(slots, {"a": 1, "b": 1}, order, "x")) for _ in range(9)]
            await settle()
            for task in waiting:
                task.cancel()
            await asyncio.wait(waiting)
            assert len(slots) == 1

    asyncio.run(main())
    assert order == []
    assert len(slots) == 0


def test_what_was_kept_for_a_cancelled_waiter_goes_to_the_next() -> None:
    slots, order = Slots(), list[str]()

    async def main() -> None:
        async with slots.hold({"z": 1}):
            # It has "a" kept for it, which is the narrowest by the order of coming, and waits for "z".
            first = asyncio.ensure_future(wait_and_leave(slots, {"a": 1, "z": 1}, order, "first"))
            await settle()
            second = asyncio.ensure_future(wait_and_leave(slots, {"a": 1}, order, "second"))
            await settle()
            assert order == []
            first.cancel()
            await second

    asyncio.run(main())
    assert order == ["second"]
    assert len(slots) == 0


@pytest.mark.parametrize("cancel_first", [True, False])
def test_a_waiter_that_is_cancelled_in_the_moment_it_is_served_gives_its_place_on(*, cancel_first: bool) -> None:
    slots, order = Slots(), list[str]()

    async def main() -> None:
        async with slots.hold({"a": 1}) as held:
            first = asyncio.ensure_future(wait_and_leave(slots, {"a": 1}, order, "first"))
            second = asyncio.ensure_future(wait_and_leave(slots, {"a": 1}, order, "second"))
            await settle()
            acts: list[Callable[[], object]] = [first.cancel, held.release]
            for act in acts if cancel_first else reversed(acts):
                act()
            await second
            assert first.cancelled()

    asyncio.run(main())
    assert order == ["second"]
    assert len(slots) == 0


def test_many_that_leave_the_line_do_not_pile_up_in_it() -> None:
    slots, order = Slots(), list[str]()

    async def main() -> int:
        async with slots.hold({"a": 1}):
            last = asyncio.ensure_future(wait_and_leave(slots, {"a": 1}, order, "last"))
            for _ in range(200):
                passing = asyncio.ensure_future(wait_and_leave(slots, {"a": 1}, order, "passing"))
                await settle()
                passing.cancel()
                await asyncio.wait([passing])
            kept = sum(isinstance(item, Held) for item in gc.get_objects())
        await last
        return kept

    assert asyncio.run(main()) < 20
    assert order == ["last"]


def test_who_names_a_larger_capacity_does_not_pass_those_who_came_before() -> None:
    slots, order = Slots(), list[str]()

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks, slots.hold({"a": 1}):
            tasks.create_task(wait_and_leave(slots, {"a": 1}, order, "first"))
            await settle()
            tasks.create_task(wait_and_leave(slots, {"a": 2}, order, "second"))
            await settle()
            assert order == []

    asyncio.run(main())
    assert order == ["first", "second"]


def test_who_stood_behind_one_that_left_goes_on_if_there_is_room() -> None:
    slots, order = Slots(), list[str]()

    async def main() -> None:
        async with slots.hold({"a": 1}):
            first = asyncio.ensure_future(wait_and_leave(slots, {"a": 1}, order, "first"))
            await settle()
            second = asyncio.ensure_future(wait_and_leave(slots, {"a": 2}, order, "second"))
            await settle()
            first.cancel()
            await asyncio.wait_for(second, 5)

    asyncio.run(main())
    assert order == ["second"]


def test_a_body_that_raises_gives_its_places_back() -> None:
    slots = Slots()

    async def main() -> None:
        with pytest.raises(RuntimeError, match="body"):
            async with slots.hold({"a": 1}):
                raise RuntimeError("body")

    asyncio.run(main())
    assert len(slots) == 0


def test_release_frees_a_place_early_and_once() -> None:
    slots, room = Slots(), Room()

    async def main() -> None:
        async with slots.hold({"a": 1}) as held:
            held.release()
            async with slots.hold({"a": 1}):
                held.release()
                other = asyncio.ensure_future(stay(slots, {"a": 1}, room))
                await settle()
                assert room.order == []
            await other

    asyncio.run(main())
    assert room.peak == 1
    assert len(slots) == 0


def test_to_release_what_was_never_entered_does_nothing() -> None:
    slots = Slots()
    slots.hold({"a": 1}).release()
    assert len(slots) == 0


def test_to_release_what_still_waits_does_not_take_it_out_of_the_line() -> None:
    slots = Slots()

    async def main() -> bool:
        waiting = slots.hold({"a": 1})
        async with slots.hold({"a": 1}):
            task = asyncio.ensure_future(waiting.take())
            await settle()
            waiting.release()
        await asyncio.wait_for(task, 5)
        return waiting.is_held

    assert asyncio.run(main())


def test_a_place_may_be_released_from_another_thread() -> None:
    slots, order = Slots(), list[str]()

    async def main() -> None:
        async with slots.hold({"a": 1}) as held:
            waiting = asyncio.ensure_future(wait_and_leave(slots, {"a": 1}, order, "next"))
            await settle()
            threading.Thread(target=held.release).start()
            await asyncio.wait_for(waiting, 5)

    asyncio.run(main())
    assert order == ["next"]


def test_no_places_are_no_limit() -> None:
    slots, room = Slots(), Room()

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(5):
                tasks.create_task(stay(slots, {}, room))

    asyncio.run(main())
    assert room.peak == 5


def test_a_key_without_any_place_is_refused_rather_than_waited_for() -> None:
    async def main() -> None:
        async with Slots().hold({"a": 0}):
            pass

    with pytest.raises(ValueError, match="'a' has 0 places, expected at least 1"):
        asyncio.run(main())


def test_one_limit_holds_across_several_loops() -> None:
    slots, room = Slots(), Room()

    async def pause() -> None:
        async with slots.hold({"a": 3, "b": 2}):
            with room.visit():
                await asyncio.sleep(0.001)

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(25):
                tasks.create_task(pause())

    in_threads(4, lambda: asyncio.run(main()))
    assert room.peak == 2
    assert len(room.order) == 100
    assert len(slots) == 0


def test_a_thread_without_a_loop_blocks_until_it_has_its_place() -> None:
    slots, room = Slots(), Room()

    async def main() -> None:
        async with slots.hold({"a": 2}):
            with room.visit():
                threading.Event().wait(0.001)

    in_threads(6, lambda: [run_without_loop(main) for _ in range(10)])
    assert room.peak == 2
    assert len(room.order) == 60
    assert len(slots) == 0


def test_loops_and_threads_without_one_wait_for_each_other() -> None:
    slots, room = Slots(), Room()

    async def block() -> None:
        async with slots.hold({"a": 1}):
            with room.visit():
                pass

    async def pause() -> None:
        for _ in range(20):
            await stay(slots, {"a": 1}, room)

    turns: list[Callable[[], object]] = [lambda: [run_without_loop(block) for _ in range(20)], lambda: run_sync(pause)]
    in_threads(4, lambda: turns.pop()() if turns else run_sync(pause))
    assert room.peak == 1
    assert len(room.order) == 80
    assert len(slots) == 0


def test_who_waits_in_the_same_loop_is_woken_without_waking_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    slots, room = Slots(), Room()
    woken: list[object] = []

    async def main() -> None:
        monkeypatch.setattr(asyncio.get_running_loop(), "call_soon_threadsafe", woken.append)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(10):
                tasks.create_task(stay(slots, {"a": 1}, room))
        monkeypatch.undo()

    asyncio.run(main())
    assert woken == []


def test_the_place_of_a_loop_that_was_closed_meanwhile_goes_to_the_next() -> None:
    slots, order = Slots(), list[str]()
    lost = wait_and_leave(slots, {"a": 1}, order, "lost")

    async def main() -> None:
        async with slots.hold({"a": 1}):
            await asyncio.to_thread(leave_waiting, lost)
            last = asyncio.ensure_future(wait_and_leave(slots, {"a": 1}, order, "next"))
            await settle()
        await asyncio.wait_for(last, 5)

    asyncio.run(main())
    assert order == ["next"]
    assert len(slots) == 0
    lost.close()


def leave_waiting(coroutine: Coroutine[Any, Any, None]) -> None:
    """Start a task in a loop, let it wait, and close the loop as no program should."""
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(say_nothing)
    loop.create_task(coroutine)  # noqa: RUF006 - it is lost on purpose
    loop.run_until_complete(settle())
    loop.close()


def say_nothing(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Pass over a task that was lost."""


class Meddling(str):
    """A key that gives places back in the very moment in which others are taken, as a garbage collection may."""

    __slots__ = ("act",)
    act: Callable[[], object]

    def __hash__(self) -> int:
        self.act()
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other)


def meddling(name: str, act: Callable[[], object]) -> dict[Hashable, int]:
    """One place of a key that acts whenever it is looked at, from now on."""
    key = Meddling(name)
    key.act = lambda: None
    places: dict[Hashable, int] = {key: 1}
    key.act = act
    return places


def test_places_may_come_back_in_the_midst_of_taking_others() -> None:
    slots, order = Slots(), list[str]()

    async def main() -> None:
        async with slots.hold({"a": 1}) as held:
            waiting = asyncio.ensure_future(wait_and_leave(slots, {"a": 1}, order, "waiting"))
            await settle()
            async with slots.hold(meddling("b", held.release)):
                await asyncio.wait_for(waiting, 5)

    asyncio.run(main())
    assert order == ["waiting"]
    assert len(slots) == 0


def test_places_may_come_back_in_the_midst_of_lining_up_for_them() -> None:
    slots = Slots()

    async def main() -> None:
        async with slots.hold({"a": 1}) as held, asyncio.timeout(5):
            both: dict[Hashable, int] = {"a": 1} | meddling("b", held.release)
            async with slots.hold(both):
                assert not held.is_held

    asyncio.run(main())
    assert len(slots) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_those_of_its_parent() -> None:
    slots = Slots()

    async def enter() -> int:
        async with slots.hold({"a": 1}):
            return 0

    async def main() -> int:
        async with slots.hold({"a": 1}):
            return in_child(lambda: run_in_time(lambda: run_without_loop(enter)))

    assert run_without_loop(main) == 0


def in_child(run: Callable[[], int]) -> int:
    """The exit code of a forked child that ends with what the function returns."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(run())
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run_in_time(run: Callable[[], int]) -> int:
    """What a function returns; 1 if it is not done in time."""
    result = [1]
    thread = threading.Thread(target=lambda: result.append(run()), daemon=True)
    thread.start()
    thread.join(5)
    return result[-1]
