"""What may stand round the value: marks, fences, tags, quotes, and the value once more.

Text before or after the value is never dropped because it looks unimportant. It has to be one of the known marks,
which carry nothing.

To search for the first brace and the last one would find the value in many more texts, and also a brace in a sentence,
in an example, or in the second of two calls. So nothing is searched for: the text is entered from the left mark by
mark, and has to end where the value does. The price is that a model which adds a friendly sentence is asked again.
Some faults show only at the end, such as a quote that could have been read in two ways (``check_delimiters``) or a
closer too many. What would change our minds: recorded calls with words round the value that cannot be another value.
"""

from __future__ import annotations

import re
from typing import Any, Final, NoReturn

from surehand.grammar import relaxations
from surehand.grammar._blanks import Place
from surehand.grammar._faults import Fault
from surehand.grammar._kinds import is_list, is_object, kind_of, same_value
from surehand.grammar._plain import NOT_PLAIN, is_well_formed, read_plain
from surehand.grammar._scanner import Scanner
from surehand.grammar._strings import QUOTES, original_offset, python_escape, unescaped

__all__ = ["read_object", "read_value"]

_TAGS: Final = (
    "<tool_call>",
    "</tool_call>",
    "<tool_calls>",
    "</tool_calls>",
    "<function_call>",
    "</function_call>",
    "<|python_tag|>",
    "<|tool_call|>",
)
_OPENING_TAG: Final = re.compile(r"<(?:tool_calls?|function_call|\|python_tag\||\|tool_call\|)>")
_TAG: Final = re.compile(r"</?(?:tool_calls?|function_call)>|<\|(?:python_tag|tool_call)\|>")
_LONGEST_TAG: Final = max(map(len, _TAGS))

# The info string is a line of its own, or one word before a value on the same line; it has no mark of a value.
_FENCE: Final = re.compile(
    r"`{3,}+(?:[^`\r\n{\\\[\"'(“‘＂＇｛［]*+[\r\n]|[ \t]*+[\w+.#-]*+[ \t]*+(?=[{\\\[\"'(“‘＂＇｛［]))"
)
_FENCE_END: Final = re.compile(r"`++")
_SURPLUS: Final = re.compile(r"[}\]｝］]++")
_ESCAPED: Final = re.compile(r"[{\[](?:[ \t\n\r]|\\[ntr])*+\\++\"")
_WORD: Final = re.compile(r"[^\W\d]\w*+")
_LONE_WORDS: Final = frozenset({"null", "None", "true", "True", "false", "False"})
_MAX_LEVELS: Final = 2
_SURROGATE: Final = re.compile("[\ud800-\udfff]")

_BRACKETS: Final = (("{", "}"), ("[", "]"), ("｛", "｝"), ("［", "］"))
_SEVERAL: Final = frozenset({relaxations.REPEATED_OBJECT, relaxations.EMPTY_OBJECT_BESIDE})
_PYTHON_MARKS: Final = frozenset({relaxations.SINGLE_QUOTES, relaxations.PYTHON_WORDS, relaxations.TUPLES})


def read_object(text: str, *, repairs: dict[str, None], level: int = 0) -> dict[str, Any]:
    """The one object that ``text`` is, or Fault."""
    value = _read(text, repairs=repairs, level=level, wants_object=True)
    if value is None and not level:
        repairs[relaxations.NO_ARGUMENTS] = None
        return {}
    if is_list(value) and len(value) == 1 and is_object(value[0]):
        repairs[relaxations.SINGLE_ITEM_LIST] = None
        value = value[0]
    if not is_object(value):
        raise Fault(f"they must be an object, got {kind_of(value)}", at=None)
    return value


def read_value(text: str, *, repairs: dict[str, None]) -> Any:
    """The one value that ``text`` is, or Fault."""
    return _read(text, repairs=repairs, level=0, wants_object=False)


def _read(text: str, *, repairs: dict[str, None], level: int, wants_object: bool) -> Any:
    value = read_plain(text)
    if value is not NOT_PLAIN and not (wants_object and isinstance(value, str)):
        return value
    if not is_well_formed(text):
        found = _SURROGATE.search(text)
        raise Fault("half a surrogate pair is no character", at=found and found.start())
    document = _Document(text, level=level, wants_object=wants_object)
    value = document.read()
    document.check_delimiters()
    repairs.update(document.repairs)
    return value


