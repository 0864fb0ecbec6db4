"""How a call comes to its outcome when it fails."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from surehand.arguments import MAX_PROBLEM
from surehand.calls.call import Call
from surehand.calls.failures.advice import advice_on
from surehand.calls.failures.causes import causes_of, has_author_words, kind_of, words_of
from surehand.calls.failures.descriptions import MAX_READ
from surehand.calls.failures.let_out import was_let_out
from surehand.calls.failures.rules import GOVERNED, as_exception, told
from surehand.calls.redaction import Redactor
from surehand.calls.results import MAX_LISTED, listed, render_value, shorten
from surehand.calls.watch import OutOfTime
from surehand.control import is_command
from surehand.errors import Complaint, InvalidArguments, ToolDefinitionError, ToolException, shown
from surehand.messages import Message
from surehand.outcomes import FailureKind, Outcome
from surehand.policy import UNSET, ErrorRules, Unset
from surehand.shapes import items_of
from surehand.wording import clipped, followed_by

__all__ = ["classify", "failed", "governed", "internal", "misfit", "timed_out", "unusable", "with_partial_output"]

MAX_PARTIAL_OUTPUT: Final = 4_000
"""The most characters of what a failed body had produced that the model is told."""
_NOT_THE_TOOLS: Final = frozenset({FailureKind.LIMIT, FailureKind.EXPIRED})
"""The ends of bodies in which nothing went wrong that a model or a developer has to look at."""
_ABOUT_ARGUMENTS: Final = frozenset({FailureKind.INVALID_ARGUMENTS, FailureKind.MALFORMED})


def failed(call: Call, kind: FailureKind, text: str, *, error: BaseException | None = None) -> Call:
    """The call, ended by what the model did or by a limit: always answered."""
    if isinstance(error, InvalidArguments) and any(complaint.is_authors for complaint in error.complaints):
        text = _cleaned(error, call.turn.redactor(call)).for_model()
    return _answered(call, Outcome(kind=kind, text=text, error=error, repairs=call.repairs))


def _cleaned(error: InvalidArguments, redactor: Redactor) -> InvalidArguments:
    """The same error, with the words of the host's own validators redacted: they may say more than what is wrong."""
    complaints = [_cleaned_one(complaint, redactor) for complaint in error.complaints]
    return InvalidArguments(tool=error.tool, complaints=complaints, hint=error.hint)


def _cleaned_one(complaint: Complaint, redactor: Redactor) -> Complaint:
    if not complaint.is_authors:
        return complaint
    return replace(complaint, problem=clipped(redactor.text(complaint.problem), MAX_PROBLEM))


def _answered(call: Call, outcome: Outcome) -> Call:
    """The call with an outcome that is always answered; about arguments, in the tool's own words if it has any."""
    own = call.tool.rules.own if call.tool is not None else UNSET
    if outcome.kind not in _ABOUT_ARGUMENTS or isinstance(own, Unset):
        return call._replace(outcome=outcome)
    text = told(call, outcome, ErrorRules(own=own))
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


def unusable(call: Call, result: Any) -> ToolDefinitionError | None:
    """Why a tool's result cannot be its answer: a command is accepted only where the node allows it."""
    if _holds_commands(result):
        problem = "it returned a Command among other things"
        remedy = "Return one Command, with a ToolMessage in its update where the model is to be told more."
    elif not is_command(result):
        return None
    elif not call.turn.host.allows_commands:
        problem = "it returned a Command, which this node does not allow"
        remedy = "Give the node commands=True, or return a plain value."
    elif not isinstance(result.update, Mapping | list | Message | None):
        problem = f"it returned a Command whose update is {shown(result.update)}"
        remedy = "Give update= a mapping of state keys, a list of messages, a message or None."
    else:
        return None
    return ToolDefinitionError(tool=call.name, problem=problem, remedy=remedy)


def _holds_commands(result: Any) -> bool:
    try:
        return any(map(is_command, items_of(result)))
    except Exception:  # noqa: BLE001 - a list of the tool's own may fail when it is gone through, and is rendered as such
        return False


def governed(call: Call, outcome: Outcome) -> Call:
    """The call with this outcome, in the words of the host's rule, or marked to be raised where no rule tells it."""
    if outcome.kind not in GOVERNED or call.tool is None:
        return _answered(call, outcome)
    text = told(call, outcome, call.tool.rules)
    if text is None:
        return call._replace(outcome=outcome, raises=as_exception(call, outcome))
    if text != outcome.text:
        outcome = replace(outcome, text=text)
    return call._replace(outcome=outcome)


def classify(call: Call, error: BaseException) -> Outcome:
    """The outcome that an exception of the body stands for; of an exception group, what its causes stand for.

    The text ends with what there is to know about calling again: that the effect may be there, or a wish to wait.
    """
    causes = causes_of(error)
    kind = kind_of(causes)
    redactor = call.turn.redactor(call)
    text = listed([words_of(cause, redactor) for cause in causes[:MAX_LISTED]], total=len(causes))
    if kind in _NOT_THE_TOOLS:
        return Outcome(kind=kind, text=text, error=None if kind is FailureKind.LIMIT else error)
    is_authors = all(map(has_author_words, causes))
    if advice := advice_on(call, error, is_authors=is_authors):
        text = followed_by(text, advice)
    if is_authors:
        is_retryable = all(_says_that_nothing_happened(cause, call) for cause in causes)
        return Outcome(kind=kind, text=text, error=error, error_id=new_error_id(), retryable=is_retryable)
    return _unexpected(kind, text, error)


def _says_that_nothing_happened(cause: BaseException, call: Call) -> bool:
    """Whether the tool's author says so; what another call that the body made let out is about that call alone."""
    return isinstance(cause, ToolException) and cause.retryable and not was_let_out(cause, to=call)


def timed_out(call: Call, late: OutOfTime) -> Outcome:
    """The outcome of a body that did not end in time."""
    what = "gave no sign of life for" if late.is_idle else "did not answer within"
    own = late.__cause__
    error = None if own is None or isinstance(own, asyncio.CancelledError | TimeoutError) else own
    return _unexpected(FailureKind.TIMEOUT, f"The tool {what} {late.seconds:g} seconds. {_fate(call, late)}", error)


def _fate(call: Call, late: OutOfTime) -> str:
    if late.is_still_running:
        return "It may still be running, and may still have an effect."
    if call.tool is not None and call.tool.may_run_twice:
        return "It was stopped."
    return "It was stopped, and may have happened in part: find out before you call again."


def with_partial_output(call: Call, failure: Outcome, items: list[Any]) -> Outcome:
    """The failure, with what the body had produced by then; the words of a tool's author stay as they are."""
    if not items or failure.text is None or failure.kind not in {FailureKind.TIMEOUT, FailureKind.EXCEPTION}:
        return failure
    content = render_value(list(items), max_output=MAX_READ).content
    shown = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    # Redacted before it is cut to what is told: half a secret is not known by its value.
    told_of_it = shorten(call.turn.redactor(call).text(shown), MAX_PARTIAL_OUTPUT, advice="")
    return replace(failure, text=f"{failure.text} Its output until then: {told_of_it}")


def new_error_id() -> str:
    """Eight characters that join the model's text and the developer's log."""
    return uuid.uuid4().hex[:8]


def _unexpected(kind: FailureKind, text: str, error: BaseException | None) -> Outcome:
    error_id = new_error_id()
    return Outcome(kind=kind, text=f"{text} [error {error_id}]", error=error, error_id=error_id)
