"""A streamed reply of Bedrock's Converse, put together."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from surehand.dialects.bedrock_blocks import is_server_side
from surehand.dialects.blocks import simple
from surehand.dialects.streams import Reply, ReplyStream, call_piece
from surehand.dialects.wire import tokens
from surehand.messages import AIMessageChunk, Content, ToolCallChunk
from surehand.shapes import items_of, mapping_of

__all__ = ["ConverseStream", "usage_of"]

_EVENTS: Final = frozenset(
    {"messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata"}
)
_ABOUT_STREAM: Final = ("stopReason", "additionalModelResponseFields", "trace", "performanceConfig", "serviceTier")


def usage_of(usage: object) -> dict[str, Any] | None:
    """The tokens in the spelling of ``usage_metadata``, cached input included; only what the provider sent."""
    fields = mapping_of(usage)
    sent = [fields.get(key) for key in ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")]
    total = sum(count for count in sent if isinstance(count, int)) if isinstance(sent[0], int) else None
    return tokens(total, fields.get("outputTokens"))


class ConverseStream(ReplyStream):
    """Puts the events of a streamed reply together; see ``ReplyStream``.

    Feed every event, as boto3 gives it (``{"contentBlockDelta": {…}}``) or as it is on the wire, where the header names
    it (``{"event": "contentBlockDelta", "data": {…}}``, or the data alone).
    """

    def __init__(self) -> None:
        super().__init__()
        self._blocks: dict[int, _Block] = {}

    def _take(self, fields: Mapping[str, Any]) -> AIMessageChunk | None:
        name, fields = _named(fields)
        if name.endswith("Exception"):
            # Inside a stream that began with HTTP 200: it ends here, without a stop reason.
            return self._reply.add(metadata={"error": {"type": name, **fields}}, whole_content=self._unsaid())
        index: object = fields.get("contentBlockIndex")
        if not isinstance(index, int):
            return self._begin() if "role" in fields else self._about(fields)
        if "delta" in fields:
            return self._extend(index, mapping_of(fields["delta"]))
        return self._start(index, mapping_of(fields["start"])) if "start" in fields else None

    def _content(self) -> Content:
        return simple([whole for _, block in sorted(self._blocks.items()) for whole in block.wholes()])

    def _begin(self) -> AIMessageChunk | None:
        """A start after which nothing stopped is a retry spliced into the stream: it voids what came before."""
        if not self._blocks or self._reply.is_finished:
            return None
        self._reply, self._blocks = Reply(), {}
        return AIMessageChunk(is_restart=True)

    def _about(self, fields: Mapping[str, Any]) -> AIMessageChunk | None:
        """Take in an end, or what is told about the reply after it."""
        metadata = {key: fields[key] for key in _ABOUT_STREAM if fields.get(key) is not None}
        whole = self._unsaid() if "stopReason" in fields else None
        return self._reply.add(metadata=metadata, usage=usage_of(fields.get("usage")), whole_content=whole)

    def _start(self, index: int, start: Mapping[str, Any]) -> AIMessageChunk | None:
        self._blocks[index] = _Block(start)
        call = mapping_of(start.get("toolUse"))
        if not call or is_server_side(start):
            return None
        return self._reply.add(pieces=[_piece(index, call, "")])

    def _extend(self, index: int, delta: Mapping[str, Any]) -> AIMessageChunk | None:
        block = self._blocks.setdefault(index, _Block({}))  # texts begin without a start
        block.extend(delta)
        text, args = delta.get("text"), mapping_of(delta.get("toolUse")).get("input")
        thought = mapping_of(delta.get("reasoningContent")).get("text")
        if isinstance(args, str) and args and block.is_call:
            return self._reply.add(pieces=[_piece(index, {}, args)])
        if isinstance(text, str):
            return self._reply.add(text=text)
        return self._reply.add(extras={"thinking": thought}) if isinstance(thought, str) and thought else None


def _named(event: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """An event's name, where it has one, and its fields."""
    if "data" in event:
        return str(event.get("event", "")), mapping_of(event["data"])
    # boto3 gives every event as the one that is set in an object of all of them.
    name = next((key for key in event if key in _EVENTS or key.endswith("Exception")), "")
    return name, mapping_of(event[name]) if name else event


