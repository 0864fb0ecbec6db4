"""One value, read from left to right without recursion.

The loop keeps the open brackets on a stack of its own, so that depth is a rule and not a crash. Each token is tried
first with one pattern for the form that JSON gives it; only what does not match goes the slow way through comments,
other quotes and words. Every pattern is possessive and starts at a fixed offset: the work is linear in the text,
whatever the text is.

The standard decoder cannot be taught single quotes or comments, and to turn such text into JSON beforehand means
finding where its strings end, which is reading it. A parser of functions that call each other would be easier to
follow, and would end in a RecursionError at a depth that depends on who called. Nothing is ever closed, quoted or made
up here: what is not on the list of relaxations is a Fault at its offset. What would change our minds: a decoder that
is told what to relax, and tells what it has relaxed.
"""

from __future__ import annotations

import re
from typing import Any, Final, NoReturn

from surehand.grammar import relaxations
from surehand.grammar._blanks import Blanks, Place
from surehand.grammar._faults import Fault, clipped
from surehand.grammar._kinds import same_value
from surehand.grammar._numbers import NumberError, to_float, to_int
from surehand.grammar._strings import QUOTES, Strings
from surehand.grammar.limits import MAX_DEPTH

__all__ = ["Scanner"]

_PLAIN_VALUE: Final = re.compile(
    r"[ \t\n\r]*+(?:"
    r'"(?P<text>[^"\\\x00-\x1f]*+)"'
    r"|(?P<integer>-?(?:0|[1-9][0-9]*+))(\.[0-9]++)?+([eE][+-]?[0-9]++)?+(?=[,\]}) \t\n\r，])"
    r"|(?P<word>true|false|null|True|False|None)(?=[,\]}) \t\n\r，])"
    r"|(?P<bracket>[{\[(])[ \t\n\r]*+(?=[\"'{\[0-9])"
    r"|'(?P<single>[^'\\\x00-\x1f]*+)'"
    r")"
)
_PLAIN_KEY: Final = re.compile(
    r"[ \t\n\r]*+(?:\"(?P<text>[^\"\\\x00-\x1f]*+)\"|'(?P<single>[^'\\\x00-\x1f]*+)')[ \t\n\r]*+:"
)
_PLAIN_NEXT: Final = re.compile(r"[ \t\n\r]*+(?:([\]}])|,[ \t\n\r]*+(?=[\"'{\[0-9]))")
_NUMBER: Final = re.compile(r"([+-]?)(?:(?:0|[1-9][0-9]*+)(\.[0-9]++)?+|(\.[0-9]++))([eE][+-]?[0-9]++)?+")
_REST_OF_NUMBER: Final = re.compile(r"[\w.+-]*+")
_WORD: Final = re.compile(r"(?:[^\W\d]|\$)[\w$]*+")

_JSON_WORDS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None}
_PYTHON_WORDS: Final[dict[str, Any]] = {"True": True, "False": False, "None": None}
_WORDS: Final[dict[str, Any]] = _JSON_WORDS | _PYTHON_WORDS
_NO_NUMBERS: Final = frozenset(
    {"NaN", "Infinity", "nan", "inf", "-Infinity", "-NaN", "-nan", "-inf", "+Infinity", "+inf"}
)

_CLOSERS: Final = {"{": "}", "[": "]", "(": ")"}
_FULL_WIDTH: Final = {"｛": "{", "｝": "}", "［": "[", "］": "]", "：": ":", "，": ","}


class _Frame:
    """A bracket that is still open, and what it holds so far."""

    __slots__ = ("at", "closer", "commas", "items", "key", "key_at", "members")

    def __init__(self, opener: str, at: int) -> None:
        self.at = at
        self.closer = _CLOSERS[opener]
        self.members: dict[str, Any] | None = {} if opener == "{" else None
        self.items: list[Any] = []
        self.key = ""
        self.key_at = at
        self.commas = 0

    @property
    def value(self) -> Any:
        return self.items if self.members is None else self.members


