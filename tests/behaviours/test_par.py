"""PAR: the calls of one turn side by side, and what keeps them apart."""

from __future__ import annotations

import asyncio
import gc
import logging
from typing import Any

import pytest

from support.liveness import comes_true
from support.turns import Room, Run, by_both_doors, run_async, turn
from surehand import BaseTool, HumanMessage, SingleFlight, ToolMessage, ToolNode, check_transcript, tool
from surehand.events import CallFinished, Event
from surehand.spec import ToolContext


class Fatal(Exception):
    """Nothing can go on after it."""


@tool
async def slow() -> str:
    """Answer after a while."""
    await asyncio.sleep(0.02)
    return "slow"


@tool
async def fast() -> str:
    """Answer at once."""
    return "fast"


@tool
async def bad() -> str:
    """Fail."""
    raise ValueError("bad")


def guests(room: Room) -> tuple[BaseTool, BaseTool]:
    """An asynchronous and a synchronous tool that are in a room for a while."""

    @tool
    async def on_loop() -> str:
        """Stay, on the loop."""
        with room.visit():
            await asyncio.sleep(0.003)
        return "loop"

    @tool
    def on_thread() -> str:
        """Stay, on a thread."""
        with room.visit():
            room.stay()
        return "thread"

    return on_loop, on_thread


@by_both_doors
def test_PAR_01_a_failing_call_costs_its_siblings_nothing(run: Run) -> None:
    answers = run(ToolNode([slow, bad, fast]), [turn("slow", "bad", "fast")])
    assert [answer.status for answer in answers] == ["success", "error", "success"]
    assert [answers[0].content, answers[2].content] == ["slow", "fast"]
    assert "bad" in answers[1].text


@by_both_doors
def test_PAR_01_a_call_that_is_cancelled_costs_its_siblings_nothing(run: Run) -> None:
    @tool
    async def give_up() -> str:
        """Cancel itself."""
        raise asyncio.CancelledError

    answers = run(ToolNode([slow, give_up, fast]), [turn("slow", "give_up", "fast")])
    assert [answer.status for answer in answers] == ["success", "error", "success"]
    assert [answers[0].content, answers[2].content] == ["slow", "fast"]


