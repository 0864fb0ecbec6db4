"""What may stand between two tokens without meaning anything: blanks, comments, line breaks escaped once too often.

A comment is the one relaxation that leaves text out, so it is held to what can be nothing but a comment. ``7 // 2``
is a division, ``[#fff]`` a colour, ``[/*, */]`` two patterns, ``{ // same as before }`` a placeholder, and ``// ...``
stands for what the model did not write down. All of them are refused.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Final

from surehand.grammar import relaxations
from surehand.grammar._faults import Fault

__all__ = ["Blanks", "Place"]

_BLANKS: Final = re.compile(r"[ \t\n\r]*+")
# Before a letter the two characters could begin a word: \name is no line break and "ame".
_LITERAL_BREAKS: Final = re.compile(r"(?:\\[ntr])++(?=[^\w$]|\d|$|(?:true|false|null|None|True|False)(?![\w$]))")
_LINE: Final = re.compile("(?://|#)[^\n\r\u2028\u2029]*+")
_TWO_WORDS: Final = re.compile(r"\w[ \t]++\w")
_ELLIPSIS: Final = re.compile(r"\.\.\.|…")
_BRACES: Final = re.compile(r"[{｛]")


class Place(Enum):
    """Where between the tokens something stands; it decides what can be a comment."""

    OUTSIDE = auto()
    """Before or after the whole object."""
    BEFORE_VALUE = auto()
    """Where a value may begin."""
    AFTER_NUMBER = auto()
    """Behind a number or a word such as true."""
    AFTER_TEXT = auto()
    """Behind a string."""
    ELSEWHERE = auto()


class Blanks:
    """Skips what means nothing in one text; `comment_at` is where the latest comment stood."""

    __slots__ = ("comment_at", "repairs", "text")

    def __init__(self, text: str, *, repairs: dict[str, None]) -> None:
        self.text = text
        self.repairs = repairs
        self.comment_at = -1

    def skip_blanks(self, at: int) -> int:
        """The offset of the next character that is no blank, or the end of the text."""
        run = _BLANKS.match(self.text, at)
        return run.end() if run else at

    def skip(self, at: int, place: Place) -> int:
        """The offset of the next character that means something, or the end of the text."""
        text = self.text
        while True:
            at = self.skip_blanks(at)
            char = text[at : at + 1]
            if char == "\\":
                end = self._literal_break(at)
            elif char in ("/", "#"):
                end = self._comment(at, place)
            else:
                return at
            if end == at:
                return at
            at = end

    def _literal_break(self, at: int) -> int:
        found = _LITERAL_BREAKS.match(self.text, at)
        if not found:
            return at
        self.repairs[relaxations.LITERAL_LINE_BREAKS] = None
        return found.end()

    def _comment(self, at: int, place: Place) -> int:
        """The end of the comment at ``at``, or ``at`` if none begins there."""
        if self.text.startswith("/*", at):
            end = self.text.find("*/", at + 2) + 2
            if end == 1:
                raise Fault("the text ends inside a comment", at=len(self.text), is_cut_off=True)
            body = self.text[at + 2 : end - 2]
        elif line := _LINE.match(self.text, at):
            end = line.end()
            body = line[0][1 if line[0][0] == "#" else 2 :]
        else:
            return at
        self._check_comment(at, body=body, place=place)
        self.repairs[relaxations.COMMENTS] = None
        self.comment_at = at
        return end

    def _check_comment(self, at: int, *, body: str, place: Place) -> None:
        if _ELLIPSIS.search(body):
            raise Fault("a comment stands for something left out: send every value", at=at)
        if place is Place.OUTSIDE and _BRACES.search(body):
            raise Fault("a comment outside the object has braces and could be another object", at=at)
        if _could_be_value(body, opener=self.text[at : at + 2], place=place):
            raise Fault("what looks like a comment could be part of a value: send no comments", at=at)


def _could_be_value(body: str, *, opener: str, place: Place) -> bool:
    """Whether the text after the comment's opener could be meant as a value, or as the second operand of a division."""
    is_apart = body[:1] in ("", " ", "\t", "\n", "\r", "/", "*", "#")
    if place is Place.BEFORE_VALUE or opener[0] == "#":
        return not is_apart
    if opener == "//" and place is Place.AFTER_NUMBER:
        return bool(body.strip()) and not _TWO_WORDS.search(body)
    return opener == "//" and place is Place.AFTER_TEXT and body.lstrip()[:1] in ('"', "'", "“", "‘", "＂", "＇")
