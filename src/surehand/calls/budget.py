"""How many retries a turn has left."""

from __future__ import annotations

import threading

__all__ = ["RetryBudget"]


class RetryBudget:
    """The retries that the calls of one turn may make together; safe to use from several threads.

    Args:
        limit: How many there are.
    """

    __slots__ = ("_left", "_lock")

    def __init__(self, limit: int) -> None:
        self._left = limit
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Take one retry; False where none is left."""
        with self._lock:
            if self._left <= 0:
                return False
            self._left -= 1
            return True
