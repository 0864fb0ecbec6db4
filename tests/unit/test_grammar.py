"""What the grammar accepts, what it refuses, and in which words."""

from __future__ import annotations

import copy
import json
import pickle
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest

from surehand.errors import MalformedArguments
from surehand.grammar import (
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_LENGTH,
    RELAXATIONS,
    ExactFloat,
    ParsedArguments,
    parse_arguments,
    parse_value,
)


def refusal(raw: object) -> MalformedArguments:
    with pytest.raises(MalformedArguments) as caught:
        parse_arguments(raw)
    return caught.value


ACCEPTED: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("", {}, ("no_arguments",)),
    (" \n\t", {}, ("no_arguments",)),
    ("null", {}, ("no_arguments",)),
    ("None", {}, ("python_words", "no_arguments")),
    ('\ufeff{"a": 1}', {"a": 1}, ("byte_order_mark",)),
    ('```json\n{"a": 1}\n```', {"a": 1}, ("code_fence",)),
    ("```python\n{'a': 1}\n```", {"a": 1}, ("code_fence", "single_quotes")),
    ('```tool_code\n{"a": 1}', {"a": 1}, ("code_fence",)),
    ('```json title=x\n{"a": 1}``', {"a": 1}, ("code_fence",)),
    ('```{"a": 1}```', {"a": 1}, ("code_fence",)),
    ('``` json {"a": 1}', {"a": 1}, ("code_fence",)),
    ('{"a": 1}\n```', {"a": 1}, ("code_fence",)),
    ('<tool_call>\n{"a": 1}\n</tool_call>', {"a": 1}, ("call_tags",)),
    ('<tool_call>\n<tool_call>{"a": 1}', {"a": 1}, ("call_tags",)),
    ('<|python_tag|>{"a": 1}', {"a": 1}, ("call_tags",)),
    ('<function_call>{"a": 1}</function_call>', {"a": 1}, ("call_tags",)),
    ('{"a": 1}\n</tool_', {"a": 1}, ("call_tags",)),
    ('{"a": 1}</', {"a": 1}, ("call_tags",)),
    ('{"a": 1}\n<tool_call>\n', {"a": 1}, ("call_tags",)),
    ('{"a": 1}\n<tool_ca\n', {"a": 1}, ("call_tags",)),
    ('<tool_call>\n```json\n{"a": 1}\n```\n</tool_call>', {"a": 1}, ("call_tags", "code_fence")),
    (r'"{\"a\": \"x\"}"', {"a": "x"}, ("string_encoded",)),
    (json.dumps(json.dumps('{"a": "x\\ny"}')), {"a": "x\ny"}, ("string_encoded",)),
    ("'{\"a\": 1}'", {"a": 1}, ("single_quotes", "string_encoded")),
    (r"{\"a\": \"x\"}", {"a": "x"}, ("backslash_escaped",)),
    (r"{\n  \"a\": \"it\\ns \\\"b\\\"\"\n}", {"a": 'it\ns "b"'}, ("backslash_escaped",)),
    (r"{\\\"a\\\": 1}", {"a": 1}, ("backslash_escaped",)),
    ('{"a": "x\ny\tz\0"}', {"a": "x\ny\tz\0"}, ("control_characters",)),
    (r'{"a": "C:\Users\dave"}', {"a": "C:\\Users\\dave"}, ("unknown_escapes",)),
    (r'{"a": "\d+\.\w"}', {"a": "\\d+\\.\\w"}, ("unknown_escapes",)),
    (r'{"a": "\d \"x\"\n\n(y)"}', {"a": '\\d "x"\n\n(y)'}, ("unknown_escapes",)),
    (r'{"a": "it\'s"}', {"a": "it's"}, ("unknown_escapes",)),
    (r'{"a": "x\u12"}', {"a": "x\\u12"}, ("unknown_escapes",)),
    (r'{"a": "(\w)\1"}', {"a": "(\\w)\\1"}, ("unknown_escapes",)),
    (r'{"a": "\로"}', {"a": "\\로"}, ("unknown_escapes",)),
    ("{'a': \"it's\", 'b': 'say \"x\", \"y\"'}", {"a": "it's", "b": 'say "x", "y"'}, ("single_quotes",)),
    (r"{'a': 'it\'s \x41 \U0001F600'}", {"a": "it's A 😀"}, ("single_quotes",)),
    (r"""{'a': 1, "it's": "it's \x41"}""", {"a": 1, "it's": "it's A"}, ("single_quotes",)),
    (r"{'a': 'C:\New'}", {"a": "C:\\New"}, ("single_quotes", "unknown_escapes")),
    ("{“a”: “it’s”, ‘b’: 1}", {"a": "it’s", "b": 1}, ("curly_quotes",)),
    ("｛＂a＂：［1，2］｝", {"a": [1, 2]}, ("full_width",)),
    ('{"a"：1，"b"： "，"}', {"a": 1, "b": "，"}, ("full_width",)),
    ('{"a": None, "b": True, "c": False}', {"a": None, "b": True, "c": False}, ("python_words",)),
    ('{"a": (1, 2), "b": (1,), "c": ()}', {"a": [1, 2], "b": [1], "c": []}, ("tuples",)),
    ('{"a": .5, "b": +5, "c": -.5, "d": +1e2}', {"a": 0.5, "b": 5, "c": -0.5, "d": 100.0}, ("loose_numbers",)),
    ("{a: 1, _b$2: 2, città: 3}", {"a": 1, "_b$2": 2, "città": 3}, ("unquoted_keys",)),
    ('{"a": [1, 2,], "b": {"c": 1,},}', {"a": [1, 2], "b": {"c": 1}}, ("trailing_commas",)),
    ('{"a": 1, // one\n"b": 2 /* two */ # and more\n}', {"a": 1, "b": 2}, ("comments",)),
    ('{"a": "x" // 5 minutes\n}', {"a": "x"}, ("comments",)),
    ('{"a": 5 // in hours, not days\n}', {"a": 5}, ("comments",)),
    ('// the call\n{"a": 1} # done', {"a": 1}, ("comments",)),
    (r'{"a": \n[1,\t2]\n}\n', {"a": [1, 2]}, ("literal_line_breaks",)),
    (r'{\n"a": \ntrue}', {"a": True}, ("literal_line_breaks",)),
    ('{"a": {"b": 1}}}]', {"a": {"b": 1}}, ("surplus_closers",)),
    ('{"a": 1, "a": 1}', {"a": 1}, ("repeated_keys",)),
    ('{"a": 1}{"a": 1}\n{"a": 1}', {"a": 1}, ("repeated_object",)),
    ('{}{"a": 1}', {"a": 1}, ("empty_object_beside",)),
    ('{"a": 1} {}', {"a": 1}, ("empty_object_beside",)),
    ('[{"a": 1}]', {"a": 1}, ("single_item_list",)),
    ('({"a": 1},)', {"a": 1}, ("tuples", "single_item_list")),
]


