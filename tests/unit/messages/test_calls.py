"""Whatever a model sent becomes a call with an id of its own."""

from __future__ import annotations

from typing import Any

import pytest

from surehand.messages import AIMessage, new_call_id


@pytest.mark.parametrize(
    "entry",
    [
        {"id": "c", "name": "f", "args": {"a": 1}},
        {"id": "c", "name": "f", "args": '{"a": 1}'},
        {"id": "c", "name": "f", "arguments": {"a": 1}},
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
        {"id": "c", "type": "tool_use", "name": "f", "input": {"a": 1}},
        {"id": "c", "name": "f", "args": b'{"a": 1}'},
    ],
)
def test_every_usual_shape_is_read(entry: dict[str, Any]) -> None:
    assert AIMessage(tool_calls=[entry]).tool_calls == [{"id": "c", "name": "f", "args": {"a": 1}, "type": "tool_call"}]


@pytest.mark.parametrize("entry", [{"args": None}, {"args": ""}, {"args": "  "}, {"args": "null"}, {}])
def test_absent_arguments_are_none_at_all(entry: dict[str, Any]) -> None:
    message = AIMessage(tool_calls=[{"id": "c", "name": "f", **entry}])

    assert message.tool_calls[0]["args"] == {}
    assert message.invalid_tool_calls == []


@pytest.mark.parametrize("args", [[1], 3, True, "[1]", "3", "{city: Beijing}", '{"city": "Par', {1: 2}, object()])
def test_what_is_no_object_stays_as_it_came(args: object) -> None:
    message = AIMessage(tool_calls=[{"id": "c", "name": "f", "args": args}])

    assert message.tool_calls[0]["args"] is args
    assert message.invalid_tool_calls[0]["args"] is args
    assert message.invalid_tool_calls[0]["error"]


@pytest.mark.parametrize("call_id", [None, "", "  ", 7, ["c"], {"c": 1}])
def test_ids_that_are_none_are_made(call_id: object) -> None:
    (call,) = AIMessage(tool_calls=[{"id": call_id, "name": "f", "args": {}}]).tool_calls

    assert call["id"].startswith("call_")


def test_first_bearer_of_an_id_keeps_it() -> None:
    message = AIMessage(tool_calls=[{"id": "x", "name": name, "args": {}} for name in "fgh"])

    ids = [call["id"] for call in message.tool_calls]
    assert ids[0] == "x"
    assert len(set(ids)) == 3
    assert [call["name"] for call in message.tool_calls] == ["f", "g", "h"]


@pytest.mark.parametrize(("name", "read"), [(None, ""), ("", ""), (7, "7"), (["f"], ""), (" f ", " f ")])
def test_names_are_texts(name: object, read: str) -> None:
    assert AIMessage(tool_calls=[{"id": "c", "name": name, "args": {}}]).tool_calls[0]["name"] == read


@pytest.mark.parametrize("entry", ["f", '{"a": 1}', 5, None, ["f", {}], b"x"])
def test_entry_that_is_no_mapping_is_an_invalid_call(entry: Any) -> None:
    message = AIMessage(tool_calls=[entry])

    assert message.tool_calls[0]["args"] == entry
    assert message.invalid_tool_calls[0]["error"].startswith("The call is no object: expected id, name and arguments")


@pytest.mark.parametrize("junk", ["text", 5, {"name": "f"}])
def test_calls_that_are_no_list_are_one_call(junk: Any) -> None:
    assert len(AIMessage(tool_calls=junk).tool_calls) == 1


def test_no_calls_may_be_none() -> None:
    assert AIMessage(tool_calls=None).tool_calls == []  # type: ignore[arg-type]


def test_call_found_invalid_before_is_not_read_again() -> None:
    message = AIMessage(
        tool_calls=[{"type": "invalid_tool_call", "id": "c", "name": "f", "args": '{"a": 1}', "error": "no"}]
    )

    assert message.tool_calls[0]["args"] == '{"a": 1}'
    assert message.invalid_tool_calls[0]["error"] == "no"


def test_free_form_input_of_a_custom_tool_is_never_read_as_json() -> None:
    message = AIMessage(tool_calls=[{"id": "c", "type": "custom", "custom": {"name": "calc", "input": '{"a": 1}'}}])

    assert message.tool_calls[0]["args"] == {"input": '{"a": 1}'}


def test_given_arguments_are_copied() -> None:
    args = {"a": 1}

    message = AIMessage(tool_calls=[{"id": "c", "name": "f", "args": args}])
    args["b"] = 2

    assert message.tool_calls[0]["args"] == {"a": 1}


def test_new_ids_differ() -> None:
    assert len({new_call_id() for _ in range(100)}) == 100
