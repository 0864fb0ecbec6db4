"""Calls whose answer a middleware made, or lost."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from surehand.calls.answer import answer, render
from surehand.calls.call import Call
from surehand.calls.failures import classify, failed, governed, internal
from surehand.calls.results import is_cut_note, render_value
from surehand.concurrency import WorkersExhausted
from surehand.control import is_command
from surehand.errors import ApprovalRequired, InputError, ToolException
from surehand.messages import ToolMessage
from surehand.outcomes import FailureKind, Outcome

__all__ = ["amended", "broken", "shared", "with_attempts_of"]


def amended(call: Call, result: Any, *, has_run: bool) -> Call:
    """The call with another answer: a message, or any value, which is rendered like a tool's result.

    What the tool asked of the graph stays asked; the call's id and name stay its own.

    Args:
        call: The call as it ended, or as it was about to run.
        result: What the middleware returned.
        has_run: Whether the call ended.

    Raises:
        InputError: The result is a command, which this node does not allow.
    """
    if is_command(result) and not call.turn.host.allows_commands:
        raise InputError(
            problem="A middleware returned a Command, which this node does not allow",
            value=result,
            remedy="Give the node commands=True, or return a plain value.",
        )
    outcome = _outcome_of(result, call.repairs)
    if has_run and not (isinstance(result, ToolMessage) and result.outcome is not None):
        outcome = _with_times_of(call.outcome, outcome)
    ended = answer(_shown(call, result)._replace(outcome=outcome))
    return ended if outcome.kind is None else ended._replace(value=None)


def _shown(call: Call, result: Any) -> Call:
    """The call with the result rendered: as a success, for the words about a failure are the message's own."""
    opened = _open(call, value=result, outcome=Outcome())
    if isinstance(result, ToolMessage) and result.outcome is not None and any(map(is_cut_note, result.outcome.notes)):
        # It was cut to its size before, and a note was put on it perhaps; cut again, it would lose the way to the rest.
        rendered = render_value(result.content, max_output=None)
        return opened._replace(rendered=rendered._replace(artifact=result.artifact, has_artifact=True))
    return render(opened)


def broken(call: Call, error: BaseException, *, has_run: bool, is_in_doubt: bool) -> Call:
    """The call, ended by a middleware's exception: in its words where they are meant for the model.

    Args:
        call: The call as it ended, or as it was about to run.
        error: The exception.
        has_run: Whether the call ended.
        is_in_doubt: Whether it was begun at least, and may have had its effect.
    """
    fallen = _open(call, command=None)
    if isinstance(error, asyncio.CancelledError):  # raised, it would look like a cancellation of the caller's
        ended = failed(fallen, FailureKind.CANCELLED, "The call was cancelled by the application.")
    elif isinstance(error, ToolException | ApprovalRequired | WorkersExhausted):
        ended = governed(fallen, classify(fallen, error))
    else:
        ended = internal(fallen, _what_became_of(call, has_run=has_run, is_in_doubt=is_in_doubt), error)
    return answer(render(with_attempts_of(call.outcome if has_run else None, ended)))


def _what_became_of(call: Call, *, has_run: bool, is_in_doubt: bool) -> str:
    if has_run:
        return f"The call of {call.name!r} was run, but its answer was lost"
    if is_in_doubt:
        return f"The call of {call.name!r} was broken off, and may have happened in part,"
    return f"{call.name!r} was not run"


def shared(call: Call, other: Call) -> Call:
    """The call, ended as another one of its turn did, by the same exception; nothing was run for it."""
    outcome = None if other.outcome is None else _with_times_of(Outcome(), replace(other.outcome, repairs=call.repairs))
    return answer(render(_open(call, outcome=outcome, raises=other.raises)))


def with_attempts_of(ran: Outcome | None, ended: Call) -> Call:
    """The call with what is known of the attempts that were made for it; None where there were none."""
    return ended if ended.outcome is None else ended._replace(outcome=_with_times_of(ran, ended.outcome))


def _open(call: Call, **changes: Any) -> Call:
    """The call without its end."""
    ends: dict[str, Any] = {"value": None, "outcome": None, "message": None, "rendered": None, "raises": None}
    return call._replace(**{**ends, "is_fatal": False, "is_told": False, **changes})


def _outcome_of(result: Any, repairs: tuple[str, ...]) -> Outcome:
    """How a call with this answer ended: as the message says, where it is one."""
    if not isinstance(result, ToolMessage):
        return Outcome(repairs=repairs)
    outcome = replace(result.outcome or Outcome(), repairs=repairs)
    if outcome.status == result.status:
        return outcome
    if result.status == "success":
        return replace(outcome, kind=None, text=None, error_id=None, retryable=False)
    return replace(outcome, kind=FailureKind.TOOL_ERROR, text=result.text)


def _with_times_of(ran: Outcome | None, outcome: Outcome) -> Outcome:
    if ran is None:
        return outcome
    return replace(
        outcome,
        attempts=ran.attempts,
        attempt_errors=ran.attempt_errors,
        duration_s=ran.duration_s,
        queued_s=ran.queued_s,
    )
