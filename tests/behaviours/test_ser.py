"""Results of tools on their way to a model: SER-01 … SER-18, as the rendering of values."""

from __future__ import annotations

import datetime as dt
import json
import math
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from pydantic import BaseModel

from surehand.calls.render import render_value
from surehand.messages import AIMessage, ToolMessage
from surehand.nodes import ToolNode
from surehand.tools import tool
from surehand.wording import NO_OUTPUT


def text_of(value: Any) -> str:
    content = render_value(value, max_output=None).content
    assert isinstance(content, str)
    return content


def answered(function: Any, **options: Any) -> ToolMessage:
    """The answer of a node to one call of the tool."""
    node = ToolNode([tool("t", **options)(function)])
    [answer] = node.invoke([AIMessage(tool_calls=[{"id": "c1", "name": "t", "args": {}}])])
    assert isinstance(answer, ToolMessage)
    return answer


def test_SER_01_json_text_keeps_unicode() -> None:
    assert text_of({"도시": "서울"}) == '{"도시": "서울"}'


class Unit(Enum):
    C = "celsius"


@dataclass
class Reading:
    at: dt.datetime
    value: Decimal


class Place(BaseModel):
    id: UUID
    when: dt.date


class Pair(NamedTuple):
    low: int
    high: int


class Opaque:
    pass


def test_SER_02_values_beyond_json_become_readable_json() -> None:
    noon = dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC)
    value = {
        "at": noon,
        "id": UUID(int=1),
        "price": Decimal("1.10"),
        "unit": Unit.C,
        "tags": {"b", "a"},
        "reading": Reading(noon, Decimal("2.50")),
        "place": Place(id=UUID(int=2), when=noon.date()),
        "pair": Pair(1, 2),
    }
    assert json.loads(text_of(value)) == {
        "at": "2026-01-02T12:00:00+00:00",
        "id": str(UUID(int=1)),
        "price": "1.10",
        "unit": "celsius",
        "tags": ["a", "b"],
        "reading": {"at": "2026-01-02T12:00:00+00:00", "value": "2.50"},
        "place": {"id": str(UUID(int=2)), "when": "2026-01-02"},
        "pair": {"low": 1, "high": 2},
    }


def test_SER_02_an_unknown_object_is_never_an_error() -> None:
    answer = answered(lambda: {"x": Opaque()})
    assert answer.status == "success"
    assert json.loads(answer.text) == {"x": {"type": f"{__name__}.Opaque"}}


def test_SER_04_nan_and_infinity_become_null_with_a_note() -> None:
    rendered = render_value({"x": math.nan, "y": [math.inf]}, max_output=None)
    assert rendered.content == '{"x": null, "y": [null]}'
    assert [note.partition(":")[0] for note in rendered.notes] == ["$.x", "$.y[0]"]


class Doc:
    def __init__(self, text: str) -> None:
        self.text = text

    def to_dict(self) -> dict[str, Any]:
        return {"text": self.text}


def test_SER_06_objects_that_export_themselves_do_so_at_any_depth() -> None:
    assert json.loads(text_of([Doc("a"), {"d": [Doc("b")]}])) == [{"text": "a"}, {"d": [{"text": "b"}]}]


def test_SER_06_cycles_are_cut() -> None:
    value: list[Any] = [Doc("a")]
    value.append(value)
    assert json.loads(text_of(value)) == [{"text": "a"}, "…"]


def test_SER_07_any_json_like_nesting_works() -> None:
    assert json.loads(text_of({"a": {"b": [1, {"c": 2}]}})) == {"a": {"b": [1, {"c": 2}]}}


@pytest.mark.parametrize(("value", "text"), [(0, "0"), (False, "false"), ([], "[]"), ({}, "{}"), (0.0, "0.0")])
def test_SER_08_falsy_results_keep_their_text(value: Any, text: str) -> None:
    async def asynchronous() -> Any:
        return value

    assert answered(lambda: value).content == text
    assert answered(asynchronous).content == text


def test_SER_09_a_falsy_result_reaches_the_message() -> None:
    assert answered(lambda: False).content == "false"


@pytest.mark.parametrize("value", ["", None, "  ", "\n"])
def test_SER_10_content_is_never_empty(value: Any) -> None:
    rendered = render_value(value, max_output=None)
    assert rendered.content == NO_OUTPUT
    assert rendered.artifact == value
    assert answered(lambda: value).content == NO_OUTPUT


@pytest.mark.parametrize("blocks", [[], [{"type": "text", "text": ""}]])
def test_SER_12_an_empty_list_of_blocks_is_text(blocks: list[Any]) -> None:
    content = render_value(blocks, max_output=None).content
    assert isinstance(content, str)
    assert content


def test_SER_13_recognised_blocks_stay_blocks() -> None:
    blocks = [{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {"url": "https://x/y.png"}}]
    assert answered(lambda: blocks).content == blocks


def test_SER_13_a_list_of_ordinary_dicts_is_json() -> None:
    assert answered(lambda: [{"type": "row", "text": "hi"}]).content == '[{"type": "row", "text": "hi"}]'


@pytest.mark.parametrize("value", ["a\ud800b", {"a\ud800": "b\udfff"}, [{"type": "text", "text": "\ud800"}], "a\0b"])
def test_SER_15_content_is_well_formed(value: Any) -> None:
    content = render_value(value, max_output=None).content
    text = json.dumps(content, ensure_ascii=False)
    text.encode()
    assert "�" in text


def test_SER_16_a_huge_result_is_cut_and_kept_whole_as_artifact() -> None:
    rendered = render_value("x" * 1_000_000, max_output=50_000)
    assert isinstance(rendered.content, str)
    assert len(rendered.content) <= 50_000
    assert "of 1,000,000 characters are shown" in rendered.content
    assert rendered.artifact == "x" * 1_000_000


def test_SER_16_the_cap_holds_by_default_and_per_tool() -> None:
    assert len(answered(lambda: "x" * 1_000_000).text) <= 50_000
    assert len(answered(lambda: "x" * 1_000_000, max_output=1_000).text) <= 1_000


def test_SER_16_errors_are_capped_too() -> None:
    def fail() -> None:
        raise ValueError("x" * 1_000_000)

    assert len(answered(fail).text) < 3_000


@pytest.mark.parametrize("value", ["x", None, ("a", "b", "c")])
def test_SER_18_a_result_that_is_no_pair_is_content_with_a_note(value: Any) -> None:
    answer = answered(lambda: value, response_format="content_and_artifact")
    assert answer.status == "success"
    assert answer.outcome is not None
    assert any("pair" in note for note in answer.outcome.notes)
