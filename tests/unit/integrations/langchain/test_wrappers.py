"""LangGraph's wrappers around the calls of our node."""

# LangChain's own types are partly unknown.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

import asyncio
import threading
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool as their_tool
from langgraph.prebuilt import InjectedState, ToolRuntime
from langgraph.types import Command

from support.langgraphs import asking, call, texts
from surehand.integrations.langchain.nodes import ToolNode

ran: list[Any] = []


@pytest.fixture(autouse=True)
def _forget() -> None:
    ran.clear()


@their_tool
def pay(amount: int) -> str:
    """Pay."""
    ran.append(amount)
    if amount == 13:
        raise RuntimeError("unlucky")
    return f"paid {amount}"


PAY = call("pay", amount=1)


def both_ways(wrap: Any, given: Any, tools: Any = (pay,), **options: Any) -> list[Any]:
    """What a synchronous wrapper makes of a turn from synchronous and from asynchronous code."""
    node = ToolNode(list(tools), wrap_tool_call=wrap, **options)
    return [node.invoke(given), asyncio.run(node.ainvoke(given))]


def test_a_wrapper_sees_the_call_and_hands_on_its_answer() -> None:
    seen: list[Any] = []

    def wrap(request: Any, execute: Any) -> Any:
        seen.append(
            (request.tool_call, request.tool.name, len(request.state["messages"]), request.runtime.tool_call_id)
        )
        return execute(request)

    for found in both_ways(wrap, asking(PAY)):
        assert texts(found) == ["paid 1"]
    assert seen == [(PAY, "pay", 1, "1")] * 2


def test_changed_arguments_are_checked_like_any() -> None:
    def double(request: Any, execute: Any) -> Any:
        args = {"amount": "x" if request.tool_call["args"]["amount"] == 9 else 2}
        return execute(request.override(tool_call={**request.tool_call, "args": args}))

    for found in both_ways(double, asking(PAY, call("pay", "2", amount=9))):
        assert texts(found)[0] == "paid 2"
        assert "Invalid arguments" in texts(found)[1]


def test_a_second_run_of_what_may_have_happened_is_refused() -> None:
    def insist(request: Any, execute: Any) -> Any:
        execute(request)
        return execute(request)

    for found in both_ways(insist, asking(PAY)):
        assert "was not run again" in texts(found)[0]
    assert ran == [1, 1]


def test_a_tool_that_may_run_twice_is_run_again() -> None:
    def insist(request: Any, execute: Any) -> Any:
        execute(request)
        return execute(request)

    both_ways(insist, asking(PAY), idempotent=True)
    both_ways(insist, asking(PAY), compat="langgraph")
    assert ran == [1] * 8


def test_a_wrapper_may_bring_the_tool_of_a_call() -> None:
    @their_tool
    def extra(n: int, runtime: ToolRuntime) -> str:
        """Extra."""
        return f"extra {n} {runtime.tool_call_id}"

    def bring(request: Any, execute: Any) -> Any:
        return execute(request.override(tool=extra) if request.tool is None else request)

    for found in both_ways(bring, asking(call("extra", n="1"))):
        assert texts(found) == ["extra 1 1"]
    assert texts(ToolNode([], wrap_tool_call=bring).invoke(asking(call("extra", n=1)))) == ["extra 1 1"]


def test_a_name_that_nobody_has_is_answered_after_the_wrapper() -> None:
    for found in both_ways(lambda request, execute: execute(request), asking(call("pya", amount=1))):
        assert "Did you mean 'pay'" in texts(found)[0]


def test_a_wrapper_may_change_the_state_that_the_tool_sees() -> None:
    @their_tool
    def note(note: Annotated[str, InjectedState("note")], runtime: ToolRuntime) -> str:
        """Note."""
        return f"{note} {runtime.state['note']}"

    def change(request: Any, execute: Any) -> Any:
        return execute(request.override(state={**request.state, "note": "new"}))

    for found in both_ways(change, {**asking(call("note")), "note": "old"}, [note]):
        assert texts(found) == ["new new"]


