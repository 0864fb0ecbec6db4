"""What a server refused to make calls of is read as the reply that it is."""

from __future__ import annotations

from typing import Any

import pytest

from support.data import committed_data, read_lines
from surehand.dialects.refusals import read_refusal
from surehand.messages import AIMessage

TOOLS = ["add", "find"]
CALLS: list[tuple[str, list[tuple[str, dict[str, Any]]]]] = [
    ('{"name": "add", "arguments": {"a": 1}}', [("add", {"a": 1})]),
    ('{"name": "unheard_of", "arguments": {"a": 1}}', [("unheard_of", {"a": 1})]),
    ('{"name": "add"}', [("add", {})]),
    (
        '[{"name": "add", "parameters": {}}, {"name": "find", "parameters": {"q": 1}}]',
        [("add", {}), ("find", {"q": 1})],
    ),
    ('```\n{"tool_calls": [{"function": {"name": "add"}, "parameters": {"a": 1}}]}\n```', [("add", {"a": 1})]),
    ('<tool-use>{"tool_calls": [{"name": "add", "parameters": {}}]}</tool-use>', [("add", {})]),
    ('<function=add{"a": 1}</function>', [("add", {"a": 1})]),
    ('<function=add>{"a": 1}<function>', [("add", {"a": 1})]),
    ('<function=add {"a": 1} </function>', [("add", {"a": 1})]),
    ('<function=add({"a": 1})</function>', [("add", {"a": 1})]),
    ('<function=name="add"{"a": 1}</function>', [("add", {"a": 1})]),
    ('<function=add{"a": 1},-------------', [("add", {"a": 1})]),
    (
        '<function=add>{"a": 1}</function> and\n<function=find>{"q": 2}</function>',
        [("add", {"a": 1}), ("find", {"q": 2})],
    ),
]


def refused(text: str, code: str = "tool_use_failed") -> AIMessage | None:
    return read_refusal({"error": {"message": "no", "code": code, "failed_generation": text}}, TOOLS)


def calls_of(message: AIMessage | None) -> list[tuple[str, Any]]:
    return [] if message is None else [(call["name"], call["args"]) for call in message.tool_calls]


@pytest.mark.parametrize(("text", "calls"), CALLS)
def test_what_can_be_read_as_calls_is_calls(text: str, calls: list[tuple[str, Any]]) -> None:
    message = refused(text)

    assert calls_of(message) == calls
    assert message is not None
    assert (message.text, message.finish_reason) == ("", "tool_calls")
    assert message.response_metadata["recovered"] == {"code": "tool_use_failed", "message": "no"}


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "add", "arguments": {"a": ',
        '{"name": "add", "arguments": {"a": x}}',
        '<function=add{"a": ',
        '<function=add> {"a": 1',
    ],
)
def test_a_call_that_was_cut_off_or_is_broken_stays_a_call_that_cannot_run(text: str) -> None:
    message = refused(text)

    assert message is not None
    assert [call["name"] for call in message.invalid_tool_calls] == ["add"]


@pytest.mark.parametrize("text", ["maybe", '{"name": "Bob", "age": 3}', 'I would call {"name": "add"} here.', "[1, 2]"])
def test_any_other_text_is_the_text_of_the_reply(text: str) -> None:
    message = refused(text)

    assert message is not None
    assert (message.text, message.tool_calls, message.finish_reason) == (text, [], "stop")


def test_what_was_said_before_a_call_is_kept() -> None:
    message = refused('Let me see. <function=add{"a": 1}</function>')

    assert message is not None
    assert message.text == "Let me see."


def test_arguments_that_ollama_could_not_read_are_a_call_without_a_name() -> None:
    said = 'error parsing tool call: raw=\'{"path":""/x"}\', err=invalid character \'/\' after object key:value pair'
    message = read_refusal({"message": said, "type": "api_error"}, TOOLS)

    assert calls_of(message) == [("", '{"path":""/x"}')]


@pytest.mark.parametrize(
    "error",
    [
        None,
        "tool_use_failed",
        {"message": "Unknown model.", "code": "model_not_found"},
        {"error": {"code": "tool_use_failed", "failed_generation": ""}},
        {"error": {"code": "tool_use_failed", "failed_generation": None}},
        {"error": {"code": "json_validate_failed", "failed_generation": "not json"}},
        {"error": ["x"], "message": 5},
    ],
)
def test_errors_that_hold_no_reply_stay_errors(error: Any) -> None:
    assert read_refusal(error, TOOLS) is None


def test_recorded_refusals_of_replies_are_recovered_and_those_of_requests_are_not() -> None:
    records = read_lines(committed_data() / "provider_recordings" / "provider_errors.jsonl")
    read = {record["provider"]: read_refusal(record["response"], []) for record in records}
    texts = [
        (message.text, calls_of(message)) for record in records if (message := read_refusal(record["response"], []))
    ]

    assert [provider for provider, message in read.items() if message is not None] == ["groq"]
    assert texts == [("", [("get_something_by_name", {"foo": "bar"})]), ("maybe", [])]
