"""Which failures of a node are tried again, and when."""

from __future__ import annotations

from typing import Final

from surehand.concurrency import SYSTEM_CLOCK, Clock
from surehand.errors import ModelError, NodeError, SurehandError, ToolException
from surehand.policy import RetryPolicy, is_lasting

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
    """The attempts of one run of a node.

    An exception out of a turn of tool calls is only covered where another run would repeat no call that had an effect.
    A policy with ``retry_on`` covers what that names. One without covers every exception but those that point at a
    mistake in the program, those of Surehand that say that trying again is no use, and requests that were refused for
    what they are (HTTP 404, a certificate that is not accepted).

    Args:
        policy: None for a single attempt.
        clock: Time, for tests.
    """

    def __init__(self, policy: RetryPolicy | None, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._policy = policy
        self._clock = clock
        self._failed = 0
        self._begun = clock.now()

    def delay_after(self, error: Exception) -> float | None:
        """Seconds to wait before the next attempt; None when there is to be none."""
        self._failed += 1
        if self._policy is None or not _covers(self._policy, error):
            return None
        return self._policy.next_delay(self._failed, error, elapsed=self._clock.now() - self._begun)


def _covers(policy: RetryPolicy, error: Exception) -> bool:
    # A broken contract is broken again next time. `may_run_again` is what a turn of tool calls says on what it raises:
    # some of its calls may have had their effect, and would have it twice.
    if isinstance(error, NodeError) or getattr(error, "may_run_again", True) is False:
        return False
    if isinstance(error, ToolException) and error.retryable:  # its author says so
        return True
    if policy.retry_on is not None:
        return policy.names(error)
    if policy.transient and is_lasting(error):
        return False
    if isinstance(error, SurehandError):  # wrong input or a missing node is the same next time, but servers recover
        return isinstance(error, ModelError)
    return not isinstance(error, _MISTAKES)
