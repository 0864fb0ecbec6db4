"""Where results wait that were too long for the model to be given whole.

A model that is shown the head and the tail of a result, and no way to the rest, calls the tool again or makes the rest
up. So the whole text is put on a shelf, and the model is told a handle to read it by. The handle is a capability: it
is random, it opens one text, and only in the conversation it was given out in. Memory is bounded: what was not used for
longest goes first, and a reader is told that it is gone.
"""

from __future__ import annotations

import secrets
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from surehand.errors import OptionError
from surehand.policy import count

__all__ = ["DEFAULT_READ", "READER_NAME", "Keep", "Passage", "Reading", "ResultShelf", "names_handle", "reader_call"]

READER_NAME: Final = "read_tool_result"
"""The name of the tool that reads from a shelf."""
DEFAULT_READ: Final = 10_000
"""Characters that are read at a time, where nobody says otherwise: some 2,500 tokens."""
CONTEXT: Final = 200
"""Characters that are shown before and after a place that was searched for."""
_HANDLE_BYTES: Final = 16
_BEGINNING: Final = f'{READER_NAME}(handle="'

Keep = Callable[[str], str | None]
"""Keeps a text and answers with the handle to read it by; None where there is no room for it."""


def reader_call(handle: str, offset: int) -> str:
    """The call that reads on, as a model is told it."""
    return f'{_BEGINNING}{handle}", offset={offset})'


def names_handle(text: str) -> bool:
    """Whether a text tells a model to read on from a shelf."""
    return _BEGINNING in text


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A piece of a text, word for word."""

    offset: int
    """Where it begins, in characters from the start of the text."""
    text: str
    places: tuple[int, ...] = ()
    """Where, in the whole text, it holds what was searched for."""

    @property
    def end(self) -> int:
        """Where the text goes on behind it."""
        return self.offset + len(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was read of a text."""

    size: int
    """Characters of the whole text."""
    passages: tuple[Passage, ...]
    """In the order of the text, none of them overlapping; none where the text ends before the offset, or nothing was
    found."""
    next_offset: int | None
    """Where to read or search on; None where there is nothing more."""
    found: int = 0
    """How often the text holds what was searched for, from the offset on; 0 where nothing was searched for."""


@dataclass(frozen=True, slots=True)
class _Kept:
    thread_id: str
    text: str


class ResultShelf:
    """Keeps whole results, each under a handle that is valid in its own conversation only.

    Thread-safe; one shelf may serve several nodes. It lives in memory: after a restart, handles are unknown.

    Args:
        max_chars: The most characters kept in all.
        max_results: The most results kept. At either limit, those that were not used for longest go first.

    Raises:
        OptionError: A limit is no whole number above 0.

    Example:
        shelf = ResultShelf()
        node = ToolNode([read_log], shelf=shelf)  # answers calls of read_tool_result, too
    """

    def __init__(self, *, max_chars: int = 20_000_000, max_results: int = 1_000) -> None:
        self.max_chars = count("max_chars", max_chars)
        self.max_results = count("max_results", max_results)
        self._lock = Lock()
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._handles: dict[_Kept, str] = {}
        self._of_thread: Counter[str] = Counter()
        self._chars = 0

    def put(self, thread_id: str, text: str) -> str | None:
        """Keep a text for a conversation and return its handle; the same handle where it is kept already.

        None for a text that is longer than all the shelf may hold.
        """
        if len(text) > self.max_chars:
            return None
        kept = _Kept(thread_id, text)
        with self._lock:
            known = self._handles.get(kept)
            if known is not None:
                self._kept.move_to_end(known)
                return known
            handle = secrets.token_urlsafe(_HANDLE_BYTES)
            self._kept[handle] = kept
            self._handles[kept] = handle
            self._of_thread[thread_id] += 1
            self._chars += len(text)
            while self._chars > self.max_chars or len(self._kept) > self.max_results:
                self._drop_oldest()
            return handle

    def read(
        self, thread_id: str, handle: str, offset: int = 0, limit: int = DEFAULT_READ, contains: str | None = None
    ) -> Reading | None:
        """Read a text, or search it; None where the conversation has no text under that handle.

        Args:
            thread_id: The conversation.
            handle: What ``put`` returned.
            offset: Where to begin, in characters.
            limit: The most characters that the passages have together.
            contains: Literal text to search for. Each place is shown with some of what stands around it; places that
                are close to one another share a passage. None, or an empty text, reads on from the offset.

        Raises:
            OptionError: The offset is negative, or the limit is no whole number above 0.
        """
        count("limit", limit)
        if offset < 0:
            raise OptionError(option="offset", value=offset, expected="a whole number of at least 0")
        with self._lock:
            kept = self._kept.get(handle)
            if kept is None or kept.thread_id != thread_id:
                return None
            self._kept.move_to_end(handle)
        return _found(kept.text, offset, limit, contains) if contains else _read(kept.text, offset, limit)

    def holds(self, thread_id: str) -> bool:
        """Whether there is anything to read for the conversation."""
        return thread_id in self._of_thread

    def handles(self, thread_id: str) -> list[str]:
        """The handles that are valid in the conversation, the one that was used last first."""
        with self._lock:
            return [handle for handle, kept in reversed(self._kept.items()) if kept.thread_id == thread_id]

    def __len__(self) -> int:
        return len(self._kept)

    def __repr__(self) -> str:
        return f"ResultShelf({len(self._kept)} results, {self._chars:,} characters)"

    def _drop_oldest(self) -> None:
        _, kept = self._kept.popitem(last=False)
        del self._handles[kept]
        self._of_thread[kept.thread_id] -= 1
        if not self._of_thread[kept.thread_id]:
            del self._of_thread[kept.thread_id]
        self._chars -= len(kept.text)


def _read(text: str, offset: int, limit: int) -> Reading:
    piece = text[offset : offset + limit]
    end = offset + len(piece)
    return Reading(
        size=len(text),
        passages=(Passage(offset=offset, text=piece),) if piece else (),
        next_offset=end if piece and end < len(text) else None,
    )


def _found(text: str, offset: int, limit: int, contains: str) -> Reading:
    """The places from the offset on, each with what stands around it: as many as the limit allows, but always one."""
    around = min(CONTEXT, max(limit - len(contains), 0) // 2)
    spans: list[_Span] = []
    left = limit
    at = text.find(contains, offset)
    while at >= 0:
        shown_to = spans[-1].stop if spans else 0
        start, stop = max(at - around, shown_to), min(at + len(contains) + around, len(text))
        if spans and stop - start > left:
            break
        left -= stop - start
        if not spans or start > shown_to:
            spans.append(_Span(start))
        spans[-1].stop = stop
        spans[-1].places.append(at)
        at = text.find(contains, at + len(contains))
    return Reading(
        size=len(text),
        passages=tuple(
            Passage(offset=span.start, text=text[span.start : span.stop], places=tuple(span.places)) for span in spans
        ),
        next_offset=at if at >= 0 else None,
        found=text.count(contains, offset),
    )


@dataclass(slots=True)
class _Span:
    start: int
    stop: int = 0
    places: list[int] = field(default_factory=list[int])
