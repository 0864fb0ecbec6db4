"""Putting streamed calls together.

Providers agree on little. Most number the calls of a reply and send the id once; some repeat id and name in every
piece, some give every call the number 0, some send no number, some no id, some a whole call at a time, some the same
call twice.
One rule set reads all of them; joining text blindly, as clients do, makes ``{"a": 1}{"a": 2}`` of two calls.

A piece belongs, in this order, to

1. the call of its id, unless both are numbered and the numbers differ (two calls, one id);
2. the call of its number, unless that call has another id (a new id on a used number is a new call, if it has a name
   or the other call is complete: some servers make up an id for every piece);
3. without a number: the newest call, unless the piece names another tool.

Where no id decides, a piece that starts an object after a complete one is a new call, and one that repeats the complete
text is the same call sent again. What comes under a new number and never gets an id or a name is the rest of the call
before it, where that one lacks a rest: some servers count on with every piece.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from surehand.messages.calls import ToolCallChunk, new_call_id

__all__ = ["CallAssembler", "assemble", "fold"]

CUT_OFF: Final = "{"
"""Stands for arguments of which nothing had come when the stream broke off: blank text would read as no arguments."""


_TOKENS: Final = re.compile(r'\\.?|["{}\[\]]', re.DOTALL)


@dataclass(slots=True)
class _Open:
    """A call of which pieces have come."""

    id: str | None
    name: str
    index: int | None
    texts: list[str] = field(default_factory=list[str])
    made_id: str = field(default_factory=new_call_id)
    """For a call without an id of its own; the same each time the calls are asked for."""
    scanned: int = 0
    """How many of the texts the next three fields know."""
    depth: int = 0
    is_in_string: bool = False
    is_escaped: bool = False

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def is_complete(self) -> bool:
        """Whether the text is one object; each text is looked at once, however often this is asked."""
        while self.scanned < len(self.texts):
            self._scan(self.texts[self.scanned])
            self.scanned += 1
        if self.depth or self.is_in_string:
            return False
        # Balanced is not yet valid; the parser is asked only now, or every piece would cost a look at the whole text.
        try:
            return isinstance(json.loads(self.text, strict=False), dict)
        except ValueError:
            return False

    def _scan(self, text: str) -> None:
        # A backslash at the end of a text escapes the first character of the next.
        start, self.is_escaped = int(self.is_escaped), False
        for match in _TOKENS.finditer(text, start):
            mark = match.group()
            if mark[0] == "\\":
                self.is_escaped = len(mark) == 1
            elif mark == '"':
                self.is_in_string = not self.is_in_string
            elif not self.is_in_string:
                self.depth += 1 if mark in "{[" else -1


class CallAssembler:
    """Takes the pieces of one reply's calls as they come; linear in the length of the text."""

    def __init__(self) -> None:
        self._calls: list[_Open] = []

    def feed(self, piece: ToolCallChunk) -> None:
        """Add a piece to the call it belongs to, or start a call with it."""
        text = piece["args"] or ""
        call = self._owner(piece)
        if call is not None and _is_complete_before(call, text):
            if text.strip() == call.text.strip() and piece["name"] in (None, "", call.name):
                return  # sent again, as some servers do with the last piece
            if piece["name"] or not (call.id or piece["id"]):
                # Parallel calls of one tool, all under one number. Where an id holds the two together they are one call
                # with more text than it should have, and it is left to the reader of the arguments to refuse it.
                call = self._start(piece, name=piece["name"] or call.name)
        if call is None:
            call = self._start(piece, name=piece["name"] or "")
        call.id = call.id or piece["id"] or None
        call.name = call.name or piece["name"] or ""
        if text:
            call.texts.append(text)

    def pieces(self) -> list[ToolCallChunk]:
        """One piece per call, each all that has come of it."""
        return [
            {"id": call.id, "name": call.name, "args": call.text, "index": call.index, "type": "tool_call_chunk"}
            for call in self._calls
        ]

    def calls(self, *, is_finished: bool) -> list[dict[str, Any]]:
        """The calls for ``AIMessage``; placeholders without name and arguments are no calls.

        Args:
            is_finished: Whether the provider said that the reply is complete. If not, a call of whose arguments nothing
                has come is cut off, not a call without arguments.
        """
        taken: set[str] = set()
        calls: list[dict[str, Any]] = []
        for call in self._told() if is_finished else self._calls:
            text = call.text
            if call.name.strip() or text.strip():
                call_id = call.id if call.id and call.id not in taken else call.made_id
                taken.add(call_id)
                calls.append(
                    {"id": call_id, "name": call.name, "args": text if text.strip() or is_finished else CUT_OFF}
                )
        return calls

    def _told(self) -> list[_Open]:
        """The calls, what is the rest of the one before it there; asked at the end, as ids and names may come late."""
        told: list[_Open] = []
        for call in self._calls:
            if told and not (call.id or call.name) and not told[-1].is_complete():
                told[-1].texts += call.texts
            else:
                told.append(replace(call, texts=call.texts.copy()))
        return told

    def _start(self, piece: ToolCallChunk, *, name: str) -> _Open:
        call = _Open(id=piece["id"] or None, name=name, index=piece["index"])
        self._calls.append(call)
        return call

    def _owner(self, piece: ToolCallChunk) -> _Open | None:
        call_id, index = piece["id"] or None, piece["index"]
        # From the newest: where an id or a number was used twice, it is the later call that is still being sent.
        for call in reversed(self._calls):
            if call_id is not None and call.id == call_id and (index is None or call.index in (None, index)):
                return call
        if index is None:
            return self._newest(piece)
        newest = next((call for call in reversed(self._calls) if call.index == index), None)
        if newest is None or call_id is None or newest.id is None:
            return newest
        return None if piece["name"] or newest.is_complete() else newest

    def _newest(self, piece: ToolCallChunk) -> _Open | None:
        if not self._calls:
            return None
        call = self._calls[-1]
        # An id is news if the newest call has one (another one, or it would have been found by it), or if a name comes
        # with it, as at the beginning of a call.
        if piece["id"] and (call.id or piece["name"]):
            return None
        return call if piece["name"] in (None, "", call.name) or not call.name else None


def _is_complete_before(call: _Open, text: str) -> bool:
    """Whether the call's text is one complete object and ``text`` starts another."""
    if not text.lstrip().startswith("{") or not call.texts or not call.texts[-1].rstrip().endswith("}"):
        return False
    return call.is_complete()


def fold(pieces: Iterable[ToolCallChunk]) -> list[ToolCallChunk]:
    """The pieces with those of one call joined."""
    assembler = CallAssembler()
    for piece in pieces:
        assembler.feed(piece)
    return assembler.pieces()


def assemble(pieces: Sequence[ToolCallChunk], *, is_finished: bool) -> list[dict[str, Any]]:
    """The calls that the pieces make."""
    assembler = CallAssembler()
    for piece in pieces:
        assembler.feed(piece)
    return assembler.calls(is_finished=is_finished)
