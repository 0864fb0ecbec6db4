"""PARSE-01, -02, -04, -05, -16, -20: replies whose calls cannot be taken as they are, seen from node and agent."""

from __future__ import annotations

from typing import Any

import pytest

from surehand import AIMessage, ToolMessage, ToolNode, create_agent, tool
from surehand.testing import ScriptedModel

runs: list[dict[str, Any]] = []


@tool
def write(path: str, text: str = "") -> str:
    """Write a file."""
    runs.append({"path": path, "text": text})
    return "written"


@pytest.fixture(autouse=True)
def no_runs() -> None:
    runs.clear()


def asking(args: Any, **options: Any) -> AIMessage:
    return AIMessage(tool_calls=[{"id": "c1", "name": "write", "args": args}], **options)


def test_PARSE_01_a_call_that_cannot_be_read_is_answered_and_the_loop_goes_on() -> None:
    model = ScriptedModel([asking('{"path": "abc'), asking({"path": "a"}), "done"])
    result = create_agent(model, [write]).invoke("go")
    assert result["messages"][2].outcome.kind == "malformed"
    assert result["messages"][2].tool_call_id == "c1"
    assert result["messages"][-1].text == "done"
    assert runs == [{"path": "a", "text": ""}]


def test_PARSE_01_a_model_that_never_learns_is_stopped() -> None:
    model = ScriptedModel([asking('{"path": "abc') for _ in range(10)])
    result = create_agent(model, [write], max_iterations=3).invoke("go")
    assert result["end_reason"] == "max_iterations"
    assert runs == []


@tool
def report(city: str = "Paris", days: int = 1) -> str:
    """Tell the weather."""
    runs.append({"city": city, "days": days})
    return "told"


def answered(name: str, args: Any) -> ToolMessage:
    asked = AIMessage(tool_calls=[{"id": "c1", "name": name, "args": args}])
    answers: list[ToolMessage] = ToolNode([write, report]).invoke([asked])
    return answers[0]


@pytest.mark.parametrize("raw", ['{"city": "Par', "{city: Rome", '{"city": "Rome", "days": 1', "Rome"])
def test_PARSE_02_a_tool_that_could_live_without_arguments_is_not_run_on_what_cannot_be_read(raw: str) -> None:
    answer = answered("report", raw)
    assert (answer.status, answer.tool_call_id, runs) == ("error", "c1", [])


@pytest.mark.parametrize("raw", ["[1,2]", '"abc"', "3", "true", [1, 2], 3])
def test_PARSE_04_json_that_is_no_object_is_an_answer_and_no_exception(raw: object) -> None:
    answer = answered("report", raw)
    assert "they must be an object, got a" in answer.text
    assert (answer.status, runs) == ("error", [])


@pytest.mark.parametrize("raw", ["", "   ", "null", None])
def test_PARSE_05_without_arguments_the_schema_says_what_is_missing(raw: object) -> None:
    assert answered("report", raw).text == "told"
    assert runs == [{"city": "Paris", "days": 1}]
    assert "$.path: missing" in answered("write", raw).text
    assert len(runs) == 1


def test_PARSE_16_a_turn_that_was_cut_off_is_not_run_and_the_model_is_told() -> None:
    cut = asking('{"path": "x"', response_metadata={"finish_reason": "length"})
    model = ScriptedModel([cut, asking({"path": "x", "text": "short"}), "done"])
    result = create_agent(model, [write]).invoke("go")
    assert result["messages"][2].outcome.kind == "truncated"
    assert "cut off" in model.requests[1][-1].text
    assert runs == [{"path": "x", "text": "short"}]


def test_PARSE_16_complete_calls_of_a_turn_that_was_cut_off_are_not_run_either() -> None:
    cut = asking({"path": "x"}, response_metadata={"stop_reason": "max_tokens"})
    result = create_agent(ScriptedModel([cut, "done"]), [write]).invoke("go")
    assert result["messages"][2].outcome.kind == "truncated"
    assert runs == []


TEXT_CALL = '<tool_call>{"name": "write", "arguments": {"path": "a"}}</tool_call>'


def test_PARSE_20_a_call_written_as_text_is_not_run_but_marked() -> None:
    result = create_agent(ScriptedModel([TEXT_CALL]), [write]).invoke("go")
    assert result["end_reason"] == "text_call"
    assert result["messages"][-1].response_metadata["suspicious"] == "text_call"
    assert result["messages"][-1].text == TEXT_CALL
    assert runs == []


def test_PARSE_20_a_call_written_as_text_is_run_where_that_was_asked_for() -> None:
    result = create_agent(ScriptedModel([TEXT_CALL, "done"], text_calls=True), [write]).invoke("go")
    assert [message.type for message in result["messages"]] == ["human", "ai", "tool", "ai"]
    assert runs == [{"path": "a", "text": ""}]


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "format_disk", "arguments": {}}</tool_call>',
        'For example: {"name": "write", "arguments": {"path": "a"}} would write a file.',
        "An ordinary answer.",
    ],
)
def test_PARSE_20_other_text_is_an_answer(text: str) -> None:
    result = create_agent(ScriptedModel([text], text_calls=True), [write]).invoke("go")
    assert result["end_reason"] == "answer"
    assert runs == []


def test_PARSE_20_native_calls_leave_the_text_alone() -> None:
    reply = AIMessage(TEXT_CALL, tool_calls=[{"id": "c1", "name": "write", "args": {"path": "b"}}])
    create_agent(ScriptedModel([reply, "done"], text_calls=True), [write]).invoke("go")
    assert runs == [{"path": "b", "text": ""}]
