from __future__ import annotations

import json

import pytest

from surehand.errors import ModelError
from surehand.models.failures import Address, as_model_errors, bad_reply, missing_key, sdk_failure

ADDRESS = Address(model="m", provider="Acme", key_variable="ACME_API_KEY", url="http://acme.test/v1")


class APIStatusError(Exception):
    """Named and shaped as the SDKs name and shape theirs."""

    def __init__(self, status_code: int, body: object = None) -> None:
        super().__init__(f"Error code: {status_code}")
        self.status_code = status_code
        self.body = body


class APIConnectionError(Exception): ...


class APITimeoutError(APIConnectionError): ...


@pytest.mark.parametrize(
    ("status", "problem", "remedy"),
    [
        (401, "refused the key", "ACME_API_KEY"),
        (403, "refused the key", "ACME_API_KEY"),
        (404, "knows no such model or path", "base_url"),
        (429, "limits the rate", "max_retries"),
        (400, "refused the request", "Correct"),
        (500, "Acme failed", "later"),
        (529, "Acme failed", "later"),
    ],
)
def test_a_status_says_what_happened_and_what_to_do(status: int, problem: str, remedy: str) -> None:
    error = sdk_failure(APIStatusError(status, {"message": "told you so"}), ADDRESS)
    assert problem in str(error)
    assert remedy in error.remedy
    assert "told you so" in str(error)
    assert error.status_code == status


def test_an_error_in_a_stream_that_began_well_is_a_failure_of_the_providers() -> None:
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    error = sdk_failure(APIStatusError(200, body), ADDRESS)

    assert "Acme failed: Overloaded" in str(error)
    assert "later" in error.remedy
    assert error.status_code is None


@pytest.mark.parametrize("body", [b"\xff", b'{"a": ' + b"[" * 100_000])
def test_a_body_that_cannot_be_read_is_a_bad_reply(body: bytes) -> None:
    with pytest.raises(ModelError, match="answered with"), as_model_errors(APIStatusError, lambda: ADDRESS):
        json.loads(body)


def test_the_words_of_a_nested_error_are_found() -> None:
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": "max_tokens: too large"}}
    assert "max_tokens: too large" in str(sdk_failure(APIStatusError(400, body), ADDRESS))


def test_long_words_are_cut() -> None:
    assert len(str(sdk_failure(APIStatusError(400, {"message": "x" * 10_000}), ADDRESS))) < 800


def test_a_timeout_is_told_from_a_broken_connection() -> None:
    assert "did not answer in time" in str(sdk_failure(APITimeoutError(), ADDRESS))
    assert "cannot be reached" in str(sdk_failure(APIConnectionError("refused"), ADDRESS))


def test_anything_else_is_repeated_in_its_own_words() -> None:
    assert "the stream broke" in str(sdk_failure(RuntimeError("the stream broke"), ADDRESS))


def test_a_missing_key_names_its_variable() -> None:
    assert "Set the environment variable ACME_API_KEY" in str(missing_key(ADDRESS))


def test_a_reply_that_is_none_is_shown() -> None:
    error = bad_reply(ADDRESS, "<html>", "text that is no JSON object")
    assert "'<html>'" in str(error)
    assert "http://acme.test/v1" in str(error)