@pytest.mark.parametrize(("text", "value", "repairs"), ACCEPTED, ids=[ascii(case[0])[:40] for case in ACCEPTED])
def test_a_relaxation_is_read_and_named(text: str, value: dict[str, Any], repairs: tuple[str, ...]) -> None:
    assert parse_arguments(text) == ParsedArguments(value, repairs)


def test_every_word_of_the_list_is_used() -> None:
    assert {word for _, _, repairs in ACCEPTED for word in repairs} == set(RELAXATIONS)


PLAIN = [
    '{"a": 1, "b": [true, false, null], "c": {"d": 1.5}}',
    ' {"a": "“q” ， \'x\' // no /* comment */ # here"} \n',
    '{"a": "\\ud83d\\ude00 \\u00e9 \\/ \\b"}',
    '{"n": 123456789012345678901234567890}',
    '{"a": "{\\"b\\": 1}"}',
    "{}",
]


@pytest.mark.parametrize("text", PLAIN)
def test_plain_json_passes_unchanged(text: str) -> None:
    assert parse_arguments(text) == ParsedArguments(json.loads(text), ())


def test_keys_keep_their_order() -> None:
    assert list(parse_arguments("{'z': 1, 'a': 2, 'm': 3}").value) == ["z", "a", "m"]


REFUSED: list[tuple[str, str]] = [
    ("[1, 2]", "they must be an object, got a list"),
    ('"abc"', "they must be an object, got a text"),
    ('""', "they must be an object, got a text"),
    ("3", "they must be an object, got a number"),
    ("true", "they must be an object, got a boolean"),
    ("[]", "they must be an object, got a list"),
    ("[[{}]]", "they must be an object, got a list"),
    ('{"a": 1}{"a": 2}', "two different JSON objects, one after the other: send one call per object"),
    ('{"a": 1}\n{"b": 2}', "two different JSON objects, one after the other: send one call per object"),
    ('{"a": 1}{"a": true}', "two different JSON objects, one after the other: send one call per object"),
    ('{"a": 1}{"a": 1.0}', "two different JSON objects, one after the other: send one call per object"),
    ('{"a": 1}\n<tool_call>\n{"a": 2}', "a second JSON value stands behind the first: send one call per object"),
    (
        '{"a": 1}</tool_call><tool_call>{"a": 1}',
        "a second JSON value stands behind the first: send one call per object",
    ),
    ('{"a": 1}[]', "a second JSON value stands behind the first: send one call per object"),
    ('{"a": 1, "a": 2}', "the key 'a' stands twice in one object, with different values"),
    ("{\"a\": 1, 'a': true}", "the key 'a' stands twice in one object, with different values"),
    ('{"a": NaN}', "NaN is no JSON number: send null or leave it out"),
    ('{"a": -Infinity}', "-Infinity is no JSON number: send null or leave it out"),
    ('{"a": 1e999}', "a number is larger than any float"),
    (r'{"a": "\ud83d"}', r"the escape \ud83d is half a surrogate pair and no character"),
    ('{"a": "\ud83d"}', "half a surrogate pair is no character"),
    ('{"a": 1/6}', "arithmetic is not worked out: send the result"),
    ('{"a": 25 * 0.3}', "arithmetic is not worked out: send the result"),
    ('{"a": 7 // 2}', "what looks like a comment could be part of a value: send no comments"),
    ('{"a": 7 // 2\n}', "what looks like a comment could be part of a value: send no comments"),
    ('{"a": 7 // n * 2\n}', "what looks like a comment could be part of a value: send no comments"),
    ('{"a": "x" // "y"\n}', "what looks like a comment could be part of a value: send no comments"),
    ('{"a": [#fff,\n#000\n]}', "what looks like a comment could be part of a value: send no comments"),
    ('{"a": [/*, */]}', "what looks like a comment could be part of a value: send no comments"),
    ('{"a": [1, // ...\n]}', "a comment stands for something left out: send every value"),
    ('{"a": [ // the items\n]}', "a comment stands where values were expected: send every value"),
    ("{ /* none */ }", "a comment stands where values were expected: send every value"),
    ('{"a": 1} # {"a": 2}', "a comment outside the object has braces and could be another object"),
    ('{"a": [1, 2, ...]}', "dots stand for something left out: send every value"),
    ('{"a": f(1)}', "code is not run: send the result instead of 'f'"),
    ('{"a": xs[0]}', "code is not run: send the result instead of 'xs'"),
    ('{"a": b}', "the word 'b' is no value: put text in double quotes"),
    ('{"a": undefined}', "the word 'undefined' is no value: put text in double quotes"),
    ('{"a": TRUE}', "the word 'TRUE' is no value: put text in double quotes"),
    ("{city: Beijing}", "the word 'Beijing' is no value: put text in double quotes"),
    ('{"a": 02139}', "a number has a leading zero: put it in double quotes if it is text"),
    ('{"a": 0x1F}', "'0x1F' is no number: send a plain number, or text in double quotes"),
    ('{"a": 1_000}', "'1_000' is no number: send a plain number, or text in double quotes"),
    ('{"a": 5.}', "'5.' is no number: send a plain number, or text in double quotes"),
    ('{"a": 2024-01-15}', "'2024-01-15' is no number: send a plain number, or text in double quotes"),
    ('{"a": 1,000}', "expected a key in double quotes, found '0'"),
    ('{"a": -}', "expected a value, found '-'"),
    ('{"a": 1,, "b": 2}', "expected a key in double quotes, found ','"),
    ('{"a": [1,,2]}', "a value is missing before ','"),
    ('{"a": }', "a value is missing before '}'"),
    ('{"a": 1 "b": 2}', "expected ',' or '}' after the value, found '\"'"),
    ('{"a": "x" "y"}', "expected ',' or '}' after the value: put a backslash before a quote inside a string"),
    ("{'a': 'it's'}", "expected ',' or '}' after the value, found 's'"),
    ('{"a": (1)}', "parentheses round a single value are no list: send the value alone"),
    ('{"a": [1, 2}', "expected ',' or ']' after the value, found '}'"),
    ("{null: 1}", "the word null is no key: put keys in double quotes"),
    ("{1: 2}", "expected a key in double quotes, found '1'"),
    ('{"a"= 1}', "expected ':' after the key 'a', found '='"),
    ('{"a", "b"}', "expected ':' after the key 'a', found ','"),
    ('"a": 1}', "a key stands outside any object: the opening '{' is missing"),
    ("Here you are: {}", "other text stands where the object should begin: send the object alone"),
    ("f(a=1)", "other text stands where the object should begin: send the object alone"),
    ('{"a": 1} I hope this helps', "more text stands behind the value: send the object alone"),
    ('{"a": 1},', "more text stands behind the value: send the object alone"),
    ("{“a”: “b”c”}", "expected ',' or '}' after the value, found 'c'"),
    ("{“a”: “b “c””}", "the quote “ inside a string leaves open where the string ends"),
    ('{“a": 1}', 'the quote " inside a string leaves open where the string ends'),
    ('{“a”: ["x”, “y"]}', "the quote “ ends strings and stands in others: use plain double quotes"),
    (
        r'{"a": "C:\Users\new"}',
        r"one string has both \U, which is no escape, and \n, which is one: write every backslash of the text as \\",
    ),
    (
        r'{"a": "\\server\share"}',
        r"one string has both \s, which is no escape, and \\, which is one: write every backslash of the text as \\",
    ),
    (
        r'{"a": "\bword\d"}',
        r"one string has both \d, which is no escape, and \b, which is one: write every backslash of the text as \\",
    ),
    (r'{"a": "\x41"}', r"JSON has no escape \x: write \u and four digits, or \\ for a backslash"),
    (r"{'a': '\1'}", r"JSON has no escape \1: write \u and four digits, or \\ for a backslash"),
    (r"""{'a': "\a"}""", r"JSON has no escape \a: write \u and four digits, or \\ for a backslash"),
    ('{"a": "x\\\ny"}', "a backslash before a line break can join the lines or keep them apart"),
    (r'{\"a\": "b"}', "a quote without a backslash in a text whose other quotes have one"),
    (r"{\"a\": \"\d\"}", r"the escape \d is none of JSON's in a text whose quotes are escaped"),
    (r"{\name: 1}", "expected a key in double quotes, found '\\\\'"),
    (r'{"a": [\n]}', "an escape stands where a value is expected: put text in double quotes"),
    (r'{"a": ["x", \t]}', "an escape stands where a value is expected: put text in double quotes"),
    ('{"a{": 1}}', "the '}' closes nothing: check the quotes and brackets before it"),
    ('{"a": 1 /* { */}}', "the '}' closes nothing: check the quotes and brackets before it"),
    ('{}{"a": 1}}', "the '}' closes nothing: check the quotes and brackets before it"),
    (
        json.dumps(json.dumps(json.dumps('{"a": 1}'))),
        "the object is inside a text inside a text inside a text: send the object itself",
    ),
    ('{"a": "b" // "c"\u2028}', "what looks like a comment could be part of a value: send no comments"),
    ('{"a": 1, // two words\u2028"b": 2}', "expected a key in double quotes, found '\\u2028'"),
    ("[" * 200 + "]" * 200, f"the brackets are nested more than {MAX_DEPTH} deep"),
    ('{"a": ' + "1" * 5000 + "}", f"a number of 5000 characters is too long, at most {MAX_DIGITS} are read"),
    ('{"a": 0.' + "1" * 5000 + "}", f"a number of 5002 characters is too long, at most {MAX_DIGITS} are read"),
]


