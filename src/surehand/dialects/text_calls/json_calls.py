"""Calls as JSON: ``{"name": …, "arguments": …}``, one object, several or a list of them.

Hermes, Qwen, SmolLM, Granite, Phi, Command-R, Nemotron, xLAM and Llama are trained on it, each with marks of its own
round it and names of its own for the two fields.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

from surehand.dialects.text_calls.offered import Block, Offered, broken_call, call_of, without_end_tokens
from surehand.errors import MalformedArguments
from surehand.grammar import parse_arguments, parse_value
from surehand.messages import ToolCall
from surehand.shapes import items_of, mapping_of

__all__ = [
    "end_before_words",
    "end_of_data",
    "is_settled_text",
    "json_may_begin",
    "read_json",
    "read_json_run",
    "read_only_json",
    "run_may_begin",
]

_ARGUMENT_KEYS: Final = ("arguments", "parameters", "args", "input")
_NAME_KEYS: Final = ("name", "tool_name", "function")
_KEYS: Final = (*_NAME_KEYS, *_ARGUMENT_KEYS, "type", "id", "tool_call_id", "call_id")
_NAME: Final = re.compile(r"""["'](?:tool_)?name["']\s*+:\s*+["']([^"']{1,128}+)["']""")
_BROKEN: Final = re.compile(
    r"""\[?+\s*+\{\s*+["'](?:tool_)?name["']\s*+:\s*+["']([^"']{1,128}+)["']\s*+,\s*+["'](?:arguments|parameters)"""
)
_FIRST_KEY: Final = re.compile(r"""\{\s*+(?:["'](\w*+)(["']?))?""")
_SEPARATOR: Final = re.compile(r"(?<=[}\]])(?:\s*+;\s*+|\s*+(?:</?tool_call>\s*+)++|[ \t]*+\n\s*+)(?=[{\[])")
_BETWEEN: Final = re.compile(r"[\s;,]*+")
_WORDS: Final = re.compile(r"\s*+[\w(*#-]")
_DECODER: Final = json.JSONDecoder()
_MAX_VALUES: Final = 1_000


def json_may_begin(text: str, offered: Offered) -> bool:
    """Whether a value of some kind begins here; a blank text may still become one."""
    del offered
    return not text or text[0] in "{[`\"'“｛［"


def read_json(block: Block, offered: Offered) -> list[ToolCall]:
    """The calls of tools that were offered among what a marked block holds."""
    text = without_end_tokens(block.text)
    try:
        entries = _entries(text)
    except MalformedArguments:
        name = _NAME.search(text)
        own = None if name is None else offered.own(name.group(1))
        return [] if own is None else [broken_call(own, text)]
    return [call for entry in entries if (call := _read(entry, offered, is_marked=True)) is not None]


def read_json_run(block: Block, offered: Offered) -> list[ToolCall]:
    """The calls behind a mark that nothing ends: values one after the other; words behind them are passed over."""
    text = without_end_tokens(block.text)
    text = text[: end_before_words(text)]
    return [call for part in _split(text) for call in read_json(Block(part, block.is_closed), offered)]


def read_only_json(text: str, offered: Offered) -> list[ToolCall] | None:
    """The calls that the text is, without any mark; None where one of its values is no call."""
    if not text.startswith(("{", "[")) or is_settled_text(text, offered):
        return None
    calls: list[ToolCall] = []
    for part in _split(text):
        try:
            entries = _entries(part)
        except MalformedArguments:
            broken = _BROKEN.match(part)
            own = None if broken is None else offered.own(broken.group(1))
            if own is None:
                return None
            calls.append(broken_call(own, part))
            continue
        for entry in entries:
            call = _read(entry, offered, is_marked=False)
            if call is None:
                return None
            calls.append(call)
    return calls or None


def is_settled_text(text: str, offered: Offered) -> bool:
    """Whether the text, which begins with a bracket, is no call whatever follows it.

    That is so where its first key is not one that a call has, where its first value is complete and no call, and where
    words follow a complete one: it is data then, or an example in a sentence. Asked of a text that is still coming.
    """
    if not _has_known_key(text):
        return True
    value, _ = next(_values(text), (None, 0))
    return (value is not None and not _are_calls(value, offered)) or end_before_words(text) is not None


def run_may_begin(text: str, offered: Offered) -> bool:
    """Whether values that can be calls begin here."""
    del offered
    return not text or (text[0] in "{[" and _has_known_key(text))


def end_of_data(text: str, at: int, offered: Offered) -> int | None:
    """Where words begin behind complete values that are no calls; None where that is not what stands here."""
    values = list(_values(text, at))
    entries = [entry for value, _ in values for entry in items_of(value) or [value]]
    if any(_read(entry, offered, is_marked=True) is not None for entry in entries):
        return None
    return _before_words(text, values)


def end_before_words(text: str, at: int = 0) -> int | None:
    """Where the complete values end that begin here, if words follow them; None if not."""
    return _before_words(text, list(_values(text, at)))


def _before_words(text: str, values: list[tuple[Any, int]]) -> int | None:
    return values[-1][1] if values and _WORDS.match(text, values[-1][1]) else None


def _are_calls(value: object, offered: Offered) -> bool:
    return all(_read(entry, offered, is_marked=False) is not None for entry in items_of(value) or [value])


def _has_known_key(text: str) -> bool:
    """Whether the first key of the first object is one that calls have, or may become one."""
    inside = text.removeprefix("[").lstrip()
    key = _FIRST_KEY.match(inside)
    if key is None:
        return not inside or inside.startswith("]")
    return not key.group(1) or _is_known(key.group(1), is_whole=bool(key.group(2)))


def _is_known(key: str, *, is_whole: bool) -> bool:
    return key in _KEYS if is_whole else any(known.startswith(key) for known in _KEYS)


def _values(text: str, at: int = 0) -> Iterator[tuple[Any, int]]:
    """The complete JSON values that begin here, each with its end."""
    for _ in range(_MAX_VALUES):
        start = _BETWEEN.match(text, at)
        at = at if start is None else start.end()
        if not text.startswith(("{", "["), at):
            return
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield value, at


def _split(text: str) -> list[str]:
    """Llama separates several calls by semicolons or lines, Hermes by tags; a text that is one value is not split."""
    try:
        parse_value(text)
    except MalformedArguments:
        return _parts(text) or _SEPARATOR.split(text)
    return [text]


def _parts(text: str) -> list[str]:
    """The values that the text consists of, where they are plain JSON: no separator in a string divides them."""
    ends = [0, *(end for _, end in _values(text))]
    if len(ends) == 1 or text[ends[-1] :].strip():
        return []
    parts = [text[start:end] for start, end in pairwise(ends)]
    is_apart = all(part.lstrip(" \t\r")[0] in ";\n" for part in parts[1:])
    return [part.lstrip(" \t\r\n;") for part in parts] if is_apart else []


def _entries(block: str) -> list[Any]:
    """What the block lists, or the one thing it is.

    A text that is refused here is no arguments either: one that stays a broken call's arguments can never run.
    """
    try:
        value, _ = parse_value(block)
    except MalformedArguments:
        value = parse_arguments(block).value
    return items_of(value) or [value]


def _read(entry: object, offered: Offered, *, is_marked: bool) -> ToolCall | None:
    fields = mapping_of(mapping_of(entry).get("function")) or mapping_of(entry)
    name = next((own for key in _NAME_KEYS if (own := offered.own(fields.get(key))) is not None), None)
    key = next((key for key in _ARGUMENT_KEYS if key in fields), None)
    if name is None or (key is None and not is_marked):
        return None
    return call_of(name, {} if key is None else fields[key])
