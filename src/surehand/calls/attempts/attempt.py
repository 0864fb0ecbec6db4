"""The one place where a tool's own code is called: places, time, run, classify, retry.

A tool is somebody else's code: it hangs, raises what cannot be printed, cancels itself, changes what it was given, ends
the program. Whatever it does is turned into an outcome here, so that nothing above has to know. Two things get through:
Ctrl-C, which is the user's, and a cancellation that came from outside, which is the caller's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from surehand.callables import name_of
from surehand.calls.announce import announce, log_attempt, log_fault
from surehand.calls.attempts.bodies import run_body, signs_of
from surehand.calls.attempts.places import Places, in_place, places_of
from surehand.calls.call import Call
from surehand.calls.consent import can_be_asked, consent
from surehand.calls.durable import begin_in_journal, is_overtaken, park, recall
from surehand.calls.failures import (
    attempt_words,
    classify,
    governed,
    internal,
    misfit,
    timed_out,
    unusable,
    with_partial_output,
)
from surehand.calls.questions import in_body
from surehand.calls.table import RegisteredTool
from surehand.calls.typed import typed
from surehand.calls.watch import OutOfTime, Signs
from surehand.concurrency import is_cancelled_from_outside, run_sync
from surehand.errors import ApprovalRequired, InputError, InterruptError, ToolDefinitionError
from surehand.events import CallRetried, LateResult
from surehand.interrupts import Interrupted, gets_through, interrupted_in, is_signal
from surehand.outcomes import FailureKind, Outcome
from surehand.policy import RetryPolicy
from surehand.shapes import leaf_errors

__all__ = ["attempt"]

_MAX_LOOKS: Final = 100
"""How often somebody else may have begun a call, of which the journal then says that it may begin."""


async def attempt(call: Call) -> Call:
    """Run the call's body, when there is room for it, until it succeeds or may not be tried again."""
    if call.tool is None:
        return call
    needs_place = call.tool.needs_place or call.turn.max_concurrency is not None
    try:
        places = places_of(call) if needs_place else None
    except BaseException as error:  # the host's own function of the arguments
        if is_signal(error):
            raise
        return internal(call, f"What {call.name!r} needs for itself could not be decided", error)
    return await _Stay(call, call.tool, places, call.turn.host.clock.now()).run()


