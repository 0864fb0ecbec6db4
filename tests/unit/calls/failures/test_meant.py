"""Which value an exception complains of, and what may have been meant by it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehand.calls.failures.meant import complained_of, what_was_meant

CONVERSION = {"amount": 50, "source": "EUR", "target": "dollars"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("'dollars' is no currency code. Use EUR or USD.", ["target"]),
        ('unknown code "dollars"', ["target"]),
        ("unknown code dollars", ["target"]),
        ("cannot convert EUR to dollars", ["source", "target"]),
        ("50 is too little", ["amount"]),
        ("150 is too much; 50.5 as well", []),
        ("target must be three letters", ["target"]),
        ("'source' and 'target' must differ", ["source", "target"]),
        ("there is no such amount as a target", []),
        ("closed", []),
    ],
)
def test_the_arguments_that_an_exception_complains_of(text: str, names: list[str]) -> None:
    assert complained_of(CONVERSION, text) == names


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"room": 4}, "there are 4 rooms"),
        ({"flag": True}, "True"),
        ({"text": ""}, "''"),
        ({"text": "a"}, "a"),
        ({"items": ["bolt"]}, "no 'bolt'"),
        ({"number": 1e300}, "1e+300"),
        ({"text": "x" * 10_000}, "x" * 10_000),
        ({"name": "Ann"}, "Annabel has this name already"),
    ],
)
def test_what_may_stand_in_a_text_by_chance_says_nothing(values: dict[str, object], text: str) -> None:
    assert complained_of(values, text) == []


def test_a_lone_character_is_one_only_in_quotes() -> None:
    assert complained_of({"order": "7", "note": "a"}, "no order '7', a pity") == ["order"]


def test_a_name_with_an_underscore_is_no_word_of_a_sentence() -> None:
    assert complained_of({"order_id": 1, "note": "x"}, "no such order_id") == ["order_id"]


PHONE = "number must be + and digits without spaces, such as +441632960961; got it"
INVOICE = "an id is INV- and four digits, such as INV-0107"
DAY = "day must look like 2026-12-31, year first"
HOUR = "give a time like 09:30"


@pytest.mark.parametrize(
    ("sent", "text", "meant"),
    [
        ("+49 170 555 0199", PHONE, "+491705550199"),
        ("+1-202-555-0143", PHONE, "+12025550143"),
        ("42", INVOICE, "INV-0042"),
        ("inv42", INVOICE, "INV-0042"),
        ("INV 0042", INVOICE, "INV-0042"),
        ("2027/3/5", DAY, "2027-03-05"),
        ("2027.03.05", DAY, "2027-03-05"),
        ("20270305", DAY, "2027-03-05"),
        ("9.30", HOUR, "09:30"),
        ("0930", HOUR, "09:30"),
    ],
)
def test_a_value_is_shown_in_the_form_of_an_example(sent: str, text: str, meant: str) -> None:
    assert what_was_meant(sent, text, sent={sent}) == meant


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        ("0170 555 0199", PHONE),  # of which country?
        ("+49 (0)170 5550199", PHONE),  # with the zero or without
        ("+49 170 555 0199 or +49 170 555 0200", PHONE),
        ("5/3/2027", DAY),  # in March or in May?
        ("5 March 2027", DAY),
        ("5-3-2027", "day must look like 31-12-2026"),
        ("05032027", "day must look like 31-12-2026"),
        ("123456", INVOICE),
        ("ORD-0042", INVOICE),
        ("INV-0042", INVOICE),
        ("42%", INVOICE),
        ("forty-two", INVOICE),
        ("99", "port must be a number such as 8080"),
        ("7", "no such invoice; the last one is INV-0107"),  # no form is shown
        ("", INVOICE),
        ("4" * 10_000, INVOICE),
    ],
)
def test_where_more_than_one_thing_may_be_meant_nothing_is_said(sent: str, text: str) -> None:
    assert what_was_meant(sent, text, sent={sent}) is None


def test_an_example_is_not_what_was_meant() -> None:
    assert what_was_meant("INV-0108", f"no such invoice: {INVOICE}", sent={"INV-0108"}) is None


def test_a_part_of_what_was_sent_is_not_what_was_meant() -> None:
    assert what_was_meant("M8 bolts", "M8 bolts", sent={"M8 bolts"}) is None
    assert what_was_meant("M8 bolts", "no 'M8 bolts', only bolts-m8", sent={"M8 bolts"}) is None
    assert what_was_meant("bolts m8", "no 'bolts m8', only bolts-m8", sent={"bolts m8"}) == "bolts-m8"


def test_of_the_values_that_are_listed_the_nearest_is_named() -> None:
    assert what_was_meant("server7", "known: server-01, server-17", sent=set()) == "server-17"


VALUES = st.text(alphabet=st.sampled_from("+-./: 0123456789aINV٣²"), max_size=30)


@given(sent=VALUES, example=VALUES)
def test_a_value_in_another_form_keeps_its_letters_and_digits(sent: str, example: str) -> None:
    meant = what_was_meant(sent, f"it must be like {example}", sent={sent})
    if meant is not None and any(character.isdecimal() for character in example):
        digits = "".join(filter(str.isdecimal, sent))
        assert "".join(filter(str.isdecimal, meant)).lstrip("0").endswith(digits.lstrip("0")) or digits == ""


@pytest.mark.parametrize("text", ["such as " + "1-" * 2_000, "like " + "a.1" * 1_300, "such as " + "((((" * 1_000])
def test_no_text_takes_long(text: str) -> None:
    start = time.process_time()
    what_was_meant("1-" * 50, text, sent=set())
    complained_of({f"a{number}": "1-" * 50 for number in range(50)}, text)
    assert time.process_time() - start < 1
