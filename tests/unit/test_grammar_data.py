"""The grammar over data that others wrote: broken texts, a conformance suite for parsers, every cut of real calls."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.data import committed_data, full_data, read_lines
from surehand.errors import MalformedArguments
from surehand.grammar import ParsedArguments, parse_arguments, parse_value

RIGHT_AT_LEAST = 46
"""Objects that come out of the malformed cases; the others are refused."""

FORGIVEN = {
    "n_array_extra_comma": "trailing_commas",
    "n_array_number_and_comma": "trailing_commas",
    "n_number_+1": "loose_numbers",
    "n_number_.2e-3": "loose_numbers",
    "n_number_neg_real_without_int_part": "loose_numbers",
    "n_number_starting_with_dot": "loose_numbers",
    "n_object_key_with_single_quotes": "single_quotes",
    "n_object_single_quote": "single_quotes",
    "n_object_trailing_comma": "trailing_commas",
    "n_object_trailing_comment": "comments",
    "n_object_trailing_comment_slash_open": "comments",
    "n_object_unquoted_key": "unquoted_keys",
    "n_object_with_trailing_garbage": "comments",
    "n_string_backslash_00": "unknown_escapes",
    "n_string_escaped_ctrl_char_tab": "unknown_escapes",
    "n_string_escaped_emoji": "unknown_escapes",
    "n_string_incomplete_escaped_character": "unknown_escapes",
    "n_string_invalid_backslash_esc": "unknown_escapes",
    "n_string_invalid_unicode_escape": "unknown_escapes",
    "n_string_single_quote": "single_quotes",
    "n_string_unescaped_ctrl_char": "control_characters",
    "n_string_unescaped_newline": "control_characters",
    "n_string_unescaped_tab": "control_characters",
    "n_string_unicode_CapitalU": "unknown_escapes",
    "n_structure_capitalized_True": "python_words",
    "n_structure_object_followed_by_closing_object": "surplus_closers",
}
"""What no JSON parser may accept and which relaxation reads it."""

REFUSED_BY_CHOICE = {"y_object_duplicated_key"}
"""JSON that is refused: a key twice, with different values."""


def parsed(raw: object) -> ParsedArguments | None:
    try:
        return parse_arguments(raw)
    except MalformedArguments:
        return None


def value_of(content: bytes) -> tuple[Any, tuple[str, ...]] | None:
    try:
        return parse_value(content.decode())
    except (MalformedArguments, UnicodeDecodeError):
        return None


def malformed_cases() -> list[dict[str, Any]]:
    return read_lines(committed_data() / "malformed" / "cases.jsonl")


def test_no_malformed_text_becomes_an_object_that_was_not_meant() -> None:
    right = 0
    for case in malformed_cases():
        found = parsed(case["raw"])
        if found is None:
            continue
        want = case["want"]
        assert found.value in (want["one_of"] if "one_of" in want else [want.get("object", "a refusal")]), case
        right += 1
    assert right >= RIGHT_AT_LEAST


def conformance_cases() -> Iterator[tuple[str, bytes]]:
    for record in read_lines(committed_data() / "json_parsing" / "cases.jsonl"):
        yield record["name"], base64.b64decode(record["content"])
    folder = full_data()
    if folder is not None and (folder / "json_parsing").is_dir():
        for file in sorted((folder / "json_parsing" / "test_parsing").iterdir()):
            yield file.stem, file.read_bytes()


def test_every_valid_text_of_the_conformance_suite_is_read_as_json_reads_it() -> None:
    for name, content in conformance_cases():
        if name.startswith("y_") and name not in REFUSED_BY_CHOICE:
            found = value_of(content)
            assert found is not None, name
            assert json.dumps(found[0]) == json.dumps(json.loads(content)), name


def test_every_invalid_text_of_the_conformance_suite_is_refused_but_for_the_relaxations() -> None:
    for name, content in conformance_cases():
        if name.startswith("n_"):
            found = value_of(content)
            assert (found is None) == (name not in FORGIVEN), name
            assert found is None or FORGIVEN[name] in found[1], name


def test_no_text_of_the_conformance_suite_raises_anything_else() -> None:
    for _, content in conformance_cases():
        found = parsed(content)
        assert found is None or type(found.value) is dict


def answer_files() -> list[Path]:
    folder = full_data()
    full = sorted((folder / "bfcl" / "possible_answer").glob("*.json")) if folder is not None else []
    return [committed_data() / "bfcl" / "answers.jsonl", *full]


def calls(file: Path) -> Iterator[dict[str, Any]]:
    """The arguments of each call, with the first acceptable value of every parameter."""
    for record in read_lines(file):
        for call in record["ground_truth"]:
            for parameters in call.values():
                yield {name: values[0] for name, values in parameters.items()}


@pytest.mark.parametrize("file", answer_files(), ids=lambda file: file.stem)
def test_every_real_call_passes_whole_and_is_refused_at_every_cut(file: Path) -> None:
    for arguments in calls(file):
        text = json.dumps(arguments)
        assert parse_arguments(text) == ParsedArguments(arguments, ())
        for end in range(1, len(text)):
            assert parsed(text[:end]) is None, text[:end]


@pytest.mark.parametrize(
    ("opener", "closer"),
    [
        ("```json\n", "\n```"),
        ("<tool_call>\n", "\n</tool_call>"),
        ("\ufeff", ""),
        ("[", "]"),
        ("<tool_call>```\n", "```"),
    ],
)
def test_a_real_call_in_a_wrapper_is_whole_or_refused_at_every_cut(opener: str, closer: str) -> None:
    for arguments in calls(committed_data() / "bfcl" / "answers.jsonl"):
        text = opener + json.dumps(arguments) + closer
        assert parse_arguments(text).value == arguments
        for end in range(len(opener), len(text)):
            found = parsed(text[:end])
            assert found is None or found.value == arguments or not text[:end].strip("\ufeff"), text[:end]


def encoded(arguments: dict[str, Any]) -> Iterator[str]:
    yield repr(arguments)
    yield json.dumps(arguments, indent=1)
    yield json.dumps(json.dumps(arguments))
    yield json.dumps(json.dumps(json.dumps(arguments)))
    yield json.dumps(json.dumps(arguments))[1:-1]


def test_a_real_call_in_another_notation_is_whole_or_refused_at_every_cut() -> None:
    for arguments in calls(committed_data() / "bfcl" / "answers.jsonl"):
        for text in encoded(arguments):
            assert parse_arguments(text).value == arguments
            for end in range(1, len(text)):
                assert parsed(text[:end]) is None, text[:end]


PYTHON_CALLS = [
    "{'n': 20, 'p': 0.6}",
    "{\"arguments\": {'lat': 48.8584, 'lon': 2.2945}, \"name\": 'requests_get'}",
    "{'arguments': {'text': \"it's ok\", 'tags': ['a', 'b'], 'deep': {'x': None}}, 'name': 'post'}",
    "{'url': 'http://x.com/a?b=1&c=2#top', 'timeout': None, 'stream': False}",
    "{'p': (1, 2), 'q': [], 'r': {}}",
    "{'s': 'a\\nb \\\\ \\'c\\' \\x1b'}",
]
"""Of the kind that text-mode models send instead of JSON."""


@pytest.mark.parametrize("text", PYTHON_CALLS)
def test_a_python_literal_is_whole_or_refused_at_every_cut(text: str) -> None:
    assert parsed(text) is not None
    assert all(parsed(text[:end]) is None for end in range(1, len(text)))


MUST_REFUSE = [
    '{"n": 20, "k": 5, "p": 1/6}',
    '{"base": 25 * 0.3048, "height": 30 * 0.3048}',
    '{"radius": 2 * 3.14159}',
    '{"total": 5*11}',
    '{"final_speed": 2 * <speed_from_first_part>}',
    '{"delta": 10 - 3}',
    '{"delta": 10 + 3}',
    '{"power": 2 ** 8}',
    '{"power": 2 ^ 8}',
    '{"rest": 7 % 2}',
    '{"half": 7 // 2, "b": 1}',
    '{"list": [1, 2] + [3]}',
    '{"s": "A".repeat(1001)}',
    '{"s": "a" * 3}',
    '{"s": "a" + "b"}',
    '{"s": "a" "b"}',
    '{"s": f"a"}',
    '{"s": b"a"}',
    '{"s": """a"""}',
    "{'s': '''a'''}",
    '{"f": function(x) { return x; }}',
    '{"f": (x) => x}',
    '{"f": lambda x: x}',
    '{"d": datetime(2024, 1, 1)}',
    '{"d": new Date()}',
    '{"items": myItemList}',
    '{"items": [a, b]}',
    '{"slope": calculate_slope["x"]}',
    '{"destination": source?}',
    '{"x": $x}',
    '{"x": ${x}}',
    '{"x": {{x}}}',
    '{"x": <value>}',
    '{"x": ?}',
    '{""}',
    "{1, 2}",
    '{"a"}',
    '{"content": "x", ...}',
    '{"vertices": [-1, 0], [2, 3], [0, 4]]}',
    '{"c": 1"}',
    '{"params": {"a": 1, "timeout": 10}',
    '{"a": 1}\n<|im_start|>assistant\n{"a": 2}',
    '{"a": 1}<|im_end|>',
    '{"mode":"engage"}{"mode":"release"}',
    'calc\n{"k": 5}',
    "We need to send message to USR002.",
    "import math\n\n# Given values\ndata = {'n': 1.4}",
    'args = {"a": 1}',
    'return {"a": 1}',
    'city="Beijing"',
    "city=Beijing",
    "a: 1",
    '{"a": 1}; {"a": 1}',
    '{"a": 1} or {"a": 2}',
    '{"a": 1, **rest}',
    '{"a": 1 if x else 2}',
    '{"a": not True}',
    '{"a": 1 == 1}',
    '{"a": -x}',
    '{"a": 1e}',
    '{"a": 1.2.3}',
    '{"a": 1,234.5}',
    '{"a": ١}',
    '{"a": 1 2}',
    '{"a": tru}',
    '{"a": nullx}',
    '{"a": True1}',
    '{"a": "b}',
    '{"a: "b"}',
    '{a": "b"}',
    '{"a" "b": 1}',
    '{"a": "b", "c"}',
    '{"a":: 1}',
    '{"a": [1; 2]}',
    '[{"a": 1}, {"a": 2}]',
    '[{"a": 1}, {"a": 1}]',
    '{"a": "b"}}{"a": "b"}',
]


@pytest.mark.parametrize("text", MUST_REFUSE)
def test_what_would_need_a_guess_is_refused(text: str) -> None:
    assert parsed(text) is None
