"""P: what the articles warn of is impossible, or loud."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import pytest

from support.command import surehand
from support.pages import ROOT
from surehand import (
    END,
    START,
    AIMessage,
    GraphRecursionError,
    InjectedState,
    MessagesState,
    OptionError,
    StateGraph,
    ToolException,
    ToolMessage,
    ToolNode,
    create_agent,
    tool,
    tools_condition,
)
from surehand.testing import FunctionModel, ScriptedModel

SEND_EMAIL = '''
from surehand import tool


@tool
def send_email(to_address: str, subject: str, body: str | None) -> str:
    """Send an email.

    Args:
        to_address: Where to.
        subject: What about.
        body: The text; may be left out.
    """
    return "sent"
'''


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def call(name: str, *, id: str = "1", **args: Any) -> dict[str, Any]:
    return {"id": id, "name": name, "args": args}


def answers(tools: list[Any], *calls: dict[str, Any]) -> list[ToolMessage]:
    found: list[ToolMessage] = ToolNode(tools).invoke([AIMessage(tool_calls=calls)])
    return found


def always_adds(_: Any) -> AIMessage:
    """A model that never comes to an end."""
    return AIMessage(tool_calls=[call("add", id="", a=1, b=1)])


def test_P1_an_argument_that_may_be_left_out_without_a_default_is_pointed_out(tmp_path: Path) -> None:
    (tmp_path / "mail.py").write_text(SEND_EMAIL, encoding="utf-8")
    listing = " ".join(surehand("tools", str(tmp_path / "mail.py")).out.split())
    assert "'body' may be None but has no default" in listing
    assert "'subject'" not in listing


def test_P1_a_missing_argument_is_answered_by_name_and_nothing_runs() -> None:
    ran: list[str] = []

    @tool
    def send_email(subject: str, body: str) -> str:
        """Send an email."""
        ran.append(body)
        return "sent"

    [message] = answers([send_email], call("send_email", subject="Hello"))
    assert message.status == "error"
    assert "body" in message.text
    assert not ran


def test_P2_what_json_cannot_carry_is_serialised_and_lossy_steps_are_noted() -> None:
    @tool
    def report() -> dict[str, Any]:
        """Report."""
        return {
            "balance": Decimal("123.45"),
            "as_of": datetime(2024, 1, 15, tzinfo=UTC),
            "ratio": float("nan"),
            "by": object(),
        }

    [message] = answers([report], call("report"))
    assert message.status == "success"
    assert str(json.loads(message.text)["balance"]) == "123.45"
    assert message.outcome is not None
    assert message.outcome.notes


def test_P3_a_tool_cannot_write_the_state_it_is_shown() -> None:
    @tool
    def spoil(state: Annotated[Any, InjectedState()]) -> str:
        """Try to write the state."""
        state["last_search_results"] = ["x"]
        return "written"

    state: dict[str, Any] = {"messages": [AIMessage(tool_calls=[call("spoil")])], "topic": {"name": "x"}}
    [message] = ToolNode([spoil]).invoke(state)["messages"]
    assert message.status == "error"
    assert set(state) == {"messages", "topic"}


def test_P3_a_node_returns_messages_only() -> None:
    update = ToolNode([add]).invoke({"messages": [AIMessage(tool_calls=[call("add", a=1, b=2)])], "retry_count": 2})
    assert set(update) == {"messages"}


def test_P4_an_answer_has_the_id_of_its_call_even_if_the_tool_makes_its_own_message() -> None:
    @tool
    def stray() -> ToolMessage:
        """Answer with an id of its own."""
        return ToolMessage("result", tool_call_id="debug_id")

    messages = answers([stray, add], call("stray", id="a"), call("add", id="b", a=1, b=2), call("none", id="c"))
    assert [message.tool_call_id for message in messages] == ["a", "b", "c"]


def test_P5_the_documentation_says_when_a_function_is_better_than_a_tool() -> None:
    page = (ROOT / "docs" / "how-to" / "tool-or-function.md").read_text(encoding="utf-8")
    for said in ("FunctionNode", "Pure text logic", "plain function"):
        assert said in page
    assert "tool-or-function.md" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_P6_tools_that_are_bound_but_not_registered_are_reported_when_the_agent_is_built() -> None:
    @tool
    def forgotten() -> str:
        """Is bound to the model only."""
        return ""

    model = ScriptedModel(["hello"]).bind_tools([add, forgotten])
    with pytest.raises(OptionError, match="forgotten"):
        create_agent(model, [add])


@pytest.mark.parametrize(
    "error",
    [
        ValueError("bad"),
        KeyError("k"),
        ToolException("no"),
        TimeoutError(),
        RecursionError(),
        ExceptionGroup("g", [OSError("x")]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_P7_whatever_a_tool_raises_is_answered(error: Exception) -> None:
    @tool
    def fails() -> str:
        """Fail."""
        raise error

    messages = answers([fails, add], call("fails", id="a"), call("add", id="b", a=1, b=2))
    assert [(message.tool_call_id, message.status) for message in messages] == [("a", "error"), ("b", "success")]
    assert messages[0].text.strip()


def test_P8_an_agent_ends_at_its_limit_with_what_was_reached_and_a_reason() -> None:
    result = create_agent(FunctionModel(always_adds), [add], max_iterations=3).invoke({"messages": "Go."})
    assert result["end_reason"] == "max_iterations"
    calls = [c["id"] for message in result["messages"] if isinstance(message, AIMessage) for c in message.tool_calls]
    assert len(calls) == 3
    assert [message.tool_call_id for message in result["messages"] if isinstance(message, ToolMessage)] == calls


def test_P8_a_graph_ends_at_its_limit_with_the_state_it_reached() -> None:
    builder = StateGraph(MessagesState)
    builder.add_node("model", FunctionModel(always_adds).bind_tools([add]))
    builder.add_node("tools", ToolNode([add]))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition, {"tools": "tools", END: END})
    builder.add_edge("tools", "model")
    with pytest.raises(GraphRecursionError) as caught:
        builder.compile().invoke({"messages": "Go."}, {"recursion_limit": 6})
    assert caught.value.limit == 6
    assert len(caught.value.state["messages"]) == 7
