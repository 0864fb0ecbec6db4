"""PARSE-20: a call that a model wrote as text is one only where it can hardly be anything else."""

from __future__ import annotations

import pytest

from surehand import AIMessage
from surehand.dialects.text_calls import TextCallFilter, read_text_calls


@pytest.mark.parametrize(
    "content",
    [
        '<tool_call>{"name":"t","arguments":{}}</tool_call>',
        '{"name": "t", "arguments": {}}',
        '```json\n{"name": "t", "parameters": {}}\n```',
        "<tool_call>\n<function=t>\n</function>\n</tool_call>",
        "<tool_call>t\n</tool_call>",
        "[t()]",
        "[TOOL_CALLS]t[ARGS]{}",
        "<|channel|>commentary to=functions.t <|constrain|>json<|message|>{}<|call|>",
    ],
)
def test_PARSE_20_whole_message_or_tagged_call_of_a_known_tool_is_read(content: str) -> None:
    calls = read_text_calls(content, ["t"])

    assert calls is not None
    assert [(call["name"], call["args"]) for call in calls] == [("t", {})]


@pytest.mark.parametrize(
    "content",
    [
        'I could write `<tool_call>{"name":"t","arguments":{}}</tool_call>` here.',
        'The documentation says: {"name": "t", "arguments": {}}',
        '> {"name": "t", "arguments": {}}',
        '{"name": "t", "arguments": {}} is what I would send.',
        "For example:\n```\n<tool_call>t\n</tool_call>\n```\nThat calls it.",
        "Llama writes [t()] for it.",
    ],
)
def test_PARSE_20_quoted_call_is_a_text(content: str) -> None:
    assert read_text_calls(content, ["t"]) is None


def test_PARSE_20_unknown_tool_is_a_text() -> None:
    assert read_text_calls('<tool_call>{"name":"other","arguments":{}}</tool_call>', ["t"]) is None


def test_PARSE_20_nobody_is_shown_the_marks_of_a_call_that_is_streamed() -> None:
    reader = TextCallFilter(["t"])
    pieces = ("I look.", "\n<tool", '_call>{"name": "t", ', '"arguments": {}}', "</tool_call>")

    said = [reader.feed(piece) for piece in pieces]
    rest, calls = reader.finish()

    assert "".join(said) + rest == "I look."
    assert [call["name"] for call in calls] == ["t"]


def test_PARSE_20_call_that_was_cut_off_never_runs() -> None:
    calls = read_text_calls('<tool_call>{"name": "t", "arguments": {"a": 1', ["t"])

    assert calls is not None
    assert AIMessage(tool_calls=calls).invalid_tool_calls
