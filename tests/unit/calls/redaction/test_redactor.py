"""What a model must not read is taken out; what it needs stays."""

from __future__ import annotations

import base64
import json
import os
import re
import time
import unicodedata
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from surehand.calls.redaction.redactor import Redactor

NO_ENVIRONMENT: dict[str, str] = {}


def redacted(text: str, *secrets: str) -> str:
    return Redactor(secrets, environ=NO_ENVIRONMENT).text(text)


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
    started = time.process_time()
    redacted("a message of no secrets", *secrets)
    assert time.process_time() - started < 1


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
        ("password := 'a b'", "password := [redacted]"),
        ("body: user=ada&password%3Dhunter2", "body: user=ada&password%3D[redacted]"),
        ("mysqldump --password hunter2 failed", "mysqldump --password [redacted] failed"),
        ("<wsse:Password Type='t'>hunter2</wsse:Password>", "<wsse:Password Type='t'>[redacted]</wsse:Password>"),
        (
            r'{"e": "{\"x\": \"{\\\"password\\\": \\\"hunter2\\\"}\"}"}',
            r'{"e": "{\"x\": \"{\\\"password\\\": [redacted]}\"}"}',
        ),
        (r"password='a\'b c', x", "password=[redacted], x"),
        ("Config(password=SecretStr('hunter2'), port=1)", "Config(password=SecretStr([redacted]), port=1)"),
        ("passwd=['hunter2']", "passwd=[[redacted]]"),
        ("db_pass=hunter2 pw=hunter2", "db_pass=[redacted] pw=[redacted]"),
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
        (
            r'{"detail": "Traceback (most recent call last):\n  File \"x\", line 3\n    f(\"a\\n\")\nValueError: x\n"}',
            r'{"detail": "[redacted]\nValueError: x\n"}',
        ),
        (
            "NullPointerException: x\n\tat a.B.c(B.java:4)\n\tat d(Native Method)\n\t... 3 more",
            "NullPointerException: x\n[redacted]",
        ),
        (
            r"TypeError: x\n    at Object.<anonymous> (C:\\a.js:1:2)\n    at node:internal:1:1\nend",
            r"TypeError: x\n[redacted]\nend",
        ),
        ("Boom\n   at A.B(String x) in C:\\a.cs:line 5\nend", "Boom\n[redacted]\nend"),
        ("Cookie: sid=38afes7a8; t=sk-proj-abcdefghij1234567890", "Cookie: [redacted]"),
        ("Cookie: sid=38afes7a8 for https://u:pw@h/x", "Cookie: [redacted]"),
        ('Cookie: sid=38afes7a8, password="a b"', "Cookie: [redacted]"),
        ('password="hunter2 sk-proj-abcdefghij1234567890"', "password=[redacted]"),
        ("password=hunter2@http://u:pw@h", "password=[redacted]@h"),
        ("<password>hunter2 sk-proj-abcdefghij1234567890</password>", "<password>[redacted]</password>"),
        ("('cookie', 'a=b; t=sk-proj-abcdefghij1234567890')", "('cookie', [redacted])"),
        (
            "dsn=postgres://u:pw@h/db, DSN='postgres://u:pw@h/db'",
            "dsn=postgres://[redacted]@h/db, DSN='postgres://[redacted]@h/db'",
        ),
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
        "password_length: 12, password_policy=strict, secretary: Bob, auth=oauth2, authentication=basic required",
        'File "orders.csv", line 3: expected 2 columns',
        'pointer "/data/attributes/title" and /data/0/id: expected a string',
        "<token_type>jwt</token_type><auth>none</auth>",
        "pass: 3, failed: 2",
        "agenda:\n  at 10:30 (room 4)",
        "Größe überschritten: 查询失败",
    ],
)
def test_what_a_model_needs_to_correct_itself_stays(text: str) -> None:
    assert redacted(text) == text


@pytest.mark.parametrize(
    "text",
    ["password:" * 20_000 + "token a1b2" * 20_000, "password:" + "secret" * 40_000 + " b", " /usr/a" * 40_000],
)
def test_names_and_paths_in_a_row_are_not_gone_through_again_and_again(text: str) -> None:
    sent = {"content": "x" * 1_000_000, "parts": ["y" * 10_000] * 100}
    started = time.process_time()
    Redactor(sent=sent, environ=NO_ENVIRONMENT).text(text)
    assert time.process_time() - started < 5


