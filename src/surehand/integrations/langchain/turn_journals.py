"""What this process remembers of turns that are not over, so that no finished call is run again.

LangGraph runs a node anew from its first line when one of its tools has asked or failed. What the others came to is
nowhere in the graph yet: a node's updates are kept when it returns. Until then they are remembered here, beside the
checkpointer that keeps the thread, for every node that works on it: a server may build its graph anew for each request.
Another process is told of them by what the node leaves with the thread when it asks or fails.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any, ClassVar, Final
from weakref import WeakKeyDictionary

from surehand.calls import CallKey, Recalled
from surehand.calls.journal import now, state_of
from surehand.control import Command
from surehand.messages import ToolMessage

__all__ = ["TurnJournal", "journal_beside"]

_MOST_TURNS: Final = 10_000
"""How many turns are remembered that began and did not end; the one that was touched longest ago goes first."""
_MOST_OVER: Final = 256
"""How many turns are remembered that are over: a retry of what came after them begins at once or never."""


class TurnJournal:
    """Calls by the turn they belong to; a turn is forgotten when it is over."""

    never_waits: ClassVar = True

    def __init__(self) -> None:
        self._turns: OrderedDict[tuple[str, str], dict[CallKey, Recalled]] = OrderedDict()
        self._over: OrderedDict[tuple[str, str], set[CallKey]] = OrderedDict()
        """Calls of nodes that returned, and may be run once more by a retry that what follows them asked for."""
        self._lock = Lock()

    async def recall(self, key: CallKey) -> Recalled | None:
        """What is known of the call; None where it has not begun."""
        with self._lock:
            return self._turns.get(_turn_of(key), {}).get(key)

    async def begin(self, key: CallKey, after: int | None) -> bool:
        """Record that the call's body is about to start; False where the newest entry is not ``after``."""
        with self._lock:
            known = self._turns.get(_turn_of(key), {}).get(key)
            if (None if known is None else known.version) != after:
                return False
            self._put(key, Recalled(state="running", version=(after or 0) + 1, begun_at=now()))
            return True

    async def finish(
        self, key: CallKey, answer: ToolMessage, command: Command | None = None, *, was_raised: bool = False
    ) -> None:
        """Record what the call came to; what went up as an exception is to be run again."""
        if was_raised:
            self.forget(key)
        else:
            self._go_on(key, state=state_of(answer), answer=answer, command=command)

    async def wait(self, key: CallKey, asked: Sequence[str] = ()) -> None:
        """Record that the call has asked, and did nothing yet."""
        self._go_on(key, state="waiting", asked=tuple(asked))

    def forget(self, key: CallKey) -> None:
        """Have the call be run again."""
        with self._lock:
            self._drop(key)

    def end(self, keys: Collection[CallKey]) -> None:
        """Say that the node has returned what these calls came to."""
        with self._lock:
            for key in keys:
                turn = _turn_of(key)
                if key in self._turns.get(turn, {}):
                    self._over.setdefault(turn, set()).add(key)
                    self._over.move_to_end(turn)
            while len(self._over) > _MOST_OVER:
                self._drop(*self._over.popitem(last=False)[1])

    def open(self, thread_id: str, message_id: str, *, is_retry: bool) -> None:
        """Say that a node takes up a turn: what was over before is to be run again, unless the node is retried."""
        with self._lock:
            over = self._over.pop((thread_id, message_id), ())
            if not is_retry:
                self._drop(*over)

    def finished(self, thread_id: str, message_id: str) -> dict[CallKey, Recalled]:
        """What the calls of a turn came to that have ended."""
        with self._lock:
            known = self._turns.get((thread_id, message_id), {})
            return {key: entry for key, entry in known.items() if entry.answer is not None}

    def learn(self, finished: Mapping[CallKey, Recalled]) -> None:
        """Take over what calls came to that ended elsewhere; what is known here of their end stays."""
        with self._lock:
            for key, entry in finished.items():
                known = self._turns.get(_turn_of(key), {}).get(key)
                if known is None or known.answer is None:
                    self._put(key, replace(entry, version=1 if known is None else known.version + 1))

    def _go_on(self, key: CallKey, **changes: Any) -> None:
        with self._lock:
            known = self._turns.get(_turn_of(key), {}).get(key)
            if known is not None:
                self._put(key, replace(known, version=known.version + 1, **changes))

    def _put(self, key: CallKey, entry: Recalled) -> None:
        turn = _turn_of(key)
        self._turns.setdefault(turn, {})[key] = entry
        self._turns.move_to_end(turn)
        while len(self._turns) > _MOST_TURNS:
            dropped, _ = self._turns.popitem(last=False)
            self._over.pop(dropped, None)

    def _drop(self, *keys: CallKey) -> None:
        for key in keys:
            calls = self._turns.get(_turn_of(key), {})
            calls.pop(key, None)
            if not calls:
                self._turns.pop(_turn_of(key), None)


def _turn_of(key: CallKey) -> tuple[str, str]:
    return key.thread_id, key.message_id


_journals: WeakKeyDictionary[Any, TurnJournal] = WeakKeyDictionary()
_lock = Lock()


def journal_beside(checkpointer: Any, own: TurnJournal) -> TurnJournal:
    """The journal of all threads that a checkpointer keeps.

    Args:
        checkpointer: LangGraph's; None where nothing is kept.
        own: The node's own journal, where there is no checkpointer, or none that anything can be kept beside.
    """
    if checkpointer is None or isinstance(checkpointer, bool):
        return own
    try:
        with _lock:
            return _journals.setdefault(checkpointer, TurnJournal())
    except TypeError:  # its class has slots, or says that its objects are equal
        return own
