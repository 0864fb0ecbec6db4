"""A1, A4: the loop with what may stand around it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from support.agents import add, asking, call, kinds, outcomes
from surehand import AgentMiddleware, MemorySaver, create_agent
from surehand.testing import FunctionModel, ScriptedModel


class Idle(AgentMiddleware[Any]):
    """Has every hook, and changes nothing."""

    async def before_agent(self, state: Any, runtime: Any) -> None:
        """Do nothing."""

    def before_model(self, state: Any, runtime: Any) -> None:
        """Do nothing."""

    async def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return await handler(request)

    def after_model(self, state: Any, runtime: Any) -> None:
        """Do nothing."""

    async def wrap_tool_call(self, request: Any, run: Any) -> Any:
        return await run(request)

    def after_agent(self, state: Any, runtime: Any) -> None:
        """Do nothing."""


def test_A1_with_middlewares_around_it_the_loop_comes_to_the_same() -> None:
    replies: list[Any] = [asking(), asking(call(call_id="c2", a=5, b=5)), "10"]
    plain = create_agent(ScriptedModel(replies), [add]).invoke("2 + 3 + 5?")
    wrapped = create_agent(ScriptedModel(replies), [add], middleware=[Idle()]).invoke("2 + 3 + 5?")
    assert kinds(wrapped) == kinds(plain)
    assert [message.text for message in wrapped["messages"]] == [message.text for message in plain["messages"]]
    assert wrapped["end_reason"] == plain["end_reason"]


def test_A1_with_middlewares_around_it_25_model_calls_are_the_limit() -> None:
    model = FunctionModel(lambda messages: asking(call(call_id=f"c{len(messages)}", a=len(messages), b=1)))
    result = create_agent(model, [add], middleware=[Idle()]).invoke({"messages": "go"})
    assert (kinds(result).count("ai"), result["end_reason"]) == (25, "max_iterations")
    assert outcomes(result)[-1] == "limit"


def test_A1_a_kept_agent_counts_25_model_calls_for_each_input() -> None:
    model = FunctionModel(lambda messages: asking(call(call_id=f"c{len(messages)}", a=len(messages), b=1)))
    agent = create_agent(model, [add], checkpointer=MemorySaver())
    thread: Any = {"configurable": {"thread_id": "t"}}
    results = [agent.invoke("go", thread) for _ in range(2)]
    assert [kinds(result).count("ai") for result in results] == [25, 50]


def test_A4_an_answer_that_does_not_fit_is_told_and_can_be_corrected() -> None:
    class Sum(BaseModel):
        value: int

    model = ScriptedModel([asking(call("Sum", value="many")), asking(call("Sum", "c2", value=5))])
    result = create_agent(model, [add], response_format=Sum).invoke("2 + 3?")
    assert "$.value: expected an integer" in model.requests[1][-1].text
    assert result["structured_response"] == Sum(value=5)
