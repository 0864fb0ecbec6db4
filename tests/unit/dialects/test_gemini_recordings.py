"""Recorded replies of Gemini come out as the calls that were recorded, raw and as Google's SDK gives them."""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from support.data import committed_data, full_data, read_lines
from support.gemini import Part, content
from support.provider_server import Stream, provider_server
from surehand import ToolNode
from surehand.dialects import dialect_of, gemini
from surehand.messages import AIMessage, AIMessageChunk, HumanMessage, check_transcript
from surehand.shapes import is_array, is_object, items_of, mapping_of

genai = pytest.importorskip("google.genai")
types: Any = pytest.importorskip("google.genai.types")

Record = dict[str, Any]
ReadCall = tuple[str | None, str, Any]

KNOWS_PIECES: Final = "will_continue" in types.FunctionCall.model_fields
"""Whether the SDK that is there keeps the pieces of arguments; older ones drop them."""
EXCEPTIONS: Final[dict[str, str]] = {}
"""Part of a recording's source -> why what we read is right, and the list beside the recording is not."""
IN_PIECES: Final[dict[str, list[ReadCall]]] = {
    "google-stream-no-args-tool-call": [
        (None, "read_theme", {}),
        *((None, "read_screen", {"id": name}) for name in "ABC"),
    ],
    "google-stream-tool-call-arguments.": [
        (None, "getWeather", {"location": "Boston"}),
        (None, "getWeather", {"location": "San Francisco"}),
    ],
    "missing-terminal-function-call": [
        (
            None,
            "writeItems",
            {
                "operations": [
                    {"action": "add", "description": "Fresh red apple", "itemid": "apple_001", "price": 0.5},
                    {"action": "add", "description": "Ripe yellow banana", "itemid": "banana_001", "price": 0.3},
                ]
            },
        )
    ],
}
"""What the calls are whose arguments came in pieces: the list beside the recording has the pieces only."""
FOLDERS: Final = [folder / "provider_recordings" for folder in (committed_data(), full_data()) if folder is not None]

folders = pytest.mark.parametrize("folder", FOLDERS, ids=["committed", "full"][: len(FOLDERS)])


def records(folder: Path, file: str) -> Iterator[Record]:
    return (record for record in read_lines(folder / file) if record["api"] == "gemini.generateContent")


def expected(record: Record) -> list[ReadCall] | None:
    """The client's calls; None where they came in pieces that the recording does not put together."""
    for fragment, calls in IN_PIECES.items():
        if fragment in record["source"]:
            return calls
    if any(call["kind"] == "gemini_partial_chunk" for call in record["tool_calls"]):
        return None
    return [
        (call["id"], call["name"], call["arguments"] or {})
        for call in record["tool_calls"]
        if call["kind"] == "function"
    ]


def calls_of(message: AIMessage) -> list[ReadCall]:
    """The calls; ids that were made count as the missing ones that they stand for."""
    blocks = map(mapping_of, items_of(message.content))
    sent = [mapping_of(block["functionCall"]).get("id") for block in blocks if "functionCall" in block]
    return [(call_id, call["name"], call["args"]) for call_id, call in zip(sent, message.tool_calls, strict=True)]


def chunks(record: Record) -> list[Record]:
    return [event["data"] for event in record["events"]]


def streamed(payloads: list[Any]) -> tuple[AIMessage, AIMessageChunk]:
    stream, total = gemini.ContentStream(), AIMessageChunk()
    for payload in payloads:
        if (chunk := stream.feed(payload)) is not None:
            total += chunk
    return stream.finish(), total


def as_sent(value: Any, key: str = "") -> Any:
    """The payload with blobs that are base64 again, where the recordings have a note of their length."""
    if is_object(value):
        return {name: as_sent(inner, name) for name, inner in value.items()}
    if is_array(value):
        return [as_sent(inner) for inner in value]
    is_blob = key in ("thoughtSignature", "thought_signature", "data") and isinstance(value, str)
    return base64.b64encode(value.encode()).decode() if is_blob else value


@functools.cache
def given_by_sdk(folder: Path) -> list[tuple[Record, list[Any]]]:
    """Every recording with the objects that Google's own client makes of it, one for each chunk of a stream."""
    replies = [record for record in records(folder, "responses.jsonl") if is_of_api(record["response"])]
    streams = [
        record
        for record in records(folder, "streams.jsonl")
        if is_of_api(chunks(record)[-1]) and (KNOWS_PIECES or "willContinue" not in json.dumps(record))
    ]
    answers = [as_sent(record["response"]) for record in replies]
    with provider_server([*answers, *(Stream(as_sent(chunks(record))) for record in streams)]) as server:
        client = genai.Client(api_key="k", http_options={"base_url": server.url})
        whole = [[client.models.generate_content(model="m", contents="hi")] for _ in replies]
        pieces = [list(client.models.generate_content_stream(model="m", contents="hi")) for _ in streams]
        client.close()
    return list(zip([*replies, *streams], [*whole, *pieces], strict=True))


def is_of_api(payload: Record) -> bool:
    """Whether it is the API's JSON; two SDKs dumped numbers or names of their own for its words."""
    return isinstance(payload["candidates"][0].get("finishReason"), str)