def test_a_path_that_was_sent_is_known_beside_a_long_text_and_many_other_paths() -> None:
    redactor = Redactor(sent={"content": "x" * 1_000_000, "path": "/srv/a.txt"}, environ=NO_ENVIRONMENT)
    text = redactor.text("/srv/a.txt " + " ".join(f"/srv/{n}" for n in range(300)) + " /srv/a.txt")
    assert text.startswith("/srv/a.txt [redacted]")
    assert text.endswith("[redacted] /srv/a.txt")


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
        *(
            "<password>",
            "--password ",
            "password%3D",
            'password: "\\',
            "password: A(",
            "\n at a(b:1",
            "\\n at ",
            'File \\"',
        ),
    ],
)
def test_a_long_text_of_near_misses_takes_linear_time(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    started = time.process_time()
    redacted(text)
    assert time.process_time() - started < 5


SIDE_BY_SIDE = [
    "Authorization: Bearer {0}",
    "X-Api-Key: {0}",
    "Cookie: sid={0}; lang=de",
    "https://user:{0}@host/x",
    "password={0}",
    'password="{0} {0}"',
    '{{"password": "{0}"}}',
    "{{'Authorization': 'Bearer {0}'}}",
    "https://api.example.com/x?api_key={0}&y=1",
    "sk-{0}",
    "Server=h;Uid=u;Pwd={0};",
    "mysql --password {0}",
    "access_token: {0}",
    "<password>{0}</password>",
    "('authorization', 'Bearer {0}')",
    "password '{0}'",
    "secret key {0}",
]


@pytest.mark.parametrize("separator", [" | ", ", ", "; ", " ", "\n", "', '"])
def test_no_secret_keeps_the_one_beside_it_from_being_hidden(separator: str) -> None:
    first, second = "Zq01xV7kWb3Tn9Lp4Hs6", "Yr82mC5jDf0Gt2Ka7Be9"
    for one in SIDE_BY_SIDE:
        for other in SIDE_BY_SIDE:
            text = redacted(f"{one.format(first)}{separator}{other.format(second)}")
            assert first not in text, (one, other)
            assert second not in text, (one, other)


@pytest.mark.parametrize("template", ["(api_key={})", "api_key: {}, next", "token={}", "{{'password': '{}'}}"])
def test_a_hidden_value_is_not_hidden_twice(template: str) -> None:
    assert "]]" not in Redactor(environ={}).text(template.format("sk-live-4f9aK2mQ8vX1bZ7c"))


SECRET = "Zq7-hünter/2+!$(x) 9"
"""With everything in it that some way of writing writes differently."""


@pytest.mark.parametrize(
    "written",
    [
        SECRET,
        repr(SECRET),
        ascii(SECRET),
        repr(SECRET.encode()),
        json.dumps({"a": SECRET}),
        json.dumps(json.dumps({"a": SECRET})),
        json.dumps(json.dumps({"a": SECRET}, ensure_ascii=False), ensure_ascii=False),
        quote(SECRET),
        quote(SECRET, safe=""),
        quote_plus(SECRET),
        re.sub(r"%..", lambda match: match[0].lower(), quote(SECRET, safe="")),
        unicodedata.normalize("NFD", SECRET),
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode().rstrip("="),
        base64.b64encode(b"user:" + SECRET.encode()).decode(),
        base64.b64encode(json.dumps({"auth": SECRET}, ensure_ascii=False).encode()).decode(),
        SECRET.encode().hex(),
        f"0x{SECRET.encode().hex().upper()}",
    ],
)
def test_a_known_secret_is_found_in_every_way_it_is_written(written: str) -> None:
    hidden = Redactor([SECRET], environ={}).text(f"it said {written}, and no more")

    assert "[redacted]" in hidden
    assert "nter" not in hidden
    assert written.strip("'\"{}") not in hidden
    assert hidden.startswith("it said ")
    assert hidden.endswith(", and no more")


def test_what_is_written_behind_another_encoded_secret_is_hidden_with_it() -> None:
    secrets = [(f"first-secret-{number}", f"second-secret-{number}") for number in range(8)]
    written = [[base64.b64encode(secret.encode()).decode().rstrip("=") for secret in pair] for pair in secrets]
    text = " ".join(f"{first} {first}_{second}" for first, second in written)

    hidden = Redactor([secret for pair in secrets for secret in pair], environ={}).text(text)

    assert hidden == " ".join(["[redacted]"] * 16)


def test_a_line_of_a_private_key_is_a_secret_and_a_line_of_words_is_none() -> None:
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nshort\na line of some words\n-----END KEY-----"

    assert Redactor([key], environ={}).text("bad: MIIEvQIBADANBgkqhkiG9w0B, short, a line of some words") == (
        "bad: [redacted], short, a line of some words"
    )


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("the key 'abc123def456ghi789jkl' was not found", {"id": "abc123def456ghi789jkl"}),
        ("invalid token: abc123def456", {"value": ["my token: abc123def456"]}),
        ("syntax error near: WHERE token = 'x1y2' LIMIT", {"sql": "SELECT * FROM t WHERE token = 'x1y2' LIMIT 1"}),
        ("cannot reach https://me:pw@host/x", {"url": "https://me:pw@host/x"}),
        ("no such commit: ghp_abcdefghijklmnop1234", {"text": "see ghp_abcdefghijklmnop1234"}),
    ],
)
def test_what_the_model_has_sent_is_not_hidden_for_its_shape(text: str, sent: Any) -> None:
    assert Redactor(sent=sent, environ={}).text(text) == text
    assert "[redacted]" in Redactor(environ={}).text(text)


def test_what_the_model_has_sent_is_hidden_where_it_is_a_known_secret() -> None:
    assert (
        Redactor(["abc123def456"], sent={"a": "abc123def456"}, environ={}).text("bad abc123def456") == "bad [redacted]"
    )


def test_a_secret_is_not_confirmed_because_the_model_has_guessed_it() -> None:
    assert Redactor(sent={"n": "hunter2hunter2"}, environ={}).text("password=hunter2hunter2") == "password=[redacted]"
