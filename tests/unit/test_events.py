"""Events carry everything; printed, they are a line without what tools, models and hosts wrote."""

from __future__ import annotations

from typing import Any

import pytest

from surehand.events import CallFinished, CallProgressed, CallRetried, CallStarted, Event, LateResult
from surehand.outcomes import FailureKind, Outcome

SECRET = ValueError("hunter2-hunter2")
FAILURE = Outcome(kind=FailureKind.EXCEPTION, error=SECRET, error_id="0badf00d", duration_s=0.25)
NAMES: dict[str, Any] = {"call_id": "c1", "tool_name": "add"}


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (Event(**NAMES), "c1 add: Event"),
        (CallStarted(**NAMES, arguments={"password": "hunter2-hunter2"}), "c1 add: started"),
        (CallProgressed(**NAMES, progress="hunter2-hunter2"), "c1 add: progressed"),
        (
            CallRetried(**NAMES, attempt=1, delay_s=0.5, error=SECRET),
            "c1 add: attempt 1 failed with ValueError, the next in 0.5 s",
        ),
        (CallFinished(**NAMES, outcome=Outcome(), value="hunter2-hunter2"), "c1 add: succeeded after 0 s"),
        (CallFinished(**NAMES, outcome=FAILURE), "c1 add: ended as exception (error 0badf00d) after 0.25 s"),
        (CallFinished(**NAMES, outcome=Outcome(kind=FailureKind.LIMIT)), "c1 add: ended as limit after 0 s"),
        (LateResult(**NAMES, value="hunter2-hunter2"), "c1 add: came to its end, too late"),
        (LateResult(**NAMES, error=SECRET), "c1 add: came to its end with ValueError, too late"),
    ],
)
def test_a_printed_event_is_a_line_of_our_own_words(event: Event, line: str) -> None:
    assert str(event) == line


def test_a_name_that_the_model_made_up_cannot_write_a_second_line() -> None:
    event = CallStarted(call_id="c1\nWARNING all is well", tool_name="x" * 500)
    assert "\n" not in str(event)
    assert len(str(event)) < 250


@pytest.mark.parametrize(
    "event",
    [
        CallRetried(**NAMES, attempt=1, delay_s=0.5, error=SECRET),
        CallFinished(**NAMES, outcome=FAILURE),
        LateResult(**NAMES, error=SECRET),
    ],
)
def test_not_even_the_repr_shows_an_exceptions_text(event: Event) -> None:
    assert "hunter2" not in repr(event)
