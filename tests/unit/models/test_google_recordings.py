"""Recorded replies of Gemini, served over HTTP to Google's SDK, come out of a model as the calls that were recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from support.data import committed_data, full_data, read_lines
from support.provider_server import Stream, provider_server
from surehand import AIMessage, AIMessageChunk
from surehand.concurrency import run_sync
from surehand.dialects import gemini
from surehand.models import ChatGoogle

Record = dict[str, Any]

FOLDERS: Final = [folder / "provider_recordings" for folder in (committed_data(), full_data()) if folder is not None]

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
folders = pytest.mark.parametrize("folder", FOLDERS, ids=["committed", "full"][: len(FOLDERS)])


def records(folder: Path, file: str) -> list[Record]:
    return [record for record in read_lines(folder / file) if record["api"] == "gemini.generateContent"]


def calls_of(message: AIMessage) -> list[tuple[str, Any]]:
    return [(call["name"], call["args"]) for call in message.tool_calls]


@folders
def test_replies_come_through_the_sdk_as_they_were_sent(folder: Path) -> None:
    recorded = records(folder, "responses.jsonl")
    with provider_server([record["response"] for record in recorded]) as server:
        model = ChatGoogle("gemini-3-flash", api_key="k", base_url=server.url, max_retries=0)
        messages = [model.invoke("hi") for _ in recorded]
        run_sync(model.aclose)

    for record, message in zip(recorded, messages, strict=True):
        expected = [call for call in record["tool_calls"] if call["kind"] == "function"]
        assert calls_of(message) == [(call["name"], call["arguments"]) for call in expected], record["source"]
        assert message.content == gemini.read_reply(record["response"]).content


@folders
def test_streams_come_through_the_sdk_as_they_were_sent(folder: Path) -> None:
    recorded = records(folder, "streams.jsonl")
    frames = [[event["data"] for event in record["events"]] for record in recorded]
    sums: list[AIMessageChunk] = []
    with provider_server([Stream(each) for each in frames]) as server:
        model = ChatGoogle("gemini-3-flash", api_key="k", base_url=server.url, max_retries=0)
        for _ in recorded:
            total = AIMessageChunk()
            for piece in model.stream("hi"):
                total += piece
            sums.append(total)
        run_sync(model.aclose)

    for each, total in zip(frames, sums, strict=True):
        stream = gemini.ContentStream()
        for frame in each:
            stream.feed(frame)
        assert calls_of(total) == calls_of(stream.finish())
        assert total.to_message().content == stream.finish().content
