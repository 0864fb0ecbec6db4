"""Results of tools on their way to a model: SER-01 … SER-18, by both doors of a node, and as providers get them."""

# pandas ships no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import asyncio
import datetime as dt
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from uuid import UUID

import attrs
import numpy as np
import pandas as pd
import polars as pl
import pydantic.v1
import pytest
from pydantic import BaseModel

from surehand import AIMessage, ResultShelf, ToolMessage, ToolNode, message_from_dict, message_to_dict, tool
from surehand.dialects import anthropic_messages, openai_chat
from surehand.events import CallFinished, Event
from surehand.wording import NO_OUTPUT

Answer = Callable[..., ToolMessage]
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
AUDIO = {"type": "audio", "data": "AA==", "mimeType": "audio/wav"}
FILE = {"type": "file", "base64": "aGk=", "mime_type": "application/pdf"}


def asking() -> AIMessage:
    return AIMessage(tool_calls=[{"id": "c1", "name": "t", "args": {}}])


def by_sync_door(value: Any, **options: Any) -> ToolMessage:
    """The answer to a call of a sync tool, asked by sync code."""
    node_options = {name: options.pop(name) for name in ("listener", "shelf", "max_turn_output") if name in options}
    node = ToolNode([tool("t", **options)(lambda: value)], **node_options)
    [answer] = node.invoke([asking()], {"configurable": {"thread_id": "th"}})
    assert isinstance(answer, ToolMessage)
    return answer


def by_async_door(value: Any, **options: Any) -> ToolMessage:
    """The answer to a call of an async tool, asked on a loop."""
    node_options = {name: options.pop(name) for name in ("listener", "shelf", "max_turn_output") if name in options}

    @tool("t", **options)
    async def body() -> Any:
        return value

    node = ToolNode([body], **node_options)
    [answer] = asyncio.run(node.ainvoke([asking()], {"configurable": {"thread_id": "th"}}))
    assert isinstance(answer, ToolMessage)
    return answer


by_both_doors = pytest.mark.parametrize("answered", [by_sync_door, by_async_door], ids=["sync", "async"])


def notes_of(answer: ToolMessage) -> tuple[str, ...]:
    assert answer.outcome is not None
    return answer.outcome.notes


def as_openai(answer: ToolMessage) -> Any:
    """The content as OpenAI's chat API is sent it."""
    *_, written = openai_chat.write_messages([asking(), answer])
    assert (written["role"], written["tool_call_id"]) == ("tool", "c1")
    return written["content"]


def as_anthropic(answer: ToolMessage) -> Any:
    """The content as Anthropic's messages API is sent it."""
    _, messages = anthropic_messages.write_messages([asking(), answer])
    written = messages[-1]
    [result] = written["content"]
    assert (written["role"], result["type"], result["tool_use_id"]) == ("user", "tool_result", "c1")
    return result["content"]


def strict(text: str) -> Any:
    """The text, read as JSON that has no NaN."""

    def refuse(token: str) -> None:
        raise AssertionError(f"{token} is no JSON")

    return json.loads(text, parse_constant=refuse)


# -- SER-01: Unicode stays ---------------------------------------------------------------------------------------------


@by_both_doors
def test_SER_01_json_text_keeps_unicode(answered: Answer) -> None:
    answer = answered({"도시": "서울"})
    assert answer.content == as_openai(answer) == as_anthropic(answer) == '{"도시": "서울"}'


# -- SER-02: values beyond JSON ----------------------------------------------------------------------------------------


class Unit(Enum):
    C = "celsius"


@dataclass
class Reading:
    at: dt.datetime
    value: Decimal


class Place(BaseModel):
    id: UUID
    when: dt.date


class OldPlace(pydantic.v1.BaseModel):
    id: UUID


@attrs.define
class Parcel:
    weight: Decimal


class Pair(NamedTuple):
    low: int
    high: int


class Opaque:
    pass


NOON = dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC)


@by_both_doors
def test_SER_02_values_beyond_json_become_readable_json(answered: Answer) -> None:
    answer = answered(
        {
            "at": NOON,
            "day": NOON.date(),
            "id": UUID(int=1),
            "price": Decimal("1.10"),
            "unit": Unit.C,
            "path": PurePosixPath("a/b"),
            "tags": {"b", "a"},
            "raw": b"\xff",
            "reading": Reading(NOON, Decimal("2.50")),
            "place": Place(id=UUID(int=2), when=NOON.date()),
            "old": OldPlace(id=UUID(int=3)),
            "parcel": Parcel(Decimal(2)),
            "pair": Pair(1, 2),
            "items": (n for n in range(2)),
        }
    )
    assert answer.status == "success"
    assert strict(answer.text) == {
        "at": "2026-01-02T12:00:00+00:00",
        "day": "2026-01-02",
        "id": str(UUID(int=1)),
        "price": "1.10",
        "unit": "celsius",
        "path": "a/b",
        "tags": ["a", "b"],
        "raw": "/w==",
        "reading": {"at": "2026-01-02T12:00:00+00:00", "value": "2.50"},
        "place": {"id": str(UUID(int=2)), "when": "2026-01-02"},
        "old": {"id": str(UUID(int=3))},
        "parcel": {"weight": "2"},
        "pair": {"low": 1, "high": 2},
        "items": [0, 1],
    }


