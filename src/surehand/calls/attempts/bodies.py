"""Runs a tool's function, whatever kind it is, and in time.

Python cannot end a thread. A synchronous body that outlives its time is therefore given up, not stopped: the call is
answered at once, the answer says that it may still be running, and its late end is announced and otherwise dropped. An
asynchronous body is cancelled and awaited; one that swallows the cancellation is given up too, after a second. A body
in a process of its own is killed. In all cases the time starts when the body does, not when the call is taken up.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from io import IOBase
from itertools import chain
from typing import Any, Final, TypeGuard

from surehand.calls.announce import announce
from surehand.calls.attempts.apart import run_apart
from surehand.calls.attempts.injection import injected_values, report_progress
from surehand.calls.call import Call
from surehand.calls.results import MAX_ITEMS
from surehand.calls.watch import OutOfTime, Signs, Watch
from surehand.concurrency import (
    Job,
    deliver_to_loop,
    run_in_time,
    run_sync,
    settled,
    wake,
    when_started,
    workers,
)
from surehand.control import _runtime, current_runtime  # pyright: ignore[reportPrivateUsage] - what is heard of a body
from surehand.events import LateResult
from surehand.interrupts import gets_through
from surehand.shapes import JSON_TYPES

__all__ = ["CLEANUP_SECONDS", "run_body", "signs_of"]

CLEANUP_SECONDS: Final = 1.0
"""How long an asynchronous body may take to end once it was cancelled."""

Lose = Callable[[OutOfTime], None]
"""Called when a body swallows its cancellation: whoever waits for the call must wait no longer."""


def signs_of(call: Call) -> Signs:
    """Where the call's body gives its signs of life."""
    return Signs(call.turn.host.clock.now, partial(report_progress, call))


async def run_body(call: Call, attempt: int, signs: Signs, lose: Lose) -> Any:
    """What the tool's function returns.

    Raises:
        OutOfTime: It took too long.
        BaseException: Whatever the function raises, the same object.
    """
    runtime = current_runtime()
    if runtime is None or runtime.publish is None:
        return await _run_body(call, attempt, signs, lose)
    # What the body puts on the graph's stream is known by its call.
    token = _runtime.set(replace(runtime, publish=runtime.publish.within(call.id)))
    try:
        return await _run_body(call, attempt, signs, lose)
    finally:
        with suppress(ValueError):  # a task that is thrown away is closed in a context that is not its own
            _runtime.reset(token)


async def _run_body(call: Call, attempt: int, signs: Signs, lose: Lose) -> Any:
    if call.tool is None:
        return None
    run = partial(_called, call, attempt, signs)
    if call.turn.is_inline:
        return _here(call, run, signs)
    watch = _watch(call, signs)
    if call.tool.target is not None:
        return await _finished(run_apart(call, attempt, signs, watch), signs, watch, lose)
    if not call.tool.spec.body.is_async:
        value = await _on_thread(call, run, watch)
    elif watch is None:
        value = run()
    else:
        watch.start()
        value = run()
    return await _finished(value, signs, watch, lose) if _is_waiting(value) else _stopped(watch, value)


def _watch(call: Call, signs: Signs) -> Watch | None:
    limit, idle = call.limits
    if limit is None and idle is None:
        return None
    return Watch(call.turn.alarm, call.turn.host.clock, signs, limit=limit, idle=idle)


def _stopped(watch: Watch | None, value: Any) -> Any:
    if watch is not None:
        watch.stop()
    return value


def _called(call: Call, attempt: int, signs: Signs) -> Any:
    """Call the function; what it asks for besides its arguments is made when it starts."""
    signs.begin()
    body = call.tool.spec.body if call.tool else None
    return None if body is None else _gone_through(body.call(call.values, injected_values(call, attempt, signs)), signs)


def _gone_through(value: Any, signs: Signs) -> Any:
    """What a generator comes to: its items are a part of the body, which runs and fails here and nowhere else.

    What it returns is the result; where it returns nothing, its items are.
    """
    if type(value) in JSON_TYPES or not _has(value, "__next__") or isinstance(value, IOBase):
        return value
    while len(signs.items) <= MAX_ITEMS:
        try:
            item = next(value)
        except StopIteration as end:
            return signs.items if end.value is None else end.value
        signs.item(item)
    return chain(signs.items, value)  # rendering an iterator says that it was cut


def _is_waiting(value: Any) -> TypeGuard[Any]:
    """Whether the value has to be awaited, or its items do."""
    # Types are asked, because the abstract base classes cost ten times as much.
    return type(value) not in JSON_TYPES and (_has(value, "__await__") or _has(value, "__aiter__"))


def _has(value: object, method: str) -> bool:
    return hasattr(type(value), method)


async def _awaited(value: Any, signs: Signs) -> Any:
    """What an async function comes to, or a sync one that hands back what is to be awaited.

    In a graph whose stream is read, it is held back where the reader is far behind.
    """
    runtime = current_runtime()
    gate = None if runtime is None else runtime.publish
    value = await settled(value, gate)
    if type(value) in JSON_TYPES:
        return value
    if not _has(value, "__aiter__"):
        return _gone_through(value, signs)
    async for item in value:
        signs.item(item)
        if gate is not None:
            await gate.room()
        if len(signs.items) > MAX_ITEMS:
            await _closed(value)
            return iter(signs.items)
    return signs.items


