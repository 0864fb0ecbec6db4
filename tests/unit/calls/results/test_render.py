"""render_value: any value as text or content blocks."""

# pandas ships no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import asyncio
import datetime as dt
import email
import io
import itertools
import json
import math
import sqlite3
import sys
import time
from collections import OrderedDict, UserDict, UserString, deque, namedtuple
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple
from unittest.mock import MagicMock
from uuid import UUID
from xml.etree import ElementTree as ET

import attrs
import httpx
import numpy as np
import pandas as pd
import polars as pl
import pydantic.v1
import pytest
import requests
from pydantic import BaseModel, SecretStr

from surehand.calls import ToolReturn
from surehand.calls.results.arrays import MAX_CELLS
from surehand.calls.results.forms import MAX_BINARY, MAX_ITEMS
from surehand.calls.results.reader import MAX_DEPTH, MAX_NOTES
from surehand.calls.results.render import Rendered, render_value
from surehand.messages import AIMessage, HumanMessage, ToolMessage
from surehand.wording import NO_OUTPUT

NOTHING = {"a": None, "d": None}
"""A row of nothing."""


def text_of(value: Any) -> str:
    """The content of a value that renders as text."""
    content = render_value(value, max_output=None).content
    assert isinstance(content, str)
    return content


def data_of(value: Any) -> Any:
    """The content, read back as strict JSON."""

    def refuse(token: str) -> None:
        raise AssertionError(f"{token} is no JSON")

    return json.loads(text_of(value), parse_constant=refuse)


# -- text ------------------------------------------------------------------------------------------------------------


def test_text_stays_as_it_is_with_nothing_else() -> None:
    assert render_value("Grüße, 서울", max_output=10) == Rendered("Grüße, 서울", None, False, ())


@pytest.mark.parametrize("blank", ["", "  ", "\n\t"])
def test_blank_text_becomes_a_placeholder_and_keeps_the_raw_value(blank: str) -> None:
    assert render_value(blank, max_output=None) == Rendered(NO_OUTPUT, blank, True, ())


def test_none_becomes_a_placeholder_without_an_artifact() -> None:
    assert render_value(None, max_output=None) == Rendered(NO_OUTPUT, None, False, ())


def test_a_nul_and_a_lone_surrogate_are_replaced_with_a_note() -> None:
    rendered = render_value("a\0b\ud800c", max_output=None)
    assert rendered.content == "a�b�c"
    assert len(rendered.notes) == 1


def test_a_pair_of_surrogates_becomes_the_character_it_stands_for() -> None:
    assert text_of("\ud83d\ude00") == "😀"


# -- size ------------------------------------------------------------------------------------------------------------


def test_a_long_text_keeps_head_and_tail_within_the_limit() -> None:
    rendered = render_value("a" * 6_000 + "z" * 6_000, max_output=1_000)
    assert isinstance(rendered.content, str)
    assert len(rendered.content) <= 1_000
    assert rendered.content.startswith("aaa")
    assert rendered.content.endswith("zzz")


def test_the_notice_counts_what_is_shown_and_what_there_is() -> None:
    content = render_value("x" * 100_000, max_output=1_000).content
    assert isinstance(content, str)
    assert f"{content.count('x'):,} of 100,000 characters are shown" in content


def test_a_cut_result_keeps_the_whole_value_as_artifact() -> None:
    value = {"rows": list(range(1_000))}
    rendered = render_value(value, max_output=500)
    assert rendered.has_artifact
    assert rendered.artifact is value
    assert any("cut to 500" in note for note in rendered.notes)


def test_a_text_of_exactly_the_limit_is_not_cut() -> None:
    assert render_value("x" * 50, max_output=50).content == "x" * 50


def test_a_tiny_limit_still_shows_something() -> None:
    content = render_value("abcdefghij" * 10, max_output=10).content
    assert isinstance(content, str)
    assert content.startswith("abcd")


def test_a_cut_iterator_keeps_what_was_read_of_it() -> None:
    rendered = render_value((n for n in range(1_000)), max_output=400)
    assert rendered.artifact == list(range(1_000))


# -- JSON ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (False, "false"), (0.0, "0.0"), ([], "[]"), ({}, "{}"), ((), "[]"), (True, "true"), (3.5, "3.5")],
)
def test_falsy_and_plain_values_keep_their_text(value: Any, text: str) -> None:
    assert render_value(value, max_output=None) == Rendered(text, None, False, ())


