"""Bedrock's InvokeModel with a body of Anthropic's.

The bodies are Anthropic's Messages, and ``anthropic_messages`` reads and writes them; a request names the
``anthropic_version`` where Anthropic's own names the model. What is Bedrock's is the frame of a stream: events come as
bytes inside a ``chunk``, and a failure is an event of its own.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

from surehand.dialects.anthropic_messages import MessageStream
from surehand.dialects.wire import payload_of
from surehand.shapes import mapping_of

__all__ = ["InvokeStream"]


class InvokeStream(MessageStream):
    """Puts the frames of ``invoke_model_with_response_stream`` together.

    Feed every frame: as boto3 gives it (``{"chunk": {"bytes": b"…"}}``), the JSON that it is on the wire
    (``{"bytes": "<base64>"}``), or an event of Anthropic's that was unpacked already.
    """

    def _fields_of(self, event: object) -> Mapping[str, Any]:
        return _unpacked(payload_of(event))


def _unpacked(frame: Mapping[str, Any]) -> Mapping[str, Any]:
    body: Any = (mapping_of(frame.get("chunk")) or frame).get("bytes")
    if body is None:
        failure = next((key for key in frame if key.endswith("Exception")), None)
        return frame if failure is None else {"type": "error", "error": {"type": failure, **mapping_of(frame[failure])}}
    try:
        text = base64.b64decode(body, validate=True) if isinstance(body, str) else body
        return mapping_of(json.loads(text))
    except (binascii.Error, TypeError, ValueError):
        return {"type": "error", "error": {"type": "unreadable", "message": "A chunk holds no JSON."}}
