"""Chat Completions as a stream: deltas of a text, and of calls in pieces."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from surehand.dialects.streams import FREE_TEXT_END, FREE_TEXT_START, ReplyStream, call_piece, free_text
from surehand.dialects.wire import payload_of
from surehand.messages import AIMessageChunk, ToolCallChunk, new_call_id, text_of
from surehand.shapes import items_of, mapping_of

__all__ = ["DONE", "ChatStream", "about_reply", "usage_of"]

DONE: Final = "[DONE]"
"""What stands behind the last chunk of a stream."""

_ABOUT_REPLY: Final = ("id", "model", "created", "system_fingerprint", "service_tier")
_DONE: Final[Mapping[str, Any]] = {"object": DONE}
_EXTRA_TEXTS: Final = ("reasoning_content", "reasoning", "refusal")


def about_reply(reply: Mapping[str, Any]) -> dict[str, Any]:
    """What a completion says about itself."""
    return {key: reply[key] for key in _ABOUT_REPLY if reply.get(key) is not None}


def usage_of(usage: object) -> dict[str, Any] | None:
    """The tokens in the spelling of ``usage_metadata``; None where the provider sent none."""
    fields = mapping_of(usage)
    if not fields:
        return None
    sent, received = _number(fields.get("prompt_tokens")), _number(fields.get("completion_tokens"))
    return {
        "input_tokens": sent,
        "output_tokens": received,
        "total_tokens": _number(fields.get("total_tokens")) or sent + received,
    }


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


class ChatStream(ReplyStream):
    """Puts the chunks of a streamed completion together; see ``ReplyStream``.

    A few servers never send a ``finish_reason``, so that only the text ``[DONE]`` after the last chunk tells the end of
    a reply from a connection that was closed. SDKs keep it to themselves: who trusts such a server feeds it after them.
    """

    def __init__(self, *, choice: int = 0) -> None:
        super().__init__()
        self._choice = choice
        self._made_ids: dict[object, str] = {}
        self._customs = _Customs()

    def _fields_of(self, event: object) -> Mapping[str, Any]:
        return _DONE if event == DONE else payload_of(event)

    def _take(self, fields: Mapping[str, Any]) -> AIMessageChunk | None:
        reply = self._reply
        metadata = {key: value for key, value in about_reply(fields).items() if value and key not in reply.metadata}
        if fields.get("error") or fields.get("object") == "error":  # inside a stream that began with HTTP 200
            metadata["error"] = fields.get("error") or fields.get("message")
        usage = usage_of(fields.get("usage"))
        text, extras, pieces = "", dict[str, str | list[Any]](), list[ToolCallChunk]()
        signed: list[dict[str, Any]] = []
        for entry in map(mapping_of, items_of(fields.get("choices"))):
            if (entry.get("index") or 0) != self._choice:  # some servers leave the number out, and have one choice
                continue
            if entry.get("finish_reason"):
                metadata["finish_reason"] = entry["finish_reason"]
            delta = mapping_of(entry.get("delta"))
            signed += _signed(delta)
            text += text_of(delta.get("content"))
            extras |= {key: delta[key] for key in _EXTRA_TEXTS if isinstance(delta.get(key), str) and delta[key]}
            pieces += self._told_apart(self._pieces(delta))
        if fields is _DONE and "finish_reason" not in reply.metadata:
            metadata["finish_reason"] = "stop"
        if "finish_reason" in metadata:
            pieces += self._customs.ends()
        told: dict[str, list[Any]] = {"custom_calls": list(self._customs.begun()), "call_extras": list(signed)}
        extras |= {key: entries for key, entries in told.items() if entries}
        return reply.add(text=text, extras=extras, pieces=pieces, metadata=metadata, usage=usage)

    def _told_apart(self, pieces: list[ToolCallChunk]) -> list[ToolCallChunk]:
        """Ids for whole calls that are the same in one delta: those are so many calls.

        In a later delta the same ids again, as they are then the same calls sent again.
        """
        wholes = [(piece["name"], piece["args"], piece["index"]) for piece in pieces]
        for place, (piece, whole) in enumerate(zip(pieces, wholes, strict=True)):
            if piece["name"] and piece["args"] and not piece["id"] and wholes.count(whole) > 1:
                piece["id"] = self._made_ids.setdefault((whole, wholes[:place].count(whole)), new_call_id())
        return pieces

    def _pieces(self, delta: Mapping[str, Any]) -> list[ToolCallChunk]:
        entries = _entries(delta)
        legacy = mapping_of(delta.get("function_call"))
        entries += [{"function": legacy}] if legacy else []
        return [self._customs.piece(_piece(entry)) if _is_custom(entry) else _piece(entry) for entry in entries]


class _Customs:
    """The custom calls of a stream: free-form texts, of which nothing but the end of the reply says that they end."""

    def __init__(self) -> None:
        self._ends: dict[object, ToolCallChunk] = {}
        self._begun: list[str] = []

    def piece(self, piece: ToolCallChunk) -> ToolCallChunk:
        """A piece of the text as a piece of arguments."""
        key = piece["id"] if piece["index"] is None else piece["index"]
        start = "" if key in self._ends else FREE_TEXT_START
        if start:
            self._ends[key] = {**piece, "name": None, "args": FREE_TEXT_END}
            self._begun += [piece["id"]] if piece["id"] else []
        return {**piece, "args": start + free_text(piece["args"] or "")}

    def begun(self) -> list[str]:
        """The ids of those that have begun since this was asked last."""
        begun, self._begun = self._begun, []
        return begun

    def ends(self) -> list[ToolCallChunk]:
        """What ends all of them."""
        ends, self._ends = list(self._ends.values()), {}
        return ends


def _entries(delta: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The calls in a delta; older servers of Hugging Face send one that is in no list."""
    calls = delta.get("tool_calls")
    return [mapping_of(entry) for entry in items_of(calls) or [calls] if mapping_of(entry)]


def _is_custom(entry: Mapping[str, Any]) -> bool:
    return bool(mapping_of(entry.get("custom"))) and not mapping_of(entry.get("function"))


def _piece(entry: Mapping[str, Any]) -> ToolCallChunk:
    fields = mapping_of(entry.get("function")) or mapping_of(entry.get("custom"))
    args: object = fields.get("arguments", fields.get("input"))
    text = args if isinstance(args, str) or args is None else json.dumps(args, default=str)
    call_id = None if entry.get("id") == "null" else entry.get("id")  # as Mistral says that there is none
    return call_piece(text, index=entry.get("index"), call_id=call_id, name=fields.get("name"))


def _signed(delta: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What stands beside calls, with their ids."""
    return [
        {key: entry.get(key) for key in ("id", "extra_content")}
        for entry in _entries(delta)
        if entry.get("extra_content")
    ]
