"""A coroutine in a context of its own."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import weakref

import pytest

from surehand.concurrency import in_own_context

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
