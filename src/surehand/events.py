"""What Surehand announces while calls run; every event carries the id of the call it is about.

A turn with two calls announces ``CallStarted`` twice and ``CallFinished`` twice, in the order of time. Each start has
exactly one finish with the same id, whatever happens in between; or, where the call asks, a ``CallPaused``, and another
start when the run goes on.

An event carries what happened as it is: arguments, results, exceptions, with whatever secrets are in them. Printed,
with ``str(event)``, it is one line without any of that, fit for a log.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from surehand.outcomes import Outcome
from surehand.wording import one_line

__all__ = [
    "CallFinished",
    "CallPaused",
    "CallProgressed",
    "CallRetried",
    "CallStarted",
    "Event",
    "LateResult",
    "Listener",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened to one call."""

    call_id: str
    tool_name: str
    """The name the model used; for a resolved call, the tool's own."""
    at: float = field(default_factory=time.time)
    """Seconds since the epoch."""
    shared: dict[Any, Any] = field(default_factory=dict[Any, Any], repr=False, compare=False)
    """For whatever belongs to the turn: the same dict that its middlewares have as ``request.shared``."""

    def __str__(self) -> str:
        return f"{one_line(self.call_id)} {one_line(self.tool_name)}: {self._what()}"

    def _what(self) -> str:
        return type(self).__name__


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStarted(Event):
    """A call was taken up."""

    arguments: Any = None
    """The arguments as the model sent them."""

    def _what(self) -> str:
        return "started"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallProgressed(Event):
    """A tool reported how far it is."""

    progress: Any = None

    def _what(self) -> str:
        return "progressed"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRetried(Event):
    """An attempt failed in a way that allows another."""

    attempt: int
    """The number of the attempt that failed, from 1."""
    delay_s: float
    """Seconds until the next attempt."""
    error: BaseException = field(repr=False)

    def _what(self) -> str:
        return (
            f"attempt {self.attempt} failed with {one_line(type(self.error).__name__)}, the next in {self.delay_s:g} s"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFinished(Event):
    """A call was answered."""

    outcome: Outcome
    value: Any = None
    """What the tool returned, untouched; None for a failure."""

    def _what(self) -> str:
        outcome = self.outcome
        took = f"after {outcome.duration_s:.3g} s"
        if outcome.kind is None:
            return f"succeeded {took}"
        reference = "" if outcome.error_id is None else f" (error {outcome.error_id})"
        return f"ended as {outcome.kind}{reference} {took}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPaused(Event):
    """A call asked, and waits for an answer; it starts anew when the run goes on."""

    questions: tuple[Any, ...]
    """What it asks, as ``Interrupt`` values."""

    def _what(self) -> str:
        number = len(self.questions)
        return f"waits for {number} answer" + ("" if number == 1 else "s")


@dataclass(frozen=True, slots=True, kw_only=True)
class LateResult(Event):
    """A body that had been given up came to its end after all; its result went nowhere."""

    value: Any = None
    error: BaseException | None = field(default=None, repr=False)

    def _what(self) -> str:
        end = "" if self.error is None else f" with {one_line(type(self.error).__name__)}"
        return f"came to its end{end}, too late"


Listener = Callable[[Event], None]
"""Receives events as they happen, on the thread they happen in; must return quickly. What it raises is logged."""
