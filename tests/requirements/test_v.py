"""V1 – V6: the node that validates calls. (V7, the article's whole graph, is in test_v7.py.)"""

from __future__ import annotations

import json
from typing import Annotated, Any

import pydantic.v1
import pytest
from pydantic import BaseModel, field_validator

from surehand.errors import InputError, UsageError
from surehand.messages import AIMessage, HumanMessage, ToolMessage
from surehand.nodes import ValidationNode
from surehand.spec import InjectedToolCallId
from surehand.tools import BaseTool, tool

ran: list[str] = []


class SelectNumber(BaseModel):
    a: int
    unit: str = "kg"

    @field_validator("a")
    @classmethod
    def only_37(cls, value: int) -> int:
        if value != 37:
            raise ValueError("Only 37 is allowed")
        return value


class OldModel(pydantic.v1.BaseModel):
    n: int = 3


@tool
def look_up(city: str, call_id: Annotated[str, InjectedToolCallId]) -> str:
    """Look a city up."""
    ran.append(city + call_id)
    return city


class Count(BaseTool):
    """Count."""

    def _run(self, n: int) -> int:
        ran.append("count")
        return n


def plain(x: int, y: int = 2) -> int:
    ran.append("plain")
    return x + y


SCHEMAS: list[Any] = [SelectNumber, OldModel, look_up, Count(), plain]


def calls(*entries: tuple[str, Any]) -> AIMessage:
    return AIMessage(tool_calls=[{"id": f"c{n}", "name": name, "args": args} for n, (name, args) in enumerate(entries)])


def answers_to(*entries: tuple[str, Any], **options: Any) -> list[ToolMessage]:
    answers: list[ToolMessage] = ValidationNode(SCHEMAS, **options).invoke([HumanMessage("x"), calls(*entries)])
    return answers


def test_V1_the_newest_messages_calls_are_validated_and_nothing_is_run() -> None:
    ran.clear()
    older = calls(("plain", {"x": "no number"}))
    newest = calls(("look_up", {"city": "Rome"}), ("count", {"n": 1}), ("plain", {"x": 1}))
    answers = ValidationNode(SCHEMAS).invoke([older, newest])
    assert [answer.status for answer in answers] == ["success"] * 3
    assert ran == []


def test_V2_models_of_both_generations_tools_and_functions_are_schemas() -> None:
    answers = answers_to(
        ("SelectNumber", {"a": 37}),
        ("OldModel", {}),
        ("look_up", {"city": "Rome"}),
        ("count", {"n": 1}),
        ("plain", {"x": 1}),
    )
    assert [json.loads(answer.text) for answer in answers] == [
        {"a": 37, "unit": "kg"},
        {"n": 3},
        {"city": "Rome"},
        {"n": 1},
        {"x": 1, "y": 2},
    ]


def test_V2_name_and_tags_are_the_nodes() -> None:
    node = ValidationNode(SCHEMAS, format_error=None, name="check", tags=["a"])
    assert node.name == "check"
    assert ValidationNode(SCHEMAS).name == "validation"


@pytest.mark.parametrize("schema", [3, "SelectNumber", None, int, object(), {}])
def test_V2_anything_else_is_refused_at_construction(schema: Any) -> None:
    with pytest.raises(UsageError):
        ValidationNode([schema])


def test_V2_a_tool_without_a_body_or_schema_is_refused_at_construction() -> None:
    class Nothing(BaseTool):
        name = "nothing"

    with pytest.raises(UsageError):
        ValidationNode([Nothing()])


def test_V3_output_has_the_form_of_the_input() -> None:
    node = ValidationNode(SCHEMAS)
    message = calls(("plain", {"x": 1}), ("plain", {"x": 2}))
    as_list = node.invoke([message])
    assert [answer.tool_call_id for answer in as_list] == ["c0", "c1"]
    assert node.invoke({"messages": [message]}) == {"messages": as_list}


@pytest.mark.parametrize("state", [[HumanMessage("x")], {"messages": [calls(), HumanMessage("x")]}, [], {}])
def test_V3_a_last_message_that_is_no_ai_message_is_an_error(state: Any) -> None:
    with pytest.raises(InputError):
        ValidationNode(SCHEMAS).invoke(state)


def test_V4_success_is_the_json_of_the_validated_arguments() -> None:
    [answer] = answers_to(("SelectNumber", {"a": "37"}))
    assert json.loads(answer.text) == {"a": 37, "unit": "kg"}
    assert answer.status == "success"


def test_V4_failure_is_the_errors_repr_without_links_and_a_request() -> None:
    [answer] = answers_to(("SelectNumber", {"a": 42}))
    assert "Only 37 is allowed" in answer.text
    assert "https://" not in answer.text
    assert answer.text.endswith("Respond after fixing all validation errors.")
    assert answer.additional_kwargs["is_error"] is True
    assert answer.status == "error"


def test_V4_format_error_gets_error_call_and_schema() -> None:
    def words(error: BaseException, call: Any, schema: Any) -> str:
        return f"{type(error).__name__} {call['id']} {schema.__name__}"

    [answer] = answers_to(("SelectNumber", {"a": 42}), format_error=words)
    assert answer.content == "ValidationError c0 SelectNumber"
    assert answer.additional_kwargs["is_error"] is True


def test_V5_order_and_ids_are_kept() -> None:
    answers = answers_to(*[("SelectNumber", {"a": n}) for n in range(30, 40)])
    assert [answer.tool_call_id for answer in answers] == [f"c{n}" for n in range(10)]
    assert [answer.status for answer in answers].index("success") == 7


def test_V6_an_unknown_name_is_answered_beside_the_others() -> None:
    first, second = answers_to(("select_numbers", {}), ("SelectNumber", {"a": 37}))
    assert first.status == "error"
    assert "SelectNumber" in first.text
    assert second.status == "success"
