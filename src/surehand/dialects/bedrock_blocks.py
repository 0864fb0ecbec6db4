"""Bedrock's content blocks: objects of one key, which says what they are.

Texts, calls and answers are read in the form that they have elsewhere, so that every part of this library knows them;
all others stay as they came. Files are bytes where boto3 made them. They have to stay bytes: boto3 encodes a text in
their place once more, and the model is shown the encoding.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Collection, Mapping
from typing import Any, Final

from surehand.dialects.blocks import answer_text, anthropic_answer_block, simple, typed_block
from surehand.dialects.wire import clean, clean_text
from surehand.shapes import items_of, mapping_of

__all__ = ["ANSWER_BLOCKS", "BLOCKS", "is_block", "is_server_side", "kept", "read_blocks", "written_block"]

ANSWER_BLOCKS: Final = frozenset({"text", "json", "image", "document", "video", "searchResult"})
"""What a ``toolResult`` may hold."""
BLOCKS: Final = ANSWER_BLOCKS - {"json"} | {
    "audio",
    "toolUse",
    "toolResult",
    "guardContent",
    "cachePoint",
    "reasoningContent",
    "citationsContent",
    "toolAddition",
    "toolRemoval",
}
"""What a message may hold."""
_IMAGES: Final[Mapping[object, str]] = {f"image/{kind}": kind for kind in ("png", "jpeg", "gif", "webp")}
_BINARY: Final = frozenset({"bytes", "redactedContent"})
"""The fields that hold bytes; a message that was stored has them as text."""
_STORED: Final = str.maketrans("-_", "+/")
"""Stored bytes are in the other alphabet of base64."""
_DEEPEST: Final = 8
"""Levels of a block that can have bytes in it; what is deeper is JSON of a tool's."""


def is_block(block: object, kinds: Collection[str] = BLOCKS) -> bool:
    """Whether it is one of Bedrock's blocks and nobody else's: the others' have a type."""
    fields = mapping_of(block)
    return "type" not in fields and any(kind in fields for kind in kinds)


def is_server_side(block: Mapping[str, Any]) -> bool:
    """Whether a ``toolUse`` is a call that the provider runs itself: its type says who does."""
    kind: object = mapping_of(block.get("toolUse")).get("type", "tool_use")
    return kind != "tool_use"


def read_blocks(content: object, role: object) -> list[dict[str, Any]]:
    """The blocks of a message: texts, our calls and the answers to them in the form they have elsewhere.

    Args:
        content: Its content, a list or a text.
        role: Whose message it is: a result beside the model's own words is the provider's, not ours.
    """
    blocks = [{"text": content}] if isinstance(content, str) else items_of(content)
    return [_read_block(mapping_of(block), role) for block in blocks]


def _read_block(block: Mapping[str, Any], role: object) -> dict[str, Any]:
    call, answer = mapping_of(block.get("toolUse")), mapping_of(block.get("toolResult"))
    if call and not is_server_side(block):
        return {"type": "tool_use", "id": call.get("toolUseId"), "name": call.get("name"), "input": call.get("input")}
    if answer and role == "user":
        return {
            "type": "tool_result",
            "tool_use_id": answer.get("toolUseId"),
            "content": simple(read_blocks(answer.get("content"), None)),
            "is_error": answer.get("status") == "error",
        }
    cited = mapping_of(block.get("citationsContent"))
    if cited:
        texts = [str(mapping_of(part).get("text") or "") for part in items_of(cited.get("content"))]
        return {"type": "text", "text": "".join(texts), "citations": items_of(cited.get("citations"))}
    return {"type": "text", "text": block["text"]} if isinstance(block.get("text"), str) else dict(block)


def written_block(block: str | Mapping[str, Any], kinds: Collection[str]) -> dict[str, Any] | None:
    """The block as Bedrock takes it, foreign images and files as its own; None for a text that says nothing.

    Args:
        block: In Bedrock's form or another provider's.
        kinds: Which blocks are taken in its place; what cannot be carried there is told as text.
    """
    if isinstance(block, str):
        return _text(block)
    if is_block(block, kinds) or block.get("type") == "json":
        return _text(block["text"]) if "text" in block else _json(block) if "json" in block else kept(block)
    if "citationsContent" in kinds and (citations := _own_citations(block)):
        text = _text(block.get("text"))
        return text and {"citationsContent": {"content": [text], "citations": kept(citations)}}
    return _file(anthropic_answer_block(typed_block(block))) or _told(block)


def _file(form: Mapping[str, Any]) -> dict[str, Any] | None:
    """An image or a document, from Anthropic's form, which all forms can be brought to; None where there is none."""
    source = mapping_of(form.get("source"))
    data = _decoded(source.get("data")) if source.get("type") == "base64" else None
    if data is None:
        return None
    if form.get("type") == "image":
        return {"image": {"format": _IMAGES.get(source.get("media_type"), "png"), "source": {"bytes": data}}}
    # Two documents of one name are refused.
    name = f"document {hashlib.sha256(data).hexdigest()[:8]}"
    return {"document": {"format": "pdf", "name": name, "source": {"bytes": data}}}


def _text(text: object) -> dict[str, Any] | None:
    return {"text": clean_text(text)} if isinstance(text, str) and text.strip() else None


def _told(block: Mapping[str, Any]) -> dict[str, Any] | None:
    """A block that cannot be carried, as text; a mark for the cache is nothing to be told of."""
    if "type" in block or "text" in block:
        return _text(answer_text(block))
    return None if "cachePoint" in block else _text(answer_text({"type": next(iter(block), "unknown")}))


def _json(block: Mapping[str, Any]) -> dict[str, Any] | None:
    """An object as JSON, anything else as its text: the API refuses lists and plain values."""
    value: object = clean(block.get("json"))
    return {"json": value} if isinstance(value, dict) else _text(json.dumps(value, ensure_ascii=False))


def _own_citations(block: Mapping[str, Any]) -> list[Any]:
    """A text's citations, but for another provider's, which have a type."""
    return [citation for citation in items_of(block.get("citations")) if "type" not in mapping_of(citation)]


def _decoded(data: object) -> bytes | None:
    try:
        return base64.b64decode(data.translate(_STORED), validate=True) if isinstance(data, str) and data else None
    except (binascii.Error, ValueError):
        return None


def kept(value: Any, depth: int = 0) -> Any:
    """The value as strict JSON, but for bytes, which stay what they are, and become it again after they were stored."""
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    fields, items = mapping_of(value), items_of(value)
    if depth < _DEEPEST and fields:
        return {clean_text(str(key)): _as_bytes(item, key) or kept(item, depth + 1) for key, item in fields.items()}
    if depth < _DEEPEST and items:
        return [kept(item, depth + 1) for item in items]
    return clean(value)


def _as_bytes(value: object, key: object) -> bytes | None:
    """The bytes that a text in base64 stands for; None where it stands for none."""
    return _decoded(value) if key in _BINARY else None
