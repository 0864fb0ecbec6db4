"""What a message says: one text, or a list of the provider's own content blocks."""

from __future__ import annotations

from typing import Any, TypeAlias

from surehand.shapes import items_of, mapping_of

__all__ = ["Content", "text_of"]

Content: TypeAlias = str | list[str | dict[str, Any]]
"""One text, or a list of texts and of the provider's content blocks, which stay as they are."""

_TEXT_BLOCKS = frozenset({"text", "output_text", "input_text"})
_MESSAGE = "message"
"""OpenAI's Responses have the texts of a reply one level deeper, in items of this type."""


def text_of(content: object) -> str:
    """The text blocks of the content, joined without a separator; other blocks are left out."""
    return content if isinstance(content, str) else "".join(_block_text(block) for block in items_of(content))


def _block_text(block: object) -> str:
    if isinstance(block, str):
        return block
    fields = mapping_of(block)
    if fields.get("type") == _MESSAGE:
        return text_of(fields.get("content"))
    if fields.get("thought") is True:  # Gemini's thoughts are texts with a mark
        return ""
    text = fields.get("text") if fields.get("type", "text") in _TEXT_BLOCKS else None
    return text if isinstance(text, str) else ""
