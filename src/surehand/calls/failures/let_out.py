"""What goes with an exception that a call lets out: whoever tries again has to know what a second run would repeat."""

from __future__ import annotations

from typing import Final

from surehand.calls.call import Call
from surehand.outcomes import FailureKind
from surehand.shapes import attach, leaf_errors
from surehand.spec import ToolSpec

__all__ = ["let_out", "may_run_again", "was_let_out"]

_IN_DOUBT: Final = frozenset({FailureKind.CANCELLED, FailureKind.UNKNOWN_OUTCOME})
"""The ends of calls whose body may have been at work, though no attempt of it is known."""


def may_run_again(call: Call) -> bool:
    """Whether a second run of the call cannot do anything twice."""
    tool, outcome = call.tool, call.outcome
    if tool is None or outcome is None or tool.may_run_twice or outcome.retryable:
        return True
    return outcome.attempts == 0 and outcome.kind not in _IN_DOUBT


def let_out(error: BaseException, call: Call, *, may_run_again: bool) -> None:
    """Say on an exception that goes up, and on those in it, where it comes from, and whether that may be run again."""
    for each in (error, *leaf_errors(error)):
        attach(each, may_run_again=may_run_again, let_out_by=_spec_of(call))


def was_let_out(error: BaseException, *, to: Call) -> bool:
    """Whether the exception came out of a call of another tool, and so says nothing about the one that made that call.

    What the tool itself let out before may well be the one exception that it always raises.
    """
    kept: dict[str, object] = object.__getattribute__(error, "__dict__")  # its own code is not asked
    own = _spec_of(to)
    return kept.get("let_out_by", own) is not own


def _spec_of(call: Call) -> ToolSpec | None:
    return None if call.tool is None else call.tool.spec
