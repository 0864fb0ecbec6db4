"""AI messages take calls as they come; chunks add up to the reply."""

from __future__ import annotations

import pytest

from surehand.messages import AIMessage, AIMessageChunk, HumanMessage, ToolCallChunk


def piece(
    args: str | None = None, *, name: str | None = None, id: str | None = None, index: int | None = 0
) -> ToolCallChunk:
    return {"id": id, "name": name, "args": args, "index": index, "type": "tool_call_chunk"}


def test_calls_are_read_when_the_message_is_built() -> None:
    message = AIMessage(tool_calls=[{"id": "c1", "name": "f", "args": '{"a": 1}', "extra": True}])

    assert message.tool_calls == [{"id": "c1", "name": "f", "args": {"a": 1}, "type": "tool_call"}]
    assert message.invalid_tool_calls == []


def test_unreadable_arguments_stay_as_they_came_and_are_listed() -> None:
    message = AIMessage(
        tool_calls=[{"id": "c1", "name": "f", "args": '{"a": 1/6}'}, {"id": "c2", "name": "g", "args": {}}]
    )

    assert [call["args"] for call in message.tool_calls] == ['{"a": 1/6}', {}]
    (invalid,) = message.invalid_tool_calls
    assert (invalid["id"], invalid["args"]) == ("c1", '{"a": 1/6}')
    assert "not one JSON object" in invalid["error"]


def test_repairs_are_kept_by_call() -> None:
    message = AIMessage(
        tool_calls=[{"id": "c1", "name": "f", "args": "{'a': 1}"}, {"id": "c2", "name": "f", "args": "{}"}]
    )

    assert message.tool_calls[0]["args"] == {"a": 1}
    assert list(message.repairs) == ["c1"]


def test_replace_keeps_what_is_known_of_the_calls() -> None:
    message = AIMessage(tool_calls=[{"name": "f", "args": "{'a': 1}"}, {"name": "g", "args": "no"}])

    changed = message.replace(content="x")

    assert changed.tool_calls == message.tool_calls
    assert changed.repairs == message.repairs
    assert changed.invalid_tool_calls == message.invalid_tool_calls
    assert changed.replace(tool_calls=[]).tool_calls == []


def test_finish_reason_is_read_from_the_metadata() -> None:
    assert AIMessage(response_metadata={"stop_reason": "max_tokens"}).finish_reason == "length"
    assert AIMessage().finish_reason is None


def test_chunks_add_up() -> None:
    total = (
        AIMessageChunk("Let me ", id="m", additional_kwargs={"reasoning": "a"})
        + AIMessageChunk("look.", additional_kwargs={"reasoning": "b", "list": [1]})
        + AIMessageChunk(tool_call_chunks=[piece(name="f", id="c1")], additional_kwargs={"list": [2]})
        + AIMessageChunk(tool_call_chunks=[piece('{"a"')])
        + AIMessageChunk(tool_call_chunks=[piece(": 1}")], usage_metadata={"output_tokens": 1})
        + AIMessageChunk(response_metadata={"finish_reason": "tool_calls"}, usage_metadata={"output_tokens": 9})
    )

    assert (total.content, total.id, total.finish_reason) == ("Let me look.", "m", "tool_calls")
    assert total.tool_call_chunks == [piece('{"a": 1}', name="f", id="c1")]
    assert total.tool_calls == [{"id": "c1", "name": "f", "args": {"a": 1}, "type": "tool_call"}]
    assert total.usage_metadata == {"output_tokens": 9}
    assert total.additional_kwargs == {"reasoning": "ab", "list": [1, 2]}


def test_blocks_and_texts_add_up_to_blocks() -> None:
    block = {"type": "image"}

    assert (AIMessageChunk("a") + AIMessageChunk([block])).content == ["a", block]
    assert (AIMessageChunk([block]) + AIMessageChunk("")).content == [block]


def test_unfinished_call_of_a_chunk_is_invalid() -> None:
    chunk = AIMessageChunk(tool_call_chunks=[piece('{"city": "Par', name="f", id="c1")])

    assert chunk.tool_calls[0]["args"] == '{"city": "Par'
    assert chunk.invalid_tool_calls[0]["id"] == "c1"


def test_chunk_becomes_the_message_it_makes() -> None:
    chunk = AIMessageChunk(
        "x", tool_call_chunks=[piece("{'a': 1}", name="f")], response_metadata={"finish_reason": "tool_calls"}
    )

    message = chunk.to_message()

    assert type(message) is AIMessage
    assert message.tool_calls == chunk.tool_calls
    assert message.repairs == chunk.repairs
    assert message.content == "x"


def test_replace_on_a_chunk_reads_its_pieces_again() -> None:
    chunk = AIMessageChunk(tool_call_chunks=[piece("", name="f", id="c1")])

    assert chunk.invalid_tool_calls != []
    assert chunk.replace(response_metadata={"finish_reason": "stop"}).tool_calls[0]["args"] == {}


def test_chunks_add_to_chunks_alone() -> None:
    with pytest.raises(TypeError):
        AIMessageChunk("a") + HumanMessage("b")  # type: ignore[operator]


def test_a_restart_voids_what_came_before_in_whatever_order_the_pieces_are_added() -> None:
    first = AIMessageChunk("void", tool_call_chunks=[piece('{"a"', name="f", id="c1")])
    again = AIMessageChunk("kept", is_restart=True)
    rest = AIMessageChunk(tool_call_chunks=[piece('{"b": 1}', name="g", id="c2")])

    for total in ((first + again) + rest, first + (again + rest)):
        assert total.text == "kept"
        assert [(call["id"], call["args"]) for call in total.tool_calls] == [("c2", {"b": 1})]
    assert "is_restart" not in str(first)
    assert again.replace(content="x").is_restart


def test_content_that_no_text_shows_is_in_the_message_of_the_sum() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    pieces = [AIMessageChunk("a"), AIMessageChunk("b"), AIMessageChunk(whole_content=[thought, "ab"])]

    total = pieces[0] + pieces[1] + pieces[2] + AIMessageChunk(response_metadata={"stop_reason": "end_turn"})

    assert total.content == "ab"
    assert total.to_message().content == [thought, "ab"]
