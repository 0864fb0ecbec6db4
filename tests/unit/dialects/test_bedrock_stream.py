"""A streamed reply of Bedrock's becomes the message that it would have been as a whole."""

from __future__ import annotations

from typing import Any

import pytest

from surehand.dialects.bedrock_stream import ConverseStream
from surehand.messages import AIMessage, AIMessageChunk

Event = dict[str, Any]


def start(index: int, **block: Any) -> Event:
    return {"contentBlockStart": {"contentBlockIndex": index, "start": block}}


def delta(index: int, **block: Any) -> Event:
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": block}}


def end(index: int) -> Event:
    return {"contentBlockStop": {"contentBlockIndex": index}}


BEGIN: Event = {"messageStart": {"role": "assistant"}}
STOP: Event = {"messageStop": {"stopReason": "tool_use"}}
USAGE: Event = {
    "metadata": {"usage": {"inputTokens": 2, "outputTokens": 3, "totalTokens": 5}, "metrics": {"latencyMs": 1}}
}
CALL = [
    start(1, toolUse={"toolUseId": "a", "name": "f"}),
    delta(1, toolUse={"input": '{"x"'}),
    delta(1, toolUse={"input": ": 1}"}),
    end(1),
]


def fed(*events: Event) -> AIMessage:
    stream = ConverseStream()
    for event in events:
        stream.feed(event)
    return stream.finish()


def added(*events: Event) -> AIMessage:
    stream, total = ConverseStream(), AIMessageChunk()
    for event in events:
        chunk = stream.feed(event)
        total = total if chunk is None else total + chunk
    return total.to_message()


def test_text_call_reason_and_usage_are_put_together() -> None:
    message = fed(BEGIN, delta(0, text="Let "), delta(0, text="me."), end(0), *CALL, STOP, USAGE)

    assert message.text == "Let me."
    assert message.tool_calls == [{"id": "a", "name": "f", "args": {"x": 1}, "type": "tool_call"}]
    assert message.finish_reason == "tool_calls"
    assert message.usage_metadata == {"input_tokens": 2, "output_tokens": 3, "total_tokens": 5}


@pytest.mark.parametrize("form", ["boto3", "named", "bare"])
def test_events_are_taken_in_every_form(form: str) -> None:
    events = [BEGIN, delta(0, text="x"), *CALL, STOP, USAGE]
    named: list[Event] = [{"event": name, "data": fields} for event in events for name, fields in event.items()]
    forms: dict[str, list[Event]] = {"boto3": events, "named": named, "bare": [event["data"] for event in named]}

    assert fed(*forms[form]) == fed(*events)


def test_thoughts_come_with_their_signature() -> None:
    events = [
        BEGIN,
        delta(0, reasoningContent={"text": "h"}),
        delta(0, reasoningContent={"text": "m"}),
        delta(0, reasoningContent={"signature": "sig"}),
        delta(2, reasoningContent={"redactedContent": b"\x00"}),
        *CALL,
        STOP,
    ]

    message = fed(*events)

    assert list(message.content) == [
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "sig"}}},
        {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
        {"reasoningContent": {"redactedContent": b"\x00"}},
    ]
    assert message.additional_kwargs == {"thinking": "hm"}
    assert added(*events).content == message.content


def test_what_the_provider_runs_is_no_call_and_is_kept() -> None:
    message = fed(
        BEGIN,
        start(0, toolUse={"toolUseId": "s", "name": "code", "type": "server_tool_use"}),
        delta(0, toolUse={"input": '{"y":2}'}),
        end(0),
        start(2, toolResult={"toolUseId": "s", "type": "code_result", "status": "success"}),
        delta(2, toolResult=[{"json": {"out": 4}}]),
        *CALL,
        STOP,
    )

    assert [call["id"] for call in message.tool_calls] == ["a"]
    assert message.content[0] == {
        "toolUse": {"toolUseId": "s", "name": "code", "type": "server_tool_use", "input": {"y": 2}}
    }
    assert message.content[2] == {
        "toolResult": {"toolUseId": "s", "type": "code_result", "status": "success", "content": [{"json": {"out": 4}}]}
    }


def test_citations_and_images_are_kept() -> None:
    message = fed(
        BEGIN,
        delta(0, text="so"),
        delta(0, citation={"title": "t"}),
        start(1, image={"format": "png"}),
        delta(1, image={"source": {"bytes": b"p"}}),
        {"messageStop": {"stopReason": "end_turn"}},
    )

    assert list(message.content) == [
        {"type": "text", "text": "so", "citations": [{"title": "t"}]},
        {"image": {"format": "png", "source": {"bytes": b"p"}}},
    ]


def test_call_without_input_has_no_arguments_once_the_reply_is_complete() -> None:
    begun = [BEGIN, start(0, toolUse={"toolUseId": "a", "name": "f"})]

    assert [call["args"] for call in fed(*begun, end(0), STOP).tool_calls] == [{}]
    assert [call["id"] for call in fed(*begun).invalid_tool_calls] == ["a"]


@pytest.mark.parametrize(
    "failure",
    [
        {"throttlingException": {"message": "slow down"}},
        {"event": "throttlingException", "data": {"message": "slow down"}},
    ],
)
def test_exception_in_a_stream_ends_it_without_a_reason(failure: Event) -> None:
    message = fed(BEGIN, *CALL[:2], failure)

    assert message.response_metadata["error"] == {"type": "throttlingException", "message": "slow down"}
    assert message.finish_reason is None
    assert len(message.invalid_tool_calls) == 1
    assert added(BEGIN, *CALL[:2], failure) == message


def test_start_without_a_stop_begins_anew() -> None:
    events = [BEGIN, delta(0, text="lost"), BEGIN, delta(0, text="kept"), STOP]

    assert fed(*events).content == "kept"
    assert added(*events).content == "kept"


@pytest.mark.parametrize(
    "event", [{}, {"contentBlockDelta": None}, {"contentBlockDelta": {"contentBlockIndex": 0}}, {"x": 1}]
)
def test_event_that_says_nothing_adds_nothing(event: Event) -> None:
    assert ConverseStream().feed(event) is None
