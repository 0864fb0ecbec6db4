"""Bodies and their time: signs of life, partial output, and those that will not stop."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator
from functools import partial, wraps
from typing import Any

import pytest

from support.liveness import comes_true
from surehand import (
    AIMessage,
    BaseTool,
    OptionError,
    ToolCallError,
    ToolContext,
    ToolException,
    ToolMessage,
    ToolNode,
    tool,
)
from surehand.calls.attempts import bodies
from surehand.calls.attempts.bodies import CLEANUP_SECONDS
from surehand.concurrency import run_sync
from surehand.events import CallFinished, CallProgressed, CallStarted, Event, LateResult
from surehand.testing import FakeClock


def _answers(node: ToolNode, *names: str) -> list[ToolMessage]:
    calls: list[dict[str, Any]] = [{"id": f"c{i}", "name": name, "args": {}} for i, name in enumerate(names)]
    answers: list[ToolMessage] = node.invoke([AIMessage(tool_calls=calls)])
    return answers


def _kind(answer: ToolMessage) -> str | None:
    return None if answer.outcome is None or answer.outcome.kind is None else str(answer.outcome.kind)


def in_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """An asynchronous test, in a loop of its own."""

    @wraps(test)
    def run() -> None:
        asyncio.run(test())

    return run


@tool
async def quick() -> str:
    """Answer at once."""
    return "quick"


# -- signs of life ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", ["heartbeat", "progress"])
def test_a_sign_of_life_begins_the_idle_time_anew(sign: str) -> None:
    clock = FakeClock()

    @tool(idle_timeout=10, timeout=None)
    async def steady(ctx: ToolContext) -> str:
        """Work for 40 seconds, with a sign of life every 8."""
        for _ in range(5):
            await clock.sleep(8)
            ctx.heartbeat() if sign == "heartbeat" else ctx.progress("on it")
        return "done"

    (answer,) = _answers(ToolNode([steady], clock=clock), "steady")
    assert (answer.content, clock.now()) == ("done", 40)


def test_a_body_without_a_sign_of_life_is_out_of_time() -> None:
    @tool(idle_timeout=10)
    async def silent(ctx: ToolContext) -> str:
        """Say one thing, and then nothing."""
        ctx.heartbeat()
        await asyncio.Event().wait()
        return "never"

    (answer,) = _answers(ToolNode([silent], clock=FakeClock()), "silent")
    assert _kind(answer) == "timeout"
    assert str(answer.content).startswith("The tool gave no sign of life for 10 seconds. It was stopped")


def test_signs_of_life_do_not_extend_the_time_in_all() -> None:
    clock = FakeClock()

    @tool(idle_timeout=10, timeout=30)
    async def chatty(ctx: ToolContext) -> str:
        """Work for ever, with a sign of life every 5 seconds."""
        while True:
            await clock.sleep(5)
            ctx.heartbeat()

    (answer,) = _answers(ToolNode([chatty], clock=clock), "chatty")
    assert str(answer.content).startswith("The tool did not answer within 30 seconds.")


def test_a_synchronous_body_gives_signs_of_life_from_its_thread() -> None:
    clock = FakeClock()

    @tool(idle_timeout=10, timeout=None)
    def steady(ctx: ToolContext) -> str:
        """Work for longer than the idle time."""
        for _ in range(5):
            clock.block(8)
            ctx.heartbeat()
        return "done"

    (answer,) = _answers(ToolNode([steady], clock=clock), "steady")
    assert (answer.content, clock.now()) == ("done", 40)


def test_each_item_of_a_generator_is_a_sign_of_life() -> None:
    clock = FakeClock()

    @tool(idle_timeout=10)
    async def items() -> AsyncIterator[int]:
        """Give an item every 8 seconds."""
        for number in range(3):
            await clock.sleep(8)
            yield number

    (answer,) = _answers(ToolNode([items], clock=clock), "items")
    assert answer.content == "[0, 1, 2]"


# -- generators ------------------------------------------------------------------------------------------------------


def test_what_a_generator_yields_is_progress_and_what_it_returns_is_the_result() -> None:
    events: list[Event] = []

    @tool
    def search() -> Generator[str, None, str]:
        """Search two shelves."""
        yield "first shelf"
        yield "second shelf"
        return "found on the second"

    (answer,) = _answers(ToolNode([search], listener=events.append), "search")
    progress = [event.progress for event in events if isinstance(event, CallProgressed)]
    assert (answer.content, progress) == ("found on the second", ["first shelf", "second shelf"])


def test_a_generator_that_returns_nothing_comes_to_its_items() -> None:
    @tool
    def lines() -> Iterator[str]:
        """Give two lines."""
        yield "one"
        yield "two"

    assert _answers(ToolNode([lines]), "lines")[0].content == '["one", "two"]'


def test_what_a_body_had_produced_is_told_when_its_time_is_over() -> None:
    clock = FakeClock()

    @tool(timeout=5)
    async def slow() -> AsyncIterator[str]:
        """Give an item and hang."""
        yield "the first half"
        await asyncio.Event().wait()

    (answer,) = _answers(ToolNode([slow], clock=clock), "slow")
    assert str(answer.content).endswith('Its output until then: ["the first half"]')


def test_what_a_body_had_produced_is_told_when_it_fails() -> None:
    @tool
    def breaking() -> Iterator[int]:
        """Give an item and break."""
        yield 1
        raise OSError("disk gone")

    content = str(_answers(ToolNode([breaking]), "breaking")[0].content)
    assert content.startswith("OSError: disk gone")
    assert content.endswith("Its output until then: [1]")


def test_the_words_of_a_tools_author_stay_as_they_are() -> None:
    @tool
    def refusing() -> Iterator[int]:
        """Give an item and refuse."""
        yield 1
        raise ToolException("Ask for one shelf only.")

    assert _answers(ToolNode([refusing]), "refusing")[0].content == "Ask for one shelf only."


# -- bodies that will not stop ---------------------------------------------------------------------------------------


async def _deaf(until: asyncio.Event | threading.Event) -> str:
    """Swallow every cancellation."""
    while not until.is_set():
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            continue
    return "late"


def _stubborn(until: asyncio.Event | threading.Event) -> BaseTool:
    @tool(timeout=0.05)
    async def stubborn() -> str:
        """Swallow every cancellation."""
        return await _deaf(until)

    return stubborn


def test_a_body_that_swallows_its_cancellation_is_waited_for_no_longer() -> None:
    done = threading.Event()
    began = time.monotonic()
    stubborn, other = _answers(ToolNode([_stubborn(done), quick], clock=FakeClock()), "stubborn", "quick")
    assert time.monotonic() - began < CLEANUP_SECONDS + 5
    done.set()
    assert (_kind(stubborn), other.content) == ("timeout", "quick")
    assert "It may still be running" in str(stubborn.content)


@in_loop
async def test_the_late_end_of_such_a_body_is_announced_and_goes_nowhere() -> None:
    done = asyncio.Event()
    events: list[Event] = []
    node = ToolNode([_stubborn(done)], listener=events.append, clock=FakeClock())
    calls: list[dict[str, Any]] = [{"id": "c0", "name": "stubborn", "args": {}}]
    (answer,) = await node.ainvoke([AIMessage(tool_calls=calls)])
    done.set()
    for _ in range(20):
        await asyncio.sleep(0.01)
    late = [event.value for event in events if isinstance(event, LateResult)]
    finished = [event for event in events if isinstance(event, CallFinished)]
    assert (late, len(finished), _kind(answer)) == (["late"], 1, "timeout")


@in_loop
async def test_a_direct_call_is_not_held_up_by_such_a_body_either() -> None:
    done = asyncio.Event()
    began = time.monotonic()
    with pytest.raises(ToolCallError, match="did not answer within"):
        await _stubborn(done).ainvoke({})
    done.set()
    assert time.monotonic() - began < CLEANUP_SECONDS + 5


@pytest.mark.parametrize("kind", ["thread", "loop", "generator on a thread", "generator on the loop"])
def test_what_a_body_reports_after_its_call_was_answered_is_told_nobody(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "CLEANUP_SECONDS", 0.05)
    done, is_over = threading.Event(), threading.Event()

    @tool("work", timeout=0.05)
    def on_thread(ctx: ToolContext) -> str:
        """Work on a thread."""
        ctx.progress("early")
        done.wait(20)
        ctx.progress("late")
        return "end"

    @tool("work", timeout=0.05)
    async def on_loop(ctx: ToolContext) -> str:
        """Work on the loop."""
        ctx.progress("early")
        await _deaf(done)
        ctx.progress("late")
        return "end"

    @tool("work", timeout=0.05)
    def yielding() -> Iterator[str]:
        """Work on a thread, item by item."""
        yield "early"
        done.wait(20)
        yield "late"

    @tool("work", timeout=0.05)
    async def ayielding() -> AsyncIterator[str]:
        """Work on the loop, item by item."""
        yield "early"
        await _deaf(done)
        yield "late"

    tools = {
        "thread": on_thread,
        "loop": on_loop,
        "generator on a thread": yielding,
        "generator on the loop": ayielding,
    }
    events: list[Event] = []

    def listen(event: Event) -> None:
        events.append(event)
        if isinstance(event, LateResult):
            is_over.set()

    async def main() -> None:
        message = AIMessage(tool_calls=[{"id": "c0", "name": "work", "args": {}}])
        (answer,) = await ToolNode([tools[kind]], listener=listen).ainvoke([message])
        assert _kind(answer) == "timeout"
        done.set()
        await comes_true(is_over.is_set)

    asyncio.run(main())
    assert [type(event) for event in events] == [CallStarted, CallProgressed, CallFinished, LateResult]


def _stubborn_in_other_ways(done: threading.Event) -> list[BaseTool]:
    """Bodies that only turn out to be asynchronous when they are called."""

    @tool(timeout=0.05)
    async def yields() -> AsyncIterator[str]:
        """Yield once, in the end."""
        yield await _deaf(done)

    @tool(timeout=0.05)
    def hands_back() -> Any:
        """Hand back what is to be awaited."""
        return _deaf(done)

    return [yields, hands_back]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("door", ["node", "tool", "atool"])
def test_a_body_that_turns_out_to_be_stubborn_is_waited_for_no_longer_at_any_door(
    number: int, door: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "CLEANUP_SECONDS", 0.05)
    done = threading.Event()
    stubborn = _stubborn_in_other_ways(done)[number]
    events: list[Event] = []
    if door == "node":
        (answer,) = _answers(ToolNode([stubborn], listener=events.append), stubborn.name)
        assert _kind(answer) == "timeout"
        assert "It may still be running" in answer.text
    else:

        async def direct() -> None:
            try:
                await stubborn.ainvoke({})
            finally:
                done.set()  # asyncio.run waits for it

        with pytest.raises(ToolCallError, match="did not answer within"):
            stubborn.invoke({}) if door == "tool" else asyncio.run(direct())
    done.set()
    run_sync(partial(asyncio.sleep, 0.1))  # the loop of this thread stands still between two calls
    expected = [["late"] if number == 0 else "late"] if door == "node" else []
    assert [event.value for event in events if isinstance(event, LateResult)] == expected


@in_loop
async def test_its_place_is_free_for_the_next_call() -> None:
    done = asyncio.Event()
    node = ToolNode([_stubborn(done), quick], max_concurrency=1, clock=FakeClock())
    calls: list[dict[str, Any]] = [
        {"id": "c0", "name": "stubborn", "args": {}},
        {"id": "c1", "name": "quick", "args": {}},
    ]
    answers = await node.ainvoke([AIMessage(tool_calls=calls)])
    done.set()
    assert answers[1].content == "quick"


@in_loop
async def test_a_body_that_ends_well_while_it_is_told_to_stop_has_succeeded() -> None:
    @tool(timeout=0.02)
    async def commits() -> str:
        """Finish what it began, then answer."""
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            await asyncio.sleep(0.01)
        return "committed"

    (answer,) = await ToolNode([commits]).ainvoke([AIMessage(tool_calls=[{"id": "c0", "name": "commits", "args": {}}])])
    assert (answer.content, _kind(answer)) == ("committed", None)


@in_loop
async def test_cancelling_the_caller_does_not_wait_for_a_body_that_swallows_it() -> None:
    done = asyncio.Event()

    @tool(timeout=None)
    async def deaf() -> str:
        """Swallow every cancellation."""
        while not done.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue
        return "late"

    node = ToolNode([deaf, quick], clock=FakeClock())
    calls: list[dict[str, Any]] = [{"id": "c0", "name": "deaf", "args": {}}, {"id": "c1", "name": "quick", "args": {}}]
    task = asyncio.create_task(node.ainvoke([AIMessage(tool_calls=calls)]))
    await asyncio.sleep(0.03)
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    done.set()
    assert time.monotonic() - began < CLEANUP_SECONDS + 5
    messages: list[ToolMessage] = vars(caught.value)["tool_messages"]
    assert [_kind(message) for message in messages] == ["cancelled", None]


def test_a_run_sets_the_time_of_its_calls_whatever_their_tools_say() -> None:
    @tool(timeout=1_000)
    async def hang() -> str:
        """Hang."""
        await asyncio.Event().wait()
        return "never"

    turn = AIMessage(tool_calls=[{"id": "c0", "name": "hang", "args": {}}])
    (answer,) = ToolNode([hang], clock=FakeClock()).invoke([turn], {"timeout": 7})
    assert str(answer.content).startswith("The tool did not answer within 7 seconds.")
    with pytest.raises(ToolCallError, match=r"within 0\.01 seconds"):
        hang.invoke({}, {"timeout": 0.01})
    with pytest.raises(OptionError, match="timeout"):
        hang.invoke({}, {"timeout": 0})


def test_the_deadline_counts_from_the_bodys_start() -> None:
    counted_from: list[float] = []
    ended: list[float] = []

    @tool(timeout=1_000, concurrency=1)
    def waits(ctx: ToolContext) -> str:
        """Note when its time began, and when it ended."""
        assert ctx.deadline is not None
        counted_from.append(ctx.deadline - 1_000)
        time.sleep(0.02)
        ended.append(time.monotonic())
        return "ok"

    _answers(ToolNode([waits]), "waits", "waits", "waits")
    assert all(later > end - 0.001 for end, later in zip(ended, counted_from[1:], strict=False))
    assert len(ended) == 3