def test_json_keeps_unicode() -> None:
    assert text_of({"도시": "서울"}) == '{"도시": "서울"}'


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_does_not_have_become_null_with_their_path(number: float) -> None:
    rendered = render_value({"a": [1, {"b c": number}]}, max_output=None)
    assert rendered.content == '{"a": [1, {"b c": null}]}'
    assert rendered.notes[0].startswith("$.a[1]['b c']: ")


def test_a_bare_nan_is_null() -> None:
    assert text_of(math.nan) == "null"


def test_huge_integers_stay_exact() -> None:
    assert data_of({"id": 2**80}) == {"id": 2**80}


def test_an_integer_beyond_decimal_conversion_is_hexadecimal_text() -> None:
    rendered = render_value({"n": 10**5_000}, max_output=None)
    assert json.loads(str(rendered.content)) == {"n": hex(10**5_000)}
    assert rendered.notes


def test_keys_that_are_no_text_become_text_with_a_note() -> None:
    day = dt.date(2026, 1, 2)
    rendered = render_value({1: "a", None: "b", (1, 2): "c", day: "d"}, max_output=None)
    assert json.loads(str(rendered.content)) == {"1": "a", "null": "b", "[1, 2]": "c", "2026-01-02": "d"}
    assert rendered.notes == ("$: keys that are not text were turned into text",)


def test_keys_that_would_collide_are_told_apart() -> None:
    rendered = render_value({1: "a", "1": "b"}, max_output=None)
    assert json.loads(str(rendered.content)) == {"1": "a", "1′1": "b"}
    assert len(rendered.notes) == 2


def test_plain_json_may_be_deeper_than_the_careful_way_reads() -> None:
    value: Any = 1
    for _ in range(MAX_DEPTH + 50):
        value = [value]
    assert data_of(value) == value


def test_nesting_beyond_the_stack_is_cut_with_a_note() -> None:
    value: Any = []
    for _ in range(100_000):
        value = [value]
    rendered = render_value(value, max_output=None)
    assert any("too deep" in note for note in rendered.notes)
    assert rendered.artifact is value


# -- values with a form ----------------------------------------------------------------------------------------------


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


PAIR: Any = namedtuple("PAIR", "a b")  # noqa: PYI024 # pyright: ignore[reportUntypedNamedTuple] - this kind is meant


class Point(NamedTuple):
    x: int
    y: int


@dataclass
class Order:
    id: UUID
    price: Decimal
    tags: set[str] = field(default_factory=set[str])


class Customer(BaseModel):
    name: str
    since: dt.date
    ratio: float = 1.0
    password: SecretStr = SecretStr("x")


class OldCustomer(pydantic.v1.BaseModel):
    name: str
    since: dt.date


@attrs.define
class Parcel:
    weight: Decimal


class Document:
    def __init__(self, text: str) -> None:
        self.text = text

    def to_dict(self) -> dict[str, Any]:
        return {"text": self.text}


UTC_NOON = dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (UTC_NOON, "2026-01-02T12:00:00+00:00"),
        (dt.date(2026, 1, 2), "2026-01-02"),
        (dt.time(1, 2, 3), "01:02:03"),
        (dt.timedelta(days=1, hours=2, minutes=3, seconds=4, milliseconds=500), "P1DT2H3M4.5S"),
        (-dt.timedelta(minutes=90), "-PT1H30M"),
        (dt.timedelta(), "PT0S"),
        (dt.timedelta(days=2), "P2D"),
        (dt.timedelta(microseconds=1), "PT0.000001S"),
        (Decimal("1.10"), "1.10"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (PurePosixPath("a/b"), "a/b"),
        (Fraction(1, 3), "1/3"),
        (Colour.RED, "red"),
        (Level.HIGH, "3"),
        (b"plain", "plain"),
        (Order, f"{__name__}.Order"),
    ],
)
def test_a_value_of_one_text_is_that_text(value: Any, text: str) -> None:
    assert text_of(value) == text


