"""Texts and images are written in the form that a provider takes, whoever's form they came in."""

from __future__ import annotations

from typing import Any

import pytest

from surehand.dialects.blocks import anthropic_block, openai_block

Block = dict[str, Any]

BYTES: list[Block] = [
    {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,aGk="}},
    {"type": "input_image", "image_url": "data:image/jpeg;base64,aGk="},
    {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "aGk="}},
    {"type": "image", "data": "aGk=", "mimeType": "image/jpeg"},
    {"type": "image", "base64": "aGk=", "mime_type": "image/jpeg"},
]
ADDRESSES: list[Block] = [
    {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
    {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
    {"type": "image", "url": "https://x/y.png"},
]
STRANGERS: list[Block] = [
    {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
    {"type": "document", "source": {"type": "text", "data": "x"}},
    {"type": "image"},
    {"type": "image", "url": 5},
    {"kind": "x"},
]


@pytest.mark.parametrize("block", BYTES)
def test_image_by_its_bytes(block: Block) -> None:
    assert anthropic_block(block) == BYTES[2]
    assert openai_block(block) == BYTES[0]


@pytest.mark.parametrize("block", ADDRESSES)
def test_image_by_its_address(block: Block) -> None:
    assert anthropic_block(block) == ADDRESSES[1]
    assert openai_block(block) == ADDRESSES[0]


@pytest.mark.parametrize("kind", ["input_text", "output_text"])
def test_text_of_the_responses_api(kind: str) -> None:
    assert anthropic_block({"type": kind, "text": "a"}) == openai_block({"type": kind, "text": "a"})
    assert openai_block({"type": kind, "text": "a"}) == {"type": "text", "text": "a"}


@pytest.mark.parametrize("block", STRANGERS)
def test_anything_else_stays_as_it_is(block: Block) -> None:
    assert anthropic_block(block) == block
    assert openai_block(block) == block


def test_image_without_a_kind_is_a_png() -> None:
    assert openai_block({"type": "image", "data": "aGk="})["image_url"]["url"] == "data:image/png;base64,aGk="
