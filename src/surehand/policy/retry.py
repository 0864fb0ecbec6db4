"""How often and when a failed attempt is made again."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from surehand.errors import OptionError
from surehand.policy.checks import are_exceptions, check_plain_function, count, flag, seconds, seconds_or_none
from surehand.policy.transient import is_transient, retry_after_of

__all__ = ["RetryOn", "RetryPolicy"]

RetryOn: TypeAlias = type[Exception] | tuple[type[Exception], ...] | Callable[[Exception], bool]
"""Which exceptions a policy retries."""

_RETRY_ON: Final = "an exception type, a tuple of them, a function of the exception or None"
_NEVER: Final = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and when a failed attempt is made again.

    A tool is retried when its author raises ``ToolException(retryable=True)``. What passes by itself, and whatever else
    ``retry_on`` names, is retried only on tools that are ``idempotent`` or ``read_only``: an attempt that failed may
    have had an effect.
    """

    max_attempts: int = 3
    """Attempts in all, the first one included."""
    initial_interval: float = 0.5
    """Seconds before the second attempt."""
    backoff_factor: float = 2.0
    """Each wait is this many times as long as the one before."""
    max_interval: float = 8.0
    """The longest wait in seconds."""
    jitter: bool = True
    """Whether each wait is shortened by a random part, at most half, so that retries do not come in step."""
    retry_on: RetryOn | None = None
    """Further exceptions to retry; None adds none."""
    transient: bool = True
    """Whether failures that are known to pass by themselves are retried: a server that is busy, a lost connection."""
    max_elapsed: float | None = None
    """No new attempt starts when this many seconds have passed since the first; None for no limit."""
    max_retry_after: float | None = 60.0
    """Seconds that a server may ask to be left alone; where it asks for more, there is no further attempt. None for no
    limit."""

    def __post_init__(self) -> None:
        count("max_attempts", self.max_attempts)
        for name in ("initial_interval", "max_interval"):
            seconds(name, getattr(self, name))
        for name in ("max_elapsed", "max_retry_after"):
            seconds_or_none(name, getattr(self, name))
        _check_factor(self.backoff_factor)
        for name in ("jitter", "transient"):
            flag(name, getattr(self, name))
        if self.retry_on is not None and not are_exceptions(self.retry_on):
            check_plain_function("retry_on", self.retry_on, expected=_RETRY_ON)

    def delay(self, attempt: int, *, after: float | None = None) -> float:
        """Seconds to wait after the given failed attempt (from 1).

        Args:
            attempt: The number of the attempt that failed.
            after: What the failure itself asked for, in seconds; it is the least that is waited.
        """
        try:
            wait = min(self.max_interval, self.initial_interval * self.backoff_factor ** (attempt - 1))
        except OverflowError:  # a power beyond what a float holds, after a thousand attempts
            wait = self.max_interval
        if self.jitter:
            wait *= random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing
        return max(wait, after or 0.0)

    def next_delay(self, attempt: int, error: BaseException | None, *, elapsed: float) -> float | None:
        """Seconds until the next attempt; None when attempts or time have run out, or the wait would be too long.

        Args:
            attempt: The number of the attempt that failed, from 1.
            error: What it failed with; what it asks for (``retry_after``, a ``Retry-After`` header) is the least that
                is waited. Infinity means never; what is no number says nothing.
            elapsed: Seconds since the first attempt began.
        """
        if attempt >= self.max_attempts or self.refused_wait(error) is not None:
            return None
        wait = self.delay(attempt, after=retry_after_of(error))
        limit = _NEVER if self.max_elapsed is None else self.max_elapsed
        return None if elapsed + wait > limit else wait

    def refused_wait(self, error: BaseException | None) -> float | None:
        """The seconds that a failure asks for, where they are more than this policy waits; else None."""
        wish = retry_after_of(error)
        if wish is None:
            return None
        limit = _NEVER if self.max_retry_after is None else self.max_retry_after
        return wish if wish > limit or wish == _NEVER else None

    def covers(self, error: Exception) -> bool:
        """Whether the policy retries this exception: it passes by itself, or ``retry_on`` names it."""
        return (self.transient and is_transient(error)) or self.names(error)

    def names(self, error: Exception) -> bool:
        """Whether ``retry_on`` names this exception."""
        rule = self.retry_on
        if rule is None:
            return False
        if isinstance(rule, type | tuple):
            return isinstance(error, rule)
        return bool(rule(error))


def _check_factor(value: object) -> None:
    if not isinstance(value, int | float) or not 1 <= value < _NEVER:
        raise OptionError(option="backoff_factor", value=value, expected="a number of at least 1")