@pytest.mark.parametrize(("text", "reason"), REFUSED, ids=[ascii(case[0])[:40] for case in REFUSED])
def test_a_text_with_no_or_two_readings_is_refused_by_name(text: str, reason: str) -> None:
    error = refusal(text)
    assert error.reason == reason
    assert not error.is_cut_off


CUT_OFF: list[tuple[str, str]] = [
    ('{"a": "x', "the text ends inside a string"),
    ("{'a': 'x", "the text ends inside a string"),
    ("{“a", "the text ends inside a string"),
    ('{"a": "x\\', "the text ends inside an escape"),
    ('{"a": 1', "the text ends too early: expected ',' or '}' after the value"),
    ('{"a": [1, 2', "the text ends too early: expected ',' or ']' after the value"),
    ('{"a": [1, ', "the text ends where a value is expected"),
    ('{"a":', "the text ends where a value is expected"),
    ('{"a"', "the text ends too early: expected ':' after the key 'a'"),
    ("{", "the text ends too early: expected a key in double quotes"),
    ('{"a": tr', "the text ends inside a word"),
    ('{"a": No', "the text ends inside a word"),
    ('{"a": 1.', "the text ends inside a number"),
    ('{"a": -', "the text ends inside a number"),
    ('{"a": 1e', "the text ends inside a number"),
    ('{"a": 1 /* x', "the text ends inside a comment"),
    ('{"a": 1, // "b": 2}', "the text ends too early: expected a key in double quotes"),
    ("```json\n", "the text ends before a value begins"),
    ("<tool_call>", "the text ends before a value begins"),
    ("# nothing", "the text ends before a value begins"),
    (r'"{\"a\": 1', "the text ends inside a string"),
    (r'"{\"a\": 1"', "the text ends too early: expected ',' or '}' after the value"),
    (r"{\"a\": \"b\"", "the text ends too early: expected ',' or '}' after the value"),
    (r"{\"a\": \"b" + "\\", "the text ends inside an escape"),
    ('{"a": 1}{"a"', "the text ends too early: expected ':' after the key 'a'"),
]


