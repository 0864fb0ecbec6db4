"""Documents as they come: in other versions and forms, with odd parts, large, and some that cannot be used."""

from __future__ import annotations

import copy
import importlib
import json
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.pet_server import pets_document
from surehand.errors import OptionError, ToolDefinitionError
from surehand.integrations.openapi import openapi_tools
from surehand.tools import Tool
from surehand.tools.export import to_anthropic, to_gemini, to_openai

yaml: Any = importlib.import_module("yaml")  # it has no types
URL = "http://127.0.0.1:9"


def document(paths: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": paths, **more}


def one(operation: dict[str, Any], *, path: str = "/x", method: str = "get", **more: Any) -> Tool:
    (tool,) = openapi_tools(document({path: {method: operation}}, **more), base_url=URL)
    return tool


def with_body(schema: Any, media_type: str = "application/json") -> Tool:
    return one({"requestBody": {"content": {media_type: {"schema": schema}}}}, method="post")


# -- how a document may be given -------------------------------------------------------------------------------------


def test_a_document_may_be_data_text_or_a_file_in_json_or_yaml(tmp_path: Path) -> None:
    data = pets_document()
    names = [tool.name for tool in openapi_tools(data, base_url=URL)]
    json_file, yaml_file = tmp_path / "pets.json", tmp_path / "pets.yaml"
    json_file.write_text(json.dumps(data), encoding="utf-8")
    yaml_file.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    for form in (
        json.dumps(data),
        yaml.safe_dump(data, sort_keys=False),
        json_file,
        str(json_file),
        yaml_file,
        str(yaml_file),
    ):
        assert [tool.name for tool in openapi_tools(form, base_url=URL)] == names


def test_yaml_is_read_as_the_json_that_it_stands_for() -> None:
    text = (
        "openapi: 3.1.0\npaths:\n  /x:\n    get:\n      operationId: x\n      parameters:\n"
        "        - {name: day, in: query, schema: {type: string, enum: [2024-01-01]}}\n"
        "      responses: {200: {description: ok}}\n"
    )
    (tool,) = openapi_tools(text, base_url=URL)
    assert tool.args["day"]["enum"] == ["2024-01-01"]


def test_a_document_is_not_changed() -> None:
    data = pets_document()
    before = copy.deepcopy(data)
    openapi_tools(data, base_url=URL)
    assert data == before


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"swagger": "2.0", "paths": {}}, "Convert an older one"),
        ({"paths": {}}, "version unknown"),
        ("{broken", "JSON that can be read"),
        ("just words", "a text that holds an object"),
        ("nowhere.json", "a file that can be read"),
        (7, "a mapping, a text or a path"),
    ],
)
def test_what_is_no_document_is_refused_with_words(given: Any, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        openapi_tools(given, base_url=URL)


@pytest.mark.parametrize("servers", [None, [], [{"url": "/v1"}], [{"url": "ftp://x"}]])
def test_a_document_without_a_whole_address_needs_one(servers: Any) -> None:
    data = document({"/x": {"get": {}}}) | ({} if servers is None else {"servers": servers})
    with pytest.raises(OptionError, match="https://"):
        openapi_tools(data)


def test_the_nearest_server_counts() -> None:
    paths = {"/x": {"servers": [{"url": "https://path.example"}], "get": {"servers": [{"url": "https://op.example"}]}}}
    assert openapi_tools(document(paths, servers=[{"url": "/relative"}]))


# -- references ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reference", ["other.yaml#/X", "https://example.org/s.json", "file:///etc/passwd", "#/nowhere", "#nowhere"]
)
@pytest.mark.parametrize("where", ["schema", "parameter", "body", "path"])
def test_a_reference_that_leads_out_of_the_document_is_refused(reference: str, where: str) -> None:
    lost = {"$ref": reference}
    item: Any = {
        "schema": {"get": {"parameters": [{"name": "a", "in": "query", "schema": lost}]}},
        "parameter": {"get": {"parameters": [lost]}},
        "body": {"post": {"requestBody": lost}},
        "path": lost,
    }[where]
    with pytest.raises(ToolDefinitionError, match="refers to") as caught:
        openapi_tools(document({"/x": item}), base_url=URL)
    assert reference in str(caught.value)


def test_a_reference_in_an_operation_that_nobody_wants_does_no_harm() -> None:
    lost = {"parameters": [{"name": "a", "in": "query", "schema": {"$ref": "other.yaml#/X"}}]}
    data = document({"/a": {"get": {"operationId": "a"}}, "/b": {"get": {"operationId": "b", **lost}}})
    with pytest.raises(ToolDefinitionError):
        openapi_tools(data, base_url=URL)
    assert [tool.name for tool in openapi_tools(data, base_url=URL, exclude=["b"])] == ["a"]


