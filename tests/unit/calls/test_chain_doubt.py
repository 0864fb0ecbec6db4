"""Middlewares that do not wait for what they ran: what is told of the call, and what may be run again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any

import pytest

from support.liveness import comes_true
from surehand import (
    END,
    START,
    AIMessage,
    HumanMessage,
    InputError,
    MessagesState,
    RetryPolicy,
    StateGraph,
    ToolCallRequest,
    ToolException,
    ToolMessage,
    ToolNode,
    tool,
)
from surehand.calls import AsyncRun, Run
from surehand.calls.history import REPEATED, past_calls

ran: list[str] = []


class Bank:
    """Where a payment is begun, and takes until it may end."""

    def __init__(self) -> None:
        self.begun, self.may_end = asyncio.Event(), asyncio.Event()


bank = Bank()


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    global bank  # noqa: PLW0603 - an event belongs to one loop
    bank = Bank()
    ran.clear()


@tool
async def pay(to: str) -> str:
    """Pay."""
    ran.append(to)
    bank.begun.set()
    await bank.may_end.wait()
    return f"paid {to}"


async def in_no_time(running: Awaitable[ToolMessage]) -> ToolMessage:
    """What a time limit does that is over when the payment has begun."""
    task = asyncio.ensure_future(running)
    await bank.begun.wait()
    return await asyncio.wait_for(task, 0)


async def limited(request: ToolCallRequest, run: AsyncRun) -> ToolMessage:
    return await in_no_time(run(request))


async def limited_in_words(request: ToolCallRequest, run: AsyncRun) -> ToolMessage:
    try:
        return await in_no_time(run(request))
    except TimeoutError as error:
        raise ToolException("The bank is slow today.") from error


async def limited_with_an_answer(request: ToolCallRequest, run: AsyncRun) -> str:
    try:
        await in_no_time(run(request))
    except TimeoutError:
        return "No answer yet."
    return "Paid."


left: list[asyncio.Future[ToolMessage]] = []


async def impatient(request: ToolCallRequest, run: AsyncRun) -> ToolMessage:
    left[:] = [asyncio.ensure_future(run(request))]
    await bank.begun.wait()
    raise ToolException("The bank is slow today.")


async def side_by_side(request: ToolCallRequest, run: AsyncRun) -> ToolMessage:
    bank.may_end.set()
    return (await asyncio.gather(run(request), run(request)))[1]


async def twice(request: ToolCallRequest, run: AsyncRun) -> ToolMessage:
    bank.may_end.set()
    await run(request)
    return await run(request)


async def answering_the_second(request: ToolCallRequest, run: AsyncRun) -> Any:
    request.shared["asked"] = request.shared.get("asked", 0) + 1
    return await run(request) if request.shared["asked"] == 1 else "from elsewhere"


NOT_AWAITED: list[list[Any]] = [
    [limited],
    [limited_in_words],
    [limited_with_an_answer],
    [impatient],
    [side_by_side],
    [twice, answering_the_second],
]


def messages() -> list[Any]:
    return [HumanMessage("go"), AIMessage(tool_calls=[{"id": "c", "name": "pay", "args": {"to": "a"}}])]


async def nothing_runs() -> None:
    """Let everything end that was left running."""
    bank.may_end.set()
    await comes_true(lambda: asyncio.all_tasks() <= {asyncio.current_task()})


async def answered(middleware: list[Any]) -> ToolMessage:
    (answer,) = await ToolNode([pay], middleware=middleware).ainvoke(messages())
    await nothing_runs()
    assert isinstance(answer, ToolMessage)
    return answer


@pytest.mark.parametrize("middleware", NOT_AWAITED)
def test_a_call_that_was_begun_counts_as_made_whatever_became_of_its_answer(middleware: list[Any]) -> None:
    answer = asyncio.run(answered(middleware))
    (past,) = past_calls([*messages(), answer]).calls
    assert past.is_executed
    assert (answer.outcome is not None and answer.outcome.attempts, ran) == (1, ["a"])


@pytest.mark.parametrize("middleware", NOT_AWAITED)
def test_its_node_is_not_run_again(middleware: list[Any]) -> None:
    graph = StateGraph(MessagesState)
    node = ToolNode([pay], middleware=middleware, handle_tool_errors=False)
    graph.add_node("tools", node, retry=RetryPolicy(initial_interval=0.001, retry_on=Exception))
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)

    async def main() -> None:
        with suppress(TimeoutError, ToolException):
            await graph.compile().ainvoke({"messages": messages()})
        await nothing_runs()

    asyncio.run(main())
    assert ran == ["a"]


def test_the_model_is_told_that_it_may_have_happened() -> None:
    answer = asyncio.run(answered([limited]))
    assert answer.text.partition(" [")[0] == (
        "The call of 'pay' was broken off, and may have happened in part, because of a fault in the application, "
        "not in your arguments. Do not retry."
    )


@pytest.mark.parametrize("middleware", [[side_by_side], [twice, answering_the_second]])
def test_the_guard_knows_of_it_when_the_call_comes_again(middleware: list[Any]) -> None:
    conversation = [*messages(), asyncio.run(answered(middleware))]
    conversation.append(AIMessage(tool_calls=[{"id": "d", "name": "pay", "args": {"to": "a"}}]))
    (answer,) = ToolNode([pay]).invoke(conversation)
    assert answer.text.startswith(REPEATED)
    assert ran == ["a"]


def test_what_was_answered_without_a_run_is_told_as_not_run() -> None:
    def broken(request: ToolCallRequest, run: Run) -> ToolMessage:
        raise ValueError

    answer = asyncio.run(answered([broken]))
    assert answer.text.startswith("'pay' was not run because of a fault")
    assert (answer.outcome is not None and answer.outcome.attempts, ran) == (0, [])


def test_a_call_that_is_answered_is_not_run_any_more() -> None:
    late: list[asyncio.Future[ToolMessage]] = []

    async def later(request: ToolCallRequest, run: AsyncRun) -> str:
        late.append(asyncio.ensure_future(run(request)))
        return "not now"

    async def main() -> None:
        answer = await answered([later])
        assert answer.text == "not now"
        with pytest.raises(InputError, match="ran a call that it had answered"):
            await late[0]

    asyncio.run(main())
    assert ran == []
