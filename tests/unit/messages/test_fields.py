"""Messages are fields of pydantic models."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ValidationError

from surehand.messages import AIMessage, AnyMessage, HumanMessage


class State(BaseModel):
    """A state as hosts write it."""

    messages: list[AnyMessage]
    reply: AIMessage | None = None


def test_messages_are_kept_as_they_are() -> None:
    message = HumanMessage("hi")

    assert State(messages=[message]).messages[0] is message


def test_other_spellings_are_converted() -> None:
    state = State.model_validate({"messages": ["a", {"role": "assistant", "content": "b"}]})

    assert state.messages == [HumanMessage("a"), AIMessage("b")]


def test_models_with_messages_go_through_json() -> None:
    state = State(messages=[HumanMessage("hi", id="m")], reply=AIMessage("x"))

    assert State.model_validate_json(state.model_dump_json()) == state
    assert State.model_validate(state.model_dump()) == state


def test_python_dump_keeps_the_messages() -> None:
    assert State(messages=[HumanMessage("hi")]).model_dump()["messages"] == [HumanMessage("hi")]


def test_what_is_no_message_is_refused() -> None:
    with pytest.raises(ValidationError, match="This is no message"):
        State.model_validate({"messages": [5]})


def test_message_of_another_kind_is_refused() -> None:
    with pytest.raises(ValidationError, match="expected one AIMessage"):
        State.model_validate({"messages": [], "reply": "hi"})


def test_fields_have_a_json_schema() -> None:
    assert State.model_json_schema()["properties"]["messages"]["items"]["type"] == "object"
