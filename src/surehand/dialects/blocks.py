"""Texts and images in the block forms of several providers, each written in the form that another takes.

Blocks that are neither stay as they are: the provider that made them knows them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from surehand.shapes import mapping_of

__all__ = ["anthropic_block", "openai_block"]

_TEXTS: Final = frozenset({"input_text", "output_text"})
_IMAGES: Final = frozenset({"image", "image_url", "input_image"})
_DEFAULT_KIND: Final = "image/png"


@dataclass(frozen=True, slots=True)
class _Image:
    """An image, by its bytes in base64 or by its address."""

    url: str = ""
    data: str = ""
    media_type: str = _DEFAULT_KIND


def anthropic_block(block: Mapping[str, Any]) -> dict[str, Any]:
    """The block as Anthropic's Messages take it."""
    if block.get("type") in _TEXTS:
        return {"type": "text", "text": block.get("text")}
    image = None if "source" in block else _image(block)
    if image is None:
        return dict(block)
    if image.data:
        source = {"type": "base64", "media_type": image.media_type, "data": image.data}
    else:
        source = {"type": "url", "url": image.url}
    return {"type": "image", "source": source}


def openai_block(block: Mapping[str, Any]) -> dict[str, Any]:
    """The block as Chat Completions take it in a user's message."""
    if block.get("type") in _TEXTS:
        return {"type": "text", "text": block.get("text")}
    image = None if block.get("type") == "image_url" else _image(block)
    if image is None:
        return dict(block)
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


def _from_url(url: str) -> _Image:
    head, comma, data = url.partition(",")
    if head.startswith("data:") and head.endswith(";base64") and comma:
        return _Image(data=data, media_type=head.removeprefix("data:").removesuffix(";base64") or _DEFAULT_KIND)
    return _Image(url=url)