@by_both_doors
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.array([[1, 2], [3, 4]]), "[[1, 2], [3, 4]]"),
        (np.float64(2.5), "2.5"),
        (pd.DataFrame({"a": [1, 2]}), '[{"a": 1}, {"a": 2}]'),
        (pl.DataFrame({"a": [1, 2]}), '[{"a": 1}, {"a": 2}]'),
    ],
)
def test_SER_02_arrays_and_tables_become_lists(answered: Answer, value: Any, text: str) -> None:
    assert answered(value).content == text


@by_both_doors
def test_SER_02_a_large_table_begins_with_what_it_is(answered: Answer) -> None:
    answer = answered(pd.DataFrame({"a": range(30_000)}), max_output=1_000)
    assert answer.text.startswith('{"type": "pandas.DataFrame", "shape": [30000, 1], "columns": ["a"], ')


@by_both_doors
@pytest.mark.parametrize("value", [Opaque(), object(), lambda: 1, [Opaque()], {"x": {"y": Opaque()}}])
def test_SER_02_an_unknown_object_is_never_an_error_and_never_an_address(answered: Answer, value: Any) -> None:
    answer = answered(value)
    assert answer.status == "success"
    assert "0x" not in answer.text
    assert "has no JSON form" in notes_of(answer)[0]


# -- SER-04: strict JSON -----------------------------------------------------------------------------------------------


@by_both_doors
def test_SER_04_nan_and_infinity_become_null_with_a_note(answered: Answer) -> None:
    answer = answered({"x": math.nan, "y": [math.inf]})
    assert answer.content == as_openai(answer) == as_anthropic(answer) == '{"x": null, "y": [null]}'
    assert [note.partition(":")[0] for note in notes_of(answer)] == ["$.x", "$.y[0]"]


# -- SER-06: objects that export themselves ----------------------------------------------------------------------------


class Doc:
    def __init__(self, text: str) -> None:
        self.text = text

    def to_dict(self) -> dict[str, Any]:
        return {"text": self.text}


@by_both_doors
def test_SER_06_objects_that_export_themselves_do_so_at_any_depth(answered: Answer) -> None:
    assert strict(answered([Doc("a"), {"d": [Doc("b")]}]).text) == [{"text": "a"}, {"d": [{"text": "b"}]}]


@by_both_doors
def test_SER_06_cycles_are_cut(answered: Answer) -> None:
    value: list[Any] = [Doc("a")]
    value.append(value)
    answer = answered(value)
    assert strict(answer.text) == [{"text": "a"}, "…"]
    assert "contains itself" in notes_of(answer)[0]


# -- SER-07: nesting ---------------------------------------------------------------------------------------------------


@by_both_doors
def test_SER_07_any_json_like_nesting_works(answered: Answer) -> None:
    value: Any = {"a": {"b": [1, {"c": 2}, (3, [4])]}}
    for _ in range(40):
        value = [{"deeper": value}]
    assert strict(answered(value).text) == json.loads(json.dumps(value))


# -- SER-08, SER-09: falsy results -------------------------------------------------------------------------------------

FALSY: list[tuple[Any, str]] = [
    (0, "0"),
    (False, "false"),
    ([], "[]"),
    ({}, "{}"),
    (0.0, "0.0"),
    ((), "[]"),
    (Decimal(0), "0"),
]


@by_both_doors
@pytest.mark.parametrize(("value", "text"), FALSY)
def test_SER_08_falsy_results_keep_their_text(answered: Answer, value: Any, text: str) -> None:
    assert answered(value).content == text


@by_both_doors
@pytest.mark.parametrize(("value", "text"), FALSY)
def test_SER_09_a_falsy_result_reaches_messages_events_stores_and_providers(
    answered: Answer, value: Any, text: str
) -> None:
    events: list[Event] = []
    answer = answered(value, listener=events.append)
    [ended] = [event for event in events if isinstance(event, CallFinished)]
    assert ended.value == value
    assert as_openai(answer) == as_anthropic(answer) == text
    assert message_from_dict(json.loads(json.dumps(message_to_dict(answer)))).content == text


# -- SER-10, SER-12: nothing to say ------------------------------------------------------------------------------------


@by_both_doors
@pytest.mark.parametrize("value", ["", None, "  ", "\n"])
def test_SER_10_content_is_never_empty_and_the_raw_value_is_kept(answered: Answer, value: Any) -> None:
    answer = answered(value)
    assert answer.content == as_openai(answer) == as_anthropic(answer) == NO_OUTPUT
    assert answer.artifact == value


@by_both_doors
@pytest.mark.parametrize("blocks", [[], [{"type": "text", "text": ""}], [{"type": "text", "text": " \n"}]])
def test_SER_12_an_empty_list_of_blocks_is_a_text_that_says_something(answered: Answer, blocks: list[Any]) -> None:
    answer = answered(blocks)
    for content in (answer.content, as_openai(answer), as_anthropic(answer)):
        assert isinstance(content, str)
        assert content.strip()


