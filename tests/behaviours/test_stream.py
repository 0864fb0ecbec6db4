"""STREAM: the pieces of a streamed reply make the calls that the model meant, or none."""

from __future__ import annotations

from typing import Any

from surehand.dialects import openai_chat
from surehand.messages import AIMessage, message_from_dict


def piece(**fields: Any) -> dict[str, Any]:
    function = {key: fields.pop(key) for key in ("name", "arguments") if key in fields}
    return {**fields, "function": function}


def assembled(*deltas: list[dict[str, Any]]) -> list[tuple[str, str, Any]]:
    stream = openai_chat.ChatStream()
    for tool_calls in deltas:
        stream.feed({"choices": [{"index": 0, "delta": {"tool_calls": tool_calls}}]})
    end: dict[str, Any] = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    stream.feed(end)
    return [(call["id"], call["name"], call["args"]) for call in stream.finish().tool_calls]


def test_STREAM_01_new_id_on_the_same_index_is_a_new_call() -> None:
    calls = assembled(
        [piece(index=0, id="a", name="f", arguments="")],
        [piece(index=0, arguments='{"x": 1}')],
        [piece(index=0, id="b", name="g", arguments="")],
        [piece(index=0, arguments='{"y": 2}')],
    )

    assert calls == [("a", "f", {"x": 1}), ("b", "g", {"y": 2})]


def test_STREAM_03_pieces_in_one_delta_are_folded_like_pieces_in_several() -> None:
    calls = assembled(
        [piece(index=0, id="a", name="f"), piece(index=0, arguments="{")],
        [piece(index=0, arguments='"x": 1}')],
    )

    assert calls == [("a", "f", {"x": 1})]


def test_STREAM_05_whole_calls_without_ids_on_one_index_stay_apart() -> None:
    calls = assembled(
        [piece(index=0, name="f", arguments='{"x": 1}')],
        [piece(index=0, name="f", arguments='{"x": 2}')],
    )

    assert [(name, args) for _, name, args in calls] == [("f", {"x": 1}), ("f", {"x": 2})]
    assert calls[0][0] != calls[1][0]


def test_STREAM_05_same_payload_sent_again_is_the_same_call() -> None:
    calls = assembled(
        [piece(index=0, name="f", arguments='{"x": 1}')],
        [piece(index=0, name="f", arguments='{"x": 1}')],
    )

    assert len(calls) == 1


def test_STREAM_06_second_finish_changes_nothing() -> None:
    stream = openai_chat.ChatStream()
    finish: dict[str, Any] = {
        "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 5},
    }
    stream.feed({"choices": [{"index": 0, "delta": {"tool_calls": [piece(index=0, name="f", arguments="{}")]}}]})
    stream.feed(finish)
    once = stream.finish()
    stream.feed(finish)
    twice = stream.finish()

    assert once.tool_calls == twice.tool_calls
    assert len(once.tool_calls) == 1
    assert once.usage_metadata == twice.usage_metadata
    assert stream.finish() is twice


def test_STREAM_07_corrupted_arguments_in_a_stored_history_load_as_an_invalid_call() -> None:
    form = {"surehand": 1, "type": "ai", "content": "", "tool_calls": [{"id": "c", "name": "f", "args": "{a}{b}"}]}

    message = message_from_dict(form)

    assert isinstance(message, AIMessage)
    assert [call["id"] for call in message.invalid_tool_calls] == ["c"]
    assert openai_chat.write_messages([message])[1]["role"] == "tool"
