"""add_messages appends, replaces and removes without changing what it is given."""

from __future__ import annotations

import pytest

from surehand.errors import InputError
from surehand.messages import (
    REMOVE_ALL_MESSAGES,
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    Message,
    RemoveMessage,
    ToolMessage,
    add_messages,
)


def texts(messages: list[Message]) -> list[str]:
    return [message.text for message in messages]


def test_new_messages_are_appended() -> None:
    merged = add_messages([HumanMessage("a", id="1")], [AIMessage("b", id="2")])

    assert merged == [HumanMessage("a", id="1"), AIMessage("b", id="2")]


def test_messages_without_an_id_get_one_in_a_copy() -> None:
    given = HumanMessage("a")

    (added,) = add_messages([], given)

    assert added.id
    assert given.id is None
    assert added == given.replace(id=added.id)


def test_calls_survive_the_giving_of_an_id() -> None:
    given = AIMessage(tool_calls=[{"name": "f", "args": "{'a': 1}"}, {"name": "g", "args": "bad"}])

    (added,) = add_messages([], [given])

    assert isinstance(added, AIMessage)
    assert added.tool_calls == given.tool_calls
    assert added.repairs == given.repairs


def test_same_id_replaces_in_place() -> None:
    left = [HumanMessage("a", id="1"), AIMessage("b", id="2")]

    assert texts(add_messages(left, HumanMessage("A", id="1"))) == ["A", "b"]


def test_of_two_new_messages_with_one_id_the_later_holds() -> None:
    assert texts(add_messages([], [AIMessage("a", id="1"), AIMessage("b"), AIMessage("c", id="1")])) == ["c", "b"]


def test_message_is_removed_by_id() -> None:
    left = [HumanMessage("a", id="1"), AIMessage("b", id="2")]

    assert texts(add_messages(left, RemoveMessage(id="1"))) == ["b"]


def test_message_after_its_own_removal_takes_the_old_place() -> None:
    left = [HumanMessage("a", id="1"), AIMessage("b", id="2")]

    assert texts(add_messages(left, [RemoveMessage(id="1"), HumanMessage("c", id="1")])) == ["c", "b"]


@pytest.mark.parametrize("right", [[RemoveMessage(id="9")], [RemoveMessage(id="1"), RemoveMessage(id="1")]])
def test_removing_what_is_not_there_is_refused(right: list[Message]) -> None:
    with pytest.raises(InputError, match="There is no message of this id to remove, got"):
        add_messages([HumanMessage("a", id="1")], right)


def test_all_messages_can_be_removed_at_once() -> None:
    right = [HumanMessage("b"), RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("c")]

    assert texts(add_messages([HumanMessage("a", id="1")], right)) == ["c"]
    assert add_messages([HumanMessage("a", id="1")], RemoveMessage(id=REMOVE_ALL_MESSAGES)) == []


def test_both_sides_are_coerced() -> None:
    merged = add_messages("a", [("assistant", "b"), {"role": "user", "content": "c"}])

    assert [message.type for message in merged] == ["human", "ai", "human"]


def test_nothing_yet_is_an_empty_list() -> None:
    assert texts(add_messages(None, "a")) == ["a"]


def test_none_to_add_is_refused() -> None:
    with pytest.raises(InputError):
        add_messages([], None)


def test_chunks_become_whole_messages() -> None:
    (added,) = add_messages([], [AIMessageChunk("a") + AIMessageChunk("b")])

    assert type(added) is AIMessage
    assert added.text == "ab"


def test_arguments_are_never_changed() -> None:
    left: list[Message] = [HumanMessage("a"), AIMessage("b", id="2")]
    right: list[Message] = [ToolMessage("c", tool_call_id="x"), RemoveMessage(id="2")]
    before = (list(left), list(right))

    add_messages(left, right)

    assert (left, right) == before
