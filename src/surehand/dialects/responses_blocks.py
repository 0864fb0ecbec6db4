"""Texts, images and files as OpenAI's Responses take them, from a user and as the answer to a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from surehand.dialects.blocks import answer_text, anthropic_answer_block
from surehand.dialects.wire import clean_text, content_blocks
from surehand.messages import Content
from surehand.shapes import mapping_of
from surehand.wording import NO_OUTPUT

__all__ = ["input_content", "output_content"]

_TEXTS: Final = frozenset({"text", "input_text", "output_text"})
_SOURCES: Final[Mapping[object, tuple[str, ...]]] = {
    "input_image": ("image_url", "file_id"),
    "input_file": ("file_data", "file_url", "file_id"),
}
"""Kind of part -> the fields of which one says where it is."""
_FIELDS: Final = ("type", "detail", "image_url", "file_id", "file_data", "file_url", "filename")
_NO_FILES: Final = ("data:audio/", "data:video/")
"""What ``input_file`` does not carry: the API refuses the whole request."""
_FOREIGN: Final = frozenset({"image", "image_url", "file", "document"})


def input_content(content: Content) -> str | list[dict[str, Any]]:
    """What a user says; blocks that nobody here knows stay as they are, for the provider that does."""
    if isinstance(content, str):
        return clean_text(content) or NO_OUTPUT
    return [_input_part(block) for block in content_blocks(content)] or NO_OUTPUT


def _input_part(block: Mapping[str, Any]) -> dict[str, Any]:
    if block.get("type") in _TEXTS:
        return {"type": "input_text", "text": block.get("text")}
    if block.get("type") == "file" and (file := mapping_of(block.get("file"))):
        return {"type": "input_file", **file}
    return (_carried(block) if block.get("type") in _FOREIGN else None) or dict(block)


def output_content(content: Content) -> str | list[dict[str, Any]]:
    """The answer to a call: a text, or a list where it has images or files; what is neither is told as text."""
    if isinstance(content, str):
        return clean_text(content) or NO_OUTPUT
    parts = [_output_part(block) for block in content_blocks(content)]
    if all(part["type"] == "input_text" for part in parts):  # which every server takes, and lists not
        return "\n".join(part["text"] for part in parts if part["text"]) or NO_OUTPUT
    return parts


def _output_part(block: Mapping[str, Any]) -> dict[str, Any]:
    return _carried(block) or {"type": "input_text", "text": clean_text(answer_text(block))}


def _carried(block: Mapping[str, Any]) -> dict[str, Any] | None:
    """The image or the file; None where the block is none that this API carries."""
    sources = _SOURCES.get(block.get("type"))
    if sources is not None:
        is_there = any(isinstance(block.get(source), str) for source in sources)
        is_media = str(block.get("file_data")).startswith(_NO_FILES)
        return {field: block[field] for field in _FIELDS if field in block} if is_there and not is_media else None
    known = anthropic_answer_block(block)
    return _PARTS[known["type"]](known) if known["type"] in _PARTS else None


def _image(block: Mapping[str, Any]) -> dict[str, Any] | None:
    source = mapping_of(block.get("source"))
    image: dict[str, Any] = {"type": "input_image", "detail": "auto"}
    if "data" in source:
        return {**image, "image_url": _data_url(source)}
    return {**image, "file_id": source["file_id"]} if "file_id" in source else {**image, "image_url": source["url"]}


def _file(block: Mapping[str, Any]) -> dict[str, Any] | None:
    source, title = mapping_of(block.get("source")), block.get("title")
    match source.get("type"):
        case "base64":  # bytes need a name
            name = title if isinstance(title, str) and title else "file.pdf"
            return {"type": "input_file", "filename": name, "file_data": _data_url(source)}
        case "url":
            return {"type": "input_file", "file_url": source["url"]}
        case "file":
            return {"type": "input_file", "file_id": source["file_id"]}
        case _:
            return None


def _data_url(source: Mapping[str, Any]) -> str:
    return f"data:{source.get('media_type')};base64,{source['data']}"


_PARTS: Final[Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any] | None]]] = {"image": _image, "document": _file}
"""Kind of block in Anthropic's form, in which others are read -> what makes a part of it."""
