"""Pieces of sentences."""

from __future__ import annotations

import pytest

from surehand.wording import clipped, did_you_mean, followed_by, one_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("plain", "plain"),
        ("größer 北京", "größer 北京"),
        ("a\nb\tc", "a\\nb\\tc"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("x" * 100, "x" * 79 + "…"),
        ("\ud800", "\\ud800"),
        ("", ""),
    ],
)
def test_a_foreign_text_is_one_line_of_a_log(text: str, line: str) -> None:
    assert one_line(text) == line


def test_clipping_keeps_the_limit() -> None:
    assert clipped("abcdef", 4) == "abc…"
    assert clipped("abcd", 4) == "abcd"


def test_near_names_are_offered() -> None:
    assert did_you_mean("citty", ["city", "day"]) == " Did you mean 'city'?"
    assert did_you_mean("x", ["city"]) == ""


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("reset", "reset. Wait."),
        ("reset by 'peer'", "reset by 'peer'. Wait."),
        ("It was reset.", "It was reset. Wait."),
        ("重置。", "重置。 Wait."),
        ("why?", "why? Wait."),
        ("", " Wait."),
        ("2 errors:\n- a\n- b", "2 errors:\n- a\n- b\nWait."),
    ],
)
def test_a_sentence_after_a_foreign_text_is_one_of_its_own(text: str, whole: str) -> None:
    assert followed_by(text, "Wait.") == whole
