"""What a model is told about calling again after a failure."""

from __future__ import annotations

import pytest

from surehand import AIMessage, RetryPolicy, ToolException, ToolMessage, ToolNode, tool
from surehand.calls.failures.advice import IN_DOUBT


class Limited(Exception):
    """As a client raises it."""

    status_code = 429

    def __init__(self, seconds: float) -> None:
        super().__init__("Too Many Requests")
        self.headers = {"retry-after": str(seconds)}


def told(error: BaseException, *, is_safe: bool = False, retry: RetryPolicy | None = None) -> str:
    """What the model reads of a failure, without the error id."""

    @tool(read_only=is_safe, retry=retry)
    def send() -> None:
        """Send it."""
        raise error

    message = AIMessage(tool_calls=[{"id": "c", "name": "send", "args": {}}])
    answer: ToolMessage = ToolNode([send]).invoke([message])[-1]
    assert answer.outcome is not None
    return answer.text.removesuffix(f" [error {answer.outcome.error_id}]")


def test_an_effect_in_doubt_is_told_as_such() -> None:
    assert told(ConnectionResetError("reset")) == f"ConnectionResetError: reset. {IN_DOUBT}"


def test_what_may_run_twice_leaves_nothing_in_doubt() -> None:
    assert told(ConnectionResetError("reset"), is_safe=True) == "ConnectionResetError: reset"


def test_what_was_never_sent_leaves_nothing_in_doubt() -> None:
    assert told(ConnectionRefusedError("refused")) == "ConnectionRefusedError: refused"


def test_of_a_group_the_advice_stands_below_the_causes() -> None:
    text = told(ExceptionGroup("g", [ValueError("a"), TimeoutError("b")]))
    assert text.splitlines() == ["2 errors:", "- ValueError: a", "- TimeoutError: b", IN_DOUBT]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "1 second"),
        (5, "5 seconds"),
        (119, "119 seconds"),
        (120, "2 minutes"),
        (901, "16 minutes"),
        (7_200, "2 hours"),
        (200_000, "3 days"),
    ],
)
def test_a_wait_is_told_in_words(seconds: float, words: str) -> None:
    assert f"The service asks to wait {words} before the next call." in told(Limited(seconds))


def test_a_wait_that_was_not_granted_comes_with_what_to_do_meanwhile() -> None:
    assert told(Limited(100), is_safe=True, retry=RetryPolicy()) == (
        "Limited: Too Many Requests. The service asks to wait 100 seconds before the next call. "
        "Go on without it for now, or say that it has to wait."
    )


def test_the_author_s_words_stand_alone_unless_his_wait_is_not_granted() -> None:
    assert told(ToolException("busy", retryable=True, retry_after=20)) == "busy"
    assert told(ToolException("busy", retryable=True, retry_after=90)).startswith(
        "busy. The service asks to wait 90 sec"
    )


def test_never_is_said() -> None:
    assert told(ToolException("closed", retryable=True, retry_after=float("inf"))) == (
        "closed. The service asks not to be called again."
    )
