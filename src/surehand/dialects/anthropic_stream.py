"""Anthropic's Messages as a stream: blocks that begin, grow by deltas and end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from surehand.dialects.streams import Reply
from surehand.messages import AIMessage, AIMessageChunk, Content, ToolCallChunk
from surehand.shapes import mapping_of

__all__ = ["MessageStream", "about_reply", "simple", "usage_of"]

_ABOUT_REPLY: Final = ("id", "model", "stop_reason", "stop_sequence", "container", "stop_details")


def about_reply(reply: Mapping[str, Any]) -> dict[str, Any]:
    """What a reply says about itself."""
    return {key: reply[key] for key in _ABOUT_REPLY if reply.get(key) is not None}


def simple(blocks: list[dict[str, Any]]) -> Content:
    """One plain text as a text, anything else as blocks."""
    if not blocks:
        return ""
    if len(blocks) == 1 and blocks[0].get("type") == "text" and not blocks[0].get("citations"):
        text: object = blocks[0].get("text")
        return text if isinstance(text, str) else ""
    return cast("Content", blocks)


def usage_of(usage: object) -> dict[str, Any] | None:
    """The tokens in the spelling of ``usage_metadata``, cached input included; only what the provider sent."""
    fields = mapping_of(usage)
    if not fields:
        return None
    read: dict[str, Any] = {}
    sent = [fields.get(key) for key in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")]
    if isinstance(sent[0], int):
        read["input_tokens"] = sum(count for count in sent if isinstance(count, int))
    if isinstance(fields.get("output_tokens"), int):
        read["output_tokens"] = fields["output_tokens"]
    if len(read) == 2:  # noqa: PLR2004 - both are known
        read["total_tokens"] = sum(read.values())
    return read


class MessageStream:
    """Puts the events of a streamed message together.

    Feed every event; ``finish`` gives the whole message, as often as it is asked. A message that broke off has no
    ``finish_reason``, and those of its calls that are not complete are invalid.
    """

    def __init__(self) -> None:
        self._reply = Reply()
        self._blocks: dict[int, _Block] = {}
        self._first = 0
        self._is_stopped = False

    def feed(self, event: Mapping[str, Any]) -> AIMessageChunk | None:
        """Take in one event; what it adds to the message, or None if that is nothing."""
        kind = event.get("type")
        if kind == "message_start":
            is_restart = self._begin()
            chunk = self._about(mapping_of(event.get("message")))
            return (chunk or AIMessageChunk()).replace(is_restart=True) if is_restart else chunk
        if kind == "message_delta":
            return self._about({**mapping_of(event.get("delta")), "usage": event.get("usage")})
        if kind == "error":  # inside a stream that began with HTTP 200: it ends here, without a stop reason
            return self._reply.add(metadata={"error": event.get("error")}, whole_content=self._unsaid())
        if kind == "message_stop":
            self._is_stopped = True
            return self._reply.add(whole_content=self._unsaid())
        index: object = event.get("index")
        return self._feed_block(index + self._first, kind, event) if isinstance(index, int) else None

    def finish(self) -> AIMessage:
        """The message as far as it came."""
        return self._reply.message(self._content())

    def _content(self) -> Content:
        return simple([block.whole() for _, block in sorted(self._blocks.items())])

    def _unsaid(self) -> Content | None:
        """The content, where the texts that were told are not all of it."""
        content = self._content()
        return None if isinstance(content, str) else content

    def _begin(self) -> bool:
        """Take in a start; whether it voids what came before.

        A start after a stop goes on: where the provider runs tools itself, one stream can hold several messages. A
        start without a stop is a retry spliced into the stream.
        """
        is_restart = not self._is_stopped and bool(self._blocks)
        if self._is_stopped:
            self._first = len(self._blocks)
        else:
            self._reply, self._blocks = Reply(), {}
        self._is_stopped = False
        return is_restart

    def _feed_block(self, index: int, kind: object, event: Mapping[str, Any]) -> AIMessageChunk | None:
        if kind == "content_block_start":
            return self._start(index, mapping_of(event.get("content_block")))
        if kind == "content_block_delta" and index in self._blocks:
            return self._extend(index, mapping_of(event.get("delta")))
        return None

    def _about(self, fields: Mapping[str, Any]) -> AIMessageChunk | None:
        return self._reply.add(metadata=about_reply(fields), usage=usage_of(fields.get("usage")))

    def _start(self, index: int, fields: Mapping[str, Any]) -> AIMessageChunk | None:
        block = self._blocks[index] = _Block(fields)
        if block.kind == "tool_use":
            given: object = fields.get("input")
            return self._reply.add(pieces=[_piece(index, fields, json.dumps(given, default=str) if given else "")])
        text: object = fields.get("text")
        return self._reply.add(text=text) if block.kind == "text" and isinstance(text, str) else None

    def _extend(self, index: int, delta: Mapping[str, Any]) -> AIMessageChunk | None:
        block = self._blocks[index]
        field, value = block.extend(delta)
        if not isinstance(value, str) or not value:
            return None
        if field == "input" and block.kind == "tool_use":
            return self._reply.add(pieces=[_piece(index, {}, value)])
        if field == "text":
            return self._reply.add(text=value)
        return self._reply.add(extras={"thinking": value}) if field == "thinking" else None


_DELTAS: Final = {
    "text_delta": ("text", "text"),
    "input_json_delta": ("partial_json", "input"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "citations_delta": ("citation", "citations"),
}
"""Kind of delta -> its key, and the field of the block that it extends."""


class _Block:
    """A content block in the making."""

    def __init__(self, start: Mapping[str, Any]) -> None:
        self._start = start
        self._parts: dict[str, list[Any]] = {}

    @property
    def kind(self) -> object:
        return self._start.get("type")

    def extend(self, delta: Mapping[str, Any]) -> tuple[str, object]:
        """Add the delta; the field that it extends, and by what. A kind that nobody knows adds nothing."""
        key, field = _DELTAS.get(cast("str", delta.get("type")), ("", ""))
        value: object = delta.get(key)
        if value is not None:
            self._parts.setdefault(field, []).append(value)
        return field, value

    def whole(self) -> dict[str, Any]:
        block = dict(self._start)
        for field, parts in self._parts.items():
            if field == "citations":
                block[field] = [*(block.get(field) or ()), *parts]
            elif field == "input":
                block[field] = _input("".join(parts), block.get(field))
            else:
                block[field] = (block.get(field) or "") + "".join(parts)
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
    call_id, name = block.get("id"), block.get("name")
    return {
        "id": call_id if isinstance(call_id, str) else None,
        "name": name if isinstance(name, str) else None,
        "args": args,
        "index": index,
        "type": "tool_call_chunk",
    }
