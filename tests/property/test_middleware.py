"""Any middlewares around any calls: each call has one answer, under its own id, in its place."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.turns import run_async, run_sync
from surehand import (
    AIMessage,
    ResultCache,
    SingleFlight,
    ToolException,
    ToolMessage,
    ToolNode,
    check_transcript,
    tool,
)
from surehand.concurrency import workers
from surehand.events import CallFinished, CallStarted
from surehand.testing import record_events


@tool(read_only=True)
def look(number: int) -> int:
    """Look."""
    return number


@tool
async def send(number: int) -> str:
    """Send."""
    await asyncio.sleep(0)
    return f"sent {number}"


@tool(retry=None)
def fail(number: int) -> None:
    """Fail."""
    raise ToolException("no") if number % 2 else ValueError("no")


def passing(request: Any, run: Any) -> Any:
    return run(request)


async def passing_async(request: Any, run: Any) -> Any:
    return await run(request)


def twice(request: Any, run: Any) -> Any:
    run(request)
    return run(request)


async def side_by_side(request: Any, run: Any) -> Any:
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(run(request))
        tasks.create_task(run(request))
    return first.result()


def forgetful(request: Any, run: Any) -> None:
    run(request)


def short_cut(request: Any, run: Any) -> Any:
    return {"number": request.arguments.number}


def breaking(request: Any, run: Any) -> Any:
    run(request)
    raise RuntimeError("boo")


async def cancelling(request: Any, run: Any) -> Any:
    raise asyncio.CancelledError


def changing(request: Any, run: Any) -> Any:
    return run(request.override(args={"number": request.arguments.number + 1}))


async def spoiling(request: Any, run: Any) -> Any:
    return await run(request.override(args={"number": "many"}))


def forging(request: Any, run: Any) -> Any:
    return ToolMessage("forged", tool_call_id="another", name="another")


def doubting(request: Any, run: Any) -> Any:
    return run(request).replace(status="error")


MIDDLEWARES = [
    passing,
    passing_async,
    twice,
    side_by_side,
    forgetful,
    short_cut,
    breaking,
    cancelling,
    changing,
    spoiling,
    forging,
    doubting,
]

stacks = st.lists(st.sampled_from([*MIDDLEWARES, ResultCache, SingleFlight]), max_size=4)
calls = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(["look", "send", "fail", "nothing", "Look "]),
            "args": st.sampled_from([{"number": 1}, {"number": 2}, {"number": "x"}, '{"number": 3}', "{number", None]),
        }
    ),
    min_size=1,
    max_size=6,
)


@pytest.mark.parametrize("run", [run_sync, run_async], ids=["sync", "async"])
@settings(max_examples=60, deadline=None)
@given(stack=stacks, calls=calls)
def test_each_call_is_answered_once_whatever_is_around_it(run: Any, stack: list[Any], calls: list[Any]) -> None:
    events, before = record_events(), workers().abandoned
    made = [each() if isinstance(each, type) else each for each in stack]
    node = ToolNode([look, send, fail], middleware=made, listener=events)
    message = AIMessage(tool_calls=[{"id": f"c{number}", **call} for number, call in enumerate(calls)])

    answers = run(node, [message])

    assert [answer.tool_call_id for answer in answers] == [f"c{number}" for number in range(len(calls))]
    assert all(answer.text and answer.outcome.status == answer.status for answer in answers)
    assert check_transcript([message, *answers]) == []
    for kind in (CallStarted, CallFinished):
        assert sorted(event.call_id for event in events.of(kind)) == [f"c{number}" for number in range(len(calls))]
    assert workers().abandoned <= before


@settings(max_examples=40, deadline=None)
@given(stack=stacks, calls=calls)
def test_what_nobody_handles_goes_up_with_all_answers(stack: list[Any], calls: list[Any]) -> None:
    made = [each() if isinstance(each, type) else each for each in stack]
    node = ToolNode([look, send, fail], middleware=made, handle_tool_errors=False)
    message = AIMessage(tool_calls=[{"id": f"c{number}", **call} for number, call in enumerate(calls)])
    try:
        answers = run_async(node, [message])
    except (ToolException, ValueError, RuntimeError, ExceptionGroup) as error:
        answers = vars(error)["tool_messages"]
    assert [answer.tool_call_id for answer in answers] == [f"c{number}" for number in range(len(calls))]
