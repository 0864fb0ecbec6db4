"""Recorded provider replies, served over HTTP to the official SDKs, come out as the calls that were recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from support.data import full_data
from support.provider_server import Served, Stream, provider_server
from support.recordings import exception_of
from surehand import AIMessage, ChatAnthropic, ChatOpenAI
from surehand.concurrency import run_sync
from surehand.errors import MalformedArguments
from surehand.grammar import parse_arguments

COMMITTED = Path(__file__).parents[2] / "data" / "provider_recordings"
CLIENT_SIDE = {"function", "tool_use", "custom", "legacy_function_call"}
"""Kinds of calls that the client runs; the others were run by the provider."""

Record = dict[str, Any]


def _folders() -> list[Path]:
    full = full_data()
    return [COMMITTED] if full is None else [COMMITTED, full / "provider_recordings"]


def _records(folder: Path, file: str, api: str) -> list[Record]:
    lines = (folder / file).read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    return [record for record in records if record["api"] == api and not _has_choices(record)]


def _has_choices(record: Record) -> bool:
    """Whether several alternative answers were asked for, which no model of ours does."""
    payloads: list[Any] = [record["response"]] if "response" in record else [e["data"] for e in record["events"]]
    found: list[Any] = [
        cast("Record", payload).get("choices") or [] for payload in payloads if isinstance(payload, dict)
    ]
    return any(choice.get("index") for choices in found for choice in choices)


def _expected(record: Record) -> list[tuple[str | None, str, Any]]:
    if record["api"] == "openai.responses" and exception_of(record):
        return []
    calls = [call for call in record["tool_calls"] if call["kind"] in CLIENT_SIDE and not _is_placeholder(call)]
    return [(call["id"], call["name"], _arguments(call)) for call in calls]


def _is_placeholder(call: Record) -> bool:
    """Whether it is an entry without a name and without arguments, which one provider sends and nobody can mean."""
    return not call["name"] and not call["arguments"]


def _arguments(call: Record) -> Any:
    if call["kind"] == "custom":
        return {"input": call["arguments"]}
    try:
        return parse_arguments(call["arguments"] or call.get("start_input")).value
    except MalformedArguments:
        return call["arguments"]


def _read(message: AIMessage, expected: list[tuple[str | None, str, Any]]) -> list[tuple[str | None, str, Any]]:
    """The message's calls, with None for the ids that the recording has none for or has twice."""
    ids = [call_id for call_id, _, _ in expected]
    unique = [call_id if call_id and ids.index(call_id) == place else None for place, call_id in enumerate(ids)]
    read = [
        (call["id"] if place < len(unique) and unique[place] else None, call["name"], call["args"])
        for place, call in enumerate(message.tool_calls)
    ]
    for place, call_id in enumerate(unique):
        expected[place] = (call_id, *expected[place][1:])
    return read


def _model(api: str, url: str) -> ChatOpenAI | ChatAnthropic:
    if api.startswith("openai."):
        kind: Any = api.removeprefix("openai.")
        return ChatOpenAI("recorded", api=kind, api_key="test", base_url=f"{url}/v1", max_retries=0)
    return ChatAnthropic("recorded", api_key="test", base_url=url, max_retries=0)


def _differences(records: list[Record], messages: list[AIMessage]) -> list[str]:
    found: list[str] = []
    for record, message in zip(records, messages, strict=True):
        expected = _expected(record)
        read = _read(message, expected)
        if read != expected:
            found.append(f"{record['source']}: expected {expected}, read {read}")
    return found


@pytest.mark.parametrize("api", ["openai.chat", "openai.responses", "anthropic.messages"])
@pytest.mark.parametrize("folder", _folders(), ids=lambda folder: folder.parent.name)
def test_every_recorded_reply_gives_its_calls(folder: Path, api: str) -> None:
    records = _records(folder, "responses.jsonl", api)
    assert records

    async def ask(model: ChatOpenAI | ChatAnthropic) -> list[AIMessage]:
        return [await model.ainvoke("hi") for _ in records]

    with provider_server(Served(record["response"]) for record in records) as server:
        messages = run_sync(lambda: ask(_model(api, server.url)))

    assert _differences(records, messages) == []


@pytest.mark.parametrize("api", ["openai.chat", "openai.responses", "anthropic.messages"])
@pytest.mark.parametrize("folder", _folders(), ids=lambda folder: folder.parent.name)
def test_every_recorded_stream_gives_its_calls(folder: Path, api: str) -> None:
    records = _records(folder, "streams.jsonl", api)
    assert records

    async def ask(model: ChatOpenAI | ChatAnthropic) -> list[AIMessage]:
        return [await _summed(model) for _ in records]

    with provider_server(Stream(record["events"]) for record in records) as server:
        messages = run_sync(lambda: ask(_model(api, server.url)))

    assert _differences(records, messages) == []


async def _summed(model: ChatOpenAI | ChatAnthropic) -> AIMessage:
    pieces = [piece async for piece in model.astream("hi")]
    whole = pieces[0]
    for piece in pieces[1:]:
        whole = whole + piece
    return cast("AIMessage", whole)
