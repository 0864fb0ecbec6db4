"""The running of a body: its places, its time, what it is given, and its next try."""

from surehand.calls.attempts.attempt import attempt
from surehand.calls.attempts.bodies import CLEANUP_SECONDS

__all__ = [
    "CLEANUP_SECONDS",
    "attempt",
]
