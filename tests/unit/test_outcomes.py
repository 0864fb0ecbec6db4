"""One vocabulary for how calls end."""

from __future__ import annotations

import json

from surehand import FailureKind, Outcome


def test_the_vocabulary_is_complete_and_in_lower_case_words() -> None:
    assert {str(kind) for kind in FailureKind} == {
        "truncated",
        "malformed",
        "unknown_tool",
        "invalid_arguments",
        "denied",
        "expired",
        "limit",
        "timeout",
        "cancelled",
        "skipped",
        "tool_error",
        "exception",
        "internal",
        "unknown_outcome",
    }


def test_a_kind_compares_with_its_word() -> None:
    kind: str = FailureKind.TIMEOUT
    assert kind == "timeout"


def test_an_outcome_without_a_kind_is_a_success() -> None:
    assert Outcome().status == "success"
    assert Outcome(kind=FailureKind.LIMIT).status == "error"


def test_the_json_form_holds_everything_but_the_exception() -> None:
    outcome = Outcome(kind=FailureKind.TIMEOUT, text="slow", error=ValueError("secret"), repairs=("a",), attempts=2)
    stored = json.loads(json.dumps(outcome.to_dict()))

    assert stored["kind"] == "timeout"
    assert (stored["text"], stored["repairs"], stored["attempts"]) == ("slow", ["a"], 2)
    assert "secret" not in json.dumps(stored)
