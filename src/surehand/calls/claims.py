"""Which calls the runs of this process have in hand, so that a second run of a turn waits for the first.

A journal says that a call has begun and not that somebody is at it: its entry may be what a crash left behind. Within
a process that can be known. A run claims a call before it tells the journal, and lets go of it after it has told the
journal how the call ended. So where an entry says ``running`` and nobody here has a claim, a second look at it tells:
either it has changed, or whoever wrote it is gone, or in another process.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from typing import NamedTuple

from surehand.calls.journal import CallKey, Recalled

__all__ = ["Claim", "Entry", "WorkingOn", "claimed", "is_own"]


class Claim:
    """That a run has a call in hand; from ``take`` to ``release``."""

    __slots__ = ("_key", "_on_release")

    def __init__(self) -> None:
        self._key: str | None = None
        self._on_release: list[Callable[[], object]] = []

    def take(self, key: str) -> None:
        """Say that the run is about to begin the call."""
        with _lock:
            self._key = key
            _claims.setdefault(key, []).append(self)

    def release(self) -> None:
        """Say that it is through with the call, whatever became of it; a second time does nothing."""
        with _lock:
            key, self._key = self._key, None
            if key is None:
                return
            claims = _claims[key]
            claims.remove(self)
            if not claims:
                del _claims[key]
            waiting, self._on_release = self._on_release, []
        for wake in waiting:
            wake()

    async def over(self) -> None:
        """Wait until it is released, from whichever thread."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()

        def end() -> None:
            if not ended.done():
                ended.set_result(None)

        def wake() -> None:
            with suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits any more
                loop.call_soon_threadsafe(end)

        with _lock:
            if self._key is None:
                return
            self._on_release.append(wake)
        try:
            await ended
        finally:
            with suppress(ValueError), _lock:
                self._on_release.remove(wake)


_claims: dict[str, list[Claim]] = {}
"""By the call's key: a run that is told that the call has begun holds its claim for a moment, beside the other."""
_lock = threading.Lock()


def claimed(key: str) -> Claim | None:
    """A claim of the call by a run of this process; None where there is none."""
    with _lock:
        return next(iter(_claims.get(key, ())), None)


class Entry(NamedTuple):
    """What a call has to do with its journal."""

    key: CallKey
    name: str
    """The key as one text."""
    claim: Claim
    known: Recalled | None = None
    """What the journal said when it was last asked; None where it knew nothing or was not asked."""
    is_begun: bool = False
    """Whether it was told that the call's body is about to start, so that it has to be told of its end."""


_own: ContextVar[tuple[str, ...]] = ContextVar("surehand_own_calls", default=())


class WorkingOn:
    """Entered while the body of a call runs: what it runs itself must not wait for that call.

    Args:
        name: Of the call.
    """

    __slots__ = ("_name", "_token")

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        self._token = _own.set((*_own.get(), self._name))

    def __exit__(self, *_: object) -> None:
        with suppress(ValueError):  # a task that is thrown away is closed in a context that is not its own
            _own.reset(self._token)


def is_own(name: str) -> bool:
    """Whether the running code is part of this call's body."""
    return name in _own.get()


def _forget_after_fork() -> None:
    """A child process has none of its parent's runs."""
    global _lock  # noqa: PLW0603 - another thread of the parent may have held it
    _claims.clear()
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
