"""Texts, images and files in the block forms of several providers, each written in the form that another takes.

Blocks that are none stay as they are in what users and models say: the provider that made them knows them. In the
answer to a call they come from a tool, which knows no provider; what cannot be carried there is told as text, because a
block that a provider refuses would cost the whole request, and every later one.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from surehand.messages import Content, text_of
from surehand.shapes import items_of, mapping_of

__all__ = [
    "answer_text",
    "anthropic_answer_block",
    "anthropic_block",
    "anthropic_said_block",
    "openai_block",
    "simple",
    "typed_block",
]

_TEXTS: Final = frozenset({"input_text", "output_text"})
_FILES: Final = frozenset({"file", "input_file"})
_ANTHROPIC_ANSWERS: Final[Mapping[str, tuple[str, ...]]] = {
    "text": ("text", "citations", "cache_control"),
    "image": ("source", "cache_control"),
    "document": ("source", "title", "context", "citations", "cache_control"),
    "search_result": ("source", "title", "content", "citations", "cache_control"),
    "tool_reference": ("tool_name", "cache_control"),
}
"""What a ``tool_result`` of Anthropic's may hold, each with its fields: the API refuses any other."""
_ANTHROPIC_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
"""The kinds of images that Anthropic takes."""
_IMAGES: Final = frozenset({"image", "image_url", "input_image"})
_USERS_ONLY: Final = (
    _IMAGES | _FILES | {"audio", "container_upload", "document", "input_audio", "search_result", "video"}
)
"""What Anthropic takes from users only; models elsewhere make images, and its own makes files in a container."""
_PDF: Final = "application/pdf"
"""The one kind of file whose bytes Anthropic takes."""
_DEFAULT_KIND: Final = "image/png"
_STORED: Final = str.maketrans("-_", "+/")
"""Stored bytes are in the other alphabet of base64."""


def simple(blocks: Sequence[dict[str, Any]]) -> Content:
    """One text with nothing beside it as that text, anything else as blocks."""
    if not blocks:
        return ""
    first = {key: value for key, value in blocks[0].items() if value}
    is_plain = len(blocks) == 1 and blocks[0].get("type") == "text" and first.keys() <= {"type", "text"}
    return text_of([blocks[0]]) if is_plain else list(blocks)


@dataclass(frozen=True, slots=True)
class _Image:
    """An image, by its bytes in base64 or by its address."""

    url: str = ""
    data: str = ""
    media_type: str = _DEFAULT_KIND


def typed_block(block: Mapping[str, Any]) -> dict[str, Any]:
    """The text or the file in a part of Gemini's or a block of Bedrock's, which have no type, as a block that has one.

    Any other stays as it is.
    """
    if "type" in block:
        return dict(block)
    if isinstance(block.get("text"), str) and block.get("thought") is not True:
        return {"type": "text", "text": block["text"]}
    for names in (("inlineData", "inline_data"), ("fileData", "file_data")):
        held = mapping_of(next((block[name] for name in names if name in block), None))
        kind: object = held.get("mimeType", held.get("mime_type"))
        where = {"base64": held.get("data"), "url": held.get("fileUri", held.get("file_uri"))}
        found = {key: value for key, value in where.items() if isinstance(value, str)}
        if found:
            is_image = isinstance(kind, str) and kind.startswith("image/")
            return {"type": "image" if is_image else "file", **({"mime_type": kind} if kind else {}), **found}
    return _of_bedrock(block) or dict(block)


def _of_bedrock(block: Mapping[str, Any]) -> dict[str, Any] | None:
    """The file in a block of Bedrock's; None where there is none."""
    for name, kind in (("image", "image"), ("document", "application")):
        held = mapping_of(block.get(name))
        data: object = mapping_of(held.get("source")).get("bytes")
        if isinstance(data, bytes | bytearray):
            data = base64.b64encode(data).decode()
        if isinstance(data, str) and data:
            encoded, title = data.translate(_STORED), held.get("name")
            form = {"type": "image" if name == "image" else "file", "mime_type": f"{kind}/{held.get('format')}"}
            return {**form, "base64": encoded, **({"filename": title} if isinstance(title, str) else {})}
    return None