def test_what_a_wrapper_returns_is_the_answer() -> None:
    made = {
        "message": ToolMessage("cached", tool_call_id="somebody's"),
        "command": Command(goto="there"),
        "value": {"a": 1},
    }

    def short(request: Any, execute: Any) -> Any:
        del execute
        return made[request.tool_call["args"]["amount"]]

    for found in both_ways(short, asking(call("pay", amount="message"))):
        assert (texts(found), found["messages"][0].tool_call_id, found["messages"][0].name) == (["cached"], "1", "pay")
    for found in both_ways(short, asking(call("pay", amount="value"))):
        assert texts(found) == ['{"a": 1}']
    for _, command in both_ways(short, asking(call("pay", amount="command"))):
        assert command.goto == "there"
    assert ran == []


def test_a_changed_copy_of_the_answer_keeps_what_is_known_of_the_call() -> None:
    def trim(request: Any, execute: Any) -> Any:
        return execute(request).model_copy(update={"content": "short"})

    for found in both_ways(trim, asking(PAY)):
        (message,) = found["messages"]
        assert message.content == "short"
        assert message.response_metadata["surehand"]["attempts"] == 1


def test_a_wrapper_that_forgets_to_answer_costs_no_answer() -> None:
    for found in both_ways(lambda request, execute: execute(request) and None, asking(PAY)):
        assert texts(found) == ["paid 1"]
    for found in both_ways(lambda request, execute: None, asking(PAY)):
        assert found["messages"][0].response_metadata["surehand"]["kind"] == "internal"


def test_what_a_wrapper_raises_is_a_fault_of_the_application() -> None:
    def fail(request: Any, execute: Any) -> Any:
        raise OSError(f"{request.tool_call['name']} {execute}")

    for found in both_ways(fail, asking(PAY)):
        assert "fault in the application" in texts(found)[0]


def test_a_wrapper_hears_of_what_is_let_out_and_may_answer_it() -> None:
    def rescue(request: Any, execute: Any) -> Any:
        try:
            return execute(request)
        except RuntimeError as error:
            return ToolMessage(f"rescued: {error}", tool_call_id=request.tool_call["id"])

    for found in both_ways(rescue, asking(call("pay", amount=13)), handle_tool_errors=False):
        assert texts(found) == ["rescued: unlucky"]
    with pytest.raises(RuntimeError, match="unlucky"):
        both_ways(lambda request, execute: execute(request), asking(call("pay", amount=13)), handle_tool_errors=False)


def test_an_asynchronous_wrapper_is_used_from_synchronous_code_too() -> None:
    seen: list[str] = []

    async def wrap(request: Any, execute: Any) -> Any:
        await asyncio.sleep(0)
        seen.append(request.tool_call["id"])
        return await execute(request)

    node = ToolNode([pay], awrap_tool_call=wrap)
    assert texts(node.invoke(asking(PAY))) == texts(asyncio.run(node.ainvoke(asking(PAY)))) == ["paid 1"]
    assert seen == ["1", "1"]


def test_a_synchronous_wrapper_does_not_block_the_loop() -> None:
    meeting = threading.Barrier(3, timeout=10)

    def wrap(request: Any, execute: Any) -> Any:
        meeting.wait()  # passes only where all three are inside at the same time
        return execute(request)

    @their_tool
    async def later(n: int) -> int:
        """Later."""
        await asyncio.sleep(0)
        return n

    node = ToolNode([later], wrap_tool_call=wrap)
    calls = [call("later", str(n), n=n) for n in range(3)]
    assert texts(asyncio.run(node.ainvoke(asking(*calls)))) == ["0", "1", "2"]


def test_in_compatible_nodes_what_a_wrapper_returns_is_handed_on_as_it_is() -> None:
    node = ToolNode([pay], wrap_tool_call=lambda request, execute: None, compat="langgraph")
    assert node.invoke({"messages": [AIMessage("", tool_calls=[PAY])]}) == {"messages": [None]}
