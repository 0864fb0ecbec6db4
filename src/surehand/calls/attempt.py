"""The one place where a tool's own code is called: slot, timeout, run, classify, retry."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from typing import Any

from surehand.calls.announce import announce, log_attempt
from surehand.calls.call import Call
from surehand.calls.endings import classify, governed, internal, timed_out
from surehand.calls.injection import injected_values
from surehand.concurrency import Job, deliver_to_loop, workers
from surehand.control import Command
from surehand.errors import ToolDefinitionError
from surehand.events import CallRetried, LateResult
from surehand.outcomes import FailureKind, Outcome
from surehand.policy import RetryPolicy

__all__ = ["attempt"]

logger = logging.getLogger("surehand.calls")


async def attempt(call: Call) -> Call:
    """Run the call's body until it succeeds or may not be tried again, and record how it ended."""
    tool = call.tool
    if tool is None:
        return call
    clock = call.turn.host.clock
    queued = clock.now()
    async with call.turn.slot(tool):
        started = clock.now()
        outcome, number = await _until_final(call, started)
    outcome = replace(
        outcome,
        attempts=number,
        duration_s=clock.now() - started,
        queued_s=started - queued,
        repairs=call.repairs,
    )
    await _record(call, outcome)
    return governed(call, outcome)


async def _record(call: Call, outcome: Outcome) -> None:
    """Write the end into the journal; a journal that fails now cannot undo the effect, so the call keeps its result."""
    journal = call.turn.host.journal
    if journal is None:
        return
    try:
        await journal.finish(call.key, replace(outcome, error=None))
    except Exception:  # the host's own journal
        logger.exception("%s: the journal could not record how the call ended", call.id)


async def _until_final(call: Call, started: float) -> tuple[Outcome, int]:
    """The last attempt's outcome and its number."""
    number = 1
    while True:
        log_attempt(call, number)
        outcome = await _run_once(call, number)
        delay = None if outcome.kind is None else _delay(call, outcome, number, started)
        if delay is None:
            return outcome, number
        announce(call, CallRetried, attempt=number, delay_s=delay, error=outcome.error)
        await call.turn.host.clock.sleep(delay)
        number += 1


def _delay(call: Call, outcome: Outcome, number: int, started: float) -> float | None:
    """Seconds until the next attempt; None if there is none."""
    policy = call.tool.options.retry if call.tool else None
    if not isinstance(policy, RetryPolicy) or number >= policy.max_attempts or not _is_safe(call, outcome, policy):
        return None
    wait = policy.delay(number, after=getattr(outcome.error, "retry_after", None))
    elapsed = call.turn.host.clock.now() - started
    is_late = policy.max_elapsed is not None and elapsed + wait > policy.max_elapsed
    return None if is_late else wait


def _is_safe(call: Call, outcome: Outcome, policy: RetryPolicy) -> bool:
    """Whether another attempt cannot do anything twice: its author says so, or doing it twice is the same."""
    if outcome.retryable:
        return True
    options = call.tool.options if call.tool else None
    if options is None or not (options.idempotent or options.read_only) or not isinstance(outcome.error, Exception):
        return False
    try:
        return policy.covers(outcome.error)
    except Exception:  # the host's own retry_on: its failure means no retry, and must not lose the call's answer
        logger.exception("retry_on=%r failed; the call is not retried", policy.retry_on)
        return False


async def _run_once(call: Call, number: int) -> Outcome:
    """One attempt. Exceptions of the body become outcomes here and nowhere else."""
    timeout = call.tool.options.timeout if call.tool else None
    scope = asyncio.timeout(timeout if isinstance(timeout, float | int) else None)
    try:
        async with scope:
            return _accepted(call, await _body(call, injected_values(call, number)))
    except ToolDefinitionError as error:
        return _not_wired(call, error)
    except asyncio.CancelledError as error:
        if _is_cancelled_from_outside():
            raise
        return classify(call, error)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the tool's own code ends here; SystemExit is its failure
        if isinstance(error, TimeoutError) and scope.expired():
            is_thread = call.tool is not None and not call.tool.spec.body.is_async
            return timed_out(call, float(timeout or 0), is_still_running=is_thread)
        return classify(call, error)


async def _body(call: Call, injected: dict[str, Any]) -> Any:
    """What the tool's function returns, whatever kind of function it is."""
    if call.tool is None:
        return None
    body = call.tool.spec.body
    if body.is_async:
        value = body.call(call.values, injected)
    else:
        value = await _on_thread(call, partial(body.call, call.values, injected))
    if inspect.isawaitable(value):  # an async function, or a sync one that hands back what is to be awaited
        value = await value
    return [item async for item in value] if isinstance(value, AsyncIterator) else value


async def _on_thread(call: Call, run: partial[Any]) -> Any:
    """Run a synchronous body on a worker thread; when it is given up, its late end is announced and goes nowhere."""
    job: Job[Any] = Job(run, deliver=_nowhere)
    ended = deliver_to_loop(job)
    workers().start(job)
    try:
        await ended
    except asyncio.CancelledError:
        workers().abandon(job, on_late=partial(_announce_late, call))
        raise
    if job.error is not None:
        raise job.error
    return job.result


def _nowhere(_: Job[Any]) -> None:
    """Deliver nothing; replaced before the job starts."""


def _announce_late(call: Call, job: Job[Any]) -> None:
    announce(call, LateResult, value=job.result, error=job.error)


def _accepted(call: Call, value: Any) -> Outcome:
    """The outcome of a body that returned: a command is accepted only where the node allows it."""
    if isinstance(value, Command) and not call.turn.host.allows_commands:
        error = ToolDefinitionError(
            tool=call.name,
            problem="it returned a Command, which this node does not allow",
            remedy="Give the node commands=True, or return a plain value.",
        )
        return _not_wired(call, error)
    return Outcome(value=value)


def _not_wired(call: Call, error: Exception) -> Outcome:
    ended = internal(call, f"The tool {call.name!r} could not be run", error).outcome
    assert ended is not None  # noqa: S101 - for the type checker: internal() always sets one
    return ended


def _is_cancelled_from_outside() -> bool:
    """Whether somebody cancelled this task, rather than the body having raised CancelledError by itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
