r"""Patterns of JSON Schemas: read as JavaScript reads them, and matched in bounded time.

An author's ``^(a+)+$`` keeps a matcher that tries every way busy for minutes, with thirty characters of a model. The
validator's own engine takes time in proportion to the text, so that such a pattern is none to fear. Two kinds are left:
those with lookarounds or back references, which can only be tried, and those that unfold to very much, such as
``(a{0,100}){0,100}``. Both are matched by ``BoundedPattern``: so many steps back, so much text in one call, and what
goes beyond is refused in words. What would change our minds: an engine with a budget of its own.

Authors also write what only JavaScript's old mode takes, ``[\w-.]`` or a lone ``{``. It has one meaning, so
``readable`` writes it as the engine wants it.
"""

from __future__ import annotations

import importlib
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

__all__ = ["MAX_TEXT", "QUICK_SIZE", "BoundedPattern", "bounded_pattern", "new_budget", "readable"]

QUICK_SIZE: Final = 300_000
"""The most bytes of a compiled pattern that texts of any length are matched against."""
MAX_TEXT: Final = 20_000
"""The most characters that are matched against any other pattern."""
_FULL_SIZE: Final = 10_000_000
_MAX_FOR_LARGE: Final = 300
"""The most characters that are matched against a pattern that is neither quick nor has to be tried, but large."""
_LARGE: Final = 50
"""How many characters' worth of work one character makes there."""
_MAX_CALL: Final = 50_000
"""The most characters of one call that are matched in this way, which takes about a tenth of a second."""
_LONG: Final = 1_000
"""From so many characters on, fewer steps back are allowed: the engine counts them anew from each character."""
_STEPS: Final = 10_000
_STEPS_WHERE_LONG: Final = 1_000

_QUANTIFIER: Final = re.compile(r"\{\d+(?:,\d*)?\}")
_SHORTHAND: Final = re.compile(r"\\[dDwWsS]")
_ESCAPES: Final[Mapping[str, str]] = {r"\Z": "$", r"\<": "<", r"\>": ">"}
r"""``\Z`` is Python's for the very end; ``\<`` and ``\>`` are plain characters to all but the engine."""


def readable(pattern: str) -> str:
    """The pattern without what only JavaScript's old mode allows; with the same meaning."""
    found: list[str] = []
    at = 0
    while at < len(pattern):
        match pattern[at]:
            case "\\":
                piece, at = _escape(pattern, at, is_in_set=False)
            case "[":
                piece, at = _set(pattern, at)
            case "{" if quantifier := _QUANTIFIER.match(pattern, at):
                piece, at = quantifier[0], quantifier.end()
            case "{":
                piece, at = r"\{", at + 1
            case character:
                piece, at = character, at + 1
        found.append(piece)
    return "".join(found)


def _escape(pattern: str, at: int, *, is_in_set: bool) -> tuple[str, int]:
    """One escape as the engine wants it, and where it ends."""
    piece = pattern[at : at + 2]
    following = pattern[at + 2 : at + 3]
    if piece in (r"\p", r"\P", r"\u", r"\x") and following == "{":
        end = pattern.find("}", at) + 1 or len(pattern)
        return pattern[at:end], end
    if piece == r"\0" and not following.isdecimal():
        return r"\x00", at + 2
    if is_in_set and piece == r"\b":
        return r"\x08", at + 2
    if not is_in_set and piece in _ESCAPES:
        return _ESCAPES[piece], at + 2
    return piece if piece.isascii() else piece[1:], at + 2


def _set(pattern: str, at: int) -> tuple[str, int]:
    """One set of characters as the engine wants it, and where it ends."""
    is_negated = pattern[at + 1 : at + 2] == "^"
    at += 2 if is_negated else 1
    if pattern[at : at + 1] == "]":
        return (r"[\s\S]" if is_negated else r"[^\s\S]"), at + 1
    pieces: list[str] = []
    while at < len(pattern) and pattern[at] != "]":
        if pattern[at] == "\\":
            piece, at = _escape(pattern, at, is_in_set=True)
        else:
            piece, at = pattern[at], at + 1
        pieces.append(piece)
    inner = "".join(_dash(pieces, index) if piece == "-" else piece for index, piece in enumerate(pieces))
    return f"[{'^' if is_negated else ''}{inner}{pattern[at : at + 1]}", at + 1


