"""However a provider cuts a reply into pieces, the same calls come out."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from surehand.dialects import anthropic_messages, openai_chat
from surehand.messages import AIMessage, AIMessageChunk, ToolCallChunk

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text('{}[]",:\\ aé', max_size=6),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab{}", max_size=2), inner, max_size=2),
    max_leaves=4,
)
ARGUMENTS = st.dictionaries(st.text("xy{}", max_size=2), VALUES, max_size=3)
CALLS = st.lists(st.tuples(st.sampled_from("fg"), ARGUMENTS), min_size=1, max_size=4)


@st.composite
def cut(draw: st.DrawFn, text: str) -> list[str]:
    places = sorted(draw(st.sets(st.integers(0, len(text)), max_size=5)))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


@st.composite
def shuffled(draw: st.DrawFn, parts: list[list[Any]]) -> list[Any]:
    """All items, in an order that keeps each list's own."""
    left = [list(part) for part in parts if part]
    mixed: list[Any] = []
    while left:
        part = draw(st.sampled_from(left))
        mixed.append(part.pop(0))
        left = [each for each in left if each]
    return mixed


def read(message: AIMessage) -> list[tuple[str, Any]]:
    return [(call["name"], call["args"]) for call in message.tool_calls]


def assemble(deltas: list[list[dict[str, Any]]], *, finishes: int = 1) -> AIMessage:
    stream = openai_chat.ChatStream()
    for tool_calls in deltas:
        stream.feed({"choices": [{"index": 0, "delta": {"tool_calls": tool_calls}}]})
    for _ in range(finishes):
        stream.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    return stream.finish()


def piece(index: int | None, call_id: str | None, name: str | None, arguments: str) -> dict[str, Any]:
    fields = {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}
    return {key: value for key, value in fields.items() if value is not None}


@given(CALLS, st.data())
def test_numbered_pieces_in_any_order(calls: list[tuple[str, dict[str, Any]]], data: st.DataObject) -> None:
    parts: list[list[dict[str, Any]]] = []
    for index, (name, args) in enumerate(calls):
        texts = data.draw(cut(json.dumps(args)))
        parts.append([piece(index, f"c{index}", name, ""), *(piece(index, None, None, text) for text in texts)])
    pieces = data.draw(shuffled(parts))
    # A call that starts later would come later in the reply, so the starts keep their order.
    starts = [part[0] for part in parts]
    pieces = [*starts, *(each for each in pieces if each not in starts)]

    message = assemble([[each] for each in pieces], finishes=data.draw(st.integers(1, 2)))

    assert read(message) == calls
    assert [call["id"] for call in message.tool_calls] == [f"c{index}" for index in range(len(calls))]


@given(CALLS, st.data())
def test_several_pieces_in_one_delta(calls: list[tuple[str, dict[str, Any]]], data: st.DataObject) -> None:
    pieces = [
        piece(index, f"c{index}" if place == 0 else None, name if place == 0 else None, text)
        for index, (name, args) in enumerate(calls)
        for place, text in enumerate(data.draw(cut(json.dumps(args))))
    ]
    size = data.draw(st.integers(1, 4))

    message = assemble([pieces[start : start + size] for start in range(0, len(pieces), size)])

    assert read(message) == calls


@given(CALLS, st.booleans(), st.data())
def test_id_and_name_in_every_piece(
    calls: list[tuple[str, dict[str, Any]]],
    numbered: bool,  # noqa: FBT001 - drawn
    data: st.DataObject,
) -> None:
    pieces = [
        piece(index if numbered else None, f"c{index}", name, text)
        for index, (name, args) in enumerate(calls)
        for text in data.draw(cut(json.dumps(args)))
    ]

    assert read(assemble([[each] for each in pieces])) == calls


@given(CALLS, st.data())
def test_every_call_has_the_number_nought(calls: list[tuple[str, dict[str, Any]]], data: st.DataObject) -> None:
    pieces = [
        piece(0, f"c{index}" if place == 0 else None, name if place == 0 else None, text)
        for index, (name, args) in enumerate(calls)
        for place, text in enumerate(data.draw(cut(json.dumps(args))))
    ]

    assert read(assemble([[each] for each in pieces])) == calls


@given(CALLS)
def test_whole_calls_without_id_and_with_one_number(calls: list[tuple[str, dict[str, Any]]]) -> None:
    distinct = [call for place, call in enumerate(calls) if place == 0 or call != calls[place - 1]]

    message = assemble([[piece(0, None, name, json.dumps(args))] for name, args in distinct])

    assert read(message) == distinct


@given(CALLS)
def test_whole_calls_sent_twice_are_the_same_calls(calls: list[tuple[str, dict[str, Any]]]) -> None:
    wholes = [piece(index, f"c{index}", name, json.dumps(args)) for index, (name, args) in enumerate(calls)]

    assert read(assemble([wholes, wholes])) == calls


@given(ARGUMENTS.filter(bool), st.data())
def test_reply_that_broke_off_never_runs_what_was_not_said(args: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(args)
    end = data.draw(st.integers(0, len(text) - 1))
    stream = openai_chat.ChatStream()
    stream.feed({"choices": [{"index": 0, "delta": {"tool_calls": [piece(0, "c", "f", text[:end])]}}]})

    message = stream.finish()

    assert message.finish_reason is None
    assert [call["id"] for call in message.invalid_tool_calls] == ["c"]


@given(CALLS, st.data())
def test_chunks_add_up_whatever_the_grouping(calls: list[tuple[str, dict[str, Any]]], data: st.DataObject) -> None:
    chunks: list[AIMessageChunk] = []
    for index, (name, args) in enumerate(calls):
        for place, text in enumerate(data.draw(cut(json.dumps(args)))):
            call: ToolCallChunk = {
                "id": f"c{index}" if place == 0 else None,
                "name": name if place == 0 else None,
                "args": text,
                "index": index,
                "type": "tool_call_chunk",
            }
            chunks.append(AIMessageChunk("t", tool_call_chunks=[call]))
    middle = data.draw(st.integers(0, len(chunks)))

    left = sum(chunks[:middle], AIMessageChunk())
    right = sum(chunks[middle:], AIMessageChunk())

    assert read(left + right) == calls
    assert (left + right).text == "t" * len(chunks)


@given(CALLS, st.data())
def test_anthropic_blocks(calls: list[tuple[str, dict[str, Any]]], data: st.DataObject) -> None:
    stream = anthropic_messages.MessageStream()
    for index, (name, args) in enumerate(calls):
        block: dict[str, Any] = {"type": "tool_use", "id": f"c{index}", "name": name, "input": {}}
        stream.feed({"type": "content_block_start", "index": index, "content_block": block})
        for text in [] if not args else data.draw(cut(json.dumps(args))):
            delta = {"type": "input_json_delta", "partial_json": text}
            stream.feed({"type": "content_block_delta", "index": index, "delta": delta})
    stream.feed({"type": "message_delta", "delta": {"stop_reason": "tool_use"}})

    message = stream.finish()

    assert read(message) == calls
    assert [block["input"] for block in message.content if isinstance(block, dict)] == [args for _, args in calls]
