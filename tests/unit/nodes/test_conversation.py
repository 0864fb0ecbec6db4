"""The messages in a node's input, whatever holds them and whoever's they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from surehand.errors import InputError
from surehand.messages import AIMessage, HumanMessage, ToolMessage
from surehand.nodes.conversation import Conversation

REPLY = AIMessage(tool_calls=[{"id": "1", "name": "add", "args": {}}])
OPENAI: dict[str, Any] = {
    "role": "assistant",
    "tool_calls": [{"id": "1", "function": {"name": "add", "arguments": "{}"}}],
}
ANTHROPIC: dict[str, Any] = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "1", "name": "add", "input": {}}],
}
ANSWER = ToolMessage("5", tool_call_id="1", name="add")


@dataclass
class State:
    messages: list[Any] = field(default_factory=lambda: [REPLY])


@pytest.mark.parametrize("state", [[REPLY], {"messages": [REPLY]}, State()])
def test_messages_are_found_in_a_list_a_mapping_and_an_object(state: object) -> None:
    assert Conversation.of(state, "messages").messages() == [REPLY]


@pytest.mark.parametrize("reply", [OPENAI, ANTHROPIC])
def test_payloads_are_read_as_messages(reply: dict[str, Any]) -> None:
    newest = Conversation.of([reply], "messages").last()

    assert isinstance(newest, AIMessage)
    assert newest.tool_calls == REPLY.tool_calls


def test_an_empty_list_has_no_last_message() -> None:
    assert Conversation.of([], "messages").last() is None


def test_answers_to_a_list_are_a_list_and_to_a_state_an_update_of_its_key() -> None:
    assert Conversation.of([REPLY], "messages").update([ANSWER]) == [ANSWER]
    assert Conversation.of({"talk": [REPLY]}, "talk").update([ANSWER]) == {"talk": [ANSWER]}


def test_answers_speak_the_dialect_of_the_reply() -> None:
    assert Conversation.of([OPENAI], "messages").update([ANSWER])[0]["role"] == "tool"
    assert Conversation.of([ANTHROPIC], "messages").update([ANSWER])[0]["content"][0]["type"] == "tool_result"


@pytest.mark.parametrize("state", ["hi", ("user", "hi"), {"messages": "hi"}, {}, object(), HumanMessage("hi")])
def test_what_holds_no_list_of_messages_is_refused_with_the_key(state: object) -> None:
    with pytest.raises(InputError, match="messages"):
        Conversation.of(state, "messages")


def test_whole_replies_of_several_providers_are_read_each_by_its_own_rules() -> None:
    completion = {"choices": [{"index": 0, "finish_reason": "tool_calls", "message": OPENAI}]}
    reply = {**ANTHROPIC, "type": "message", "stop_reason": "tool_use"}
    given = [
        {"role": "user", "content": "go"},
        completion,
        {"role": "tool", "tool_call_id": "c", "content": "4"},
        reply,
    ]

    conversation = Conversation.of(given, "messages")

    assert [message.type for message in conversation.messages()] == ["human", "ai", "tool", "ai"]
    assert "tool_result" in str(conversation.update([ANSWER]))