@pytest.mark.parametrize(
    ("value", "data"),
    [
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", "a"}), ["a", "b"]),
        ({1, "a", (2,)}, ["a", 1, [2]]),
        (Point(1, 2), {"x": 1, "y": 2}),
        (PAIR(1, [2]), {"a": 1, "b": [2]}),
        (OrderedDict(a=1), {"a": 1}),
        (MappingProxyType({"a": 1}), {"a": 1}),
        (UserDict({"a": 1}), {"a": 1}),
        (deque([1, 2]), [1, 2]),
        (range(3), [0, 1, 2]),
        ({"a": 1}.items(), [["a", 1]]),
        (map(str, [1, 2]), ["1", "2"]),
        (
            Order(UUID(int=2), Decimal("9.90"), {"b", "a"}),
            {"id": str(UUID(int=2)), "price": "9.90", "tags": ["a", "b"]},
        ),
        (
            Customer(name="A", since=dt.date(2020, 1, 1)),
            {"name": "A", "since": "2020-01-01", "ratio": 1.0, "password": "**********"},
        ),
        (OldCustomer(name="A", since=dt.date(2020, 1, 1)), {"name": "A", "since": "2020-01-01"}),
        (Parcel(Decimal(2)), {"weight": "2"}),
        ([Document("a"), {"d": Document("b")}], [{"text": "a"}, {"d": {"text": "b"}}]),
        (ValueError("no"), {"type": "ValueError", "message": "no"}),
        ({Colour.RED: Level.HIGH}, {"red": 3}),
    ],
)
def test_a_structured_value_is_json(value: Any, data: Any) -> None:
    assert data_of(value) == data


def test_a_model_with_nan_notes_the_field() -> None:
    rendered = render_value(Customer(name="A", since=dt.date(2020, 1, 1), ratio=math.nan), max_output=None)
    assert rendered.notes == ("$.ratio: nan is no JSON number, null stands for it",)


def test_bytes_that_are_no_text_are_base64_with_a_note() -> None:
    rendered = render_value({"raw": b"\xff\x00"}, max_output=None)
    assert rendered.content == '{"raw": "/wA="}'
    assert "base64" in rendered.notes[0]


def test_many_bytes_of_text_are_looked_through_quickly() -> None:
    started = time.process_time()
    assert render_value(b"x" * 20_000_000, max_output=100).notes[0] == "$: 20,000,000 bytes were read as UTF-8 text"
    assert time.process_time() - started < 1


def test_an_open_file_is_its_type_and_no_path(tmp_path: Path) -> None:
    with (tmp_path / "a.txt").open("w") as file:
        assert data_of(file) == {"type": "_io.TextIOWrapper", "mode": "w"}


def test_bytes_whose_base64_would_be_cut_are_told_by_their_size() -> None:
    raw = b"\x89PNG" * (MAX_BINARY // 4 + 1)
    rendered = render_value(raw, max_output=None)
    data = json.loads(str(rendered.content))
    assert (data["type"], data["size"]) == ("bytes", len(raw))
    assert rendered.artifact is raw
    assert "left out" in rendered.notes[0]


def test_a_whole_image_goes_into_a_block() -> None:
    content = render_value([{"type": "image", "data": b"\x89PNG" * MAX_BINARY}], max_output=100).content
    assert isinstance(content, list)
    assert len(content[0]["data"]) > 4 * MAX_BINARY


def test_an_exception_group_holds_its_members() -> None:
    assert data_of(ExceptionGroup("g", [KeyError("a")]))["exceptions"] == [{"type": "KeyError", "message": "'a'"}]


# -- numpy, pandas, polars -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.int64(3), "3"),
        (np.float64(2.5), "2.5"),
        (np.bool_(True), "true"),
        (np.float64("nan"), "null"),
        (np.array([[1, 2], [3, 4]]), "[[1, 2], [3, 4]]"),
        (np.array([1.0, np.nan]), "[1.0, null]"),
        (np.array(7), "7"),
        (np.datetime64("2026-01-02"), "2026-01-02"),
        (np.array(["2026-01-02"], dtype="datetime64[D]"), '["2026-01-02"]'),
        (np.longdouble("1.5"), "1.5"),
        (np.str_("x"), "x"),
        ({"a": np.int8(1)}, '{"a": 1}'),
        (pd.Series([1, 2]), "[1, 2]"),
        (pd.Series([1], index=["k"]), '{"k": 1}'),
        (pd.Timestamp("2026-01-02"), "2026-01-02T00:00:00"),
        (pd.NaT, "null"),
        (pd.NA, "null"),
        (pd.Index(["a"]), '["a"]'),
        (pd.Period("2026-01", "M"), "2026-01"),
    ],
)
def test_numbers_of_numpy_and_pandas_are_json(value: Any, text: str) -> None:
    assert text_of(value) == text


def test_a_table_is_a_list_of_rows() -> None:
    table = pd.DataFrame({"day": [pd.Timestamp("2026-01-02"), pd.NaT], "n": [1.5, float("nan")]})
    assert data_of(table) == [{"day": "2026-01-02T00:00:00", "n": 1.5}, {"day": None, "n": None}]