def _piece(index: int, call: Mapping[str, Any], args: str) -> ToolCallChunk:
    return call_piece(args, index=index, call_id=call.get("toolUseId"), name=call.get("name"))


class _Block:
    """A content block in the making."""

    def __init__(self, start: Mapping[str, Any]) -> None:
        self._start = start
        self._texts: dict[str, list[str]] = {}
        """Kind -> its pieces of text."""
        self._items: dict[str, list[Any]] = {}
        """Kind -> what came whole."""

    @property
    def is_call(self) -> bool:
        """Whether it is a call of ours."""
        return "toolUse" in self._start and not is_server_side(self._start)

    def extend(self, delta: Mapping[str, Any]) -> None:
        """Add the delta; a kind that nobody knows adds nothing."""
        reasoning, image = mapping_of(delta.get("reasoningContent")), mapping_of(delta.get("image"))
        texts = {
            "text": delta.get("text"),
            "input": mapping_of(delta.get("toolUse")).get("input"),
            "thought": reasoning.get("text"),
            "signature": reasoning.get("signature"),
        }
        for kind, text in texts.items():
            if isinstance(text, str):
                self._texts.setdefault(kind, []).append(text)
        items = {
            "results": items_of(delta.get("toolResult")),
            "redacted": [reasoning["redactedContent"]] if "redactedContent" in reasoning else [],
            "citations": [delta["citation"]] if "citation" in delta else [],
            "image": [image] if image else [],
        }
        for kind, added in items.items():
            self._items.setdefault(kind, []).extend(added)

    def wholes(self) -> list[dict[str, Any]]:
        """The block, as a whole reply has it; none where nothing came of it."""
        call, result = mapping_of(self._start.get("toolUse")), mapping_of(self._start.get("toolResult"))
        if self.is_call:
            given = {"id": call.get("toolUseId"), "name": call.get("name"), "input": _input(self._text("input"))}
            return [{"type": "tool_use", **given}]
        if call:
            return [{"toolUse": {**call, "input": _input(self._text("input"))}}]
        if result:
            return [{"toolResult": {**result, "content": self._items.get("results", [])}}]
        if "image" in self._start or self._items.get("image"):
            image = dict(mapping_of(self._start.get("image")))
            for part in self._items.get("image", []):
                image.update(part)
            return [{"image": image}]
        return self._reasoning() or self._said()

    def _reasoning(self) -> list[dict[str, Any]]:
        redacted = self._items.get("redacted")
        if redacted:
            return [{"reasoningContent": {"redactedContent": _joined(redacted)}}]
        if "thought" not in self._texts and "signature" not in self._texts:
            return []
        text = {"text": self._text("thought")}
        if "signature" in self._texts:
            text["signature"] = self._text("signature")
        return [{"reasoningContent": {"reasoningText": text}}]

    def _said(self) -> list[dict[str, Any]]:
        text, citations = self._text("text"), self._items.get("citations")
        if not text:
            return []
        return [{"type": "text", "text": text, **({"citations": citations} if citations else {})}]

    def _text(self, kind: str) -> str:
        return "".join(self._texts.get(kind, []))


def _input(text: str) -> object:
    """A block's input for the record; what is to be run is read by the message's own rules."""
    if not text.strip():
        return {}
    try:
        return json.loads(text)
    except ValueError:
        return text


def _joined(parts: list[Any]) -> Any:
    """Pieces of one blob: bytes from boto3, base64 from a client that hands on the JSON."""
    whole = parts[0]
    for part in parts[1:]:
        whole += part
    return whole
