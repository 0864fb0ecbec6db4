"""Functions on threads that ask their loop to do something."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable

import pytest

from support.liveness import comes_true
from surehand.concurrency import run_in_thread, workers
from surehand.concurrency.callbacks import run_with_callback

variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")

Ask = Callable[[int], int]


async def doubled(number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


async def forever(number: int) -> int:
    await asyncio.Event().wait()
    return number


def test_the_function_runs_on_a_thread_and_its_questions_on_the_loop() -> None:
    places: list[threading.Thread] = []

    def function(ask: Ask) -> int:
        places.append(threading.current_thread())
        return ask(1) + ask(10)

    async def serve(number: int) -> int:
        places.append(threading.current_thread())
        return await doubled(number)

    assert asyncio.run(run_with_callback(function, serve)) == 22
    assert [place is threading.main_thread() for place in places] == [False, True, True]


def test_questions_are_served_in_the_task_that_waits() -> None:
    async def main() -> bool:
        tasks: list[asyncio.Task[object] | None] = [asyncio.current_task()]

        async def serve(number: int) -> int:
            tasks.append(asyncio.current_task())
            return number

        def function(ask: Ask) -> int:
            return ask(1)

        await run_with_callback(function, serve)
        return tasks[0] is tasks[1]

    assert asyncio.run(main())


def test_what_serving_raises_is_raised_on_the_thread_the_same_object() -> None:
    error = ValueError("no")

    async def serve(number: int) -> int:
        raise error

    def function(ask: Ask) -> BaseException:
        try:
            ask(1)
        except ValueError as caught:
            return caught
        return KeyError()

    assert asyncio.run(run_with_callback(function, serve)) is error


def test_what_the_function_raises_is_raised() -> None:
    error = ValueError("no")

    def function(ask: Ask) -> int:
        raise error

    with pytest.raises(ValueError, match="no") as caught:
        asyncio.run(run_with_callback(function, doubled))
    assert caught.value is error


def test_context_variables_of_the_thread_are_seen_while_it_is_served_and_not_after() -> None:
    seen: list[str] = []

    def function(ask: Ask) -> int:
        variable.set("from the thread")
        return ask(1)

    async def serve(number: int) -> int:
        seen.append(variable.get())
        return number

    async def main() -> str:
        variable.set("of the task")
        await run_with_callback(function, serve)
        return variable.get()

    assert asyncio.run(main()) == "of the task"
    assert seen == ["from the thread"]


def test_a_thread_that_waits_is_woken_when_its_caller_is_cancelled() -> None:
    ended: list[type[BaseException]] = []
    asked, before = threading.Event(), workers().abandoned

    def function(ask: Ask) -> int:
        try:
            asked.set()
            return ask(1)
        except BaseException as error:
            ended.append(type(error))
            raise

    async def main() -> None:
        task = asyncio.create_task(run_with_callback(function, forever))
        await comes_true(asked.is_set)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await comes_true(lambda: bool(ended) and workers().abandoned <= before)

    asyncio.run(main())
    assert ended == [asyncio.CancelledError]


def test_a_thread_that_asks_after_its_caller_was_cancelled_is_told_so() -> None:
    ended: list[type[BaseException]] = []
    go, begun = threading.Event(), threading.Event()

    def function(ask: Ask) -> int:
        begun.set()
        go.wait(5)
        try:
            return ask(1)
        except BaseException as error:
            ended.append(type(error))
            raise

    async def main() -> None:
        task = asyncio.create_task(run_with_callback(function, doubled))
        await comes_true(begun.is_set)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()
        await comes_true(lambda: bool(ended))

    asyncio.run(main())
    assert ended == [asyncio.CancelledError]


def test_threads_that_wait_leave_their_place_to_others() -> None:
    """Enough of them to fill all places, and each needs another thread to be served."""

    async def serve(number: int) -> int:
        return await run_in_thread(lambda: 2 * number)

    def function(ask: Ask) -> int:
        return ask(1)

    async def main() -> int:
        async with asyncio.timeout(20):
            return sum(await asyncio.gather(*(run_with_callback(function, serve) for _ in range(100))))

    assert asyncio.run(main()) == 200
