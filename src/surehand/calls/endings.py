"""How a call comes to its outcome when it fails."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import replace
from typing import Final

from surehand.calls.call import Call
from surehand.calls.redact import describe_exception
from surehand.calls.rules import GOVERNED, as_exception, told
from surehand.concurrency import WorkersExhausted
from surehand.errors import ApprovalRequired, ModelRetry, ToolException
from surehand.outcomes import FailureKind, Outcome
from surehand.policy import UNSET, Unset

__all__ = ["classify", "failed", "governed", "internal", "misfit", "timed_out"]

_SILENT: Final = "The tool failed without saying why."
_ABOUT_ARGUMENTS: Final = frozenset({FailureKind.INVALID_ARGUMENTS, FailureKind.MALFORMED})
_EXHAUSTED: Final = "Too many earlier calls that timed out are still running, so this one was not started."


def failed(call: Call, kind: FailureKind, text: str, *, error: BaseException | None = None) -> Call:
    """The call, ended by what the model did or by a limit: always answered."""
    return _answered(call, Outcome(kind=kind, text=text, error=error, repairs=call.repairs))


def _answered(call: Call, outcome: Outcome) -> Call:
    """The call with an outcome that is always answered; about arguments, in the tool's own words if it has any."""
    own = call.tool.own_rule if call.tool is not None else UNSET
    if outcome.kind not in _ABOUT_ARGUMENTS or isinstance(own, Unset):
        return call._replace(outcome=outcome)
    text = told(outcome, (own,), call_id=call.id, tool=call.name)
    if text is None:
        return call._replace(outcome=outcome)
    return call._replace(outcome=replace(outcome, text=text), is_told=True)


def internal(call: Call, what: str, error: BaseException) -> Call:
    """The call, ended by our wiring or the host's before its body started."""
    return governed(call, replace(misfit(what, error), repairs=call.repairs))


def misfit(what: str, error: BaseException) -> Outcome:
    """The outcome of a fault in our wiring or the host's: not the model's fault, and no use in trying again."""
    error_id = new_error_id()
    text = f"{what} because of a fault in the application, not in your arguments. Do not retry. [error {error_id}]"
    return Outcome(kind=FailureKind.INTERNAL, text=text, error=error, error_id=error_id)


def governed(call: Call, outcome: Outcome) -> Call:
    """The call with this outcome, in the words of the host's rule, or marked to be raised where no rule tells it."""
    if outcome.kind not in GOVERNED or call.tool is None:
        return _answered(call, outcome)
    text = told(outcome, call.tool.rules, call_id=call.id, tool=call.name)
    if text is None:
        error = as_exception(outcome, call_id=call.id, tool=call.name)
        return call._replace(outcome=outcome, raises=error)
    if text != outcome.text:
        outcome = replace(outcome, text=text)
    return call._replace(outcome=outcome)


def classify(call: Call, error: BaseException) -> Outcome:
    """The outcome that an exception of the body stands for."""
    match error:
        case ToolException():
            kind = FailureKind.INVALID_ARGUMENTS if isinstance(error, ModelRetry) else FailureKind.TOOL_ERROR
            return _said(kind, error, retryable=error.retryable)
        case ApprovalRequired():
            return _said(FailureKind.DENIED, error)
        case WorkersExhausted():
            return Outcome(kind=FailureKind.LIMIT, text=_EXHAUSTED)
        case asyncio.CancelledError():
            return _unexpected(FailureKind.CANCELLED, "The tool cancelled itself.", error)
        case _:
            text = describe_exception(error, call.turn.redactor(call))
            return _unexpected(FailureKind.EXCEPTION, text, error)


def timed_out(seconds: float, *, is_still_running: bool, error: BaseException | None = None) -> Outcome:
    """The outcome of a body that did not end in time; ``error`` is what it raised when it was stopped."""
    fate = "It may still be running, and may still have an effect." if is_still_running else "It was stopped."
    return _unexpected(FailureKind.TIMEOUT, f"The tool did not answer within {seconds:g} seconds. {fate}", error)


def new_error_id() -> str:
    """Eight characters that join the model's text and the developer's log."""
    return uuid.uuid4().hex[:8]


def _said(kind: FailureKind, error: Exception, *, retryable: bool = False) -> Outcome:
    return Outcome(kind=kind, text=_words(error), error=error, error_id=new_error_id(), retryable=retryable)


def _words(error: Exception) -> str:
    try:
        return str.__str__(str(error)).strip() or _SILENT
    except Exception:  # noqa: BLE001 - the exception's own code
        return _SILENT


def _unexpected(kind: FailureKind, text: str, error: BaseException | None) -> Outcome:
    error_id = new_error_id()
    return Outcome(kind=kind, text=f"{text} [error {error_id}]", error=error, error_id=error_id)
