"""Texts, images and files as the parts of Gemini's contents.

A part has no type: the field it holds says what it is. Parts that Gemini sent stay as they are. Blocks of others are
written as parts; what has no form there is told as text by users and tools, and left out of what a model said, because
it means nothing to another one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from surehand.dialects.blocks import answer_text, typed_block
from surehand.dialects.gemini_calls import field_of
from surehand.dialects.wire import clean_text, content_blocks
from surehand.messages import Content
from surehand.shapes import mapping_of

__all__ = ["JoinedParts", "answer_parts", "model_part", "user_parts"]

_TEXTS: Final = frozenset({"text", "input_text", "output_text"})
_BEDROCKS: Final = frozenset(
    {"toolUse", "toolResult", "reasoningContent", "guardContent", "cachePoint", "image", "document", "video"}
)
"""The fields of blocks that have no type either, and are none of Gemini's."""
_MEDIA: Final[Mapping[str, str | None]] = {
    "image": "image/png",
    "image_url": "image/png",
    "input_image": "image/png",
    "document": "application/pdf",
    "file": None,
    "input_file": None,
    "media": None,
    "resource": None,
    "audio": None,
    "input_audio": None,
    "video": None,
    "video_url": None,
}
"""The types of blocks that hold media, in any spelling -> the kind of those that do not say it."""
_CONTAINERS: Final = ("source", "file", "resource", "input_audio", "image_url", "video_url")
_DATA: Final = ("data", "base64", "blob", "file_data")
_URLS: Final = ("url", "image_url", "video_url", "file_url", "file_uri", "uri")
_KINDS: Final = ("media_type", "mimeType", "mime_type")
_CARRIED: Final = frozenset({"image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"})
"""The kinds of files that a function's response may hold (ai.google.dev, function calling, multimodal responses)."""
_STORED: Final = ("gs://", "https://generativelanguage.googleapis.com/")
"""How the addresses begin of files that Google keeps; of others the response of a function may hold none."""


def _media_part(block: Mapping[str, Any]) -> dict[str, Any] | None:
    """The file in a block of any spelling, by its bytes or by its address; None where there is none to be had."""
    kind: object = block.get("type")
    if not isinstance(kind, str) or kind not in _MEDIA:
        return None
    fields = next((mapping_of(block[key]) for key in _CONTAINERS if mapping_of(block.get(key))), block)
    if fields.get("type") in ("text", "content"):  # a document that stands there as text
        return None
    mime = _text_in(fields, _KINDS) or _text_in(block, _KINDS) or _sound(fields.get("format")) or _MEDIA[kind]
    data, url = _text_in(fields, _DATA), _text_in(fields, _URLS)
    address = data if data.startswith("data:") else url
    if address.startswith("data:"):
        head, _, data = address.partition(";base64,")
        mime = head.removeprefix("data:") or mime
    if data:
        return {"inlineData": {"mimeType": mime, "data": data}} if mime else None
    return {"fileData": {"fileUri": url, **({"mimeType": mime} if _text_in(fields, _KINDS) else {})}} if url else None


def _text_in(fields: Mapping[str, Any], names: Sequence[str]) -> str:
    return next((fields[name] for name in names if isinstance(fields.get(name), str) and fields[name]), "")


def _sound(sound_format: object) -> str:
    return f"audio/{sound_format}" if isinstance(sound_format, str) and sound_format else ""


def user_parts(content: Content) -> list[dict[str, Any]]:
    """What a user or the system says, as parts."""
    return [_user_part(block) for block in _blocks(content)]


def _blocks(content: Content) -> list[dict[str, Any]]:
    """The parts and the typed blocks of a content; the files in Bedrock's blocks have a type then."""
    blocks = content_blocks(content, with_parts=True)
    return [typed_block(block) if block.keys() & _BEDROCKS else block for block in blocks]


def _user_part(block: dict[str, Any]) -> dict[str, Any]:
    if "type" not in block and not block.keys() & _BEDROCKS:
        return block
    if block.get("type") in _TEXTS:
        return {"text": block.get("text")}
    return _media_part(block) or {"text": answer_text(block)}


def model_part(block: dict[str, Any]) -> dict[str, Any] | None:
    """What a model said, as a part; None for what only another provider's models know."""
    if "type" not in block:
        return None if block.keys() & _BEDROCKS else block
    return {"text": block.get("text")} if block["type"] in _TEXTS else _media_part(block)


def answer_parts(content: Content, *, with_media: bool) -> tuple[str, list[dict[str, Any]]]:
    """What a tool says, as text and as the files that a function's response may hold.

    Args:
        content: The tool message's.
        with_media: Whether the model takes files there; those it does not take are named in the text.
    """
    if isinstance(content, str):
        return clean_text(content), []
    texts, media = list[str](), list[dict[str, Any]]()
    for block in _blocks(content):
        part = block if "type" not in block else _media_part(block)
        if with_media and part is not None and _is_carried(part, is_own=part is block):
            media.append(part)
        else:
            texts.append(_told(block))
    return clean_text("\n".join(text for text in texts if text)), media


def _is_carried(part: Mapping[str, Any], *, is_own: bool) -> bool:
    """Whether a function's response may hold the part; one that came in Gemini's own form came from such a response."""
    data, file = mapping_of(field_of(part, "inlineData")), mapping_of(field_of(part, "fileData"))
    if is_own or not (data or file):
        return bool(data or file)
    return data.get("mimeType") in _CARRIED or str(file.get("fileUri")).startswith(_STORED)


def _told(block: Mapping[str, Any]) -> str:
    if "type" in block or isinstance(block.get("text"), str):
        return answer_text(block)
    data = mapping_of(field_of(block, "inlineData")) or mapping_of(field_of(block, "fileData"))
    return f"(a file of the kind {field_of(data, 'mimeType') or 'unknown'} that cannot be shown here)"


def _is_plain(part: Mapping[str, Any]) -> bool:
    """Whether it is a text, or a thought, and nothing else, such as signed."""
    return "text" in part and part.keys() <= {"text", "thought"}


class JoinedParts:
    """The parts of a reply, in order; texts that came in pieces are joined, unless one is signed."""

    def __init__(self) -> None:
        self._parts: list[dict[str, Any]] = []
        self._texts: list[str] | None = None
        """The pieces of the last part, where that is a text that may go on."""

    def add(self, part: Mapping[str, Any]) -> None:
        """Take in the next part."""
        text: object = part.get("text")
        if not isinstance(text, str) or not _is_plain(part):
            self._end_text()
            self.keep(dict(part))
            return
        is_thought = part.get("thought") is True
        if self._texts is None or is_thought != (self._parts[-1].get("thought") is True):
            self._end_text()
            self._parts.append({"text": "", **({"thought": True} if is_thought else {})})
            self._texts = []
        self._texts.append(text)

    def keep(self, part: dict[str, Any]) -> None:
        """Take in the next part, which may still be changed by whoever gave it."""
        self._end_text()
        self._parts.append(part)

    def content(self) -> Content:
        """All of it: one text as such, else the parts."""
        parts = list(self._parts)
        if self._texts is not None:
            parts[-1] = {**parts[-1], "text": "".join(self._texts)}
        said: list[str | dict[str, Any]] = [dict(part) for part in parts if part.get("text") or not _is_plain(part)]
        if len(said) <= 1 and all(list(mapping_of(part)) == ["text"] for part in said):
            return "".join(mapping_of(part)["text"] for part in said)
        return said

    def _end_text(self) -> None:
        if self._texts is not None:
            self._parts[-1]["text"] = "".join(self._texts)
            self._texts = None
