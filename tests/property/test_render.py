"""Whatever a tool returns, the rendering of it can be sent."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from surehand.calls.results.render import render_value
from surehand.calls.results.text import shorten, well_formed

JSON_SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    JSON_SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=30
)
ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))  # lone surrogates included


class Broken:
    """Raises what it was given, whatever it is asked."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __str__(self) -> str:
        raise self._error

    def __iter__(self) -> Any:
        raise self._error

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


BROKEN = st.builds(
    Broken, st.sampled_from([ValueError("x"), RecursionError(), StopIteration(), KeyError("k"), AttributeError("a")])
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | ANY_TEXT
    | st.binary()
    | st.decimals()
    | st.datetimes()
    | st.timedeltas()
    | st.uuids()
    | st.complex_numbers()
    | st.fractions()
    | BROKEN
)
KEYS = ANY_TEXT | st.integers() | st.none() | st.tuples(st.integers(), ANY_TEXT) | st.dates()
VALUES: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(KEYS, inner)
        | st.lists(inner).map(iter)
        | st.sets(st.integers() | ANY_TEXT)
    ),
    max_leaves=20,
)


def refuse(token: str) -> None:
    raise AssertionError(f"{token} is no JSON")


@given(VALUES)
@settings(max_examples=120)
def test_any_value_renders_as_well_formed_text_that_is_not_blank(value: Any) -> None:
    content = render_value(value, max_output=None).content
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, allow_nan=False)
    text.encode()
    assert text.strip()
    assert "\0" not in text


@given(st.lists(VALUES, min_size=1))
@settings(max_examples=60)
def test_any_list_renders_as_strict_json(value: list[Any]) -> None:
    content = render_value(value, max_output=None).content
    if isinstance(content, str):
        json.loads(content, parse_constant=refuse)


@given(JSON_VALUES)
def test_json_data_comes_back_as_it_was(value: Any) -> None:
    rendered = render_value([value], max_output=None)
    if isinstance(rendered.content, str) and not rendered.notes:
        assert json.loads(rendered.content) == [value]


@given(VALUES, st.integers(min_value=1, max_value=2_000))
@settings(max_examples=60)
def test_content_keeps_to_its_limit_wherever_the_notice_fits(value: Any, limit: int) -> None:
    content = render_value(value, max_output=limit).content
    if isinstance(content, str):
        assert len(content) <= max(limit, 12) + (0 if limit >= 400 else 250)


@given(ANY_TEXT)
def test_well_formed_text_changes_nothing_but_what_cannot_be_sent(text: str) -> None:
    clean = well_formed(text)
    clean.encode()
    assert well_formed(clean) is clean
    if not any("\ud800" <= character <= "\udfff" or character == "\0" for character in text):
        assert clean is text


@given(st.text(min_size=1), st.integers(min_value=8, max_value=500))
def test_shortened_text_begins_and_ends_like_the_whole(text: str, limit: int) -> None:
    short = shorten(text * 20, limit)
    assert short[0] == text[0]
    assert short[-1] == text[-1]


@given(st.decimals(allow_nan=False, allow_infinity=False), st.datetimes(timezones=st.just(dt.UTC)))
def test_exact_values_can_be_read_back(number: Decimal, moment: dt.datetime) -> None:
    data = json.loads(str(render_value({"n": number, "t": moment}, max_output=None).content))
    assert Decimal(data["n"]) == number
    assert dt.datetime.fromisoformat(data["t"]) == moment
