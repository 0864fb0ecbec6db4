"""What a model must not read is taken out; what it needs stays."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest
from pydantic import BaseModel

from surehand.calls.redact import MAX_DESCRIPTION, Redactor, describe_exception, is_secret_name, leaf_errors

NO_ENVIRONMENT: dict[str, str] = {}


def redacted(text: str, *secrets: str) -> str:
    return Redactor(secrets, environ=NO_ENVIRONMENT).text(text)


def described(error: BaseException) -> str:
    return describe_exception(error, Redactor(environ=NO_ENVIRONMENT))


# -- by value --------------------------------------------------------------------------------------------------------


def test_given_secrets_are_hidden_wherever_they_stand() -> None:
    assert redacted("a hunter2 b hunter2", "hunter2") == "a [redacted] b [redacted]"


def test_a_secret_inside_another_does_not_leave_half_of_it() -> None:
    assert redacted("abcdefgh", "abcd", "abcdefgh") == "[redacted]"


@pytest.mark.parametrize("written", ["p%40ss%2Fword", "p%40ss/word", "p@ss/word"])
def test_a_secret_is_hidden_in_its_url_quoted_forms(written: str) -> None:
    assert "ss" not in redacted(f"x {written} y", "p@ss/word")


def test_a_secret_is_hidden_in_its_escaped_form() -> None:
    secret = 'line one\nline "two"'
    assert "two" not in redacted(f"got {secret!r}", secret)


def test_blank_secrets_are_ignored() -> None:
    assert redacted("a b", "", " ") == "a b"


def test_environment_values_whose_name_says_secret_are_hidden() -> None:
    environ = {"SHOP_API_KEY": "abcd1234efgh", "SHOP_URL": "shop.example", "DEBUG_KEY": "1"}
    text = Redactor(environ=environ).text("abcd1234efgh at shop.example, step 1")
    assert text == "[redacted] at shop.example, step 1"


def test_a_secret_that_is_set_later_is_hidden_too(monkeypatch: pytest.MonkeyPatch) -> None:
    redactor = Redactor()
    assert redactor.text("late-value-42") == "late-value-42"
    monkeypatch.setenv("LATE_TOKEN", "late-value-42")
    assert redactor.text("late-value-42") == "[redacted]"
    assert "LATE_TOKEN" in os.environ


@pytest.mark.parametrize(
    "name",
    [
        *("API_KEY", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "PGPASSWORD", "GH_TOKEN", "SENTRY_DSN"),
        *("GOOGLE_CREDENTIALS", "db_passwd", "auth", "session.cookie"),
    ],
)
def test_names_of_secrets_are_known(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["max_tokens", "PATH", "keyboard", "token_count", "author", "monkey", "tokenizer"])
def test_names_that_only_look_like_it_are_no_secrets(name: str) -> None:
    assert not is_secret_name(name)


# -- by shape --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pg://u:pw@h/db refused", "pg://[redacted]@h/db refused"),
        ("postgresql://user:p/w@host/db", "postgresql://[redacted]@host/db"),
        ("https://ghp_x@github.com/a", "https://[redacted]@github.com/a"),
        ("Authorization: Bearer abc.def123456", "Authorization: Bearer [redacted]"),
        ("sent Basic dXNlcjpwYXNz123=", "sent Basic [redacted]"),
        ("key sk-proj-abcdefghij1234567890 refused", "key [redacted] refused"),
        ("ghp_abcdefghijklmnopqrst1234", "[redacted]"),
        ("xoxb-1234567890-abcdef", "[redacted]"),
        ("AKIAIOSFODNN7EXAMPLE", "[redacted]"),
        ("AIzaSyA-1234567890abcdefghijklmnopqrstu", "[redacted]"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-DEF_123", "[redacted]"),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY----- rest", "[redacted] rest"),
        ("-----BEGIN PRIVATE KEY-----\nabc", "[redacted]"),
        ("password=hunter2 host=db", "password=[redacted] host=db"),
        ("password='a b c', x", "password=[redacted], x"),
        ("AWS_SECRET_ACCESS_KEY=abc/def+gh", "AWS_SECRET_ACCESS_KEY=[redacted]"),
        ("{'api_key': 'abc', 'n': 1}", "{'api_key': [redacted], 'n': 1}"),
        ('{"token": "abc"}', '{"token": [redacted]}'),
        ("password: hunter2", "password: [redacted]"),
        ("No such file: '/home/John Smith/x.txt'", "No such file: '[redacted]'"),
        ("/srv/app/main.py is bad", "[redacted] is bad"),
        ("/custom1/proj/file.db locked", "[redacted] locked"),
        ("~/secret/x missing", "[redacted] missing"),
        ("file:///etc/passwd", "[redacted]"),
        (r"C:\Users\me\x.txt is open", "[redacted] is open"),
        (r"'C:\\Users\\John Smith\\x'", "'[redacted]'"),
        (r"\\server\share\x", "[redacted]"),
        ("<Foo object at 0x7f1234567890>", "<Foo object at [redacted]>"),
        ('see File "/a/b.py", line 3, in f', "see [redacted]"),
        ('Traceback (most recent call last):\n  File "x", line 3\n    f()\nValueError: x', "[redacted]\nValueError: x"),
    ],
)
def test_what_looks_like_a_secret_or_a_place_on_the_host_is_hidden(text: str, expected: str) -> None:
    assert redacted(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "GET https://api.example.com/home/users.json: 404",
        "GET /v1/users: 404",
        "https://example.com/a?email=x@y.com",
        "http://host:8080/path",
        "max_tokens=4096 is too many tokens",
        "Unexpected token: foo bar",
        "password: must be at least 8 letters",
        "basic authentication failed",
        "the token expired",
        "ratio 3/4 and a/b",
        "0x1f is 31",
        "column 'foo' does not exist at line 3",
        "Größe überschritten: 查询失败",
    ],
)
def test_what_a_model_needs_to_correct_itself_stays(text: str) -> None:
    assert redacted(text) == text


@pytest.mark.parametrize(
    "piece",
    [
        *("a", "a.", "/a", "://", "://a:", "eyJ", "eyJ-", "password=", "password='", "secret: ", "Bearer ", "/-", "~"),
        *("-----BEGIN A-----", "Traceback (most recent call last):\n ", 'File "', "C:\\", "x@", "0x", " /a/b.", "\\\\"),
    ],
)
def test_a_megabyte_of_near_misses_takes_linear_time(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    started = time.perf_counter()
    redacted(text)
    assert time.perf_counter() - started < 5


# -- exceptions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no such order"), "ValueError: no such order"),
        (KeyError("x"), "KeyError: the key 'x' was not found"),
        (KeyError("User 12 not found"), "KeyError: User 12 not found"),
        (KeyError(), "KeyError: a key was not found."),
        (TimeoutError(), "TimeoutError: it took too long."),
        (ConnectionResetError(), "ConnectionResetError: the connection failed."),
        (RuntimeError("  "), "RuntimeError: it gave no further details."),
        (AssertionError(), "AssertionError: an internal check failed."),
        (RuntimeError("pg://u:pw@h/db refused"), "RuntimeError: pg://[redacted]@h/db refused"),
        (ExceptionGroup("g", [ExceptionGroup("h", [TimeoutError()])]), "TimeoutError: it took too long."),
        (
            ExceptionGroup("g", [ValueError("a"), TypeError("b")]),
            "2 errors:\n- ValueError: a\n- TypeError: b",
        ),
    ],
)
def test_an_exception_is_its_class_and_its_message(error: BaseException, text: str) -> None:
    assert described(error) == text


def test_a_path_in_an_os_error_is_hidden() -> None:
    assert described(FileNotFoundError(2, "No such file or directory", "/home/me/x")) == (
        "FileNotFoundError: [Errno 2] No such file or directory: '[redacted]'"
    )


def test_a_group_of_many_tells_of_some_and_counts_the_rest() -> None:
    text = described(ExceptionGroup("g", [ValueError(n) for n in range(29)]))
    assert text.startswith("29 errors:\n- ValueError: 0\n")
    assert text.endswith("- and 9 more")


def test_a_long_message_keeps_head_and_tail() -> None:
    text = described(ValueError("a" * 50_000 + "END"))
    assert len(text) <= MAX_DESCRIPTION
    assert text.startswith("ValueError: aaa")
    assert text.endswith("END")


def test_no_secret_is_cut_in_half_by_the_bound() -> None:
    secret = "s3cret-" * 10
    redactor = Redactor([secret], environ=NO_ENVIRONMENT)
    for offset in range(1_200, 1_500, 7):
        assert "s3cret" not in describe_exception(ValueError("x" * offset + secret + "y" * 3_000), redactor)


def test_the_cause_and_the_notes_of_an_exception_are_not_told() -> None:
    error = ValueError("outer")
    error.__cause__ = RuntimeError("inner secret")
    error.add_note("a note for developers")
    assert described(error) == "ValueError: outer"


def test_links_to_the_validators_documentation_are_left_out() -> None:
    class Item(BaseModel):
        n: int

    with pytest.raises(ValueError, match="https://") as caught:
        Item.model_validate({"n": "x"})
    assert "https://" not in described(caught.value)


def test_broken_text_in_a_message_is_made_well_formed() -> None:
    assert described(ValueError("a\ud800")) == "ValueError: a\ufffd"


class BrokenStr(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


class NotText(Exception):
    def __str__(self) -> Any:
        return 3  # noqa: PLE0307 - it is what is tested


class BrokenKey:
    def __repr__(self) -> str:
        raise RuntimeError("no")


class HidingGroup(ExceptionGroup[Exception]):
    @property
    def exceptions(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "error", [BrokenStr(), NotText(), KeyError(BrokenKey()), HidingGroup("g", [ValueError("a")])], ids=type
)
def test_a_broken_exception_is_described_all_the_same(error: BaseException) -> None:
    assert ": " in described(error)


def test_leaves_come_in_order_however_deep() -> None:
    a, b, c = ValueError("a"), TypeError("b"), KeyError("c")
    assert leaf_errors(ExceptionGroup("g", [ExceptionGroup("h", [a, b]), c])) == [a, b, c]


def test_an_exception_that_is_no_group_is_its_own_leaf() -> None:
    error = ValueError()
    assert leaf_errors(error) == [error]


@pytest.mark.parametrize("template", ["(api_key={})", "api_key: {}, next", "token={}", "{{'password': '{}'}}"])
def test_a_hidden_value_is_not_hidden_twice(template: str) -> None:
    assert "]]" not in Redactor(environ={}).text(template.format("sk-live-4f9aK2mQ8vX1bZ7c"))
