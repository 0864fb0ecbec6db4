"""Each form that models are trained on is read, in none of them is anything guessed, and none is read in a sentence."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from support.text_calls import NAMES, ONE_CALL, TWO_CALLS, read
from surehand import AIMessage, tool
from surehand.dialects.text_calls import FORMS, TextCallForm, read_text_calls
from surehand.dialects.text_calls.forms import MARKS
from surehand.dialects.text_calls.thoughts import THOUGHTS
from surehand.nodes import ToolNode


@pytest.mark.parametrize("form", ONE_CALL)
def test_call_of_each_form_is_read(form: str) -> None:
    text, args = ONE_CALL[form]

    assert read(text) == [("f", args)]
    assert read(f"\n{text}\n<|im_end|>") == [("f", args)]


@pytest.mark.parametrize("form", TWO_CALLS)
def test_calls_of_one_turn_are_read_in_order(form: str) -> None:
    assert read(TWO_CALLS[form]) == [("f", {}), ("g", {})]


@pytest.mark.parametrize("form", ONE_CALL)
def test_call_of_a_tool_that_was_not_offered_is_a_text(form: str) -> None:
    assert read_text_calls(ONE_CALL[form][0], ["h", "ff"]) is None


@pytest.mark.parametrize("thought", THOUGHTS.items())
@pytest.mark.parametrize("form", [form for form in ONE_CALL if not form.startswith("behind")])
def test_call_behind_a_thought_of_any_family_is_read(form: str, thought: tuple[str, str]) -> None:
    text, args = ONE_CALL[form]
    opener, closer = thought

    assert read(f"{opener}I need f.{closer}{text}") == [("f", args)]
    assert read(f"I need f.\n{closer}\n\n{text}") == [("f", args)]


def test_thought_is_ended_by_its_own_end_alone() -> None:
    call = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'

    assert read(f"<think>I could write [/THINK]\n{call}\nbut do not.</think>It is done.") is None


TOKEN_MARKS = [opener for mark in MARKS if not mark.is_word for opener in mark.openers]


@pytest.mark.parametrize(
    "header",
    [
        "<s>",
        "<|begin_of_text|>",
        "<|assistant|>",
        "<｜Assistant｜>",
        "<|start_of_role|>assistant<|end_of_role|> ",
        "<|START_RESPONSE|>I look.<|END_RESPONSE|>",
    ],
)
@pytest.mark.parametrize("form", [form for form, (text, _) in ONE_CALL.items() if text.startswith(tuple(TOKEN_MARKS))])
def test_call_behind_a_special_token_is_read(form: str, header: str) -> None:
    text, args = ONE_CALL[form]

    assert read(header + text) == [("f", args)]


def test_a_tag_or_an_arrow_is_no_special_token() -> None:
    call = '<|python_tag|>{"name": "f", "parameters": {}}'

    for before in ("Llama writes -> ", "It is <b>", "It is <| x |>", "> <|eot_id|>", '"<|eot_id|>" and "', '"<s>'):
        assert read(before + call) is None, before


@pytest.mark.parametrize("form", ONE_CALL)
def test_cut_off_text_never_becomes_a_complete_call_of_something_else(form: str) -> None:
    """Each cut is a text, a call that cannot run, or, where only marks are missing, the call that was meant."""
    text, args = ONE_CALL[form]

    for length in range(len(text)):
        for call in read_text_calls(text[:length], NAMES) or []:
            message = AIMessage(tool_calls=[call])
            assert message.invalid_tool_calls or message.tool_calls[0]["args"] == args


ABOUT = (
    "> {}",
    "You write `{}` then.",
    'He said "{}".',
    "For example:\n```\n{}\n```\nand so on.",
    *(f"{opener}I could write\n{{}}\nbut do not.{closer}It is done." for opener, closer in THOUGHTS.items()),
    *(f"{opener}I could write\n{{}}" for opener in THOUGHTS),
)
QUOTED = [
    about.format(text if "\n" in about else text.replace("\n", " "))
    for form, (text, _) in ONE_CALL.items()
    for about in ABOUT
    if not form.startswith("behind") and not ("```" in text and "```" in about)
]


@pytest.mark.parametrize("text", QUOTED)
def test_text_about_a_call_is_a_text(text: str) -> None:
    assert read(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "[1, 2, 3]",
        "[f](https://example.com) has the details.",
        "[f(x) = x] is the identity.",
        "[f(a=1), and so on]",
        "f\nis a function.",
        'f\n{"a": 1}\nis how it is called.',
        "f(a=1)",
        "```python\nf(a=1)\n```",
        "```tool_code\nprint(f(a=1))\n```",
        "```tool_code\nf(a=1)\n```\nThat is it.",
        '{"name": "f", "arguments": {"a": 1}} is what I would send.',
        '[{"name": "f", "arguments": {"a": 1}}] is what I would send.',
        "Action: f is called.",
        ">>> f\n1",
        ">>> f(1)\n2",
        "functools[0] is no list.",
        "<tool_call> is a tag.",
        "<tool_call>f is a function.",
        "<|channel|>final<|message|>It is done.<|return|>",
        "<|channel|>analysis<|message|>I call to=functions.f soon.<|end|>",
        "<|python_tag|>f is a function.",
        "[TOOL_CALLS] announces calls.",
        "Mistral writes [TOOL_CALLS]f{} for a call.",
        'For example: <tool_call>{"name": "f", "arguments": {}}</tool_call>',
    ],
)
def test_text_that_begins_like_a_call_is_a_text(text: str) -> None:
    assert read(text) is None


@pytest.mark.parametrize(
    "text",
    [
        'I look. <tool_call>{"name": "f", "arguments": {}}</tool_call>',
        '我来查一下。<tool_call>{"name": "f", "arguments": {}}</tool_call>',
        "Let me look:<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜>",
        "Hello[TOOL_CALLS]f[ARGS]{}",
        "I look. <minimax:tool_call><invoke name='f'></invoke></minimax:tool_call>",
    ],
)
def test_call_may_follow_what_is_said_in_its_line(text: str) -> None:
    assert read(text) == [("f", {})]


def test_words_behind_a_marked_call_are_passed_over() -> None:
    assert read('[TOOL_CALLS][{"name": "f", "arguments": {}}]\nI called it.') == [("f", {})]
    assert read("[TOOL_CALLS]f{}\nI called it.") == [("f", {})]
    assert read('<|tool_call|>[{"name": "f", "arguments": {}}]\nI called it.') == [("f", {})]


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("1", 1),
        ("-1.5", -1.5),
        ("1e3", 1000.0),
        ("True", True),
        ("None", None),
        ("'a'", "a"),
        ('"it\'s"', "it's"),
        (r"'it\'s'", "it's"),
        (r"'\x41\u00e9\n'", "Aé\n"),
        ("[1, 'a']", [1, "a"]),
        ("{'k': [True]}", {"k": [True]}),
        ("()", []),
    ],
)
def test_python_literals_are_what_python_reads(literal: str, value: object) -> None:
    assert read(f"[f(a={literal})]") == [("f", {"a": value})]


@pytest.mark.parametrize(
    "args",
    [
        "a=1/6",
        "a=x",
        "a=g()",
        "a=1 2",
        "a=1-2",
        "a=f'{x}'",
        "a=b'x'",
        "a=1, a=2",
        "a=[1",
        "a=lambda: 0",
        "a=1, 2",
        "a={1, 2}",
    ],
)
def test_python_that_is_no_literal_is_never_evaluated(args: str) -> None:
    text = f"[f({args})]"

    assert read(text) == [("f", text)]
    assert AIMessage(tool_calls=read_text_calls(text, NAMES) or []).invalid_tool_calls


def test_values_in_tags_are_texts_that_the_schema_reads() -> None:
    """The types are the tool's to decide: a postcode keeps its zero, a list becomes one."""

    @tool
    def send(code: str, count: int, tags: list[str], note: str, *, fast: bool) -> str:
        """Send."""
        return repr((code, count, tags, note, fast))

    values = {"code": "01234", "count": "3", "tags": '["a"]', "note": "[1, 2]", "fast": "True"}
    pairs = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in values.items())
    calls = read_text_calls(f"<tool_call>\n<function=send>\n{pairs}</function>\n</tool_call>", ["send"])

    assert calls is not None
    assert calls[0]["args"] == values
    (answer,) = ToolNode([send]).invoke([AIMessage(tool_calls=calls)])
    assert answer.text == repr(("01234", 3, ["a"], "[1, 2]", True))


