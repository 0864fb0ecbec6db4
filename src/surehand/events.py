"""What Surehand announces while calls run; every event carries the id of the call it is about.

A turn with two calls announces ``CallStarted`` twice and ``CallFinished`` twice, in the order of time. Each start has
exactly one finish with the same id, whatever happens in between.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from surehand.outcomes import Outcome

__all__ = ["CallFinished", "CallProgressed", "CallRetried", "CallStarted", "Event", "LateResult", "Listener"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened to one call."""

    call_id: str
    tool_name: str
    """The name the model used; for a resolved call, the tool's own."""
    at: float = field(default_factory=time.time)
    """Seconds since the epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStarted(Event):
    """A call was taken up."""

    arguments: Any = None
    """The arguments as the model sent them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallProgressed(Event):
    """A tool reported how far it is."""

    progress: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRetried(Event):
    """An attempt failed in a way that allows another."""

    attempt: int
    """The number of the attempt that failed, from 1."""
    delay_s: float
    """Seconds until the next attempt."""
    error: BaseException


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFinished(Event):
    """A call was answered."""

    outcome: Outcome
    value: Any = None
    """What the tool returned, untouched; None for a failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LateResult(Event):
    """A body that had been given up came to its end after all; its result went nowhere."""

    value: Any = None
    error: BaseException | None = None


Listener = Callable[[Event], None]
"""Receives events as they happen, on the thread they happen in; must return quickly. What it raises is logged."""
