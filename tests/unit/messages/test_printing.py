"""Messages print in the form that people know."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from surehand.messages import AIMessage, HumanMessage, Message, SystemMessage, ToolMessage


@pytest.mark.parametrize(
    ("message", "title"),
    [
        (HumanMessage("x"), "================================ Human Message ================================="),
        (AIMessage("x"), "================================== Ai Message =================================="),
        (
            ToolMessage("x", tool_call_id="c"),
            "================================= Tool Message =================================",
        ),
        (SystemMessage("x"), "================================ System Message ================================"),
    ],
)
def test_title_is_centred_in_80_columns(message: Message, title: str) -> None:
    assert message.pretty_repr().splitlines() == [title, "x"]
    assert len(title) == 80


def test_calls_follow_the_content() -> None:
    blocks: list[str | dict[str, object]] = [
        {"id": "t1", "input": {"a": 42}, "name": "SelectNumber", "type": "tool_use"}
    ]
    message = AIMessage(blocks, tool_calls=[{"id": "t1", "name": "SelectNumber", "args": {"a": 42, "b": "x"}}])

    assert message.pretty_repr().splitlines()[1:] == [
        "[{'id': 't1', 'input': {'a': 42}, 'name': 'SelectNumber', 'type': 'tool_use'}]",
        "Tool Calls:",
        "  SelectNumber (t1)",
        "  Args:",
        "    a: 42",
        "    b: x",
    ]


def test_name_stands_above_the_content() -> None:
    assert ToolMessage('{"a": 37}', tool_call_id="t", name="SelectNumber").pretty_repr().splitlines()[1:] == [
        "Name: SelectNumber",
        '{"a": 37}',
    ]


def test_empty_content_takes_no_line() -> None:
    message = AIMessage(tool_calls=[{"id": "t1", "name": "f", "args": {}}])

    assert message.pretty_repr().splitlines()[1:] == ["Tool Calls:", "  f (t1)", "  Args:"]


def test_unreadable_call_prints_its_fault_and_its_text() -> None:
    message = AIMessage(tool_calls=[{"id": "t1", "name": "f", "args": "city=Beijing"}])

    lines = message.pretty_repr().splitlines()
    assert lines[3].startswith("  Error: The arguments are not one JSON object")
    assert lines[4:] == ["  Args:", "    city=Beijing"]


def test_pretty_print_prints_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    HumanMessage("hi").pretty_print()

    assert capsys.readouterr().out == f"{HumanMessage('hi').pretty_repr()}\n"


@pytest.mark.parametrize(
    ("artifact", "text"),
    [
        ({"a": [1, True, None, 1.5]}, "{'a': [1, True, None, 1.5]}"),
        ([object()], "[<object>]"),
        (ValueError("x"), "<ValueError>"),
        ([10**5_000], "[<int>]"),
    ],
)
def test_an_artifact_is_printed_in_brief(artifact: Any, text: str) -> None:
    assert repr(ToolMessage("x", tool_call_id="c", artifact=artifact)).endswith(f"artifact={text})")


def test_an_artifact_of_any_size_is_printed_in_brief() -> None:
    doubled: list[Any] = functools.reduce(lambda inner, _: [inner, inner], range(60), [1])
    for artifact in ("x" * 1_000_000, list(range(1_000_000)), doubled):
        assert len(str(ToolMessage("x", tool_call_id="c", artifact=artifact))) < 300
