"""However a text is cut, the same is shown of it; calls are held back, and prose never for long."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.text_calls import NAMES, ONE_CALL, TWO_CALLS
from surehand.dialects.text_calls import TextCallFilter, read_text_calls
from surehand.dialects.text_calls.forms import MARKS
from surehand.dialects.text_calls.thoughts import THOUGHTS

CALLS = [*(text for text, _ in ONE_CALL.values()), *TWO_CALLS.values()]
OPENERS = [opener for mark in MARKS for opener in mark.openers]
SIZE = 400_000
BOUND = 2.0
"""Seconds of processor time; each shape takes under half of one on a quiet core, something quadratic takes minutes."""


def shown(pieces: list[str]) -> tuple[str, list[tuple[str, object]]]:
    reader = TextCallFilter(NAMES)
    said = [reader.feed(piece) for piece in pieces]
    rest, calls = reader.finish()
    return "".join(said) + rest, [(call["name"], call["args"]) for call in calls]


fragments = st.one_of(
    st.sampled_from(CALLS),
    st.sampled_from(CALLS).flatmap(lambda text: st.integers(1, len(text)).map(lambda length: text[:length])),
    st.sampled_from(OPENERS),
    st.sampled_from(
        ("Hello. ", "so:\n", "```\n", "```", "`", "\n", "   ", "> ", "<think>", "</think>", "{}", "a", '"', "]")
    ),
    st.sampled_from((*THOUGHTS, *THOUGHTS.values(), "<|assistant|>", "<s>", "<| x |>")),
)
texts = st.lists(fragments, max_size=5).map("".join)


@settings(max_examples=300)
@given(data=st.data(), text=texts)
def test_any_cut_shows_the_same_and_gives_the_same_calls(data: st.DataObject, text: str) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
    pieces = [text[start:end] for start, end in pairwise([0, *cuts, len(text)])]
    whole = shown([text])

    assert shown(pieces) == whole
    assert shown(list(text)) == whole


@settings(max_examples=300)
@given(text=texts)
def test_text_without_calls_is_shown_whole_and_one_with_calls_up_to_them(text: str) -> None:
    said, calls = shown([text])

    assert text.startswith(said)
    assert calls or said == text
    assert bool(calls) == (read_text_calls(text, NAMES) is not None)


@pytest.mark.parametrize("form", ONE_CALL)
def test_no_mark_of_a_call_is_shown(form: str) -> None:
    text, args = ONE_CALL[form]
    lead = "" if "behind" in form or text.startswith(("[f", "f\n", "{", "[{", "```")) else "I will look.\n\n"

    said, calls = shown(list(lead + text))

    thought = text.partition("</think>")[0] + "</think>" if "</think>" in text else ""
    assert said == lead.rstrip() + thought
    assert calls == [("f", args)]


PROSE = "It is a long answer, and it goes on. " * 200


@pytest.mark.parametrize(
    "beginning",
    [
        "",
        *(f"{opener} is a mark. " for opener in OPENERS),
        *(f"I write {opener} here. " for opener in OPENERS),
        "f is a function. ",
        "f\nis a function. ",
        "[f](https://example.com) ",
        "[1] ",
        '{"answer": ',
        '[{"answer": ',
        "```python\nf(a=1)\n```\n",
        "```json\n{}\n```\n",
        '{"name": "f", "arguments": {}} is what I would send. ',
        '```json\n{"name": "f", "arguments": {}}\n```\nis what I would send. ',
        '<|python_tag|>{"message": "done"} ',
        "Mistral writes [TOOL_CALLS]f{} for a call. ",
        'Then. <tool_call>{"name": "f", "arguments": {}}</tool_call> is what I would send. ',
        '<tool_call>{"name": "h", "arguments": {}}</tool_call> ',
        "> f\n",
        *THOUGHTS,
        *THOUGHTS.values(),
        "```",
    ],
)
def test_prose_is_shown_while_it_comes(beginning: str) -> None:
    """Half of it may be late at most, where only what follows shows that a call is none."""
    reader = TextCallFilter(NAMES)
    text = beginning + PROSE

    said = "".join(reader.feed(char) for char in text)

    assert len(said) > len(text) - max(2 * len(beginning), 300)
    assert said + reader.finish()[0] == text


def test_plain_words_are_not_held_back_at_all() -> None:
    reader = TextCallFilter(NAMES)

    assert [reader.feed(word) for word in ("It", " is", " fine", ".")] == ["It", " is", " fine", "."]


def test_without_tools_nothing_is_looked_at() -> None:
    reader = TextCallFilter([])

    assert reader.feed('{"name": ') == '{"name": '
    assert reader.finish() == ("", [])


def filled(unit: str, before: str = "", after: str = "") -> str:
    """``before``, as many of ``unit`` as fit, ``after``."""
    return before + unit * ((SIZE - len(before) - len(after)) // len(unit)) + after


SHAPES = [
    *OPENERS,
    *(f"{opener}{{" for opener in OPENERS),
    *(f"{opener}f" for opener in OPENERS),
    *(f'x. {opener}{{"name": "f", ' for opener in OPENERS),
    *(
        "x",
        " ",
        "\n",
        "`",
        "```\n",
        "```json\n{}\n```\n",
        "> ",
        "{",
        "[",
        "[{",
        "f\n",
        "f\n{",
        "[f(",
        "[f(a=1,",
        "<",
        "<|",
    ),
    *('{"name": "f", "arguments": {}}', '{"name": "f", "arguments": {}};\n', "x<|python_tag|>{} a", "x[TOOL_CALLS]f{}"),
    *(*THOUGHTS, *THOUGHTS.values(), "<|assistant|>", "<|"),
    *("<function=f><parameter=a>", "</parameter>", "a <tool_call>f</tool_call>", "\\", '"'),
]


@pytest.mark.parametrize("unit", SHAPES)
def test_long_texts_take_no_time(unit: str) -> None:
    start = time.process_time()

    read_text_calls(filled(unit), NAMES)

    assert time.process_time() - start < BOUND


@pytest.mark.parametrize(
    ("before", "unit", "after"),
    [
        ("<tool_call><function=f>", "<parameter=a></parameter>", "</function></tool_call>"),
        ("<tool_call><function=f><parameter=a>", "</parameter> ", ""),
        ("<tool_call>f", "<arg_key>a</arg_key><arg_value>", "</tool_call>"),
        ("[f(a=[", "1,", "])]"),
        ("[f(a='", "\\'", "')]"),
        ("[", "f(a=1),", "]"),
        ('<|python_tag|>{"name": "f", "parameters": {}}', "\n", "x"),
        ("<tool_call>", " ", "x"),
    ],
)
def test_long_calls_take_no_time(before: str, unit: str, after: str) -> None:
    start = time.process_time()

    read_text_calls(filled(unit, before, after), NAMES)

    assert time.process_time() - start < BOUND


@pytest.mark.parametrize("unit", ["x", " ", "\n", "<", "`", '{"a": 1}\n', "<tool_call>", "a. <tool_call>{ "])
@pytest.mark.parametrize("before", ["", '<tool_call>{"a": "', "```\n", '{"name": "'])
def test_long_streams_of_small_pieces_take_no_time(before: str, unit: str) -> None:
    reader = TextCallFilter(NAMES)
    text = (before + unit * 50_000)[:50_000]
    start = time.process_time()

    for char in text:
        reader.feed(char)
    reader.finish()

    assert time.process_time() - start < BOUND
