"""What a model must not read is taken out; what it needs stays."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

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


def test_a_secret_in_another_script_is_hidden_in_its_escaped_and_quoted_forms() -> None:
    secret = "北京市朝阳区建国路"
    for written in (secret, json.dumps(secret), quote(secret)):
        assert redacted(f"x {written} y", secret).strip('"') in {"x [redacted] y", 'x "[redacted]" y'}


def test_ten_thousand_long_secrets_take_no_time_worth_mentioning() -> None:
    secrets = [f"{n} " + "lorem ipsum " * 100 for n in range(10_000)]
    started = time.perf_counter()
    redacted("a message of no secrets", *secrets)
    assert time.perf_counter() - started < 1


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


def test_a_password_in_an_environments_url_is_hidden_wherever_it_stands() -> None:
    redactor = Redactor(environ={"DATABASE_URL": "postgres://app:p%40ss-w0rd@db/main"})
    assert redactor.text("auth failed for app with p@ss-w0rd, p%40ss-w0rd") == (
        "auth failed for app with [redacted], [redacted]"
    )


def test_a_short_secret_is_hidden_as_a_word_and_a_very_short_one_not_at_all() -> None:
    assert redacted("pin 4711, order 24711, no 47", "4711", "47") == "pin [redacted], order 24711, no 47"


def test_the_secrets_are_gone_through_only_when_there_is_a_text() -> None:
    def secrets() -> Iterator[str]:
        raise AssertionError("looked for")
        yield ""

    assert Redactor(secrets(), environ=NO_ENVIRONMENT) is not None


SENT = {"path": "/data/in/x.csv", "names": ["report.txt", "b"], "n": 3}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no such file: '/data/in/x.csv'", "no such file: '/data/in/x.csv'"),
        ("no such directory: /data/in", "no such directory: /data/in"),
        ("no such file: /srv/app/files/report.txt", "no such file: [redacted]/report.txt"),
        ("no such file: /srv/app/files/other.txt", "no such file: [redacted]"),
        ("no such file: /srv/app/b", "no such file: [redacted]"),
        ("password=/data/in/x.csv", "password=[redacted]"),
    ],
)
def test_a_path_that_the_model_has_sent_is_not_hidden_from_it(text: str, expected: str) -> None:
    assert Redactor(sent=SENT, environ=NO_ENVIRONMENT).text(text) == expected


@pytest.mark.parametrize(
    "name",
    [
        *("API_KEY", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "PGPASSWORD", "GH_TOKEN", "SENTRY_DSN"),
        *("GOOGLE_CREDENTIALS", "db_passwd", "auth", "session.cookie"),
    ],
)
def test_names_of_secrets_are_known(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "primary_key",
        "public_key",
        "sort_key",
        "cache_keys",
        "max_tokens",
        "PATH",
        "keyboard",
        "token_count",
        "author",
        "monkey",
        "tokenizer",
    ],
)
def test_names_that_only_look_like_it_are_no_secrets(name: str) -> None:
    assert not is_secret_name(name)


# -- by shape --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pg://u:pw@h/db refused", "pg://[redacted]@h/db refused"),
        ("AccountName=a;AccountKey=Zm9vYmFy==;Suffix=x", "AccountName=a;AccountKey=[redacted];Suffix=x"),
        ("https://a.example/c?sv=2020&sig=a1B2%2Fd4%3D&se=2030", "https://a.example/c?sv=2020&sig=[redacted]&se=2030"),
        ("GET https://x.example/b?X-Amz-Signature=deadbeef01", "GET https://x.example/b?X-Amz-Signature=[redacted]"),
        ("403 for https://api.example.com/v1?key=AbCdEf123456789", "403 for https://api.example.com/v1?key=[redacted]"),
        ("https://hooks.slack.com/services/T0/B0/XXXX", "https://hooks.slack.com/services/[redacted]"),
        ("https://discord.com/api/webhooks/1234567890/ab-C", "https://discord.com/api/webhooks/[redacted]"),
        ("Authorization: Token 9944b09199c6", "Authorization: [redacted]"),
        ("authorization: Bearer letters_only", "authorization: [redacted]"),
        ("headers: {'X-Api-Key': 'k-1234', 'Accept': '*/*'}", "headers: {'X-Api-Key': [redacted], 'Accept': '*/*'}"),
        ("[(b'authorization', b'Bearer secretsecret')]", "[(b'authorization', b[redacted])]"),
        ("Cookie: sid=38afes7a8; lang=de", "Cookie: [redacted]"),
        ("password 'hunter2' rejected for bob", "password [redacted] rejected for bob"),
        ("invalid token abcdef0123456789abcdef0123", "invalid token [redacted]"),
        ("shpat_0123456789abcdef0123456789abcdef", "[redacted]"),
        ("whsec_abcdefghijklmnop12345678", "[redacted]"),
        ("bot123456789:AAE-abcdefghijklmnopqrstuvwxyz012345", "[redacted]"),
        ("user:/root/x is missing", "user:[redacted] is missing"),
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
        "0x1f is 31, error 0x80070005, colour 0xff00ff",
        "order 3f2504e0-4f89-11d3-9a0c-0305e82c3301 is not known",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 is not known",
        "2026-03-01T12:00:00+01:00 is in the past",
        "price 1,299.00 EUR is above the limit",
        "report.pdf is no spreadsheet",
        "token limit 4096 exceeded, max_tokens: 4096",
        "password must be 8 characters",
        "Unexpected token: '}' in JSON at position 5",
        "key 'city' is missing; primary key: id; key=value pairs only",
        "author: Smith, authority=high",
        "signature: f(a, b)",
        "GET /home/users/5: 404, POST /data/query: 500",
        "~10/day and about ~3/4",
        "sk-learn-contrib-imbalanced is a package, risk-assessment-final-version too",
        "has_password=False, token=null, api_key: required, token: expired, auth: none",
        "token_type: bearer",
        "cookie: disabled",
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
        *(
            "sk-",
            "sk-a",
            "token a",
            "password '",
            "cookie=a=",
            "'token', '",
            "?key=",
            "&a-sig=",
            "12345678:AA",
            "key 0a",
        ),
        *("authorization: Bearer x", "auth: b", "shared_access_", "GET /home/", "at 0x", "expected token: ", "A1"),
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


def test_the_values_that_a_body_could_not_validate_are_not_told() -> None:
    class Reply(BaseModel):
        order: int
        items: list[int]

    with pytest.raises(ValueError, match="hunter2") as caught:
        Reply.model_validate({"order": "hunter2", "items": [1, "x"]})
    assert described(caught.value).splitlines() == [
        "ValidationError: 2 validation errors for Reply",
        "order: Input should be a valid integer, unable to parse string as an integer",
        "items.1: Input should be a valid integer, unable to parse string as an integer",
    ]


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