def test_references_in_a_circle_are_refused() -> None:
    circle = {"parameters": {"A": {"$ref": "#/components/parameters/B"}, "B": {"$ref": "#/components/parameters/A"}}}
    with pytest.raises(ToolDefinitionError, match="refers to itself"):
        one({"parameters": [{"$ref": "#/components/parameters/A"}]}, components=circle)


def test_a_schema_may_hold_itself_and_be_anywhere_in_the_document() -> None:
    tree = {"type": "object", "properties": {"inner": {"$ref": "#/components/schemas/Tree"}}}
    body = {
        "type": "object",
        "properties": {"root": {"$ref": "#/components/schemas/Tree"}, "x": {"$ref": "#/x-odd/a~1b"}},
    }
    odd: dict[str, Any] = {"components": {"schemas": {"Tree": tree}}, "x-odd": {"a/b": {"type": "integer"}}}
    tool = one({"requestBody": {"content": {"application/json": {"schema": body}}}}, method="post", **odd)
    schema = tool.spec.schema.json_schema
    jsonschema.validate({"root": {"inner": {"inner": {}}}, "x": 3}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"root": {"inner": 1}}, schema)


# -- odd operations --------------------------------------------------------------------------------------------------


def test_a_parameter_that_only_the_braces_name_is_asked_for() -> None:
    assert one({}, path="/x/{id}").spec.schema.json_schema["required"] == ["id"]


def test_an_operation_takes_the_place_of_its_paths_parameter() -> None:
    shared = [{"name": "a", "in": "query", "schema": {"type": "string"}}]
    item = {"parameters": shared, "get": {"parameters": [{**shared[0], "schema": {"type": "integer"}}]}}
    (tool,) = openapi_tools(document({"/x": item}), base_url=URL)
    assert tool.args["a"] == {"type": "integer"}


def test_headers_that_are_said_otherwise_are_no_arguments() -> None:
    names = ("Accept", "Content-Type", "Authorization", "X-Real")
    tool = one({"parameters": [{"name": name, "in": "header", "schema": {}} for name in names]})
    assert list(tool.args) == ["X-Real"]


def test_two_operations_of_one_name_are_told_apart_and_every_name_is_legal() -> None:
    ids = ["list/pets", "list pets", "宠物", "x" * 100, "9lives"]
    paths = {f"/{number}": {"get": {"operationId": id}} for number, id in enumerate(ids)}
    names = [tool.name for tool in openapi_tools(document(paths), base_url=URL)]
    assert names[:2] == ["list_pets", "list_pets_2"]
    assert len(set(names)) == len(ids)
    assert all(len(name) <= 64 for name in names)


def test_names_of_arguments_are_legal_and_distinct() -> None:
    names = ["filter[id]", "filter(id)", "a b", "日", "x" * 80, "x" * 90]
    tool = one({"parameters": [{"name": name, "in": "query", "schema": {}} for name in names]})
    assert len(tool.args) == len(names)
    assert list(tool.args)[:2] == ["filter_id", "query_filter_id"]
    to_anthropic(tool.spec)


BODIES: list[tuple[Any, list[str]]] = [
    ({"type": "string"}, ["body"]),
    ({"type": "array", "items": {"type": "string"}}, ["body"]),
    ({"oneOf": [{"type": "object", "properties": {"a": {}}}]}, ["body"]),
    ({"type": "object", "additionalProperties": {"type": "string"}}, ["body"]),
    ({"type": "object"}, ["body"]),
    ({}, ["body"]),
    ({"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}, ["a", "b"]),
]


@pytest.mark.parametrize(("schema", "arguments"), BODIES)
def test_a_body_is_flat_only_where_its_properties_are_all_there_is(schema: Any, arguments: list[str]) -> None:
    assert list(with_body(schema).args) == arguments


@pytest.mark.parametrize(
    ("media_type", "schema", "described"),
    [
        ("text/csv", {"type": "string"}, "As text/csv."),
        ("application/octet-stream", {"type": "string", "format": "binary"}, "As base64."),
        ("application/pdf", {}, "As base64."),
    ],
)
def test_a_body_that_is_no_json_is_one_text(media_type: str, schema: Any, described: str) -> None:
    argument = with_body(schema, media_type).args["body"]
    assert (argument["type"], argument["description"]) == ("string", described)


def test_json_is_sent_where_there_is_a_choice() -> None:
    content = {"application/xml": {"schema": {"type": "string"}}, "application/json": {"schema": {"type": "integer"}}}
    assert one({"requestBody": {"content": content}}, method="post").args["body"] == {"type": "integer"}


def test_a_long_description_is_cut_and_a_deprecated_operation_says_so() -> None:
    tool = one({"summary": "Do.", "description": "word " * 1_000, "deprecated": True})
    assert len(tool.description) == 1_024
    assert one({"summary": "Do.", "deprecated": True}).description == "Do.\n\nDeprecated."


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string", "nullable": True, "enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
        (
            {"allOf": [{"$ref": "#/components/schemas/S"}], "nullable": True, "description": "d"},
            {"anyOf": [{"allOf": [{"$ref": "#/$defs/S"}]}, {"type": "null"}], "description": "d"},
        ),
        ({"type": "integer", "maximum": 9, "exclusiveMaximum": True}, {"type": "integer", "exclusiveMaximum": 9}),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": False}, {"type": "integer", "minimum": 1}),
        ({"$ref": "#/components/schemas/S", "nullable": True}, {"$ref": "#/$defs/S"}),
        ({"type": "object", "xml": {}, "example": 1, "discriminator": {}, "externalDocs": {}}, {"type": "object"}),
    ],
)
def test_the_schemas_of_3_0_are_told_as_json_schema(schema: Any, expected: Any) -> None:
    data = document(
        {"/x": {"get": {"parameters": [{"name": "p", "in": "query", "schema": schema}]}}},
        components={"schemas": {"S": {"type": "string"}}},
    )
    (tool,) = openapi_tools({**data, "openapi": "3.0.1"}, base_url=URL)
    assert tool.args["p"] == expected