def _dash(pieces: list[str], index: int) -> str:
    r"""A dash beside ``\w`` and its like stands for itself, as no range begins or ends there."""
    beside = [*pieces[max(index - 1, 0) : index], *pieces[index + 1 : index + 2]]
    return r"\-" if any(_SHORTHAND.fullmatch(piece) for piece in beside) else "-"


_MISMATCH: Final = "must match"
_MAX_KNOWN: Final = 16
"""How many texts are remembered for each pattern."""


class _Budget(threading.local):
    left = 0


_budget = _Budget()


def new_budget() -> None:
    """Begin a call: from now on this thread may match as much text as one call is allowed."""
    _budget.left = _MAX_CALL


class BoundedPattern:
    """The keyword ``pattern`` for schemas whose patterns the quick engine does not take.

    Raises:
        ValueError: No engine can read the pattern.
    """

    written: Mapping[str, str] = {}
    """Pattern as the engine reads it -> as its author wrote it."""

    def __init__(self, _schema: dict[str, Any], pattern: Any, _path: list[str | int]) -> None:
        self._shown = repr(self.written.get(pattern, pattern))
        self._why_not = _matcher(pattern)

    def iter_errors(self, instance: Any) -> Iterator[ValueError]:
        """What is wrong with the text, in words for a model."""
        problem = self._why_not(instance) if isinstance(instance, str) else ""
        if problem:
            yield ValueError(f"{problem} the pattern {self._shown}")

    def validate(self, instance: Any) -> None:
        """Check the text.

        Raises:
            ValueError: It does not match, or cannot be matched in time.
        """
        for error in self.iter_errors(instance):
            raise error


def bounded_pattern(written: Mapping[str, str]) -> type[BoundedPattern]:
    """The keyword for one schema, which knows how the author wrote its patterns."""
    return type("BoundedPattern", (BoundedPattern,), {"written": written})


def _matcher(pattern: str) -> Callable[[str], str]:
    """Text -> why it does not match, empty where it does."""
    package = importlib.import_module("jsonschema_rs")
    if (quick := _engine(pattern, package.RegexOptions(size_limit=QUICK_SIZE))) is not None:
        return lambda text: "" if quick.is_valid(text) else _MISMATCH
    if (large := _engine(pattern, package.RegexOptions(size_limit=_FULL_SIZE))) is not None:
        return _bounded(lambda text: "" if large.is_valid(text) else _MISMATCH, most=_MAX_FOR_LARGE, price=_LARGE)
    few, many = (
        _engine(pattern, package.FancyRegexOptions(backtrack_limit=steps, size_limit=_FULL_SIZE))
        for steps in (_STEPS_WHERE_LONG, _STEPS)
    )
    if few is None or many is None:
        raise ValueError(pattern)
    return _bounded(lambda text: _tried(few if len(text) > _LONG else many, text), most=MAX_TEXT, price=1)


def _engine(pattern: str, options: Any) -> Any:
    package = importlib.import_module("jsonschema_rs")
    try:
        return package.Draft202012Validator({"pattern": pattern}, pattern_options=options)
    except package.ValidationError:
        return None


def _tried(engine: Any, text: str) -> str:
    if engine.is_valid(text):
        return ""
    has_given_up = any(type(error.kind).__name__ != "Pattern" for error in engine.iter_errors(text))
    return "took too long to be matched against" if has_given_up else _MISMATCH


def _bounded(search: Callable[[str], str], *, most: int, price: int) -> Callable[[str], str]:
    """The search, within the call's budget; a call asks several times about one text, and pays once."""
    known: dict[str, str] = {}

    def why_not(text: str) -> str:
        if (found := known.get(text)) is not None:
            return found
        if len(text) > most or len(text) * price > _budget.left:
            return "is too long to be matched against"
        _budget.left -= len(text) * price + 1
        if len(known) >= _MAX_KNOWN:
            known.clear()
        return known.setdefault(text, search(text))

    return why_not
