"""The one place where a tool's own code is called: slot, timeout, run, classify, retry.

A tool is somebody else's code: it hangs, raises what cannot be printed, cancels itself, changes what it was given, ends
the program. Whatever it does is turned into an outcome here, so that nothing above has to know. Two things get through:
Ctrl-C, which is the user's, and a cancellation that came from outside, which is the caller's.

Python cannot end a thread. A synchronous body that outlives its time is therefore given up, not stopped: the call is
answered at once, the answer says that it may still be running, and its late end is announced and otherwise dropped. An
asynchronous body is cancelled and awaited; one that swallows the cancellation answers when it ends. Running bodies in
processes would allow a real end, at the price of arguments and results that have to be pickled.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from io import IOBase
from itertools import islice
from typing import Any, Final, NamedTuple, TypeGuard

from surehand.calls.announce import announce, log_attempt, log_fault
from surehand.calls.call import Call
from surehand.calls.endings import classify, governed, misfit, timed_out
from surehand.calls.forms import MAX_ITEMS
from surehand.calls.injection import injected_values
from surehand.calls.redact import leaf_errors
from surehand.calls.typed import typed
from surehand.concurrency import (
    Job,
    deliver_to_loop,
    has_running_loop,
    run_in_time,
    run_sync,
    when_started,
    workers,
)
from surehand.control import is_command
from surehand.errors import ToolDefinitionError, shown
from surehand.events import CallRetried, LateResult
from surehand.messages import Message
from surehand.outcomes import Outcome
from surehand.policy import RetryPolicy
from surehand.spec import Body

__all__ = ["attempt"]

_PLAIN: Final = frozenset({str, dict, list, int, float, bool, type(None)})
"""The types of most results: there is nothing in them to await or to go through."""


async def attempt(call: Call) -> Call:
    """Run the call's body until it succeeds or may not be tried again."""
    tool = call.tool
    if tool is None:
        return call
    clock = call.turn.host.clock
    queued = clock.now()
    async with call.turn.slot(tool):
        started = clock.now()
        ended, number = await _until_final(call, started)
    took = clock.now() - started
    waited = started - queued
    if ended.failure is None:
        outcome = Outcome(attempts=number, duration_s=took, queued_s=waited, repairs=call.repairs)
        return call._replace(value=ended.value, outcome=outcome)
    outcome = replace(ended.failure, attempts=number, duration_s=took, queued_s=waited, repairs=call.repairs)
    return governed(call, outcome)


class _Ended(NamedTuple):
    """How one attempt ended."""

    value: Any = None
    failure: Outcome | None = None


async def _until_final(call: Call, started: float) -> tuple[_Ended, int]:
    """How the last attempt ended, and its number."""
    number = 1
    while True:
        log_attempt(call, number)
        ended = await _run_once(call, number)
        delay = None if ended.failure is None else _delay(call, ended.failure, number, started)
        if ended.failure is None or delay is None:
            return ended, number
        announce(call, CallRetried, attempt=number, delay_s=delay, error=ended.failure.error)
        await _pause(call, delay)
        number += 1
        call = _afresh(call)


def _afresh(call: Call) -> Call:
    """The call with typed arguments of its own: an attempt that failed may have changed those it was given."""
    with suppress(Exception):  # a validator of the host's that passed once
        return call._replace(values=typed(call, call.tool).values) if call.tool else call
    return call


async def _pause(call: Call, delay: float) -> None:
    clock = call.turn.host.clock
    if call.turn.is_inline:
        run_sync(lambda: clock.sleep(delay))
    else:
        await clock.sleep(delay)


def _delay(call: Call, failure: Outcome, number: int, started: float) -> float | None:
    """Seconds until the next attempt; None if there is none."""
    policy = call.tool.options.retry if call.tool else None
    if not isinstance(policy, RetryPolicy) or not _is_safe(call, failure, policy):
        return None
    return policy.next_delay(number, failure.error, elapsed=call.turn.host.clock.now() - started)


def _is_safe(call: Call, failure: Outcome, policy: RetryPolicy) -> bool:
    """Whether another attempt cannot do anything twice: its author says so, or doing it twice is the same."""
    if failure.retryable:
        return True
    if call.tool is None or not call.tool.may_run_twice or not isinstance(failure.error, Exception):
        return False
    try:
        return policy.covers(failure.error)
    except Exception as error:  # noqa: BLE001 - the host's own retry_on: its failure means no retry
        log_fault(f"retry_on={shown(policy.retry_on)} failed; the call is not retried", error)
        return False


async def _run_once(call: Call, number: int) -> _Ended:
    """One attempt. Exceptions of the body become outcomes here and nowhere else."""
    limit = _limit(call)
    scope = None if limit is None or call.turn.is_inline else asyncio.timeout(limit)
    try:
        async with scope or nullcontext():
            return _accepted(call, await _body(call, injected_values(call, number), scope))
    except ToolDefinitionError as error:
        return _not_wired(call, error)
    except asyncio.CancelledError as error:
        if _is_cancelled_from_outside():
            raise
        return _Ended(failure=classify(call, error))
    except BaseException as error:  # the tool's own code ends here, also by SystemExit or a panic
        if _gets_through(error):
            raise
        if not isinstance(error, _OutOfTime) and (scope is None or not scope.expired()):
            return _Ended(failure=classify(call, error))
        is_thread = call.tool is not None and not call.tool.spec.body.is_async
        own = None if isinstance(error, TimeoutError) else error
        return _Ended(failure=timed_out(limit or 0.0, is_still_running=is_thread, error=own))


