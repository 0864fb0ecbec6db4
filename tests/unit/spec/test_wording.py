from __future__ import annotations

from typing import Any

import pytest

from surehand.spec.wording import expectation, listed, received


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (None, "null"),
        (True, "true"),
        (3, "the number 3"),
        (1.5, "the number 1.5"),
        ("abc", "the text 'abc'"),
        ({}, "an empty object"),
        ({"a": 1}, "an object"),
        ([1], "an array of 1 item"),
        ((), "an array of 0 items"),
        (b"x", "a value of type bytes"),
        pytest.param(10**5000, "the number of very many digits", id="huge"),
    ],
)
def test_values_are_described(value: Any, wanted: str) -> None:
    assert received(value) == wanted


def test_long_values_are_cut() -> None:
    assert len(received("x" * 10_000)) < 80


@pytest.mark.parametrize(
    ("value", "wanted"),
    [(True, "true or false"), (3, "a number"), ("abc", "a text"), (None, "null"), (b"", "a value of type bytes")],
)
def test_hidden_values_are_described_by_their_kind(value: Any, wanted: str) -> None:
    assert received(value, is_shown=False) == wanted


@pytest.mark.parametrize(
    ("types", "wanted"),
    [
        ({"integer"}, "an integer"),
        ({"null"}, "null"),
        ({"integer", "null"}, "an integer or null"),
        ({"array", "string", "integer"}, "a string, an integer or an array"),
        ({"strange"}, "strange"),
    ],
)
def test_types_are_named(types: set[str], wanted: str) -> None:
    assert expectation(types) == wanted


def test_long_lists_of_choices_are_cut() -> None:
    assert listed(range(25)).endswith(" and 5 more")
    assert listed(["a", None, {"b": 1}]) == "'a', null, {\"b\": 1}"
