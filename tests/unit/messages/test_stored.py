"""The stored form is JSON with a version; damage is named, a model's nonsense never is damage."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from surehand.errors import InputError
from surehand.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    Message,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    message_from_dict,
    message_to_dict,
)
from surehand.outcomes import FailureKind, Outcome

MESSAGES: list[Message] = [
    SystemMessage("s"),
    HumanMessage(["a", {"type": "image", "data": "…"}], name="Ada", id="m"),
    AIMessage("x", response_metadata={"finish_reason": "stop"}, usage_metadata={"input_tokens": 1}),
    AIMessage(
        tool_calls=[{"id": "a", "name": "f", "args": "{'x': 1}"}, {"id": "b", "name": "g", "args": "{bad"}, "junk"]
    ),
    ToolMessage("", tool_call_id="c", artifact={"rows": [1]}),
    ToolMessage(
        "no", tool_call_id="c", status="error", outcome=Outcome(kind=FailureKind.TIMEOUT, text="no", attempts=2)
    ),
    RemoveMessage(id="m"),
]


@pytest.mark.parametrize("message", MESSAGES, ids=range(len(MESSAGES)))
def test_message_comes_back_equal(message: Message) -> None:
    form = json.loads(json.dumps(message_to_dict(message)))

    assert message_from_dict(form) == message


def test_repairs_and_faults_come_back() -> None:
    message = MESSAGES[3]
    assert isinstance(message, AIMessage)

    again = message_from_dict(message_to_dict(message))

    assert isinstance(again, AIMessage)
    assert again.repairs == message.repairs
    assert again.invalid_tool_calls == message.invalid_tool_calls


def test_form_is_small_and_has_a_version() -> None:
    assert message_to_dict(HumanMessage("hi")) == {"surehand": 1, "type": "human", "content": "hi"}


def test_chunk_is_stored_as_the_message_it_makes() -> None:
    assert message_to_dict(AIMessageChunk("x"))["type"] == "ai"


def test_what_json_cannot_carry_is_stored_as_what_comes_nearest() -> None:
    itself: list[Any] = []
    itself.append(itself)
    message = ToolMessage(
        "", tool_call_id="c", artifact={"day": date(2026, 1, 2), "sum": Decimal("1.50"), "object": type}
    )

    form = message_to_dict(message)

    assert form["artifact"] == {"day": "2026-01-02", "sum": "1.50", "object": "<class 'type'>"}
    json.dumps(message_to_dict(message.replace(artifact=itself)))


@pytest.mark.parametrize("key", ["\ud800", "plain"])
def test_odd_keys_and_depths_do_not_cost_the_rest_of_the_message(key: str) -> None:
    deep: Any = {}
    for _ in range(2_000):
        deep = {"a": deep}
    message = HumanMessage("hi", additional_kwargs={key: 1, "deep": deep, "when": date(2026, 1, 2)})

    again = message_from_dict(json.loads(json.dumps(message_to_dict(message))))

    assert again.content == "hi"
    assert (again.additional_kwargs[key], again.additional_kwargs["when"]) == (1, "2026-01-02")


@pytest.mark.parametrize(
    "args", ["{a}{b}", '{"city": "Par', [1], 3, None, "", {"a": {"b": [1, None]}}, '{"x": "\ud800"}']
)
def test_loading_never_fails_on_arguments(args: object) -> None:
    form = {"surehand": 1, "type": "ai", "content": "", "tool_calls": [{"id": "c", "name": "f", "args": args}]}

    message = message_from_dict(form)

    assert isinstance(message, AIMessage)
    assert message.tool_calls[0]["id"] == "c"


@pytest.mark.parametrize("form", [{}, {"type": "ai"}, {"surehand": 2, "type": "ai"}, {"surehand": "1"}, None, "x", []])
def test_foreign_form_is_refused(form: Any) -> None:
    with pytest.raises(InputError, match="Expected a stored message of version 1, as message_to_dict writes it"):
        message_from_dict(form)


@pytest.mark.parametrize(
    "damage",
    [
        {"type": "robot"},
        {"type": ["ai"]},
        {"type": "ai", "content": 5},
        {"type": "ai", "colour": "red"},
        {"type": "ai", "tool_calls": 5},
        {"type": "ai", "tool_calls": ["x"]},
        {"type": "ai", "additional_kwargs": 5},
        {"type": "tool", "content": "x"},
        {"type": "tool", "content": "x", "tool_call_id": "c", "status": "odd"},
        {"type": "tool", "content": "x", "tool_call_id": "c", "outcome": {"kind": "odd"}},
        {"type": "tool", "content": "x", "tool_call_id": "c", "outcome": []},
        {"type": "remove"},
    ],
)
def test_damage_is_named(damage: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="A stored message is damaged"):
        message_from_dict({"surehand": 1, **damage})
