"""What providers are told about a tool."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from pydantic import BaseModel, Field

from surehand.errors import ToolDefinitionError
from surehand.spec import InjectedToolCallId, ToolSpec
from surehand.tools import Tool
from surehand.tools.export import (
    export_names,
    original_names,
    to_anthropic,
    to_bedrock,
    to_gemini,
    to_mcp,
    to_openai,
    wire_name,
)


def spec_of(function: Callable[..., Any], **options: Any) -> ToolSpec:
    return Tool.from_function(function, **options).spec


def nothing(**_: Any) -> None:
    """Takes anything."""


def schema_spec(schema: dict[str, Any], name: str = "t") -> ToolSpec:
    return Tool.from_json_schema(name, schema, nothing).spec


def strict(schema: dict[str, Any]) -> dict[str, Any]:
    parameters: dict[str, Any] = to_openai(schema_spec(schema), strict=True)["function"]["parameters"]
    return parameters


def search(
    query: Annotated[str, Field(min_length=1, description="What to look for.")],
    limit: int = 10,
    unit: Literal["C", "F"] | None = None,
    call_id: Annotated[str, InjectedToolCallId] = "",
) -> str:
    """Search the catalogue."""
    return f"{query}{limit}{unit}{call_id}"


# -- shapes ----------------------------------------------------------------------------------------------------------


def test_the_openai_form_names_describes_and_types_the_arguments() -> None:
    exported = to_openai(spec_of(search))
    assert exported["type"] == "function"
    function = exported["function"]
    assert (function["name"], function["description"]) == ("search", "Search the catalogue.")
    assert set(function["parameters"]["properties"]) == {"query", "limit", "unit"}
    assert function["parameters"]["required"] == ["query"]


def test_the_anthropic_form_has_an_input_schema() -> None:
    exported = to_anthropic(spec_of(search))
    assert exported["input_schema"]["type"] == "object"
    assert exported["name"] == "search"


def test_the_responses_form_is_flat_and_always_says_whether_it_is_strict() -> None:
    exported = to_openai(spec_of(search), api="responses")
    assert {key: exported[key] for key in ("type", "name", "strict")} == {
        "type": "function",
        "name": "search",
        "strict": False,
    }
    assert exported["parameters"]["required"] == ["query"]
    assert to_openai(spec_of(search), api="responses", strict=True)["strict"] is True


def test_the_gemini_form_carries_the_schema_as_json_schema() -> None:
    exported = to_gemini(spec_of(search))
    assert (exported["name"], exported["description"]) == ("search", "Search the catalogue.")
    assert exported["parametersJsonSchema"]["required"] == ["query"]


def test_the_bedrock_form_is_a_tool_spec() -> None:
    exported = to_bedrock(spec_of(search))["toolSpec"]
    assert exported["name"] == "search"
    assert exported["inputSchema"]["json"]["required"] == ["query"]


def test_the_mcp_form_hints_at_what_the_options_say() -> None:
    exported = to_mcp(spec_of(search, read_only=True, idempotent=True))
    assert exported["annotations"] == {"readOnlyHint": True, "idempotentHint": True}
    assert exported["inputSchema"]["required"] == ["query"]


def test_the_mcp_form_hints_at_nothing_where_nobody_said_anything() -> None:
    assert "annotations" not in to_mcp(spec_of(search))


def test_a_tool_without_arguments_still_has_properties() -> None:
    def ping() -> str:
        return "pong"

    assert to_openai(spec_of(ping))["function"]["parameters"]["properties"] == {}


def test_a_tool_without_a_description_has_none_on_the_wire() -> None:
    def bare(n: int) -> int:
        return n

    assert "description" not in to_openai(spec_of(bare))["function"]


@pytest.mark.parametrize("export", [to_openai, to_anthropic, to_gemini, to_bedrock, to_mcp])
def test_what_is_exported_can_be_changed_without_changing_the_tool(
    export: Callable[[ToolSpec], dict[str, Any]],
) -> None:
    spec = spec_of(search)
    before = copy.deepcopy(spec.schema.json_schema)
    exported = export(spec)
    (exported.get("function") or exported).clear()
    to_openai(spec, strict=True)["function"]["parameters"]["properties"].clear()
    assert spec.schema.json_schema == before


# -- the strict form -------------------------------------------------------------------------------------------------


def test_strict_requires_all_and_closes_the_object() -> None:
    parameters = to_openai(spec_of(search), strict=True)["function"]["parameters"]
    assert parameters["required"] == ["query", "limit", "unit"]
    assert parameters["additionalProperties"] is False


def test_strict_lets_null_stand_for_what_is_left_out_and_says_the_default() -> None:
    limit = to_openai(spec_of(search), strict=True)["function"]["parameters"]["properties"]["limit"]
    assert limit == {"type": ["integer", "null"], "description": "Null stands for the default, 10."}


def test_strict_leaves_out_what_only_narrows() -> None:
    query = to_openai(spec_of(search), strict=True)["function"]["parameters"]["properties"]["query"]
    assert query == {"type": "string", "description": "What to look for."}


def test_strict_is_marked() -> None:
    assert to_openai(spec_of(search), strict=True)["function"]["strict"] is True
    assert to_anthropic(spec_of(search), strict=True)["strict"] is True


def test_the_strict_form_for_anthropic_keeps_what_may_be_left_out_optional() -> None:
    schema = to_anthropic(spec_of(search), strict=True)["input_schema"]
    assert schema["required"] == ["query"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["limit"] == {"type": "integer", "default": 10}


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ({"type": "string", "enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"const": "a"}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        (
            {"oneOf": [{"type": "string"}, {"type": "integer"}]},
            {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
        ),
        ({"allOf": [{"type": "string"}], "description": "d"}, {"type": ["string", "null"], "description": "d"}),
        ({"$ref": "#/$defs/D"}, {"anyOf": [{"$ref": "#/$defs/D"}, {"type": "null"}]}),
        (
            {"$ref": "#/$defs/D", "description": "d"},
            {"anyOf": [{"$ref": "#/$defs/D"}, {"type": "null"}], "description": "d"},
        ),
        (
            {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "minItems": 2},
            {
                "type": ["array", "null"],
                "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "minItems": 2,
            },
        ),
        ({"type": "string", "format": "date"}, {"type": ["string", "null"], "format": "date"}),
        ({"type": "string", "format": "binary", "not": {"const": "x"}}, {"type": ["string", "null"]}),
    ],
)
def test_an_optional_property_becomes_nullable_in_its_own_way(field: dict[str, Any], expected: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"p": field}, "$defs": {"D": {"type": "string"}}}
    assert strict(schema)["properties"]["p"] == expected


def test_nested_objects_and_definitions_are_strict_too() -> None:
    class Inner(BaseModel):
        a: int
        b: str = "x"

    def outer(one: Inner, many: list[Inner]) -> None: ...

    parameters = to_openai(spec_of(outer), strict=True)["function"]["parameters"]
    inner = parameters["$defs"]["Inner"]
    assert inner["required"] == ["a", "b"]
    assert inner["additionalProperties"] is False


def test_a_strict_schema_is_a_json_schema_that_takes_what_the_tool_takes() -> None:
    parameters = to_openai(spec_of(search), strict=True)["function"]["parameters"]
    jsonschema.Draft202012Validator.check_schema(parameters)
    jsonschema.validate({"query": "x", "limit": None, "unit": "C"}, parameters)


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ({"type": "object"}, "$.p is an object of free keys"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "free keys"),
        ({}, "$.p may be any value"),
        ({"type": "array"}, "$.p is a list of any values"),
        ({"type": "array", "items": {}}, "list of any values"),
        ({"allOf": [{"type": "string"}, {"minLength": 1}]}, "combines several schemas"),
        ({"type": "array", "items": {"type": "object"}}, "$.p[] is an object of free keys"),
    ],
)
def test_what_strict_cannot_carry_is_refused_with_its_place(field: dict[str, Any], words: str) -> None:
    with pytest.raises(ToolDefinitionError) as caught:
        strict({"type": "object", "properties": {"p": field}, "required": ["p"]})
    assert words in str(caught.value)
    assert "without strict=True" in str(caught.value)


def test_a_recursive_schema_is_refused_for_anthropic_only() -> None:
    schema = {
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/Node"}},
        "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}},
    }
    assert to_openai(schema_spec(schema), strict=True)
    with pytest.raises(ToolDefinitionError, match="Node contains itself"):
        to_anthropic(schema_spec(schema), strict=True)


# -- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["get_weather", "a-b", "__x__", "A" * 64])
def test_a_legal_name_stays_as_it_is(name: str) -> None:
    assert wire_name(name) == name


@pytest.mark.parametrize(
    ("name", "wire"),
    [
        ("Code Calculator!", "Code_Calculator"),
        ("get.user", "get_user"),
        ("3d_print", "_3d_print"),
        ("-dash", "dash"),
        ("café crème", "cafe_creme"),
        ("查询", "u67e5u8be2"),
    ],
)
def test_an_illegal_name_is_written_in_legal_characters(name: str, wire: str) -> None:
    assert wire_name(name) == wire


@pytest.mark.parametrize("name", ["!!!", "🙂", "查" * 64, "é" * 64, "3" * 64, "---"])
def test_every_wire_name_is_legal_and_stable(name: str) -> None:
    wire = wire_name(name)
    assert 1 <= len(wire) <= 64
    assert wire.isascii()
    assert wire.replace("_", "").replace("-", "").isalnum()
    assert wire[0].isalpha() or wire[0] == "_"
    assert wire_name(name) == wire


def test_names_of_another_script_do_not_collide() -> None:
    assert len(set(export_names(["查询", "搜索", "查" * 64, "查" * 63 + "x"]).values())) == 4


def test_the_mapping_leads_back() -> None:
    wires = export_names(["get user", "查询", "plain"])
    assert [original_names(wires)[wires[name]] for name in wires] == ["get user", "查询", "plain"]


def test_a_name_that_is_given_is_used_on_the_wire() -> None:
    assert to_openai(spec_of(search), name="s1")["function"]["name"] == "s1"
