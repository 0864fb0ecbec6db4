"""Whatever is called and answered, Bedrock, Cohere and Ollama are sent it, and it is read again as it was."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehand.dialects import bedrock_converse, cohere_chat, dialect_of, ollama_chat
from surehand.messages import AIMessage, AIMessageChunk, HumanMessage, Message, ToolMessage, check_transcript

Fields = dict[str, Any]
Written = list[Fields]

TEXTS = st.text(max_size=6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["f", "g", "look_up", "a-b"])
ARGUMENTS = st.dictionaries(TEXTS, JSON, max_size=3)
JUNK = ARGUMENTS | st.sampled_from(["{", "", None, "[1]", '{"a": \ud800}']) | JSON


@st.composite
def turns(draw: st.DrawFn) -> list[Message]:
    """A question, calls, and an answer to each of them."""
    names = draw(st.lists(NAMES, max_size=4))
    entries = [{"id": f"c{place}", "name": name, "args": draw(ARGUMENTS)} for place, name in enumerate(names)]
    said = draw(TEXTS)
    message = AIMessage(said, tool_calls=entries)
    answers = [
        ToolMessage(
            draw(TEXTS), tool_call_id=call["id"], name=call["name"], status=draw(st.sampled_from(["success", "error"]))
        )
        for call in message.tool_calls
    ]
    return [HumanMessage(draw(TEXTS)), message, *answers]


def converse(messages: list[Message]) -> Written:
    return bedrock_converse.write_messages(messages)[1]


WRITERS: Final[dict[str, tuple[Any, Callable[[list[Message]], Written]]]] = {
    "bedrock": (bedrock_converse, converse),
    "cohere": (cohere_chat, cohere_chat.write_messages),
    "ollama": (ollama_chat, ollama_chat.write_messages),
}
writers = pytest.mark.parametrize(("module", "write"), WRITERS.values(), ids=list(WRITERS))


def calls_of(messages: list[Message]) -> list[Any]:
    return [
        (call["id"], call["name"], call["args"])
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    ]


def answers_of(messages: list[Message]) -> list[Any]:
    return [
        (message.tool_call_id, message.text if message.text.strip() else "(no output)")
        for message in messages
        if isinstance(message, ToolMessage)
    ]


@writers
@given(turns())
def test_turn_is_read_as_it_was_written(
    module: Any, write: Callable[[list[Message]], Written], messages: list[Message]
) -> None:
    read: list[Message] = module.read_messages(write(messages))

    assert calls_of(read) == calls_of(messages)
    assert answers_of(read) == answers_of(messages)
    assert check_transcript(read) == []


@given(turns())
def test_bedrock_keeps_which_answers_are_failures(messages: list[Message]) -> None:
    read = bedrock_converse.read_messages(converse(messages))

    statuses = [message.status for message in messages if isinstance(message, ToolMessage)]
    assert [message.status for message in read if isinstance(message, ToolMessage)] == statuses


@writers
@given(st.lists(st.tuples(TEXTS, st.text(max_size=3), JUNK), max_size=4), TEXTS)
def test_whatever_a_model_sent_is_written_as_strict_json_and_known(
    module: Any, write: Callable[[list[Message]], Written], sent: list[tuple[str, str, Any]], said: str
) -> None:
    entries = [{"id": call_id, "name": name, "args": args} for call_id, name, args in sent]
    written = write([HumanMessage(said), AIMessage(said, tool_calls=entries)])

    text = json.dumps(written, allow_nan=False, ensure_ascii=False)
    text.encode()
    assert all(item.get("content") != "" or item.get("tool_calls") for item in written)
    assert [message.type for message in module.read_messages(written)[:2]] == ["human", "ai"]
    assert check_transcript(module.read_messages(written)) == []


@given(st.binary(min_size=1, max_size=20), st.sampled_from(["png", "jpeg", "gif", "webp"]))
def test_bytes_survive_bedrock_both_ways(data: bytes, kind: str) -> None:
    foreign = {"type": "image", "data": base64.b64encode(data).decode(), "mimeType": f"image/{kind}"}
    own: Fields = {"image": {"format": kind, "source": {"bytes": data}}}

    written = converse([HumanMessage([foreign, own])])

    assert written[0]["content"] == [own, own]
    assert converse(bedrock_converse.read_messages(written)) == written


@st.composite
def pieces(draw: st.DrawFn) -> tuple[str, list[str]]:
    """Arguments as a text, and the text in pieces."""
    text = json.dumps(draw(ARGUMENTS))
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4)))
    return text, [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def converse_events(calls: list[list[str]]) -> list[Fields]:
    events: list[Fields] = [{"messageStart": {"role": "assistant"}}]
    for index, texts in enumerate(calls):
        start = {"toolUse": {"toolUseId": f"c{index}", "name": "f"}}
        events.append({"contentBlockStart": {"contentBlockIndex": index, "start": start}})
        events += [
            {"contentBlockDelta": {"contentBlockIndex": index, "delta": {"toolUse": {"input": text}}}} for text in texts
        ]
        events.append({"contentBlockStop": {"contentBlockIndex": index}})
    return [*events, {"messageStop": {"stopReason": "tool_use"}}]


def cohere_events(calls: list[list[str]]) -> list[Fields]:
    events: list[Fields] = [{"type": "message-start", "id": "r", "delta": {"message": {"role": "assistant"}}}]
    for index, texts in enumerate(calls):
        start = {"id": f"c{index}", "type": "function", "function": {"name": "f", "arguments": ""}}
        events.append({"type": "tool-call-start", "index": index, "delta": {"message": {"tool_calls": start}}})
        for text in texts:
            piece = {"function": {"arguments": text}}
            events.append({"type": "tool-call-delta", "index": index, "delta": {"message": {"tool_calls": piece}}})
        events.append({"type": "tool-call-end", "index": index})
    return [*events, {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL"}}]


STREAMS: Final[dict[str, tuple[Any, Callable[[list[list[str]]], list[Fields]]]]] = {
    "bedrock": (bedrock_converse.ConverseStream, converse_events),
    "cohere": (cohere_chat.CohereStream, cohere_events),
}


@pytest.mark.parametrize(("make", "events_of"), STREAMS.values(), ids=list(STREAMS))
@given(st.lists(pieces(), min_size=1, max_size=3))
def test_cut_stream_has_no_complete_call_that_was_not(
    make: Any, events_of: Callable[[list[list[str]]], list[Fields]], sent: list[tuple[str, list[str]]]
) -> None:
    whole = [(f"c{place}", "f", json.loads(text)) for place, (text, _) in enumerate(sent)]
    stream, total = make(), AIMessageChunk()
    for event in events_of([texts for _, texts in sent]):
        chunk = stream.feed(event)
        total = total if chunk is None else total + chunk
        for message in (stream.finish(), total.to_message()):
            invalid = {call["id"] for call in message.invalid_tool_calls}
            assert [call for call in calls_of([message]) if call[0] not in invalid] == whole[
                : len(message.tool_calls) - len(invalid)
            ]

    assert calls_of([stream.finish()]) == calls_of([total.to_message()]) == whole


KEYS: Final = [
    *("type", "event", "data", "delta", "message", "index", "start", "role", "content", "usage", "done", "id", "name"),
    *(
        "contentBlockIndex",
        "contentBlockStart",
        "contentBlockDelta",
        "metadata",
        "toolUse",
        "reasoningContent",
        "input",
    ),
    *("tool_calls", "function", "arguments", "text", "thinking", "output", "stopReason", "finish_reason", "image"),
    "xException",
]
JUNK_EVENTS = st.dictionaries(
    st.sampled_from(KEYS),
    st.recursive(
        st.none() | st.integers(0, 2) | st.sampled_from(["tool-call-start", "content-delta", "message-end", "x", "{"]),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
        max_leaves=5,
    ),
    max_size=4,
)


@pytest.mark.parametrize("make", [bedrock_converse.ConverseStream, cohere_chat.CohereStream, ollama_chat.OllamaStream])
@given(st.lists(JUNK_EVENTS, max_size=5))
def test_no_junk_stops_a_stream(make: Any, events: list[Mapping[str, Any]]) -> None:
    stream = make()
    for event in events:
        stream.feed(event)

    dialect_of(events)
    assert isinstance(stream.finish(), AIMessage)
