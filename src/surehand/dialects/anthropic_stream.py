"""Anthropic's Messages as a stream: blocks that begin, grow by deltas and end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from surehand.dialects.blocks import simple
from surehand.dialects.streams import Reply, ReplyStream, call_piece
from surehand.dialects.wire import tokens
from surehand.messages import AIMessageChunk, Content, ToolCallChunk
from surehand.shapes import mapping_of

__all__ = ["MessageStream", "about_reply", "usage_of"]

_ABOUT_REPLY: Final = ("id", "model", "stop_reason", "stop_sequence", "container", "stop_details")


def about_reply(reply: Mapping[str, Any]) -> dict[str, Any]:
    """What a reply says about itself."""
    return {key: reply[key] for key in _ABOUT_REPLY if reply.get(key) is not None}


def usage_of(usage: object) -> dict[str, Any] | None:
    """The tokens in the spelling of ``usage_metadata``, cached input included; only what the provider sent."""
    fields = mapping_of(usage)
    sent = [fields.get(key) for key in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")]
    total = sum(count for count in sent if isinstance(count, int)) if isinstance(sent[0], int) else None
    return tokens(total, fields.get("output_tokens"))


class MessageStream(ReplyStream):
    """Puts the events of a streamed message together; see ``ReplyStream``."""

    def __init__(self) -> None:
        super().__init__()
        self._blocks: list[_Block] = []
        self._open: dict[object, int] = {}
        """Number that the server gave to a block -> its place."""
        self._is_stopped = False

    def _take(self, fields: Mapping[str, Any]) -> AIMessageChunk | None:
        kind = fields.get("type")
        if kind == "message_start":
            is_restart = self._begin()
            # Where it goes on after a stop, the reason for that was not the reply's.
            reopened = {"stop_reason": ""} if self.is_finished else {}
            chunk = self._about({**mapping_of(fields.get("message")), **reopened})
            return (chunk or AIMessageChunk()).replace(is_restart=True) if is_restart else chunk
        if kind == "message_delta":
            return self._about({**mapping_of(fields.get("delta")), "usage": fields.get("usage")})
        if kind == "error":  # inside a stream that began with HTTP 200: it ends here, without a stop reason
            return self._reply.add(metadata={"error": fields.get("error")}, whole_content=self._unsaid())
        if kind == "message_stop":
            self._is_stopped = True
            # Some servers say that it is over, and not why.
            metadata = {} if self._reply.metadata.get("stop_reason") else {"stop_reason": "end_turn"}
            return self._reply.add(metadata=metadata, whole_content=self._unsaid())
        return self._feed_block(kind, fields)

    def _content(self) -> Content:
        return simple([block.whole() for block in self._blocks])

    def _begin(self) -> bool:
        """Take in a start; whether it voids what came before.

        A start after a stop goes on: where the provider runs tools itself, one stream can hold several messages. A
        start without a stop is a retry spliced into the stream.
        """
        is_restart = not self._is_stopped and bool(self._blocks)
        if not self._is_stopped:
            self._reply, self._blocks = Reply(), []
        self._open, self._is_stopped = {}, False
        return is_restart

    def _feed_block(self, kind: object, event: Mapping[str, Any]) -> AIMessageChunk | None:
        number: object = event.get("index")
        if kind == "content_block_start":
            return self._start(number, mapping_of(event.get("content_block")))
        if kind != "content_block_delta":
            return None
        delta = mapping_of(event.get("delta"))
        if number not in self._open and (block := _UNSTARTED.get(delta.get("type"))):
            self._start(number, block)
        return self._extend(self._open[number], delta) if number in self._open else None

    def _about(self, fields: Mapping[str, Any]) -> AIMessageChunk | None:
        return self._reply.add(metadata=about_reply(fields), usage=usage_of(fields.get("usage")))

    def _start(self, number: object, fields: Mapping[str, Any]) -> AIMessageChunk | None:
        # Always a new one: there are servers that give every block the same number.
        block, place = _Block(fields), len(self._blocks)
        self._blocks.append(block)
        self._open[number] = place
        if block.kind == "tool_use":
            given: object = fields.get("input")
            return self._reply.add(pieces=[_piece(place, fields, json.dumps(given, default=str) if given else "")])
        text: object = fields.get("text")
        return self._reply.add(text=text) if block.kind == "text" and isinstance(text, str) else None

    def _extend(self, place: int, delta: Mapping[str, Any]) -> AIMessageChunk | None:
        block = self._blocks[place]
        told = {field: value for field, value in block.extend(delta) if isinstance(value, str) and value}
        if "input" in told and block.kind == "tool_use":
            return self._reply.add(pieces=[_piece(place, {}, told["input"])])
        thoughts = {"thinking": told["thinking"]} if "thinking" in told else None
        return self._reply.add(text=told.get("text", ""), extras=thoughts)


_DELTAS: Final[Mapping[object, Mapping[str, str]]] = {
    "text_delta": {"text": "text"},
    "input_json_delta": {"partial_json": "input"},
    "thinking_delta": {"thinking": "thinking"},
    "signature_delta": {"signature": "signature"},
    "citations_delta": {"citation": "citations"},
    "compaction_delta": {"content": "content", "encrypted_content": "encrypted_content"},
}
"""Kind of delta -> its keys, each with the field of the block that it extends."""
_UNSTARTED: Final[Mapping[object, Mapping[str, str]]] = {
    "text_delta": {"type": "text", "text": ""},
    "thinking_delta": {"type": "thinking", "thinking": ""},
}
"""Kind of delta -> the block that it is of, where a server leaves out its start."""


class _Block:
    """A content block in the making."""

    def __init__(self, start: Mapping[str, Any]) -> None:
        self._start = start
        self._parts: dict[str, list[Any]] = {}

    @property
    def kind(self) -> object:
        return self._start.get("type")

    def extend(self, delta: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """Add the delta; each field that it extends, and by what. One that nobody knows extends fields of its names."""
        kind = delta.get("type")
        names = (
            _DELTAS[kind] if kind in _DELTAS else {key: key for key in delta if key in self._start and key != "type"}
        )
        told = [(field, delta.get(key)) for key, field in names.items()]
        told = [(field, value) for field, value in told if isinstance(value, str) or (field == "citations" and value)]
        for field, value in told:
            self._parts.setdefault(field, []).append(value)
        return told

    def whole(self) -> dict[str, Any]:
        block = dict(self._start)
        for field, parts in self._parts.items():
            if field == "citations":
                block[field] = [*(block.get(field) or ()), *parts]
            elif field == "input":
                block[field] = _input("".join(parts), block.get(field))
            else:
                start = block.get(field)
                block[field] = (start if isinstance(start, str) else "") + "".join(parts)
        return block


def _input(text: str, start: object) -> object:
    """A block's input for the record; what is to be run is read by the message's own rules."""
    if not text.strip():
        return start or {}
    try:
        return json.loads(text)
    except ValueError:
        return text


def _piece(index: int, block: Mapping[str, Any], args: str) -> ToolCallChunk:
    return call_piece(args, index=index, call_id=block.get("id"), name=block.get("name"))
