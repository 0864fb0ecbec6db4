"""Text that can be sent: well-formed and of bounded length."""

from __future__ import annotations

from surehand.calls.results.text import shorten, well_formed


def test_text_that_can_be_sent_is_the_same_object() -> None:
    text = "Grüße 😀"
    assert well_formed(text) is text


def test_a_short_text_is_not_touched() -> None:
    assert shorten("abc", 3) == "abc"


def test_the_notice_carries_the_advice() -> None:
    assert "Use page=2." in shorten("x" * 10_000, 1_000, advice="Use page=2.")


def test_most_of_the_room_goes_to_the_head() -> None:
    short = shorten("a" * 5_000 + "b" * 5_000, 1_000)
    assert short.count("a") > 2 * short.count("b")
