"""What happens to one call, in the order in which it happens.

    gate      cut-off turns are refused whole
    resolve   name -> tool, never guessed
    parse     text -> object, lossless or refused
    validate  object -> typed arguments, all complaints at once
    guard     limits of the run; is it going round in circles?
    recall    has this very call been answered before?
    authorise a human's approval where it is needed
    register  the journal is told that the call starts; unless it was started elsewhere meanwhile
    attempt   places -> time -> run -> classify -> retry?
    render    value -> text or content blocks
    answer    one tool message with the call's id
    record    the answer goes into the journal

Every step takes a call and returns one. A step that ends the call sets its ``outcome``; the steps up to ``attempt``
are then left out, the others never are. The steps up to ``guard`` never wait. What the host puts around a call, its
middleware, runs around those from ``recall`` on, and only for calls that are ready to run.

What was done is looked up before anything says that it may not be done: to a model that hears "not executed" about a
finished call, the next thing to do is to call again. So what ``guard`` refuses is looked up, too.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Final

from surehand.calls.announce import announce, log_fault, log_outcome
from surehand.calls.answer import answer, render
from surehand.calls.arguments_view import Arguments, copied_values
from surehand.calls.attempts import attempt
from surehand.calls.call import Call
from surehand.calls.chain import run_through
from surehand.calls.failures import failed, internal
from surehand.calls.table import ToolTable
from surehand.calls.typed import typed
from surehand.concurrency import is_cancelled_from_outside, run_in_thread
from surehand.errors import InvalidArguments, MalformedArguments, shown
from surehand.events import CallFinished, CallStarted
from surehand.grammar import parse_arguments
from surehand.messages import ToolMessage
from surehand.outcomes import FailureKind, Outcome

__all__ = [
    "PERFORM",
    "PREPARE",
    "Step",
    "begin",
    "ended_as",
    "ended_late",
    "finish",
    "prepare",
    "run_call",
    "skip",
]

Step = Callable[[Call], Call]
WaitingStep = Callable[[Call], Awaitable[Call]]

_CUT_OFF: Final = {
    "length": "the output limit",
    "content_filter": "the provider's content filter",
}


def gate(call: Call) -> Call:
    """Refuse every call of a reply that was cut off: nobody knows what is missing."""
    reason = call.turn.cut_off_by
    if reason is None:
        return call
    text = (
        f"Your reply was cut off by {_CUT_OFF[reason]}, so none of its calls was executed. "
        "Send the call again, complete and shorter."
    )
    return failed(call, FailureKind.TRUNCATED, text)


def resolve(call: Call) -> Call:
    """Find the tool by its name, or by the one name that differs in spelling only."""
    table = call.turn.host.table
    tool = table.find(call.name)
    if tool is None:
        return failed(call, FailureKind.UNKNOWN_TOOL, _unknown(call, table))
    if tool.spec.name == call.name:
        return call._replace(tool=tool)
    repair = f"read the tool name {shown(call.name)} as {tool.spec.name!r}"
    return call._replace(tool=tool, name=tool.spec.name, repairs=(*call.repairs, repair))


def _unknown(call: Call, table: ToolTable) -> str:
    """The words about a name that no tool has: it is misspelt, or what it meant is gone."""
    what = f"There is no tool named {shown(call.name)}"
    rest = f"The tools are: {table.listed()}. Nothing was executed."
    if call.turn.had is not None and call.turn.had(call.name):
        return f"{what} any more: it is no longer available. {rest}"
    near = " or ".join(map(repr, table.near(call.name)))
    return f"{what}. Did you mean {near}? {rest}" if near else f"{what}. {rest}"


def parse(call: Call) -> Call:
    """Read the arguments as one JSON object, without loss."""
    try:
        parsed = parse_arguments(call.raw)
    except MalformedArguments as error:
        return failed(call, FailureKind.MALFORMED, error.for_model(), error=error)
    return call._replace(arguments=parsed.value, repairs=call.repairs + parsed.repairs)


def validate(call: Call) -> Call:
    """Check the arguments against the tool's schema and make them typed values."""
    tool = call.tool
    if tool is None:
        return call
    try:
        valid = typed(call, tool)
    except InvalidArguments as error:
        return failed(call, FailureKind.INVALID_ARGUMENTS, error.for_model(), error=error)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a validator is the host's code and may raise anything
        return internal(call, f"The arguments of {call.name!r} could not be checked", error)
    return call._replace(values=valid.values, repairs=call.repairs + valid.repairs)