def test_a_table_keeps_an_index_that_says_something() -> None:
    assert data_of(pd.DataFrame({"n": [1]}, index=pd.Index(["a"], name="key"))) == [{"key": "a", "n": 1}]


def test_an_index_that_does_not_count_from_zero_is_kept() -> None:
    assert data_of(pd.DataFrame({"n": [1, 2]})[1:]) == [{"index": 1, "n": 2}]


def test_columns_of_one_name_are_both_shown() -> None:
    table = pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"])
    assert (data_of(table)["columns"], data_of(table)["rows"]) == (["a", "a"], [[1, 2], [3, 4]])


def test_a_series_whose_index_repeats_is_pairs() -> None:
    assert data_of(pd.Series([1, 2], index=["a", "a"])) == [["a", 1], ["a", 2]]


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (pl.DataFrame({"a": [1, None], "d": [dt.date(2026, 1, 2), None]}), [{"a": 1, "d": "2026-01-02"}, NOTHING]),
        (pl.Series("x", [1.5, None]), [1.5, None]),
        (pl.DataFrame({"s": [{"x": 1}], "t": [dt.timedelta(hours=1)]}), [{"s": {"x": 1}, "t": "PT1H"}]),
    ],
)
def test_tables_and_columns_of_polars_are_lists(value: Any, data: Any) -> None:
    assert data_of(value) == data


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.timedelta64(5, "h"), "PT5H"),
        (np.timedelta64(7, "ns"), "7 nanoseconds"),
        (np.timedelta64(3, "Y"), "3 years"),
        (np.datetime64("NaT", "s"), "null"),
        (np.array(["2026-01-02", "NaT"], dtype="datetime64[D]"), '["2026-01-02", null]'),
        (np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")]), '[{"a": 1, "b": 2.5}]'),
        (np.ma.array([1, 2], mask=[False, True]), "[1, null]"),
    ],
)
def test_times_records_and_gaps_of_numpy_keep_their_meaning(value: Any, text: str) -> None:
    assert text_of(value) == text


def test_a_class_derived_from_an_array_is_read_as_one_with_a_note() -> None:
    class Lengths(np.ndarray[Any, Any]):
        pass

    rendered = render_value(np.array([1, 2]).view(Lengths), max_output=None)
    assert rendered.content == "[1, 2]"
    assert "without what its class adds" in rendered.notes[0]


def test_a_large_array_says_first_what_it_is() -> None:
    array = np.arange(2_000, dtype=np.float64).reshape(4, 500)
    array[0, 0] = np.nan
    data = data_of(array)
    values = data.pop("values")
    assert data == {
        "type": "numpy.ndarray",
        "shape": [4, 500],
        "dtype": "float64",
        "min": 1.0,
        "max": 1_999.0,
        "mean": 1_000.0,
        "not_finite": 1,
    }
    assert values[3][-1] == 1_999.0


def test_of_an_array_without_end_in_sight_the_first_rows_are_read() -> None:
    array = np.zeros((1_000, 1_000))
    rendered = render_value(array, max_output=2_000)
    assert str(rendered.content).startswith('{"type": "numpy.ndarray", "shape": [1000, 1000], "dtype": "float64"')
    assert '"shown": "the first 50 of 1,000 rows"' in str(rendered.content)
    assert rendered.artifact is array
    assert rendered.notes[0] == "$: only the first 50 of 1,000 rows of the array were read"


@pytest.mark.parametrize("library", [pd, pl])
def test_a_large_table_says_its_columns_once(library: Any) -> None:
    table = library.DataFrame({"a": list(range(600)), "b": ["x"] * 600})
    data = data_of(table)
    assert data["type"] == f"{library.__name__}.DataFrame"
    assert data["shape"] == [600, 2]
    assert data["columns"] == ["a", "b"]
    assert data["rows"][599] == [599, "x"]


@pytest.mark.parametrize("library", [pd, pl])
def test_a_large_column_says_its_type(library: Any) -> None:
    data = data_of(library.Series(range(2_000)))
    assert (data["shape"], str(data["dtype"]).lower()) == ([2_000], "int64")
    assert data["values"][-1] == 1_999


@pytest.mark.parametrize("library", [pd, pl])
def test_of_a_huge_table_the_first_rows_are_read_with_a_note(library: Any) -> None:
    rendered = render_value(library.DataFrame({"a": range(200_000)}), max_output=None)
    assert json.loads(str(rendered.content))["shown"] == f"the first {MAX_CELLS:,} of 200,000 rows"
    assert rendered.has_artifact
    assert rendered.notes