@folders
def test_replies_give_the_recorded_calls(folder: Path) -> None:
    for record in records(folder, "responses.jsonl"):
        message = gemini.read_reply(record["response"])

        assert calls_of(message) == expected(record), record["source"]
        assert message.finish_reason is not None
        assert message.usage_metadata is not None


@folders
def test_streams_give_the_recorded_calls_and_their_chunks_the_same_sum(folder: Path) -> None:
    for record in records(folder, "streams.jsonl"):
        whole, total = streamed(chunks(record))
        calls, known = calls_of(whole), expected(record)

        assert whole.invalid_tool_calls == []
        assert calls == known if known is not None else calls, record["source"]
        assert [(c["name"], c["args"]) for c in total.tool_calls] == [(name, args) for _, name, args in calls]
        assert total.text == whole.text
        assert total.to_message().content == whole.content
        assert (total.finish_reason, total.usage_metadata) == (whole.finish_reason, whole.usage_metadata)


@folders
def test_a_stream_that_breaks_off_gives_no_call_that_had_not_ended(folder: Path) -> None:
    for record in records(folder, "streams.jsonl"):
        whole = calls_of(streamed(chunks(record))[0])
        for length in range(len(record["events"])):
            for message in streamed(chunks(record)[:length]):
                broken = {call["id"] for call in message.invalid_tool_calls}
                valid = [(c["name"], c["args"]) for c in message.tool_calls if c["id"] not in broken]
                assert valid == [(name, args) for _, name, args in whole][: len(valid)], record["source"]
                assert len(broken) <= 1


@folders
def test_objects_of_the_sdk_are_read_like_the_json_they_came_from(folder: Path) -> None:
    for record, objects in given_by_sdk(folder):
        payloads = [record["response"]] if "response" in record else chunks(record)
        read, raw = streamed(objects)[0], streamed(payloads)[0]

        assert calls_of(read) == calls_of(raw), record["source"]
        assert (read.text, read.usage_metadata, read.finish_reason) == (raw.text, raw.usage_metadata, raw.finish_reason)


@folders
def test_every_reply_goes_back_part_by_part_as_it_came(folder: Path) -> None:
    for record in records(folder, "responses.jsonl"):
        sent = record["response"]["candidates"][0]["content"]
        message = gemini.read_reply(record["response"])

        back = gemini.write_messages([HumanMessage("hi"), message, HumanMessage("go on")])[1]

        parts = [{"functionCall": {**part["functionCall"], "args": part["functionCall"].get("args", {})}, **rest(part)}
                 if "functionCall" in part else part for part in sent["parts"]]  # fmt: skip
        if isinstance(message.content, str):
            parts = [{"text": message.content}]
        assert back[1] == content("model", *parts), record["source"]


def rest(part: Part) -> Part:
    return {key: value for key, value in part.items() if key != "functionCall"}


@folders
def test_every_reply_is_answered_by_a_node_in_a_content_that_the_sdk_takes(folder: Path) -> None:
    node = ToolNode([unused])
    for record, objects in given_by_sdk(folder):
        payloads = [record["response"]] if "response" in record else chunks(record)
        expected_calls = [(call_id, name) for call_id, name, _ in calls_of(streamed(payloads)[0])]
        contents = [each.candidates[0].content for each in objects]
        for given in (payloads, objects, contents, [payload["candidates"][0]["content"] for payload in payloads]):
            answers = node.invoke(given)

            responses = [part["functionResponse"] for entry in answers for part in entry["parts"]]
            assert [(each.get("id"), each["name"]) for each in responses] == expected_calls, record["source"]
            assert all(types.Content.model_validate(entry).role == "user" for entry in answers)


def unused(x: int) -> int:
    """A tool that no recording calls."""
    return x


def shape(contents: list[Record]) -> list[Any]:
    """What the parts are, text apart, in the order in which contents of one role come to stand as one."""
    return [
        (entry["role"], kind, part[kind] if kind != "text" else None, part.get("thoughtSignature"))
        for entry in contents
        for part in entry["parts"]
        for kind in part
        if kind != "thoughtSignature" and part.get("text") != ""
    ]


@folders
def test_histories_that_need_no_repair_are_written_as_they_were_read(folder: Path) -> None:
    written = 0
    for record in records(folder, "tool_results.jsonl"):
        messages = gemini.read_messages(record["messages"])
        back = gemini.write_messages([HumanMessage("hi"), *messages])[1][1:]

        assert check_transcript(gemini.read_messages(back)) == []
        if check_transcript(messages) == []:
            assert shape(back) == shape(record["messages"]), record["source"]
            written += 1

    assert written > 0


@folders
def test_recorded_replies_are_known_whatever_they_are_held_in(folder: Path) -> None:
    for record, objects in given_by_sdk(folder):
        payload = record.get("response") or chunks(record)[0]
        for given in (payload, objects[0], payload["candidates"][0]["content"], objects[0].candidates[0].content):
            dialect = dialect_of([given])
            assert dialect is not None
            assert dialect.NAME == gemini.NAME


def test_the_recordings_are_what_these_tests_say_of_them() -> None:
    sources = json.dumps([record["source"] for folder in FOLDERS for record in records(folder, "streams.jsonl")])

    assert all(fragment in sources for fragment in IN_PIECES)
    assert EXCEPTIONS == {}
