"""Every kind of value of the standard library comes back as it was."""

from __future__ import annotations

import datetime as dt
import math
import struct
from collections import Counter, OrderedDict, defaultdict, deque
from decimal import Decimal
from io import BytesIO
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from pydantic import TypeAdapter

from support.sameness import is_same
from surehand.checkpoints.codec import Codec
from surehand.errors import CheckpointError
from surehand.freeze import freeze
from surehand.policy import UNSET

OSLO = ZoneInfo("Europe/Oslo")
VALUES: list[Any] = [
    None,
    True,
    1,
    1.0,
    -0.0,
    2**63 - 1,
    2**63,
    -(10**5000),
    "",
    "汉😀\x00\u2028",
    "\ud800",
    "\ud83d\ude00",
    float("inf"),
    float("-inf"),
    (),
    (1, (2, [3])),
    set[int](),
    {1, 2},
    {"a", 1, (2,)},
    frozenset("ab"),
    deque([1, 2], 3),
    deque[int](),
    OrderedDict(b=1, a=2),
    Counter("aab"),
    defaultdict(list, {"a": [1]}),
    defaultdict(None, {"a": 1}),
    range(1, 10, 3),
    b"",
    b"\xff\x00",
    bytearray(b"x"),
    1 + 2j,
    complex(math.inf, -0.0),
    Decimal("1.50"),
    Decimal("-Infinity"),
    UUID(int=5),
    dt.date(2026, 1, 2),
    dt.datetime(2026, 1, 2, 3, 4, 5, 6),  # noqa: DTZ001 - hosts have them
    dt.datetime(2026, 1, 2, tzinfo=dt.UTC),
    dt.datetime(2026, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=-3, seconds=7))),
    dt.datetime(2026, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=-3))),
    dt.datetime(2026, 1, 2, tzinfo=dt.timezone(dt.timedelta(microseconds=1))),
    dt.datetime(2026, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=1), "here")),
    dt.datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=OSLO),
    dt.time(1, 2, 3, 4),
    dt.time(1, tzinfo=dt.UTC, fold=1),
    dt.timedelta(days=-1, microseconds=3),
    dt.timezone(dt.timedelta(minutes=30), "half"),
    OSLO,
    TypeAdapter(dt.datetime).validate_json('"2026-01-02T03:04:05+01:00"'),
    Path("/a/b"),
    PurePosixPath("a"),
    PureWindowsPath("C:\\a"),
    Path("/\udcff"),
    UNSET,
    {},
    {"b": 1, "a": 2},
    {2: "b", 1: "a"},
    {None: 1, (1, "x"): [2], 1.5: 3, b"k": 4, dt.date(2026, 1, 2): 5},
    {"\ud800": 1},
    {True: 1},
]


def again(value: Any) -> Any:
    codec = Codec()
    text = codec.dumps(value, where="value")
    text.encode()
    return codec.loads(text, where="value")


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_value_comes_back_as_it_was(value: Any) -> None:
    assert is_same(again(value), value)
    assert is_same(again({"in": [value]}), {"in": [value]})


@pytest.mark.parametrize(
    "value",
    [
        {"$tuple": [1]},
        {"$dict": []},
        {"$dict": {"$dict": 1}},
        {"$": 1},
        {"$message": {}},
        {"$unknown": None},
        {"$a": 1, "b": 2},
    ],
)
def test_dict_that_looks_like_a_tag_comes_back_as_it_was(value: Any) -> None:
    assert is_same(again(value), value)
    assert is_same(again({"$tuple": value}), {"$tuple": value})
    assert is_same(again({"surehand": 1, "value": value}), {"surehand": 1, "value": value})


def test_not_a_number_comes_back() -> None:
    assert math.isnan(again(float("nan")))
    assert str(again(Decimal("sNaN12"))) == "sNaN12"


def test_deque_default_factory_and_fold_come_back() -> None:
    assert again(deque([1], 3)).maxlen == 3
    assert again(defaultdict(list)).default_factory is list
    assert again(dt.datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=OSLO)).fold == 1


def test_same_set_is_the_same_text_whatever_its_order() -> None:
    codec = Codec()
    one, other = {f"{n}" for n in range(50)}, {f"{n}" for n in reversed(range(50))}

    assert codec.dumps(one, where="set") == codec.dumps(other, where="set")


def test_read_only_copies_come_back_as_ordinary_values() -> None:
    value = {"a": [1, {"b": {2}}], "c": (3,)}

    assert is_same(again(freeze(value)), value)


@pytest.mark.parametrize(
    "stored",
    [
        '{"$tuple":"ab"}',
        '{"$set":[[1]]}',
        '{"$text":5}',
        '{"$text":"?"}',
        '{"$int":"zz"}',
        '{"$int":12}',
        '{"$float":"1"}',
        '{"$dict":[[1,2],[1,3]]}',
        '{"$dict":[["ab"]]}',
        '{"$dict":["ab"]}',
        '{"$dict":[[[],1]]}',
        '{"$bytes":"a"}',
        '{"$datetime":"yesterday"}',
        '{"$datetime":["2026-01-01T00:00:00","UTC",0]}',
        '{"$date":20260101}',
        '{"$timedelta":[99999999999,0,0]}',
        '{"$offset":[{"$timedelta":[5,0,0]}]}',
        '{"$zone":"../../etc/passwd"}',
        '{"$zone":"Nowhere/Land"}',
        '{"$decimal":"x"}',
        '{"$uuid":"x"}',
        '{"$path":["Popen","ls"]}',
        '{"$deque":[[],-1]}',
        '{"$default":["eval",{}]}',
        '{"$counter":[1]}',
        '{"$range":[1,2,0]}',
        '{"$complex":["1",2]}',
        '{"$unknown":1}',
        '{"$":1}',
    ],
)
def test_damaged_value_is_refused(stored: str) -> None:
    with pytest.raises(CheckpointError, match="key 'k': "):
        Codec().loads(f'{{"surehand":1,"value":{stored}}}', where="key 'k'")


def test_zone_without_a_name_is_refused() -> None:
    counts = struct.pack(">6l", 0, 0, 0, 0, 1, 4)
    zone = ZoneInfo.from_file(BytesIO(b"TZif" + bytes(16) + counts + bytes(6) + b"UTC\0"))

    with pytest.raises(CheckpointError, match=r"is a time zone without a name\. Make it with ZoneInfo"):
        Codec().dumps(zone, where="key 'zone'")


def test_defaults_made_by_a_function_are_refused() -> None:
    with pytest.raises(CheckpointError, match=r"at \$.a, .* makes its defaults by a function. Use a factory"):
        Codec().dumps({"a": defaultdict(lambda: 1)}, where="key 'a'")
