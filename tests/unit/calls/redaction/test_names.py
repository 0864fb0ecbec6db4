"""A name says whether what it stands for is a secret."""

from __future__ import annotations

import pytest

from surehand.calls.redaction import is_secret_name


@pytest.mark.parametrize(
    "name",
    [
        *("API_KEY", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "PGPASSWORD", "GH_TOKEN", "SENTRY_DSN"),
        *("GOOGLE_CREDENTIALS", "db_passwd", "auth", "session.cookie", "AUTHORIZATION", "BEARER_AUTH", "MY_JWT"),
        *("SMTP_PASS", "db_pass", "DB_PW", "GH_PAT", "PASSCODE", "AWS_CREDS", "AZURE_STORAGE_CONNECTION_STRING"),
        *("ENCRYPTION_KEYS", "ACCESSKEY", "privateKey", "accessKeyId", "dbPassword", "userPass", "refreshToken"),
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
        *("maxTokens", "publicKey", "low_pass", "BYPASS", "compass", "passes", "pattern", "keys"),
        *("passenger", "authorName", "hotkeys", "string"),
    ],
)
def test_names_that_only_look_like_it_are_no_secrets(name: str) -> None:
    assert not is_secret_name(name)
