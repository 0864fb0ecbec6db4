"""A stream of InvokeModel is Anthropic's in other frames."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from surehand.dialects.anthropic_messages import MessageStream
from surehand.dialects.bedrock_invoke import InvokeStream

Event = dict[str, Any]

EVENTS: list[Event] = [
    {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 1}}},
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "tool_use", "id": "a", "name": "f", "input": {}},
    },
    {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"x": 1}'}},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop", "amazon-bedrock-invocationMetrics": {"inputTokenCount": 1}},
]


def chunk(event: Event) -> Event:
    return {"chunk": {"bytes": json.dumps(event).encode()}}


def on_the_wire(event: Event) -> Event:
    return {"bytes": base64.b64encode(json.dumps(event).encode()).decode(), "p": "abcd"}


@pytest.mark.parametrize("frame", [chunk, on_the_wire, dict])
def test_frames_hold_anthropics_events(frame: Any) -> None:
    stream, plain = InvokeStream(), MessageStream()
    for event in EVENTS:
        stream.feed(frame(event))
        plain.feed(event)

    assert stream.finish() == plain.finish()
    assert [call["args"] for call in stream.finish().tool_calls] == [{"x": 1}]


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        ({"modelTimeoutException": {"message": "late"}}, "modelTimeoutException"),
        ({"chunk": {"bytes": b"{"}}, "unreadable"),
        ({"bytes": "%"}, "unreadable"),
        ({"bytes": 5}, "unreadable"),
    ],
)
def test_failure_ends_the_stream_without_a_reason(frame: Event, kind: str) -> None:
    stream = InvokeStream()
    for event in EVENTS[:2]:
        stream.feed(chunk(event))
    stream.feed(frame)

    message = stream.finish()
    assert message.response_metadata["error"]["type"] == kind
    assert message.finish_reason is None
    assert len(message.invalid_tool_calls) == 1
