"""How often and when a failed attempt is made again."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from surehand.errors import OptionError
from surehand.policy.checks import are_exceptions, count, flag, is_function, seconds

__all__ = ["RetryOn", "RetryPolicy"]

RetryOn: TypeAlias = type[Exception] | tuple[type[Exception], ...] | Callable[[Exception], bool]
"""Which exceptions a policy retries."""

_NEVER: Final = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and when a failed attempt is made again.

    A tool is retried when its author raises ``ToolException(retryable=True)``. Whatever else ``retry_on`` names is
    retried only on tools that are ``idempotent`` or ``read_only``: an attempt that failed may have had an effect.
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
    max_elapsed: float | None = None
    """No new attempt starts when this many seconds have passed since the first; None for no limit."""

    def __post_init__(self) -> None:
        count("max_attempts", self.max_attempts)
        for name in ("initial_interval", "max_interval"):
            seconds(name, getattr(self, name))
        if self.max_elapsed is not None:
            seconds("max_elapsed", self.max_elapsed)
        _check_factor(self.backoff_factor)
        flag("jitter", self.jitter)
        if self.retry_on is not None and not are_exceptions(self.retry_on) and not is_function(self.retry_on):
            raise OptionError(
                option="retry_on", value=self.retry_on, expected="exception types, a function of the exception or None"
            )

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
        """Seconds until the next attempt; None when attempts or time have run out.

        Args:
            attempt: The number of the attempt that failed, from 1.
            error: What it failed with; its ``retry_after``, in seconds, is the least that is waited. Infinity means
                never; what is no number says nothing.
            elapsed: Seconds since the first attempt began.
        """
        if attempt >= self.max_attempts:
            return None
        wait = self.delay(attempt, after=_asked_for(error))
        limit = _NEVER if self.max_elapsed is None else self.max_elapsed
        return None if wait == _NEVER or elapsed + wait > limit else wait

    def covers(self, error: Exception) -> bool:
        """Whether ``retry_on`` names this exception."""
        rule = self.retry_on
        if rule is None:
            return False
        if isinstance(rule, type | tuple):
            return isinstance(error, rule)
        return bool(rule(error))


def _asked_for(error: BaseException | None) -> float | None:
    """The seconds in an exception's ``retry_after``; None where it says nothing that can be meant."""
    try:
        after = getattr(error, "retry_after", None)
    except Exception:  # noqa: BLE001 - a property of a foreign exception may raise anything, and is only a wish
        return None
    return after if isinstance(after, int | float) and after > 0 else None


def _check_factor(value: object) -> None:
    if not isinstance(value, int | float) or not 1 <= value < _NEVER:
        raise OptionError(option="backoff_factor", value=value, expected="a number of at least 1")
