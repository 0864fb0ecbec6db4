"""Messages come apart and together again, whatever stands in them."""

from __future__ import annotations

from typing import Any

import pytest

from surehand.errors import InputError
from surehand.messages import (
    AIMessage,
    HumanMessage,
    Message,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    message_of,
    parts_of,
)
from surehand.outcomes import FailureKind, Outcome

MESSAGES: list[Message] = [
    SystemMessage("s"),
    HumanMessage(["a", {"type": "image", "data": b"\x00"}], name="", id="m", additional_kwargs={"when": (1, 2)}),
    AIMessage("x", response_metadata={"finish_reason": "stop"}, usage_metadata={}),
    AIMessage(
        tool_calls=[{"id": "a", "name": "f", "args": "{'x': 1}"}, {"id": "b", "name": "g", "args": "{bad"}, "junk"]
    ),
    ToolMessage("", tool_call_id="c", artifact={"rows": {1, 2}}),
    ToolMessage("no", tool_call_id="c", status="error", outcome=Outcome(kind=FailureKind.TIMEOUT, text="no")),
    RemoveMessage(id="m"),
]


@pytest.mark.parametrize("message", MESSAGES, ids=range(len(MESSAGES)))
def test_message_comes_back_equal(message: Message) -> None:
    assert message_of(parts_of(message)) == message


def test_what_says_nothing_is_left_out() -> None:
    assert parts_of(AIMessage("hi")) == {"type": "ai", "content": "hi"}
    assert parts_of(ToolMessage("", tool_call_id="c")) == {"type": "tool", "content": "", "tool_call_id": "c"}


def test_what_is_known_of_calls_comes_back() -> None:
    message = MESSAGES[3]
    assert isinstance(message, AIMessage)

    again = message_of(parts_of(message))

    assert isinstance(again, AIMessage)
    assert again.repairs == message.repairs
    assert again.invalid_tool_calls == message.invalid_tool_calls


def test_arguments_that_were_never_json_are_not_read_anew() -> None:
    message = AIMessage(tool_calls=[{"id": "a", "name": "f", "args": {"x": 1}}])
    message.tool_calls[0]["args"]["x"] = float("inf")

    again = message_of(parts_of(message))

    assert isinstance(again, AIMessage)
    assert again.tool_calls == message.tool_calls
    assert not again.invalid_tool_calls


def test_exception_behind_an_outcome_stays_here() -> None:
    message = ToolMessage("", tool_call_id="c", outcome=Outcome(kind=FailureKind.EXCEPTION, error=ValueError("x")))

    assert parts_of(message)["outcome"].error is None


CALL: dict[str, Any] = {"id": "c", "name": "f", "args": {}}


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"type": "robot"},
        {"type": ["ai"]},
        {"type": "ai", "content": 5},
        {"type": "ai", "colour": "red"},
        {"type": "ai", "tool_calls": 5},
        {"type": "ai", "tool_calls": ["x"]},
        {"type": "ai", "tool_calls": [{"id": "c"}]},
        {"type": "ai", "tool_calls": [CALL, CALL]},
        {"type": "ai", "tool_calls": [{**CALL, "id": 5}]},
        {"type": "ai", "tool_calls": [{**CALL, "args": "text"}]},
        {"type": "ai", "tool_calls": [{**CALL, "colour": "red"}]},
        {"type": "ai", "tool_calls": [{**CALL, "repairs": 5}]},
        {"type": "ai", "usage_metadata": 5},
        {"type": "human", "tool_calls": [CALL]},
        {"type": "tool", "content": "x"},
        {"type": "tool", "content": "x", "tool_call_id": "c", "status": "odd"},
        {"type": "tool", "content": "x", "tool_call_id": "c", "outcome": {"kind": None}},
        {"type": "remove"},
    ],
)
def test_damage_is_named(parts: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="no message's parts"):
        message_of(parts)