@dataclass(slots=True)
class _Stay:
    """One call while it may run: its attempts, until one is the last.

    Its places are held while a body runs, and not while it waits for the next attempt.
    """

    call: Call
    tool: RegisteredTool
    places: Places | None
    """What it needs room in; None for nothing."""
    queued: float
    started: float | None = None
    """When the first attempt could begin; None before."""
    number: int = 0
    """Of the attempt that is running, from 1; 0 for a call whose body was not started."""
    is_admitted: bool = False
    """Whether its tool's circuit breaker let it through, and waits to hear of its end."""
    consents: int = 0
    """How many of its attempts ended because somebody had to agree first."""
    looks: int = 0
    """How often somebody else had begun it, when it was about to."""
    errors: list[str] = field(default_factory=list[str])
    """What the attempts before failed with."""
    outcome: Outcome | None = None
    """How it ended; None before, and where it is cancelled or asks."""
    first: Signs | None = None
    """What is known of its first attempt; None before."""
    newest: Signs | None = None
    """What is known of its last one so far."""
    earlier: Callable[[], Outcome] | None = None
    """What is known of the run before, where a middleware runs the call once more; None for the first."""

    @property
    def is_lost(self) -> bool:
        """Whether the call was answered without its body, which went on though it was cancelled."""
        return self.call.position in self.call.turn.lost

    async def run(self) -> Call:
        """The call as it ended.

        Raises:
            Interrupted: It asks; then it is no longer recorded as running.
        """
        turn, position = self.call.turn, self.call.position
        self.earlier = turn.under_way.get(position)
        turn.under_way[position] = self._so_far
        with turn.holding(position, self._let_go):
            try:
                ended = await self._until_final()
            except Interrupted as asked:
                await park(self.call, asked.interrupts)
                raise
            self.outcome = ended.outcome
        return ended

    def _let_go(self) -> None:
        """The call is answered, whatever its body goes on to do and to say."""
        if self.newest is not None:
            self.newest.silence()
        self._tell_breaker()

    def _tell_breaker(self) -> None:
        breakers = self.call.turn.host.breakers
        if breakers is not None and self.is_admitted:
            breakers.ended(self.tool, self.outcome, began=self.started)

    def _now(self) -> float:
        return self.call.turn.host.clock.now()

    async def _until_final(self) -> Call:
        while True:
            ended = await self._in_place()
            if ended is None:
                self.call = await self._recalled()
                if self.call.outcome is not None:
                    return self.call
            elif ended.failure is None or not await self._goes_on(ended.failure):
                return self._as_ended(ended)

    async def _recalled(self) -> Call:
        """The call that could not begin, with what the journal says of it."""
        self.looks += 1
        if self.looks > _MAX_LOOKS:
            raise InputError(
                problem="A journal neither begins a call nor knows of it",
                value=self.call.key,
                remedy="Let begin return True where recall returned None and nothing came between.",
            )
        return self.call if self.call.outcome is not None else await recall(self.call)

    async def _goes_on(self, failure: Outcome) -> bool:
        """Whether another attempt follows; whatever it has to wait for is there then."""
        wanted = failure.error
        if isinstance(wanted, ApprovalRequired) and not self.call.is_approved and can_be_asked(self.call):
            self.consents += 1
            self.call = await consent(self.call, wanted)
        else:
            delay = self._delay(failure)
            if delay is None:
                return False
            announce(self.call, CallRetried, attempt=self.number, delay_s=delay, error=failure.error)
            self.errors.append(attempt_words(self.call, failure))
            await self._pause(delay)
        self.call = _afresh(self.call)
        return self.call.outcome is None

    def _in_place(self) -> Awaitable[_Ended | None]:
        """The next attempt, to be awaited; None where it could not begin."""
        return self._let_through() if self.places is None else self._in_its(self.places)

    async def _in_its(self, places: Places) -> _Ended | None:
        async with in_place(self.call, places):
            return await self._let_through()

    async def _let_through(self) -> _Ended | None:
        """One attempt, unless it is the first, and the tool's circuit breaker is open or the journal says no (None)."""
        if self.started is None:
            breakers = self.call.turn.host.breakers
            verdict = True if breakers is None else breakers.admits(self.tool)
            self.started = self._now()  # not before it was let through: a probe is known by its start
            if verdict is not True:
                return _Ended(failure=Outcome(kind=FailureKind.LIMIT, text=verdict))
            self.is_admitted = True
            if self.call.entry is not None and not await self._begins():
                return None
        self.number += 1
        log_attempt(self.call, self.number)
        return await self._once()

    async def _begins(self) -> bool:
        """Whether the body may start, and the journal knows."""
        begun = await begin_in_journal(self.call)
        self.call = self.call if begun is None else begun
        if begun is not None and begun.outcome is None:
            self.started = self._now()
            return True
        self._tell_breaker()
        self.started, self.is_admitted = None, False
        return False

    async def _once(self) -> _Ended:
        """One attempt. Exceptions of the body become outcomes here and nowhere else.

        Raises:
            Interrupted: The body asks.
        """
        signs = self.newest = signs_of(self.call)
        self.first = self.first or signs
        try:
            with in_body(self.call):
                value = await run_body(self.call, self.number, signs, partial(self._lose, signs))
            if (surroundings := self.call.turn.surroundings) is not None:
                value = surroundings.received(self.call, value)
        except (ToolDefinitionError, InterruptError) as error:
            return _not_wired(self.call, error)
        except OutOfTime as late:
            return self._unless_lost(_Ended(failure=_in_words(self.call, late, signs)), error=late.__cause__)
        except asyncio.CancelledError as error:
            if is_cancelled_from_outside():
                raise
            return self._unless_lost(_Ended(failure=classify(self.call, error)), error=error)
        except BaseException as error:  # the tool's own code ends here, also by SystemExit or a panic
            if gets_through(error):
                raise
            if (asked := self._asked_by(error)) is not None and not self.is_lost:
                raise asked from None
            if isinstance(error, ApprovalRequired) and self.call.is_approved:
                return _insatiable(self.call, error)
            failure = with_partial_output(self.call, classify(self.call, error), signs.items)
            return self._unless_lost(_Ended(failure=failure), error=error)
        finally:
            signs.silence()
        return self._unless_lost(_accepted(self.call, value))

    def _asked_by(self, error: BaseException) -> Interrupted | None:
        """The questions that an exception stands for; None where something failed."""
        surroundings = self.call.turn.surroundings
        if (asked := interrupted_in(error)) is not None or surroundings is None:
            return asked
        return surroundings.asked(self.call, error)

    def _lose(self, signs: Signs, late: OutOfTime) -> None:
        """Answer the call though its body goes on: it was cancelled, and swallowed it."""
        if self.call.turn.lose is None:  # whoever called the tool directly waits for it alone
            return
        ended = self._as_ended(_Ended(failure=_in_words(self.call, late, signs)))
        self.outcome = ended.outcome
        self.call.turn.lose(ended)

    def _unless_lost(self, ended: _Ended, *, error: BaseException | None = None) -> _Ended:
        """How the attempt ended; of a call that was answered before, the late end is announced and goes nowhere.

        Raises:
            asyncio.CancelledError: The call was answered before.
        """
        if not self.is_lost:
            return ended
        announce(self.call, LateResult, value=ended.value, error=error)
        raise asyncio.CancelledError

    def _as_ended(self, ended: _Ended) -> Call:
        """The call with how it ended; what a human decided about it stands instead."""
        how: dict[str, Any] = {**self._figures(), "repairs": self.call.repairs}
        if self.call.outcome is not None:
            return self.call._replace(outcome=replace(self.call.outcome, **how))
        if ended.failure is None:
            return self.call._replace(value=ended.value, outcome=Outcome(**how))
        outcome = replace(ended.failure, **how)
        fatal = self.call.turn.host.fatal
        if (fatal and any(isinstance(leaf, fatal) for leaf in _leaves(outcome))) or is_overtaken(outcome.error):
            return self.call._replace(outcome=outcome, raises=outcome.error, is_fatal=True)
        return governed(self.call, outcome)

    def _so_far(self) -> Outcome:
        """The figures of a call that may be cancelled at any time."""
        return self.earlier() if self.number == 0 and self.earlier is not None else Outcome(**self._figures())

    def _figures(self) -> dict[str, Any]:
        now = self._now()
        started = now if self.started is None else self.started
        if self.first is not None:  # it waits on for a thread, or for a process, when it may begin
            started = now if self.first.begun is None else self.first.begun
        return {
            "attempts": self.number,
            "attempt_errors": tuple(self.errors),
            "duration_s": now - started,
            "queued_s": started - self.queued,
        }

    def _delay(self, failure: Outcome) -> float | None:
        """Seconds until the next attempt; None if there is none."""
        policy = self.tool.options.retry
        if not isinstance(policy, RetryPolicy) or not _is_safe(self.tool, failure, policy):
            return None
        elapsed = 0.0 if self.started is None else self._now() - self.started
        delay = policy.next_delay(self.number - self.consents, failure.error, elapsed=elapsed)
        return None if delay is None or not self.call.turn.may_retry() else delay

    async def _pause(self, delay: float) -> None:
        clock = self.call.turn.host.clock
        if self.call.turn.is_inline:
            run_sync(lambda: clock.sleep(delay))
        else:
            await clock.sleep(delay)


