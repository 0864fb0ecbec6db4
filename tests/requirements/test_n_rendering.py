"""N5 and P2: a tool's result always becomes a content that can be sent, and lossy steps are noted."""

# pandas ships no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import datetime as dt
import itertools
import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pytest

from surehand.messages import AIMessage, ToolMessage
from surehand.nodes import ToolNode
from surehand.tools import tool


def answered(value: Any) -> ToolMessage:
    """What a node answers where the tool returns the value."""

    @tool
    def report() -> Any:
        """Report."""
        return value

    [answer] = ToolNode([report]).invoke([AIMessage(tool_calls=[{"id": "c1", "name": "report", "args": {}}])])
    assert isinstance(answer, ToolMessage)
    return answer


class NoJson:
    def __repr__(self) -> str:
        raise RuntimeError("not even a repr")


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("as it is", "as it is"),
        ({"amount": Decimal("123.45")}, '{"amount": "123.45"}'),
        ({"at": dt.datetime(2026, 1, 2, 3, 4, tzinfo=dt.UTC)}, '{"at": "2026-01-02T03:04:00+00:00"}'),
        ({"x": math.nan}, '{"x": null}'),
        (np.array([1.0, np.nan]), "[1.0, null]"),
        ({"n": np.int64(3)}, '{"n": 3}'),
        ([1, "é"], '[1, "é"]'),
        (None, "(no output)"),
    ],
)
def test_N5_a_result_is_text_and_nothing_breaks_it(value: Any, content: str) -> None:
    answer = answered(value)
    assert (answer.content, answer.status, answer.tool_call_id, answer.name) == (content, "success", "c1", "report")


@pytest.mark.parametrize("value", [NoJson(), [NoJson()], {"a": {1: NoJson()}}, object(), lambda: 1])
def test_N5_not_even_a_hostile_result_breaks_it(value: Any) -> None:
    answer = answered(value)
    assert answer.status == "success"
    assert answer.text
    assert "0x" not in answer.text


def test_P2_a_result_that_json_cannot_carry_is_serialised_and_the_loss_is_noted() -> None:
    answer = answered({"ratio": math.inf, "who": object(), 1: "one"})
    assert json.loads(answer.text) == {"ratio": None, "who": {"type": "object"}, "1": "one"}
    assert answer.outcome is not None
    notes = "\n".join(answer.outcome.notes)
    assert "$.ratio" in notes
    assert "$.who" in notes
    assert "keys that are not text" in notes


def test_P2_nothing_is_noted_where_nothing_is_lost() -> None:
    answer = answered({"price": Decimal("1.10"), "day": dt.date(2026, 1, 2)})
    assert answer.outcome is not None
    assert answer.outcome.notes == ()


class Ring:
    """Holds itself."""

    def to_dict(self) -> dict[str, Any]:
        return {"again": self}


@pytest.mark.parametrize(
    ("value", "path", "word"),
    [
        ({"x": math.nan}, "$.x", "NaN"),
        ({"x": pd.NaT}, "$.x", "NaT"),
        ({"x": 10**5_000}, "$.x", "hexadecimal"),
        ({"x": b"\xff"}, "$.x", "base64"),
        ({"x": b"\xff" * 40_000}, "$.x", "left out"),
        ({"x": itertools.count()}, "$.x", "first 10,000"),
        ({"x": np.zeros(60_000)}, "$.x", "first 50,000"),
        ({"x": Ring()}, "$.x.again", "contains itself"),
        ({"x": object()}, "$.x", "no JSON form"),
        ({"x": {1: "a", "1": "b"}}, "$.x", "two keys"),
        ({"x": NoJson()}, "$.x", "raised RuntimeError"),
    ],
)
def test_P2_each_lossy_step_is_noted_with_its_place(value: Any, path: str, word: str) -> None:
    answer = answered(value)
    assert answer.status == "success"
    assert answer.outcome is not None
    assert any(note.startswith(f"{path}: ") and word.lower() in note.lower() for note in answer.outcome.notes)


@pytest.mark.parametrize(
    "value",
    [
        {"path": Path("a/b"), "id": UUID(int=1), "at": dt.time(1, 2), "took": dt.timedelta(hours=1)},
        [np.int64(3), np.array([[1.5]]), pd.DataFrame({"a": [1]}), pl.DataFrame({"a": [1]})],
        {"tags": frozenset({"b", "a"}), "counts": range(3), "pairs": {"a": 1}.items()},
        2**80,
    ],
)
def test_P2_a_form_that_says_everything_is_no_loss(value: Any) -> None:
    answer = answered(value)
    json.loads(answer.text)
    assert answer.outcome is not None
    assert answer.outcome.notes == ()


def test_P2_what_is_cut_is_noted_and_kept_whole() -> None:
    rows = [{"n": number} for number in range(10_000)]
    answer = answered(rows)
    assert answer.artifact == rows
    assert answer.outcome is not None
    assert answer.outcome.notes == ("cut to 50,000 of 128,890 characters",)
