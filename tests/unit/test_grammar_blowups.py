"""Texts of 900 KB that make careless parsers hang, crash or run out of stack."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from surehand.errors import MalformedArguments
from surehand.grammar import parse_arguments, parse_value

SIZE = 900_000
BOUND = 6.0
"""Seconds of processor time; each shape takes under two on one slow core, and something quadratic takes minutes."""


def run(unit: str, before: str = "", after: str = "") -> str:
    """``before``, as many of ``unit`` as fit, ``after``."""
    return before + unit * ((SIZE - len(before) - len(after)) // len(unit)) + after


SHAPES: dict[str, Callable[[], str]] = {
    "unclosed string": lambda: run("a", '{"a": "'),
    "unclosed single-quoted string": lambda: run("a", "{'a': '"),
    "unclosed curly string": lambda: run("a", "{“a”: “"),
    "open brackets": lambda: run("["),
    "open braces": lambda: run('{"a":'),
    "open parentheses": lambda: run("("),
    "open full-width brackets": lambda: run("［"),
    "brackets closed again": lambda: "[" * (SIZE // 2) + "]" * (SIZE // 2),
    "tuples that open": lambda: run("(1,", '{"a":'),
    "tuples": lambda: run("(1,),", '{"a":[', "],}"),
    "double quotes": lambda: run('"'),
    "double quotes in braces": lambda: run('"', "{"),
    "single quotes": lambda: run("'", "["),
    "curly quotes": lambda: run("“"),
    "closing curly quotes": lambda: run("”", "{“"),
    "full-width quotes": lambda: run("＂", "["),
    "empty strings": lambda: run('"",', "["),
    "backslashes": lambda: run("\\"),
    "backslashes in a string": lambda: run("\\", '{"a":"'),
    "escaped backslashes": lambda: run("\\\\", '{"a":"', '",}'),
    "spaces": lambda: run(" "),
    "spaces in braces": lambda: run(" ", "{", "}"),
    "spaces before the end": lambda: run(" ", '{"a":1}', "x"),
    "spaces before a colon": lambda: run(" ", '{"a"', ":1,}"),
    "line breaks": lambda: run("\n", '{"a":1,', "}"),
    "commas": lambda: run(",", "["),
    "colons": lambda: run(":", '{"a"'),
    "slashes": lambda: run("/"),
    "line comments": lambda: run("//\n", '{"a":1,', "}"),
    "line comments with words": lambda: run("// a b\n", '{"a":1,', "}"),
    "block comments": lambda: run("/* */", '{"a":1,', "}"),
    "block comments that open": lambda: run("/* ", "{"),
    "hash comments": lambda: run("# \n", '{"a":1,', "}"),
    "hashes": lambda: run("#"),
    "comments between items": lambda: run("1,// a\n", '{"a":[', "]}"),
    "a long integer": lambda: run("1", '{"a":', "}"),
    "a long fraction": lambda: run("1", '{"a":0.', ",}"),
    "a long exponent": lambda: run("1", '{"a":1e', ",}"),
    "minus signs": lambda: run("-", '{"a":'),
    "dots": lambda: run(".", '{"a":'),
    "exact floats": lambda: run("0.12345678901234567890,", '{"a":[', "1]}"),
    "a long key": lambda: run("k", '{"', '":1,}'),
    "a long identifier": lambda: run("k", "{", ":1}"),
    "identifiers": lambda: run("k ", "{"),
    "words": lambda: run("word "),
    "literals": lambda: run("true ", "["),
    "fragments": lambda: run(', "frag', "{"),
    "braces and words": lambda: run("{x "),
    "unknown escapes": lambda: run("\\d", '{"a":"', '"}'),
    "strings with unknown escapes": lambda: run('"\\d",', '{"a":["', '"]}'),
    "half unicode escapes": lambda: run("\\u12", '{"a":"', '"}'),
    "half surrogate pairs": lambda: run("\\ud83d", '{"a":"', '"}'),
    "surrogate pairs": lambda: run("\\ud83d\\ude00", '{"a":"', '",}'),
    "hex escapes": lambda: run("\\x41", "{'a':'", "'}"),
    "control characters": lambda: run("\x01", '{"a":"', '"}'),
    "lone surrogates": lambda: run("\ud800", '{"a":"', '"}'),
    "different objects": lambda: "".join(f'{{"a":{number}}}' for number in range(70_000)),
    "equal objects": lambda: run('{"a":1}'),
    "empty objects": lambda: run("{}", "", '{"a":1}'),
    "full-width objects": lambda: run("｛｝"),
    "a key again and again": lambda: run('"a":1,', "{", '"b":1}'),
    "many keys": lambda: "{" + ",".join(f"'k{number}':1" for number in range(60_000)) + "}",
    "list items": lambda: run("1,", '{"a":[', "1],}"),
    "single-quoted items": lambda: run("'a',", '{"a":[', "],}"),
    "full-width commas": lambda: run("1，", '{"a":[', "1]}"),
    "empty lists": lambda: run("[],", '{"a":[', "],}"),
    "fences": lambda: run("```json\n"),
    "backticks": lambda: run("`"),
    "a long info string": lambda: run("j", "```"),
    "opening tags": lambda: run("<tool_call>", "", "{"),
    "closing tags": lambda: run("</tool_call>", '{"a":1}'),
    "angle brackets": lambda: run("<", '{"a":1}'),
    "surplus closers": lambda: run("}", '{"a":1}'),
    "surplus closers of two kinds": lambda: run("] } ", '{"a":1}'),
    "literal line breaks": lambda: run("\\n", '{"a":', "1}"),
    "literal line breaks and spaces": lambda: run("\\n ", '{"a":', "1}"),
    "literal line breaks before a word": lambda: run("\\n", "{", "ame:1}"),
    "byte order marks": lambda: run("\ufeff"),
    "zero bytes": lambda: run("\0"),
    "a string inside a string": lambda: json.dumps(run("a", '{"a":"', '"')),
    "escaped quotes inside a string": lambda: run('\\"', '"', '"'),
    "escaped pairs": lambda: run('\\"a\\":1,', "{", "}"),
    "escaped pairs cut off": lambda: run('\\"a\\":1,', "{"),
    "pairs escaped twice": lambda: run('\\\\\\"', "{", "}"),
}


def test_there_are_enough_shapes() -> None:
    assert len(SHAPES) >= 26
    assert all(800_000 <= len(make()) <= 1_000_000 for make in list(SHAPES.values())[::9])


@pytest.mark.parametrize("parse", [parse_arguments, pytest.param(parse_value, marks=pytest.mark.slow)])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_huge_text_is_judged_in_time_and_raises_nothing_else(shape: str, parse: Callable[[str], Any]) -> None:
    text = SHAPES[shape]()
    begun = time.process_time()
    try:
        parse(text)
    except MalformedArguments as error:
        assert len(str(error)) < 1_500  # noqa: PT017 - a refusal is as good as a value
    assert time.process_time() - begun < BOUND
