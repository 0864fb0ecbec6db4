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
finished call, the next thing to do is to call again. So what ``guard`` refuses is looked up, too. Nothing is looked up
that nothing refuses: where the call has been begun before, the journal says so when it is told that it starts.

A call may ask, from wherever its code runs. Then it has no end: ``Interrupted`` goes up through all of this.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Final

from surehand.calls.amended import with_attempts_of
from surehand.calls.announce import announce, log_fault, log_outcome, log_pause
from surehand.calls.answer import answer, render
from surehand.calls.attempts import attempt
from surehand.calls.call import Call
from surehand.calls.chain import run_through
from surehand.calls.consent import authorise, with_edit_told
from surehand.calls.durable import in_journal, recall, record
from surehand.calls.failures import failed, internal
from surehand.calls.questions import in_call
from surehand.calls.table import ToolTable
from surehand.calls.typed import typed
from surehand.errors import InvalidArguments, MalformedArguments, shown
from surehand.events import CallFinished, CallPaused, CallStarted
from surehand.grammar import parse_arguments
from surehand.interrupts import interrupted_in, is_signal, use_scope
from surehand.messages import FinishReason
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
    "whole",
]

Step = Callable[[Call], Call]
WaitingStep = Callable[[Call], Awaitable[Call]]

_CUT_OFF: Final[Mapping[FinishReason | None, tuple[str, str]]] = {
    "length": ("the output limit", "Send the call again, complete and shorter."),
    "content_filter": ("the provider's content filter", "Send the call again, complete and shorter."),
}
_BROKEN: Final = ("a failure on its way", "Send the call again.")
"""What cut a reply off, and what the model is to do about it."""


def gate(call: Call) -> Call:
    """Refuse every call of a reply that was cut off: nobody knows what is missing."""
    if not call.turn.is_cut_off:
        return call
    what, remedy = _CUT_OFF.get(call.turn.message.finish_reason, _BROKEN)
    text = f"Your reply was cut off by {what}, so none of its calls was executed. {remedy}"
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


PREPARE: Final[tuple[Step, ...]] = (gate, resolve, parse, validate)
"""The steps that never wait."""
PERFORM: Final[tuple[WaitingStep, ...]] = (authorise, attempt)
"""The steps that may wait. ``recall`` comes before them where they or ``guard`` may refuse the call, else inside."""
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
    return call.turn.journal is not None and call.outcome is not None and call.outcome.kind in _REFUSALS


def _may_be_refused(call: Call) -> bool:
    return call.outcome is not None or (call.tool is not None and call.tool.options.requires_approval is not False)


def end(call: Call) -> Call:
    """Tell whoever listens that the call was answered."""
    outcome = call.outcome or Outcome()
    log_outcome(call, outcome)
    announce(call, CallFinished, outcome=outcome, value=call.value)
    return call


async def perform(call: Call) -> Call:
    """Run a call that is ready, to its answer; an exception of the host's own objects is an answer too.

    Raises:
        Interrupted: It asks.
    """
    if call.turn.journal is None:
        return _answered(await _performed(call))
    with in_journal(call) as entered:
        ended = _answered(await _performed(entered))
        await record(ended)
    return ended


async def _performed(call: Call) -> Call:
    try:
        call = await recall(call) if _may_be_refused(call) else call
        for step in PERFORM:
            if call.outcome is not None:
                break
            call = await step(call)
    except BaseException as error:  # arguments, results and clocks of the host's may fail when they are read
        if is_signal(error) or call.position in call.turn.lost:
            raise
        log_fault(f"{call.id}: the call failed outside of its body", error)
        call = internal(call, f"The call of {call.name!r} could not be brought to its end", error)
    return call


async def finish(call: Call) -> Call:
    """Bring a call that is ready to its end, through the host's middleware; or to what it asks."""
    middleware = call.turn.host.middleware
    try:
        with in_call(call):
            ended = await (run_through(call, middleware, perform, recheck=recheck) if middleware else perform(call))
    except BaseException as error:
        asked = interrupted_in(error)
        if asked is None:
            raise
        log_pause(call, len(asked.interrupts))
        announce(call, CallPaused, questions=asked.interrupts)
        return call._replace(asks=asked)
    return end(ended)


def recheck(call: Call) -> Call:
    """The call with the arguments that a middleware gave it, or with the outcome that keeps it from running."""
    call = parse(call)
    return call if call.outcome is not None else validate(call)


async def whole(call: Call) -> Call:
    """The call from its start to its answer, or to what it asks."""
    call = begin(call)
    return call if call.message is not None else await finish(call)


async def run_call(call: Call) -> Call:
    """The call from its start to its answer.

    Raises:
        Interrupted: It asks.
    """
    ended = await whole(call)
    if ended.asks is not None:
        raise ended.asks
    return ended


def ended_as(call: Call, kind: FailureKind, text: str) -> Call:
    """A call that was taken up, and whose end was decided by something else than its body; with its attempts so far."""
    so_far = call.turn.under_way.get(call.position)
    ended = with_attempts_of(None if so_far is None else so_far(), failed(call, kind, text))
    return end(answer(render(ended)))


async def skip(call: Call, text: str) -> Call:
    """The call, taken up and not run, unless it is known to have been run before; nobody is asked about it."""
    call = begin(call)
    if call.message is not None:
        return call
    with use_scope(None), in_journal(call) as entered:
        known = await recall(entered)
        if known.outcome is None:
            return ended_as(known, FailureKind.SKIPPED, text)
        ended = _answered(known)
        await record(ended)
    return end(ended)


def ended_late(call: Call) -> Call:
    """A call that was answered without waiting for its body."""
    return end(_answered(call))


def _answered(call: Call) -> Call:
    """The call with its message; a result that fails in our hands is the application's fault, and said so."""
    try:
        call = _noted(render(call))
    except BaseException as error:  # a command or message of the tool's may run its code when it is read
        if is_signal(error):
            raise
        fallen = internal(call, f"The result of {call.name!r} could not be read", error)
        attempts = call.outcome.attempts if call.outcome else 0
        outcome = replace(fallen.outcome, attempts=attempts) if fallen.outcome else None
        call = render(fallen._replace(outcome=outcome))
    return answer(call)


def _noted(call: Call) -> Call:
    call = with_edit_told(call)
    return call if call.turn.guard is None else call.turn.guard.after(call)
