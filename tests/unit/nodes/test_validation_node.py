"""ValidationNode: calls are checked, answered and never run."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import pydantic.v1
import pytest
from pydantic import BaseModel, Field, field_serializer, field_validator

from surehand.errors import InputError, MalformedArguments, OptionError, ToolDefinitionError
from surehand.messages import AIMessage, HumanMessage, ToolMessage
from surehand.nodes import ValidationNode
from surehand.outcomes import FailureKind
from surehand.spec import InjectedToolCallId
from surehand.tools import BaseTool, tool


class SelectNumber(BaseModel):
    a: int

    @field_validator("a")
    @classmethod
    def only_37(cls, value: int) -> int:
        if value != 37:
            raise ValueError("Only 37 is allowed")
        return value


class Old(pydantic.v1.BaseModel):
    n: int = 3


class Query(TypedDict):
    q: str


@dataclass
class Page:
    number: int
    size: int = 20


def add(x: int, y: int = 2) -> int:
    raise AssertionError("must not run")


@tool
def send(to: str, call_id: Annotated[str, InjectedToolCallId]) -> str:
    """Send."""
    raise AssertionError(f"must not run: {to} {call_id}")


JSON_SCHEMA = {
    "title": "Lookup",
    "type": "object",
    "properties": {"key": {"type": "integer"}},
    "required": ["key"],
}
SCHEMAS: list[Any] = [SelectNumber, Old, Query, Page, add, send, JSON_SCHEMA]


def message(name: Any, args: Any, **rest: Any) -> AIMessage:
    return AIMessage(tool_calls=[{"id": "c1", "name": name, "args": args}], **rest)


def checked(name: Any, args: Any, *, schemas: list[Any] = SCHEMAS, **options: Any) -> ToolMessage:
    """The answer to one call."""
    [answer] = ValidationNode(schemas, **options).invoke([message(name, args)])
    assert isinstance(answer, ToolMessage)
    return answer


# -- success ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "args", "data"),
    [
        ("SelectNumber", {"a": 37}, {"a": 37}),
        ("SelectNumber", {"a": "37"}, {"a": 37}),
        ("SelectNumber", '{"a": 37}', {"a": 37}),
        ("Old", {}, {"n": 3}),
        ("Old", None, {"n": 3}),
        ("Query", {"q": "x"}, {"q": "x"}),
        ("Page", {"number": 1}, {"number": 1, "size": 20}),
        ("add", {"x": "1"}, {"x": 1, "y": 2}),
        ("send", {"to": "me"}, {"to": "me"}),
        ("Lookup", {"key": 5}, {"key": 5}),
    ],
)
def test_valid_arguments_are_answered_as_json(name: str, args: Any, data: Any) -> None:
    answer = checked(name, args)
    assert isinstance(answer.content, str)
    assert json.loads(answer.content) == data
    assert (answer.status, answer.name, answer.tool_call_id) == ("success", name, "c1")
    assert answer.additional_kwargs == {}


def test_what_was_coerced_stands_in_the_outcome() -> None:
    outcome = checked("add", {"x": "1"}).outcome
    assert outcome is not None
    assert outcome.repairs


def test_injected_parameters_are_discarded_and_not_needed() -> None:
    assert checked("send", {"to": "me", "call_id": "forged"}).content == '{"to":"me"}'


def test_a_name_that_differs_in_spelling_only_is_answered_under_its_own() -> None:
    assert checked("select-number", {"a": 37}, schemas=[tool("select_number")(add)]).name == "select_number"


# -- failure ---------------------------------------------------------------------------------------------------------


def test_a_failure_is_the_errors_repr_without_links_and_a_request() -> None:
    answer = checked("SelectNumber", {"a": 42})
    assert answer.content == (
        "1 validation error for SelectNumber\n"
        "a\n"
        "  Value error, Only 37 is allowed [type=value_error, input_value=42, input_type=int]\n"
        "\n"
        "Respond after fixing all validation errors."
    )
    assert answer.status == "error"
    assert answer.additional_kwargs == {"is_error": True}


def test_the_kind_of_a_failure_is_on_the_message() -> None:
    outcome = checked("SelectNumber", {"a": 42}).outcome
    assert outcome is not None
    assert outcome.kind is FailureKind.INVALID_ARGUMENTS


def test_all_complaints_come_at_once() -> None:
    content = checked("Page", {"number": "x", "size": "y"}).content
    assert "number" in content
    assert "size" in content


@pytest.mark.parametrize(("name", "args"), [("Old", {"n": "x"}), ("add", {}), ("Lookup", {"key": "x"}), ("Query", {})])
def test_every_kind_of_schema_refuses_with_the_same_request(name: str, args: Any) -> None:
    answer = checked(name, args)
    assert answer.status == "error"
    assert answer.text.endswith("\n\nRespond after fixing all validation errors.")
    assert "https://" not in answer.text


def test_an_unknown_tool_is_answered_with_near_names() -> None:
    answer = checked("SelectNumbr", {})
    assert answer.status == "error"
    assert "Did you mean 'SelectNumber'?" in answer.text
    assert answer.name == "SelectNumbr"


@pytest.mark.parametrize("args", ['{"a": 3', "a=37", '["a"]', "[1", 5])
def test_arguments_that_are_no_object_are_refused_in_the_grammars_words(args: Any) -> None:
    answer = checked("SelectNumber", args)
    assert answer.status == "error"
    assert answer.text.startswith("The arguments are not one JSON object: ")


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_no_call_of_a_reply_that_was_cut_off_is_accepted(reason: str) -> None:
    reply = message("SelectNumber", {"a": 37}, response_metadata={"finish_reason": reason})
    [answer] = ValidationNode(SCHEMAS).invoke([reply])
    assert answer.status == "error"
    assert "cut off" in answer.text


def test_one_bad_call_does_not_cost_the_others_and_order_is_kept() -> None:
    reply = AIMessage(
        tool_calls=[
            {"id": "1", "name": "nope", "args": {}},
            {"id": "2", "name": "SelectNumber", "args": {"a": 37}},
            {"id": "3", "name": None, "args": 3},
            {"id": "4", "name": "SelectNumber", "args": {"a": 1}},
        ]
    )
    answers = ValidationNode(SCHEMAS).invoke([reply])
    assert [answer.tool_call_id for answer in answers] == ["1", "2", "3", "4"]
    assert [answer.status for answer in answers] == ["error", "success", "error", "error"]


def test_a_validator_that_fails_is_answered_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(BaseModel):
        a: int

        @field_validator("a")
        @classmethod
        def fail(cls, value: int) -> int:
            raise ZeroDivisionError("at /srv/app/x.py")

    answer = checked("Broken", {"a": 1}, schemas=[Broken])
    assert answer.status == "error"
    assert "/srv" not in answer.text
    assert "ZeroDivisionError" in caplog.text


def test_a_serializer_that_fails_is_answered(caplog: pytest.LogCaptureFixture) -> None:
    class Unwritable(BaseModel):
        a: int

        @field_serializer("a")
        def fail(self, value: int) -> int:
            raise RuntimeError("no")

    assert checked("Unwritable", {"a": 1}, schemas=[Unwritable]).status == "error"
    assert caplog.records


def test_a_long_list_of_complaints_is_bounded() -> None:
    class Rows(BaseModel):
        rows: list[int]

    answer = checked("Rows", {"rows": ["x"] * 20_000}, schemas=[Rows])
    assert len(answer.text) <= 50_000
    assert answer.text.endswith("Respond after fixing all validation errors.")


# -- format_error ----------------------------------------------------------------------------------------------------


def test_format_error_words_the_failure_from_error_call_and_schema() -> None:
    seen: list[Any] = []

    def words(error: BaseException, call: Any, schema: Any) -> str:
        seen.extend([error, call, schema])
        return "please fix it"

    answer = checked("SelectNumber", {"a": 42}, format_error=words)
    assert answer.content == "please fix it"
    assert answer.additional_kwargs == {"is_error": True}
    assert isinstance(seen[0], pydantic.ValidationError)
    assert (seen[1]["id"], seen[1]["name"], seen[1]["args"]) == ("c1", "SelectNumber", {"a": 42})
    assert seen[2] is SelectNumber


def test_format_error_words_arguments_that_cannot_be_read_too() -> None:
    def words(error: BaseException, call: Any, schema: Any) -> str:
        return type(error).__name__

    assert checked("SelectNumber", "{{", format_error=words).content == MalformedArguments.__name__


@pytest.mark.parametrize("result", [None, "", "  ", 3, ["x"]])
def test_a_format_error_that_gives_no_text_falls_back(result: Any, caplog: pytest.LogCaptureFixture) -> None:
    def words(error: BaseException, call: Any, schema: Any) -> Any:
        return result

    assert "Only 37 is allowed" in checked("SelectNumber", {"a": 1}, format_error=words).text
    assert caplog.records


def test_a_format_error_that_raises_does_not_lose_the_other_calls(caplog: pytest.LogCaptureFixture) -> None:
    def words(error: BaseException, call: Any, schema: Any) -> str:
        raise RuntimeError("broken formatter")

    calls = [{"id": str(n), "name": "SelectNumber", "args": {"a": n}} for n in (1, 37, 2)]
    answers = ValidationNode(SCHEMAS, format_error=words).invoke([AIMessage(tool_calls=calls)])
    assert [answer.status for answer in answers] == ["error", "success", "error"]
    assert "Only 37 is allowed" in answers[0].text
    assert "format_error failed" in caplog.text


# -- input and output ------------------------------------------------------------------------------------------------


def test_a_list_gives_a_list_and_a_mapping_a_mapping() -> None:
    node = ValidationNode(SCHEMAS)
    reply = message("SelectNumber", {"a": 37})
    as_list = node.invoke([HumanMessage("hi"), reply])
    assert node.invoke({"messages": [reply], "other": 1}) == {"messages": as_list}


def test_a_record_with_messages_is_a_state_too() -> None:
    @dataclass
    class State:
        messages: list[Any]

    assert list(ValidationNode(SCHEMAS).invoke(State([message("add", {"x": 1})]))) == ["messages"]


def test_a_message_without_calls_has_no_answers() -> None:
    assert ValidationNode(SCHEMAS).invoke([AIMessage("done")]) == []


@pytest.mark.parametrize(
    "state",
    [
        [],
        {},
        {"messages": []},
        {"messages": "x"},
        3,
        None,
        [HumanMessage("hi")],
        [message("add", {}), HumanMessage("x")],
    ],
)
def test_a_state_whose_last_message_is_no_ai_message_is_refused(state: Any) -> None:
    with pytest.raises(InputError):
        ValidationNode(SCHEMAS).invoke(state)


def test_openai_payloads_are_answered_as_such() -> None:
    payload = {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "SelectNumber", "arguments": '{"a": 37}'}}
        ],
    }
    [answer] = ValidationNode(SCHEMAS).invoke([{"role": "user", "content": "x"}, payload])
    assert (answer["role"], answer["tool_call_id"], answer["content"]) == ("tool", "c1", '{"a":37}')


def test_the_asynchronous_door_answers_the_same_and_lets_the_loop_go_on() -> None:
    node = ValidationNode(SCHEMAS)
    calls = [{"id": str(n), "name": "SelectNumber", "args": {"a": n}} for n in range(36, 39)]
    reply = AIMessage(tool_calls=calls)
    ticks: list[int] = []

    async def tick() -> None:
        for n in range(3):
            ticks.append(n)
            await asyncio.sleep(0)

    async def run() -> Any:
        ticking = asyncio.create_task(tick())
        answers = await node.ainvoke([reply])
        assert ticks
        await ticking
        return answers

    assert asyncio.run(run()) == node.invoke([reply])


def test_messages_are_not_changed() -> None:
    reply = message("add", {"x": "1"})
    state = {"messages": [reply]}
    ValidationNode(SCHEMAS).invoke(state)
    assert state == {"messages": [message("add", {"x": "1"})]}


# -- construction ----------------------------------------------------------------------------------------------------


def test_the_schemas_can_be_looked_up_by_name() -> None:
    schemas = ValidationNode(SCHEMAS).schemas_by_name
    assert list(schemas) == ["SelectNumber", "Old", "Query", "Page", "add", "send", "Lookup"]
    assert schemas["SelectNumber"] is SelectNumber


def test_name_and_tags_are_kept() -> None:
    node = ValidationNode([add], name="check", tags=["a"])
    assert (node.name, node.tags) == ("check", ("a",))
    assert ValidationNode([add]).name == "validation"


@pytest.mark.parametrize(
    "schema", [3, int, "SelectNumber", None, {"type": "object"}, {"name": "x"}, BaseTool, object()]
)
def test_anything_else_is_refused_at_construction(schema: Any) -> None:
    with pytest.raises(ToolDefinitionError):
        ValidationNode([schema])


def test_two_schemas_of_one_name_are_refused() -> None:
    with pytest.raises(ToolDefinitionError, match="add"):
        ValidationNode([add, add])


@pytest.mark.parametrize("schemas", [[], None, 3, "x", {"title": "x"}])
def test_no_schema_is_refused(schemas: Any) -> None:
    with pytest.raises(OptionError):
        ValidationNode(schemas)


def test_a_format_error_that_cannot_be_called_is_refused() -> None:
    with pytest.raises(OptionError, match="format_error"):
        ValidationNode([add], format_error="x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_a_tool_class_with_a_model_counts_by_its_model() -> None:
    class Args(BaseModel):
        n: Annotated[int, Field(ge=1)]

    class Count(BaseTool):
        name = "count"
        args_schema = Args

        def _run(self, n: int) -> int:
            raise AssertionError("must not run")

    node = ValidationNode([Count()])
    assert node.schemas_by_name == {"count": Args}
    assert node.invoke([message("count", {"n": 0})])[0].status == "error"