def anthropic_block(block: Mapping[str, Any]) -> dict[str, Any]:
    """The block as Anthropic's Messages take it."""
    if block.get("type") in _TEXTS:
        return {"type": "text", "text": block.get("text")}
    image = None if "source" in block else _image(block)
    if image is None:
        return _document(block) or dict(block)
    if image.data:
        source = {"type": "base64", "media_type": image.media_type, "data": image.data}
    else:
        source = {"type": "url", "url": image.url}
    return {"type": "image", "source": source}


def anthropic_said_block(block: Mapping[str, Any]) -> dict[str, Any] | None:
    """The block as Anthropic's Messages take it from the model itself; None for what they take from users only.

    None, too, for a thought that is not signed: it was cut off, or is another provider's.
    """
    kind = block.get("type")
    if kind in _USERS_ONLY or (kind == "thinking" and not (_is_text(block, "signature") and _is_text(block, kind))):
        return None
    # What the SDK adds, the API refuses as a field that it does not know; so it does another provider's citations.
    said = {key: value for key, value in anthropic_block(block).items() if key != "parsed_output"}
    if not all("type" in mapping_of(citation) for citation in items_of(said.get("citations"))):
        del said["citations"]
    return said


def _is_text(block: Mapping[str, Any], field: str) -> bool:
    """Whether a field is a text; an empty one is none where it is the signature."""
    return isinstance(block.get(field), str) and (field != "signature" or bool(block[field]))


def anthropic_answer_block(block: Mapping[str, Any]) -> dict[str, Any]:
    """The block as a ``tool_result`` of Anthropic's takes it: a file as a document, what cannot be carried as text."""
    written = _document(block) or anthropic_block(block)
    kind = written.get("type")
    if not isinstance(kind, str) or not _is_taken(kind, written):
        return {"type": "text", "text": answer_text(block)}
    fields = _ANTHROPIC_ANSWERS[kind]
    return {"type": kind, **{field: written[field] for field in fields if written.get(field) is not None}}


def _is_taken(kind: str, written: Mapping[str, Any]) -> bool:
    """Whether Anthropic takes the block in a ``tool_result``."""
    source = written.get("source")
    match kind:
        case "text":
            return isinstance(written.get("text"), str)
        case "image":
            return _is_source(mapping_of(source), _ANTHROPIC_IMAGES)
        case "document":
            return _is_source(mapping_of(source), frozenset({_PDF})) or _is_plain(mapping_of(source))
        case "search_result":
            return isinstance(source, str) and isinstance(written.get("content"), list) and "title" in written
        case "tool_reference":  # what a search for tools has found, where a tool of the host's does the search
            return isinstance(written.get("tool_name"), str)
        case _:
            return False


def _is_source(source: Mapping[str, Any], kinds: frozenset[str]) -> bool:
    """Whether there is a file behind a source: bytes of these kinds, or where the provider finds it."""
    match source.get("type"):
        case "base64":
            return source.get("media_type") in kinds and isinstance(source.get("data"), str)
        case "url":
            return str(source.get("url")).startswith(("https://", "http://"))
        case "file":
            return isinstance(source.get("file_id"), str)
        case _:
            return False


def _is_plain(source: Mapping[str, Any]) -> bool:
    """Whether a source is text that stands there itself."""
    if source.get("type") == "text":
        return isinstance(source.get("data"), str)
    return source.get("type") == "content" and source.get("content") is not None


