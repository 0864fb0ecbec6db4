"""What providers spell in their own way is read by their dialects, so that no call in it is lost."""

from __future__ import annotations

import importlib
import subprocess
import sys
from typing import Any

import pytest
from google.genai.types import Content
from openai.types.chat import ChatCompletion

from surehand.messages import (
    AIMessage,
    HumanMessage,
    Message,
    ToolMessage,
    add_messages,
    check_transcript,
    convert_to_messages,
    message_to_dict,
)

Item = dict[str, Any]

BEDROCK_CALL: Item = {
    "role": "assistant",
    "content": [{"text": "x"}, {"toolUse": {"toolUseId": "c", "name": "f", "input": {}}}],
}
BEDROCK_ANSWER: Item = {
    "role": "user",
    "content": [{"toolResult": {"toolUseId": "c", "content": [{"text": "4"}], "status": "error"}}],
}
GEMINI_CALL: Item = {"role": "model", "parts": [{"text": "x"}, {"functionCall": {"id": "c", "name": "f", "args": {}}}]}
GEMINI_ANSWER: Item = {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "4"}}}]}
WITHOUT_ID: Item = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}
CALL: Item = {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": "{}"}
ANSWER: Item = {"type": "function_call_output", "call_id": "c", "output": "4"}
SAID: Item = {"role": "assistant", "content": "x"}
OLDER_CALL: Item = {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}
OLDER_ANSWER: Item = {"role": "function", "name": "f", "content": "4"}
COMPLETION: Item = {
    "id": "r",
    "created": 1,
    "model": "m",
    "object": "chat.completion",
    "choices": [{"index": 0, "message": SAID, "finish_reason": "length"}],
}
ANTHROPIC: Item = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "text", "text": "x"}],
    "stop_reason": "max_tokens",
}


READ_BY: list[tuple[list[Item], str]] = [
    ([BEDROCK_CALL, BEDROCK_ANSWER], "bedrock_converse"),
    ([{"role": "user", "content": [{"text": "hi"}]}], "bedrock_converse"),
    ([{"output": {"message": BEDROCK_CALL}, "stopReason": "max_tokens"}], "bedrock_converse"),
    ([{"role": "user", "parts": [{"text": "hi"}]}, GEMINI_CALL, GEMINI_ANSWER], "gemini"),
    ([{"candidates": [{"content": GEMINI_CALL, "finishReason": "MAX_TOKENS"}]}], "gemini"),
    ([{"promptFeedback": {"blockReason": "SAFETY"}}], "gemini"),
    ([{"role": "user", "content": "hi"}, CALL, ANSWER], "openai_responses"),
    ([{"object": "response", "status": "completed", "output": [CALL]}, ANSWER], "openai_responses"),
    ([{"type": "reasoning", "id": "rs", "summary": []}, CALL], "openai_responses"),
    ([{"type": "tool_search_output", "call_id": "s", "tools": []}, CALL, ANSWER], "openai_responses"),
    ([{"type": "additional_tools", "role": "developer", "tools": []}, CALL, ANSWER], "openai_responses"),
    ([COMPLETION], "openai_chat"),
    ([ANTHROPIC], "anthropic_messages"),
    ([{"id": "r", "message": SAID, "finish_reason": "MAX_TOKENS"}], "cohere_chat"),
    ([{"model": "m", "message": SAID, "done": True, "done_reason": "length"}], "ollama_chat"),
]


@pytest.mark.parametrize(("items", "dialect"), READ_BY)
def test_items_are_read_by_their_dialect(items: list[Item], dialect: str) -> None:
    read: list[Message] = importlib.import_module(f"surehand.dialects.{dialect}").read_messages(items)

    assert convert_to_messages(items) == read


@pytest.mark.parametrize(("items", "dialect"), READ_BY)
def test_no_two_dialects_say_that_only_they_can_read_an_item(items: list[Item], dialect: str) -> None:
    names = {name for _, name in READ_BY}

    for item in items:
        owners = [name for name in names if importlib.import_module(f"surehand.dialects.{name}").owns(item)]
        assert owners in ([], [dialect])


def test_a_reply_alone_and_the_objects_of_sdks_are_read_too() -> None:
    (reply,) = convert_to_messages(ChatCompletion.model_validate(COMPLETION))
    (content,) = convert_to_messages(Content.model_validate(GEMINI_CALL))

    assert isinstance(reply, AIMessage)
    assert reply.finish_reason == "length"
    assert isinstance(content, AIMessage)
    assert [call["name"] for call in content.tool_calls] == ["f"]


def test_items_of_several_dialects_may_follow_each_other() -> None:
    openai = {"role": "assistant", "tool_calls": [{"id": "o", "function": {"name": "f", "arguments": "{}"}}]}
    answer = {"role": "tool", "tool_call_id": "o", "content": "4"}

    messages = convert_to_messages(["hi", openai, answer, WITHOUT_ID, GEMINI_ANSWER, BEDROCK_CALL, BEDROCK_ANSWER])

    assert [message.type for message in messages] == ["human", "ai", "tool", "ai", "tool", "ai", "tool"]
    assert check_transcript(messages) == []


@pytest.mark.parametrize(
    ("said", "answer"),
    [(WITHOUT_ID, GEMINI_ANSWER), (BEDROCK_CALL, BEDROCK_ANSWER), (CALL, ANSWER), (OLDER_CALL, OLDER_ANSWER)],
)
def test_answers_that_are_added_later_find_their_calls(said: Item, answer: Item) -> None:
    messages = add_messages(add_messages(["hi"], said), [answer])

    assert [message.type for message in messages] == ["human", "ai", "tool"]
    assert check_transcript(messages) == []


def test_messages_of_ours_stay_what_they_are() -> None:
    ours = [HumanMessage([{"text": "hi"}]), AIMessage([{"text": "x"}]), ToolMessage("4", tool_call_id="c")]

    assert convert_to_messages([*ours, GEMINI_CALL])[:3] == ours
    assert convert_to_messages([message_to_dict(message) for message in ours]) == ours


def test_nothing_is_imported_for_the_usual_spelling() -> None:
    program = (
        "import sys; from surehand.messages import convert_to_messages; "
        "convert_to_messages([{'role': 'user', 'content': [{'type': 'text', 'text': 'hi'}]}]); "
        "print([name for name in sys.modules if name.startswith('surehand.dialects')])"
    )

    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"
