"""A coroutine in a context of its own, without a task of its own.

A task gives a coroutine context variables of its own, and costs turns of the event loop. Where nothing runs beside the
coroutine, the context alone is enough: it is entered for each step and left when the step ends.
"""

from __future__ import annotations

import contextvars
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, TypeVar, cast

__all__ = ["in_own_context"]

T = TypeVar("T")


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
