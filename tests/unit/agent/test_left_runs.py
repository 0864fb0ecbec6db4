"""A conversation that goes on without the run it was in: what happened to its calls is told as it is."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from surehand import (
    AIMessage,
    Command,
    FailureKind,
    MemorySaver,
    RunConfig,
    ToolContext,
    ToolMessage,
    create_agent,
    tool,
)
from surehand.messages import Message, check_transcript
from surehand.testing import FunctionModel

CONFIG: RunConfig = {"configurable": {"thread_id": "t"}}

both_doors = pytest.mark.parametrize("door", ["sync", "async"])


@both_doors
def test_calls_that_ended_keep_their_results_and_those_that_asked_are_not_executed(door: str) -> None:
    done: list[str] = []

    @tool
    def charge(card: str) -> str:
        """Charge a card."""
        done.append(card)
        return f"charged {card}"

    @tool(requires_approval=True)
    def refund(card: str) -> str:
        """Refund a card."""
        done.append(f"refunded {card}")
        return "refunded"

    @tool
    def rename(card: str, ctx: ToolContext) -> str:
        """Rename a card."""
        return f"renamed to {ctx.interrupt('What is the name?')}"

    def reply(messages: list[Message]) -> AIMessage:
        if any(message.type == "tool" for message in messages):
            return AIMessage("I see.")
        calls = [("1", "charge"), ("2", "refund"), ("3", "rename")]
        return AIMessage(tool_calls=[{"id": id, "name": name, "args": {"card": "c"}} for id, name in calls])

    agent = create_agent(FunctionModel(reply), [charge, refund, rename], checkpointer=MemorySaver())

    def run(given: Any) -> dict[str, Any]:
        return agent.invoke(given, CONFIG) if door == "sync" else asyncio.run(agent.ainvoke(given, CONFIG))

    assert len(run({"messages": "Do it."})["__interrupt__"]) == 2
    messages = run({"messages": "Never mind. What did you do?"})["messages"]
    assert check_transcript(messages) == []
    charged, refunded, renamed = (message for message in messages if isinstance(message, ToolMessage))
    assert (charged.tool_call_id, charged.status, charged.text) == ("1", "success", "charged c")
    for left in (refunded, renamed):
        assert left.outcome is not None
        assert left.outcome.kind is FailureKind.SKIPPED
        assert left.text == "The call was not executed: the conversation went on without it."
    assert done == ["c"]
    assert [message.type for message in messages] == ["human", "ai", "tool", "tool", "tool", "human", "ai"]


def test_a_question_that_was_left_can_no_longer_be_answered() -> None:
    @tool
    def ask(card: str, ctx: ToolContext) -> str:
        """Ask."""
        return str(ctx.interrupt("Really?"))

    def reply(messages: list[Message]) -> AIMessage:
        if messages[-1].type == "human" and messages[-1].text == "Ask.":
            return AIMessage(tool_calls=[{"id": "1", "name": "ask", "args": {"card": "c"}}])
        return AIMessage("I see.")

    agent = create_agent(FunctionModel(reply), [ask], checkpointer=MemorySaver())
    (question,) = agent.invoke({"messages": "Ask."}, CONFIG)["__interrupt__"]
    agent.invoke({"messages": "Never mind."}, CONFIG)
    with pytest.raises(ValueError, match="waits for no answer"):
        agent.invoke(Command(resume={question.id: True}), CONFIG)
