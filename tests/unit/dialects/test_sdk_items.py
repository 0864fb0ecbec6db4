"""Messages of a host's own with what a provider's SDK made inside: they are read as the JSON that they stand for."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.types import Message as AnthropicReply
from cohere import V2ChatResponse
from ollama import ChatResponse
from openai.types.chat import ChatCompletion

from surehand import ToolNode, run_tool_calls, tool

ARGUMENTS = '{"a": 1, "b": 2}'


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def from_openai() -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": ARGUMENTS}}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": [call]}}
    reply = {"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return {"role": "assistant", "tool_calls": ChatCompletion.model_validate(reply).choices[0].message.tool_calls}


def from_anthropic() -> dict[str, Any]:
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    call = {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1, "b": 2}}
    usage = {"input_tokens": 1, "output_tokens": 1}
    head = {"id": "r", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use", "usage": usage}
    return {"role": "assistant", "content": AnthropicReply.model_validate({**head, "content": [thought, call]}).content}


def from_cohere() -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": ARGUMENTS}}
    message = {"role": "assistant", "tool_plan": "I add.", "tool_calls": [call]}
    reply = V2ChatResponse.model_validate({"id": "r", "finish_reason": "TOOL_CALL", "message": message}).message
    return {"role": "assistant", "tool_plan": reply.tool_plan, "tool_calls": reply.tool_calls}


def from_ollama() -> dict[str, Any]:
    call = {"function": {"name": "add", "arguments": {"a": 1, "b": 2}}}
    reply = ChatResponse.model_validate({"message": {"role": "assistant", "content": "", "tool_calls": [call]}})
    return {"role": "assistant", "content": "", "tool_calls": reply.message.tool_calls}


TOLD = {"role": "tool", "tool_call_id": "c1", "content": "3"}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "3"}]}


@pytest.mark.parametrize(("said", "answer"), [(from_openai(), TOLD), (from_anthropic(), RESULT), (from_cohere(), TOLD)])
def test_calls_that_an_sdk_read_are_run_and_answered_by_their_ids(said: dict[str, Any], answer: Any) -> None:
    assert run_tool_calls(said, [add]) == [answer]
    assert ToolNode([add]).invoke([{"role": "user", "content": "1 + 2?"}, said]) == [answer]


def test_a_call_that_an_sdk_read_without_an_id_is_run() -> None:
    [answer] = run_tool_calls(from_ollama(), [add])

    assert answer["content"] == "3"