async def authorise(call: Call) -> Call:
    """Ask for the approval a call needs; where nobody can be asked, the call is denied."""
    try:
        if not _needs_approval(call):
            return call
        verdict = await _verdict(call)
    except asyncio.CancelledError as error:  # the approver's own: of the call itself nothing has begun
        if is_cancelled_from_outside():
            raise
        return internal(call, f"Whether {call.name!r} may run could not be decided", error)
    except Exception as error:  # noqa: BLE001 - the host's rule or its approver failed: the call must not run
        return internal(call, f"Whether {call.name!r} may run could not be decided", error)
    if verdict is True:
        return call
    reason = verdict if isinstance(verdict, str) and verdict.strip() else "It was not approved."
    return failed(call, FailureKind.DENIED, f"The call was not executed. {reason}")


def _needs_approval(call: Call) -> bool:
    rule = call.tool.options.requires_approval if call.tool else False
    return bool(rule(Arguments(call.values))) if callable(rule) else bool(rule)


async def _verdict(call: Call) -> bool | str:
    approve = call.turn.host.approve
    if approve is None:
        return f"The tool {call.name!r} needs a human's approval, and nobody can be asked here."
    ask = partial(approve, call.name, copied_values(call.values))
    verdict = ask() if inspect.iscoroutinefunction(approve) else await run_in_thread(ask)  # a human takes his time
    return await verdict if inspect.isawaitable(verdict) else verdict


async def recall(call: Call) -> Call:
    """Answer a call that has begun before from the journal, unless it failed and cannot do anything twice."""
    journal = call.turn.host.journal
    if journal is None or call.is_rerun:
        return call
    try:
        known = await journal.recall(call.key)
        recalled = None if known is None else _recalled(call, known)
    except Exception as error:  # noqa: BLE001 - the host's journal: without it the call must not run, but is answered
        return _unrecorded(call, error)
    return call if recalled is None or _may_be_tried_again(recalled) else recalled


def _recalled(call: Call, known: ToolMessage) -> Call:
    """The call with an answer from the journal, which may keep less of it than a message of ours holds."""
    outcome = known.outcome
    if outcome is None:
        is_success = known.status == "success"
        outcome = Outcome() if is_success else Outcome(kind=FailureKind.EXCEPTION, text=known.text)
    return call._replace(outcome=outcome, message=known.replace(tool_call_id=call.id, name=call.name, outcome=outcome))


def _may_be_tried_again(recalled: Call) -> bool:
    """Whether the call failed, or is in doubt, and a second run cannot do anything twice."""
    tool, outcome = recalled.tool, recalled.outcome
    if tool is None or outcome is None or outcome.kind is None:
        return False
    return outcome.retryable or tool.may_run_twice


async def register(call: Call) -> Call:
    """Tell the journal that the call's body is about to start, unless it has begun before.

    It is asked right before it is told: while a human thinks, another run of the same turn may have begun the call.
    """
    call = await recall(call)
    journal = call.turn.host.journal
    if journal is None or call.outcome is not None:
        return call
    try:
        await journal.begin(call.key)
    except Exception as error:  # noqa: BLE001 - the host's journal, as above
        return _unrecorded(call, error)
    return call._replace(is_journalled=True)


def _unrecorded(call: Call, error: Exception) -> Call:
    log_fault(f"{call.id}: the journal failed", error)
    return internal(call, f"The call of {call.name!r} could not be recorded", error)


async def record(call: Call) -> None:
    """Write a call's answer into the journal; a journal that fails now cannot undo the effect: the answer stands."""
    journal = call.turn.host.journal
    if journal is None or not call.is_journalled or call.message is None:
        return
    try:
        await journal.finish(call.key, call.message)
    except Exception as error:  # noqa: BLE001 - the host's own journal
        log_fault(f"{call.id}: the journal could not record how the call ended", error)


