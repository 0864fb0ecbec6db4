"""Calls in a text are read in the forms that models are trained on, and never from a text about calls."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from support.data import committed_data, full_data, read_lines
from surehand.dialects.text_calls import read_text_calls
from surehand.messages import AIMessage

NAMES = {"f", "g"}


def read(text: str) -> list[tuple[str, Any]] | None:
    calls = read_text_calls(text, NAMES)
    return None if calls is None else [(call["name"], call["args"]) for call in calls]


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>',
        '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>\n',
        'I will look.\n<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call><|im_end|>',
        '<tool_call>{"name": "f", "arguments": {"a": 1}}',
        '```\n<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>\n```',
        "<tool_call>{'name': 'f', 'arguments': {'a': 1}}</tool_call>",
        '<|python_tag|>{"name": "f", "parameters": {"a": 1}}<|eom_id|>',
        '<|python_tag|>{"type": "function", "name": "f", "parameters": {"a": 1}}',
        '```json\n{"name": "f", "arguments": {"a": 1}}\n```',
        '```\n{"name": "f", "parameters": {"a": 1}}\n```',
        '{"name": "f", "arguments": {"a": 1}}',
        '{"name": "f", "parameters": {"a": 1}}',
        ' [{"name": "f", "arguments": {"a": 1}}] ',
        '{"type": "function", "function": {"name": "f", "arguments": {"a": 1}}}',
    ],
)
def test_call_is_read(text: str) -> None:
    assert read(text) == [("f", {"a": 1})]


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "f", "arguments": {}}</tool_call>\n<tool_call>{"name": "g", "arguments": {}}</tool_call>',
        '<tool_call>{"name": "f", "arguments": {}}\n<tool_call>\n<tool_call>{"name": "g", "arguments": {}}</tool_call>',
        '[{"name": "f", "arguments": {}}, {"name": "g", "arguments": {}}]',
        '<tool_call>[{"name": "f", "arguments": {}}, {"name": "g", "arguments": {}}]</tool_call>',
        '<|python_tag|>{"name": "f", "parameters": {}}; {"name": "g", "parameters": {}}',
        '```json\n{"name": "f", "arguments": {}}\n```\n\n```json\n{"name": "g", "arguments": {}}\n```',
    ],
)
def test_several_calls_are_read_in_order(text: str) -> None:
    assert read(text) == [("f", {}), ("g", {})]


def test_arguments_go_on_as_they_are() -> None:
    assert read('<tool_call>{"name": "f", "arguments": "{\\"a\\": 1}"}</tool_call>') == [("f", '{"a": 1}')]


def test_tag_makes_a_call_of_a_name_alone() -> None:
    assert read('<tool_call>{"name": "f"}</tool_call>') == [("f", {})]
    assert read('{"name": "f"}') is None


@pytest.mark.parametrize("text", ['{"name": "f", "arguments": {"p": 1/6}}', '{"name": "f", "arguments": {"p": 1'])
def test_call_that_is_broken_keeps_its_text(text: str) -> None:
    assert read(f"<tool_call>{text}</tool_call>") == [("f", text)]
    assert read(text) == [("f", text)]


@pytest.mark.parametrize(
    "text",
    ["```a\n" * 20_000, "x" + " " * 100_000 + "x", "<|python_tag|>{}" + "\n" * 100_000 + "x", "<tool_call>" * 20_000],
)
def test_long_texts_take_no_time(text: str) -> None:
    start = time.process_time()

    assert read(text) is None
    assert time.process_time() - start < 2


def test_unclosed_code_block_goes_on_to_the_end() -> None:
    assert read('```json\n{"name": "f", "arguments": {"a": 1}}') == [("f", {"a": 1})]
    assert read('For example:\n```\n<tool_call>{"name": "f", "arguments": {}}</tool_call>') is None


def test_broken_call_can_never_run_with_its_own_text_as_arguments() -> None:
    whole = '{"name": "f", "arguments": {"a": 1}}'

    assert read(f"<tool_call>{whole}{whole}</tool_call>") == [("f", {"a": 1})]
    assert read(f"<tool_call>{whole}}}</tool_call>") == [("f", {"a": 1})]
    assert read(f"{whole}{whole}") == [("f", {"a": 1})]


def test_call_quoted_after_a_call_is_not_read() -> None:
    text = '<tool_call>{"name": "f", "arguments": {}}</tool_call>\n'

    assert read(f'{text}I wrote `<tool_call>{{"name": "g", "arguments": {{}}}}</tool_call>`.') == [("f", {})]


def test_calls_have_ids_of_their_own() -> None:
    calls = read_text_calls('[{"name": "f", "arguments": {}}, {"name": "f", "arguments": {}}]', NAMES)

    assert calls is not None
    assert len({call["id"] for call in calls}) == 2
    assert calls[0]["type"] == "tool_call"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The weather is fine.",
        '{"name": "h", "arguments": {}}',
        '<tool_call>{"name": "h", "arguments": {}}</tool_call>',
        '{"name": "f", "address": "Main Street"}',
        '{"answer": 42}',
        "[]",
        '[{"name": "f", "arguments": {}}, {"name": "h", "arguments": {}}]',
        'Use {"name": "f", "arguments": {}} to call it.',
        'You would write `<tool_call>{"name": "f", "arguments": {}}</tool_call>` then.',
        'He said "<tool_call>{"name": "f", "arguments": {}}</tool_call>".',
        '> <tool_call>{"name": "f", "arguments": {}}</tool_call>',
        'For example:\n```json\n{"name": "f", "arguments": {}}\n```',
        'For example:\n```\n<tool_call>{"name": "f", "arguments": {}}</tool_call>\n```\nand so on.',
        '```json\n{"name": "f", "arguments": {}}\n```\nis what it looks like.',
        '{"name": "f", "address": {"a": 1}',
        '{"name": "h", "arguments": {"a": 1}',
        "<tool_call></tool_call>",
        '<|python_tag|>{"message": "f"}',
        "<|python_tag|>import webbrowser",
    ],
)
def test_text_about_calls_is_a_text(text: str) -> None:
    assert read(text) is None


LEAKS = {
    "Acknowledged. The available exchange-rate tool is": None,
    "Acknowledged. Available exchange-rate tool:": None,
    "The exchange-rate tool is available": None,
    '{"name":"get_weather","parameters\'': "get_weather, broken",
    '{"name":"complex", "parameters": {"data\'': "complex, broken",
    '{"name":"get_time","parameters>': "get_time, broken",
    '{"name": "perform"': None,
    "<|python_tag|>import webbrowser": None,
    '<|python_tag|>{"status":400': None,
    '<|python_tag|>{"message": "Hello, World!"': None,
    '<|python_tag|>{"type": "function", "name": "print_hello_world"': None,
    '<|python_tag|>{"type": "message"': None,
    '<|python_tag|>{"name": "get_language_info"': None,
    '<|python_tag|>{"message":"Hello world!"}': None,
    '<|python_tag|>{"message": "I\'m sorry': None,
}
"""How each recorded text begins -> what it is read as; None where it stays a text.

