"""Recorded replies of real providers come out as the calls that were recorded.

The committed subset always runs; the full set of recordings runs where it is there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.data import committed_data, full_data, read_lines
from surehand.dialects import anthropic_messages, openai_chat
from surehand.messages import AIMessage, AIMessageChunk, Message, check_transcript, convert_to_messages
from surehand.shapes import items_of

Record = dict[str, Any]
ReadCall = tuple[str | None, str, Any]

CLIENT_SIDE = {"function", "tool_use", "custom", "legacy_function_call"}
"""Kinds of calls that are ours to run; the provider ran the others."""
START_HOLDS_INPUT = "anthropic-programmatic-tool-calling.1.chunks.txt"
"""The one recording whose arguments stand in a block's start; what was derived from its deltas alone has none."""
FOLDERS = [folder / "provider_recordings" for folder in (committed_data(), full_data()) if folder is not None]

folders = pytest.mark.parametrize("folder", FOLDERS, ids=["committed", "full"][: len(FOLDERS)])


def records(folder: Path, file: str, api: str) -> Iterator[Record]:
    return (record for record in read_lines(folder / file) if record["api"] == api)


def recorded(record: Record) -> list[ReadCall]:
    """The client's calls; the placeholders that some providers send with each reply are none."""
    return [
        (call["id"], call["name"], arguments(call))
        for call in record["tool_calls"]
        if call["kind"] in CLIENT_SIDE and (call["name"] or call["arguments"])
    ]


def arguments(call: Record) -> Any:
    raw = call["arguments"]
    if call["kind"] == "custom":
        return {"input": raw}
    if raw is None or raw == "":
        return {}
    try:
        return json.loads(raw) if isinstance(raw, str) else raw
    except ValueError:
        return raw


def differences(record: Record, message_calls: list[ReadCall]) -> list[str]:
    """What is not as recorded; ids that were made count as the missing ones they stand for."""
    expected = recorded(record)
    calls = [
        (call_id if place < len(expected) and expected[place][0] else None, name, args)
        for place, (call_id, name, args) in enumerate(message_calls)
    ]
    expected = [(call_id or None, name, args) for call_id, name, args in expected]
    return [] if calls == expected else [f"{record['source']}: expected {expected}, read {calls}"]


def calls_of(*messages: AIMessage) -> list[ReadCall]:
    return [(call["id"], call["name"], call["args"]) for message in messages for call in message.tool_calls]


def frames(record: Record) -> list[Record]:
    return [event["data"] for event in record["events"] if isinstance(event["data"], dict)]


def choices(payloads: list[Record]) -> list[int]:
    return sorted({choice.get("index", 0) for payload in payloads for choice in items_of(payload.get("choices"))})


def streamed(record: Record) -> tuple[list[AIMessage], list[AIMessage]]:
    """Each message of the stream, once from the assembler and once as the sum of its chunks."""
    events = frames(record)
    streams: list[openai_chat.ChatStream | anthropic_messages.MessageStream] = (
        [openai_chat.ChatStream(choice=choice) for choice in choices(events)]
        if record["api"] == "openai.chat"
        else [anthropic_messages.MessageStream()]
    )
    sums: list[AIMessage] = []
    for stream in streams:
        total = AIMessageChunk()
        for event in events:
            chunk = stream.feed(event)
            total = total if chunk is None else total + chunk
        sums.append(total.to_message())
    return [stream.finish() for stream in streams], sums


@folders
def test_openai_replies_give_the_recorded_calls(folder: Path) -> None:
    found: list[str] = []
    for record in records(folder, "responses.jsonl", "openai.chat"):
        payload = record["response"]
        messages = [openai_chat.read_reply(payload, choice=place) for place in range(len(payload["choices"]))]
        found += differences(record, calls_of(*messages))

    assert found == []


