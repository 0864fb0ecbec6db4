"""A call and its journal: answered from it, claimed in it, and written down.

The journal is told right before the body starts, when the call has its place: one that waits for a place in the moment
of a crash was not begun, and no doubt is left of it. So to claim a call is a part of the attempt, and not a step before
it. Where the claim fails, somebody else has begun the call meanwhile; then the place is left first, because that other
one may need it to go on.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from surehand.calls.announce import log_fault
from surehand.calls.call import Call
from surehand.calls.claims import Claim, Entry, claimed, is_own
from surehand.calls.failures import failed, internal, unusable
from surehand.calls.journal import CallJournal, Recalled
from surehand.calls.recovery import find_out
from surehand.concurrency import run_sync
from surehand.control import current_runtime
from surehand.errors import CheckpointConflict, InputError
from surehand.interrupts import Interrupt, Interrupted, current_scope, is_signal
from surehand.outcomes import FailureKind, Outcome
from surehand.shapes import leaf_errors
from surehand.spec import DidNotHappen, Happened

__all__ = ["begin_in_journal", "in_journal", "is_overtaken", "park", "recall", "record"]


@contextmanager
def in_journal(call: Call) -> Generator[Call]:
    """Entered with a call that may run, which is let go of at the end, or when nobody waits for it any longer."""
    if call.turn.journal is None:
        yield call
        return
    key, claim = call.key, Claim()
    with call.turn.holding(call.position, claim.release):
        yield call._replace(entry=Entry(key, key.idempotency_key, claim))


async def recall(call: Call) -> Call:
    """The call with what the journal knows of it: answered, where it has ended; or as it may begin.

    One that is running in this process is waited for.

    Raises:
        Interrupted: A human is to tell what became of it.
    """
    journal, entry = call.turn.journal, call.entry
    if journal is None or entry is None:
        return call
    try:
        if is_own(entry.name):
            return failed(call, FailureKind.SKIPPED, "This very call is running: it was not begun a second time.")
        known = await _looked_up(call, journal, entry)
        return await _as_known(call, entry, known)
    except BaseException as error:  # the host's journal: without it the call must not run, but is answered
        if is_signal(error):
            raise
        return _unrecorded(call, error)


async def _looked_up(call: Call, journal: CallJournal, entry: Entry) -> Recalled | None:
    """What the journal knows, once no run of this process has the call in hand."""
    seen: int | None = None
    while True:
        known = await journal.recall(entry.key)
        if known is None or known.state != "running":
            return known
        other = claimed(entry.name)
        if other is None and known.version == seen:
            return known
        seen = known.version  # it may have ended between the two looks
        if other is not None:
            run_sync(other.over) if call.turn.is_inline else await other.over()


async def _as_known(call: Call, entry: Entry, known: Recalled | None) -> Call:
    call = call._replace(entry=entry._replace(known=known))
    if known is None or call.is_rerun:
        return call
    if known.state == "waiting":
        scope = current_scope()
        left = None if scope is None else scope.left_open(known.asked)
        if left:  # it would only ask again, after what stands before its question
            raise Interrupted(left)
        return call
    if known.state == "running":
        return await _recovered(call, known)
    answered = _answered(call, known)
    return call if _may_be_tried_again(answered, known) else answered


def _answered(call: Call, known: Recalled) -> Call:
    """The call with an answer from the journal, which may keep less of it than a message of ours holds."""
    answer = known.answer
    if answer is None:
        raise InputError(
            problem="A journal has no answer to a call that ended", value=known, remedy="Keep what it was told."
        )
    outcome = answer.outcome
    if outcome is None:
        is_success = answer.status == "success"
        outcome = Outcome() if is_success else Outcome(kind=FailureKind.EXCEPTION, text=answer.text)
    message = answer.replace(tool_call_id=call.id, name=call.name, outcome=outcome)
    return call._replace(outcome=outcome, message=message, command=known.command)


def _may_be_tried_again(answered: Call, known: Recalled) -> bool:
    """Whether the call failed, a second run cannot do anything twice, and it is meant to have one.

    What a model was told of is over where a run goes on; what went up as an exception ended the run, and is the reason
    why it is run once more.
    """
    tool, outcome = answered.tool, answered.outcome
    if tool is None or outcome is None or outcome.kind is None:
        return False
    is_meant = known.was_raised or answered.turn.retries_failures
    return is_meant and (outcome.retryable or tool.may_run_twice)


async def _recovered(call: Call, known: Recalled) -> Call:
    """The call that was interrupted while it ran, as far as anybody can tell what became of it."""
    if call.tool is None:
        return call
    verdict = await find_out(call, call.tool, known)
    if isinstance(verdict, DidNotHappen):
        return call
    if not isinstance(verdict, Happened):
        return failed(call, FailureKind.UNKNOWN_OUTCOME, verdict)
    begun = await begin_in_journal(call)
    if begun is None:  # somebody else has made sure of it meanwhile
        return await recall(call)
    return begun if begun.outcome is not None else _as_happened(begun, verdict.result)


def _as_happened(call: Call, result: Any) -> Call:
    problem = unusable(call, result)
    if problem is not None:
        return internal(call, f"What reconcile of {call.name!r} returned could not be used", problem)
    notes = ("it had run before the program was interrupted",)
    return call._replace(value=result, outcome=Outcome(attempts=1, repairs=call.repairs, notes=notes))


async def begin_in_journal(call: Call) -> Call | None:
    """The call, recorded as about to start; with an outcome where that failed; None where somebody has begun it.

    After None it has to be recalled.
    """
    journal, entry = call.turn.journal, call.entry
    if journal is None or entry is None or entry.is_begun:
        return call
    entry.claim.take(entry.name)
    try:
        has_begun = await journal.begin(entry.key, None if entry.known is None else entry.known.version)
    except BaseException as error:  # the host's journal, as above
        if is_signal(error):
            raise
        return _unrecorded(call, error)
    if has_begun:
        return call._replace(entry=entry._replace(is_begun=True))
    entry.claim.release()
    return None


def _unrecorded(call: Call, error: BaseException) -> Call:
    log_fault(f"{call.id}: the journal failed", error)
    return internal(call, f"The call of {call.name!r} could not be recorded", error)


async def park(call: Call, asked: Sequence[Interrupt]) -> None:
    """Tell the journal that a call which had begun has asked."""
    journal, entry = call.turn.journal, call.entry
    if journal is None or entry is None or not entry.is_begun:
        return
    try:
        await journal.wait(entry.key, [question.id for question in asked])
    except BaseException as error:  # the host's own journal
        if is_signal(error):
            raise
        log_fault(f"{call.id}: the journal could not record that the call asks", error)


def is_overtaken(error: BaseException | None) -> bool:
    """Whether a run inside of a call has found that another one has gone on with the thread of this run.

    Then it is this run that has lost, and nothing that the tool did: whoever has gone on says what becomes of the call.
    """
    runtime = current_runtime()
    if error is None or runtime is None or runtime.keeping is None:
        return False
    conflicts = [leaf for leaf in leaf_errors(error) if isinstance(leaf, CheckpointConflict)]
    return any(conflict.thread_id == runtime.keeping.thread_id for conflict in conflicts)


async def record(call: Call) -> None:
    """Write a call's answer into the journal; a journal that fails now cannot undo the effect: the answer stands."""
    journal, entry = call.turn.journal, call.entry
    if journal is None or entry is None or not entry.is_begun or call.message is None or is_overtaken(call.raises):
        return
    try:
        await journal.finish(entry.key, call.message, call.command, was_raised=call.raises is not None)
    except BaseException as error:  # the host's own journal
        if is_signal(error):
            raise
        log_fault(f"{call.id}: the journal could not record how the call ended", error)
