"""A reply in the making: what a stream has brought so far.

Adding chunks up (``a + b + c``) gives the same message, but copies with every chunk all that came before, so that its
cost grows with the square of the length. Here the parts of a text are kept in a list and joined when somebody asks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from surehand.messages import AIMessage, AIMessageChunk, CallAssembler, Content, ToolCallChunk, is_ended

__all__ = ["FREE_TEXT_END", "FREE_TEXT_START", "Reply", "call_piece", "free_text"]

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

    def message(self, content: Content | None = None) -> AIMessage:
        """The reply so far; the same object until something is added, so that generated ids stay."""
        # A block that brings no piece, such as code that the provider ran, adds to the content alone.
        if self._message is None or content not in (None, self._message.content):
            self._message = AIMessage(
                "".join(self._texts) if content is None else content,
                tool_calls=self._calls.calls(is_finished=self.is_finished),
                usage_metadata=self._usage,
                additional_kwargs={key: _grown(parts) for key, parts in self._extras.items()},
                response_metadata=self.metadata,
            )
        return self._message


def _grown(parts: Iterable[str | list[Any]]) -> str | list[Any]:
    """The parts of a text, or of a list, as one."""
    texts = [part for part in parts if isinstance(part, str)]
    return "".join(texts) if texts else [item for part in parts if not isinstance(part, str) for item in part]


def _total(usage: dict[str, Any]) -> dict[str, Any]:
    if {"input_tokens", "output_tokens"} <= usage.keys():
        usage["total_tokens"] = usage["input_tokens"] + usage["output_tokens"]
    return usage