@pytest.mark.parametrize(
    "value", ["a\nb", "\n", " x ", "</parameter>", "<b>x</b>", "</function", "a\n</parameter>\nb", "{}"]
)
def test_value_in_a_tag_is_whole(value: str) -> None:
    text = f"<tool_call>\n<function=f>\n<parameter=a>\n{value}\n</parameter>\n</function>\n</tool_call>"

    assert read(text) == [("f", {"a": value})]


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>\n<function=f>\n<parameter=a>\n1\n</function>\n</tool_call>",
        "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n<parameter=a>\n2\n</parameter>\n</function>\n</tool_call>",
        "<tool_call>f\n<arg_key>a</arg_key>\n</tool_call>",
        "<tool_call>f",
        "[TOOL_CALLS]f[ARGS]",
        "[TOOL_CALLS]f[ARGS]{1/6}",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>",
        '<minimax:tool_call><invoke name="f"><parameter name="a">1',
        "<|channel|>commentary to=functions.f <|constrain|>json<|message|>",
        ">>>f\n{",
        'f\n{"a": ',
    ],
)
def test_marked_call_that_is_broken_stays_a_call_that_cannot_run(text: str) -> None:
    calls = read_text_calls(text, NAMES)

    assert calls is not None
    assert [call["name"] for call in calls] == ["f"]
    assert AIMessage(tool_calls=calls).invalid_tool_calls


def test_only_the_forms_that_are_asked_for_are_read() -> None:
    hermes, bare = ONE_CALL["hermes"][0], ONE_CALL["json"][0]

    assert read_text_calls(hermes, NAMES, forms=["hermes"])
    assert read_text_calls(hermes, NAMES, forms=["json", "glm"]) is None
    assert read_text_calls(bare, NAMES, forms=["json"])
    assert read_text_calls(bare, NAMES, forms=["hermes"]) is None


def test_no_mark_is_the_beginning_of_another() -> None:
    openers = [opener for mark in MARKS for opener in mark.openers]

    assert len(set(openers)) == len(openers)
    assert not [(a, b) for a in openers for b in openers if a != b and b.startswith(a)]


def test_each_form_is_read_somewhere() -> None:
    marked = {form for mark in MARKS for body in mark.bodies for form in body.forms}

    assert set(FORMS) == set(get_args(TextCallForm)) == marked | {"json"}


def test_reading_leaves_ids_to_us() -> None:
    """Models number their calls anew in each turn."""
    calls: list[Any] = read_text_calls(ONE_CALL["kimi k2"][0], NAMES) or []

    assert calls[0]["id"] != "functions.f:0"