def test_the_schemas_of_3_1_stay_as_they_are() -> None:
    schema = {"type": ["string", "null"], "exclusiveMinimum": 3, "const": None}
    assert one({"parameters": [{"name": "p", "in": "query", "schema": schema}]}).args["p"] == schema


# -- many ------------------------------------------------------------------------------------------------------------


def test_a_thousand_operations_become_tools_in_reasonable_time() -> None:
    schemas: dict[str, Any] = {
        f"S{n}": {
            "type": "object",
            "properties": {"a": {"type": "string"}, "next": {"$ref": f"#/components/schemas/S{n + 1}"}},
        }
        for n in range(5)
    }
    schemas["S5"] = {"type": "object"}
    paths = {
        f"/things/{n}/{{id}}": {
            "post": {
                "operationId": f"thing{n}",
                "parameters": [{"name": "q", "in": "query", "schema": {"type": "string"}}],
                "requestBody": {
                    "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/S{n % 5}"}}}
                },
            }
        }
        for n in range(1_000)
    }
    start = time.process_time()
    tools = openapi_tools(document(paths, components={"schemas": schemas}), base_url=URL)
    assert len(tools) == 1_000
    assert time.process_time() - start < 30


KINDS = ("string", "integer", "boolean", "object", "array")
PLACES = ("query", "header", "cookie", "path", "body")
STYLES = ("form", "simple", "deepObject", "pipeDelimited", "spaceDelimited", "matrix", "label", "odd")
MEDIA = ("application/json", "multipart/form-data", "text/plain", "application/x-www-form-urlencoded", "*/*")


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> Any:
    """A schema of any shape, as somebody may have written it."""
    choice = draw(st.integers(0, 5 if depth else 2))
    match choice:
        case 0:
            return True
        case 1 | 2:
            return {"type": draw(st.sampled_from(KINDS))}
        case 3:
            return {"type": "array", "items": draw(schemas(depth - 1))}
        case 4:
            parts = draw(st.lists(schemas(depth - 1), min_size=1, max_size=2))
            return {draw(st.sampled_from(["allOf", "anyOf"])): parts}
        case _:
            properties = draw(st.dictionaries(st.text(max_size=5), schemas(depth - 1), max_size=3))
            required = draw(st.lists(st.text(max_size=3), max_size=2, unique=True))
            return {"type": "object", "properties": properties, "required": required}


@st.composite
def parameters(draw: st.DrawFn) -> dict[str, Any]:
    """A parameter of any place and style, fitting or not."""
    return {
        "name": draw(st.text(min_size=1, max_size=8)),
        "in": draw(st.sampled_from(PLACES)),
        "schema": draw(schemas()),
        "style": draw(st.sampled_from(STYLES)),
    }


@st.composite
def operations(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A method and its operation."""
    body = {"content": {draw(st.sampled_from(MEDIA)): {"schema": draw(schemas())}}}
    own: dict[str, Any] = {"operationId": draw(st.text(max_size=8)), "requestBody": body}
    own["parameters"] = draw(st.lists(parameters(), max_size=4))
    return draw(st.sampled_from(["get", "post", "put"])), own


@settings(max_examples=60, deadline=None)
@given(made=st.lists(operations(), min_size=1, max_size=3), version=st.sampled_from(["3.0.0", "3.1.0"]))
def test_any_document_gives_tools_that_every_provider_can_be_told_of(
    made: list[tuple[str, dict[str, Any]]], version: str
) -> None:
    paths = {f"/{number}": {method: operation} for number, (method, operation) in enumerate(made)}
    tools = openapi_tools({**document(paths), "openapi": version}, base_url=URL)
    assert len({tool.name for tool in tools}) == len(tools) == len(made)
    for tool in tools:
        for declared in (to_openai(tool.spec), to_anthropic(tool.spec), to_gemini(tool.spec, field="parameters")):
            json.dumps(declared)