async def _closed(value: Any) -> None:
    close: Callable[[], Awaitable[None]] | None = getattr(value, "aclose", None)
    if close is not None:
        await close()


async def _finished(value: Any, signs: Signs, watch: Watch | None, lose: Lose) -> Any:
    """What the value comes to, within the time that is left."""
    task = asyncio.current_task()
    if watch is None or task is None:
        return await _awaited(value, signs)
    if watch.is_expired:  # in the moment in which the function handed back what is to be awaited
        _drop(value)
        raise watch.out_of_time(is_still_running=False)
    before = task.cancelling()
    watch.tells(partial(_cancel, task, watch, lose))
    try:
        result = await _awaited(value, signs)
    except BaseException as error:
        if not watch.is_expired or gets_through(error):
            raise
        is_ours = task.uncancel() <= before
        if isinstance(error, asyncio.CancelledError) and not is_ours:
            raise
        raise watch.out_of_time(is_still_running=False) from error
    finally:
        watch.stop()
    if watch.is_expired:  # it ended well all the same, while it was told to stop: that is how it ended
        task.uncancel()
    return result


def _cancel(task: asyncio.Task[Any], watch: Watch, lose: Lose) -> None:
    task.cancel()
    watch.later(CLEANUP_SECONDS, lambda: lose(watch.out_of_time(is_still_running=True)))


async def _on_thread(call: Call, run: Callable[[], Any], watch: Watch | None) -> Any:
    """Run a synchronous body on a worker thread; when it is given up, its late end is announced and goes nowhere."""
    job: Job[Any] = Job(run, deliver=_nowhere)
    ended = deliver_to_loop(job)
    if watch is None:
        workers().start(job)
    else:
        watch.tells(partial(wake, ended))
        when_started(job, partial(_start_unless, ended, watch))
        if workers().start(job):
            watch.start()
    try:
        await ended
    except asyncio.CancelledError:
        _stopped(watch, None)
        workers().abandon(job, on_late=partial(_announce_late, call))
        raise
    if watch is None or job.error is not None:
        _stopped(watch, None)
        return job.outcome()
    if not job.is_over:
        workers().abandon(job, on_late=partial(_announce_late, call))
        raise watch.out_of_time(is_still_running=True)
    return job.outcome()


def _start_unless(ended: asyncio.Future[None], watch: Watch) -> None:
    if not ended.done():  # the call may have been given up meanwhile
        watch.start()


def _here(call: Call, run: Callable[[], Any], signs: Signs) -> Any:
    """Run a synchronous body while its caller waits: in the caller's own thread, or on another to keep a time limit."""
    limit, _ = call.limits
    value = run() if limit is None else _timed(call, run, limit)
    return run_sync(lambda: _attended(call, value, signs)) if _is_waiting(value) else value


async def _attended(call: Call, value: Any, signs: Signs) -> Any:
    """What the value of a synchronous body comes to; left behind where it swallows the end of its time.

    A turn does so with the tasks of its calls, but one without a loop has none.
    """
    watch = _watch(call, signs)
    if watch is None:
        return await _awaited(value, signs)
    watch.start()
    loop = asyncio.get_running_loop()
    lost: asyncio.Future[OutOfTime] = loop.create_future()
    body = loop.create_task(_finished(value, signs, watch, lost.set_result))
    try:
        await asyncio.wait((body, lost), return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        body.cancel()
        await asyncio.wait((body,), timeout=CLEANUP_SECONDS)
        raise
    finally:
        call.turn.alarm.put_away()
    if not body.done():
        _left.add(body)
        body.add_done_callback(partial(_announce_late_end, call))
        raise lost.result()
    return body.result()


_left: set[asyncio.Task[Any]] = set()
"""Bodies that nobody waits for; a loop itself holds its tasks only weakly."""


def _timed(call: Call, run: Callable[[], Any], limit: float) -> Any:
    job: Job[Any] = Job(run, deliver=_nowhere)
    if not run_in_time(job, limit, partial(_announce_late, call)):
        raise OutOfTime(limit, is_idle=False, is_still_running=True)
    return job.outcome()


def _nowhere(_: Job[Any]) -> None:
    """Deliver nothing; replaced before the job starts."""


def _drop(value: Any) -> None:
    """Close a coroutine that nobody will await."""
    if inspect.iscoroutine(value):
        value.close()


def _announce_late(call: Call, job: Job[Any]) -> None:
    _drop(job.result)
    announce(call, LateResult, value=job.result, error=job.error)


def _announce_late_end(call: Call, body: asyncio.Task[Any]) -> None:
    _left.discard(body)
    if body.cancelled():
        return
    error = body.exception()
    announce(call, LateResult, value=None if error is not None else body.result(), error=error)