@pytest.mark.parametrize(("text", "reason"), CUT_OFF, ids=[ascii(case[0])[:40] for case in CUT_OFF])
def test_a_text_that_ends_before_its_value_is_refused_as_cut_off(text: str, reason: str) -> None:
    error = refusal(text)
    assert (error.reason, error.is_cut_off, error.length) == (reason, True, len(text))


def test_the_position_is_where_the_fault_is() -> None:
    assert refusal('{"a": 1, "b": oops}').position == 14


def test_the_position_counts_in_the_original_text_when_the_object_was_inside_a_string() -> None:
    text = json.dumps(json.dumps('{"a": "é\\n", "b": oops}'))
    assert refusal(text).position == text.index("oops")


def test_the_position_counts_in_the_original_text_when_the_quotes_were_escaped() -> None:
    text = r"{\"a\": \"é\\n\", \"b\": oops}"
    assert refusal(text).position == text.index("oops")


def test_the_position_counts_from_the_start_of_a_fenced_text() -> None:
    assert refusal('```json\n{"a": oops}\n```').position == 14


def test_an_error_tells_the_developer_what_where_and_near_what() -> None:
    assert str(refusal('{"a": 1, "b": oops}')) == (
        "The arguments are not one JSON object: the word 'oops' is no value: put text in double quotes "
        '(at character 14 of 19, near \'{"a": 1, "b": oops}\').'
    )


