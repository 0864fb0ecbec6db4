"""Checks of final answers."""

from __future__ import annotations

import pytest
from evals.answers import all_of, any_of, anything, number, says, says_not


@pytest.mark.parametrize("answer", ["It is 1204.10 EUR.", "1,204.1", "€1204.1!", "about 1204.100"])
def test_a_number_is_found_however_it_is_written(answer: str) -> None:
    assert number("1204.1")(answer)


@pytest.mark.parametrize("answer", ["210", "2.1", "A21", "12104", "version 3.21", ""])
def test_a_number_is_not_found_inside_another(answer: str) -> None:
    assert not number("21")(answer)


def test_a_number_may_end_a_sentence() -> None:
    assert number("21")("The temperature is 21.")


def test_texts_are_found_whatever_their_case() -> None:
    assert says("Mara DIAZ")("it is mara diaz")
    assert not says("Mara Diaz")("it is Mara")


def test_texts_may_have_to_be_absent() -> None:
    assert says_not("South", "East")("North")
    assert not says_not("South")("North and south")


def test_checks_are_combined() -> None:
    assert all_of(says("a"), says("b"))("ab")
    assert not all_of(says("a"), says("b"))("a")
    assert any_of(says("a"), says("b"))("b")


def test_blank_text_is_no_answer() -> None:
    assert anything("Done.")
    assert not anything(" \n")