@dataclass(frozen=True, slots=True)
class _Ended:
    """How one attempt ended."""

    value: Any = None
    failure: Outcome | None = None


def _leaves(outcome: Outcome) -> list[BaseException]:
    return [] if outcome.error is None else [outcome.error, *leaf_errors(outcome.error)]


def _afresh(call: Call) -> Call:
    """The call with typed arguments of its own: an attempt that failed may have changed those it was given."""
    if call.tool is None or call.outcome is not None:
        return call
    with suppress(Exception):  # a validator of the host's that passed once
        return call._replace(values=typed(call, call.tool).values)
    return call


def _is_safe(tool: RegisteredTool, failure: Outcome, policy: RetryPolicy) -> bool:
    """Whether another attempt cannot do anything twice: its author says so, or doing it twice is the same."""
    if failure.retryable:
        return True
    if not tool.may_run_twice or not isinstance(failure.error, Exception):
        return False
    try:
        return policy.covers(failure.error)
    except BaseException as error:  # the host's own retry_on: its failure means no retry
        if is_signal(error):
            raise
        log_fault(f"retry_on={name_of(policy.retry_on)} failed; the call is not retried", error)
        return False


def _in_words(call: Call, late: OutOfTime, signs: Signs) -> Outcome:
    return with_partial_output(call, timed_out(call, late), signs.items)


def _accepted(call: Call, value: Any) -> _Ended:
    """The end of a body that returned."""
    problem = unusable(call, value)
    return _Ended(value) if problem is None else _not_wired(call, problem)


def _insatiable(call: Call, error: ApprovalRequired) -> _Ended:
    """The end of a body that does not look whether it has what it wants."""
    unmet = ToolDefinitionError(
        tool=call.name,
        problem=f"it wants an approval that it has ({error.reason})",
        remedy="Raise ApprovalRequired only where ctx.is_approved of its ToolContext is false.",
    )
    return _not_wired(call, unmet)


def _not_wired(call: Call, error: Exception) -> _Ended:
    return _Ended(failure=misfit(f"The tool {call.name!r} could not be run", error))
