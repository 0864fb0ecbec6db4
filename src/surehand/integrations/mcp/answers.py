"""A tool message as the result of ``tools/call``."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from mcp.types import AudioContent, CallToolResult, ContentBlock, ImageContent, TextContent

from surehand.calls import ToolReturn
from surehand.dialects.blocks import answer_text
from surehand.integrations.mcp.outputs import Output
from surehand.integrations.mcp.requests import Request
from surehand.messages import ToolMessage
from surehand.shapes import is_object, mapping_of

__all__ = ["answered", "handed_on"]

logger = logging.getLogger("surehand.mcp")

_KINDS: Final = {"image": "image/png", "audio": "audio/wav", "input_image": "image/png", "input_audio": "audio/wav"}
"""Block types that hold bytes, and the type of bytes that do not say theirs."""


def answered(message: ToolMessage, value: Any, output: Output | None, request: Request) -> CallToolResult:
    """The result that a client is given.

    A client that was told an output schema refuses a result without data that fits it, and its model never learns that
    the call was carried out. So a result that does not fit goes as an error, which needs no data, and says what it is.

    Args:
        message: The answer to the call.
        value: What the tool returned.
        output: What the tool is said to return; None where nothing was said.
        request: What the client asked.
    """
    content = message.content
    blocks: list[ContentBlock] = [_text(content)] if isinstance(content, str) else [_block(item) for item in content]
    if message.status == "error":
        return CallToolResult(content=blocks, is_error=True)
    if output is None:
        return CallToolResult(content=blocks)
    data = output.data(value, message)
    if data is None:
        return _without_data(message, blocks, "is not of the form that the tool declares")
    if not request.takes(data):
        return _without_data(message, blocks, "is too large to be given as data over this connection")
    return CallToolResult(content=blocks, structured_content=data)


def handed_on(message: ToolMessage, value: Any, request: Request) -> CallToolResult:
    """The result of a tool of another server, with the data that came from there; no schema was told for it."""
    result = answered(message, value, None, request)
    artifact = value.artifact if isinstance(value, ToolReturn) else None
    data = mapping_of(artifact).get("structured_content")
    if result.is_error or not is_object(data) or not request.takes(data):
        return result
    return CallToolResult(content=result.content, structured_content=dict(data))


def _without_data(message: ToolMessage, blocks: list[ContentBlock], why: str) -> CallToolResult:
    logger.warning("the result of the tool %s %s", message.name, why)
    words = f"The call was carried out, so do not repeat it. Its result {why}, and is given as text:"
    return CallToolResult(content=[_text(words), *blocks], is_error=True)


def _block(item: Any) -> ContentBlock:
    if not is_object(item):
        return _text(str(item))
    return _media(item) or _text(answer_text(item))


def _media(block: Mapping[str, Any]) -> ContentBlock | None:
    """The block with its bytes; None where it holds none."""
    kind = str(block.get("type"))
    if kind == "image_url":
        return _of_url(mapping_of(block.get("image_url")).get("url"))
    if kind not in _KINDS:
        return None
    source = mapping_of(block.get("source")) or mapping_of(block.get("input_audio")) or block
    data = next((source[key] for key in ("base64", "data") if isinstance(source.get(key), str)), None)
    if data is None:
        return _of_url(block.get("image_url"))
    named = next((source[key] for key in ("mime_type", "media_type", "mimeType") if key in source), _KINDS[kind])
    return _bytes(str(named), data)


def _of_url(url: object) -> ContentBlock | None:
    head, comma, data = str(url).partition(",")
    is_inline = head.startswith("data:") and head.endswith(";base64") and comma
    return _bytes(head.removeprefix("data:").removesuffix(";base64"), data) if is_inline else None


def _bytes(kind: str, data: str) -> ContentBlock:
    if kind.startswith("audio/"):
        return AudioContent(data=data, mime_type=kind)
    return ImageContent(data=data, mime_type=kind)


def _text(text: str) -> TextContent:
    return TextContent(text=text)
