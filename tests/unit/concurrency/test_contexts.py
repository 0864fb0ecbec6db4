"""A coroutine in a context of its own, and what one comes to in the end."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import weakref
from collections.abc import Generator
from typing import Any

import pytest

from surehand.concurrency import in_own_context, paced, settled

word: contextvars.ContextVar[str] = contextvars.ContextVar("word", default="outside")


def test_it_sees_the_context_around_it_and_changes_only_its_own() -> None:
    async def change() -> list[str]:
        seen = [word.get()]
        word.set("inside")
        await asyncio.sleep(0)
        return [*seen, word.get()]

    async def main() -> tuple[list[str], str]:
        word.set("around")
        return await in_own_context(change()), word.get()

    assert asyncio.run(main()) == (["around", "inside"], "around")


def test_contexts_can_be_nested() -> None:
    async def inner() -> str:
        word.set("inner")
        await asyncio.sleep(0)
        return word.get()

    async def outer() -> tuple[str, str]:
        word.set("outer")
        return await in_own_context(inner()), word.get()

    async def main() -> tuple[str, str]:
        return await in_own_context(outer())

    assert asyncio.run(main()) == ("inner", "outer")


def test_what_it_raises_gets_out() -> None:
    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError("mine")

    async def main() -> None:
        await in_own_context(fail())

    with pytest.raises(ValueError, match="mine"):
        asyncio.run(main())


def test_a_cancellation_reaches_it() -> None:
    ended: list[str] = []

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append(word.get())
            raise

    async def begin() -> None:
        word.set("own")
        await wait()

    async def main() -> bool:
        task = asyncio.ensure_future(in_own_context(begin()))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    assert asyncio.run(main())
    assert ended == ["own"]


def test_it_may_catch_what_is_thrown_in_and_go_on() -> None:
    async def stubborn() -> str:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            await asyncio.sleep(0)
        return "went on"

    async def main() -> str:
        task = asyncio.ensure_future(in_own_context(stubborn()))
        await asyncio.sleep(0)
        task.cancel()
        return await task

    assert asyncio.run(main()) == "went on"


def test_timeouts_and_task_groups_work_in_it() -> None:
    async def work() -> list[int]:
        async def number(value: int) -> int:
            await asyncio.sleep(0)
            return value

        async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
            made = [tasks.create_task(number(value)) for value in range(3)]
        return [task.result() for task in made]

    async def main() -> list[int]:
        return await in_own_context(work())

    assert asyncio.run(main()) == [0, 1, 2]


def test_a_timeout_inside_strikes_there_and_not_outside() -> None:
    async def slow() -> str:
        try:
            async with asyncio.timeout(0.001):
                await asyncio.Event().wait()
        except TimeoutError:
            return "timed out"
        return "never"

    async def main() -> str:
        return await in_own_context(slow())

    assert asyncio.run(main()) == "timed out"


def test_nothing_is_held_when_it_has_ended() -> None:
    class Thing:
        pass

    async def keep() -> weakref.ref[Thing]:
        thing = Thing()
        await asyncio.sleep(0)
        return weakref.ref(thing)

    async def main() -> weakref.ref[Thing]:
        return await in_own_context(keep())

    kept = asyncio.run(main())
    gc.collect()
    assert kept() is None


class Gate:
    """A gate that is opened and shut by hand."""

    def __init__(self) -> None:
        self._open = asyncio.Event()

    @property
    def is_full(self) -> bool:
        return not self._open.is_set()

    async def room(self) -> None:
        await self._open.wait()

    def let_through(self) -> None:
        self._open.set()


def test_a_coroutine_is_held_back_at_its_awaits_while_the_gate_is_full() -> None:
    done: list[str] = []

    async def work() -> str:
        done.append("first")
        await asyncio.sleep(0)
        done.append("second")
        return "result"

    async def main() -> tuple[list[str], str]:
        gate = Gate()
        task = asyncio.ensure_future(paced(work(), gate))
        await asyncio.sleep(0.01)
        held = list(done)
        gate.let_through()
        return held, await task

    assert asyncio.run(main()) == (["first"], "result")
    assert done == ["first", "second"]


def test_what_a_coroutine_that_is_held_back_waits_for_goes_on() -> None:
    async def main() -> str:
        gate, loop = Gate(), asyncio.get_running_loop()
        answer: asyncio.Future[str] = loop.create_future()

        async def work() -> str:
            return await answer

        task = asyncio.ensure_future(paced(work(), gate))
        await asyncio.sleep(0)
        answer.set_result("answer")
        await asyncio.sleep(0)
        gate.let_through()
        return await task

    assert asyncio.run(main()) == "answer"


@pytest.mark.parametrize("waits", ["for a task", "for a moment", "for what is done"])
def test_a_cancellation_reaches_a_coroutine_that_is_held_back_and_what_it_waits_for(waits: str) -> None:
    ended: list[str] = []

    async def inner() -> None:
        try:
            await asyncio.sleep(30)
        finally:
            ended.append("inner")

    async def work() -> None:
        try:
            if waits == "for a task":
                await asyncio.ensure_future(inner())
            elif waits == "for a moment":
                await asyncio.sleep(0)
            else:
                await asyncio.ensure_future(asyncio.sleep(0))
        finally:
            ended.append("work")

    async def main() -> bool:
        task = asyncio.ensure_future(paced(work(), Gate()))
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    assert asyncio.run(main())
    assert ended == (["inner", "work"] if waits == "for a task" else ["work"])


def test_what_a_cancelled_coroutine_waits_for_at_its_end_is_not_held_back() -> None:
    ended: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(30)
        finally:
            await asyncio.sleep(0)
            ended.append("work")

    async def main() -> bool:
        task = asyncio.ensure_future(paced(work(), Gate()))
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait([task], timeout=5)
        return task.cancelled()

    assert asyncio.run(main())
    assert ended == ["work"]


def test_timeouts_strike_in_a_coroutine_that_is_held_back() -> None:
    async def work() -> str:
        try:
            async with asyncio.timeout(0.01):
                await asyncio.sleep(30)
        except TimeoutError:
            return "timed out"
        return "never"

    async def main() -> str:
        gate = Gate()
        asyncio.get_running_loop().call_later(0.05, gate.let_through)
        return await paced(work(), gate)

    assert asyncio.run(main()) == "timed out"


def test_what_is_no_coroutine_is_not_held_back() -> None:
    async def main() -> str:
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        answer.set_result("answer")
        return await paced(answer, Gate())

    assert asyncio.run(main()) == "answer"


# -- what has to be awaited ------------------------------------------------------------------------------------------


def test_what_comes_of_an_awaitable_is_awaited_in_turn() -> None:
    async def one() -> int:
        return 1

    async def hand_on() -> Any:
        return one()

    async def start() -> Any:
        return asyncio.ensure_future(hand_on())

    assert asyncio.run(settled(start())) == 1
    assert asyncio.run(settled("a text")) == "a text"


def test_what_gives_itself_or_its_like_is_not_awaited_for_ever() -> None:
    class Pool:
        opened = 0

        def __await__(self) -> Generator[Any, Any, Pool]:
            self.opened += 1
            return self
            yield

    class Endless:
        def __await__(self) -> Generator[Any, Any, Endless]:
            return Endless()
            yield

    pool = Pool()
    assert asyncio.run(settled(pool)) is pool
    assert pool.opened == 1
    assert isinstance(asyncio.run(settled(Endless())), Endless)
