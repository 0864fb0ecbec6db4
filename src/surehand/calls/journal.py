"""What is remembered of calls, so that a finished one is never run again.

A node that is run a second time over the same turn (a retry of the node, a resumed run) finds the calls of that turn
in its journal and answers them from there. The key names the call by its place in the conversation; the tool's name and
a digest of the arguments are checked, because providers repeat ids across turns.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Protocol

from surehand.outcomes import FailureKind, Outcome

__all__ = ["CallJournal", "CallKey", "MemoryJournal", "digest_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallKey:
    """Which call it is, whatever its id is worth."""

    thread_id: str
    message_id: str
    position: int
    call_id: str
    tool: str
    digest: str

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt, resume and process; another for any other call."""
        parts = (self.thread_id, self.message_id, str(self.position), self.call_id, self.tool, self.digest)
        return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:32]


def digest_of(arguments: Any) -> str:
    """A digest of a call's arguments; equal for equal JSON, whatever the order of keys."""
    text = json.dumps(arguments, sort_keys=True, default=repr, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class CallJournal(Protocol):
    """Where calls are recorded: before their effect, and after it."""

    async def recall(self, key: CallKey) -> Outcome | None:
        """The outcome of a call that has finished; None for one that has not begun."""
        ...

    async def begin(self, key: CallKey) -> None:
        """Record that the call's body is about to start."""
        ...

    async def finish(self, key: CallKey, outcome: Outcome) -> None:
        """Record how the call ended."""
        ...


class MemoryJournal:
    """A journal that lives as long as the process.

    A call that began and did not finish, because its node was cancelled or crashed, is recalled as
    ``unknown_outcome``: it may have happened.
    """

    def __init__(self) -> None:
        self._outcomes: dict[CallKey, Outcome | None] = {}

    async def recall(self, key: CallKey) -> Outcome | None:
        """The outcome of a finished call, ``unknown_outcome`` for one that only began, None for a new one."""
        if key not in self._outcomes:
            return None
        return self._outcomes[key] or unknown_outcome()

    async def begin(self, key: CallKey) -> None:
        """Record that the call's body is about to start."""
        self._outcomes[key] = None

    async def finish(self, key: CallKey, outcome: Outcome) -> None:
        """Record how the call ended."""
        self._outcomes[key] = outcome


def unknown_outcome() -> Outcome:
    """The outcome of a call that began and of which nothing more is known."""
    return Outcome(
        kind=FailureKind.UNKNOWN_OUTCOME,
        text="This call was interrupted while it ran. It may have happened, wholly or in part. "
        "Find out before you call it again.",
    )
