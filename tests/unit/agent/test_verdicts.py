"""Why a run ends: results that are the answer, and calls that nobody could read."""

from __future__ import annotations

from typing import Any

import pytest

from support.agents import add, asking, call, kinds, outcomes
from surehand import (
    AIMessage,
    Command,
    HumanMessage,
    Limits,
    MessagesState,
    ResultCache,
    StateGraph,
    ToolException,
    ToolNode,
    create_agent,
    tool,
)
from surehand.control import END, START
from surehand.testing import ScriptedModel


@tool(return_direct=True, read_only=True)
def lookup(key: str) -> str:
    """Look a key up."""
    if key == "none":
        raise ToolException("There is no such key.")
    return f"value of {key}"


OK = call("lookup", "d1", key="a")
OTHER = call("lookup", "d2", key="b")


def ended(*calls: dict[str, Any], **options: Any) -> tuple[Any, list[str | None], list[str]]:
    """Why a run ends whose first turn makes these calls and whose second is words; how the calls end; what was said."""
    model = ScriptedModel([asking(*calls), "Words."])
    result = create_agent(model, [add, lookup], **options).invoke("go")
    return result["end_reason"], outcomes(result), kinds(result)


def test_a_direct_result_is_the_answer() -> None:
    assert ended(OK) == ("return_direct", [None], ["human", "ai", "tool"])


def test_several_direct_results_are_the_answer_together() -> None:
    assert ended(OK, OTHER) == ("return_direct", [None, None], ["human", "ai", "tool", "tool"])


@pytest.mark.parametrize(
    ("calls", "outcome"),
    [
        ([call("lookup", "d1", key="none")], ["tool_error"]),
        ([OK, call("lookup", "d2", key="none")], [None, "tool_error"]),
        ([OK, call()], [None, None]),
        ([OK, call("nosuch", "c2", x=1)], [None, "unknown_tool"]),
        ([call("lookup", "d1", nokey="a")], ["invalid_arguments"]),
        ([{"id": "d1", "name": "lookup", "args": '{"key": "a'}], ["malformed"]),
    ],
    ids=["failed", "one of two failed", "with an ordinary one", "with an unknown name", "invalid", "cut off"],
)
def test_any_other_turn_with_direct_calls_goes_back_to_the_model(
    calls: list[dict[str, Any]], outcome: list[str | None]
) -> None:
    reason, found, said = ended(*calls)
    assert (reason, found, said[-1]) == ("answer", outcome, "ai")


def test_a_direct_result_from_a_cache_is_the_answer() -> None:
    agent = create_agent(ScriptedModel([asking(OK), asking(OK)]), [lookup], middleware=[ResultCache()])
    results = [agent.invoke("go") for _ in range(2)]
    assert [result["end_reason"] for result in results] == ["return_direct"] * 2
    assert results[1]["messages"][-1].outcome.attempts == 0


def test_a_direct_call_that_a_guard_refuses_goes_back_to_the_model() -> None:
    reason, found, said = ended(OK, OTHER, limits=Limits(calls=1))
    assert (reason, found, said[-1]) == ("max_calls", [None, "limit"], "ai")


def test_a_direct_call_by_a_name_that_is_nearly_right_is_the_answer() -> None:
    assert ended({**OK, "name": "functions.lookup"})[0] == "return_direct"


def test_nothing_to_answer_is_no_direct_result() -> None:
    node = ToolNode([lookup])
    result = create_agent(ScriptedModel(["Words."]), node).invoke([HumanMessage("hi"), AIMessage("hello")])
    assert result["end_reason"] == "answer"


def test_a_turn_of_nothing_but_unreadable_calls_is_answered_and_goes_on() -> None:
    unreadable = {"type": "invalid_tool_call", "id": "i1", "name": "add", "args": '{"a": 1', "error": "cut off"}
    model = ScriptedModel([AIMessage(tool_calls=[unreadable]), asking(call(call_id="c2")), "5"])
    result = create_agent(model, [add]).invoke("go")
    assert (result["end_reason"], outcomes(result)) == ("answer", ["malformed", None])


# What tools ask of the graph


@tool
def note(text: str) -> Any:
    """Note something."""
    return Command(update={"messages": [HumanMessage(f"(note: {text})")]})


@tool
def hand_off() -> Any:
    """Hand over."""
    return Command(graph=Command.PARENT, goto="other", update={"messages": [HumanMessage("Yours.")]})


def test_a_tools_command_writes_besides_its_answer() -> None:
    node = ToolNode([note], commands=True)
    result = create_agent(ScriptedModel([asking(call("note", text="x")), "ok"]), node).invoke("go")
    assert [message.type for message in result["messages"]] == ["human", "ai", "tool", "human", "ai"]


def test_a_tools_command_leads_the_graph_around_the_agent() -> None:
    agent = create_agent(ScriptedModel([asking(call("hand_off"))]), ToolNode([hand_off], commands=True))
    graph = StateGraph(MessagesState)
    graph.add_node("first", agent, destinations=["other"])
    graph.add_node("other", lambda state: {"messages": [AIMessage("Mine now.")]})
    graph.add_edge(START, "first")
    graph.add_edge("other", END)
    result = graph.compile().invoke("go")
    assert [message.text for message in result["messages"]][-2:] == ["Yours.", "Mine now."]
