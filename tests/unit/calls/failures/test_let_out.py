"""What a call lets out is tried again only where nothing happens twice by it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from support.liveness import comes_true
from surehand import (
    END,
    START,
    AIMessage,
    HumanMessage,
    MemoryJournal,
    MessagesState,
    RetryPolicy,
    StateGraph,
    ToolException,
    ToolNode,
    tool,
)

AGAIN = RetryPolicy(max_attempts=3, initial_interval=0.001, jitter=False)
ran: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


@dataclass(frozen=True)
class Declined(Exception):
    """Refuses to be assigned to."""

    code: int = 51


class Unhelpful(Exception):
    """Refuses to be assigned to, in another way."""

    def __setattr__(self, name: str, value: object) -> None:
        raise TypeError(name)


@tool
def pay() -> str:
    """Pay."""
    ran.append("pay")
    return "paid"


@tool
async def pay_slowly() -> str:
    """Pay, and wait."""
    ran.append("pay")
    await asyncio.Event().wait()
    return "paid"


def failing(error: Exception, **options: Any) -> Any:
    @tool("fail", **options)
    async def fail() -> str:
        """Fail, when what was paid is paid."""
        await comes_true(lambda: "pay" in ran)
        await asyncio.sleep(0.01)
        ran.append("fail")
        raise error

    return fail


def run(node: ToolNode, *names: str) -> Any:
    """The state after a graph whose node of tools is run again when it fails."""
    graph = StateGraph(MessagesState)
    graph.add_node("tools", node, retry=RetryPolicy(max_attempts=3, initial_interval=0.001, retry_on=Exception))
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    calls: list[dict[str, Any]] = [{"id": f"c{place}", "name": name, "args": {}} for place, name in enumerate(names)]
    return graph.compile().invoke({"messages": [HumanMessage("go"), AIMessage(tool_calls=calls)]})


@pytest.mark.parametrize("error", [Declined(), Unhelpful("no"), ValueError("no")])
def test_a_node_is_not_run_again_whatever_the_exception_wants_to_carry(error: Exception) -> None:
    with pytest.raises(type(error)) as caught:
        run(ToolNode([pay, failing(error)], handle_tool_errors=False), "pay", "fail")
    assert ran == ["pay", "fail"]
    assert [message.text for message in caught.value.tool_messages][:1] == ["paid"]  # type: ignore[attr-defined]


def test_a_call_that_a_fatal_exception_cut_off_keeps_its_node_from_running_again() -> None:
    busy = ToolException("busy", retryable=True)
    with pytest.raises(ToolException):
        run(ToolNode([pay_slowly, failing(busy, retry=None)], fatal=ToolException), "pay_slowly", "fail")
    assert ran == ["pay", "fail"]


@pytest.mark.parametrize("options", [{"read_only": True}, {"idempotent": True}, {}])
def test_beside_a_journal_only_what_failed_is_run_again(options: dict[str, Any]) -> None:
    busy = ToolException("busy", retryable=True)
    node = ToolNode([pay, failing(busy, retry=None, **options)], handle_tool_errors=False, journal=MemoryJournal())
    with pytest.raises(ToolException):
        run(node, "pay", "fail")
    assert ran == ["pay", "fail", "fail", "fail"]


def test_beside_a_journal_a_failure_that_may_have_happened_goes_up_at_once() -> None:
    node = ToolNode([pay, failing(ValueError("no"))], handle_tool_errors=False, journal=MemoryJournal())
    with pytest.raises(ValueError, match="no"):
        run(node, "pay", "fail")
    assert ran == ["pay", "fail"]


# What comes out of another call that a body made


@tool(retry=None)
def tell() -> str:
    """Tell somebody."""
    raise ToolException("busy", retryable=True)


TURN = AIMessage(tool_calls=[{"id": "a", "name": "pay", "args": {}}, {"id": "b", "name": "tell", "args": {}}])


async def in_a_group() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(tell.ainvoke({}))


INNER: list[Callable[[], Any]] = [
    lambda: tell.invoke({}),
    lambda: tell.invoke({"type": "tool_call", "id": "x", "name": "tell", "args": {}}),
    lambda: ToolNode([pay, tell], handle_tool_errors=False).invoke([TURN]),
    lambda: asyncio.run(in_a_group()),
]


@pytest.mark.parametrize("inner", INNER)
def test_the_word_that_nothing_happened_holds_for_the_call_that_it_came_out_of(inner: Callable[[], Any]) -> None:
    @tool(retry=AGAIN)
    def settle() -> str:
        """Pay, and tell somebody."""
        ran.append("settle")
        inner()
        return "settled"

    (answer,) = ToolNode([settle]).invoke([AIMessage(tool_calls=[{"id": "c", "name": "settle", "args": {}}])])
    assert ran.count("settle") == 1
    assert (answer.outcome.attempts, answer.outcome.retryable) == (1, False)
    assert answer.text.startswith("busy")


def test_a_tool_is_another_one_than_that_which_it_wraps_under_its_name() -> None:
    @tool("tell", retry=AGAIN)
    def wrapped() -> str:
        """Pay, and tell somebody."""
        ran.append("pay")
        return str(tell.invoke({}))

    ToolNode([wrapped]).invoke([AIMessage(tool_calls=[{"id": "c", "name": "tell", "args": {}}])])
    assert ran == ["pay"]


def test_an_author_may_give_his_own_word() -> None:
    @tool(retry=AGAIN)
    def look_and_tell() -> str:
        """Look something up, and tell somebody."""
        ran.append("look")
        try:
            return str(tell.invoke({}))
        except ToolException as error:
            raise ToolException("nobody was told", retryable=True) from error

    ToolNode([look_and_tell]).invoke([AIMessage(tool_calls=[{"id": "c", "name": "look_and_tell", "args": {}}])])
    assert ran == ["look"] * 3


def test_a_tool_that_may_run_twice_is_retried_over_another_that_is_busy() -> None:
    @tool(retry=AGAIN, idempotent=True)
    def settle() -> str:
        """Tell somebody."""
        ran.append("settle")
        return str(tell.invoke({}))

    ToolNode([settle]).invoke([AIMessage(tool_calls=[{"id": "c", "name": "settle", "args": {}}])])
    assert ran == ["settle"] * 3