def answer_text(block: Mapping[str, Any]) -> str:
    """What a block says where only text is taken; one that says nothing is named, so that the model knows of it."""
    kind: object = block.get("type", next(iter(block), "unknown"))
    if (text := text_of([dict(block)])) or kind == "text":
        return text
    if block.get("type") == "json" and "json" in block:
        return json.dumps(block["json"], ensure_ascii=False, default=str)
    if kind == "tool_reference" and isinstance(block.get("tool_name"), str):
        return str(block["tool_name"])
    source = mapping_of(block.get("source"))
    if isinstance(source.get("data"), str) and source.get("type") == "text":
        return str(source["data"])
    inner = next((said for key in ("content", "output") if (said := _said(block.get(key)))), "")
    return inner or f"(a block of type {kind} that cannot be shown here)"


def _said(content: object) -> str:
    return content if isinstance(content, str) else text_of(items_of(content))


def openai_block(block: Mapping[str, Any]) -> dict[str, Any]:
    """The block as Chat Completions take it in a user's message."""
    if block.get("type") in _TEXTS:
        return {"type": "text", "text": block.get("text")}
    image = None if block.get("type") == "image_url" else _image(block)
    if image is None:
        return _file(block) or dict(block)
    url = f"data:{image.media_type};base64,{image.data}" if image.data else image.url
    return {"type": "image_url", "image_url": {"url": url}}


def _image(block: Mapping[str, Any]) -> _Image | None:
    """The image in OpenAI's, Anthropic's, MCP's or LangChain's spelling; None where the block holds none."""
    if block.get("type") not in _IMAGES:
        return None
    source = mapping_of(block.get("source")) or block
    data = source.get("data") or source.get("base64")
    if isinstance(data, str) and data:
        kind = source.get("media_type") or source.get("mimeType") or source.get("mime_type")
        return _Image(data=data, media_type=kind if isinstance(kind, str) else _DEFAULT_KIND)
    given: object = block.get("image_url")
    url: object = mapping_of(given).get("url") or given or source.get("url")
    return _from_url(url) if isinstance(url, str) and url else None


def _document(block: Mapping[str, Any]) -> dict[str, Any] | None:
    """The file in OpenAI's or LangChain's spelling as a document; None where the block holds none."""
    if block.get("type") not in _FILES:
        return None
    fields = mapping_of(block.get("file")) or block
    head, comma, encoded = str(fields.get("file_data") or "").partition(";base64,")
    kind = head.removeprefix("data:") if comma else fields.get("mime_type") or fields.get("mimeType")
    data: object = encoded or fields.get("base64") or fields.get("data")
    if isinstance(data, str) and kind == _PDF:
        return {"type": "document", "source": {"type": "base64", "media_type": _PDF, "data": data}}
    if isinstance(url := fields.get("url") or fields.get("file_url"), str):
        return {"type": "document", "source": {"type": "url", "url": url}}
    if isinstance(file_id := fields.get("file_id"), str):
        return {"type": "document", "source": {"type": "file", "file_id": file_id}}
    return None


def _file(block: Mapping[str, Any]) -> dict[str, Any] | None:
    """The file in another spelling than OpenAI's own as Chat Completions take it; None where the block holds none."""
    form = {} if "file" in block else _document(block) or (block if block.get("type") == "document" else {})
    source = mapping_of(form.get("source"))
    if isinstance(source.get("file_id"), str):
        return {"type": "file", "file": {"file_id": source["file_id"]}}
    if source.get("type") != "base64" or source.get("media_type") != _PDF or not isinstance(source.get("data"), str):
        return None
    name = next((block[key] for key in ("filename", "title", "name") if isinstance(block.get(key), str)), "file.pdf")
    return {"type": "file", "file": {"filename": name, "file_data": f"data:{_PDF};base64,{source['data']}"}}


def _from_url(url: str) -> _Image:
    head, comma, data = url.partition(",")
    if head.startswith("data:") and head.endswith(";base64") and comma:
        return _Image(data=data, media_type=head.removeprefix("data:").removesuffix(";base64") or _DEFAULT_KIND)
    return _Image(url=url)
