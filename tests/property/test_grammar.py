"""What holds for every text, not only for the ones somebody thought of."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from surehand.errors import MalformedArguments
from surehand.grammar import RELAXATIONS, ParsedArguments, parse_arguments, parse_value

TEXTS = st.text(max_size=12) | st.lists(
    st.sampled_from(
        [*"""{}[]():,"'\\/#“”‘’＂：，\n\t 1ae`<>""", "//", "/*", "*/", "None", "true", "\\n", "é", "😀", "\x07"]
    ),
    max_size=6,
).map("".join)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=8
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=4)


every_cut = settings(deadline=None, max_examples=25)
"""One example is hundreds of texts."""


def parsed(raw: object) -> ParsedArguments | None:
    try:
        return parse_arguments(raw)
    except MalformedArguments as error:
        assert len(error.excerpt) <= 80  # noqa: PT017 - checked for every refusal
        str(error).encode()
        return None


def exact(value: object) -> str:
    """A value as text that tells 1 from 1.0 and true, and keeps the order of keys."""
    return json.dumps(value)


@given(
    OBJECTS, st.booleans(), st.sampled_from([None, 0, 2]), st.sampled_from([(", ", ": "), (",", ":"), (" ,\n", "\t:")])
)
def test_valid_json_passes_unchanged(
    value: dict[str, Any],
    ascii_only: bool,  # noqa: FBT001 - hypothesis fills it
    indent: int | None,
    separators: tuple[str, str],
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent, separators=separators)
    found = parse_arguments(text)
    assert (exact(found.value), found.repairs) == (exact(value), ())


@given(VALUES)
def test_any_valid_value_passes_unchanged(value: Any) -> None:
    found, repairs = parse_value(json.dumps(value))
    assert (exact(found), repairs) == (exact(value), ())


@given(OBJECTS)
def test_both_passes_read_json_in_the_same_way(value: dict[str, Any]) -> None:
    assert exact(parse_arguments("/**/" + json.dumps(value)).value) == exact(value)


@every_cut
@given(OBJECTS)
def test_every_cut_is_refused(value: dict[str, Any]) -> None:
    text = json.dumps(value)
    assert all(parsed(text[:end]) is None for end in range(1, len(text)))


@every_cut
@given(OBJECTS)
def test_every_cut_of_a_python_literal_is_refused(value: dict[str, Any]) -> None:
    text = repr(value)
    assert all(parsed(text[:end]) is None for end in range(1, len(text)))


@every_cut
@given(OBJECTS)
def test_every_cut_of_an_encoded_object_is_refused(value: dict[str, Any]) -> None:
    for text in (json.dumps(json.dumps(value)), json.dumps(json.dumps(value))[1:-1]):
        assert all(parsed(text[:end]) is None for end in range(1, len(text)))


@given(OBJECTS)
def test_the_repr_of_an_object_is_read_as_python_reads_it(value: dict[str, Any]) -> None:
    text = repr(value)
    found = parsed(text)
    if found is None:
        # Only double quotes, and an escape that JSON does not have: nothing in the text says that it is Python's.
        assert re.search(r"\\x", text)
        return
    assert exact(found.value) == exact(value)


@given(OBJECTS)
def test_an_encoded_object_is_read_as_the_object(value: dict[str, Any]) -> None:
    once = json.dumps(json.dumps(value))
    assert exact(parse_arguments(once).value) == exact(value)
    assert exact(parse_arguments(json.dumps(once)).value) == exact(value)


@given(OBJECTS, st.sampled_from(["```json\n", "<tool_call>", "\ufeff", "<|python_tag|>", "// call\n"]))
def test_a_wrapper_changes_nothing(value: dict[str, Any], opener: str) -> None:
    assert exact(parse_arguments(opener + json.dumps(value)).value) == exact(value)


