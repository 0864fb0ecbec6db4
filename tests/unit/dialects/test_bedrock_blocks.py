"""Each block is written in the form that Bedrock takes, in an answer as in a message."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from surehand.dialects.bedrock_blocks import ANSWER_BLOCKS, BLOCKS, is_block, kept, written_block
from surehand.messages import HumanMessage
from surehand.messages.stored import message_from_dict, message_to_dict

Block = dict[str, Any]

PNG = b"\x89PNG\r\n"
ENCODED = base64.b64encode(PNG).decode()


def answered(block: Any) -> Block | None:
    return written_block(block, ANSWER_BLOCKS)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": ENCODED}},
        {"type": "image", "data": ENCODED, "mimeType": "image/jpeg"},
        {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{ENCODED}"}},
    ],
)
def test_image_of_anybody_becomes_bytes(block: Block) -> None:
    assert answered(block) == {"image": {"format": "jpeg", "source": {"bytes": PNG}}}


def test_two_files_have_two_names() -> None:
    files = [
        answered({"type": "file", "mime_type": "application/pdf", "base64": base64.b64encode(data).decode()})
        for data in (b"%PDF-1", b"%PDF-2")
    ]

    assert [file and file["document"]["source"]["bytes"] for file in files] == [b"%PDF-1", b"%PDF-2"]
    assert len({str(file and file["document"]["name"]) for file in files}) == 2


@pytest.mark.parametrize("value", [[1, 2], 3, None, "x"])
def test_json_that_is_no_object_is_told_as_text(value: Any) -> None:
    block = answered({"json": value})

    assert block is not None
    assert block.keys() == {"text"}


@pytest.mark.parametrize("block", [{"json": {"a": 1}}, {"type": "json", "json": {"a": 1}}])
def test_json_object_is_json(block: Block) -> None:
    assert answered(block) == {"json": {"a": 1}}


@pytest.mark.parametrize(
    "block",
    [
        {"document": {"name": "d", "format": "md", "source": {"bytes": b"# x"}}},
        {"video": {"format": "mp4", "source": {"s3Location": {"uri": "s3://b/k"}}}},
        {"searchResult": {"source": "s", "title": "t", "content": [{"text": "x"}]}},
    ],
)
def test_bedrocks_own_blocks_stay(block: Block) -> None:
    assert answered(block) == block


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
        {"type": "image", "data": "no base64!", "mimeType": "image/png"},
        {"type": "audio", "data": ENCODED, "mimeType": "audio/wav"},
        {"audio": {"format": "mp3", "source": {"bytes": b"x"}}},
        {"type": "mystery"},
        {},
    ],
)
def test_what_an_answer_cannot_carry_is_told(block: Block) -> None:
    written = answered(block)

    assert written is not None
    assert "cannot be shown here" in written["text"]


@pytest.mark.parametrize("block", ["", " ", {"text": "\n"}, {"type": "text", "text": ""}, {"text": None}])
def test_text_that_says_nothing_is_no_block(block: Any) -> None:
    assert written_block(block, BLOCKS) is None


def test_mark_for_the_cache_is_left_out_of_an_answer() -> None:
    assert answered({"cachePoint": {"type": "default"}}) is None


def test_text_is_unicode() -> None:
    assert written_block("a\ud800", BLOCKS) == {"text": "a�"}


@pytest.mark.parametrize(
    "block", [{"type": "text", "text": "x"}, {"type": "tool_use"}, {"inlineData": {}}, "text", None]
)
def test_others_blocks_are_not_bedrocks(block: Any) -> None:
    assert not is_block(block)


def test_bytes_are_kept_and_the_rest_is_strict_json() -> None:
    assert kept({"a": [b"\x00", bytearray(b"\x01")], "n": float("inf")}) == {"a": [b"\x00", b"\x01"], "n": "inf"}


@pytest.mark.parametrize("data", [PNG, b"\xff\xfe\xfb"])
def test_bytes_are_bytes_again_after_their_message_was_stored(data: bytes) -> None:
    blocks: list[str | Block] = [
        {"image": {"format": "png", "source": {"bytes": data}}},
        {"reasoningContent": {"redactedContent": data}},
    ]
    stored = message_from_dict(json.loads(json.dumps(message_to_dict(HumanMessage(blocks)))))

    assert [written_block(block, BLOCKS) for block in stored.content] == blocks


def test_what_holds_itself_ends() -> None:
    loop: Block = {}
    loop["loop"] = loop

    assert kept(loop).keys() == {"loop"}
