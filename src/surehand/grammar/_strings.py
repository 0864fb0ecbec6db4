r"""Strings: which quotes may delimit one, and what a backslash means in it.

A delimiter must never leave two readings open. Straight quotes have the rule of JSON and Python: the next one of the
kind that no backslash precedes ends the string, and what follows must be punctuation. Curly and full-width quotes
come from software that turned *every* quote of a text into one; a different quote inside such a string shows that the
guess is wrong, so it is refused.

Backslashes are the harder half. ``"C:\Users\dave"`` has only escapes that JSON does not know, so all of them are
meant as they stand. In ``"C:\Users\new"`` the ``\n`` could be a line break as well; whoever forgot to double one
backslash forgot the other too. Such a mixture is refused, unless Python's rule for single quotes covers it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from surehand.grammar import relaxations
from surehand.grammar._faults import Fault

__all__ = ["QUOTES", "Strings", "original_offset", "python_escape", "unescaped"]

_SIMPLE: Final = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_UNICODE: Final = re.compile(r"\\u([0-9a-fA-F]{4})")
_HIGH, _LOW, _LAST = 0xD800, 0xDC00, 0xDFFF
"""Where the first and the second halves of surrogate pairs begin, and where they end."""
_LOW_ESCAPE: Final = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_PYTHON: Final = re.compile(r"\\(?:x([0-9a-fA-F]{2})|U(000[0-9a-fA-F]{5}|0010[0-9a-fA-F]{4}))")
# Octal codes, bell, vertical tab and names of characters; as text they are back references, paths and formulas.
_PYTHONS_OWN: Final = frozenset("01234567avN")
_DOUBLE: Final = '"“”„‟＂'
_SINGLE: Final = "'‘’‚‛＇"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Quote:
    """A way to delimit a string."""

    closer: str
    plain: re.Pattern[str]
    """The longest run of characters that mean themselves."""
    relaxation: str | None = None


def _quote(opener: str, closer: str, foreign: str = "", relaxation: str | None = None) -> _Quote:
    refused = re.escape("".join(sorted({opener, closer, *foreign})))
    return _Quote(closer=closer, plain=re.compile(rf"[^{refused}\\\x00-\x1f]*+"), relaxation=relaxation)


QUOTES: Final = {
    '"': _quote('"', '"'),
    "'": _quote("'", "'", relaxation=relaxations.SINGLE_QUOTES),
    "“": _quote("“", "”", _DOUBLE, relaxations.CURLY_QUOTES),
    "‘": _quote("‘", "’", _DOUBLE + _SINGLE, relaxations.CURLY_QUOTES),
    "＂": _quote("＂", "＂", _DOUBLE, relaxations.FULL_WIDTH),
    "＇": _quote("＇", "＇", _DOUBLE + _SINGLE, relaxations.FULL_WIDTH),
}
"""The quotes that may open a string. Apostrophes may stand in double curly quotes."""

# The body of a string whose quotes are missing: it goes on to the end of the text, and no bare quote may stand in it.
_BODY: Final = _Quote(closer="", plain=re.compile(r'[^"\\\x00-\x1f]*+'), relaxation=relaxations.BACKSLASH_ESCAPED)

_Pieces = list[tuple[int, str]]


class Strings:
    r"""Reads the strings of one text.

    Python and JavaScript know ``\x41`` and ``\1``, JSON does not. In single quotes that settles it. In double quotes
    the rest of the text decides which of them wrote it, which is known only at its end: `python_at` and `literal_at`
    are where the first escape stands that is right only if the text is Python's, or only if it is not.
    """

    __slots__ = ("literal_at", "opened", "python_at", "repairs", "text")

    def __init__(self, text: str, *, repairs: dict[str, None]) -> None:
        self.text = text
        self.repairs = repairs
        self.python_at: int | None = None
        self.literal_at: int | None = None
        self.opened: dict[str, int] = {}

    def read(self, at: int) -> tuple[str, int]:
        """The string whose opening quote is at ``at``, and the offset after its closing one."""
        quote = QUOTES[self.text[at]]
        if quote.relaxation:
            self.repairs[quote.relaxation] = None
            self.opened[self.text[at]] = self.opened.get(self.text[at], 0) + 1
        pieces: _Pieces = []
        end = _Reading(self, quote, pieces).run(at + 1)
        return "".join([piece for _, piece in pieces]), end + 1

    def doubtful_quote(self) -> str | None:
        """A quote that delimits some strings of the text and stands inside others: either could be a mistake."""
        for opener, times in self.opened.items():
            count = times if opener != "＂" else 2 * times
            if opener in "“‘＂" and self.text.count(opener) != count:
                return opener
        return None

    def pieces(self, at: int) -> _Pieces:
        """The parts of the string at ``at`` with the offsets they came from."""
        pieces: _Pieces = []
        _Reading(self, QUOTES[self.text[at]], pieces).run(at + 1)
        return pieces


def unescaped(text: str, at: int, *, repairs: dict[str, None]) -> list[tuple[int, str]]:
    """The rest of ``text`` as the body of a JSON string, in parts with the offsets they came from."""
    pieces: _Pieces = []
    _Reading(Strings(text, repairs=repairs), _BODY, pieces).run(at)
    return pieces


def python_escape(text: str, at: int) -> Fault:
    """The fault of an escape that Python reads in one way and JSON's readers in another."""
    return Fault(f"JSON has no escape {text[at : at + 2]}: write \\u and four digits, or \\\\ for a backslash", at=at)


