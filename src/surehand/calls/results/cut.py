"""A text that is too long, cut to its head and its tail with a notice between them.

The notice says in figures what is shown. So a text that was cut can be told from one that was not, by looking at it
alone, and cut again to a smaller size with the figures of the whole text: which is how the budget of a turn is kept
over answers that were cut before, and over those that come from a journal.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, Self

from surehand.calls.results.shelf import Keep, reader_call

__all__ = ["ADVICE", "Cut", "cut_note", "cut_of", "is_cut_note"]

ADVICE: Final = "Ask for a smaller part to see it."
"""How to come by what was left out, where it is not kept."""
_NOTICE: Final = re.compile(
    r"\n\n\[… (\d[\d,]{0,20}) of (\d[\d,]{0,20}) characters are shown[^…]*…]\n\n"
    r"|\n\[… (\d[\d,]{0,20}) of (\d[\d,]{0,20}) characters(?:;[^…]*)? …]\n"
)
_MAX_NOTE: Final = 1_000
"""What is longer, behind a text that was cut, is no note on it but another text."""
_CUT_TO: Final = "cut to "
_ANY_HANDLE: Final = "h" * 22
_HANDLE: Final = re.compile(r'\(handle="([\w-]+)"')


class Cut(NamedTuple):
    """What is there of a text, from its start and from its end."""

    head: str
    tail: str
    size: int
    """Characters of the whole text."""
    handle: str | None = None
    """What the whole text is kept under; None where it is not kept."""
    note: str = ""
    """What was said about the text behind its end."""

    @classmethod
    def whole(cls, text: str, handle: str | None = None) -> Self:
        """A text of which everything is there."""
        return cls(text, text, len(text), handle)

    @classmethod
    def found_in(cls, text: str) -> Self | None:
        """What a text that was cut before still holds; None for one that was not."""
        for notice in _NOTICE.finditer(text):
            shown, size = (int(figure.replace(",", "")) for figure in notice.groups() if figure)
            head, rest = text[: notice.start()], text[notice.end() :]
            tail, note = rest[: shown // 4], rest[shown // 4 :]
            if len(head) + len(tail) == shown < size and len(tail) == shown // 4 and len(note) <= _MAX_NOTE:
                handle = _HANDLE.search(notice[0])
                return cls(head, tail, size, handle[1] if handle else None, note)
        return None

    def to(self, limit: int, *, advice: str = ADVICE) -> tuple[str, str]:
        """The head that is left at a size, and what follows it: the notice, the tail, the note.

        Both together have at most ``limit`` characters; only where the limit leaves no room for a notice (below about
        100, with a handle about 200) half of it goes to the text, and the rest comes on top.

        Args:
            limit: The size.
            advice: How to come by what is left out, where it is not kept.
        """
        for write in (_full_notice, _short_notice):
            room = limit - len(write(self, limit, limit, advice)) - len(self.note)
            if 2 * room >= limit:
                break
        # The proportion of head and tail is what a cut text is known by.
        room = min(max(room, (limit + 1) // 2), len(self.head) + len(self.tail))
        head, tail = self.head[: room - room // 4], self.tail[len(self.tail) - room // 4 :]
        return head, f"{write(self, len(head), len(tail), advice)}{tail}{self.note}"


def cut_of(text: str, limit: int, keep: Keep | None = None, *, was_cut: bool = False) -> Cut | None:
    """What a text has to be cut from; None where it fits, or would not get shorter by it: a notice costs something too.

    Args:
        text: The text.
        limit: The size that it should have.
        keep: Given the whole text where it is cut.
        was_cut: Whether the text is known to be what is left of a longer one, which is kept already. The caller has to
            know, because a text that comes from elsewhere may look like it.
    """
    if len(text) <= limit:
        return None
    found = Cut.found_in(text) if was_cut else None
    cut = found or Cut.whole(text, None if keep is None else _ANY_HANDLE)
    if sum(map(len, cut.to(limit))) >= len(text):
        return None
    return cut if found is not None or keep is None else Cut.whole(text, keep(text))


def cut_note(limit: int, size: int) -> str:
    """The note on an answer that shows only a part of a text."""
    return f"{_CUT_TO}{limit:,} of {size:,} characters"


def is_cut_note(note: str) -> bool:
    """Whether the note says that an answer was cut."""
    return note.startswith(_CUT_TO)


def _full_notice(cut: Cut, head: int, tail: int, advice: str) -> str:
    shown = f"{head + tail:,} of {cut.size:,} characters are shown, the first {head:,} and the last {tail:,}"
    if cut.handle is not None:
        advice = f"Call {reader_call(cut.handle, head)} to read it."
    rest = f"The middle is left out. {advice}" if advice else "The middle is left out."
    return f"\n\n[… {shown}. {rest} …]\n\n"


def _short_notice(cut: Cut, head: int, tail: int, advice: str) -> str:  # noqa: ARG001 - one signature for both
    way_on = "" if cut.handle is None else f"; {reader_call(cut.handle, head)}"
    return f"\n[… {head + tail:,} of {cut.size:,} characters{way_on} …]\n"
