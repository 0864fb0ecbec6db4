"""The one place where a tool's own code is called: places, time, run, classify, retry.

A tool is somebody else's code: it hangs, raises what cannot be printed, cancels itself, changes what it was given, ends
the program. Whatever it does is turned into an outcome here, so that nothing above has to know. Two things get through:
Ctrl-C, which is the user's, and a cancellation that came from outside, which is the caller's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from surehand.callables import name_of
from surehand.calls.announce import announce, log_attempt, log_fault
from surehand.calls.bodies import gets_through, is_cancelled_from_outside, run_body, signs_of
from surehand.calls.call import Call
from surehand.calls.endings import classify, failed, governed, internal, misfit, timed_out, with_partial_output
from surehand.calls.places import in_place, places_of
from surehand.calls.redact import leaf_errors
from surehand.calls.rules import attempt_words
from surehand.calls.typed import typed
from surehand.calls.watch import OutOfTime, Signs
from surehand.concurrency import run_sync
from surehand.control import is_command
from surehand.errors import ToolDefinitionError, shown
from surehand.events import CallRetried, LateResult
from surehand.messages import Message
from surehand.outcomes import FailureKind, Outcome
from surehand.policy import RetryPolicy

__all__ = ["attempt"]


async def attempt(call: Call) -> Call:
    """Run the call's body, when there is room for it, until it succeeds or may not be tried again."""
    if call.tool is None:
        return call
    queued = call.turn.host.clock.now()
    if not call.tool.needs_place and call.turn.max_concurrency is None:
        return await _Stay(call, queued).run()
    try:
        places = places_of(call)
    except Exception as error:  # noqa: BLE001 - the host's own function of the arguments
        return internal(call, f"What {call.name!r} needs for itself could not be decided", error)
    async with in_place(call, places):
        return await _Stay(call, queued).run()


@dataclass(slots=True)
class _Stay:
    """One call while it may run: its attempts, until one is the last."""

    call: Call
    queued: float
    started: float = 0.0
    number: int = 0
    """Of the attempt that is running, from 1."""
    errors: list[str] = field(default_factory=list[str])
    """What the attempts before failed with."""

    @property
    def is_lost(self) -> bool:
        """Whether the call was answered without its body, which went on though it was cancelled."""
        return self.call.position in self.call.turn.lost

    async def run(self) -> Call:
        """The call as it ended."""
        breakers = self.call.turn.host.breakers
        verdict = True if breakers is None or self.call.tool is None else breakers.admits(self.call.tool)
        if verdict is not True:
            return failed(self.call, FailureKind.LIMIT, verdict)
        self.started = self._now()
        ended: Call | None = None
        try:
            ended = self._as_ended(await self._until_final())
        finally:
            if breakers is not None and self.call.tool is not None and not self.is_lost:
                breakers.ended(self.call.tool, None if ended is None else ended.outcome)
        return ended

    def _now(self) -> float:
        return self.call.turn.host.clock.now()

    async def _until_final(self) -> _Ended:
        while True:
            self.number += 1
            log_attempt(self.call, self.number)
            ended = await self._once()
            delay = None if ended.failure is None else self._delay(ended.failure)
            if ended.failure is None or delay is None:
                return ended
            announce(self.call, CallRetried, attempt=self.number, delay_s=delay, error=ended.failure.error)
            self.errors.append(attempt_words(self.call, ended.failure))
            await self._pause(delay)
            self.call = _afresh(self.call)

    async def _once(self) -> _Ended:
        """One attempt. Exceptions of the body become outcomes here and nowhere else."""
        signs = signs_of(self.call)
        try:
            value = await run_body(self.call, self.number, signs, partial(self._lose, signs))
        except ToolDefinitionError as error:
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
            failure = with_partial_output(self.call, classify(self.call, error), signs.items)
            return self._unless_lost(_Ended(failure=failure), error=error)
        return self._unless_lost(_accepted(self.call, value))

    def _lose(self, signs: Signs, late: OutOfTime) -> None:
        """Answer the call though its body goes on: it was cancelled, and swallowed it."""
        if self.call.turn.lose is None:  # whoever called the tool directly waits for it alone
            return
        ended = self._as_ended(_Ended(failure=_in_words(self.call, late, signs)))
        if self.call.turn.host.breakers is not None and self.call.tool is not None:
            self.call.turn.host.breakers.ended(self.call.tool, ended.outcome)
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
        now = self._now()
        how: dict[str, Any] = {
            "attempts": self.number,
            "attempt_errors": tuple(self.errors),
            "duration_s": now - self.started,
            "queued_s": self.started - self.queued,
            "repairs": self.call.repairs,
        }
        if ended.failure is None:
            return self.call._replace(value=ended.value, outcome=Outcome(**how))
        outcome = replace(ended.failure, **how)
        if self.call.turn.host.fatal and any(isinstance(leaf, self.call.turn.host.fatal) for leaf in _leaves(outcome)):
            return self.call._replace(outcome=outcome, raises=outcome.error, is_fatal=True)
        return governed(self.call, outcome)

    def _delay(self, failure: Outcome) -> float | None:
        """Seconds until the next attempt; None if there is none."""
        policy = self.call.tool.options.retry if self.call.tool else None
        if not isinstance(policy, RetryPolicy) or not _is_safe(self.call, failure, policy):
            return None
        delay = policy.next_delay(self.number, failure.error, elapsed=self._now() - self.started)
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
    with suppress(Exception):  # a validator of the host's that passed once
        return call._replace(values=typed(call, call.tool).values) if call.tool else call
    return call


def _is_safe(call: Call, failure: Outcome, policy: RetryPolicy) -> bool:
    """Whether another attempt cannot do anything twice: its author says so, or doing it twice is the same."""
    if failure.retryable:
        return True
    if call.tool is None or not call.tool.may_run_twice or not isinstance(failure.error, Exception):
        return False
    try:
        return policy.covers(failure.error)
    except Exception as error:  # noqa: BLE001 - the host's own retry_on: its failure means no retry
        log_fault(f"retry_on={name_of(policy.retry_on)} failed; the call is not retried", error)
        return False


def _in_words(call: Call, late: OutOfTime, signs: Signs) -> Outcome:
    return with_partial_output(call, timed_out(call, late), signs.items)


def _accepted(call: Call, value: Any) -> _Ended:
    """The end of a body that returned: a command is accepted only where the node allows it."""
    if not is_command(value):
        return _Ended(value)
    if not call.turn.host.allows_commands:
        problem = "it returned a Command, which this node does not allow"
        remedy = "Give the node commands=True, or return a plain value."
    elif not isinstance(value.update, Mapping | list | Message | None):
        problem = f"it returned a Command whose update is {shown(value.update)}"
        remedy = "Give update= a mapping of state keys, a list of messages, a message or None."
    else:
        return _Ended(value)
    return _not_wired(call, ToolDefinitionError(tool=call.name, problem=problem, remedy=remedy))


def _not_wired(call: Call, error: Exception) -> _Ended:
    return _Ended(failure=misfit(f"The tool {call.name!r} could not be run", error))