# -- messages --------------------------------------------------------------------------------------------------------


def test_a_message_is_its_content() -> None:
    assert text_of(AIMessage("done", name="helper")) == "done"


def test_a_message_of_blocks_stays_blocks() -> None:
    blocks: list[Any] = [{"type": "text", "text": "hi"}]
    assert render_value(AIMessage(blocks), max_output=None).content == blocks


def test_messages_inside_a_value_are_json() -> None:
    data = data_of({"history": [HumanMessage("hi")]})
    assert "hi" in json.dumps(data["history"][0])


# -- bounds ----------------------------------------------------------------------------------------------------------


def test_an_endless_iterator_is_read_up_to_a_bound_with_a_note() -> None:
    rendered = render_value({"n": itertools.count()}, max_output=None)
    assert len(json.loads(str(rendered.content))["n"]) == MAX_ITEMS
    assert rendered.notes == (f"$.n: only the first {MAX_ITEMS:,} items were read",)


def test_a_cycle_is_cut_with_a_note() -> None:
    value: dict[str, Any] = {"name": "a"}
    value["self"] = value
    rendered = render_value(value, max_output=None)
    assert rendered.content == '{"name": "a", "self": "…"}'
    assert "contains itself" in rendered.notes[0]


def test_a_value_met_twice_is_no_cycle() -> None:
    shared = [Decimal(1)]
    assert data_of([shared, shared]) == [["1"], ["1"]]


def test_a_value_that_explodes_is_cut_in_reasonable_time() -> None:
    value: Any = [1]
    for _ in range(60):
        value = [value, value]
    started = time.process_time()
    rendered = render_value(value, max_output=1_000)
    assert time.process_time() - started < 30
    assert any("too large" in note for note in rendered.notes)


def endless() -> Iterator[Any]:
    while True:
        yield endless()


class EndlessMapping(UserDict[str, Any]):
    def items(self) -> Any:
        return (("k", "v") for _ in itertools.count())


@pytest.mark.parametrize("make", [endless, lambda: EndlessMapping(a=1)])
def test_what_is_endless_at_every_level_is_cut_in_reasonable_time(make: Callable[[], Any]) -> None:
    started = time.process_time()
    rendered = render_value(make(), max_output=1_000)
    assert time.process_time() - started < 30
    assert rendered.notes


def test_the_path_of_a_note_is_bounded() -> None:
    value: Any = math.nan
    for number in range(90):
        value = {"k" * 10_000 + str(number): value}
    [note] = render_value(value, max_output=None).notes
    assert "…74 more…" in note
    assert len(note) < 2_000


def test_notes_are_bounded_and_the_rest_is_counted() -> None:
    rendered = render_value([math.nan] * (MAX_NOTES + 5), max_output=None)
    assert len(rendered.notes) == MAX_NOTES + 1
    assert rendered.notes[-1] == "and 5 more"


# -- objects without a form ------------------------------------------------------------------------------------------


class Bare:
    def __init__(self) -> None:
        self.size = Decimal(2)
        self.api_key = "secret-value"
        self._hidden = 1


class Slotted:
    __slots__ = ("left", "right")

    def __init__(self) -> None:
        self.left = 1


class Speaking:
    def __str__(self) -> str:
        return "I am 3 apples"


def test_an_object_without_a_form_is_its_type_and_public_attributes() -> None:
    rendered = render_value(Bare(), max_output=None)
    name = f"{__name__}.Bare"
    assert json.loads(str(rendered.content)) == {"type": name, "size": "2", "api_key": "[redacted]"}
    assert rendered.notes == (f"$: {name} has no JSON form, its type and public attributes are shown",)


def test_a_slotted_object_is_read_by_its_filled_slots() -> None:
    assert data_of(Slotted()) == {"type": f"{__name__}.Slotted", "left": 1}


def test_an_object_with_a_text_of_its_own_is_that_text_with_a_note() -> None:
    rendered = render_value([Speaking()], max_output=None)
    assert rendered.content == '["I am 3 apples"]'
    assert "its text is shown" in rendered.notes[0]


@pytest.mark.parametrize("value", [object(), lambda: 1, len, math, iter, open, Slotted.__init__])
def test_no_address_and_no_angle_bracket_form_gets_out(value: Any) -> None:
    assert "0x" not in text_of([value])
    assert " object at " not in text_of([value])


def test_a_mock_is_not_taken_for_a_model() -> None:
    assert "model_dump" not in text_of(MagicMock())