def test_the_excerpt_is_short_and_well_formed() -> None:
    error = refusal('{"a": "' + "\ud800" * 300)
    assert len(error.excerpt) == 80
    assert error.excerpt.encode().decode() == error.excerpt


def test_a_long_word_is_not_echoed_whole() -> None:
    assert len(str(refusal('{"a": ' + "x" * 100_000 + "}"))) < 400


@pytest.mark.parametrize(
    ("raw", "got"),
    [
        ([1], "a list"),
        ((1,), "a list"),
        (3, "a number"),
        (1.5, "a number"),
        (True, "a boolean"),
        (object(), "a value of type object"),
    ],
)
def test_what_is_no_text_and_no_mapping_is_refused(raw: object, got: str) -> None:
    assert refusal(raw).reason == f"they must be an object, got {got}"


def test_none_is_no_arguments() -> None:
    assert parse_arguments(None) == ParsedArguments({}, ("no_arguments",))


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_utf_8_bytes_are_text(kind: Any) -> None:
    assert parse_arguments(kind('{"a": "é"}'.encode())).value == {"a": "é"}


def test_bytes_that_are_no_utf_8_are_refused() -> None:
    error = refusal(b'{"a": "\xff"}')
    assert (error.reason, error.position) == ("the bytes are not UTF-8 text", 7)