@by_both_doors
def test_PAR_03_a_fatal_error_comes_out_when_its_siblings_were_cancelled_and_awaited(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    begun: list[str] = []
    ended: list[str] = []
    events: list[Event] = []

    @tool
    async def wait() -> str:
        """Wait for ever, and clean up."""
        begun.append("wait")
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("cleaned up")
        return "never"

    @tool
    async def fall() -> str:
        """Fail for good."""
        await comes_true(lambda: bool(begun) and any(isinstance(event, CallFinished) for event in events))
        raise Fatal("no key")

    message = turn("fast", "wait", "fall")
    with caplog.at_level(logging.ERROR, "asyncio"), pytest.raises(Fatal, match="no key") as caught:
        run(ToolNode([fast, wait, fall], fatal=(Fatal,), listener=events.append), [message])
    assert ended == ["cleaned up"]
    answers: list[Any] = vars(caught.value)["tool_messages"]
    assert [answer.status for answer in answers] == ["success", "error", "error"]
    assert check_transcript([HumanMessage("go"), message, *answers]) == []
    gc.collect()
    assert [record.message for record in caplog.records if record.name == "asyncio"] == []


@by_both_doors
@pytest.mark.parametrize("kinds", [("on_loop",), ("on_thread",), ("on_loop", "on_thread")], ids=", ".join)
def test_PAR_05_a_turns_limit_holds_for_sync_async_and_mixed_calls(run: Run, kinds: tuple[str, ...]) -> None:
    room = Room(awaits=2)
    run(ToolNode(guests(room), max_concurrency=2), [turn(*(6 // len(kinds) * kinds))])
    assert len(room.order) == 6
    assert room.peak == 2


@by_both_doors
@pytest.mark.parametrize("kind", ["on_loop", "on_thread"])
def test_PAR_05_a_tools_own_limit_holds_for_it_alone(run: Run, kind: str) -> None:
    mine, others = Room(awaits=2), Room()

    @tool
    async def free() -> str:
        """Stay."""
        with others.visit():
            await asyncio.sleep(0.003)
        return "free"

    node = ToolNode([*guests(mine), free], overrides={kind: {"concurrency": 2}})
    run(node, [turn(*[kind] * 6, *["free"] * 6)])
    assert mine.peak == 2
    assert others.peak == 6


@by_both_doors
def test_PAR_06_answers_stand_in_call_order_and_events_in_the_order_of_time(run: Run) -> None:
    events: list[Event] = []
    answers = run(ToolNode([slow, fast], listener=events.append), [turn("slow", "fast")])
    assert [(answer.tool_call_id, answer.content) for answer in answers] == [("c0", "slow"), ("c1", "fast")]
    assert [event.call_id for event in events if isinstance(event, CallFinished)] == ["c1", "c0"]


@by_both_doors
def test_PAR_08_two_calls_of_one_tool_both_run_and_each_is_answered(run: Run) -> None:
    @tool
    async def search(query: str) -> str:
        """Search."""
        return f"found {query}"

    answers = run(ToolNode([search]), [turn(("search", {"query": "X"}), ("search", {"query": "Y"}))])
    assert [(answer.tool_call_id, answer.content) for answer in answers] == [("c0", "found X"), ("c1", "found Y")]


@by_both_doors
def test_PAR_09_nine_equal_calls_all_run_and_each_is_answered(run: Run) -> None:
    runs: list[str] = []

    @tool
    async def bash(command: str) -> str:
        """Run a command."""
        runs.append(command)
        return "x"

    answers = run(ToolNode([bash]), [turn(*[("bash", {"command": "echo x"})] * 9)])
    assert len(runs) == 9
    assert [answer.tool_call_id for answer in answers] == [f"c{number}" for number in range(9)]


@by_both_doors
def test_PAR_09_on_demand_equal_calls_run_once_and_each_is_answered(run: Run) -> None:
    runs: list[str] = []

    @tool(read_only=True)
    async def search(query: str) -> str:
        """Search."""
        runs.append(query)
        await asyncio.sleep(0.002)
        return "found"

    node = ToolNode([search], middleware=[SingleFlight()])
    answers = run(node, [turn(*[("search", {"query": "x"})] * 9)])
    assert runs == ["x"]
    assert [(answer.tool_call_id, answer.content) for answer in answers] == [(f"c{n}", "found") for n in range(9)]


class Record:
    """A record that loses a write where two change it at once."""

    def __init__(self) -> None:
        self.values: dict[str, int] = {}

    async def add(self, key: str) -> None:
        before = self.values.get(key, 0)
        await asyncio.sleep(0.002)
        self.values[key] = before + 1


@by_both_doors
def test_PAR_10_an_exclusive_tool_runs_alone(run: Run) -> None:
    record, room = Record(), Room()
    on_loop, on_thread = guests(room)

    @tool(exclusive=True)
    async def write() -> int:
        """Change the record."""
        with room.visit("write"):
            await record.add("r")
        return room.inside

    answers = run(ToolNode([write, on_loop, on_thread]), [turn("on_loop", "write", "on_thread", "write", "on_loop")])
    assert record.values == {"r": 2}
    assert [answers[1].content, answers[3].content] == ["0", "0"]


@by_both_doors
def test_PAR_10_calls_that_need_the_same_thing_run_one_after_another_and_others_beside_them(run: Run) -> None:
    record, room = Record(), Room()

    @tool(exclusive=lambda args: [f"record:{args.key}"])
    async def write(key: str) -> str:
        """Change a record."""
        with room.visit(key):
            await record.add(key)
        return key

    @tool(exclusive=lambda args: [f"record:{args['key']}"])
    async def erase(key: str) -> str:
        """Change a record in another way."""
        with room.visit(key):
            await record.add(key)
        return key

    calls = [(name, {"key": key}) for key in "ab" for name in ("write", "erase", "write")]
    run(ToolNode([write, erase]), [turn(*calls)])
    assert record.values == {"a": 3, "b": 3}
    assert room.peak == 2


def test_PAR_10_without_any_such_word_calls_run_side_by_side() -> None:
    everybody = asyncio.Barrier(8)

    @tool(timeout=5)
    async def meet() -> str:
        """Go on when all are there."""
        await everybody.wait()
        return "met"

    assert [answer.content for answer in run_async(ToolNode([meet]), [turn(*["meet"] * 8)])] == ["met"] * 8


def form(log: list[str], *, fails_at: str = "") -> list[BaseTool]:
    """Three tools of which each needs what the one before has done."""

    def step(name: str) -> BaseTool:
        async def act() -> str:
            await asyncio.sleep(0.002 if name == "create_form" else 0)
            if name == fails_at:
                raise ValueError("the form is locked")
            log.append(name)
            return name

        return tool(name, description="One step of a form.")(act)

    return [step(name) for name in ("create_form", "fill_form", "submit_form")]


@by_both_doors
def test_PAR_12_calls_run_one_after_another_in_the_order_of_the_model(run: Run) -> None:
    log: list[str] = []
    answers = run(ToolNode(form(log), sequential=True), [turn("create_form", "fill_form", "submit_form")])
    assert log == ["create_form", "fill_form", "submit_form"]
    assert [answer.content for answer in answers] == log


@by_both_doors
def test_PAR_12_later_calls_see_what_earlier_ones_answered(run: Run) -> None:
    @tool
    async def note(text: str) -> str:
        """Note something."""
        return text

    @tool
    def read(context: ToolContext) -> list[Any]:
        """Read the notes of this turn."""
        return [message.text for message in context.state["messages"] if isinstance(message, ToolMessage)]

    message = turn(("note", {"text": "one"}), ("note", {"text": "two"}), "read")
    assert run(ToolNode([note, read], sequential=True), [message])[-1].content == '["one", "two"]'


@by_both_doors
def test_PAR_12_after_the_first_failure_the_rest_is_answered_as_skipped(run: Run) -> None:
    log: list[str] = []
    message = turn("create_form", "fill_form", "submit_form")
    node = ToolNode(form(log, fails_at="fill_form"), sequential=True, stop_on_failure=True)
    answers = run(node, [message])
    assert log == ["create_form"]
    assert [answer.outcome.kind for answer in answers[1:]] == ["exception", "skipped"]
    assert check_transcript([HumanMessage("go"), message, *answers]) == []


@by_both_doors
def test_PAR_12_without_the_stop_the_calls_after_a_failure_run(run: Run) -> None:
    log: list[str] = []
    node = ToolNode(form(log, fails_at="fill_form"), sequential=True)
    run(node, [turn("create_form", "fill_form", "submit_form")])
    assert log == ["create_form", "submit_form"]