# -- hostile values --------------------------------------------------------------------------------------------------


class Hostile:
    """Fails at everything."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __repr__(self) -> str:
        raise RuntimeError("repr")


class LyingIterable:
    def __iter__(self) -> Iterator[int]:
        yield 1
        raise RuntimeError("in the middle")


class BrokenProperty:
    def __init__(self) -> None:
        self.fine = 1

    def __str__(self) -> str:
        raise ValueError("no text")


@dataclass
class HalfMade:
    a: list[int]


class BrokenModel(BaseModel):
    a: int = 1
    b: Any = None

    def model_dump(self, **_: Any) -> dict[str, Any]:
        raise TypeError("no dump")


class BrokenText(str):
    __slots__ = ()

    def __len__(self) -> int:
        raise RuntimeError("len")

    def isspace(self) -> bool:
        raise RuntimeError("isspace")


class BrokenMeta(type):
    @property
    def __module__(cls) -> str:  # type: ignore[override]
        raise RuntimeError("module")


class OfBrokenMeta(metaclass=BrokenMeta):
    pass


class BrokenDict(dict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError("items")


class SelfDumping:
    def to_dict(self) -> dict[str, Any]:
        return {"again": SelfDumping()}


def _half_made() -> HalfMade:
    half = HalfMade([])
    del half.a
    return half


@pytest.mark.parametrize(
    "make",
    [
        Hostile,
        lambda: [Hostile()],
        lambda: {"a": Hostile(), "b": 1},
        LyingIterable,
        BrokenProperty,
        BrokenModel,
        lambda: BrokenText("x"),
        OfBrokenMeta,
        lambda: BrokenDict(a=1),
        SelfDumping,
        _half_made,
        MagicMock,
        lambda: [{"type": Hostile(), "text": "x"}],
        lambda: [{"type": "text", "text": "x", "extra": Hostile()}],
        lambda: {Speaking(): 1},
        type("T", (), {"__class__": property(lambda _: 1 / 0)}),
    ],
)
def test_hostile_values_never_raise_and_leave_text(make: Callable[[], Any]) -> None:
    content = render_value(make(), max_output=10_000).content
    assert content
    json.dumps(content, ensure_ascii=False).encode()


@pytest.mark.parametrize("raised", [SystemExit, asyncio.CancelledError, GeneratorExit, BaseException])
@pytest.mark.parametrize("method", ["__str__", "__iter__", "__getattribute__", "model_dump", "to_dict"])
def test_a_value_that_wants_to_end_the_program_is_its_type(raised: type[BaseException], method: str) -> None:
    def end(*_: Any, **__: Any) -> Any:
        raise raised

    value = type("Ending", (), {method: end})()
    assert data_of([value, 1])[1] == 1
    assert data_of(value)["type"].endswith(".Ending")


def test_a_property_that_wants_to_end_the_program_does_not_cost_the_others() -> None:
    @dataclass
    class Half:
        a: int = 1

        def __getattribute__(self, name: str) -> Any:
            return sys.exit() if name == "b" else object.__getattribute__(self, name)

        b: int = field(default=2, init=False)

    assert data_of(Half()) == {"a": 1, "b": None}


def test_one_hostile_item_does_not_cost_the_others() -> None:
    data = data_of({"bad": LyingIterable(), "good": [Decimal(1)]})
    assert data["good"] == ["1"]


def test_a_model_whose_dump_fails_is_read_field_by_field() -> None:
    assert data_of(BrokenModel(b=Decimal(2))) == {"a": 1, "b": "2"}


def test_a_keyboard_interrupt_gets_through() -> None:
    class Interrupting:
        def __str__(self) -> str:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        render_value(Interrupting(), max_output=None)


# -- content blocks --------------------------------------------------------------------------------------------------

TEXT = {"type": "text", "text": "hi"}
IMAGE = {"type": "image_url", "image_url": {"url": "https://x/y.png"}}


@pytest.mark.parametrize(
    "blocks",
    [
        [TEXT],
        [TEXT, IMAGE],
        [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}],
        [{"type": "document", "source": {"type": "text", "data": "x"}, "title": "t"}],
        [{"type": "file", "file_id": "f1"}],
        [{"type": "audio", "data": "AA=="}],
        [{"type": "json", "json": {"a": 1}}],
        [{"type": "search_result", "source": "s", "title": "t", "content": [TEXT]}],
        [{"type": "tool_reference", "tool_name": "add"}],
    ],
)
def test_lists_of_known_blocks_stay_lists_of_blocks(blocks: list[dict[str, Any]]) -> None:
    assert render_value(blocks, max_output=None) == Rendered(blocks, None, False, ())


@pytest.mark.parametrize(
    "value",
    [
        [{"a": 1}],
        [{"type": "file", "name": "a.txt"}],
        [{"type": "text"}],
        [{"type": "text", "text": 3}],
        [{"type": "unheard_of", "text": "x"}],
        [TEXT, {"a": 1}],
        [TEXT, "plain"],
        ["plain"],
        (TEXT,),
    ],
)
def test_lists_of_anything_else_are_json(value: Any) -> None:
    assert data_of(value) == json.loads(json.dumps(value))


def test_the_blocks_are_a_copy() -> None:
    value = [dict(TEXT)]
    content = render_value(value, max_output=None).content
    value[0]["text"] = "changed"
    assert content == [TEXT]


def test_blocks_of_blank_text_only_become_the_placeholder() -> None:
    value = [{"type": "text", "text": " "}]
    assert render_value(value, max_output=None) == Rendered(NO_OUTPUT, value, True, ())


def test_a_blank_text_block_among_others_is_left_out() -> None:
    rendered = render_value([{"type": "text", "text": ""}, IMAGE], max_output=None)
    assert rendered.content == [IMAGE]
    assert rendered.notes


def test_bytes_and_broken_text_in_blocks_are_made_fit_to_send() -> None:
    value = [{"type": "image", "data": b"text?"}, {"type": "text", "text": "a\ud800\0", "n": math.nan}]
    rendered = render_value(value, max_output=None)
    assert rendered.content == [{"type": "image", "data": "dGV4dD8="}, {"type": "text", "text": "a��", "n": None}]


def test_the_texts_of_blocks_share_the_limit_and_images_do_not_count() -> None:
    blocks = [{"type": "text", "text": "a" * 300}, IMAGE, {"type": "text", "text": "b" * 9_000}, IMAGE, TEXT]
    rendered = render_value(blocks, max_output=1_000)
    assert isinstance(rendered.content, list)
    first, image, cut, last = rendered.content
    assert (first, image, last) == (blocks[0], IMAGE, IMAGE)
    assert len(cut["text"]) <= 700
    assert "of 9,304 characters are shown" in cut["text"]
    assert cut["text"].endswith("bbb\nhi")
    assert rendered.artifact is blocks


def test_a_json_block_over_the_limit_becomes_cut_text() -> None:
    rendered = render_value([{"type": "json", "json": list(range(5_000))}], max_output=600)
    assert isinstance(rendered.content, list)
    assert rendered.content[0]["type"] == "text"


class Names(pydantic.RootModel[str]):
    pass


class Day(pydantic.RootModel[dt.date | None]):
    pass


class Numbers(pydantic.v1.BaseModel):
    __root__: list[int]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Names("a"), "a"),
        (Day(dt.date(2026, 1, 2)), "2026-01-02"),
        (Day(None), "null"),
        (pydantic.RootModel[list[int]]([1]), "[1]"),
        (Numbers(__root__=[1, 2]), "[1, 2]"),
        ({"a": Names("x")}, '{"a": "x"}'),
    ],
)
def test_a_model_of_one_value_is_that_value(value: Any, text: str) -> None:
    assert text_of(value) == text


def test_a_user_string_is_its_text() -> None:
    assert text_of(UserString("a")) == "a"
    assert data_of({"a": UserString("b")}) == {"a": "b"}


def rows(query: str, factory: Any = sqlite3.Row) -> list[Any]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.row_factory = factory
        return connection.execute(query).fetchall()


def test_a_row_of_a_database_keeps_the_names_of_its_columns() -> None:
    assert data_of(rows("select 1 as a, 'x' as b union select 2, null")) == [{"a": 1, "b": "x"}, {"a": 2, "b": None}]
    assert data_of(rows("select 'a' as a")[0]) == {"a": "a"}


def test_columns_of_one_name_are_told_apart() -> None:
    rendered = render_value(rows("select 1 as a, 2 as a")[0], max_output=None)

    assert (rendered.content, len(rendered.notes)) == ('{"a": 1, "a′1": 2}', 1)


class Record(Sequence[Any]):
    """A row as SQLAlchemy gives it: a sequence that knows the names of its fields, and is no tuple."""

    _fields = ("a", "count")

    def __getitem__(self, index: Any) -> Any:
        values: Any = (1, 2)
        return values[index]

    def __len__(self) -> int:
        return 2


def test_a_sequence_with_names_of_its_fields_is_an_object() -> None:
    assert data_of(Record()) == {"a": 1, "count": 2}


def test_what_has_keys_and_is_no_mapping_by_type_is_an_object() -> None:
    letter = email.message_from_string("To: a\nTo: b\nSubject: c\n\nbody")

    assert data_of(letter) == {"To": "a", "To′1": "b", "Subject": "c"}


class KeysAlone:
    """What ``dict()`` takes, and what cannot be gone through by numbers."""

    def __init__(self) -> None:
        self.hint = "an attribute"

    def keys(self) -> list[str]:
        return ["a", "b"]

    def __getitem__(self, key: str) -> int:
        return {"a": 1, "b": 2}[key]


def test_keys_that_can_be_looked_up_are_enough_for_an_object() -> None:
    assert data_of(KeysAlone()) == {"a": 1, "b": 2}


@dataclass
class Spread:
    """Fields that are the data, with keys for ``**`` that are fewer."""

    a: int = 1
    b: int = 2

    def keys(self) -> list[str]:
        return ["a"]

    def __getitem__(self, key: str) -> Any:
        return getattr(self, key)


def test_fields_of_a_dataclass_go_before_keys_of_its_own() -> None:
    assert data_of(Spread()) == {"a": 1, "b": 2}


class OtherKeys(KeysAlone):
    """A client of a store, say: its ``keys`` are a question, and not the parts of it."""

    def keys(self, pattern: str | None = None) -> list[str]:
        if pattern is None:
            raise ConnectionError
        return [pattern]


def test_keys_that_cannot_be_asked_for_cost_nothing_of_the_rest() -> None:
    assert data_of(OtherKeys())["hint"] == "an attribute"


def test_parts_that_are_other_than_the_keys_are_not_taken_for_their_values() -> None:
    element = ET.fromstring('<a x="1"><b/></a>')

    assert data_of(element) == {"type": "xml.etree.ElementTree.Element"}


def _requests_response(body: bytes, kind: str) -> Any:
    response = requests.Response()
    response.status_code = 200
    response.raw = io.BytesIO(body)
    response.headers["content-type"] = kind
    response.encoding = requests.utils.get_encoding_from_headers(response.headers)
    assert response.content == body  # as requests reads it, unless it is asked for a stream
    return response


def _httpx_response(body: bytes, kind: str) -> Any:
    return httpx.Response(200, content=body, headers={"content-type": kind})


@pytest.mark.parametrize("make", [_requests_response, _httpx_response])
def test_the_answer_of_a_server_is_its_status_and_its_body(make: Callable[[bytes, str], Any]) -> None:
    assert data_of(make(b'{"a": 1}', "application/json")) == {"status": 200, "body": '{"a": 1}'}
    assert data_of(make("ü".encode("latin-1"), "text/plain; charset=latin-1")) == {"status": 200, "body": "ü"}
    assert data_of(make(b"\xff\xfe", "image/png")) == {"status": 200, "body": "//4="}


class Endless(io.RawIOBase):
    """A body that never ends."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        raise AssertionError("the body was waited for")


