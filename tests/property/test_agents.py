"""Agents under random scripts: hooks that do nothing change nothing, and whatever hooks do, no call stays open."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from surehand import (
    AgentMiddleware,
    AIMessage,
    HumanMessage,
    Limits,
    NodeError,
    ToolException,
    ToolMessage,
    check_transcript,
    create_agent,
    tool,
)
from surehand.agent import Agent
from surehand.testing import FunctionModel


@tool(repeat_guard=False)
async def work(number: int) -> str:
    """Work."""
    if number == 0:
        raise ToolException("There is nothing to do.")
    return f"worked {number}"


@tool(return_direct=True, repeat_guard=False)
async def direct(number: int) -> str:
    """Answer."""
    if number == 0:
        raise ToolException("There is no answer.")
    return f"answer {number}"


class Answer(BaseModel):
    """The answer."""

    value: int


def wanted(name: str, number: Any) -> dict[str, Any]:
    """A call."""
    return {"name": name, "args": {"value" if name == "Answer" else "number": number}}


def calling(calls: list[dict[str, Any]]) -> AIMessage:
    """A reply with these calls."""
    return AIMessage(tool_calls=calls)


def silent(reason: str) -> AIMessage:
    """A reply without a word."""
    return AIMessage("", response_metadata={"finish_reason": reason})


CALLS = st.builds(wanted, st.sampled_from(["work", "direct", "Answer", "nosuch"]), st.sampled_from([0, 1, 2, "x"]))
WORDS = ("It is done.", '{"value": 3}', '{"name": "work", "arguments": {"number": 1}}')
REPLIES = st.one_of(
    st.lists(CALLS, min_size=1, max_size=3).map(calling),
    st.sampled_from(WORDS).map(AIMessage),
    st.sampled_from(["other", "length", "stop"]).map(silent),
)
SCRIPTS = st.lists(REPLIES, max_size=6)


class Idle(AgentMiddleware[Any]):
    """Has every hook, and changes nothing."""

    async def before_agent(self, state: Any, runtime: Any) -> None:
        """Do nothing."""

    async def before_model(self, state: Any, runtime: Any) -> None:
        """Do nothing."""

    async def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return await handler(request)

    async def after_model(self, state: Any, runtime: Any) -> None:
        """Do nothing."""

    async def after_agent(self, state: Any, runtime: Any) -> None:
        """Do nothing."""


def agent(script: list[AIMessage], **options: Any) -> Agent:
    """An agent whose model follows a script, and then has said all."""
    left = iter(script)
    return create_agent(
        FunctionModel(lambda messages: next(left, AIMessage("That is all."))),
        [work, direct],
        max_iterations=5,
        **options,
    )


def told(result: dict[str, Any]) -> list[Any]:
    """What can be compared of a result: no ids of calls and messages, which are random."""
    rows = [
        (m.type, m.text, len(m.tool_calls) if isinstance(m, AIMessage) else m.outcome and m.outcome.kind)
        for m in result["messages"]
        if isinstance(m, AIMessage | ToolMessage)
    ]
    return [*rows, result["end_reason"], result.get("structured_response")]


@settings(max_examples=60)
@given(SCRIPTS, st.sampled_from([None, Answer]), st.sampled_from([None, Limits(calls=2), Limits(corrections=1)]))
def test_hooks_that_do_nothing_change_nothing(script: list[AIMessage], form: Any, limits: Limits | None) -> None:
    options: dict[str, Any] = {"response_format": form, "limits": limits}
    plain = agent(script, **options).invoke("go")
    hooked = agent(script, **options, middleware=[Idle()]).invoke("go")
    assert told(hooked) == told(plain)
    assert check_transcript(plain["messages"]) == []


MOVES = st.sampled_from(["on", "end", "model", "tools", "say", "say and go on", "take back", "make calls"])


def moved(move: str, messages: list[Any]) -> dict[str, Any] | None:
    """What a hook does of its own accord."""
    newest = messages[-1]
    match move:
        case "end" | "model" | "tools":
            return {"jump_to": move}
        case "say":
            return {"messages": [HumanMessage("And?")], "jump_to": "model"}
        case "say and go on":
            return {"messages": [HumanMessage("And?")]}
        case "take back" if isinstance(newest, AIMessage):
            return {"messages": [newest.replace(tool_calls=[])]}
        case "make calls" if not isinstance(newest, AIMessage):
            return {"messages": [AIMessage(tool_calls=[{"name": "work", "args": {"number": 1}}])], "jump_to": "tools"}
        case _:
            return None


class Restless(AgentMiddleware[Any]):
    """Does something else at each step."""

    def __init__(self, moves: list[str]) -> None:
        self.moves = iter(moves)

    def move(self, state: Any) -> dict[str, Any] | None:
        return moved(next(self.moves, "on"), state["messages"])

    async def before_agent(self, state: Any, runtime: Any) -> Any:
        return self.move(state)

    async def before_model(self, state: Any, runtime: Any) -> Any:
        return self.move(state)

    async def after_model(self, state: Any, runtime: Any) -> Any:
        return self.move(state)

    async def after_agent(self, state: Any, runtime: Any) -> Any:
        return self.move(state)


@settings(max_examples=60)
@given(SCRIPTS, st.lists(MOVES, max_size=12), st.sampled_from([None, Answer]))
def test_whatever_hooks_do_a_run_ends_with_a_reason_and_without_an_open_call(
    script: list[AIMessage], moves: list[str], form: Any
) -> None:
    try:
        result = agent(script, response_format=form, middleware=[Restless(moves), Idle()]).invoke("go")
    except NodeError as error:
        assert "it leads to" in str(error) or "it leaves" in str(error)  # noqa: PT017 - what a hook may not do is an error, and said so
        return
    assert result["end_reason"] is not None
    assert check_transcript(result["messages"]) == []
