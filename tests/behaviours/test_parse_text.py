"""PARSE-20: a call that a model wrote as text is one only where it can hardly be anything else."""

from __future__ import annotations

import pytest

from surehand.dialects.text_calls import read_text_calls


@pytest.mark.parametrize(
    "content",
    [
        '<tool_call>{"name":"t","arguments":{}}</tool_call>',
        '{"name": "t", "arguments": {}}',
        '```json\n{"name": "t", "parameters": {}}\n```',
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
    ],
)
def test_PARSE_20_quoted_call_is_a_text(content: str) -> None:
    assert read_text_calls(content, ["t"]) is None


def test_PARSE_20_unknown_tool_is_a_text() -> None:
    assert read_text_calls('<tool_call>{"name":"other","arguments":{}}</tool_call>', ["t"]) is None