# -- SER-13: content blocks --------------------------------------------------------------------------------------------


@by_both_doors
def test_SER_13_recognised_blocks_stay_blocks(answered: Answer) -> None:
    blocks = [{"type": "text", "text": "hi"}, IMAGE, AUDIO, FILE]
    assert answered(blocks).content == blocks


@by_both_doors
def test_SER_13_each_provider_is_sent_the_blocks_that_it_carries(answered: Answer) -> None:
    answer = answered([{"type": "text", "text": "hi"}, IMAGE, AUDIO, FILE])
    assert as_anthropic(answer) == [
        {"type": "text", "text": "hi"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
        {"type": "text", "text": "(a block of type audio that cannot be shown here)"},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="}},
    ]
    named = "\n".join(f"(a block of type {kind} that cannot be shown here)" for kind in ("image_url", "audio", "file"))
    assert as_openai(answer) == f"hi\n{named}"


@by_both_doors
def test_SER_13_a_list_of_ordinary_dicts_is_json(answered: Answer) -> None:
    assert answered([{"type": "row", "text": "hi"}]).content == '[{"type": "row", "text": "hi"}]'
    assert answered([{"type": "file", "name": "a.txt"}]).content == '[{"type": "file", "name": "a.txt"}]'


# -- SER-15: well-formed text ------------------------------------------------------------------------------------------


@by_both_doors
@pytest.mark.parametrize("value", ["a\ud800b", {"a\ud800": "b\udfff"}, [{"type": "text", "text": "\ud800"}], "a\0b"])
def test_SER_15_text_is_well_formed_everywhere_it_goes(answered: Answer, value: Any) -> None:
    answer = answered(value)
    for content in (answer.content, as_openai(answer), as_anthropic(answer)):
        text = json.dumps(content, ensure_ascii=False)
        text.encode()
        assert "�" in text
        assert "\\u0000" not in text
    assert "U+FFFD" in notes_of(answer)[0]


# -- SER-16: size ------------------------------------------------------------------------------------------------------

HUGE = "".join(f"{number}\n" for number in range(150_000))


@by_both_doors
def test_SER_16_a_huge_result_keeps_head_and_tail_and_is_kept_whole_as_artifact(answered: Answer) -> None:
    answer = answered(HUGE)
    assert len(answer.text) <= 50_000
    assert answer.text.startswith("0\n1\n2\n")
    assert answer.text.endswith("149998\n149999\n")
    assert f"of {len(HUGE):,} characters are shown" in answer.text
    assert answer.artifact == HUGE
    assert any("cut to 50,000" in note for note in notes_of(answer))
    assert as_openai(answer) == as_anthropic(answer) == answer.text


@by_both_doors
@pytest.mark.parametrize("value", [HUGE, [HUGE], [{"type": "text", "text": HUGE}], pd.DataFrame({"a": range(90_000)})])
def test_SER_16_the_cap_holds_for_text_data_blocks_and_tables_and_per_tool(answered: Answer, value: Any) -> None:
    answer = answered(value, max_output=1_000)
    assert len(answer.text) <= 1_000
    assert answer.artifact is value


@by_both_doors
def test_SER_16_errors_are_capped_too(answered: Answer) -> None:
    class Failing:
        def __call__(self) -> None:
            raise ValueError(HUGE)

    node = ToolNode([tool("t")(Failing())], handle_tool_errors=True)
    [answer] = node.invoke([asking()]) if answered is by_sync_door else asyncio.run(node.ainvoke([asking()]))
    assert answer.status == "error"
    assert len(answer.text) < 3_000


@by_both_doors
def test_SER_16_the_notice_says_how_to_get_more(answered: Answer) -> None:
    shelf = ResultShelf()
    answer = answered(HUGE, shelf=shelf)
    [handle] = shelf.handles("th")
    assert f'Call read_tool_result(handle="{handle}", offset=' in answer.text


@by_both_doors
def test_SER_16_the_results_of_a_turn_share_a_cap(answered: Answer) -> None:
    assert len(answered(HUGE, max_turn_output=2_000).text) <= 2_000


# -- SER-18: pairs -----------------------------------------------------------------------------------------------------


@by_both_doors
@pytest.mark.parametrize("value", ["x", None, ("a", "b", "c"), [1, 2]])
def test_SER_18_a_result_that_is_no_pair_is_content_with_a_note(answered: Answer, value: Any) -> None:
    answer = answered(value, response_format="content_and_artifact")
    assert answer.status == "success"
    assert answer.content == answered(value).content
    assert answer.artifact is None
    assert any("no pair" in note for note in notes_of(answer))


@by_both_doors
def test_SER_18_a_pair_is_content_and_artifact(answered: Answer) -> None:
    answer = answered(("two rows", [1, 2]), response_format="content_and_artifact")
    assert (answer.content, answer.artifact, notes_of(answer)) == ("two rows", [1, 2], ())
