"""JSON Schemas that become tools, or are refused with the place, what stands there, and what to do."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from support.arguments import complaints, valid, values
from surehand import Tool
from surehand.errors import ToolDefinitionError
from surehand.spec import schema_of

Schema = dict[str, Any]


def schema(properties: Schema, **keywords: Any) -> Schema:
    return {"type": "object", "properties": properties, **keywords}


def echo(**given: Any) -> dict[str, Any]:
    return given


REFUSED: list[tuple[Schema, str]] = [
    (schema({"x": {"type": "any"}}), "at $.properties.x.type: 'any' is no type of JSON Schema. Leave the type out"),
    (schema({"x": {"type": "dict"}}), "'dict' is no type of JSON Schema. Write 'object'."),
    (schema({"x": {"items": {"type": "float"}}}), "at $.properties.x.items.type: 'float' is no type"),
    (schema({"x": {"type": "zzz"}}), "'zzz' is no type of JSON Schema. Correct it"),
    (schema({"x": 3}), "at $.properties.x: 3 is not of the type boolean or object"),
    (schema({"x": {"required": True}}), "at $.properties.x.required: True is not of the type array"),
    (schema({"x": {"minLength": -1}}), "at $.properties.x.minLength: -1 breaks the rule minimum"),
    (schema({"pattern": 3}), "at $.properties.pattern: 3 is not of the type"),
    ({"$schema": "urn:x"}, "names 'urn:x' as its $schema, which is no draft of JSON Schema"),
    (schema({"x": {"$ref": "file:///etc/passwd"}}), "refers to 'file:///etc/passwd' at $.properties.x, which is not"),
    (schema({"x": {"items": {"$ref": "other.json#/a"}}}), "refers to 'other.json#/a' at $.properties.x.items"),
    (schema({"x": {"$ref": "#missing"}}), "refers to '#missing' at $.properties.x"),
    (schema({"x": {"default": object()}}), "it is no JSON"),
]
TAKEN: list[Schema] = [
    {},
    {"properties": {"x": True}},
    schema({"x": {"$comment": "c", "x-order": 1, "deprecated": True, "example": {"$ref": "nowhere"}}}),
    schema({"x": {"const": {"$ref": "nowhere"}}, "$ref": {"type": "string"}}),
    schema({"x": {"$ref": "https://json-schema.org/draft/2020-12/schema"}}),
    schema({"x": {"$ref": "#/$defs/a~1b/properties/c%20d"}}, **{"$defs": {"a/b": schema({"c d": {}})}}),
    schema({"x": {"$ref": "#/definitions/a"}}, definitions={"a": {"type": "integer"}}),
    schema({"x": {"$ref": "#/x-parts/a"}}, **{"x-parts": {"a": {"$ref": "#/x-parts/b"}, "b": {}}}),
    schema({"x": {"format": "made-up"}}),
    {"$schema": "http://json-schema.org/draft-07/schema#", **schema({"x": {"$ref": "#a"}, "y": {"$id": "#a"}})},
    {"$schema": "https://json-schema.org/draft/2019-09/schema", **schema({"x": {"$recursiveRef": "#"}})},
]


@pytest.mark.parametrize(("written", "told"), REFUSED)
def test_a_schema_that_cannot_be_used_is_refused_with_words(written: Schema, told: str) -> None:
    with pytest.raises(ToolDefinitionError) as caught:
        schema_of(written, tool="search")
    assert told in str(caught.value)
    assert str(caught.value).startswith("Tool 'search': its JSON Schema ")


@pytest.mark.parametrize("written", TAKEN)
def test_a_schema_that_is_only_unusual_is_taken(written: Schema) -> None:
    assert schema_of(written).json_schema == {"type": "object", **written}


def test_no_reference_is_ever_fetched(tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text("{}")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        for reference in (f"http://127.0.0.1:{server.getsockname()[1]}/a", (tmp_path / "schema.json").as_uri()):
            with pytest.raises(ToolDefinitionError, match="nothing is ever fetched"):
                schema_of(schema({"x": {"$ref": reference}}))
        with pytest.raises(TimeoutError):
            server.accept()


def test_a_drafts_own_schema_checks_schemas() -> None:
    written = schema({"x": {"$ref": "https://json-schema.org/draft/2020-12/schema"}})

    assert values(written, {"x": {"type": "string"}}) == {"x": {"type": "string"}}
    assert complaints(written, {"x": {"minLength": -1}})[0].startswith("$.x.minLength: ")


@pytest.mark.parametrize(
    "name", ["self", "config", "args", "kwargs", "cls", "input", "function", "tool_call_id", "$ref"]
)
def test_an_argument_may_have_any_name(name: str) -> None:
    tool = Tool.from_json_schema("tool", schema({name: {"type": "integer"}}, required=[name]), echo)

    assert tool.invoke({name: "5"}) == {name: 5}


def test_a_property_that_is_false_may_not_be_given() -> None:
    assert values({"properties": {"a": True, "b": False}}, {"a": 1}) == {"a": 1}
    assert complaints({"properties": {"a": True, "b": False}}, {"b": 1}) == [
        "$.b: is not allowed here, got the number 1"
    ]


def test_additional_properties_look_only_at_the_properties_beside_them() -> None:
    parts: Schema = {"allOf": [schema({"b": {"type": "integer"}})]}

    assert complaints(schema({"a": {}}, additionalProperties=False, **parts), {"a": 1, "b": 1}) == [
        "$.b: unknown argument"
    ]
    assert values(schema({"a": {}}, unevaluatedProperties=False, **parts), {"a": 1, "b": "1"}) == {"a": 1, "b": 1}


DEFAULTS: list[tuple[Schema, Any, Any]] = [
    (schema({"a": {"default": 1}}), {}, {"a": 1}),
    (schema({"a": {"default": 1}}), {"a": 2}, {"a": 2}),
    (schema({"a": {"default": None, "type": "string"}}), {}, {}),
    (schema({"a": {"$ref": "#/$defs/n"}}, **{"$defs": {"n": {"default": 1}}}), {}, {"a": 1}),
    (schema({"a": {"$ref": "#/$defs/n", "default": 2}}, **{"$defs": {"n": {"default": 1}}}), {}, {"a": 2}),
    (schema({}, allOf=[schema({"a": {"default": 1}})]), {}, {"a": 1}),
    (schema({}, anyOf=[schema({"a": {"default": 1}})]), {}, {}),
    (schema({"a": schema({"b": {"default": [1]}})}), {"a": {}}, {"a": {"b": [1]}}),
    (schema({"a": schema({"b": {"default": [1]}})}), {}, {}),
    (schema({"a": {"items": schema({"b": {"default": 1}})}}), {"a": [{}, {"b": 2}]}, {"a": [{"b": 1}, {"b": 2}]}),
    (schema({"a": {"prefixItems": [schema({"b": {"default": 1}})]}}), {"a": [{}, {}]}, {"a": [{"b": 1}, {}]}),
    (
        schema(
            {"a": {"items": [{}], "additionalItems": schema({"b": {"default": 1}})}},
            **{"$schema": "http://json-schema.org/draft-07/schema#"},
        ),
        {"a": [{}, {}]},
        {"a": [{}, {"b": 1}]},
    ),
    (schema({}, additionalProperties=schema({"b": {"default": 1}})), {"x": {}}, {"x": {"b": 1}}),
    (
        schema({"a": {"default": 1}, "b": {"default": 2}}, oneOf=[{"required": ["a"]}, {"required": ["b"]}]),
        {"b": 1},
        {"b": 1},
    ),
    (schema({"a": {"default": 1}, "b": {"default": 2}}, maxProperties=1), {}, {"a": 1}),
    (schema({"a": {"default": "x", "pattern": "^(?!x)"}}), {}, {}),
]


@pytest.mark.parametrize(("written", "given", "wanted"), DEFAULTS)
def test_defaults_are_filled_where_they_are_sure_to_hold(written: Schema, given: Any, wanted: Any) -> None:
    found = valid(written, given)

    assert found.values == wanted
    assert found.wire == given


def test_a_nested_default_is_fresh_in_every_call_and_changes_nothing_that_was_given() -> None:
    made = schema_of(schema({"a": schema({"b": {"default": [1]}})}))
    given: dict[str, Any] = {"a": {}}
    first = made.validate(given)
    first["a"]["b"].append(2)

    assert made.validate(given) == {"a": {"b": [1]}}
    assert given == {"a": {}}
