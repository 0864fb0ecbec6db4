"""A host's function around one call, told in the same way whether it is synchronous or not.

An asynchronous one is awaited. A synchronous one may block, so that it gets a thread, and asks from there for what is
inside; the task of the call does that work.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, Final, TypeVar

from surehand.calls.call import Call
from surehand.concurrency import entered_by_sync_door, finish_without_loop
from surehand.concurrency.callbacks import run_with_callback
from surehand.interrupts import Interrupted

__all__ = ["place_in_turn", "wrapped"]

Request = TypeVar("Request")
Answer = TypeVar("Answer")

_MAX_WAITING: Final = 64
"""How many calls of a turn may be inside of synchronous functions at a time: each of them keeps a thread."""


async def wrapped(
    wrap: Callable[..., Any] | None,
    awrap: Callable[..., Any] | None,
    request: Request,
    run: Callable[[Request], Coroutine[Any, Any, Answer]],
    *,
    is_inline: bool,
    place: Callable[[], AbstractAsyncContextManager[None]],
) -> Any:
    """What the function that fits the door returned; the synchronous one where there is no other.

    Args:
        wrap: Called with the request and a synchronous ``run``.
        awrap: Called with the request and ``run`` itself, and awaited.
        request: What is asked for.
        run: Does what is inside.
        is_inline: Whether the turn runs in the caller's thread, without a loop.
        place: Entered while a thread is needed.
    """
    if wrap is None or (awrap is not None and not entered_by_sync_door()):
        return None if awrap is None else await awrap(request, run)
    if is_inline:
        return wrap(request, partial(_finished, run))
    async with place():
        return await run_with_callback(partial(_called, wrap, request), partial(_run_or_ask, run))


def _finished(run: Callable[[Request], Coroutine[Any, Any, Answer]], request: Request) -> Answer:
    """``run`` where no loop is needed."""
    return finish_without_loop(run(request))


async def _run_or_ask(run: Callable[[Request], Coroutine[Any, Any, Answer]], request: Request) -> Answer | Interrupted:
    """``run`` for a thread, which has to hear of a question to be ended by it."""
    try:
        return await run(request)
    except Interrupted as asked:
        return asked


def _called(wrap: Callable[..., Any], request: Request, ask: Callable[[Request], Answer | Interrupted]) -> Any:
    def run(given: Request) -> Answer:
        found = ask(given)
        if isinstance(found, Interrupted):
            raise found
        return found

    return wrap(request, run)


@asynccontextmanager
async def place_in_turn(call: Call, kind: str) -> AsyncGenerator[None]:
    """Entered while the call is inside of a synchronous function; waits while too many others of its turn are.

    Args:
        call: One of the turn.
        kind: Whose places they are: where functions stand around each other, one place of each kind is enough.
    """
    places: asyncio.Semaphore = call.turn.shared.setdefault(kind, asyncio.Semaphore(_MAX_WAITING))
    await places.acquire()
    with call.turn.holding(call.position, places.release):
        yield
