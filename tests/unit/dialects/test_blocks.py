"""Texts and images are written in the form that a provider takes, whoever's form they came in."""

from __future__ import annotations

from typing import Any

import pytest

from surehand.dialects.blocks import answer_text, anthropic_answer_block, anthropic_block, openai_block, typed_block

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


@pytest.mark.parametrize(
    "block",
    [
        {"type": "file", "base64": "aGk=", "mime_type": "application/pdf", "filename": "a.pdf"},
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="},
            "title": "a.pdf",
        },
        {"type": "input_file", "file_data": "data:application/pdf;base64,aGk=", "filename": "a.pdf"},
    ],
)
def test_a_users_file_is_one_for_chat_completions(block: Block) -> None:
    file = {"filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="}
    assert openai_block(block) == {"type": "file", "file": file}


def test_a_file_that_openai_keeps_is_named_by_its_id() -> None:
    assert openai_block({"type": "input_file", "file_id": "f1"}) == {"type": "file", "file": {"file_id": "f1"}}


@pytest.mark.parametrize("data", [b"\xff\xfe\xfb", "//77", "__77"])
def test_files_of_bedrock_are_files_for_others_whether_they_were_stored_or_not(data: bytes | str) -> None:
    image = {"image": {"format": "png", "source": {"bytes": data}}}
    document = {"document": {"format": "pdf", "name": "a", "source": {"bytes": data}}}

    assert typed_block(image) == {"type": "image", "mime_type": "image/png", "base64": "//77"}
    assert typed_block(document) == {
        "type": "file",
        "mime_type": "application/pdf",
        "base64": "//77",
        "filename": "a",
    }


def test_a_block_without_type_and_text_is_named() -> None:
    assert answer_text({"guardContent": {}}) == "(a block of type guardContent that cannot be shown here)"


def test_image_without_a_kind_is_a_png() -> None:
    assert openai_block({"type": "image", "data": "aGk="})["image_url"]["url"] == "data:image/png;base64,aGk="


# -- the answers to calls --------------------------------------------------------------------------------------------

PDF: Block = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="}}


@pytest.mark.parametrize(
    ("block", "written"),
    [
        ({"type": "text", "text": "a"}, {"type": "text", "text": "a"}),
        (BYTES[0], BYTES[2]),
        (PDF, PDF),
        ({"type": "file", "base64": "aGk=", "mime_type": "application/pdf"}, PDF),
        ({"type": "file", "file": {"file_data": "data:application/pdf;base64,aGk="}}, PDF),
        ({"type": "input_file", "file_data": "data:application/pdf;base64,aGk="}, PDF),
        (
            {"type": "file", "url": "https://x/y.pdf"},
            {"type": "document", "source": {"type": "url", "url": "https://x/y.pdf"}},
        ),
        ({"type": "file", "file_id": "f1"}, {"type": "document", "source": {"type": "file", "file_id": "f1"}}),
        ({"type": "json", "json": {"é": 1}}, {"type": "text", "text": '{"é": 1}'}),
    ],
)
def test_anthropic_takes_images_documents_and_text_in_an_answer(block: Block, written: Block) -> None:
    assert anthropic_answer_block(block) == written


@pytest.mark.parametrize(
    "block",
    [
        {"type": "audio", "data": "AA=="},
        {"type": "video", "url": "https://x/y.mp4"},
        {"type": "image"},
        {"type": "file", "base64": "aGk=", "mime_type": "application/zip"},
    ],
)
def test_what_cannot_be_carried_in_an_answer_is_named(block: Block) -> None:
    named = f"(a block of type {block['type']} that cannot be shown here)"
    assert anthropic_answer_block(block) == {"type": "text", "text": named}
    assert answer_text(block) == named


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ({"type": "text", "text": "a"}, "a"),
        ({"type": "text", "text": ""}, ""),
        ({"type": "json", "json": [1, None]}, "[1, null]"),
        ({"type": "document", "source": {"type": "text", "data": "the text"}}, "the text"),
        ({"type": "search_result", "source": "s", "content": [{"type": "text", "text": "found"}]}, "found"),
        ({"type": "tool_reference", "tool_name": "add"}, "add"),
    ],
)
def test_where_only_text_is_taken_the_text_of_a_block_is_told(block: Block, text: str) -> None:
    assert answer_text(block) == text


PNG = {"type": "base64", "media_type": "image/png", "data": "AA"}


@pytest.mark.parametrize(
    ("block", "written"),
    [
        ({"type": "text", "text": "a", "annotations": None, "id": "lc_1"}, {"type": "text", "text": "a"}),
        ({"type": "image", "source": PNG, "id": "lc_1"}, {"type": "image", "source": PNG}),
        (
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}, "name": "x.txt"},
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}},
        ),
        ({"type": "tool_reference", "tool_name": "add", "id": "lc_1"}, {"type": "tool_reference", "tool_name": "add"}),
    ],
)
def test_of_a_block_in_an_answer_anthropic_gets_the_fields_that_it_knows(
    block: dict[str, Any], written: dict[str, Any]
) -> None:
    assert anthropic_answer_block(block) == written


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ({"type": "image", "source": {**PNG, "media_type": "image/svg+xml"}}, None),
        ({"type": "image", "data": "AA", "mimeType": "image/bmp"}, None),
        ({"type": "image", "source": {"type": "url", "url": "file:///tmp/a.png"}}, None),
        ({"type": "document", "source": {"type": "base64", "media_type": "text/csv", "data": "AA"}}, None),
        ({"type": "document", "content": "all of it"}, "all of it"),
        ({"type": "search_result", "content": "found"}, "found"),
        ({"type": "custom_tool_call_output", "output": "done"}, "done"),
    ],
)
def test_a_block_that_anthropic_would_refuse_in_an_answer_is_told_as_text(
    block: dict[str, Any], text: str | None
) -> None:
    told = text or f"(a block of type {block['type']} that cannot be shown here)"
    assert anthropic_answer_block(block) == {"type": "text", "text": told}
