"""What is wrong with a text, before it becomes the public error."""

from __future__ import annotations

import re
from typing import Final

from surehand.errors import MalformedArguments

__all__ = ["Fault", "clipped", "malformed"]

_EXCERPT: Final = 80
_WORD: Final = 40
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class Fault(Exception):
    """A text is refused; ``at`` is the spot in the text that was read, which need not be the original."""

    def __init__(self, reason: str, *, at: int | None, is_cut_off: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.at = at
        self.is_cut_off = is_cut_off


def malformed(fault: Fault, text: str) -> MalformedArguments:
    """The public error for a fault in ``text``."""
    return MalformedArguments(
        reason=fault.reason,
        position=fault.at,
        excerpt="" if fault.at is None else _excerpt(text, fault.at),
        length=len(text),
        is_cut_off=fault.is_cut_off,
    )


def clipped(word: str) -> str:
    """A piece of the text, quoted and short enough for a message."""
    return repr(word if len(word) <= _WORD else f"{word[: _WORD - 1]}…")


def _excerpt(text: str, at: int) -> str:
    start = max(0, min(at - _EXCERPT // 2, len(text) - _EXCERPT))
    # A lone surrogate in an error message would make the answer to the model unsendable.
    return _SURROGATE.sub("\ufffd", text[start : start + _EXCERPT])
