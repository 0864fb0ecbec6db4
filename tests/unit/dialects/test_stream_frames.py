"""However a provider cuts a turn into frames, exactly its calls come out, and of a turn that broke off no more."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.stream_frames import CHAT_HABITS, Call, anthropic_frames, calls, chat_frames, response_frames
from surehand.dialects import anthropic_messages, openai_chat, openai_responses
from surehand.messages import AIMessage, AIMessageChunk

Frame = dict[str, Any]
Stream = openai_chat.ChatStream | openai_responses.ResponseStream | anthropic_messages.MessageStream


def read(stream: Stream, frames: list[Frame]) -> tuple[AIMessage, AIMessage]:
    """The message, from the assembler and as the sum of its chunks."""
    total = AIMessageChunk()
    for frame in frames:
        chunk = stream.feed(frame)
        total = total if chunk is None else total + chunk
    return stream.finish(), total.to_message()


def told(message: AIMessage, *, with_ids: bool = True) -> list[tuple[Any, ...]]:
    return [(call["id"] if with_ids else None, call["name"], call["args"]) for call in message.tool_calls]


def meant(turn: list[Call], *, with_ids: bool = True) -> list[tuple[Any, ...]]:
    return [(call.id if with_ids else None, call.name, call.args) for call in turn]


def valid(message: AIMessage, *, with_ids: bool = True) -> list[tuple[Any, ...]]:
    broken = [call["id"] for call in message.invalid_tool_calls]
    return [
        entry
        for entry, call in zip(told(message, with_ids=with_ids), message.tool_calls, strict=True)
        if call["id"] not in broken
    ]


def check(stream: Stream, frames: list[Frame], turn: list[Call], *, with_ids: bool = True) -> None:
    """All of the turn's calls come out, and from its beginning none that is not one of them."""
    for message in read(stream, frames):
        assert told(message, with_ids=with_ids) == meant(turn, with_ids=with_ids)
        assert message.invalid_tool_calls == []


def check_cut_off(stream: Stream, frames: list[Frame], turn: list[Call], *, with_ids: bool = True) -> None:
    for message in read(stream, frames):
        assert message.finish_reason is None
        assert all(entry in meant(turn, with_ids=with_ids) for entry in valid(message, with_ids=with_ids))


@pytest.mark.parametrize("habit", CHAT_HABITS)
@settings(max_examples=50)
@given(st.data())
def test_calls_of_chat_completions(habit: str, data: st.DataObject) -> None:
    turn = data.draw(calls())
    frames = data.draw(chat_frames(turn, CHAT_HABITS[habit]))
    end: Frame = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    with_ids = CHAT_HABITS[habit].ids != "never"

    check(openai_chat.ChatStream(), [*frames, end], turn, with_ids=with_ids)
    part = frames[: data.draw(st.integers(0, len(frames)))]
    check_cut_off(openai_chat.ChatStream(), part, turn, with_ids=with_ids and CHAT_HABITS[habit].ids != "late")


@given(st.data())
def test_calls_of_responses(data: st.DataObject) -> None:
    turn = data.draw(calls(with_custom=True))
    frames, output = data.draw(response_frames(turn))
    end: Frame = {"type": "response.completed", "response": {"id": "resp", "status": "completed", "output": output}}

    check(openai_responses.ResponseStream(), [*frames, end], turn)
    part = frames[: data.draw(st.integers(0, len(frames)))]
    check_cut_off(openai_responses.ResponseStream(), part, turn)


@given(st.data())
def test_calls_of_anthropics_messages(data: st.DataObject) -> None:
    turn = data.draw(calls())
    frames = data.draw(anthropic_frames(turn))
    end: list[Frame] = [{"type": "message_delta", "delta": {"stop_reason": "tool_use"}}, {"type": "message_stop"}]

    check(anthropic_messages.MessageStream(), [*frames, *end], turn)
    part = frames[: data.draw(st.integers(0, len(frames)))]
    check_cut_off(anthropic_messages.MessageStream(), part, turn)
