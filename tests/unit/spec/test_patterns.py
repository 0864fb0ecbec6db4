from __future__ import annotations

import time
from typing import Any

import pytest

from support.arguments import complaints, values
from surehand.errors import ToolDefinitionError
from surehand.spec import schema_of
from surehand.spec.patterns import readable

READ: list[tuple[str, str]] = [
    (r"^[\w-.]+$", r"^[\w\-.]+$"),
    (r"^[.-\w]+$", r"^[.\-\w]+$"),
    ("[^]", r"[\s\S]"),
    ("[]", r"[^\s\S]"),
    ("{", r"\{"),
    ("a{,3}", r"a\{,3}"),
    ("a{2,3}b{2}c{1,}", "a{2,3}b{2}c{1,}"),
    (r"\0", r"\x00"),
    (r"[\b]", r"[\x08]"),
    (r"a\Z", "a$"),
    (r"\<a\>", "<a>"),
    (r"\é", "é"),
    (r"\u{1F600}\p{L}\x41", r"\u{1F600}\p{L}\x41"),
    ("[a", "[a"),
    ("\\", "\\"),
]
MATCHES: list[tuple[str, str, bool]] = [
    ("b", "abc", True),
    ("^b", "abc", False),
    ("^a$", "a\n", False),
    (r"^\p{L}+$", "Ωλ", True),
    (r"^\p{Script=Greek}+$", "Ωλ", True),
    (r"^\d$", "٣", False),
    (r"^\w$", "é", False),
    (r"^\s$", "\ufeff", True),
    (r"^\cC$", "\x03", True),
    (r"^.$", "\u2028", False),
    (r"^\u{1F432}*$", "🐲🐲", True),
    (r"^\d{3}-\d{4}$", "555-0100", True),
    (r"^(?!x)\w+$", "abc", True),
    (r"^(?!x)\w+$", "xbc", False),
    (r"(?<=a)b", "ab", True),
    (r"^(\w)\1$", "aa", True),
    (r"^(\w)\1$", "ab", False),
    (r"^[^/]+\.(txt|md)$", "a.md", True),
    (r"^[\w-\.]+@([\w-]+\.)+[\w-]{2,4}$", "a-b.c@d-e.org", True),
    ("^[[]x$", "[x", True),
    ("^[^[]$", "x", True),
    ("^[a&&b]$", "&", True),
    ("^[+--]$", ",", True),
]
UNREADABLE = ["(", "(?<=a+)(", "^\\uD83D", r"\a", r"(?:x{1000}){1000}\1()"]
HOSTILE = [
    ("^(a+)+$", "a" * 5_000 + "b"),
    ("^(a|a)*$", "a" * 100_000 + "b"),
    (r"(?!x)(a|a)*(a|a)*b$", "a" * 20_000),
    (r"(?=(a*)*b)x", "a" * 20_000),
    (r"(a*)*\1b", "a" * 20_000),
    (r"(?<=a)(a+)+b\b(?!c)", "a" * 1_000),
    (r"^(?:a{0,100}){0,100}b", "a" * 20_000),
    (r"(?!x)(a|a)*(a|a)*b$", "a" * 1_000_000),
]


def schema(pattern: str, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": {"type": "string", "pattern": pattern}, **more}}


@pytest.mark.parametrize(("pattern", "wanted"), READ)
def test_what_only_old_javascript_takes_is_written_in_the_new_way(pattern: str, wanted: str) -> None:
    assert readable(pattern) == wanted


@pytest.mark.parametrize(("pattern", "text", "is_match"), MATCHES)
def test_a_pattern_matches_as_javascript_would(pattern: str, text: str, *, is_match: bool) -> None:
    if is_match:
        assert values(schema(pattern), {"x": text}) == {"x": text}
    else:
        assert complaints(schema(pattern), {"x": text})[0].startswith(f"$.x: must match the pattern {pattern!r}")


@pytest.mark.parametrize("pattern", UNREADABLE)
def test_a_pattern_that_nobody_can_read_is_refused_when_the_tool_is_made(pattern: str) -> None:
    with pytest.raises(ToolDefinitionError, match=r"pattern .* at \$\.properties\.x\.pattern") as caught:
        schema_of(schema(pattern))
    assert repr(pattern)[1:8] in str(caught.value)


@pytest.mark.parametrize(("pattern", "text"), HOSTILE)
def test_a_hostile_pattern_and_text_hold_nobody_up(pattern: str, text: str) -> None:
    made = schema_of(schema(pattern))
    start = time.process_time()

    assert "the pattern" in complaints(made, {"x": text})[0]
    assert time.process_time() - start < 2


def test_a_large_pattern_is_matched_against_short_texts() -> None:
    made = schema_of(schema(r"^[\p{L}\p{N} ]{1,200}!$"))

    assert values(made, {"x": "ä 1!"}) == {"x": "ä 1!"}
    assert "must match" in complaints(made, {"x": "ä"})[0]


def test_many_texts_share_what_one_call_may_cost() -> None:
    items = {"type": "array", "items": {"pattern": r"(?!x)(a|a)*(a|a)*b$"}}
    made = schema_of({"type": "object", "properties": {"x": items}})
    start = time.process_time()

    assert len(complaints(made, {"x": ["a" * 1_000] * 900})) == 21
    assert time.process_time() - start < 3


def test_a_long_key_is_not_matched_against_a_lookaround() -> None:
    made = schema_of({"type": "object", "patternProperties": {"(?=(a*)*b)x": {"type": "integer"}}})

    assert values(made, {"a": 1}) == {"a": 1}
    assert "names of at most 500 characters" in complaints(made, {"a" * 5_000: 1})[0]


def test_a_text_too_long_for_a_lookaround_is_refused_by_name() -> None:
    made = schema_of(schema(r"^(?!\s*$).+"))

    assert values(made, {"x": "a " * 5_000}) == {"x": "a " * 5_000}
    assert "is too long to be matched against the pattern" in complaints(made, {"x": "a" * 20_001})[0]


def test_names_of_properties_are_matched_too() -> None:
    written = {"type": "object", "additionalProperties": {}, "propertyNames": {"pattern": r"^(?!_)[\w-.]+$"}}

    assert values(written, {"a-b": 1}) == {"a-b": 1}
    assert complaints(written, {"_a": 1}) == [
        r"$._a: has a name that must match the pattern '^(?!_)[\\w-.]+$', got the text '_a'"
    ]
