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
    assert what_was_meant("server-nrth", "known: server-south, server-north", sent=set()) == "server-north"


@pytest.mark.parametrize(
    ("sent", "text", "meant"),
    [
        ("APPL", "No data for APPL; did you mean AAPL?", "AAPL"),
        ("user", 'relation "user" does not exist; perhaps you meant the table "users".', "users"),
        ("grey", "Color must be one of: red, green, gray", "gray"),
        ("US", "unknown currency 'US'; supported are EUR, USD and GBP", "USD"),
        ("src/main.py", "File 'src/main.py' not found. Did you mean 'src/app/main.py'?", "src/app/main.py"),
        ("gpt4", "The model `gpt4` does not exist; available: gpt-4o, gpt-4.1", "gpt-4o"),
        ("INV42", "no 'INV42', known: INV-0042, INV-0043", "INV-0042"),
        ("eu west", "unknown; the regions are eu-west, us-west", "eu-west"),
        ("readonly", "mode must be 'read only' or 'read-write'", "read only"),
        ("readonly", "Use read-only", "read-only"),
        ("APPL", "no such ticker. Try AAPL.", "AAPL"),
    ],
)
def test_what_a_text_offers_is_named(sent: str, text: str, meant: str) -> None:
    assert what_was_meant(sent, text, sent={sent}) == meant


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        ("AC-1009", "unknown account 'AC-1009'; yours are AC-1001, AC-1002"),
        ("u_102", "User u_102 is blocked by u_120"),
        ("a1b2c3", "no record a1b2c3 (checked a1b2c4, a1b2c5)"),
        ("iPhone 15", "'iPhone 15' is out of stock. Similar: iPhone 14, iPhone 16"),
        ("backup-2026-01-01", "backup-2026-01-01 not found; latest is backup-2026-01-02"),
    ],
)
def test_another_number_is_another_thing(sent: str, text: str) -> None:
    assert what_was_meant(sent, text, sent={sent}) is None


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        ("report.pdf", "File report.pdf is locked by process report.exe"),
        ("nightly", "job nightly failed: step nightly-build exited with 1"),
        ("alice", "alice is suspended; alicia is her deputy"),
        ("hydralazine", "no stock of hydralazine; in stock: hydroxyzine"),
        ("status:opn", "Unknown filter value 'opn' for status; allowed: open, closed"),
    ],
)
def test_what_a_text_speaks_of_besides_is_not_what_was_meant(sent: str, text: str) -> None:
    assert what_was_meant(sent, text, sent={sent}) is None


def test_letters_keep_their_places_among_digits() -> None:
    assert what_was_meant("ff0000", "a colour is written like #00FF00", sent={"ff0000"}) is None


def test_of_two_that_are_as_near_none_is_named() -> None:
    assert what_was_meant("us-east", "it must be one of us-east-1, us-east-2, eu-west-1", sent={"us-east"}) is None


@pytest.mark.parametrize(
    ("sent", "text", "meant"),
    [
        ("3:30", "time must be in 24 hours form, e.g. 14:30", "03:30"),
        ("17", "an employee's number has 6 digits, e.g. 004711", "000017"),
        ("ab-12", "SKU must be upper case, e.g. AB-12", "AB-12"),
        ("5.3.26", "a day like 31.12.26", "05.03.26"),
        ("4711", "write accounts like A-0001 (see rule 12-34)", "A-4711"),
    ],
)
def test_an_example_stands_behind_the_words_for_it(sent: str, text: str, meant: str) -> None:
    assert what_was_meant(sent, text, sent={sent}) == meant


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        ("12.5", "the amount must be in whole cents, like 1250"),
        ("5.5", "the amount must be like 10.00"),
        ("5.50", "the amount must be like 10.00"),
        ("9.5", "time must be HH:MM, e.g. 14:30"),
        ("-5", "degrees such as 20"),
        ("-5", "one of 0, 5, 10"),
        ("5.0", "one of 10, 50"),
        ("5", "hours such as 24"),
    ],
)
def test_an_amount_is_never_written_as_another(sent: str, text: str) -> None:
    assert what_was_meant(sent, text, sent={sent}) is None


@pytest.mark.parametrize(("sent", "text"), [("05.03.", "like 12-31"), ("3/5", "like 12-31"), ("0503", "like 31-12")])
def test_a_day_and_a_month_are_not_taken_for_each_other(sent: str, text: str) -> None:
    assert what_was_meant(sent, f"give it {text}", sent={sent}) is None


VALUES = st.text(alphabet=st.sampled_from("+-./: 0123456789aINV٣²"), max_size=30)


@given(sent=VALUES, example=VALUES)
def test_a_value_in_another_form_keeps_its_letters_and_digits(sent: str, example: str) -> None:
    meant = what_was_meant(sent, f"it must be like {example}", sent={sent})
    if meant is not None and any(character.isdecimal() for character in example):
        digits = "".join(filter(str.isdecimal, sent))
        assert "".join(filter(str.isdecimal, meant)).lstrip("0").endswith(digits.lstrip("0")) or digits == ""


@pytest.mark.parametrize(
    "text",
    [
        "such as " + "1-" * 2_000,
        "like " + "a.1" * 1_300,
        "such as " + "((((" * 1_000,
        "like " + "+" * 4_000,
        "a" * 90 + "," + "ab" * 2_000,
    ],
)
def test_no_text_takes_long(text: str) -> None:
    start = time.process_time()
    what_was_meant("1-" * 50, text, sent=set())
    complained_of({f"a{number}": "1-" * 50 for number in range(50)}, text)
    assert time.process_time() - start < 1
