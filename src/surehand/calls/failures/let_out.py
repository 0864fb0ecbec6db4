"""What goes with an exception that a call lets out: whoever tries again has to know what a second run would repeat."""

from __future__ import annotations

from typing import Final

from surehand.calls.call import Call
from surehand.outcomes import FailureKind
from surehand.shapes import attach, leaf_errors

__all__ = ["let_out", "may_run_again", "was_let_out"]

_IN_DOUBT: Final = frozenset({FailureKind.CANCELLED, FailureKind.UNKNOWN_OUTCOME})
"""The ends of calls whose body may have been at work, though no attempt of it is known."""


def may_run_again(call: Call) -> bool:
    """Whether a second run of the call cannot do anything twice."""
    tool, outcome = call.tool, call.outcome
    if tool is None or outcome is None or tool.may_run_twice or outcome.retryable:
        return True
    return outcome.attempts == 0 and outcome.kind not in _IN_DOUBT


def let_out(error: BaseException, *, may_run_again: bool) -> None:
    """Say on an exception that goes up, and on those in it, whether what it comes from may be run again."""
    for each in (error, *leaf_errors(error)):
        attach(each, may_run_again=may_run_again)


def was_let_out(error: BaseException) -> bool:
    """Whether the exception came out of a call, and so says nothing about whoever made that call."""
    kept: dict[str, object] = object.__getattribute__(error, "__dict__")  # its own code is not asked
    return "may_run_again" in kept