@folders
def test_anthropic_replies_give_the_recorded_calls(folder: Path) -> None:
    found: list[str] = []
    for record in records(folder, "responses.jsonl", "anthropic.messages"):
        found += differences(record, calls_of(anthropic_messages.read_reply(record["response"])))

    assert found == []


@folders
@pytest.mark.parametrize("api", ["openai.chat", "anthropic.messages"])
def test_streams_give_the_recorded_calls(folder: Path, api: str) -> None:
    found: list[str] = []
    for record in records(folder, "streams.jsonl", api):
        if START_HOLDS_INPUT in record["source"]:
            continue
        found += differences(record, calls_of(*streamed(record)[0]))

    assert found == []


@folders
@pytest.mark.parametrize("api", ["openai.chat", "anthropic.messages"])
def test_chunks_add_up_to_the_assembled_message(folder: Path, api: str) -> None:
    for record in records(folder, "streams.jsonl", api):
        for whole, total in zip(*streamed(record), strict=True):
            assert [(c["name"], c["args"]) for c in total.tool_calls] == [
                (c["name"], c["args"]) for c in whole.tool_calls
            ]
            assert total.text == whole.text
            assert total.usage_metadata is None or whole.usage_metadata is not None
            assert total.finish_reason == whole.finish_reason


@folders
def test_every_reply_can_be_sent_back(folder: Path) -> None:
    for record in records(folder, "responses.jsonl", "anthropic.messages"):
        message = anthropic_messages.read_reply(record["response"])
        _, written = anthropic_messages.write_messages(convert_to_messages(["hi", message]))

        calls = [block for block in written[1]["content"] if block["type"] == "tool_use"]
        assert [(call["id"], call["input"]) for call in calls] == [(c["id"], c["args"]) for c in message.tool_calls]


def openai_shape(messages: list[Record]) -> list[Any]:
    shape: list[Any] = []
    for message in messages:
        if message["role"] == "tool":
            shape.append(("tool", message["tool_call_id"]))
        else:
            shape += [message["role"], *(openai_call(call) for call in items_of(message.get("tool_calls")))]
    return shape


def openai_call(call: Record) -> Any:
    if "custom" in call and not call.get("function"):
        return (call["id"], call["custom"])
    return (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"] or "{}"))


def anthropic_shape(messages: list[Record]) -> list[Any]:
    blocks = [(message["role"], block) for message in messages for block in items_of(message["content"])]
    return [
        (
            role,
            block["type"],
            block.get("id", block.get("tool_use_id")),
            block.get("input"),
            bool(block.get("is_error")),
        )
        for role, block in blocks
        if block["type"] in ("tool_use", "tool_result")
    ]


def written_back(record: Record, messages: list[Message]) -> list[Record]:
    if record["api"] == "openai.chat":
        return openai_chat.write_messages(messages)
    return anthropic_messages.write_messages(messages)[1]


@folders
@pytest.mark.parametrize("api", ["openai.chat", "anthropic.messages"])
def test_histories_that_need_no_repair_are_written_as_they_were_read(folder: Path, api: str) -> None:
    shape = openai_shape if api == "openai.chat" else anthropic_shape
    written = 0
    for record in records(folder, "tool_results.jsonl", api):
        messages = convert_to_messages(record["messages"])
        if check_transcript(messages) == []:
            assert shape(written_back(record, messages)) == shape(record["messages"]), record["source"]
            written += 1

    assert written > 0


@folders
@pytest.mark.parametrize("api", ["openai.chat", "anthropic.messages"])
def test_histories_that_need_repair_are_few_and_come_out_usable(folder: Path, api: str) -> None:
    """Two answers to one call, an answer to no call, one id in two turns, calls in two messages before answers."""
    repaired = 0
    for record in records(folder, "tool_results.jsonl", api):
        messages = convert_to_messages(record["messages"])
        if check_transcript(messages):
            assert check_transcript(convert_to_messages(written_back(record, messages))) == []
            repaired += 1

    assert repaired <= 8
