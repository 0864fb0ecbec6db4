"""Identical calls of one turn, run once."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Annotated, Any

import pytest

from support.turns import by_both_doors, run_async, turn
from surehand import (
    Command,
    FailureKind,
    InjectedToolCallId,
    SingleFlight,
    ToolException,
    ToolMessage,
    ToolNode,
    ToolReturn,
    tool,
)
from surehand.testing import FakeClock


class Place:
    """Something to read and write, and how often it was read."""

    def __init__(self) -> None:
        self.value = 0
        self.reads = 0


def tools_of(place: Place, **write_options: Any) -> list[Any]:
    @tool(read_only=True)
    async def read(key: str = "a") -> int:
        """Read."""
        place.reads += 1
        await asyncio.sleep(0.01)
        return place.value

    @tool(**write_options)
    async def write(value: int) -> str:
        """Write."""
        place.value = value
        return "written"

    return [read, write]


def evidence(error: BaseException) -> list[ToolMessage]:
    """The answers on an exception that a node raised."""
    messages: list[ToolMessage] = vars(error)["tool_messages"]
    return messages


def flying(*tools: Any, **options: Any) -> ToolNode:
    return ToolNode([*tools], middleware=[SingleFlight()], **options)


@by_both_doors
def test_identical_reads_run_once_and_all_ids_are_answered(run: Any) -> None:
    place = Place()
    node = flying(*tools_of(place))
    answers = run(node, [turn(*[("read", {"key": "x"})] * 3, ("read", {"key": "y"}))])
    assert [answer.tool_call_id for answer in answers] == ["c0", "c1", "c2", "c3"]
    assert [answer.content for answer in answers] == ["0"] * 4
    assert place.reads == 2


def test_a_shared_answer_says_whose_run_it_shares() -> None:
    first, second = run_async(flying(*tools_of(Place())), [turn("read", "read")])
    assert first.outcome is not None
    assert second.outcome is not None
    assert (first.outcome.notes, first.outcome.attempts) == ((), 1)
    assert (second.outcome.notes, second.outcome.attempts) == (("shares the run of call c0",), 0)


def test_later_duplicates_share_too_when_few_may_run_at_a_time() -> None:
    place = Place()
    run_async(flying(*tools_of(place), max_concurrency=1), [turn("read", "read", "read")])
    assert place.reads == 1


def test_another_turn_reads_anew() -> None:
    place = Place()
    node = flying(*tools_of(place))
    run_async(node, [turn("read")])
    run_async(node, [turn("read")])
    assert place.reads == 2


def test_identical_writes_are_each_run() -> None:
    runs: list[int] = []

    @tool
    def send(number: int) -> str:
        """Send."""
        runs.append(number)
        return "sent"

    run_async(flying(send), [turn(*[("send", {"number": 1})] * 3)])
    assert runs == [1, 1, 1]


@pytest.mark.parametrize("options", [{"exclusive": True}, {"exclusive": True, "idempotent": True}])
def test_what_was_read_before_a_write_is_not_given_to_a_read_after_it(options: dict[str, Any]) -> None:
    place = Place()
    answers = run_async(
        flying(*tools_of(place, **options)), [turn("read", "read", ("write", {"value": 5}), "read", "read")]
    )
    assert [answer.content for answer in answers] == ["0", "0", "written", "5", "5"]
    assert place.reads == 2


def test_a_failure_is_shared() -> None:
    runs: list[int] = []

    @tool(read_only=True)
    async def fail() -> None:
        """Fail."""
        runs.append(1)
        raise ToolException("no")

    answers = run_async(flying(fail), [turn("fail", "fail")])
    assert [(answer.content, answer.status) for answer in answers] == [("no", "error")] * 2
    assert len(runs) == 1


@pytest.mark.parametrize("error", [ToolException("no"), RuntimeError("no")])
def test_an_exception_that_is_let_out_is_shared(error: Exception) -> None:
    runs: list[int] = []

    @tool(read_only=True)
    async def fail() -> None:
        """Fail."""
        runs.append(1)
        raise error

    with pytest.raises(type(error)) as caught:
        run_async(flying(fail, handle_tool_errors=False), [turn("fail", "fail")])
    assert caught.value is error
    kinds = [answer.outcome and answer.outcome.kind for answer in evidence(caught.value)]
    assert kinds == kinds[:1] * 2
    assert len(runs) == 1


def test_where_the_one_that_runs_is_cancelled_the_next_runs_in_its_place() -> None:
    runs: list[int] = []
    limits: list[asyncio.Timeout] = []

    @tool(read_only=True)
    async def look() -> str:
        """Look, for longer than the first has time."""
        runs.append(1)
        if len(runs) == 1:
            limits[0].reschedule(asyncio.get_running_loop().time())
            await asyncio.Event().wait()
        await asyncio.sleep(0.01)
        return "seen"

    async def impatient(request: Any, run: Any) -> Any:
        if request.tool_call["id"] != "c0":
            return await run(request)
        try:
            async with asyncio.timeout(20) as limit:
                limits.append(limit)
                return await run(request)
        except TimeoutError:
            return "gave up"

    node = ToolNode([look], middleware=[impatient, SingleFlight()])
    answers = run_async(node, [turn("look", "look", "look")])
    assert [answer.content for answer in answers] == ["gave up", "seen", "seen"]
    assert len(runs) == 2


def test_where_one_that_waits_is_cancelled_the_others_are_not() -> None:
    gave_up = asyncio.Event()

    @tool(read_only=True)
    async def look() -> str:
        """Look."""
        await gave_up.wait()
        return "seen"

    async def impatient(request: Any, run: Any) -> Any:
        if request.tool_call["id"] != "c1":
            return await run(request)
        try:
            async with asyncio.timeout(0.01):
                return await run(request)
        except TimeoutError:
            gave_up.set()
            return "gave up"

    node = ToolNode([look], middleware=[impatient, SingleFlight()])
    answers = run_async(node, [turn("look", "look", "look")])
    assert [answer.content for answer in answers] == ["seen", "gave up", "seen"]


def test_where_the_one_that_runs_swallows_the_end_of_its_time_the_others_run_by_themselves() -> None:
    over, runs = asyncio.Event(), list[int]()

    @tool(read_only=True, timeout=10)
    async def stubborn() -> str:
        """Hang the first time, whatever happens."""
        runs.append(len(runs))
        while runs[-1] == 0 and not over.is_set():
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(10)
        return "fine"

    async def main() -> list[ToolMessage]:
        node = flying(stubborn, clock=FakeClock())
        answers: list[ToolMessage] = await asyncio.wait_for(node.ainvoke([turn(*["stubborn"] * 3)]), 5)
        over.set()
        return answers

    assert [answer.outcome and answer.outcome.kind for answer in asyncio.run(main())] == ["timeout", None, None]


def test_cancelling_the_turn_cancels_all_of_them() -> None:
    @tool(read_only=True)
    async def hang() -> None:
        """Hang."""
        await asyncio.Event().wait()

    async def main() -> list[ToolMessage]:
        task = asyncio.create_task(flying(hang).ainvoke([turn("hang", "hang")]))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        return evidence(caught.value)

    answers = asyncio.run(main())
    assert [answer.outcome and answer.outcome.kind for answer in answers] == [FailureKind.CANCELLED] * 2


def test_a_tool_that_is_given_its_calls_id_runs_for_each() -> None:
    @tool(read_only=True)
    async def look(call_id: Annotated[str, InjectedToolCallId]) -> str:
        """Look."""
        return call_id

    answers = run_async(flying(look), [turn("look", "look")])
    assert [answer.content for answer in answers] == ["c0", "c1"]


def test_each_answer_has_an_artifact_of_its_own() -> None:
    @tool(read_only=True)
    async def table() -> ToolReturn:
        """Give a table."""
        return ToolReturn("a table", artifact=[1])

    first, second = run_async(flying(table), [turn("table", "table")])
    first.artifact.clear()
    assert second.artifact == [1]


def test_what_cannot_be_copied_is_not_shared() -> None:
    runs: list[int] = []

    @tool(read_only=True)
    async def opened() -> ToolReturn:
        """Open."""
        runs.append(1)
        return ToolReturn("opened", artifact=threading.Lock())

    answers = run_async(flying(opened), [turn("opened", "opened")])
    assert [answer.content for answer in answers] == ["opened", "opened"]
    assert len(runs) == 2


def test_a_command_is_given_to_the_graph_once() -> None:
    @tool(read_only=True)
    async def move() -> Command:
        """Move."""
        return Command(goto="next")

    update, *commands = asyncio.run(flying(move, commands=True).ainvoke({"messages": [turn("move", "move")]}))
    assert len(update.update["messages"]) == 2
    assert [command.goto for command in commands] == ["next"]


def test_it_goes_with_synchronous_middlewares_around_and_inside() -> None:
    place = Place()

    def passing(request: Any, run: Any) -> Any:
        return run(request)

    node = ToolNode(tools_of(place), middleware=[passing, SingleFlight(), passing])
    answers = run_async(node, [turn(*["read"] * 100)])
    assert [answer.content for answer in answers] == ["0"] * 100
    assert place.reads == 1
