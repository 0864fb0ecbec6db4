"""Messages of a host's own with what a provider's SDK made inside: they are read as the JSON that they stand for."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.types import Message as AnthropicReply
from anthropic.types import (
    RawContentBlockDeltaEvent,
    RawContentBlockStartEvent,
    RawContentBlockStopEvent,
    RawMessageDeltaEvent,
    RawMessageStartEvent,
    RawMessageStopEvent,
)
from cohere import V2ChatResponse
from ollama import ChatResponse
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from surehand import ToolNode, run_tool_calls, tool
from surehand.dialects import anthropic_messages, openai_chat

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


def openai_chunk(**delta: Any) -> ChatCompletionChunk:
    choice = {"index": 0, "delta": delta, "finish_reason": None if delta else "tool_calls"}
    return ChatCompletionChunk.model_validate(
        {"id": "r", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    )


def test_a_stream_takes_the_chunks_that_openais_sdk_makes() -> None:
    begun = {"index": 0, "id": "c1", "type": "function", "function": {"name": "add", "arguments": ""}}
    pieces = [{"index": 0, "function": {"arguments": piece}} for piece in (ARGUMENTS[:5], ARGUMENTS[5:])]
    stream = openai_chat.ChatStream()
    for chunk in (*(openai_chunk(tool_calls=[piece]) for piece in (begun, *pieces)), openai_chunk()):
        stream.feed(chunk)

    reply = stream.finish()
    assert (reply.tool_calls[0]["args"], reply.finish_reason) == ({"a": 1, "b": 2}, "tool_calls")
    assert [answer.text for answer in run_tool_calls(reply, [add])] == ["3"]


def test_a_stream_takes_the_events_that_anthropics_sdk_makes() -> None:
    head: dict[str, Any] = {"id": "r", "type": "message", "role": "assistant", "model": "m", "content": []}
    call: dict[str, Any] = {"type": "tool_use", "id": "c1", "name": "add", "input": {}}
    stream = anthropic_messages.MessageStream()
    for event in (
        RawMessageStartEvent.model_validate(
            {"type": "message_start", "message": {**head, "usage": {"input_tokens": 1, "output_tokens": 0}}}
        ),
        RawContentBlockStartEvent.model_validate({"type": "content_block_start", "index": 0, "content_block": call}),
        RawContentBlockDeltaEvent.model_validate(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": ARGUMENTS},
            }
        ),
        RawContentBlockStopEvent.model_validate({"type": "content_block_stop", "index": 0}),
        RawMessageDeltaEvent.model_validate(
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 1}}
        ),
        RawMessageStopEvent.model_validate({"type": "message_stop"}),
    ):
        stream.feed(event)

    reply = stream.finish()
    assert (reply.tool_calls[0]["args"], reply.finish_reason) == ({"a": 1, "b": 2}, "tool_calls")
    assert [answer.text for answer in run_tool_calls(reply, [add])] == ["3"]