def original_offset(pieces: list[tuple[int, str]], at: int) -> int:
    """Where the character ``at`` of the decoded string stood before it was decoded."""
    start, offset = 0, 0
    for start, piece in pieces:
        if at <= offset + len(piece):
            return start + (at - offset if at < offset + len(piece) else len(piece))
        offset += len(piece)
    return start


class _Reading:
    """One string on its way; `kept` and `doubtful` are the first escapes that cannot both stand."""

    __slots__ = ("doubtful", "kept", "pieces", "quote", "strings", "text")

    def __init__(self, strings: Strings, quote: _Quote, pieces: _Pieces) -> None:
        self.strings = strings
        self.text = strings.text
        self.quote = quote
        self.pieces = pieces
        self.kept: int | None = None
        self.doubtful: int | None = None

    def run(self, at: int) -> int:
        """Reads from ``at`` to the closing quote, whose offset it gives."""
        text, closer, pieces = self.text, self.quote.closer, self.pieces
        plain = self.quote.plain.match
        while True:
            run = plain(text, at)
            if run and run.end() > at:
                pieces.append((at, run[0]))
                at = run.end()
            char = text[at : at + 1]
            if char == closer:  # the end of the text, too, where there is no closing quote
                self._check_backslashes()
                return at
            if char == "\\":
                at = self._escape(at)
            elif not char:
                raise Fault("the text ends inside a string", at=at, is_cut_off=True)
            elif char < " ":
                self.strings.repairs[relaxations.CONTROL_CHARACTERS] = None
                pieces.append((at, char))
                at += 1
            else:
                raise Fault(self._foreign(char), at=at)

    def _foreign(self, char: str) -> str:
        if not self.quote.closer:
            return "a quote without a backslash in a text whose other quotes have one"
        return f"the quote {char} inside a string leaves open where the string ends"

    def _escape(self, at: int) -> int:
        """Reads the escape at ``at``."""
        char = self.text[at + 1 : at + 2]
        simple = _SIMPLE.get(char)
        if simple is not None:
            if self.doubtful is None and self._could_be_text(at, char):
                self.doubtful = at
            self.pieces.append((at, simple))
            return at + 2
        if char == "u" and (match := _UNICODE.match(self.text, at)):
            return self._unicode(at, int(match[1], 16))
        if char in "xU" and self.quote.closer and (match := _PYTHON.match(self.text, at)):
            # Eight digits are nobody's path or pattern; two may be.
            if char == "x" and self.quote.closer != "'" and self.strings.python_at is None:
                self.strings.python_at = at
            return self._character(at, int(match[1] or match[2], 16), match.end())
        return self._unknown(at, char)

    def _could_be_text(self, at: int, char: str) -> bool:
        """Whether the escape could be a backslash and a letter: a path, a pattern, a formula."""
        if char in "nrt":
            follower = self.text[at + 2 : at + 3]
            return follower.isalnum() or follower == "_"
        return char != '"'

    def _unicode(self, at: int, code: int) -> int:
        if _HIGH <= code < _LOW and (low := _LOW_ESCAPE.match(self.text, at + 6)):
            return self._character(at, 0x10000 + ((code - _HIGH) << 10) + (int(low[1], 16) - _LOW), at + 12)
        return self._character(at, code, at + 6)

    def _character(self, at: int, code: int, end: int) -> int:
        if _HIGH <= code <= _LAST:
            raise Fault(f"the escape {self.text[at:end]} is half a surrogate pair and no character", at=at)
        self.pieces.append((at, chr(code)))
        return end

    def _unknown(self, at: int, char: str) -> int:
        if not char:
            raise Fault("the text ends inside an escape", at=at + 1, is_cut_off=True)
        if not self.quote.closer:
            raise Fault(f"the escape \\{char} is none of JSON's in a text whose quotes are escaped", at=at)
        if char in "\r\n":
            raise Fault("a backslash before a line break can join the lines or keep them apart", at=at)
        if char in (self.quote.closer, "'"):
            if char == "'" and self.quote.closer != "'":
                self.strings.repairs[relaxations.UNKNOWN_ESCAPES] = None
            self.pieces.append((at, char))
            return at + 2
        if char in _PYTHONS_OWN and (char != "N" or self.text.startswith("{", at + 2)):
            if self.quote.closer == "'":
                raise python_escape(self.text, at)
            self.strings.literal_at = at if self.strings.literal_at is None else self.strings.literal_at
        self.strings.repairs[relaxations.UNKNOWN_ESCAPES] = None
        self.kept = at if self.kept is None else self.kept
        self.pieces.append((at, "\\"))
        # Only the backslash is taken: what follows it means itself, and is checked like any other text.
        return at + 1 if char < " " else self._keep(at + 1, char)

    def _keep(self, at: int, char: str) -> int:
        self.pieces.append((at, char))
        return at + 1

    def _check_backslashes(self) -> None:
        if self.kept is None or self.doubtful is None or self.quote.closer == "'":
            return
        kept, doubtful = (self.text[at : at + 2] for at in (self.kept, self.doubtful))
        raise Fault(
            f"one string has both {kept}, which is no escape, and {doubtful}, which is one: "
            "write every backslash of the text as \\\\",
            at=self.kept,
        )
