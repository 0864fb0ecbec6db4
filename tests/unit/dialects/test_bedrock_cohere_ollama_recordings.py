"""Recorded replies of Bedrock, Cohere and Ollama: pieces add up, and every reply goes back as it came.

That the recorded calls are read, and histories written as they were, is asked of all dialects together in
``test_every_recording``.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from support.data import committed_data, full_data, read_lines
from surehand.dialects import dialect_of
from surehand.dialects.bedrock_converse import ConverseStream
from surehand.dialects.bedrock_invoke import InvokeStream
from surehand.dialects.cohere_chat import CohereStream
from surehand.messages import AIMessage, AIMessageChunk, HumanMessage, Message, check_transcript
from surehand.shapes import is_array

Record = dict[str, Any]

EXCEPTIONS: Final[dict[str, str]] = {}
"""Part of a recording's source -> why it is left out; there is none."""
MODULES: Final = {
    "bedrock.converse": "bedrock_converse",
    "bedrock.invoke.anthropic": "anthropic_messages",
    "cohere.v2.chat": "cohere_chat",
    "ollama.chat": "ollama_chat",
}
STREAMS: Final[dict[str, Any]] = {
    "bedrock.converse": ConverseStream,
    "bedrock.invoke.anthropic": InvokeStream,
    "cohere.v2.chat": CohereStream,
}
FOLDERS: Final = [folder / "provider_recordings" for folder in (committed_data(), full_data()) if folder is not None]

folders = pytest.mark.parametrize("folder", FOLDERS, ids=["committed", "full"][: len(FOLDERS)])
apis = pytest.mark.parametrize("api", list(MODULES))


def module_of(api: str) -> Any:
    return importlib.import_module(f"surehand.dialects.{MODULES[api]}")


def records(folder: Path, file: str, api: str) -> Iterator[Record]:
    for record in read_lines(folder / file):
        if record["api"] == api and not any(part in record["source"] for part in EXCEPTIONS):
            yield record


def calls_of(message: AIMessage) -> list[Any]:
    return [(call["id"], call["name"], call["args"]) for call in message.tool_calls]


def messages_of(module: Any, messages: list[Message]) -> list[Any]:
    written: Any = module.write_messages(messages)
    items: list[Any] = written if is_array(written) else written[1]
    return items


@folders
@apis
def test_reply_is_known_and_comes_out_of_a_history_as_it_went_in(folder: Path, api: str) -> None:
    module = module_of(api)
    for record in records(folder, "responses.jsonl", api):
        message = module.read_reply(record["response"])
        written = messages_of(module, [HumanMessage("hi"), message])
        again = module.read_messages(written)

        dialect = dialect_of([record["response"]])
        assert dialect is module, record["source"]
        assert calls_of(again[1]) == calls_of(message), record["source"]
        assert check_transcript(again) == []
        assert message.finish_reason in ("tool_calls", "stop"), record["source"]
        assert message.usage_metadata["total_tokens"] > 0


@folders
@apis
def test_message_of_a_reply_alone_is_known(folder: Path, api: str) -> None:
    for record in records(folder, "responses.jsonl", api):
        reply = record["response"]
        message = reply.get("output", reply).get("message", reply)

        assert dialect_of([message]) is module_of(api), record["source"]


@folders
def test_bedrocks_content_goes_back_block_for_block(folder: Path) -> None:
    module = module_of("bedrock.converse")
    for record in records(folder, "responses.jsonl", "bedrock.converse"):
        _, written = module.write_messages([HumanMessage("hi"), module.read_reply(record["response"])])
        sent = [plain(block) for block in record["response"]["output"]["message"]["content"]]

        assert written[1]["content"] == sent, record["source"]


def plain(block: Record) -> Record:
    """A recorded block without the type that tells of a call or a text no more than its key does."""
    call = block.get("toolUse")
    if call is not None and call.get("type") == "tool_use":
        return {"toolUse": {key: value for key, value in call.items() if key != "type"}}
    return {"text": block["text"]} if block.get("type") == "text" else block


@folders
@pytest.mark.parametrize("api", list(STREAMS))
def test_chunks_add_up_to_the_assembled_message(folder: Path, api: str) -> None:
    for record in records(folder, "streams.jsonl", api):
        stream, total = STREAMS[api](), AIMessageChunk()
        for event in record["events"]:
            chunk = stream.feed(event if api == "bedrock.converse" else event["data"])
            total = total if chunk is None else total + chunk

        whole, added = stream.finish(), total.to_message()
        assert calls_of(added) == calls_of(whole), record["source"]
        assert (added.content, added.finish_reason) == (whole.content, whole.finish_reason), record["source"]
        assert (added.usage_metadata, added.additional_kwargs) == (whole.usage_metadata, whole.additional_kwargs)


@folders
@pytest.mark.parametrize("api", list(STREAMS))
def test_stream_cut_at_any_frame_gives_no_complete_call_that_was_not(folder: Path, api: str) -> None:
    for record in records(folder, "streams.jsonl", api):
        stream, seen = STREAMS[api](), list[Any]()
        for event in record["events"]:
            stream.feed(event if api == "bedrock.converse" else event["data"])
            message = stream.finish()
            invalid = {call["id"] for call in message.invalid_tool_calls}
            seen.append([call for call in calls_of(message) if call[0] not in invalid])

        for complete in seen:
            assert complete == seen[-1][: len(complete)], record["source"]
