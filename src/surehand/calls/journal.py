"""What is remembered of calls, so that a finished one is never run again.

A node that is run a second time over the same turn (a retry of the node, a resumed run) finds the calls of that turn
in its journal and answers them from there. The key names the call by its place in the conversation; the tool's name and
a digest of the arguments are checked, because providers repeat ids across turns.

An entry has a version, and whoever writes the next one names the version that it takes the place of. So of two runs
that want to begin a call at the same time, on threads or in processes, one does.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, ClassVar, Final, Protocol

from surehand.checkpoints import CallState
from surehand.control import Command
from surehand.messages import AIMessage, Message, ToolMessage

__all__ = ["CallJournal", "CallKey", "MemoryJournal", "Recalled", "digest_of", "mark_of", "now", "state_of"]


_ENCODER: Final = json.JSONEncoder(sort_keys=True, default=repr)
"""Made once: ``json.dumps`` makes one for each text, in a third of the time that a digest takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallKey:
    """Which call it is, whatever its id is worth."""

    thread_id: str
    message_id: str
    """The AI message's; where it has none, what tells the conversation up to it from others."""
    position: int
    call_id: str
    tool: str
    digest: str
    """Of the arguments as the model sent them, whatever a middleware makes of them."""
    number: int = 0
    """Where a middleware ran the call with several arguments, which of them it is, from 0."""

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt, resume and process; another for any other call."""
        parts = [self.thread_id, self.message_id, str(self.position), self.call_id, self.tool, self.digest]
        parts += [str(self.number)] if self.number else []
        return hashlib.sha256("\x1f".join(parts).encode(errors="surrogatepass")).hexdigest()[:32]


def digest_of(arguments: Any) -> str:
    """A digest of a call's arguments; equal for equal JSON, whatever the order of keys; never raises."""
    return hashlib.sha256(_text_of(arguments).encode(errors="surrogatepass")).hexdigest()[:32]


def _text_of(arguments: Any) -> str:
    try:
        return _ENCODER.encode(arguments)
    except Exception:  # noqa: BLE001 - a program may have built a message with arguments that are no JSON at all
        return _without_json(arguments)


def _without_json(arguments: Any) -> str:
    try:
        return repr(arguments)
    except Exception:  # noqa: BLE001 - as above
        return type(arguments).__name__


def mark_of(messages: Sequence[Message]) -> str:
    """A digest of a conversation: of what was said, called and answered, whatever the ids are."""
    return digest_of([[message.type, message.content, _calls_in(message)] for message in messages])


def _calls_in(message: Message) -> list[Any]:
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return [[call["name"], digest_of(call["args"])] for call in calls]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """What a journal knows of a call."""

    state: CallState
    version: int
    """Of the entry: 1 for the first one, and one more for each that takes its place."""
    begun_at: float = 0.0
    """When its body was last about to start, in seconds since the epoch; 0 where that is not known."""
    answer: ToolMessage | None = None
    """What it came to; None while it has not ended."""
    command: Command | None = None
    """What it asked of the graph, besides its answer."""
    was_raised: bool = False
    """Whether its failure went up as an exception, so that no model was told of it."""
    asked: tuple[str, ...] = ()
    """The ids of the questions that it waits for."""


class CallJournal(Protocol):
    """Where calls are recorded: before their effect, and after it.

    It may be used from several threads and loops at a time. With an attribute ``never_waits`` that is true, it says
    that its methods wait for nothing where no event loop runs, so that a lone synchronous call needs none.
    """

    async def recall(self, key: CallKey) -> Recalled | None:
        """What is known of the call; None where it has not begun."""
        ...

    async def begin(self, key: CallKey, after: int | None) -> bool:
        """Record that the call's body is about to start, if the newest entry is still the one that was looked at.

        Args:
            key: The call.
            after: The version of that entry; None where there was none.

        Returns:
            Whether it was so. Where not, nothing is recorded: somebody else has begun the call, or ended it.
        """
        ...

    async def finish(
        self, key: CallKey, answer: ToolMessage, command: Command | None = None, *, was_raised: bool = False
    ) -> None:
        """Record what a call came to that was begun here; an entry that took the place of that one stays.

        Args:
            key: The call.
            answer: What it was answered.
            command: What it asked of the graph.
            was_raised: Whether its failure went up as an exception.
        """
        ...

    async def wait(self, key: CallKey, asked: Sequence[str] = ()) -> None:
        """Record that a call that was begun here has asked, and did nothing yet.

        Args:
            key: The call.
            asked: The ids of its questions. As long as none of them is answered, it need not be begun again.
        """
        ...


class MemoryJournal:
    """A journal that lives as long as its object; it remembers every call that it was told of."""

    never_waits: ClassVar = True

    def __init__(self) -> None:
        self._entries: dict[CallKey, Recalled] = {}
        self._lock = Lock()

    async def recall(self, key: CallKey) -> Recalled | None:
        """What is known of the call; None where it has not begun."""
        return self._entries.get(key)

    async def begin(self, key: CallKey, after: int | None) -> bool:
        """Record that the call's body is about to start; False where the newest entry is not ``after``."""
        with self._lock:
            known = self._entries.get(key)
            if (None if known is None else known.version) != after:
                return False
            self._entries[key] = Recalled(state="running", version=(after or 0) + 1, begun_at=now())
            return True

    async def finish(
        self, key: CallKey, answer: ToolMessage, command: Command | None = None, *, was_raised: bool = False
    ) -> None:
        """Record what the call came to."""
        self._go_on(key, state=state_of(answer), answer=answer, command=command, was_raised=was_raised)

    async def wait(self, key: CallKey, asked: Sequence[str] = ()) -> None:
        """Record that the call has asked, and did nothing yet."""
        self._go_on(key, state="waiting", asked=tuple(asked))

    def _go_on(self, key: CallKey, **changes: Any) -> None:
        with self._lock:
            known = self._entries[key]
            self._entries[key] = replace(known, version=known.version + 1, **changes)


def state_of(answer: ToolMessage) -> CallState:
    """How a call stands that was answered so."""
    return "done" if answer.status == "success" else "failed"


def now() -> float:
    """A time of day, in seconds since the epoch, for whoever has to find out what happened then."""
    return time.time()  # noqa: TID251 - it is told to people and to other systems