None of them is a call that could run: they are prose, calls of tools that were not offered, code, data, and three
broken calls of a tool that was offered, so that the model is to be told.
"""


@pytest.mark.parametrize("folder", [folder for folder in (committed_data(), full_data()) if folder], ids=str)
def test_recorded_leaks_are_read_as_what_they_are(folder: Path) -> None:
    records = read_lines(folder / "provider_recordings" / "leaked_in_content.jsonl")
    decided: dict[str, str | None] = {}

    for record in records:
        calls = read_text_calls(record["content"], [tool["function"]["name"] for tool in record["tools"]])
        beginning = next(beginning for beginning in LEAKS if record["content"].startswith(beginning))
        is_broken = bool(AIMessage(tool_calls=calls or []).invalid_tool_calls)
        decided[beginning] = f"{calls[0]['name']}, {'broken' if is_broken else 'whole'}" if calls else None

    assert len(records) == len(LEAKS)
    assert decided == LEAKS


@pytest.mark.parametrize(
    ("number", "read_as"),
    [
        (8, [("get_weather", {"city": "Paris"})]),
        (9, None),
        (10, [("area", {"radius": 5}), ("covid", {"country": "US"})]),
        (11, [("get_weather", {"city": "Paris"})]),
        (13, [("get_weather", {"city": "Paris"})]),
        (17, [("requests_get", {"lat": 48.8584, "c": 1})]),
        (93, None),
    ],
)
def test_malformed_texts_that_models_sent_are_decided(number: int, read_as: object) -> None:
    """The cases that are whole texts: what stands beside the arguments makes them calls, or leaves them texts."""
    (case,) = (case for case in read_lines(committed_data() / "malformed" / "cases.jsonl") if case["id"] == number)

    calls = read_text_calls(case["raw"], ["get_weather", "area", "covid", "requests_get"])

    assert (None if calls is None else [(call["name"], call["args"]) for call in calls]) == read_as


@pytest.mark.parametrize(
    "form", ["{}", '<tool_call>{{"name": "f", "arguments": {}}}</tool_call>', "[TOOL_CALLS]f[ARGS]{}", "f\n{}"]
)
def test_what_is_refused_as_arguments_never_runs_in_any_form(form: str) -> None:
    for case in read_lines(committed_data() / "malformed" / "cases.jsonl"):
        raw = case["raw"] if form != "{}" else f'{{"name": "f", "arguments": {case["raw"]}}}'
        for call in AIMessage(tool_calls=read_text_calls(form.format(raw), NAMES) or []).tool_calls:
            assert "refuse" not in case["want"] or not isinstance(call["args"], dict), case["case"]


def test_recorded_leak_is_a_call_where_its_tool_is_offered() -> None:
    records = read_lines(committed_data() / "provider_recordings" / "leaked_in_content.jsonl")
    (text,) = (record["content"] for record in records if "print_hello_world" in record["content"])

    calls = read_text_calls(text, ["print_hello_world"])

    assert calls is not None
    assert json.dumps(calls[0]["args"]) == "{}"
