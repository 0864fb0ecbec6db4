"""Which failures of a node are tried again, and when."""

from __future__ import annotations

import time
from typing import Final

from surehand.errors import ModelError, SurehandError, ToolException
from surehand.policy import RetryPolicy

__all__ = ["Retries"]

_MISTAKES: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    NotImplementedError,
    RecursionError,
    SyntaxError,
    TypeError,
    ValueError,
)
"""What points at a mistake in the program: it would only happen again."""


class Retries:
    """The attempts of one node in one step.

    A policy without ``retry_on`` covers every exception but those that point at a mistake in the program, and those
    of Surehand that say that trying again is no use.
    """

    def __init__(self, policy: RetryPolicy | None) -> None:
        self._policy = policy
        self._failed = 0
        self._begun = time.monotonic()

    def delay_after(self, error: Exception) -> float | None:
        """Seconds to wait before the next attempt; None when there is to be none."""
        policy = self._policy
        self._failed += 1
        if policy is None or self._failed >= policy.max_attempts or not _covers(policy, error):
            return None
        delay = policy.delay(self._failed, after=getattr(error, "retry_after", None))
        if policy.max_elapsed is not None and time.monotonic() - self._begun + delay > policy.max_elapsed:
            return None
        return delay


def _covers(policy: RetryPolicy, error: Exception) -> bool:
    if isinstance(error, ToolException) and error.retryable:
        return True
    if policy.retry_on is not None:
        return policy.covers(error)
    if isinstance(error, SurehandError):
        return isinstance(error, ModelError)
    return not isinstance(error, _MISTAKES)