class _Document:
    """One text on its way from the first mark to the last."""

    __slots__ = ("level", "repairs", "scanner", "text", "wants_object")

    def __init__(self, text: str, *, level: int, wants_object: bool) -> None:
        self.text = text
        self.level = level
        self.wants_object = wants_object
        self.repairs: dict[str, None] = {}
        self.scanner = Scanner(text, repairs=self.repairs)

    def read(self) -> Any:
        at = self._enter()
        if at == len(self.text):
            return self._nothing()
        char = self.text[at]
        if _ESCAPED.match(self.text, at):
            return self._escaped(at)
        if self.wants_object and char in QUOTES:
            return self._encoded(at)
        if self.wants_object:
            self._check_start(at)
        value, end = self.scanner.read(at)
        if is_object(value):
            value, end = self._repeated(value, end)
        self._leave(end, closers=is_object(value))
        return value

    def _check_start(self, at: int) -> None:
        word = _WORD.match(self.text, at)
        if word and word[0] not in _LONE_WORDS:
            raise Fault("other text stands where the object should begin: send the object alone", at=at)

    def check_delimiters(self) -> None:
        """Refuses escapes and quotes of which only the whole text shows that they can be read in two ways."""
        strings = self.scanner.strings
        is_python = bool(_PYTHON_MARKS & self.repairs.keys())
        at = strings.literal_at if is_python else strings.python_at
        if at is not None:
            raise python_escape(self.text, at)
        if quote := strings.doubtful_quote():
            raise Fault(f"the quote {quote} ends strings and stands in others: use plain double quotes", at=None)

    def _skip(self, at: int) -> int:
        return self.scanner.blanks.skip(at, Place.OUTSIDE)

    def _enter(self) -> int:
        """The offset where the value begins."""
        at = 0
        if self.text.startswith("\ufeff"):
            self.repairs[relaxations.BYTE_ORDER_MARK] = None
            at = 1
        while True:
            at = self._skip(at)
            if tag := _OPENING_TAG.match(self.text, at):
                self.repairs[relaxations.CALL_TAGS] = None
                at = tag.end()
            elif relaxations.CODE_FENCE not in self.repairs and (fence := _FENCE.match(self.text, at)):
                self.repairs[relaxations.CODE_FENCE] = None
                at = fence.end()
            else:
                return at

    def _nothing(self) -> None:
        """Blank text is no arguments; blank text between marks is a text whose value got lost."""
        if self.wants_object and not self.level and self.repairs.keys() <= {relaxations.BYTE_ORDER_MARK}:
            return
        raise Fault("the text ends before a value begins", at=len(self.text), is_cut_off=True)

    def _encoded(self, at: int) -> Any:
        """The object inside the string at ``at``."""
        content, end = self.scanner.strings.read(at)
        self._leave(end, closers=False)
        return self._inner(content, relaxations.STRING_ENCODED, lambda: self.scanner.strings.pieces(at))

    def _escaped(self, at: int) -> Any:
        pieces = unescaped(self.text, at, repairs=self.repairs)
        content = "".join([piece for _, piece in pieces])
        return self._inner(content, relaxations.BACKSLASH_ESCAPED, lambda: pieces)

    def _inner(self, content: str, relaxation: str, pieces: Any) -> Any:
        if not content.lstrip(" \t\n\r\ufeff").startswith(tuple("{[\"'“‘＂＇｛［`<(")):
            raise Fault("they must be an object, got a text", at=None)
        if self.level >= _MAX_LEVELS:
            raise Fault("the object is inside a text inside a text inside a text: send the object itself", at=None)
        self.repairs[relaxation] = None
        try:
            if self.wants_object:
                return read_object(content, repairs=self.repairs, level=self.level + 1)
            return _read(content, repairs=self.repairs, level=self.level + 1, wants_object=False)
        except Fault as fault:
            at = fault.at if fault.at is None else original_offset(pieces(), fault.at)
            raise Fault(fault.reason, at=at, is_cut_off=fault.is_cut_off) from fault

    def _repeated(self, value: dict[str, Any], end: int) -> tuple[dict[str, Any], int]:
        """The one object that several in a row amount to."""
        while True:
            at = self.scanner.blanks.skip_blanks(end)
            if self.text[at : at + 1] not in ("{", "｛"):
                return value, end
            other, end = self.scanner.read(at)
            if same_value(value, other):
                self.repairs[relaxations.REPEATED_OBJECT] = None
            elif value and other:
                raise Fault("two different JSON objects, one after the other: send one call per object", at=at)
            else:
                self.repairs[relaxations.EMPTY_OBJECT_BESIDE] = None
                value = value or other

    def _leave(self, at: int, *, closers: bool) -> None:
        """Checks that nothing stands behind the value but what may."""
        while (at := self._skip(at)) < len(self.text):
            if closers and (found := _SURPLUS.match(self.text, at)):
                self._check_surplus(at)
                at = found.end()
            elif found := _TAG.match(self.text, at):
                self.repairs[relaxations.CALL_TAGS] = None
                at = found.end()
            elif found := _FENCE_END.match(self.text, at):
                self.repairs[relaxations.CODE_FENCE] = None
                at = found.end()
            elif self._is_cut_tag(at):
                self.repairs[relaxations.CALL_TAGS] = None
                return
            else:
                self._refuse_rest(at)

    def _check_surplus(self, at: int) -> None:
        """Refuses closers that may close a bracket which got into a string or a comment, or one of several objects."""
        self.repairs[relaxations.SURPLUS_CLOSERS] = None
        behind = self.text[at:]
        is_surplus = all(
            self.text.count(closer) - self.text.count(opener) == behind.count(closer) for opener, closer in _BRACKETS
        )
        if not is_surplus or _SEVERAL & self.repairs.keys():
            raise Fault(f"the {self.text[at]!r} closes nothing: check the quotes and brackets before it", at=at)

    def _is_cut_tag(self, at: int) -> bool:
        rest = self.text[at : at + _LONGEST_TAG + 1].rstrip()
        is_last = self.scanner.blanks.skip_blanks(at + len(rest)) == len(self.text)
        return is_last and any(tag.startswith(rest) for tag in _TAGS)

    def _refuse_rest(self, at: int) -> NoReturn:
        if self.text[at] in "{[｛［":
            raise Fault("a second JSON value stands behind the first: send one call per object", at=at)
        if self.text[at] in ":：":
            raise Fault("a key stands outside any object: the opening '{' is missing", at=at)
        raise Fault("more text stands behind the value: send the object alone", at=at)