def test_a_text_over_the_limit_is_refused_and_one_at_the_limit_is_read() -> None:
    text = '{"a": "' + "x" * (MAX_LENGTH - 9) + '"}'
    assert len(parse_arguments(text).value["a"]) == MAX_LENGTH - 9
    assert refusal(text + " ").reason == f"a text of 1000001 characters is too long, at most {MAX_LENGTH} are read"


@pytest.mark.parametrize("comma", ["", ","])
def test_brackets_may_be_nested_up_to_the_limit(comma: str) -> None:
    deepest = '{"a":' * MAX_DEPTH + "1" + (comma + "}") * MAX_DEPTH
    assert parse_arguments(deepest).value
    assert "nested" in refusal('{"a":' + deepest + comma + "}").reason


def test_a_number_may_be_as_long_as_the_limit() -> None:
    assert parse_arguments('{"a": ' + "9" * MAX_DIGITS + "}").value == {"a": 10**MAX_DIGITS - 1}


def test_a_float_keeps_the_digits_it_cannot_hold() -> None:
    number = parse_arguments('{"a": 0.12345678901234567890}').value["a"]
    assert isinstance(number, ExactFloat)
    assert (number, Decimal(str(number))) == (0.12345678901234568, Decimal("0.12345678901234567890"))


def _pickled(number: ExactFloat) -> ExactFloat:
    copied = pickle.loads(pickle.dumps(number))
    assert isinstance(copied, ExactFloat)
    return copied


def _deep_copied(number: ExactFloat) -> ExactFloat:
    return copy.deepcopy([number])[0]


@pytest.mark.parametrize("copied", [_pickled, _deep_copied])
def test_an_exact_float_can_be_copied(copied: Callable[[ExactFloat], ExactFloat]) -> None:
    assert copied(ExactFloat("0.12345678901234567890")).literal == "0.12345678901234567890"


def test_a_float_that_holds_its_digits_is_a_plain_float() -> None:
    values = parse_arguments('{"a": 0.1, "b": 1.50, "c": 0.30000000000000004, "d": 1E2, "e": -0.0}').value.values()
    assert {type(value) for value in values} == {float}


