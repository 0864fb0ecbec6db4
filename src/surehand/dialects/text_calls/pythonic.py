"""Calls as Python: ``[f(a=1), g(b="x")]``, as Llama 3.2 and 4, Gemma 3 and LFM2 write them.

Nothing is evaluated. Values are literals only, and are read by the grammar that reads JSON arguments, after each token
was translated into JSON's: a string by Python's escapes, a word if it is one of the three that JSON has. Names,
operators, calls as values and arguments without a name leave the call broken.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, Final

from surehand.dialects.text_calls.offered import Block, Offered, broken_call, call_of, without_end_tokens
from surehand.errors import MalformedArguments
from surehand.grammar import parse_value
from surehand.messages import ToolCall

__all__ = ["calls_may_begin", "list_may_begin", "read_calls", "read_only_calls"]

_TOKEN: Final = re.compile(
    r"""\s++
    | (?P<string>"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+')
    | (?P<number>[+-]?(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?)
    | (?P<word>[^\W\d][\w.-]*+)
    | (?P<mark>[\[\](){}:,=;])""",
    re.DOTALL | re.VERBOSE,
)
_ESCAPE: Final = re.compile(
    r"\\(?:(?P<hex>x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})|(?P<octal>[0-7]{1,3})|(?P<char>.))", re.DOTALL
)
_ESCAPES: Final = {
    "\n": "",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}
_WORDS: Final = {"True": "true", "False": "false", "None": "null", "true": "true", "false": "false", "null": "null"}
_OPENERS: Final = frozenset("[({")
_CLOSERS: Final = frozenset("])}")
_BUILT_IN: Final = ".call"
_HEAD: Final = re.compile(r"\[?+\s*+([^\W\d][\w.-]*+)\(\s*+(?:\)|[^\W\d]\w*+\s*+=)")

_NAME: Final = re.compile(r"[^\W\d][\w.-]*+")
_MAX_TOKENS: Final = 100_000
"""A long honest call is one long text, which is one token."""
_WINDOW: Final = 200
"""Names are shorter."""

_Token = tuple[str, str]
"""What it is (string, number, word, mark), and its text: a string as JSON."""


class _Unreadable(Exception):
    """The text is no call with literals for arguments."""


class _Beside(_Unreadable):
    """Something else stands between or behind calls that are complete."""


def calls_may_begin(text: str, offered: Offered) -> bool:
    """Whether a call begins here, with or without a list round it."""
    return list_may_begin(text, offered) or _call_may_begin(text, offered)


def list_may_begin(text: str, offered: Offered) -> bool:
    """Whether a list of calls begins here."""
    return not text or (text.startswith("[") and _call_may_begin(text[1:].lstrip(), offered))


def read_calls(block: Block, offered: Offered) -> list[ToolCall]:
    """The calls of tools that were offered; one broken call where the text cannot be read, or stops before its end."""
    text = without_end_tokens(block.text)
    try:
        found = _calls_in(text)
    except _Unreadable:
        head = _HEAD.match(text)
        name = None if head is None else offered.own(head.group(1).removesuffix(_BUILT_IN))
        return [] if name is None else [broken_call(name, text)]
    return [call_of(own, args) for name, args in found if (own := offered.own(name)) is not None]


def read_only_calls(text: str, offered: Offered) -> list[ToolCall] | None:
    """The calls that the text is; None where it is anything else, or a call of a tool that was not offered."""
    try:
        found = [(offered.own(name), args) for name, args in _calls_in(text)]
    except _Beside:
        return None
    except _Unreadable:
        return read_calls(Block(text, is_closed=False), offered) if _is_cut_off(text) else None
    calls = [call_of(name, args) for name, args in found if name is not None]
    return calls if calls and len(calls) == len(found) else None


def _is_cut_off(text: str) -> bool:
    """Whether a broken text may be a call all the same: nothing but a call ends so, and a sentence ends otherwise."""
    is_open = text.count("(") > text.count(")") or text.count("[") > text.count("]")
    return is_open or text.endswith(("]", ")"))


def _call_may_begin(text: str, offered: Offered) -> bool:
    name, bracket, _ = text[:_WINDOW].partition("(")
    if bracket:
        return offered.own(name.removesuffix(_BUILT_IN)) is not None
    ends = [_BUILT_IN[:length] for length in range(1, len(_BUILT_IN) + 1) if name.endswith(_BUILT_IN[:length])]
    names = [name, *(name.removesuffix(end) for end in ends)]
    return not name or (_NAME.fullmatch(name) is not None and any(offered.may_become(part) for part in names))


def _calls_in(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Names and arguments; a list of calls, or calls one after the other."""
    tokens = chain(islice(_tokens(text), _MAX_TOKENS), [("end", "")])
    kind, piece = next(tokens)
    is_list = piece == "["
    if is_list:
        kind, piece = next(tokens)
    found: list[tuple[str, dict[str, Any]]] = []
    while kind == "word":
        found.append((piece.removesuffix(_BUILT_IN), _arguments(tokens)))
        kind, piece = next(tokens)
        if piece in (",", ";"):
            kind, piece = next(tokens)
        elif is_list and piece != "]":
            raise _beside(kind)
    if is_list:
        if piece != "]":
            raise _beside(kind)
        kind, piece = next(tokens)
    if kind != "end" or not found:
        raise _Beside
    return found


def _beside(kind: str) -> _Unreadable:
    return _Unreadable() if kind == "end" else _Beside()


def _arguments(tokens: Iterator[_Token]) -> dict[str, Any]:
    """What stands in the brackets behind a name."""
    kind, opener = next(tokens)
    if opener != "(":
        raise _beside(kind)
    args: dict[str, Any] = {}
    kind, name = next(tokens)
    while kind == "word":
        if next(tokens)[1] != "=" or name in args:
            raise _Unreadable
        args[name], end = _value(tokens)
        kind, name = next(tokens) if end == "," else ("mark", end)
    if name != ")":
        raise _Unreadable
    return args


def _value(tokens: Iterator[_Token]) -> tuple[Any, str]:
    """A literal, and the comma or bracket behind it."""
    parts: list[str] = []
    depth = 0
    for kind, piece in tokens:
        if kind == "end" or piece == ";" or (kind == "word" and piece not in _WORDS):
            raise _Unreadable
        if not depth and piece in (",", ")"):
            return _parsed(" ".join(parts)), piece
        if kind == "mark":
            depth += (piece in _OPENERS) - (piece in _CLOSERS)
        parts.append(_WORDS[piece] if kind == "word" else piece)
    raise _Unreadable


def _parsed(text: str) -> Any:
    try:
        return parse_value(text)[0]
    except MalformedArguments as error:
        raise _Unreadable from error


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise _Unreadable
        at = found.end()
        kind = found.lastgroup
        if kind == "string":
            yield "string", json.dumps(_ESCAPE.sub(_unescaped, found.group()[1:-1]), ensure_ascii=False)
        elif kind is not None:
            yield kind, found.group()


def _unescaped(escape: re.Match[str]) -> str:
    code, octal, char = escape.group("hex", "octal", "char")
    if code or octal:
        number = int(code[1:], 16) if code else int(octal, 8)
        if number > sys.maxunicode:
            raise _Unreadable
        return chr(number)
    if char == "N":  # a character by its name: no model was seen to write one
        raise _Unreadable
    return _ESCAPES.get(char, escape.group())
