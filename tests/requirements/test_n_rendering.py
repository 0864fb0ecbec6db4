"""N5 and P2: a tool's result always becomes a content that can be sent, and lossy steps are noted."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from typing import Any

import numpy as np
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
