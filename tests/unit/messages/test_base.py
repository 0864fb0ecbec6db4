"""Messages are values: immutable, equal by what they hold, refused when a host builds nonsense."""

from __future__ import annotations

import copy
import pickle
from typing import Any, cast

import pytest

from surehand.errors import InputError, OptionError
from surehand.messages import AIMessage, HumanMessage, Message, RemoveMessage, SystemMessage, ToolMessage
from surehand.outcomes import FailureKind, Outcome

EVERY_KIND: list[Message] = [
    SystemMessage("Be brief."),
    HumanMessage("hi", name="Ada", id="m1", additional_kwargs={"k": 1}),
    AIMessage("", tool_calls=[{"id": "c", "name": "f", "args": "{'a': 1}"}], usage_metadata={"input_tokens": 3}),
    ToolMessage("4", tool_call_id="c", name="f", artifact=[1], outcome=Outcome(attempts=1)),
    RemoveMessage(id="m1"),
]


def test_content_is_positional_and_may_be_left_out() -> None:
    assert HumanMessage("hi").content == "hi"
    assert HumanMessage().content == ""


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (SystemMessage("x"), "system"),
        (HumanMessage("x"), "human"),
        (AIMessage("x"), "ai"),
        (RemoveMessage(id="x"), "remove"),
    ],
)
def test_type_is_one_word(message: Message, kind: str) -> None:
    assert message.type == kind


def test_text_joins_the_text_blocks_alone() -> None:
    message = AIMessage(["a", {"type": "text", "text": "b"}, {"type": "thinking", "thinking": "no"}, {"type": "text"}])

    assert message.text == "ab"


@pytest.mark.parametrize("message", EVERY_KIND, ids=lambda message: message.type)
def test_attributes_cannot_be_set_or_deleted(message: Message) -> None:
    with pytest.raises(AttributeError, match=r"use message\.replace\(content=…\)"):
        message.content = "other"
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del message.content


@pytest.mark.parametrize("message", EVERY_KIND, ids=lambda message: message.type)
def test_copies_and_pickles_are_equal(message: Message) -> None:
    assert copy.copy(message) == message
    assert copy.deepcopy(message) == message
    assert pickle.loads(pickle.dumps(message)) == message


def test_replace_makes_a_changed_copy() -> None:
    message = ToolMessage("4", tool_call_id="c", name="f", outcome=Outcome(attempts=2))

    changed = message.replace(content="5", status="error")

    assert (changed.content, changed.status, changed.tool_call_id, changed.outcome) == (
        "5",
        "error",
        "c",
        message.outcome,
    )
    assert (message.content, message.status) == ("4", "success")


def test_replace_refuses_a_field_that_is_none() -> None:
    with pytest.raises(TypeError, match="colour"):
        HumanMessage("hi").replace(colour="red")


def test_messages_are_equal_when_all_they_hold_is() -> None:
    assert HumanMessage("hi") == HumanMessage("hi")
    assert HumanMessage("hi") != HumanMessage("hi", id="m")
    assert HumanMessage("hi") != SystemMessage("hi")
    assert HumanMessage("hi") != "hi"
    assert ToolMessage("4", tool_call_id="a") != ToolMessage("4", tool_call_id="b")


def test_artifacts_that_cannot_be_compared_are_not_equal() -> None:
    class Frame:
        def __eq__(self, other: object) -> bool:
            raise ValueError("ambiguous")

        __hash__ = None  # type: ignore[assignment]

    frame = Frame()

    assert ToolMessage("", tool_call_id="c", artifact=frame) == ToolMessage("", tool_call_id="c", artifact=frame)
    assert ToolMessage("", tool_call_id="c", artifact=frame) != ToolMessage("", tool_call_id="c", artifact=Frame())


def test_given_dicts_are_copied() -> None:
    kwargs = {"a": 1}

    message = HumanMessage("hi", additional_kwargs=kwargs)
    kwargs["b"] = 2

    assert message.additional_kwargs == {"a": 1}


def test_str_shows_the_fields_that_hold_something() -> None:
    message = ToolMessage("操作已记录", tool_call_id="manual_call_1", name="log_user_action")

    assert str(message) == "content='操作已记录' name='log_user_action' tool_call_id='manual_call_1'"
    assert str(HumanMessage()) == "content=''"
    assert str(ToolMessage("x", tool_call_id="c", status="error")) == "content='x' tool_call_id='c' status='error'"
    assert str(RemoveMessage(id="m")) == "id='m'"


def test_repr_names_the_class() -> None:
    assert repr(HumanMessage("hi", name="Ada")) == "HumanMessage(content='hi', name='Ada')"
    assert repr(RemoveMessage(id="m")) == "RemoveMessage(id='m')"


@pytest.mark.parametrize("content", [None, 5, {"type": "text"}, ("a",), b"x"])
def test_content_that_is_neither_text_nor_list_is_refused(content: Any) -> None:
    with pytest.raises(InputError, match="HumanMessage content is text or a list of content blocks, got"):
        HumanMessage(content)


def test_content_blocks_are_texts_or_dicts() -> None:
    with pytest.raises(InputError, match="content blocks are texts or dicts, got 5"):
        HumanMessage(cast("Any", ["a", 5]))


@pytest.mark.parametrize("field", ["name", "id"])
def test_names_and_ids_are_texts(field: str) -> None:
    with pytest.raises(InputError, match=f"HumanMessage {field} is text or None, got 7"):
        HumanMessage("hi", **{field: cast("Any", 7)})


@pytest.mark.parametrize("field", ["additional_kwargs", "response_metadata"])
def test_what_stands_beside_the_content_is_a_mapping(field: str) -> None:
    with pytest.raises(InputError, match="beside its content is a mapping, got 7"):
        HumanMessage("hi", **{field: cast("Any", 7)})
    with pytest.raises(InputError, match="beside its content is a mapping, got 7"):
        ToolMessage("hi", tool_call_id="c", **{field: cast("Any", 7)})


@pytest.mark.parametrize("call_id", ["", None, 7])
def test_tool_messages_need_the_id_of_their_call(call_id: Any) -> None:
    with pytest.raises(InputError, match=r"expected tool_call_id to be that call's id.*Pass tool_call_id=call\['id'\]"):
        ToolMessage("4", tool_call_id=call_id)
    with pytest.raises(InputError):
        ToolMessage("4")


def test_status_is_one_of_two_words() -> None:
    with pytest.raises(OptionError, match="status='failed' is not usable: expected 'success' or 'error'"):
        ToolMessage("4", tool_call_id="c", status=cast("Any", "failed"))


@pytest.mark.parametrize("message_id", ["", None, 3])
def test_remove_messages_name_an_id(message_id: Any) -> None:
    with pytest.raises(InputError, match="names the message to remove"):
        RemoveMessage(id=message_id)


def test_hosts_may_subclass_messages() -> None:
    class Note(HumanMessage):
        """A host's own kind, with room for more."""

    note = Note("hi", id="n")

    assert pickle.loads(pickle.dumps(HumanMessage("hi"))) == HumanMessage("hi")
    assert copy.deepcopy(note) == note
    assert isinstance(note.replace(content="ho"), Note)


def test_outcome_is_kept_as_data() -> None:
    outcome = Outcome(kind=FailureKind.TIMEOUT, text="too slow")

    assert ToolMessage("too slow", tool_call_id="c", status="error", outcome=outcome).outcome is outcome
