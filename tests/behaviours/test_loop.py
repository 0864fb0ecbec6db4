"""LOOP: how the agent's loop begins, goes on and ends. HIST-01: what it does with a broken history."""

from __future__ import annotations

import time
from typing import Any

import pytest

from surehand import AIMessage, HumanMessage, ModelError, ToolMessage, check_transcript, create_agent, tool
from surehand.errors import ScriptExhausted
from surehand.testing import ScriptedModel


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(return_direct=True)
def lookup(key: str) -> str:
    """Look a key up."""
    if key == "none":
        raise ValueError("no such key")
    return f"value of {key}"


def asking(*calls: tuple[str, dict[str, Any]]) -> AIMessage:
    return AIMessage(
        tool_calls=[{"id": f"c{number}", "name": name, "args": args} for number, (name, args) in enumerate(calls)]
    )


ADD = ("add", {"a": 1, "b": 2})


def test_LOOP_03_a_futile_loop_ends_with_what_was_reached() -> None:
    calls = [{"id": f"c{number}", "name": "add", "args": {"a": number, "b": 2}} for number in range(5)]
    model = ScriptedModel([AIMessage(tool_calls=[call]) for call in calls])
    result = create_agent(model, [add], max_iterations=5).invoke("go")
    assert result["end_reason"] == "max_iterations"
    assert [message.text for message in result["messages"] if isinstance(message, ToolMessage)][:4] == list("2345")
    assert check_transcript(result["messages"]) == []


def test_LOOP_05_a_direct_result_ends_the_loop() -> None:
    result = create_agent(ScriptedModel([asking(("lookup", {"key": "k"}))]), [lookup]).invoke("go")
    assert result["messages"][-1].text == "value of k"


def test_LOOP_06_a_failed_direct_call_goes_back_to_the_model() -> None:
    model = ScriptedModel([asking(("lookup", {"key": "none"})), "There is none."])
    result = create_agent(model, [lookup]).invoke("go")
    assert result["messages"][-1].text == "There is none."


@pytest.mark.parametrize(
    "calls",
    [
        [("lookup", {"key": "k"}), ADD],
        [("lookup", {"key": "k"}), ("lookup", {"key": "none"})],
        [("lookup", {"key": "k"}), ("lookup", dict[str, str]())],
    ],
)
def test_LOOP_06_a_mixed_turn_ends_only_if_all_are_direct_and_all_succeeded(calls: Any) -> None:
    result = create_agent(ScriptedModel([asking(*calls), "done"]), [lookup, add]).invoke("go")
    assert result["messages"][-1].text == "done"


def test_LOOP_06_a_turn_of_direct_calls_that_all_succeeded_ends() -> None:
    calls = [("lookup", {"key": "k"}), ("lookup", {"key": "l"})]
    result = create_agent(ScriptedModel([asking(*calls)]), [lookup]).invoke("go")
    assert [message.text for message in result["messages"][-2:]] == ["value of k", "value of l"]


@pytest.mark.parametrize("choice", ["add", "required", "any"])
def test_LOOP_08_a_forced_choice_is_for_the_first_request_only(choice: str) -> None:
    model = ScriptedModel([asking(ADD), "3"])
    create_agent(model, [add], tool_choice=choice).invoke("go")
    assert model.requests[0].tool_choice is not None
    assert model.requests[1].tool_choice is None


def test_LOOP_12_bad_arguments_are_told_to_the_model_which_corrects_them() -> None:
    model = ScriptedModel([asking(("add", {"a": "one", "b": 2})), asking(ADD), "3"])
    result = create_agent(model, [add]).invoke("go")
    assert result["messages"][2].outcome.kind == "invalid_arguments"
    assert "one" in model.requests[1][-1].text
    assert result["messages"][-1].text == "3"


def test_LOOP_12_bad_arguments_are_told_even_where_errors_are_let_through() -> None:
    model = ScriptedModel([asking(("add", {"a": "one", "b": 2})), "sorry"])
    result = create_agent(model, [add], handle_tool_errors=False).invoke("go")
    assert result["messages"][-1].text == "sorry"


LOST = AIMessage("", response_metadata={"finish_reason": "MALFORMED_FUNCTION_CALL"})


def test_LOOP_14_a_reply_that_the_provider_lost_is_asked_for_again() -> None:
    model = ScriptedModel([LOST, asking(ADD), LOST, "3"])
    result = create_agent(model, [add]).invoke("go")
    assert [message.type for message in result["messages"]] == ["human", "ai", "tool", "ai"]
    assert result["end_reason"] == "answer"
    assert isinstance(model.requests[1][-1], HumanMessage)


def test_LOOP_14_asking_again_has_an_end_with_a_reason() -> None:
    model = ScriptedModel([LOST] * 10)
    result = create_agent(model, [add]).invoke("go")
    assert len(model.requests) == 3
    assert result["end_reason"] == "empty_reply"


def test_LOOP_14_asking_again_counts_as_a_model_call() -> None:
    model = ScriptedModel([LOST] * 10)
    create_agent(model, [add], max_iterations=2).invoke("go")
    assert len(model.requests) == 2


@pytest.mark.parametrize("reason", ["tool_calls", "length", "content_filter", "other"])
def test_LOOP_14_every_abnormal_end_without_a_reply_is_asked_again(reason: str) -> None:
    model = ScriptedModel([AIMessage("", response_metadata={"finish_reason": reason}), "here"])
    assert create_agent(model, [add]).invoke("go")["messages"][-1].text == "here"


def test_LOOP_15_a_model_that_fails_leaves_what_was_reached() -> None:
    down = ModelError(model="m", problem="it is down", remedy="Wait.")
    agent = create_agent(ScriptedModel([asking(ADD), asking(ADD), down]), [add])
    with pytest.raises(ModelError) as caught:
        agent.invoke("go")
    assert caught.value is down
    assert [message.type for message in down.state["messages"]] == ["human", "ai", "tool", "ai", "tool"]


def test_LOOP_15_any_exception_of_a_model_carries_the_state() -> None:
    agent = create_agent(ScriptedModel([asking(ADD)]), [add])
    with pytest.raises(ScriptExhausted) as caught:
        agent.invoke("go")
    state: Any = getattr(caught.value, "state", None)
    assert [message.type for message in state["messages"]] == ["human", "ai", "tool"]


def test_HIST_01_open_calls_of_a_loaded_history_are_closed_before_the_model_is_asked() -> None:
    history = [HumanMessage("a"), AIMessage(tool_calls=[{"id": "c1", "name": "add", "args": {}}]), HumanMessage("b")]
    model = ScriptedModel(["hello"])
    result = create_agent(model, [add]).invoke({"messages": history})
    assert [message.type for message in model.requests[0]] == ["human", "ai", "tool", "human"]
    assert [message.type for message in result["messages"]] == ["human", "ai", "tool", "human", "ai"]
    assert result["messages"][2].status == "error"
    assert check_transcript(result["messages"]) == []


def test_HIST_01_a_sound_history_stays_as_it_is() -> None:
    history = [HumanMessage("a", id="1"), AIMessage("b", id="2"), HumanMessage("c", id="3")]
    result = create_agent(ScriptedModel(["hello"]), [add]).invoke({"messages": history})
    assert result["messages"][:3] == history


def test_HIST_01_a_long_history_costs_little() -> None:
    history = [message for _ in range(500) for message in (HumanMessage("a"), AIMessage("b"))]
    started = time.perf_counter()
    create_agent(ScriptedModel(["hello"]), [add]).invoke({"messages": history})
    assert time.perf_counter() - started < 1
