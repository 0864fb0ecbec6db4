"""AWS' framing of streams: a prelude, typed headers, a payload, each half with its checksum.

The format: https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html, where the frames of all
services are described.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from support.provider_server import Served

__all__ = ["converse_stream", "frame", "invoke_stream"]

_CONTENT_TYPE: Final = "application/vnd.amazon.eventstream"
_TEXT: Final = 7
"""The type of a header that is a text."""


def frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    """One message of a stream."""
    head = b"".join(_header(name, value) for name, value in headers.items())
    length = 4 + 4 + 4 + len(head) + len(payload) + 4
    prelude = struct.pack("!II", length, len(head))
    message = prelude + struct.pack("!I", zlib.crc32(prelude)) + head + payload
    return message + struct.pack("!I", zlib.crc32(message))


def _header(name: str, value: str) -> bytes:
    key, text = name.encode(), value.encode()
    return struct.pack("!B", len(key)) + key + struct.pack("!BH", _TEXT, len(text)) + text


def _event(name: str, fields: Mapping[str, Any]) -> bytes:
    word = "exception" if name.endswith("Exception") else "event"
    headers = {f":{word}-type": name, ":content-type": "application/json", ":message-type": word}
    return frame(headers, json.dumps(fields).encode())


def converse_stream(events: Iterable[Mapping[str, Any]], *, is_cut_off: bool = False) -> Served:
    """The events of ConverseStream, each as ``{name: fields}``; one whose name ends in Exception is an exception."""
    body = b"".join(_event(name, fields) for event in events for name, fields in event.items())
    return Served(body, content_type=_CONTENT_TYPE, is_cut_off=is_cut_off)


def invoke_stream(events: Iterable[Mapping[str, Any]]) -> Served:
    """The model's own events, as InvokeModelWithResponseStream wraps them."""
    chunks = ({"bytes": base64.b64encode(json.dumps(event).encode()).decode(), "p": "ab"} for event in events)
    return Served(b"".join(_event("chunk", chunk) for chunk in chunks), content_type=_CONTENT_TYPE)