class _OutOfTime(TimeoutError):
    """A body was given up while its caller waited for it without a loop."""


def _limit(call: Call) -> float | None:
    """Seconds that an attempt may take; None for no limit."""
    seconds = call.tool.options.timeout if call.tool else None
    return float(seconds) if isinstance(seconds, float | int) else None


async def _body(call: Call, injected: dict[str, Any], scope: asyncio.Timeout | None) -> Any:
    """What the tool's function returns, whatever kind of function it is."""
    if call.tool is None:
        return None
    body = call.tool.spec.body
    run = partial(_called, body, call.values, injected)
    if call.turn.is_inline:
        value = _here(call, run)
        return run_sync(lambda: _awaited_in_time(value, _limit(call))) if _is_waiting(value) else value
    value = run() if body.is_async else await _on_thread(call, run, scope)
    return await _awaited(value) if _is_waiting(value) else value


def _here(call: Call, run: partial[Any]) -> Any:
    """Run a synchronous body while its caller waits: in the caller's own thread, or on another to keep a time limit."""
    limit = _limit(call)
    if limit is None:
        return run()
    job: Job[Any] = Job(run, deliver=_nowhere)
    if not run_in_time(job, limit, partial(_announce_late, call)):
        raise _OutOfTime
    return job.outcome()


async def _awaited_in_time(value: Any, limit: float | None) -> Any:
    scope = asyncio.timeout(limit)
    try:
        async with scope:
            return await _awaited(value)
    except TimeoutError as error:
        if scope.expired():
            raise _OutOfTime from error
        raise


def _called(body: Body, values: Mapping[str, Any], injected: Mapping[str, Any]) -> Any:
    return _gone_through(body.call(values, injected))


def _gone_through(value: Any) -> Any:
    """The items of a generator and the like: it is a part of the body, which runs and fails here and nowhere else."""
    if type(value) in _PLAIN or not _has(value, "__next__") or isinstance(value, IOBase):
        return value
    items: list[Any] = list(islice(value, MAX_ITEMS + 1))  # pyright: ignore[reportUnknownArgumentType] - any items
    return items if len(items) <= MAX_ITEMS else iter(items)  # rendering an iterator says that it was cut


def _is_waiting(value: Any) -> TypeGuard[Any]:
    """Whether the value has to be awaited, or its items do."""
    # Types are asked, because the abstract base classes cost ten times as much.
    return type(value) not in _PLAIN and (_has(value, "__await__") or _has(value, "__aiter__"))


def _has(value: object, method: str) -> bool:
    return hasattr(type(value), method)


async def _awaited(value: Any) -> Any:
    """What an async function comes to, or a sync one that hands back what is to be awaited."""
    if inspect.isawaitable(value):
        value = await value
    if type(value) in _PLAIN:
        return value
    return [item async for item in value] if _has(value, "__aiter__") else _gone_through(value)


async def _on_thread(call: Call, run: partial[Any], scope: asyncio.Timeout | None) -> Any:
    """Run a synchronous body on a worker thread; when it is given up, its late end is announced and goes nowhere.

    Where it has to wait for a thread, the clock of its timeout starts with it.
    """
    job: Job[Any] = Job(run, deliver=_nowhere)
    ended = deliver_to_loop(job)
    limit = _limit(call)
    if scope is not None and limit is not None:
        when_started(job, partial(_start_clock, scope, limit))
    if not workers().start(job) and scope is not None:
        scope.reschedule(None)
    try:
        await ended
    except asyncio.CancelledError:
        workers().abandon(job, on_late=partial(_announce_late, call))
        raise
    return job.outcome()


def _start_clock(scope: asyncio.Timeout, seconds: float) -> None:
    with suppress(RuntimeError):  # the call was given up meanwhile
        scope.reschedule(asyncio.get_running_loop().time() + seconds)


def _nowhere(_: Job[Any]) -> None:
    """Deliver nothing; replaced before the job starts."""


def _announce_late(call: Call, job: Job[Any]) -> None:
    announce(call, LateResult, value=job.result, error=job.error)


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


def _gets_through(error: BaseException) -> bool:
    """Whether the exception is meant for whoever runs the program, and no failure of one tool."""
    return any(isinstance(leaf, KeyboardInterrupt | GeneratorExit) for leaf in leaf_errors(error))


def _is_cancelled_from_outside() -> bool:
    """Whether somebody cancelled this task, rather than the body having raised CancelledError by itself."""
    task = asyncio.current_task() if has_running_loop() else None
    return task is not None and task.cancelling() > 0
