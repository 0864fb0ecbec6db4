"""What is sent is strict JSON and Unicode, with names and ids that providers take."""

from __future__ import annotations

import json
from datetime import date
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from surehand.dialects import wire
from surehand.messages import ToolCall


def call(args: Any) -> ToolCall:
    return {"id": "c", "name": "f", "args": args, "type": "tool_call"}


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [("plain é 😀", "plain é 😀"), ("a\ud800b", "a\ufffdb"), ("\ud83d\ude00", "😀"), ("\udc00\ud800", "\ufffd\ufffd")],
)
def test_texts_are_unicode(text: str, cleaned: str) -> None:
    assert wire.clean_text(text) == cleaned


@pytest.mark.parametrize(
    ("value", "cleaned"),
    [
        ({"a\ud800": ["\ud800", 1, None, True]}, {"a\ufffd": ["\ufffd", 1, None, True]}),
        (float("nan"), "nan"),
        ({"x": [float("inf")]}, {"x": ["inf"]}),
        (date(2026, 1, 2), "2026-01-02"),
        ({1: 2}, {"1": 2}),
        ({}, {}),
        ([], []),
    ],
)
def test_values_are_strict_json(value: Any, cleaned: Any) -> None:
    assert wire.clean(value) == cleaned
    json.dumps(wire.clean(value), allow_nan=False).encode()


def test_value_that_holds_itself_ends_somewhere() -> None:
    itself: list[Any] = []
    itself.append(itself)

    assert json.dumps(wire.clean({"a": itself})).startswith('{"a": [')


@pytest.mark.parametrize(
    ("args", "sent"),
    [
        ({"a": 1}, {"a": 1}),
        ({}, {}),
        (None, {}),
        ("", {}),
        ("{bad", {"_raw": "{bad"}),
        ([1], {"_raw": "[1]"}),
        (3, {"_raw": "3"}),
        ("\ud800", {"_raw": "\ufffd"}),
    ],
)
def test_arguments_are_an_object(args: Any, sent: dict[str, Any]) -> None:
    assert wire.sendable_arguments(call(args)) == sent
    assert json.loads(wire.sendable_arguments_text(call(args))) == sent


def test_replaced_ids_are_the_same_each_time_and_differ_from_each_other() -> None:
    assert wire.sendable_id("a b") == wire.sendable_id("a b")
    assert len({wire.sendable_id(call_id) for call_id in ["a b", "a  b", "é", "x" * 100]}) == 4
    assert wire.sendable_id("call_1-A") == "call_1-A"


def test_a_part_that_is_newer_than_the_sdk_is_dumped_without_a_warning() -> None:
    """As an SDK makes it, which does not check what a provider sends."""

    class Block(BaseModel):
        type: Literal["text"]

    class Reply(BaseModel):
        content: list[Block]

    newer = Reply.model_construct(content=[Block.model_construct(type="newer")])
    assert wire.payload_of(newer) == {"content": [{"type": "newer"}]}
