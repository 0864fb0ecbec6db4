"""How long the result of a node is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from surehand.policy.checks import check_plain_function, count, seconds_or_none

__all__ = ["CachePolicy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePolicy:
    """Keeps what a node returned for what it was given, for as long as the compiled graph lives.

    A node that is given the same again is not run, and its result is used as if it had been. So it is for nodes that
    compute or read, and have no effect of their own.
    """

    ttl: float | None = None
    """Seconds that a result is kept; None for ever."""
    key: Callable[[Any], Any] | None = None
    """Makes of what the node is given what tells it from others: anything that can be hashed. None tells by the whole,
    which then has to be made of messages and plain values."""
    max_results: int = 1_000
    """How many results are kept; the oldest go first."""

    def __post_init__(self) -> None:
        seconds_or_none("ttl", self.ttl)
        count("max_results", self.max_results)
        if self.key is not None:
            check_plain_function("key", self.key, expected="a function of what the node is given, or None")
