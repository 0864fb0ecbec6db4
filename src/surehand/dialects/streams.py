"""A reply in the making: what a stream has brought so far.

Adding chunks up (``a + b + c``) gives the same message, but copies with every chunk all that came before, so that its
cost grows with the square of the length. Here the parts of a text are kept in a list and joined when somebody asks.
"""

from __future__ import annotations

import json
import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any, Final

from surehand.dialects.wire import payload_of
from surehand.messages import (
    BROKE_OFF,
    AIMessage,
    AIMessageChunk,
    CallAssembler,
    Content,
    ToolCallChunk,
    is_broken,
    is_ended,
)

__all__ = ["FREE_TEXT_END", "FREE_TEXT_START", "Reply", "ReplyStream", "call_piece", "free_text"]

FREE_TEXT_START: Final = '{"input": "'
FREE_TEXT_END: Final = '"}'
"""What stands around the free-form text of a custom call, so that one that was cut off reads as no arguments."""


def free_text(text: str) -> str:
    """A piece of a custom call's text, as it stands between ``FREE_TEXT_START`` and ``FREE_TEXT_END``."""
    return json.dumps(text)[1:-1]


def call_piece(args: str | None, *, index: object, call_id: object = None, name: object = None) -> ToolCallChunk:
    """A piece of a call; an id or a name that is no text, and an index that is no number, count as not sent."""
    return {
        "id": call_id if isinstance(call_id, str) else None,
        "name": name if isinstance(name, str) else None,
        "args": args,
        "index": index if isinstance(index, int) else None,
        "type": "tool_call_chunk",
    }


class Reply:
    """Collects pieces and makes the message of them; linear in the length of the reply."""

    def __init__(self) -> None:
        self.metadata: dict[str, Any] = {}
        self._usage: dict[str, Any] | None = None
        self._texts: list[str] = []
        self._extras: dict[str, list[str | list[Any]]] = {}
        self._calls = CallAssembler()
        self._message: AIMessage | None = None

    @property
    def is_finished(self) -> bool:
        """Whether the provider said that the reply is complete."""
        return is_ended(self.metadata)

    def add(
        self,
        *,
        text: str = "",
        extras: Mapping[str, str | list[Any]] | None = None,
        pieces: Iterable[ToolCallChunk] = (),
        metadata: Mapping[str, Any] | None = None,
        usage: Mapping[str, Any] | None = None,
        whole_content: Content | None = None,
    ) -> AIMessageChunk | None:
        """Take in what one event brings; the same as a chunk, or None if it brings nothing.

        Args:
            text: What it adds to the text.
            extras: What it adds to ``additional_kwargs``; texts and lists grow.
            pieces: Of calls.
            metadata: What it says about the reply.
            usage: The tokens it tells.
            whole_content: The content so far, where the texts are not all of it.
        """
        pieces, extras, metadata = list(pieces), extras or {}, metadata or {}
        if not (text or extras or pieces or metadata or usage or whole_content):
            return None
        self._message = None
        self._texts.append(text)
        for key, value in extras.items():
            self._extras.setdefault(key, []).append(value)
        for piece in pieces:
            self._calls.feed(piece)
        self.metadata.update(metadata)
        if usage:
            # The parts come apart: Anthropic counts the input at the start of a stream and the output at its end.
            self._usage = _total({**(self._usage or {}), **usage})
        return AIMessageChunk(
            text,
            tool_call_chunks=pieces,
            usage_metadata=self._usage if usage else None,
            additional_kwargs=extras,
            response_metadata=metadata,
            whole_content=whole_content,
        )

    def message(self, content: Content | None = None, *, is_all: bool = False) -> AIMessage:
        """The reply so far; the same object until something is added, so that generated ids stay.

        Args:
            content: Its content, where the texts are not all of it.
            is_all: Whether nothing is missing though nobody said that the reply is complete, as in a history.
        """
        # A block that brings no piece, such as code that the provider ran, adds to the content alone.
        if self._message is None or content not in (None, self._message.content):
            is_told = is_all or self.is_finished or is_broken(self.metadata)
            self._message = AIMessage(
                "".join(self._texts) if content is None else content,
                tool_calls=self._calls.calls(is_finished=self.is_finished),
                usage_metadata=self._usage,
                additional_kwargs={key: _grown(parts) for key, parts in self._extras.items()},
                response_metadata=self.metadata if is_told else {**self.metadata, BROKE_OFF: True},
            )
        return self._message


class ReplyStream(ABC):
    """Puts the events of one streamed reply together.

    Feed every event; ``finish`` gives the whole reply, as often as it is asked. Before the provider has said that the
    reply is complete there is no ``finish_reason``, calls that are not complete are invalid, and the message says that
    it is cut off, so that no node runs anything of it. A stream that comes again after its end is read once.
    """

    def __init__(self) -> None:
        self._reply = Reply()
        self._marks: list[int] = []
        """What tells the events that came apart, in their order."""
        self._again: list[Mapping[str, Any]] = []
        """Events after the end that are those from the beginning."""
        self._ends_often = False
        """Whether events say that the reply is complete, and others go on with it."""

    @property
    def is_finished(self) -> bool:
        """Whether the provider has said that the reply is complete."""
        return self._reply.is_finished

    def feed(self, event: object) -> AIMessageChunk | None:
        """Take in one event, JSON or the SDK's object; what it adds to the reply, or None if that is nothing."""
        fields = self._fields_of(event)
        is_after = self.is_finished
        # Only all of them in their order: one event alone may be equal to another and mean something else.
        if is_after and not self._ends_often and _mark(fields) == self._marks[len(self._again)]:
            self._again.append(fields)
            if len(self._again) == len(self._marks):
                self._again = []
            return None
        events, self._again = [*self._again, fields], []
        self._marks += map(_mark, events)
        pieces = [piece for each in events if (piece := self._take(each)) is not None]
        says_more = any(piece.text or piece.tool_call_chunks for piece in pieces)
        self._ends_often = self._ends_often or (is_after and self.is_finished and says_more)
        return reduce(operator.add, pieces) if pieces else None

    def finish(self) -> AIMessage:
        """The reply as far as it came."""
        return self._reply.message(self._content())

    def _fields_of(self, event: object) -> Mapping[str, Any]:
        """An event as JSON."""
        return payload_of(event)

    def _content(self) -> Content | None:
        """The content so far; None where the texts are all of it."""
        return None

    def _unsaid(self) -> Content | None:
        """The content, where the texts that were told are not all of it."""
        content = self._content()
        return None if isinstance(content, str) else content

    @abstractmethod
    def _take(self, fields: Mapping[str, Any]) -> AIMessageChunk | None:
        """Take in one event that is none of those that came before; see ``feed``."""


def _mark(event: Mapping[str, Any]) -> int:
    """What two events have in common only if they are the same."""
    return hash(repr(event))


def _grown(parts: Iterable[str | list[Any]]) -> str | list[Any]:
    """The parts of a text, or of a list, as one."""
    texts = [part for part in parts if isinstance(part, str)]
    return "".join(texts) if texts else [item for part in parts if not isinstance(part, str) for item in part]


def _total(usage: dict[str, Any]) -> dict[str, Any]:
    if {"input_tokens", "output_tokens"} <= usage.keys():
        usage["total_tokens"] = usage["input_tokens"] + usage["output_tokens"]
    return usage