def test_a_mapping_is_copied_down_to_its_leaves() -> None:
    leaf = object()
    raw: dict[str, Any] = {"a": [{"b": leaf}], "c": OrderedDict(d=MappingProxyType({"e": 1}))}
    parsed = parse_arguments(raw)
    raw["a"].append(1)
    assert parsed == ParsedArguments({"a": [{"b": leaf}], "c": {"d": {"e": 1}}}, ())
    assert type(parsed.value["c"]) is type(parsed.value["c"]["d"]) is dict


def test_a_tuple_in_a_mapping_is_a_list() -> None:
    assert parse_arguments({"a": (1, (2,))}) == ParsedArguments({"a": [1, [2]]}, ("tuples",))


def _cycle() -> dict[str, Any]:
    raw: dict[str, Any] = {}
    raw["a"] = [raw]
    return raw


def _nested(depth: int) -> dict[str, Any]:
    raw: dict[str, Any] = {}
    for _ in range(depth):
        raw = {"a": raw}
    return raw


def _doubling() -> dict[str, Any]:
    item: list[Any] = []
    for _ in range(60):
        item = [item, item]
    return {"a": item}


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ({1: 2}, "the key '1' is no text"),
        ({"a": {None: 2}}, "the key 'None' is no text"),
        (_cycle(), "a container holds itself"),
        (_nested(200), f"the containers are nested more than {MAX_DEPTH} deep"),
        (_doubling(), f"there are more than {MAX_LENGTH} values"),
        ({"a": float("nan")}, "nan is no JSON number"),
        ({"a": [float("-inf")]}, "-inf is no JSON number"),
        ({"a": "\ud800"}, "a text holds half a surrogate pair, which is no character"),
        ({"\udfff": 1}, "a text holds half a surrogate pair, which is no character"),
        ({"a": 1 << 100_000}, "an integer of 100001 bits is too long"),
    ],
)
def test_a_mapping_that_json_cannot_hold_is_refused(raw: dict[str, Any], reason: str) -> None:
    assert refusal(raw).reason == reason


def test_the_same_container_twice_is_no_cycle() -> None:
    shared = [1]
    assert parse_arguments({"a": shared, "b": shared}).value == {"a": [1], "b": [1]}


class _Broken(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise OSError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(["a"])

    def __len__(self) -> int:
        return 1


def test_a_mapping_that_fails_is_refused_and_not_raised() -> None:
    assert refusal(_Broken()).reason == "the value could not be read (OSError)"


class _Text(str):
    __slots__ = ()

    def __len__(self) -> int:
        raise OSError


def test_a_text_of_a_subclass_is_read_as_text() -> None:
    assert parse_arguments(_Text("{'a': 1}")).value == {"a": 1}


@pytest.mark.parametrize(
    ("text", "value", "repairs"),
    [
        ("[1, 2]", [1, 2], ()),
        ("3", 3, ()),
        ("+3", 3, ("loose_numbers",)),
        (" null ", None, ()),
        ("'x'", "x", ("single_quotes",)),
        ('"x"', "x", ()),
        ("None", None, ("python_words",)),
        ("['I', 'V']", ["I", "V"], ("single_quotes",)),
        ("(1, 2)", [1, 2], ("tuples",)),
        ('[{"a": 1}]', [{"a": 1}], ()),
        (r"[\"a\"]", ["a"], ("backslash_escaped",)),
        (r'"{\"a\": 1}"', '{"a": 1}', ()),
    ],
)
def test_a_value_of_any_kind_is_read_by_the_same_grammar(text: str, value: Any, repairs: tuple[str, ...]) -> None:
    assert parse_value(text) == (value, repairs)


@pytest.mark.parametrize(
    "text", ["", " ", "word", "[1, 2", "1 2", "1/2", "[1][1]", "[1]]", "NaN", "2024-01-15", "nul", '"a']
)
def test_what_is_not_one_value_is_refused(text: str) -> None:
    with pytest.raises(MalformedArguments):
        parse_value(text)


def test_the_value_is_nobody_elses() -> None:
    first = parse_arguments('{"a": []}').value
    first["a"].append(1)
    assert parse_arguments('{"a": []}').value == {"a": []}
