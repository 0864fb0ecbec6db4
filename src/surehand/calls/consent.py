"""Whether a call may run, where somebody has to agree: the host's own function is asked, or whoever resumes the run.

A question to whoever resumes is about this call with these arguments, as the tool was declared then. It is answered by
a decision, which may also change the arguments or stand in the place of the tool's answer.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from surehand.calls.answer import ToolReturn
from surehand.calls.arguments_view import Arguments, copied_values
from surehand.calls.call import Approve, Call
from surehand.calls.failures import failed, internal
from surehand.calls.journal import digest_of
from surehand.calls.results import shorten
from surehand.calls.table import RegisteredTool
from surehand.calls.typed import typed
from surehand.concurrency import run_in_thread
from surehand.errors import ApprovalRequired, InputError, InterruptExpired, InvalidArguments
from surehand.interrupts import (
    APPROVAL_DECISIONS,
    EDITED,
    RESPONDED,
    Decision,
    InterruptScope,
    current_scope,
    is_signal,
    know,
    read_decision,
)
from surehand.outcomes import FailureKind, Outcome

__all__ = ["authorise", "can_be_asked", "consent", "with_edit_told"]

_MAX_EDIT: Final = 2_000
"""The most characters of changed arguments that the model is told."""


async def authorise(call: Call) -> Call:
    """Ask for the approval a call needs; where nobody can be asked, the call is denied."""
    try:
        is_needed = _needs_approval(call) or _was_decided(call)
    except BaseException as error:  # the host's own rule failed: the call must not run
        if is_signal(error):
            raise
        return _undecided(call, error)
    return await consent(call) if is_needed else call


def _needs_approval(call: Call) -> bool:
    rule = call.tool.options.requires_approval if call.tool else False
    return bool(rule(Arguments(call.values))) if callable(rule) else bool(rule)


def _was_decided(call: Call) -> bool:
    """Whether somebody was asked about the call and has decided, though by now it would not be asked about."""
    scope = current_scope()
    if call.tool is None or scope is None or not scope.has_answers or call.turn.host.approve is not None:
        return False
    return _place_of(scope, _about(call, call.tool, None)).is_answered("approval")


def can_be_asked(call: Call) -> bool:
    """Whether there is anybody who could agree to the call."""
    return call.turn.host.approve is not None or current_scope() is not None


async def consent(call: Call, wanted: ApprovalRequired | None = None) -> Call:
    """The call as somebody decided: to be run, or ended.

    Args:
        call: A call that is ready to run.
        wanted: What its body raised, because it wants somebody to agree first; None where the tool's option says so.

    Raises:
        Interrupted: Whoever resumes the run has to decide.
    """
    tool = call.tool
    if tool is None:
        return call
    try:
        return _decided(call, tool, await _decision(call, tool, wanted))
    except InterruptExpired:
        return failed(call, FailureKind.EXPIRED, f"The call was not executed. Nobody approved it{_in_time(tool)}.")
    except BaseException as error:  # the host's approver failed: the call must not run, and has not
        if is_signal(error):
            raise
        return _undecided(call, error)


def _undecided(call: Call, error: BaseException) -> Call:
    return internal(call, f"Whether {call.name!r} may run could not be decided", error)


def _in_time(tool: RegisteredTool) -> str:
    seconds = tool.options.approval_timeout
    return f" within {seconds:g} seconds" if isinstance(seconds, float | int) else " in time"


async def _decision(call: Call, tool: RegisteredTool, wanted: ApprovalRequired | None) -> Decision:
    approve, scope = call.turn.host.approve, current_scope()
    if approve is not None:
        return await _asked_here(call, approve, is_new=wanted is not None)
    if scope is None:
        words = f"The tool {call.name!r} needs a human's approval, and nobody can be asked here."
        return Decision(kind="reject", message=words)
    return read_decision(_asked_for(call, tool, scope, wanted))


async def _asked_here(call: Call, approve: Approve, *, is_new: bool) -> Decision:
    """What the host's function decides; about a call that had begun before, it has decided then."""
    if not is_new and call.entry is not None and call.entry.known is not None:
        return Decision(kind="approve")
    ask = partial(approve, call.name, copied_values(call.values))
    verdict: Any = ask() if inspect.iscoroutinefunction(approve) else await run_in_thread(ask)  # a human takes his time
    if inspect.isawaitable(verdict):
        verdict = await verdict
    if verdict is True:
        return Decision(kind="approve")
    return Decision(kind="reject", message=verdict if isinstance(verdict, str) else "")