def _unread_by_requests() -> Any:
    response = requests.Response()
    response.status_code = 200
    response.raw = Endless()
    return response


def _unread_by_httpx() -> Any:
    def endless() -> Iterator[bytes]:
        raise AssertionError("the body was waited for")
        yield b""

    return httpx.Response(200, content=endless())


@pytest.mark.parametrize("make", [_unread_by_requests, _unread_by_httpx])
def test_the_body_of_an_answer_is_not_waited_for(make: Callable[[], Any]) -> None:
    rendered = render_value(make(), max_output=None)

    assert json.loads(str(rendered.content)) == {"status": 200}
    assert [note.partition(", ")[2] for note in rendered.notes] == ["its body was not read by the tool"]


def test_an_artifact_inside_of_a_result_is_not_shown() -> None:
    inner = [ToolReturn("a", artifact="kept"), ToolMessage("b", tool_call_id="1", artifact="kept")]

    assert "kept" not in text_of(inner)
    assert data_of(inner)[0] == "a"


class Broken(BaseModel):
    a: int = 1

    @pydantic.model_serializer
    def dumped(self) -> dict[str, int]:
        raise ValueError


def test_that_a_dump_failed_is_noted() -> None:
    rendered = render_value(Broken(), max_output=None)

    assert (rendered.content, rendered.notes) == (
        '{"a": 1}',
        ("$: its model_dump() failed, what it holds is shown without it",),
    )
