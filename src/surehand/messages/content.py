"""What a message says: one text, or a list of the provider's own content blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

__all__ = ["Content", "text_of"]

Content: TypeAlias = str | list[str | dict[str, Any]]
"""One text, or a list of texts and of the provider's content blocks, which stay as they are."""

_TEXT_BLOCKS = frozenset({"text", "output_text", "input_text"})


def text_of(content: object) -> str:
    """The text blocks of the content, joined without a separator; other blocks are left out."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        return ""
    return "".join(_block_text(block) for block in content)  # pyright: ignore[reportUnknownVariableType] - JSON edge


def _block_text(block: object) -> str:
    if isinstance(block, str):
        return block
    if isinstance(block, Mapping) and block.get("type", "text") in _TEXT_BLOCKS:  # pyright: ignore[reportUnknownMemberType] - JSON edge
        text: object = block.get("text")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - JSON edge
        return text if isinstance(text, str) else ""
    return ""
