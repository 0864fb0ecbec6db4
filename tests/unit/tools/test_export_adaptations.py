"""What a provider would refuse is adapted and said, or refused with words."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from pydantic import BaseModel

from surehand.errors import InvalidArguments, ToolDefinitionError
from surehand.tools import Tool
from surehand.tools.export import (
    Adaptation,
    Form,
    adaptations,
    to_anthropic,
    to_bedrock,
    to_gemini,
    to_mcp,
    to_openai,
)

DRAFT_04 = "http://json-schema.org/draft-04/schema#"
DRAFT_07 = "http://json-schema.org/draft-07/schema#"


def echo(**arguments: Any) -> dict[str, Any]:
    return arguments


def made(schema: dict[str, Any]) -> Tool:
    return Tool.from_json_schema("t", schema, echo)


def openai(schema: dict[str, Any], *, strict: bool = False) -> dict[str, Any]:
    parameters: dict[str, Any] = to_openai(made(schema).spec, strict=strict)["function"]["parameters"]
    return parameters


def anthropic(schema: dict[str, Any], *, strict: bool = False) -> dict[str, Any]:
    parameters: dict[str, Any] = to_anthropic(made(schema).spec, strict=strict)["input_schema"]
    return parameters


def said(schema: dict[str, Any], form: Form) -> list[tuple[str, str, str]]:
    return [(note.place, note.what, note.effect) for note in adaptations(made(schema).spec, form)]


def with_property(field: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"p": field}, "required": ["p"], "additionalProperties": False}


# -- the whole -------------------------------------------------------------------------------------------------------

ONE_OF_TWO = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "name": {"type": "string"}},
    "anyOf": [{"required": ["id"]}, {"required": ["name"]}],
}


def test_groups_of_which_one_has_to_be_there_are_told_in_words() -> None:
    assert openai(ONE_OF_TWO) == {
        "type": "object",
        "properties": {"id": {"type": "string"}, "name": {"type": "string"}},
        "description": "Give at least one of: id; name.",
    }
    assert said(ONE_OF_TWO, "openai") == [("$", "tells the 2 forms of anyOf as one object", "wider")]


def test_the_tool_goes_on_to_check_what_the_provider_was_not_told() -> None:
    tool = made(ONE_OF_TWO)
    tool.to_openai()
    tool.to_anthropic(strict=True)
    with pytest.raises(InvalidArguments):
        tool.invoke({})


def test_the_forms_of_a_call_are_told_as_one_object_that_requires_what_all_do() -> None:
    schema = {
        "type": "object",
        "oneOf": [
            {
                "properties": {"kind": {"const": "a"}, "a": {"type": "integer"}},
                "required": ["kind", "a"],
                "additionalProperties": False,
            },
            {"$ref": "#/$defs/B"},
        ],
        "$defs": {
            "B": {
                "type": "object",
                "properties": {"kind": {"const": "b"}, "b": {"type": "string"}},
                "required": ["kind", "b"],
                "additionalProperties": False,
            }
        },
    }
    told = anthropic(schema)
    assert told["properties"] == {
        "kind": {"anyOf": [{"const": "a"}, {"const": "b"}]},
        "a": {"type": "integer"},
        "b": {"type": "string"},
    }
    assert told["required"] == ["kind"]
    assert told["additionalProperties"] is False
    assert said(schema, "anthropic") == [("$", "tells the 2 forms of oneOf as one object", "wider")]
    jsonschema.validate({"kind": "a", "a": 1}, told)


def test_an_open_form_that_lacks_a_property_of_another_makes_the_telling_narrower() -> None:
    schema = {"anyOf": [{"properties": {"a": {"type": "integer"}}}, {"properties": {"b": {"type": "string"}}}]}
    assert said(schema, "openai")[0][2] == "narrower"


def test_what_all_of_several_schemas_say_is_told_as_one_object() -> None:
    schema = {
        "allOf": [
            {"properties": {"a": {"type": "integer"}}, "required": ["a"]},
            {"properties": {"b": {"type": "string"}}, "required": ["b"]},
        ]
    }
    assert openai(schema) == {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
        "required": ["a", "b"],
    }


@pytest.mark.parametrize("keyword", ["not", "enum"])
def test_what_only_excludes_whole_objects_is_left_out_and_said(keyword: str) -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {},
        keyword: {"required": ["x"]} if keyword == "not" else [{}],
    }
    assert keyword not in openai(schema)
    assert said(schema, "openai") == [("$", f"leaves out {keyword}", "wider")]


def test_a_reference_at_the_top_is_followed() -> None:
    schema = {"$ref": "#/$defs/Args", "$defs": {"Args": {"type": "object", "properties": {"n": {"type": "integer"}}}}}
    assert openai(schema)["properties"] == {"n": {"type": "integer"}}


def test_a_whole_that_is_itself_by_reference_is_refused_with_words() -> None:
    with pytest.raises(ToolDefinitionError, match="in a circle"):
        openai({"type": "object", "allOf": [{"$ref": "#"}]})


def test_mcp_gets_the_schema_as_its_author_wrote_it() -> None:
    schema = {**ONE_OF_TWO, "$schema": DRAFT_07}
    assert to_mcp(made(schema).spec)["inputSchema"] == schema


def test_mcp_is_told_a_title_and_the_form_of_the_result_where_they_are_given() -> None:
    told = to_mcp(made(ONE_OF_TWO).spec, title="Find", output_schema={"type": "object"})
    assert (told["title"], told["outputSchema"]) == ("Find", {"type": "object"})


# -- older drafts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("draft", "field", "expected"),
    [
        (
            DRAFT_04,
            {"type": "number", "minimum": 0, "exclusiveMinimum": True},
            {"type": "number", "exclusiveMinimum": 0},
        ),
        (DRAFT_04, {"type": "number", "maximum": 9, "exclusiveMaximum": False}, {"type": "number", "maximum": 9}),
        (
            DRAFT_07,
            {"type": "array", "items": [{"type": "string"}], "additionalItems": False},
            {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
        ),
        (
            DRAFT_07,
            {"type": "object", "dependencies": {"a": ["b"], "c": {"required": ["d"]}}},
            {"type": "object", "dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"required": ["d"]}}},
        ),
        (
            DRAFT_07,
            {"$ref": "#/definitions/D", "minLength": 3, "description": "d"},
            {"$ref": "#/definitions/D", "description": "d"},
        ),
    ],
)
def test_an_older_draft_is_written_as_the_one_that_anthropic_takes(
    draft: str, field: dict[str, Any], expected: dict[str, Any]
) -> None:
    schema = {**with_property(field), "definitions": {"D": {"type": "string"}}, "$schema": draft}
    told = anthropic(schema)
    assert told["properties"]["p"] == expected
    assert "$schema" not in told
    jsonschema.Draft202012Validator.check_schema(told)
    assert said(schema, "anthropic") == []


# -- each provider's own ---------------------------------------------------------------------------------------------


def test_openai_is_told_that_the_items_of_a_list_may_be_anything() -> None:
    schema = with_property({"type": "array"})
    assert openai(schema)["properties"]["p"] == {"type": "array", "items": {}}
    assert said(schema, "openai") == [("$.p", "says that items may be anything", "same")]
    assert anthropic(schema)["properties"]["p"] == {"type": "array"}


@pytest.mark.parametrize("name", ["Account Number", "filter[id]", "城市", "x" * 65])
def test_a_name_of_an_argument_that_anthropic_refuses_is_refused_with_words(name: str) -> None:
    spec = made({"type": "object", "properties": {name: {"type": "string"}}}).spec
    for export in (to_anthropic, to_bedrock):
        with pytest.raises(ToolDefinitionError, match="alias") as caught:
            export(spec)
        assert repr(name) in str(caught.value)
    assert name in to_openai(spec)["function"]["parameters"]["properties"]


def test_such_a_name_further_inside_is_free() -> None:
    inner = {"type": "object", "properties": {"Account Number": {"type": "string"}}}
    assert anthropic(with_property(inner))["properties"]["p"] == inner


# -- the parameters of Gemini ----------------------------------------------------------------------------------------


def gemini(field: Any, **beside: Any) -> Any:
    declaration = to_gemini(made({**with_property(field), **beside}).spec, field="parameters")
    return declaration["parameters"]["properties"]["p"]


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ({"type": "string", "minLength": 1}, {"type": "string", "minLength": 1}),
        ({"type": ["string", "null"]}, {"type": "string", "nullable": True}),
        (
            {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "d"},
            {"type": "string", "description": "d", "nullable": True},
        ),
        ({"type": ["string", "integer"]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ({"const": "a"}, {"type": "string", "enum": ["a"]}),
        ({"enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
        ({"enum": [1, 2]}, {"type": "integer", "description": "One of: 1, 2."}),
        ({"type": ["string", "null"], "enum": ["a", None]}, {"type": "string", "enum": ["a"], "nullable": True}),
        ({"type": "integer", "default": 3, "description": "d."}, {"type": "integer", "description": "d. Default: 3."}),
        ({"type": "string", "format": "uuid"}, {"type": "string"}),
        ({"type": "string", "format": "date-time"}, {"type": "string", "format": "date-time"}),
        ({"type": "object", "description": "d."}, {"type": "string", "description": "d. As JSON text."}),
        ({"$ref": "#/$defs/D", "description": "d"}, {"type": "integer", "description": "d"}),
        ({"allOf": [{"$ref": "#/$defs/D"}]}, {"type": "integer"}),
        (
            {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False},
            {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
        ),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "b"]},
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        ),
        (
            True,
            {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}], "nullable": True},
        ),
    ],
)
def test_gemini_parameters_are_of_its_part_of_openapi(field: Any, expected: dict[str, Any]) -> None:
    assert gemini(field, **{"$defs": {"D": {"type": "integer"}}}) == expected


def test_gemini_parameters_hold_no_definitions_and_no_other_keywords() -> None:
    schema = {
        **with_property({"$ref": "#/$defs/D"}),
        "$defs": {"D": {"type": "string", "contentEncoding": "base64", "exclusiveMinimum": 1}},
        "minProperties": 1,
        "$comment": "c",
    }
    assert to_gemini(made(schema).spec, field="parameters")["parameters"] == {
        "type": "object",
        "properties": {"p": {"type": "string"}},
        "required": ["p"],
        "minProperties": 1,
    }
    assert ("$.p", "leaves out contentEncoding", "wider") in said(schema, "gemini-parameters")


def test_a_tool_without_arguments_has_no_gemini_parameters() -> None:
    assert "parameters" not in to_gemini(made({"type": "object"}).spec, field="parameters")


def test_a_recursive_schema_is_carried_by_the_field_for_json_schema_alone() -> None:
    tree = {"type": "object", "properties": {"inner": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}
    spec = made({**with_property({"$ref": "#/$defs/Tree"}), "$defs": {"Tree": tree}}).spec
    assert to_gemini(spec)["parametersJsonSchema"]["$defs"] == {"Tree": tree}
    with pytest.raises(ToolDefinitionError, match="use the field parametersJsonSchema"):
        to_gemini(spec, field="parameters")


def test_an_object_that_was_asked_for_as_text_reaches_the_tool_as_an_object() -> None:
    tool = made(with_property({"type": "object"}))
    assert tool.to_gemini(field="parameters")["parameters"]["properties"]["p"]["type"] == "string"
    assert tool.invoke({"p": '{"a": 1}'}) == {"p": {"a": 1}}


# -- what strict forms count -----------------------------------------------------------------------------------------


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"p": schema}, "required": ["p"]}
    return schema


def test_openai_takes_ten_objects_inside_of_one_another_and_no_more() -> None:
    openai(nested(10), strict=True)
    with pytest.raises(ToolDefinitionError, match="has 11 objects and lists inside of one another, more than 10"):
        openai(nested(11), strict=True)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (with_property({"enum": [f"{n}" for n in range(1_001)]}), "1,001 values in its enums"),
        (with_property({"enum": ["x" * 60 + f"{n}" for n in range(251)]}), "an enum of 15"),
        ({"properties": {f"p{n}": {"type": "string"} for n in range(5_001)}}, "5,001 properties"),
        ({"properties": {f"{n:0120}": {"type": "string"} for n in range(1_001)}}, "characters in names"),
    ],
)
def test_what_is_too_much_for_openai_is_refused_with_its_number(schema: dict[str, Any], words: str) -> None:
    with pytest.raises(ToolDefinitionError, match=words):
        openai(schema, strict=True)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"properties": {f"p{n}": {"type": "string"} for n in range(25)}}, "25 arguments that may be left out"),
        (
            {
                "properties": {f"p{n}": {"type": ["string", "null"]} for n in range(17)},
                "required": [f"p{n}" for n in range(17)],
            },
            "17 arguments of several types",
        ),
    ],
)
def test_what_is_too_much_for_anthropic_is_refused_with_its_number(schema: dict[str, Any], words: str) -> None:
    with pytest.raises(ToolDefinitionError, match=words):
        anthropic(schema, strict=True)


def test_strict_forms_say_what_they_lose() -> None:
    class Inner(BaseModel):
        a: int = 1

    def tool(inner: Inner, names: list[str], size: int = 3) -> None:
        """Do."""

    spec = Tool.from_function(tool).spec
    notes = adaptations(spec, "openai-strict")
    assert all(isinstance(note, Adaptation) for note in notes)
    told = {(note.place, note.what, note.effect) for note in notes}
    assert ("$.size", "is required, and null stands for what is left out", "same") in told
    assert ("$", "takes no keys but the declared", "closed") in told
    limited = with_property({"type": "array", "items": {"type": "string", "maxLength": 3}, "minItems": 2})
    assert said(limited, "anthropic-strict") == [
        ("$.p[]", "leaves out maxLength", "wider"),
        ("$.p", "leaves out minItems 2", "wider"),
    ]


def test_a_strict_schema_refers_to_definitions_alone() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": "string"}}, "b": {"$ref": "#/properties/a"}},
        "required": ["a", "b"],
    }
    assert openai(schema, strict=True)["properties"]["b"] == {"type": "array", "items": {"type": "string"}}