class Scanner:
    """Reads values of one text, and remembers in `repairs` what it had to forgive."""

    __slots__ = ("blanks", "repairs", "strings", "text")

    def __init__(self, text: str, *, repairs: dict[str, None]) -> None:
        self.text = text
        self.repairs = repairs
        self.blanks = Blanks(text, repairs=repairs)
        self.strings = Strings(text, repairs=repairs)

    def read(self, at: int) -> tuple[Any, int]:
        """The value that begins at ``at``, and the offset behind it."""
        stack: list[_Frame] = []
        while True:
            value, at, opened = self._begin(at, stack)
            if opened:
                continue
            while stack:
                frame = stack[-1]
                self._hold(frame, value)
                at, is_closed = self._go_on(at, frame, value)
                if not is_closed:
                    break
                value = frame.value
                stack.pop()
            else:
                return value, at

    def _begin(self, at: int, stack: list[_Frame]) -> tuple[Any, int, bool]:
        """Reads a scalar or an empty container, or opens a bracket up to where its first value begins."""
        found = _PLAIN_VALUE.match(self.text, at) if stack else None
        if found is None:
            return self._begin_slowly(at, stack)
        kind = found.lastgroup
        if kind == "bracket":
            return self._open(found["bracket"], found.start("bracket"), found.end(), stack)
        if kind == "text":
            value: Any = found["text"]
        elif kind == "single":
            self.repairs[relaxations.SINGLE_QUOTES] = None
            value = found["single"]
        elif kind == "word":
            value = self._known_word(found["word"])
        elif kind == "integer":
            value = self._checked(to_int, found["integer"], at=found.start("integer"))
        else:  # the groups for fraction and exponent have no name
            start = found.start("integer")
            value = self._checked(to_float, self.text[start : found.end()], at=start)
        return value, found.end(), False

    def _begin_slowly(self, at: int, stack: list[_Frame]) -> tuple[Any, int, bool]:
        at = self.blanks.skip(at, Place.BEFORE_VALUE) if stack else at
        char = self._mark(at)
        if char in _CLOSERS:
            return self._open(char, at, at + 1, stack)
        if char in QUOTES:
            value, at = self.strings.read(at)
        elif char in "+-.0123456789" and char:
            value, at = self._number(at)
        else:
            value, at = self._word(at, char)
        return value, at, False

    def _open(self, char: str, at: int, end: int, stack: list[_Frame]) -> tuple[Any, int, bool]:
        if len(stack) >= MAX_DEPTH:
            raise Fault(f"the brackets are nested more than {MAX_DEPTH} deep", at=at)
        if self.text[end : end + 1] == _CLOSERS[char]:
            return self._empty(char), end + 1, False
        frame = _Frame(char, at)
        inside = self.blanks.skip(end, Place.BEFORE_VALUE if frame.members is None else Place.ELSEWHERE)
        if self._mark(inside) == frame.closer:
            if at < self.blanks.comment_at < inside:
                raise Fault("a comment stands where values were expected: send every value", at=self.blanks.comment_at)
            self._check_bare_breaks(end, inside, frame)
            return self._empty(char), inside + 1, False
        stack.append(frame)
        return None, (inside if frame.members is None else self._key(inside, frame)), True

    def _check_bare_breaks(self, start: int, end: int, frame: _Frame) -> None:
        r"""In ``[\n]`` the line break could be the item itself, only without its quotes."""
        if frame.members is None and self.text.find("\\", start, end) >= 0:
            raise Fault("an escape stands where a value is expected: put text in double quotes", at=start)

    def _empty(self, char: str) -> Any:
        if char == "(":
            self.repairs[relaxations.TUPLES] = None
        return {} if char == "{" else []

    def _mark(self, at: int) -> str:
        """The character at ``at``, a full-width bracket, colon or comma in its usual form; empty at the end."""
        char = self.text[at : at + 1]
        usual = _FULL_WIDTH.get(char)
        if usual is None:
            return char
        self.repairs[relaxations.FULL_WIDTH] = None
        return usual

    def _hold(self, frame: _Frame, value: Any) -> None:
        """Puts a value into its container."""
        members = frame.members
        if members is None:
            frame.items.append(value)
        elif frame.key not in members:
            members[frame.key] = value
        elif same_value(members[frame.key], value):
            self.repairs[relaxations.REPEATED_KEYS] = None
        else:
            raise Fault(
                f"the key {clipped(frame.key)} stands twice in one object, with different values", at=frame.key_at
            )

    def _go_on(self, at: int, frame: _Frame, value: Any) -> tuple[int, bool]:
        """From behind a value to the next one in the bracket (False) or behind the closing bracket (True)."""
        found = _PLAIN_NEXT.match(self.text, at)
        if found is None:
            return self._go_on_slowly(at, frame, value)
        closer = found[1]
        if closer is None:
            frame.commas += 1
            return self._next(found.end(), frame), False
        if closer == frame.closer:
            return found.end(), True
        return self._go_on_slowly(at, frame, value)

    def _go_on_slowly(self, at: int, frame: _Frame, value: Any) -> tuple[int, bool]:
        at = self.blanks.skip(at, _place_after(value))
        char = self._mark(at)
        if char == frame.closer:
            return self._close(at, frame), True
        if char != ",":
            self._refuse_after_value(at, char, frame, value)
        frame.commas += 1
        after = self.blanks.skip(at + 1, Place.BEFORE_VALUE if frame.members is None else Place.ELSEWHERE)
        if self._mark(after) != frame.closer:
            return self._next(after, frame), False
        self._check_bare_breaks(at + 1, after, frame)
        if frame.closer != ")":
            self.repairs[relaxations.TRAILING_COMMAS] = None
        return self._close(after, frame), True

    def _next(self, at: int, frame: _Frame) -> int:
        return at if frame.members is None else self._key(at, frame)

    def _close(self, at: int, frame: _Frame) -> int:
        if frame.closer == ")":
            if not frame.commas:
                raise Fault("parentheses round a single value are no list: send the value alone", at=frame.at)
            self.repairs[relaxations.TUPLES] = None
        return at + 1

    def _key(self, at: int, frame: _Frame) -> int:
        """Reads a key and its colon."""
        found = _PLAIN_KEY.match(self.text, at)
        if found is not None:
            kind = found.lastgroup or ""
            frame.key = found[kind]
            frame.key_at = found.start(kind) - 1
            if kind == "single":
                self.repairs[relaxations.SINGLE_QUOTES] = None
            return found.end()
        frame.key_at = at
        frame.key, end = self._unusual_key(at)
        end = self.blanks.skip(end, Place.ELSEWHERE)
        char = self._mark(end)
        if char != ":":
            self._refuse(end, f"expected ':' after the key {clipped(frame.key)}")
        return end + 1

    def _unusual_key(self, at: int) -> tuple[str, int]:
        if self.text[at : at + 1] in QUOTES:
            return self.strings.read(at)
        word = _WORD.match(self.text, at)
        if word is None:
            self._refuse(at, "expected a key in double quotes")
        if word[0] in _WORDS or word[0] in _NO_NUMBERS:
            raise Fault(f"the word {word[0]} is no key: put keys in double quotes", at=at)
        self.repairs[relaxations.UNQUOTED_KEYS] = None
        return word[0], word.end()

    def _number(self, at: int) -> tuple[Any, int]:
        found = _NUMBER.match(self.text, at)
        if found is None:
            return self._word(at, self.text[at])
        rest = _REST_OF_NUMBER.match(self.text, found.end())
        if rest and rest[0]:
            self._refuse_number(at, rest.end())
        sign, fraction, bare_fraction, exponent = found.groups()
        if sign == "+" or bare_fraction:
            self.repairs[relaxations.LOOSE_NUMBERS] = None
        convert = to_float if fraction or bare_fraction or exponent else to_int
        return self._checked(convert, found[0], at=at), found.end()

    def _checked(self, convert: Any, literal: str, *, at: int) -> Any:
        try:
            return convert(literal)
        except NumberError as error:
            raise Fault(str(error), at=at) from error

    def _word(self, at: int, char: str) -> tuple[Any, int]:
        """Reads true, None and their like; everything else that is no value ends here."""
        found = _WORD.match(self.text, at)
        if found is None:
            self._refuse_value(at, char)
        word = found[0]
        if word not in _WORDS:
            self._refuse_word(at, word, found.end())
        return self._known_word(word), found.end()

    def _known_word(self, word: str) -> Any:
        if word in _PYTHON_WORDS:
            self.repairs[relaxations.PYTHON_WORDS] = None
        return _WORDS[word]

    def _refuse_word(self, at: int, word: str, end: int) -> NoReturn:
        if word in _NO_NUMBERS:
            raise Fault(f"{word} is no JSON number: send null or leave it out", at=at)
        if self.text[end : end + 1] in ("(", "[", "."):
            raise Fault(f"code is not run: send the result instead of {clipped(word)}", at=at)
        is_cut_off = end == len(self.text) and any(known.startswith(word) for known in _WORDS)
        if is_cut_off:
            raise Fault("the text ends inside a word", at=end, is_cut_off=True)
        raise Fault(f"the word {clipped(word)} is no value: put text in double quotes", at=at)

    def _refuse_number(self, at: int, end: int) -> NoReturn:
        literal = self.text[at:end]
        if end == len(self.text):
            raise Fault("the text ends inside a number", at=end, is_cut_off=True)
        if literal.lstrip("+-")[:1] == "0" and literal.lstrip("+-")[1:2].isdigit():
            raise Fault("a number has a leading zero: put it in double quotes if it is text", at=at)
        raise Fault(f"{clipped(literal)} is no number: send a plain number, or text in double quotes", at=at)

    def _refuse_value(self, at: int, char: str) -> NoReturn:
        if not char:
            raise Fault("the text ends where a value is expected", at=at, is_cut_off=True)
        if char in ",]})":
            raise Fault(f"a value is missing before {char!r}", at=at)
        sign = _WORD.match(self.text, at + 1) if char in "+-" else None
        if sign and char + sign[0] in _NO_NUMBERS:
            raise Fault(f"{char}{sign[0]} is no JSON number: send null or leave it out", at=at)
        if self.text.startswith("...", at) or char == "…":
            raise Fault("dots stand for something left out: send every value", at=at)
        if char in "+-." and at + 1 == len(self.text):
            raise Fault("the text ends inside a number", at=at + 1, is_cut_off=True)
        self._refuse(at, "expected a value")

    def _refuse_after_value(self, at: int, char: str, frame: _Frame, value: Any) -> NoReturn:
        expected = f"expected ',' or {frame.closer!r} after the value"
        if char and char in "+-*/%^" and type(value) in (int, float):
            raise Fault("arithmetic is not worked out: send the result", at=at)
        if char in QUOTES and isinstance(value, str):
            raise Fault(f"{expected}: put a backslash before a quote inside a string", at=at)
        self._refuse(at, expected)

    def _refuse(self, at: int, expected: str) -> NoReturn:
        """Refuses with what was found in place of ``expected``."""
        if at >= len(self.text):
            raise Fault(f"the text ends too early: {expected}", at=at, is_cut_off=True)
        raise Fault(f"{expected}, found {clipped(self.text[at])}", at=at)


def _place_after(value: Any) -> Place:
    if isinstance(value, str):
        return Place.AFTER_TEXT
    return Place.ELSEWHERE if isinstance(value, dict | list) else Place.AFTER_NUMBER
