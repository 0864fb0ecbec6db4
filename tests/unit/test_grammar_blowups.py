"""Long texts that make careless parsers hang, crash or run out of stack."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from surehand.errors import MalformedArguments
from surehand.grammar import parse_arguments, parse_value

LONG = 300_000
HUGE = 900_000
BOUND = 7.0
"""Microseconds of processor time for a character; each takes about two on a slow core, quadratic ones hundreds."""


def run(size: int, unit: str, before: str = "", after: str = "") -> str:
    """``before``, as many of ``unit`` as fit, ``after``."""
    return before + unit * ((size - len(before) - len(after)) // len(unit)) + after


SHAPES: dict[str, Callable[[int], str]] = {
    "unclosed string": lambda size: run(size, "a", '{"a": "'),
    "unclosed single-quoted string": lambda size: run(size, "a", "{'a': '"),
    "unclosed curly string": lambda size: run(size, "a", "{“a”: “"),
    "open brackets": lambda size: run(size, "["),
    "open braces": lambda size: run(size, '{"a":'),
    "open parentheses": lambda size: run(size, "("),
    "open full-width brackets": lambda size: run(size, "［"),
    "brackets closed again": lambda size: "[" * (size // 2) + "]" * (size // 2),
    "tuples that open": lambda size: run(size, "(1,", '{"a":'),
    "tuples": lambda size: run(size, "(1,),", '{"a":[', "],}"),
    "double quotes": lambda size: run(size, '"'),
    "double quotes in braces": lambda size: run(size, '"', "{"),
    "single quotes": lambda size: run(size, "'", "["),
    "curly quotes": lambda size: run(size, "“"),
    "closing curly quotes": lambda size: run(size, "”", "{“"),
    "full-width quotes": lambda size: run(size, "＂", "["),
    "empty strings": lambda size: run(size, '"",', "["),
    "backslashes": lambda size: run(size, "\\"),
    "backslashes in a string": lambda size: run(size, "\\", '{"a":"'),
    "escaped backslashes": lambda size: run(size, "\\\\", '{"a":"', '",}'),
    "spaces": lambda size: run(size, " "),
    "spaces in braces": lambda size: run(size, " ", "{", "}"),
    "spaces before the end": lambda size: run(size, " ", '{"a":1}', "x"),
    "spaces before a colon": lambda size: run(size, " ", '{"a"', ":1,}"),
    "line breaks": lambda size: run(size, "\n", '{"a":1,', "}"),
    "commas": lambda size: run(size, ",", "["),
    "colons": lambda size: run(size, ":", '{"a"'),
    "slashes": lambda size: run(size, "/"),
    "line comments": lambda size: run(size, "//\n", '{"a":1,', "}"),
    "line comments with words": lambda size: run(size, "// a b\n", '{"a":1,', "}"),
    "block comments": lambda size: run(size, "/* */", '{"a":1,', "}"),
    "block comments that open": lambda size: run(size, "/* ", "{"),
    "hash comments": lambda size: run(size, "# \n", '{"a":1,', "}"),
    "hashes": lambda size: run(size, "#"),
    "comments between items": lambda size: run(size, "1,// a\n", '{"a":[', "]}"),
    "a long integer": lambda size: run(size, "1", '{"a":', "}"),
    "a long fraction": lambda size: run(size, "1", '{"a":0.', ",}"),
    "a long exponent": lambda size: run(size, "1", '{"a":1e', ",}"),
    "minus signs": lambda size: run(size, "-", '{"a":'),
    "dots": lambda size: run(size, ".", '{"a":'),
    "exact floats": lambda size: run(size, "0.12345678901234567890,", '{"a":[', "1]}"),
    "a long key": lambda size: run(size, "k", '{"', '":1,}'),
    "a long identifier": lambda size: run(size, "k", "{", ":1}"),
    "identifiers": lambda size: run(size, "k ", "{"),
    "words": lambda size: run(size, "word "),
    "literals": lambda size: run(size, "true ", "["),
    "fragments": lambda size: run(size, ', "frag', "{"),
    "braces and words": lambda size: run(size, "{x "),
    "unknown escapes": lambda size: run(size, "\\d", '{"a":"', '"}'),
    "strings with unknown escapes": lambda size: run(size, '"\\d",', '{"a":["', '"]}'),
    "half unicode escapes": lambda size: run(size, "\\u12", '{"a":"', '"}'),
    "half surrogate pairs": lambda size: run(size, "\\ud83d", '{"a":"', '"}'),
    "surrogate pairs": lambda size: run(size, "\\ud83d\\ude00", '{"a":"', '",}'),
    "hex escapes": lambda size: run(size, "\\x41", "{'a':'", "'}"),
    "control characters": lambda size: run(size, "\x01", '{"a":"', '"}'),
    "lone surrogates": lambda size: run(size, "\ud800", '{"a":"', '"}'),
    "different objects": lambda size: "".join(f'{{"a":{number}}}' for number in range(size // 13)),
    "equal objects": lambda size: run(size, '{"a":1}'),
    "empty objects": lambda size: run(size, "{}", "", '{"a":1}'),
    "full-width objects": lambda size: run(size, "｛｝"),
    "a key again and again": lambda size: run(size, '"a":1,', "{", '"b":1}'),
    "many keys": lambda size: "{" + ",".join(f"'k{number}':1" for number in range(size // 15)) + "}",
    "list items": lambda size: run(size, "1,", '{"a":[', "1],}"),
    "single-quoted items": lambda size: run(size, "'a',", '{"a":[', "],}"),
    "full-width commas": lambda size: run(size, "1，", '{"a":[', "1]}"),
    "empty lists": lambda size: run(size, "[],", '{"a":[', "],}"),
    "fences": lambda size: run(size, "```json\n"),
    "backticks": lambda size: run(size, "`"),
    "a long info string": lambda size: run(size, "j", "```"),
    "opening tags": lambda size: run(size, "<tool_call>", "", "{"),
    "closing tags": lambda size: run(size, "</tool_call>", '{"a":1}'),
    "angle brackets": lambda size: run(size, "<", '{"a":1}'),
    "surplus closers": lambda size: run(size, "}", '{"a":1}'),
    "surplus closers of two kinds": lambda size: run(size, "] } ", '{"a":1}'),
    "literal line breaks": lambda size: run(size, "\\n", '{"a":', "1}"),
    "literal line breaks and spaces": lambda size: run(size, "\\n ", '{"a":', "1}"),
    "literal line breaks before a word": lambda size: run(size, "\\n", "{", "ame:1}"),
    "byte order marks": lambda size: run(size, "\ufeff"),
    "zero bytes": lambda size: run(size, "\0"),
    "a string inside a string": lambda size: json.dumps(run(size, "a", '{"a":"', '"')),
    "escaped quotes inside a string": lambda size: run(size, '\\"', '"', '"'),
    "escaped pairs": lambda size: run(size, '\\"a\\":1,', "{", "}"),
    "escaped pairs cut off": lambda size: run(size, '\\"a\\":1,', "{"),
    "pairs escaped twice": lambda size: run(size, '\\\\\\"', "{", "}"),
}


def test_there_are_enough_shapes() -> None:
    assert len(SHAPES) >= 26
    assert all(0.8 * HUGE <= len(make(HUGE)) <= 1.1 * HUGE for make in list(SHAPES.values())[::9])


@pytest.mark.parametrize(
    ("parse", "size"),
    [
        (parse_arguments, LONG),
        pytest.param(parse_arguments, HUGE, marks=pytest.mark.slow),
        pytest.param(parse_value, HUGE, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_long_text_is_judged_in_time_and_raises_nothing_else(
    shape: str, parse: Callable[[str], Any], size: int
) -> None:
    text = SHAPES[shape](size)
    begun = time.process_time()
    try:
        parse(text)
    except MalformedArguments as error:
        assert len(str(error)) < 1_500  # noqa: PT017 - a refusal is as good as a value
    assert time.process_time() - begun < BOUND * size / 1e6
