from __future__ import annotations

import time

import pytest

from surehand.spec.patterns import matcher


@pytest.mark.parametrize(
    ("pattern", "text", "wanted"),
    [
        ("b", "abc", True),
        ("^b", "abc", False),
        ("^a$", "a\n", False),
        (r"^\p{L}+$", "Ωλ", True),
        (r"^\d{3}-\d{4}$", "555-0100", True),
        (r"^(?!x)\w+$", "abc", True),
        (r"^(?!x)\w+$", "xbc", False),
        (r"^(\w)\1$", "aa", True),
        (r"^[^/]+\.(txt|md)$", "a.md", True),
        ("^\\uD83D", "a", False),
    ],
)
def test_a_pattern_matches_as_its_author_meant(pattern: str, text: str, *, wanted: bool) -> None:
    assert matcher(pattern)(text) is wanted


@pytest.mark.filterwarnings("ignore:Possible:FutureWarning")  # Python may one day have such sets too
@pytest.mark.parametrize(("pattern", "text"), [("^[[]x$", "[x"), ("^[^[]$", "x"), ("^[a&&b]$", "&"), ("^[+--]$", ",")])
def test_a_set_holds_plain_characters(pattern: str, text: str) -> None:
    assert matcher(pattern)(text) is True


def test_a_pattern_that_nobody_can_read_matches_anything() -> None:
    assert matcher("(?<=a+)(")("x") is True


def test_nested_repetitions_take_no_time() -> None:
    start = time.perf_counter()

    assert matcher("^(a+)+$")("a" * 5_000 + "b") is False
    assert time.perf_counter() - start < 1
