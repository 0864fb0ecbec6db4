"""Recorded replies of OpenAI's Responses come out as the client's calls in them, and go back as they came."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from support.data import committed_data, full_data, read_lines
from support.recordings import exception_of
from surehand.dialects import openai_responses
from surehand.messages import AIMessage, AIMessageChunk, check_transcript
from surehand.shapes import items_of

Record = dict[str, Any]
ReadCall = tuple[str, str, Any]

CLIENT_SIDE: Final = {"function", "custom"}
FOLDERS: Final = [folder / "provider_recordings" for folder in (committed_data(), full_data()) if folder is not None]

folders = pytest.mark.parametrize("folder", FOLDERS, ids=["committed", "full"][: len(FOLDERS)])


def records(folder: Path, file: str) -> list[Record]:
    return [record for record in read_lines(folder / file) if record["api"] == "openai.responses"]


def expected(record: Record) -> list[ReadCall]:
    if exception_of(record):
        return []
    return [(call["id"], call["name"], arguments(call)) for call in record["tool_calls"] if call["kind"] in CLIENT_SIDE]


def arguments(call: Record) -> Any:
    return {"input": call["arguments"]} if call["kind"] == "custom" else json.loads(call["arguments"] or "{}")


OUTPUTS: Final = ("function_call_output", "custom_tool_call_output")


def calls_of(message: AIMessage) -> list[ReadCall]:
    return [(call["id"], call["name"], call["args"]) for call in message.tool_calls]


def streamed(record: Record) -> tuple[AIMessage, AIMessageChunk]:
    """The message of the stream, from the assembler and as the sum of its chunks."""
    stream, total = openai_responses.ResponseStream(), AIMessageChunk()
    for event in record["events"]:
        if isinstance(event["data"], dict) and (chunk := stream.feed(event["data"])) is not None:
            total += chunk
    return stream.finish(), total


@folders
def test_replies_give_the_recorded_calls(folder: Path) -> None:
    for record in records(folder, "responses.jsonl"):
        assert calls_of(openai_responses.read_reply(record["response"])) == expected(record), record["source"]


@folders
def test_streams_give_the_recorded_calls(folder: Path) -> None:
    for record in records(folder, "streams.jsonl"):
        assert calls_of(streamed(record)[0]) == expected(record), record["source"]


@folders
def test_a_stream_is_the_reply_that_it_ends_with(folder: Path) -> None:
    for record in records(folder, "streams.jsonl"):
        events = [event["data"] for event in record["events"] if isinstance(event["data"], dict)]
        whole = openai_responses.read_reply(events[-1]["response"])
        read, _ = streamed(record)

        assert read.content == whole.content, record["source"]
        assert read.usage_metadata == whole.usage_metadata
        assert read.response_metadata == whole.response_metadata


@folders
def test_chunks_add_up_to_the_assembled_message(folder: Path) -> None:
    for record in records(folder, "streams.jsonl"):
        whole, total = streamed(record)
        summed = total.to_message()

        assert calls_of(summed) == calls_of(whole), record["source"]
        assert summed.content == whole.content
        assert summed.text == whole.text
        assert summed.usage_metadata == whole.usage_metadata
        assert summed.finish_reason == whole.finish_reason
        assert summed.additional_kwargs == whole.additional_kwargs


@folders
def test_replies_go_back_as_they_came(folder: Path) -> None:
    """With their server-side items; what stands behind a call goes before it."""
    for record in records(folder, "responses.jsonl"):
        reply = openai_responses.read_reply(record["response"])
        _, written = openai_responses.write_messages([reply])
        sent = [item for item in record["response"]["output"] if item["type"] != "message"]

        if not isinstance(reply.content, str):
            back = [item for item in written if item.get("type") not in ("message", *OUTPUTS)]
            assert sorted(map(repr, back)) == sorted(map(repr, sent)), record["source"]


def shape(items: list[Record]) -> list[Any]:
    return [
        (item.get("type"), item.get("call_id"), item.get("name"), parsed(item.get("arguments")), output(item))
        for item in items
        if "type" in item
    ]


def parsed(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) and value else value


def output(item: Record) -> Any:
    given = item.get("output")
    return [part["type"] for part in items_of(given)] or given


@folders
def test_histories_that_need_no_repair_are_written_as_they_were_read(folder: Path) -> None:
    written = 0
    for record in records(folder, "tool_results.jsonl"):
        messages = openai_responses.read_messages(record["messages"])
        if check_transcript(messages) == []:
            assert shape(openai_responses.write_messages(messages)[1]) == shape(record["messages"]), record["source"]
            written += 1

    assert written > 0


@folders
def test_histories_that_need_repair_are_few_and_come_out_usable(folder: Path) -> None:
    """Answers alone, whose calls the provider keeps."""
    repaired = 0
    for record in records(folder, "tool_results.jsonl"):
        messages = openai_responses.read_messages(record["messages"])
        if check_transcript(messages):
            _, written = openai_responses.write_messages(messages)
            assert check_transcript(openai_responses.read_messages(written)) == []
            repaired += 1

    assert repaired <= 8


@folders
def test_the_newest_item_of_a_reply_is_known_and_answered_in_its_form(folder: Path) -> None:
    for record in records(folder, "responses.jsonl"):
        if not (calls := expected(record)):
            continue
        items = items_of(record["response"]["output"])
        (read,) = openai_responses.read_messages(items)

        assert isinstance(read, AIMessage)
        assert calls_of(read) == calls