PREPARE: Final[tuple[Step, ...]] = (gate, resolve, parse, validate)
"""The steps that never wait."""
PERFORM: Final[tuple[WaitingStep, ...]] = (authorise, register, attempt)
"""The steps that may wait; ``recall`` is the beginning of ``register``, and comes before all of them where they or
``guard`` may refuse the call."""
_REFUSALS: Final = frozenset({FailureKind.LIMIT, FailureKind.SKIPPED})
"""What ``guard`` ends calls with."""


def prepare(call: Call) -> Call:
    """The call, ready to run, or with the outcome that keeps it from running."""
    for step in PREPARE:
        call = step(call)
        if call.outcome is not None:
            return call
    return call if call.turn.guard is None else call.turn.guard.check(call)


def begin(call: Call) -> Call:
    """The call as it was taken up: answered, or to be finished."""
    announce(call, CallStarted, arguments=call.raw)
    call = prepare(call)
    return call if call.outcome is None or _may_be_known(call) else end(_answered(call))


def _may_be_known(call: Call) -> bool:
    """Whether a call that was refused just now may have been run before, when the same turn was run."""
    return call.turn.host.journal is not None and call.outcome is not None and call.outcome.kind in _REFUSALS


def _may_be_refused(call: Call) -> bool:
    return call.outcome is not None or (call.tool is not None and call.tool.options.requires_approval is not False)


def end(call: Call) -> Call:
    """Tell whoever listens that the call was answered."""
    outcome = call.outcome or Outcome()
    log_outcome(call, outcome)
    announce(call, CallFinished, outcome=outcome, value=call.value)
    return call


async def perform(call: Call) -> Call:
    """Run a call that is ready, to its answer; an exception of the host's own objects is an answer too."""
    try:
        call = await recall(call) if _may_be_refused(call) else call
        for step in PERFORM:
            if call.outcome is not None:
                break
            call = await step(call)
    except Exception as error:  # noqa: BLE001 - arguments, results and clocks of the host's may fail when they are read
        log_fault(f"{call.id}: the call failed outside of its body", error)
        call = internal(call, f"The call of {call.name!r} could not be brought to its end", error)
    call = _answered(call)
    await record(call)
    return call


async def finish(call: Call) -> Call:
    """Bring a call that is ready to its end, through the host's middleware."""
    middleware = call.turn.host.middleware
    return end(await (run_through(call, middleware, perform, recheck=recheck) if middleware else perform(call)))


def recheck(call: Call) -> Call:
    """The call with the arguments that a middleware gave it, or with the outcome that keeps it from running."""
    call = parse(call)
    return call if call.outcome is not None else validate(call)


async def run_call(call: Call) -> Call:
    """The call from its start to its answer."""
    call = begin(call)
    return call if call.message is not None else await finish(call)


def ended_as(call: Call, kind: FailureKind, text: str) -> Call:
    """A call that was taken up, and whose end was decided by something else than its body."""
    return end(answer(render(failed(call, kind, text))))


async def skip(call: Call, text: str) -> Call:
    """The call, taken up and not run, unless it is known to have been run before."""
    call = begin(call)
    if call.message is not None:
        return call
    call = await recall(call)
    return ended_as(call, FailureKind.SKIPPED, text) if call.message is None else end(call)


def ended_late(call: Call) -> Call:
    """A call that was answered without waiting for its body."""
    return end(_answered(call))


def _answered(call: Call) -> Call:
    """The call with its message; a result that fails in our hands is the application's fault, and said so."""
    try:
        call = _noted(render(call))
    except Exception as error:  # noqa: BLE001 - a command or message of the tool's may run its code when it is read
        fallen = internal(call, f"The result of {call.name!r} could not be read", error)
        attempts = call.outcome.attempts if call.outcome else 0
        outcome = replace(fallen.outcome, attempts=attempts) if fallen.outcome else None
        call = render(fallen._replace(outcome=outcome))
    return answer(call)


def _noted(call: Call) -> Call:
    return call if call.turn.guard is None else call.turn.guard.after(call)
