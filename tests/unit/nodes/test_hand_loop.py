"""The calls of one message are answered without a graph."""

from __future__ import annotations

import asyncio

import pytest

from surehand import AIMessage, arun_tool_calls, run_tool_calls, tool
from surehand.errors import InputError


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


ADDING = AIMessage(tool_calls=[{"id": "c1", "name": "add", "args": {"a": 1, "b": 2}}])


def test_a_hand_written_loop_runs_the_calls_of_one_message() -> None:
    assert [answer.content for answer in run_tool_calls(ADDING, [add])] == ["3"]
    assert [answer.content for answer in asyncio.run(arun_tool_calls(ADDING, [add]))] == ["3"]


def test_the_answer_has_the_form_of_the_message() -> None:
    function = {"name": "add", "arguments": '{"a": 2, "b": 3}'}
    message = {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": function}]}

    assert run_tool_calls(message, [add]) == [{"role": "tool", "tool_call_id": "c1", "content": "5"}]


def test_a_list_in_place_of_the_one_message_is_refused_with_the_remedy() -> None:
    with pytest.raises(InputError, match=r"Pass the model's reply, not a list"):
        run_tool_calls([ADDING], [add])
