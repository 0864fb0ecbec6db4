"""The dialect of a host's messages is found, so that answers can be given in it."""

from __future__ import annotations

from typing import Any

import pytest

from surehand.dialects import dialect_of
from surehand.messages import AIMessage, HumanMessage, ToolMessage

OPENAI: dict[str, Any] = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}
ANTHROPIC: dict[str, Any] = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}],
}

BEDROCK: dict[str, Any] = {
    "role": "assistant",
    "content": [{"text": "x"}, {"toolUse": {"toolUseId": "c", "name": "f", "input": {}}}],
}
COHERE: dict[str, Any] = {**OPENAI, "tool_plan": "I will call f."}
OLLAMA: dict[str, Any] = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"id": "c", "function": {"index": 0, "name": "f", "arguments": {}}}],
}
GEMINI: dict[str, Any] = {"role": "model", "parts": [{"functionCall": {"id": "c", "name": "f", "args": {}}}]}
RESPONSES: dict[str, Any] = {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": "{}"}


SPOKEN: list[tuple[list[Any], str]] = [
    ([{"role": "user", "content": "hi"}, RESPONSES], "openai_responses"),
    ([RESPONSES, {"type": "function_call_output", "call_id": "c", "output": "4"}], "openai_responses"),
    ([{"object": "response", "output": [RESPONSES]}], "openai_responses"),
    ([OPENAI, {"type": "web_search_call", "id": "ws", "status": "completed"}], "openai_responses"),
    (
        [RESPONSES, {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}],
        "openai_responses",
    ),
    ([OPENAI, GEMINI], "gemini"),
    (
        [
            GEMINI,
            {
                "role": "user",
                "parts": [{"functionResponse": {"id": "c", "name": "f", "response": {"output": "4"}}}],
            },
        ],
        "gemini",
    ),
    ([{"candidates": [{"content": GEMINI, "finishReason": "STOP"}], "modelVersion": "m"}], "gemini"),
    ([OPENAI, {"parts": GEMINI["parts"]}, {"parts": [{"text": "and?"}]}], "gemini"),
    ([{"prompt_feedback": {"block_reason": "SAFETY"}}], "gemini"),
    ([OPENAI, BEDROCK], "bedrock_converse"),
    (
        [BEDROCK, {"role": "user", "content": [{"toolResult": {"toolUseId": "c", "content": [{"text": "4"}]}}]}],
        "bedrock_converse",
    ),
    ([{"role": "assistant", "content": [{"text": "x"}]}], "bedrock_converse"),
    ([{"output": {"message": BEDROCK}, "stopReason": "tool_use"}], "bedrock_converse"),
    ([COHERE], "cohere_chat"),
    ([{"id": "r", "message": OPENAI, "finish_reason": "TOOL_CALL"}], "cohere_chat"),
    ([OLLAMA, {"role": "tool", "tool_name": "f", "content": "4"}], "ollama_chat"),
    ([{**OLLAMA, "tool_calls": [{"type": "function", **OLLAMA["tool_calls"][0]}]}], "ollama_chat"),
    ([{**OLLAMA, "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": {}}}]}], "ollama_chat"),
    (
        [{**OPENAI, "tool_calls": [{**OPENAI["tool_calls"][0], "function": {"name": "f", "arguments": {}}}]}],
        "openai_chat",
    ),
    ([{"model": "m", "message": {"role": "assistant", "content": "x"}, "done": True}], "ollama_chat"),
    ([{"choices": [{"message": OPENAI, "finish_reason": "tool_calls"}]}], "openai_chat"),
    ([{"type": "message", "stop_reason": "tool_use", **ANTHROPIC}], "anthropic_messages"),
    ([{"role": "user", "content": "hi"}, OPENAI], "openai_chat"),
    ([OPENAI, {"role": "tool", "tool_call_id": "c", "content": "4"}], "openai_chat"),
    ([ANTHROPIC], "anthropic_messages"),
    ([OPENAI, ANTHROPIC], "anthropic_messages"),
    ([{"role": "assistant", "content": [{"type": "text", "text": "x"}]}], "openai_chat"),
]


@pytest.mark.parametrize(("messages", "name"), SPOKEN)
def test_newest_assistants_message_decides(messages: list[Any], name: str) -> None:
    dialect = dialect_of(messages)

    assert dialect is not None
    assert name == dialect.NAME


@pytest.mark.parametrize("messages", [[], [OPENAI, AIMessage("x")], [HumanMessage("x")], ["x", 5], [{"type": "ai"}]])
def test_our_own_messages_and_strangers_have_no_dialect(messages: list[Any]) -> None:
    assert dialect_of(messages) is None


@pytest.mark.parametrize("message", [OPENAI, GEMINI, ANTHROPIC, RESPONSES])
def test_dialect_reads_and_answers(message: dict[str, Any]) -> None:
    dialect = dialect_of([message])
    assert dialect is not None

    (read,) = dialect.read_messages([message])
    (answer,) = dialect.write_answers([ToolMessage("4", tool_call_id="c")], [message])

    assert isinstance(read, AIMessage)
    assert [call["id"] for call in read.tool_calls] == ["c"]
    assert answer.get("role", answer.get("type")) in ("tool", "user", "function_call_output")