@given(OBJECTS, OBJECTS)
def test_two_different_objects_are_never_one(one: dict[str, Any], other: dict[str, Any]) -> None:
    found = parsed(json.dumps(one) + json.dumps(other))
    if one and other and exact(one) != exact(other):
        assert found is None or exact(found.value) == exact(one) == exact(dict(sorted(other.items())))
        return
    assert found is not None
    assert exact(found.value) == exact(one or other)


@given(st.text() | TEXTS)
def test_any_text_is_read_or_refused(text: str) -> None:
    found = parsed(text)
    assert found is None or (type(found.value) is dict and set(found.repairs) <= set(RELAXATIONS))


@given(st.binary())
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    parsed(raw)


@given(
    st.recursive(
        st.none() | st.floats() | st.text() | st.binary() | st.complex_numbers() | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner, inner),
        max_leaves=8,
    )
)
def test_any_object_is_read_or_refused(raw: object) -> None:
    found = parsed(raw)
    assert found is None or type(found.value) is dict


TOKENS = [
    *"""{}[](),:"'\\#-+.e1“”‘’＂：，｛｝\n \t""",
    *("//", "/* ", " */", "# ", "\\n", '\\"', "\\u", "\\ud83d", "\\x41", "\\d", "...", "None", "True", "null", "NaN"),
    *("```", "```json\n", "<tool_call>", "</tool_call>", "</tool", "key", "'k'", '"k"', "{}", "[]", "()", "1.5"),
]


@given(st.lists(st.sampled_from(TOKENS), max_size=14).map("".join))
@example("{'a': {\"b\": .5,},}")
def test_what_was_read_is_read_again_as_it_is(text: str) -> None:
    found = parsed(text)
    if found is not None:
        again = parse_arguments(json.dumps(found.value))
        assert (exact(again.value), again.repairs) == (exact(found.value), ())


def scalars(value: Any) -> Iterator[str]:
    """The scalar values and keys of an object, in order."""
    if isinstance(value, dict):
        for key, item in value.items():  # pyright: ignore[reportUnknownVariableType] - JSON
            yield repr(key)  # pyright: ignore[reportUnknownArgumentType] - JSON
            yield from scalars(item)
    elif isinstance(value, list):
        for item in value:  # pyright: ignore[reportUnknownVariableType] - JSON
            yield from scalars(item)
    else:
        yield repr(value)


PLAIN_TEXTS = st.text("abcxyz é😀", max_size=6)
PLAIN_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | PLAIN_TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PLAIN_TEXTS, inner, max_size=3),
    max_leaves=8,
)


@every_cut
@given(st.dictionaries(PLAIN_TEXTS, PLAIN_VALUES, max_size=4), st.sampled_from([json.dumps, repr]))
def test_a_missing_bracket_quote_comma_or_colon_never_changes_a_value(value: dict[str, Any], write: Any) -> None:
    text = write(value)
    meant = list(scalars(value))
    for at, char in enumerate(text):
        if char in "{}[]\"',:":
            found = parsed(text[:at] + text[at + 1 :])
            assert found is None or list(scalars(found.value)) == meant, text[:at] + text[at + 1 :]


@every_cut
@given(st.dictionaries(PLAIN_TEXTS, PLAIN_VALUES, max_size=4), st.sampled_from([json.dumps, repr]))
def test_a_bracket_quote_comma_or_colon_too_many_never_changes_a_value(value: dict[str, Any], write: Any) -> None:
    text = write(value)
    meant = list(scalars(value))
    for at, char in enumerate(text):
        if char in "{}[]\"',:":
            found = parsed(text[:at] + char + text[at:])
            assert found is None or list(scalars(found.value)) == meant, text[:at] + char + text[at:]


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 40))
def test_a_float_is_the_nearest_one_whatever_the_digits(number: float, digits: int) -> None:
    literal = f"{number:.{digits}e}"
    found = parse_arguments(f'{{"a": {literal}}}') if math.isfinite(float(literal)) else None
    assert found is None or found.value["a"] == float(literal)