def _asked_for(call: Call, tool: RegisteredTool, scope: InterruptScope, wanted: ApprovalRequired | None) -> Any:
    """The answer of whoever resumes the run."""
    about = _about(call, tool, wanted)
    know(tool.edits.digest, tool.edits)
    timeout = tool.options.approval_timeout
    expires_in = timeout if isinstance(timeout, float | int) else None
    return _place_of(scope, about).ask(about, key="approval", expires_in=expires_in, kind="approval")


def _about(call: Call, tool: RegisteredTool, wanted: ApprovalRequired | None) -> dict[str, Any]:
    """What whoever decides is shown."""
    about: dict[str, Any] = {
        "tool": call.name,
        "description": tool.spec.description,
        "arguments": typed(call, tool).wire,
        "call_id": call.id,
        "decisions": list(APPROVAL_DECISIONS),
        "schema": tool.edits.digest,
    }
    return about if wanted is None else about | {"reason": wanted.reason, "metadata": wanted.metadata}


def _place_of(scope: InterruptScope, about: Mapping[str, Any]) -> InterruptScope:
    shown = [about["arguments"], about["schema"], about.get("reason"), about.get("metadata")]
    return scope.within("approval", digest_of(shown))


def _decided(call: Call, tool: RegisteredTool, decision: Decision) -> Call:
    match decision.kind:
        case "approve":
            return call._replace(is_approved=True)
        case "edit":
            return _edited(call, tool, decision)
        case "reject":
            reason = decision.message.strip() or "It was not approved."
            return failed(call, FailureKind.DENIED, f"The call was not executed. {reason}")
        case "respond":
            outcome = Outcome(repairs=call.repairs, notes=(RESPONDED,))
            return call._replace(value=ToolReturn(decision.message), outcome=outcome)
        case _:
            raise InputError(
                problem="This decision is none about an approval",
                value=decision.kind,
                remedy=f"Answer with {', '.join(APPROVAL_DECISIONS)}.",
            )


def _edited(call: Call, tool: RegisteredTool, decision: Decision) -> Call:
    """The call with the arguments that a human gave it; they were checked when he did, unless that was elsewhere."""
    arguments = dict(decision.arguments or {})
    if decision.tool not in (None, call.name):
        raise InputError(problem="An edit cannot change the tool", value=decision.tool, remedy=f"Name {call.name!r}.")
    if digest_of(arguments) == digest_of(call.arguments):
        return call._replace(is_approved=True)
    try:
        valid = tool.edits.typed(arguments)
    except InvalidArguments as error:
        return failed(call, FailureKind.INVALID_ARGUMENTS, f"A human changed the arguments. {error.for_model()}")
    return call._replace(
        raw=arguments,
        arguments=arguments,
        values=valid.values,
        sent=call.arguments if call.sent is None else call.sent,
        repairs=(*call.repairs, EDITED, *valid.repairs),
        is_approved=True,
    )


def with_edit_told(call: Call) -> Call:
    """The call with a note below its result, where a human changed what it ran with."""
    if call.rendered is None or EDITED not in call.repairs or call.outcome is None or call.outcome.attempts == 0:
        return call
    used = shorten(json.dumps(call.arguments, ensure_ascii=False, default=repr), _MAX_EDIT, advice="")
    note = f"[A human changed the arguments; the call ran with {used}]"
    return call._replace(rendered=call.rendered.with_note(note))
