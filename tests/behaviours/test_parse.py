"""PARSE-02, -04, -05, -07, -13, -15 and -18 where the argument text is read."""

from __future__ import annotations

import json

import pytest

from surehand.errors import MalformedArguments
from surehand.grammar import ParsedArguments, parse_arguments


def refusal(raw: object) -> MalformedArguments:
    with pytest.raises(MalformedArguments) as caught:
        parse_arguments(raw)
    return caught.value


def test_PARSE_02_a_text_that_cannot_be_read_is_never_an_empty_object() -> None:
    error = refusal('{"city": "Par')
    assert error.is_cut_off
    assert error.for_model().endswith(
        "Nothing was executed. The call was cut off. Send it again, complete and shorter."
    )


@pytest.mark.parametrize("text", ["{city: Beijing}", "city=Beijing", '```json\n{"city": "Bei', '{"city": "Beijing"'])
def test_PARSE_02_nothing_is_invented_from_what_is_no_json(text: str) -> None:
    refusal(text)


@pytest.mark.parametrize(
    ("raw", "got"),
    [
        ("[1,2]", "a list"),
        ('"abc"', "a text"),
        ("3", "a number"),
        ("true", "a boolean"),
        ([1, 2], "a list"),
        (3, "a number"),
    ],
)
def test_PARSE_04_json_that_is_no_object_is_refused_by_its_kind(raw: object, got: str) -> None:
    assert refusal(raw).reason == f"they must be an object, got {got}"


@pytest.mark.parametrize("raw", ["", "   ", "\n\t", "null", None, b""])
def test_PARSE_05_nothing_is_the_empty_object(raw: object) -> None:
    assert parse_arguments(raw) == ParsedArguments({}, ("no_arguments",))


def test_PARSE_07_an_object_inside_a_text_is_unwrapped() -> None:
    raw = json.dumps(json.dumps({"code": "x", "lang": "py"}))
    assert parse_arguments(raw) == ParsedArguments({"code": "x", "lang": "py"}, ("string_encoded",))


def test_PARSE_07_a_text_inside_a_text_that_holds_no_object_is_refused() -> None:
    assert refusal(json.dumps(json.dumps("abc"))).reason == "they must be an object, got a text"


def test_PARSE_07_the_unwrapping_ends_after_two_levels() -> None:
    raw = json.dumps({"a": 1})
    for _ in range(3):
        raw = json.dumps(raw)
    assert "send the object itself" in refusal(raw).reason


def test_PARSE_13_line_breaks_and_tabs_inside_strings_are_kept() -> None:
    raw = '{"t": "line1\nline2\tend"}'
    assert parse_arguments(raw) == ParsedArguments({"t": "line1\nline2\tend"}, ("control_characters",))


def test_PARSE_15_two_objects_in_one_text_are_refused_by_name() -> None:
    assert refusal('{"a":1}{"a":2}').reason == (
        "two different JSON objects, one after the other: send one call per object"
    )


def test_PARSE_18_a_huge_text_is_echoed_in_part() -> None:
    error = refusal("{" + "x" * 200_000)
    assert error.length == 200_001
    assert len(error.for_model()) < 500
