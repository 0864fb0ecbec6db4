"""What is remembered of calls, so that a finished one is never run again.

A node that is run a second time over the same turn (a retry of the node, a resumed run) finds the calls of that turn
in its journal and answers them from there. The key names the call by its place in the conversation; the tool's name and
a digest of the arguments are checked, because providers repeat ids across turns.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from surehand.messages import AIMessage, Message, ToolCall, ToolMessage, close_call
from surehand.outcomes import FailureKind

__all__ = ["CallJournal", "CallKey", "MemoryJournal", "digest_of", "mark_of"]


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
        return json.dumps(arguments, sort_keys=True, default=repr, ensure_ascii=True)
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


class CallJournal(Protocol):
    """Where calls are recorded: before their effect, and after it."""

    async def recall(self, key: CallKey) -> ToolMessage | None:
        """The answer to a call that has begun; None for one that has not.

        A call that began and did not finish is answered as ``unknown_outcome``: it may have happened.
        """
        ...

    async def begin(self, key: CallKey) -> None:
        """Record that the call's body is about to start."""
        ...

    async def finish(self, key: CallKey, answer: ToolMessage) -> None:
        """Record the call's answer."""
        ...


class MemoryJournal:
    """A journal that lives as long as its object; it remembers every call that it was told of."""

    def __init__(self) -> None:
        self._answers: dict[CallKey, ToolMessage | None] = {}

    async def recall(self, key: CallKey) -> ToolMessage | None:
        """The answer to a call that has begun; ``unknown_outcome`` for one that did not finish."""
        if key not in self._answers:
            return None
        return self._answers[key] or _in_doubt(key)

    async def begin(self, key: CallKey) -> None:
        """Record that the call's body is about to start."""
        self._answers[key] = None

    async def finish(self, key: CallKey, answer: ToolMessage) -> None:
        """Record the call's answer."""
        self._answers[key] = answer


def _in_doubt(key: CallKey) -> ToolMessage:
    named: ToolCall = {"id": key.call_id, "name": key.tool, "args": None, "type": "tool_call"}
    text = (
        "This call was interrupted while it ran. It may have happened, wholly or in part. "
        "Find out before you call it again."
    )
    return close_call(named, kind=FailureKind.UNKNOWN_OUTCOME, text=text)
