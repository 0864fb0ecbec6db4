"""Coroutines that are stood beside: in a context of their own, held back where somebody is behind, or to their end.

A task gives a coroutine context variables of its own, and costs turns of the event loop. Where nothing runs beside the
coroutine, the context alone is enough: it is entered for each step and left when the step ends.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from functools import partial
from typing import Any, Final, Protocol, TypeVar, cast

from surehand.shapes import JSON_TYPES

__all__ = ["Gate", "in_own_context", "paced", "settled", "wake"]

T = TypeVar("T")

_MOST_AWAITED: Final = 8
"""How often what was awaited may have to be awaited in turn: of things that hand each other back there is no end."""


@types.coroutine
def _stepped(coroutine: Coroutine[Any, Any, T], context: contextvars.Context) -> Generator[Any, Any, T]:
    take: Callable[[Any], Any] = coroutine.send
    given: object = None
    while True:
        try:
            waits_for = context.run(take, given)
        except StopIteration as end:
            return cast("T", end.value)
        try:
            given, take = (yield waits_for), coroutine.send
        except BaseException as error:  # noqa: BLE001 - whatever is thrown in, a cancellation above all, is for the coroutine
            given, take = error, coroutine.throw


def in_own_context(coroutine: Coroutine[Any, Any, T]) -> Awaitable[T]:
    """The coroutine, to be awaited once; what it sets in its context variables is not seen outside."""
    return _stepped(coroutine, contextvars.copy_context())


class Gate(Protocol):
    """What one may have to wait for."""

    @property
    def is_full(self) -> bool:
        """Whether one has to."""
        ...

    async def room(self) -> None:
        """Wait until one has not."""
        ...


def paced(running: Awaitable[T], gate: Gate) -> Awaitable[T]:
    """The coroutine, held back at each of its awaits for as long as the gate is full; to be awaited once.

    What it waits for goes on meanwhile. A task that is being cancelled is not held back: who would make room may wait
    for its end.
    """
    return _held_back(running, gate) if inspect.iscoroutine(running) else running


@types.coroutine
def _held_back(coroutine: Coroutine[Any, Any, T], gate: Gate) -> Generator[Any, Any, T]:
    resume: Callable[[], Any] = partial(coroutine.send, None)
    while True:
        try:
            waits_for = resume()
        except StopIteration as end:
            return cast("T", end.value)
        try:
            if gate.is_full and not _is_being_cancelled():
                yield from _room(gate, waits_for)
            resume = partial(coroutine.send, (yield waits_for))
        except BaseException as error:  # noqa: BLE001 - whatever is thrown in, a cancellation above all, is for the coroutine
            resume = partial(coroutine.throw, error)


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _room(gate: Gate, waits_for: object) -> Generator[Any, Any, None]:
    """Wait for the gate; where the task is cancelled meanwhile, so is what the coroutine waits for, as it always is."""
    try:
        yield from gate.room().__await__()
    except asyncio.CancelledError:
        if not (isinstance(waits_for, asyncio.Future) and waits_for.cancel()):
            raise


async def settled(value: Any, gate: Gate | None = None) -> Any:
    """What a value comes to that may have to be awaited, and again: a wrapper hands on what its function gave it.

    Args:
        value: Any value.
        gate: Where a coroutine is held back; None for nowhere.
    """
    for _ in range(_MOST_AWAITED):
        if type(value) in JSON_TYPES or not inspect.isawaitable(value):  # the quicker question first
            break
        awaited, value = value, await (value if gate is None else paced(value, gate))
        if value is awaited:  # some objects are awaited to be opened
            break
    return value


def wake(waiter: asyncio.Future[None]) -> None:
    """Let whoever waits go on, where nobody has done so; to be called on the waiter's loop."""
    if not waiter.done():
        waiter.set_result(None)
