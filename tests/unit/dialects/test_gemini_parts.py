"""Texts, images and files of any spelling are written as Gemini's parts."""

from __future__ import annotations

from typing import Any

import pytest

from support.gemini import Part, written
from surehand.dialects.gemini_parts import JoinedParts, answer_parts, user_parts
from surehand.messages import AIMessage, HumanMessage

PNG: Part = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}

VIDEO: Part = {"fileData": {"fileUri": "u"}, "videoMetadata": {"fps": 1}}


@pytest.mark.parametrize(
    ("block", "part"),
    [
        ({"type": "text", "text": "x"}, {"text": "x"}),
        ({"type": "input_text", "text": "x"}, {"text": "x"}),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}, PNG),
        ({"type": "input_image", "image_url": "data:image/png;base64,AAAA"}, PNG),
        ({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}, PNG),
        ({"type": "image", "data": "AAAA", "mimeType": "image/png"}, PNG),
        ({"type": "image", "base64": "AAAA", "mime_type": "image/png"}, PNG),
        ({"type": "image", "base64": "AAAA"}, PNG),
        ({"type": "image", "url": "https://e.org/a.png"}, {"fileData": {"fileUri": "https://e.org/a.png"}}),
        (
            {"type": "file", "url": "gs://b/a.pdf", "mime_type": "application/pdf"},
            {"fileData": {"fileUri": "gs://b/a.pdf", "mimeType": "application/pdf"}},
        ),
        (
            {"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA"}},
            {"inlineData": {"mimeType": "application/pdf", "data": "AAAA"}},
        ),
        (
            {"type": "document", "source": {"type": "base64", "data": "AAAA"}},
            {"inlineData": {"mimeType": "application/pdf", "data": "AAAA"}},
        ),
        ({"type": "document", "source": {"type": "text", "data": "words"}}, {"text": "words"}),
        (
            {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
            {"inlineData": {"mimeType": "audio/wav", "data": "AAAA"}},
        ),
        (
            {"type": "resource", "resource": {"uri": "u", "blob": "AAAA", "mimeType": "video/mp4"}},
            {"inlineData": {"mimeType": "video/mp4", "data": "AAAA"}},
        ),
        ({"image": {"format": "png", "source": {"bytes": "AAAA"}}}, PNG),
        ({"cachePoint": {"type": "default"}}, {"text": "(a block of type cachePoint that cannot be shown here)"}),
        (PNG, PNG),
        (VIDEO, VIDEO),
        ({"type": "file", "file_id": "f"}, {"text": "(a block of type file that cannot be shown here)"}),
        ({"type": "odd", "content": "words"}, {"text": "words"}),
    ],
)  # fmt: skip
def test_what_a_user_says_is_written_as_parts(block: Part, part: Part) -> None:
    assert user_parts([block]) == [part]


def test_what_only_another_model_knows_is_left_out_of_what_a_model_said() -> None:
    foreign: list[str | Part] = [
        {"type": "redacted_thinking", "data": "…"},
        {"type": "tool_use"},
        {"reasoningContent": {}},
    ]
    said = AIMessage([*foreign, {"type": "text", "text": "x"}])

    assert written(HumanMessage("hi"), said)[1]["parts"] == [{"text": "x"}]


@pytest.mark.parametrize(
    ("block", "is_carried"),
    [
        (PNG, True),
        ({"inline_data": {"mime_type": "audio/wav", "data": "AAAA"}}, True),
        ({"type": "image", "url": "https://e.org/a.png"}, False),
        ({"type": "image", "url": "gs://b/a.png"}, True),
        ({"type": "file", "base64": "AAAA", "mime_type": "application/pdf"}, True),
        ({"type": "file", "base64": "AAAA", "mime_type": "application/zip"}, False),
    ],
)
def test_an_answer_holds_the_files_that_the_api_takes_and_names_the_others(block: Part, is_carried: bool) -> None:  # noqa: FBT001 - a table's column
    text, media = answer_parts(["x", block], with_media=True)
    alone, none = answer_parts(["x", block], with_media=False)

    assert len(media) == is_carried
    assert (text == "x") is is_carried
    assert none == []
    assert alone.startswith("x\n(a ")


@pytest.mark.parametrize(
    ("parts", "content"),
    [
        ([], ""),
        ([{"text": ""}], ""),
        ([{"text": "a"}, {"text": ""}, {"text": "b"}], "ab"),
        ([{"text": "a", "thought": False}], "a"),
        ([{"text": "a", "thought": True}], [{"text": "a", "thought": True}]),
        ([{"text": "a"}, PNG, {"text": "b"}, {"text": "c"}], [{"text": "a"}, PNG, {"text": "bc"}]),
    ],
)
def test_texts_in_pieces_are_one(parts: list[Part], content: Any) -> None:
    joined = JoinedParts()
    for part in parts:
        joined.add(part)

    assert joined.content() == content
    assert joined.content() == content
