"""Where in a text something stands: at the start of a line, inside of code, in a quotation, behind a sentence."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["FENCE", "Place"]

FENCE: Final = "```"
_LONGEST_INFO: Final = 100
"""Characters behind an opening fence; a line with more of them is no fence."""
_OPENING: Final = re.compile(rf"```[^`\n]{{0,{_LONGEST_INFO}}}+\Z")
_SENTENCE_ENDS: Final = frozenset(".!?…。！？")
_QUOTES: Final = frozenset("\"'`“‘«„‚「『(<[>=")
_TOKEN: Final = re.compile(r"(?:<\|[^\s<>|]{1,40}\|>|<｜[^\s<>｜]{1,40}｜>|<s>)\Z")
"""A special token, such as ends a header or begins a text: it says nothing, so that what stands before it counts."""
_BLANKS: Final = re.compile(r"\s++")
_WINDOW: Final = 150
"""Characters that are looked at for tokens."""


class Place:
    """The place that a reader has come to; each part of the text is given to it once, so that it is linear."""

    __slots__ = ("_backticks", "_end", "_last", "is_in_code", "is_line_start", "is_quoted")

    def __init__(self) -> None:
        self.is_in_code = False
        self.is_line_start = True
        """Whether only blanks, or calls, stand before it in its line."""
        self.is_quoted = False
        self._backticks = 0
        self._last = ""
        self._end = ""
        """The last characters: a token may come in pieces."""

    def read(self, text: str) -> None:
        """Go on behind this text, in which no line is a fence."""
        _, newline, line = text.rpartition("\n")
        if newline:
            self.is_line_start, self.is_quoted, self._backticks = True, False, 0
        said = line.strip()
        if said:
            if self.is_line_start:
                self.is_quoted = said.startswith(">")
            self.is_line_start = False
            self._backticks += line.count("`")
        self._end = _BLANKS.sub(" ", self._end + text)[-_WINDOW:]
        self._last = _last_said(self._end)

    def is_fence(self, line: str) -> bool:
        """Whether a line, or as much of it as has come, begins or ends code."""
        return line.strip() == FENCE if self.is_in_code else _OPENING.match(line.rstrip()) is not None

    def read_fence(self, line: str) -> None:
        """Go on behind a line that begins or ends code."""
        self.is_in_code = not self.is_in_code
        self.read(line)

    def is_open_to(self, *, is_word: bool) -> bool:
        """Whether a mark in the middle of a line can be meant: behind a sentence, or a token that is not quoted."""
        if self.is_quoted or self._backticks % 2:
            return False
        return not self._last or self._last in _SENTENCE_ENDS if is_word else self._last not in _QUOTES


def _last_said(end: str) -> str:
    """The last character before the special tokens at the end; nothing where they are all there is."""
    said = end.rstrip()
    while said.endswith(">") and (token := _TOKEN.search(said)) is not None:
        said = said[: token.start()].rstrip()
    return said[-1:] or ("" if len(end) < _WINDOW else ">")  # of more tokens than these nobody knows the beginning
