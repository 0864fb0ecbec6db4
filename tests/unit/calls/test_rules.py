"""What becomes of failures that the host decides about."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from surehand.calls.rules import told
from surehand.errors import OptionError, ToolCallError, ToolException
from surehand.outcomes import FailureKind, Outcome
from surehand.policy import ErrorRule, check_error_rule

ERROR = ToolException("busy")
FAILURE = Outcome(kind=FailureKind.TOOL_ERROR, text="busy", error=ERROR)


def _told(*rules: ErrorRule, outcome: Outcome = FAILURE) -> str | None:
    return told(outcome, rules, call_id="c", tool="t")


def _loud(error: BaseException) -> str:
    return str(error).upper()


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        ((True,), "busy"),
        ((False,), None),
        ((), None),
        (("fixed",), "fixed"),
        ((ToolException,), "busy"),
        ((KeyError,), None),
        (((KeyError, ToolException),), "busy"),
        ((False, True), "busy"),
        ((KeyError, "second"), "second"),
        ((_loud,), "BUSY"),
    ],
)
def test_the_first_rule_with_an_answer_is_told(rules: tuple[Any, ...], text: str | None) -> None:
    assert _told(*rules) == text


@pytest.mark.parametrize("answer", [None, "", "  "])
def test_a_function_without_an_answer_leaves_the_default(answer: Any) -> None:
    assert _told(lambda _: answer) == "busy"


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (3, "3"),
        ({"retry": False}, '{"retry": false}'),
        ([{"type": "text", "text": "later"}], '[{"type": "text", "text": "later"}]'),
    ],
)
def test_the_model_is_told_what_a_function_returns_text_or_not(answer: Any, text: str) -> None:
    assert _told(lambda _: answer) == text


def test_a_failure_without_an_exception_is_given_to_a_function_as_one() -> None:
    seen: list[BaseException] = []
    outcome = Outcome(kind=FailureKind.TIMEOUT, text="too slow")

    def see(error: BaseException) -> str:
        seen.append(error)
        return "x"

    _told(see, outcome=outcome)
    assert isinstance(seen[0], ToolCallError)
    assert seen[0].kind == "timeout"


@pytest.mark.parametrize("rule", [True, False, "text", ValueError, (ValueError, KeyError), print])
def test_rules_pass_as_they_are(rule: Any) -> None:
    assert check_error_rule(rule) is rule


@pytest.mark.parametrize("rule", [None, 0, 1, "", "  ", [], (), (int,), int, KeyboardInterrupt, (ValueError, "x")])
def test_anything_else_is_refused_with_the_value(rule: Any) -> None:
    with pytest.raises(OptionError, match="handle_tool_errors="):
        check_error_rule(rule)


def test_a_handler_that_raises_what_it_was_given_writes_no_secret_above_debug(caplog: pytest.LogCaptureFixture) -> None:
    def pass_on(error: BaseException) -> str:
        raise error

    failure = Outcome(kind=FailureKind.EXCEPTION, text="redacted", error=ValueError("password=hunter2"))
    caplog.set_level(logging.INFO, logger="surehand")

    assert _told(pass_on, outcome=failure) == "redacted"
    assert "ValueError at " in caplog.text
    assert "hunter2" not in caplog.text
