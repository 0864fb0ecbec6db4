"""A streamed reply of OpenAI's Responses, put together.

Every item is announced, grows by deltas, and is sent again as a whole when it is done; at the end comes the whole
response. Servers differ in what they leave out and what they repeat: ids that differ between the events of one item,
one number for all items, calls that come only when they are done, frames that come twice. So an item is looked up by
its id, by its call's id and by its number, and what was told of it is compared with what it is said to be in the end.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from surehand.dialects.responses_items import CUSTOM, FUNCTION, call_id_of, content_of, is_call, item_of, output_of
from surehand.dialects.streams import FREE_TEXT_END, FREE_TEXT_START, Reply, ReplyStream, call_piece, free_text
from surehand.messages import AIMessageChunk, Content, ToolCallChunk, finish_reason_of
from surehand.messages.assembly import CUT_OFF
from surehand.shapes import items_of, mapping_of

__all__ = ["ResponseStream", "about_reply", "usage_of"]

_ABOUT_REPLY: Final = ("id", "model", "created_at", "status", "incomplete_details", "error", "service_tier")
_BEGINNINGS: Final = frozenset({"response.created", "response.queued", "response.in_progress"})
_ENDS: Final[Mapping[object, str]] = {
    "response.completed": "completed",
    "response.done": "completed",  # as some gateways spell it
    "response.incomplete": "incomplete",
    "response.failed": "failed",
    "response.cancelled": "cancelled",
}
"""Event at the end -> what it says of the reply."""
_GROWING: Final[Mapping[object, tuple[str, str]]] = {
    "response.function_call_arguments": (FUNCTION, "arguments"),
    "response.custom_tool_call_input": (CUSTOM, "input"),
    "response.output_text": ("message", "text"),
    "response.refusal": ("message", "refusal"),
    "response.reasoning_text": ("reasoning", "thought"),
    "response.reasoning_summary_text": ("reasoning", "thought"),
}
"""Event, less its ``.delta`` or ``.done`` -> the kind of item that grows by it, and what of it."""
_BESIDE: Final[Mapping[str, str]] = {"refusal": "refusal", "thought": "reasoning_content"}
"""What is told beside the text of a reply -> its key there."""
_ARGUMENTS: Final[Mapping[object, str]] = {FUNCTION: "arguments", CUSTOM: "input"}
_PARTS: Final[Mapping[str, str]] = {"text": "output_text", "refusal": "refusal"}
"""What of a message grows -> the kind of the part that it makes."""


def about_reply(reply: Mapping[str, Any]) -> dict[str, Any]:
    """What a response says about itself."""
    return {key: reply[key] for key in _ABOUT_REPLY if reply.get(key) is not None}


def usage_of(usage: object) -> dict[str, Any] | None:
    """The tokens in the spelling of ``usage_metadata``, with those from the cache and those of thoughts where told."""
    fields = mapping_of(usage)
    read = {key: fields[key] for key in ("input_tokens", "output_tokens") if isinstance(fields.get(key), int)}
    if not read:
        return None
    total: object = fields.get("total_tokens")
    read["total_tokens"] = total if isinstance(total, int) else sum(read.values())
    cached = mapping_of(fields.get("input_tokens_details")).get("cached_tokens")
    thoughts = mapping_of(fields.get("output_tokens_details")).get("reasoning_tokens")
    details = {"input_token_details": ("cache_read", cached), "output_token_details": ("reasoning", thoughts)}
    return {**read, **{key: {name: count} for key, (name, count) in details.items() if isinstance(count, int)}}


@dataclass(slots=True)
class _News:
    """What one event brings."""

    text: str = ""
    beside: dict[str, str] = field(default_factory=dict[str, str])
    customs: list[str] = field(default_factory=list[str])
    pieces: list[ToolCallChunk] = field(default_factory=list[ToolCallChunk])

    def extras(self) -> dict[str, str | list[str]]:
        """What goes beside the text."""
        return {**self.beside, **({"custom_calls": self.customs} if self.customs else {})}


class _Slot:
    """An item in the making."""

    def __init__(self, number: int, item: Mapping[str, Any], index: object) -> None:
        self.number = number
        """Which item of the stream it is, in the order they began."""
        self.index = index if isinstance(index, int) else None
        self.item = dict(item)
        self.is_done = False
        self.is_open = False
        """Whether its call has been told of."""
        self.is_closed = False
        self.is_contradicted = False
        self.settled: set[tuple[str, int | None]] = set()
        """What can no longer grow, since the provider has said what it is as a whole."""
        self._texts: dict[tuple[str, int | None], list[str]] = {}

    @property
    def kind(self) -> object:
        return self.item.get("type")

    def grow(self, what: str, part: int | None, text: str) -> None:
        """Add the text of a delta."""
        self._texts.setdefault((what, part), []).append(text)

    def grown(self, what: str, part: int | None) -> str:
        """What deltas have brought."""
        return "".join(self._texts.get((what, part), ()))

    def whole(self) -> dict[str, Any]:
        """The item as far as it came."""
        if self.is_done or not self._texts:
            return self.item
        if self.kind == "message":
            parts = [(what, "".join(texts)) for (what, _), texts in self._texts.items()]
            content = [{"type": _PARTS[what], what: text} for what, text in parts]
            return {"role": "assistant", **self.item, "content": content}
        what = _ARGUMENTS.get(self.kind)
        return self.item if what is None else {**self.item, what: self.grown(what, None)}


class ResponseStream(ReplyStream):
    """Puts the events of a streamed response together; see ``ReplyStream``."""

    def __init__(self) -> None:
        super().__init__()
        self._slots: list[_Slot] = []
        self._is_ended = False
        self._seen: dict[int, int] | None = {}
        """Number of an event -> its hash; None where the server's numbers mean nothing."""

    def _fields_of(self, event: object) -> Mapping[str, Any]:
        return item_of(event)

    def _take(self, fields: Mapping[str, Any]) -> AIMessageChunk | None:
        kind = fields.get("type")
        if self._is_repeated(fields):
            return None
        if kind in _BEGINNINGS:
            return self._begin(item_of(fields.get("response")))
        if kind in _ENDS:
            return self._end(item_of(fields.get("response")), _ENDS[kind])
        if kind == "error":  # inside a stream that began with HTTP 200: it ends here, without a status
            error = mapping_of(fields.get("error")) or {key: fields.get(key) for key in ("code", "message", "param")}
            return self._reply.add(metadata={"error": dict(error)})
        news = _News()
        stem, _, end = str(kind).rpartition(".")
        if stem == "response.output_item":
            self._take_item(item_of(fields.get("item")), fields.get("output_index"), news, is_done=end == "done")
        elif stem in _GROWING:
            self._grow(stem, end, fields, news)
        return self._reply.add(text=news.text, extras=news.extras(), pieces=news.pieces)

    def _content(self) -> Content:
        slots = sorted(self._slots, key=lambda slot: slot.number if slot.index is None else slot.index)
        return content_of([slot.whole() for slot in slots])

    def _is_repeated(self, event: Mapping[str, Any]) -> bool:
        """Whether the very event came before; told by its number, as two equal deltas without one are two."""
        number: object = event.get("sequence_number")
        if self._seen is None or not isinstance(number, int):
            return False
        mark = hash(repr(event))
        if number not in self._seen:
            self._seen[number] = mark
            return False
        if self._seen[number] == mark:
            return True
        self._seen = None
        return False

    def _begin(self, response: Mapping[str, Any]) -> AIMessageChunk | None:
        """Take in a start: one of another response, where the first did not end, is a retry spliced into the stream."""
        known = self._reply.metadata.get("id")
        is_restart = bool(self._slots) and not self._is_ended and response.get("id") not in (None, known)
        if is_restart:
            self._reply, self._slots = Reply(), []
        metadata = {key: value for key, value in about_reply(response).items() if key not in self._reply.metadata}
        chunk = self._reply.add(metadata=metadata)
        return (chunk or AIMessageChunk()).replace(is_restart=True) if is_restart else chunk

    def _end(self, response: Mapping[str, Any], status: str) -> AIMessageChunk | None:
        self._is_ended = True
        news = _News()
        for index, item in enumerate(output_of({**response, "object": "response"}) or ()):
            self._take_item(item, index, news, is_done=True)
        metadata = about_reply(response)
        if finish_reason_of(metadata) is None:  # gateways leave the status out, or as it was at the start
            metadata["status"] = status
        if finish_reason_of(metadata) not in ("stop", "tool_calls"):
            # Arguments that did not begin to come are not those of a call without.
            running = [slot for slot in self._slots if slot.is_open and not slot.is_closed]
            news.pieces += [call_piece(CUT_OFF, index=slot.number) for slot in running]
        return self._reply.add(
            text=news.text,
            extras=news.extras(),
            pieces=news.pieces,
            metadata=metadata,
            usage=usage_of(response.get("usage")),
            whole_content=self._unsaid(),
        )

    def _take_item(self, item: Mapping[str, Any], index: object, news: _News, *, is_done: bool) -> None:
        """Take in an item, announced or done."""
        slot = self._slot_of(item, index, is_new=not is_done)
        if slot is None or slot.kind != item.get("type"):
            slot = self._begun(item, index)
        if is_done:
            slot.item, slot.is_done = {**slot.item, **item}, True
        if is_call(slot.item) and not slot.is_open:
            self._open(slot, news)
        if is_done:
            for what, part, text in _fields_of(slot.item):
                self._settle(slot, what, part, text, news)
            if slot.is_open and not slot.is_closed:
                self._close(slot, news)

    def _begun(self, item: Mapping[str, Any], index: object) -> _Slot:
        slot = _Slot(len(self._slots), item, index)
        self._slots.append(slot)
        return slot

    def _open(self, slot: _Slot, news: _News) -> None:
        slot.is_open = True
        news.pieces.append(_head(slot))
        if slot.kind == CUSTOM:
            news.customs.append(call_id_of(slot.item) or "")
        what = _ARGUMENTS[slot.kind]
        self._tell(slot, what, slot.grown(what, None), news)

    def _close(self, slot: _Slot, news: _News) -> None:
        """End a call; one whose sending stopped gets an end that nobody can read as arguments."""
        slot.is_closed = True
        if slot.item.get("status") == "incomplete":
            news.pieces.append(call_piece(CUT_OFF, index=slot.number))
        elif slot.kind == CUSTOM and not slot.is_contradicted:
            news.pieces.append(call_piece(FREE_TEXT_END, index=slot.number))

    def _grow(self, stem: str, end: str, event: Mapping[str, Any], news: _News) -> None:
        """Take in a delta, or the whole that it was a part of."""
        kind, what = _GROWING[stem]
        named = {
            "id": event.get("item_id"),
            "call_id": event.get("call_id"),
        }  # the latter some servers have in its place
        item = {"type": kind, **{key: value for key, value in named.items() if value is not None}}
        index = event.get("output_index")
        slot = self._slot_of(item, index, is_new=False) or self._begun(item, index)
        number: object = event.get("content_index")
        part = number if isinstance(number, int) else None
        text: object = event.get(what if end == "done" else "delta")
        if slot.kind != kind or not isinstance(text, str) or not text:
            return
        if end == "delta" and (what, part) not in slot.settled:
            slot.grow(what, part, text)
            self._tell(slot, what, text, news)
        elif end == "done" and (slot.is_open or kind == "message"):
            self._settle(slot, what, part, text, news)

    def _settle(self, slot: _Slot, what: str, part: int | None, text: str, news: _News) -> None:
        """Tell what a whole has that its deltas did not bring."""
        if (what, part) in slot.settled:
            return
        slot.settled.add((what, part))
        grown = slot.grown(what, part)
        if text.startswith(grown):
            self._tell(slot, what, text[len(grown) :], news)
            return
        # The end contradicts the deltas. Of arguments both are told: they read as one where they say the same, and as
        # nothing that could be run where they do not. A free-form text would read as both, and stays without an end.
        slot.is_contradicted = True
        if what == "arguments":
            self._tell(slot, what, text, news)

    def _tell(self, slot: _Slot, what: str, text: str, news: _News) -> None:
        if what == "text":
            news.text += text
        elif what in _BESIDE and text:
            news.beside[_BESIDE[what]] = news.beside.get(_BESIDE[what], "") + text
        elif slot.is_open and text:
            news.pieces.append(call_piece(free_text(text) if what == "input" else text, index=slot.number))

    def _slot_of(self, item: Mapping[str, Any], index: object, *, is_new: bool) -> _Slot | None:
        """The slot of an item that has begun; from the newest, as numbers and ids may be used again.

        Args:
            item: The item, or what a delta says of it.
            index: Its number.
            is_new: Whether it is announced: then another id means another item, else the server may have changed it.
        """
        newest = self._slots[::-1]
        for key in ("id", "call_id"):
            for slot in newest:
                if item.get(key) and slot.item.get(key) == item.get(key):
                    return slot
        if is_new and item.get("id"):
            return None
        if not isinstance(index, int):
            return next((slot for slot in newest if slot.kind == item.get("type") and not slot.is_done), None)
        same = [slot for slot in newest if slot.index == index and not _are_two_calls(slot.item, item)]
        return next((slot for slot in same if slot.kind == item.get("type")), same[0] if same else None)


def _are_two_calls(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return bool(one.get("call_id") and other.get("call_id"))  # not found by it, so that they differ


def _fields_of(item: Mapping[str, Any]) -> Iterator[tuple[str, int | None, str]]:
    """What of an item grows by deltas, each with the part that it is of."""
    if item.get("type") == "message":
        for number, part in enumerate(mapping_of(part) for part in items_of(item.get("content"))):
            for what in _PARTS:
                if isinstance(part.get(what), str):
                    yield what, number, part[what]
    elif is_call(item):
        what = _ARGUMENTS[item.get("type")]
        given: object = item.get(what)
        yield what, None, given if isinstance(given, str) else "" if given is None else json.dumps(given, default=str)


def _head(slot: _Slot) -> ToolCallChunk:
    args = FREE_TEXT_START if slot.kind == CUSTOM else ""
    return call_piece(args, index=slot.number, call_id=call_id_of(slot.item), name=slot.item.get("name"))
