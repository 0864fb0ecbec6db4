"""Schemas as real servers and benchmarks write them, in every form."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from typing import Any, cast, get_args

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.data import committed_data, full_data, read_lines
from support.instances import instances
from surehand.errors import ToolDefinitionError
from surehand.shapes import is_array, is_object
from surehand.tools import Tool
from surehand.tools.export import Form, adaptations, to_anthropic, to_bedrock, to_gemini, to_mcp, to_openai

FORMS: tuple[Form, ...] = get_args(Form)
SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
TYPES = {"dict": "object", "float": "number", "tuple": "array"}
"""The benchmark's own types as those of JSON Schema."""


def echo(**arguments: Any) -> dict[str, Any]:
    return arguments


def as_json_schema(part: Any) -> Any:
    if is_array(part):
        return [as_json_schema(item) for item in part]
    if not is_object(part):
        return part
    made: dict[str, Any] = {}
    for key, value in part.items():
        if key == "properties":
            made[key] = {name: as_json_schema(schema) for name, schema in value.items()}
        elif key != "type":
            made[key] = value if key in ("enum", "default") else as_json_schema(value)
        elif value != "any":
            made[key] = TYPES.get(value, value)
    return made


def committed() -> Iterator[tuple[str, dict[str, Any]]]:
    for row in read_lines(committed_data() / "mcp_tools" / "tools.jsonl"):
        yield f"{row['server']}/{row['name']}", row["inputSchema"]
    for row in read_lines(committed_data() / "bfcl_functions" / "functions.jsonl"):
        yield f"benchmark/{row['function'][0]['name']}", as_json_schema(row["function"][0]["parameters"])


def full() -> Iterator[tuple[str, dict[str, Any]]]:
    folder = full_data()
    if folder is None:
        return
    for listing in sorted((folder / "mcp_tools").glob("*.json")):
        for row in json.loads(listing.read_text(encoding="utf-8"))["tools"]:
            yield f"{listing.stem}/{row['name']}", row["inputSchema"]
    for snapshot in sorted((folder / "mcp_tools" / "github-mcp-server").glob("*.snap")):
        yield f"github/{snapshot.stem}", json.loads(snapshot.read_text(encoding="utf-8"))["inputSchema"]
    for row in read_lines(folder / "bfcl" / "BFCL_v4_simple_python.json"):
        yield f"benchmark/{row['id']}", as_json_schema(row["function"][0]["parameters"])


def exported(tool: Tool, form: Form) -> dict[str, Any]:
    """The schema alone, as a form has it."""
    spec = tool.spec
    made: dict[str, Any] | None
    match form:
        case "openai" | "openai-strict":
            made = to_openai(spec, strict=form.endswith("strict"))["function"]["parameters"]
        case "anthropic" | "anthropic-strict":
            made = to_anthropic(spec, strict=form.endswith("strict"))["input_schema"]
        case "gemini":
            made = to_gemini(spec)["parametersJsonSchema"]
        case "gemini-parameters":
            made = to_gemini(spec, field="parameters").get("parameters")
        case "bedrock":
            made = to_bedrock(spec)["toolSpec"]["inputSchema"]["json"]
        case "mcp":
            made = to_mcp(spec)["inputSchema"]
    return made or {"type": "object", "properties": {}}


def with_null(schema: Any) -> Any:
    """OpenAPI's ``nullable`` as JSON Schema says it."""
    if is_array(schema):
        return [with_null(item) for item in schema]
    if not is_object(schema):
        return schema
    made = {key: with_null(value) for key, value in schema.items()}
    if made.pop("nullable", None) is True:
        return {"anyOf": [made, {"type": "null"}]}
    return made


def exports(tool: Tool, form: Form) -> bool:
    try:
        exported(tool, form)
    except ToolDefinitionError:
        return False
    return True


TOOLS = {name: Tool.from_json_schema("t", schema, echo) for name, schema in committed()}
CARRIED = {form: [name for name, tool in TOOLS.items() if exports(tool, form)] for form in FORMS}


@functools.cache
def effects(name: str, form: Form) -> frozenset[str]:
    return frozenset(adaptation.effect for adaptation in adaptations(TOOLS[name].spec, form))


def test_only_strict_forms_refuse_a_real_schema_and_for_what_they_cannot_say_alone() -> None:
    refused: list[tuple[str, Form]] = [(name, form) for form in FORMS for name in TOOLS if name not in CARRIED[form]]
    assert {form for _, form in refused} <= {"openai-strict", "anthropic-strict"}
    assert len({name for name, _ in refused}) <= 3
    for name, form in refused:
        with pytest.raises(ToolDefinitionError, match=r"free keys|any value"):
            exported(TOOLS[name], form)


@pytest.mark.parametrize("form", FORMS)
def test_what_is_exported_is_a_json_schema_of_one_plain_object(form: Form) -> None:
    for name in CARRIED[form]:
        schema = exported(TOOLS[name], form)
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert not {"anyOf", "oneOf", "allOf", "enum", "not", "$ref"} & schema.keys()


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
@given(data=st.data())
def test_what_the_tool_takes_the_form_takes_unless_an_adaptation_says_otherwise(
    form: Form, data: st.DataObject
) -> None:
    names = [name for name in CARRIED[form] if "narrower" not in effects(name, form)]
    assert len(names) > 40
    name = data.draw(st.sampled_from(names))
    schema = TOOLS[name].spec.schema.json_schema
    instance = data.draw(instances(closed(schema) if "closed" in effects(name, form) else schema))
    jsonschema.validate(instance, with_null(filled(exported(TOOLS[name], form), form)))


@pytest.mark.parametrize("form", ["openai-strict", "anthropic-strict"])
@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
@given(data=st.data())
def test_what_a_strict_form_takes_the_tool_takes_with_null_as_left_out(form: Form, data: st.DataObject) -> None:
    names = [name for name in CARRIED[form] if "wider" not in effects(name, form)]
    assert len(names) > 25
    tool = TOOLS[data.draw(st.sampled_from(names))]
    arguments = cast("dict[str, Any]", data.draw(instances(exported(tool, form))))
    taken = tool.invoke(arguments)
    assert all(taken[key] == value for key, value in arguments.items() if value is not None)


def test_every_schema_of_the_full_sets_is_exported_in_every_form_that_is_not_strict() -> None:
    for _, schema in full():
        tool = Tool.from_json_schema("t", schema, echo)
        for form in FORMS:
            if form == "mcp" or (form.endswith("strict") and not exports(tool, form)):
                continue
            assert exported(tool, form)["type"] == "object"


def test_schemas_that_openai_refused_are_exported_in_the_form_that_it_asks_for() -> None:
    refused = [
        row
        for row in read_lines(committed_data() / "provider_recordings" / "provider_errors.jsonl")
        if "invalid_function_parameters" in json.dumps(row["response"])
    ]
    assert len(refused) == 2
    for row in refused:
        for declared in row["tools"]:
            function = declared.get("function", declared)
            tool = Tool.from_json_schema(function["name"], function["parameters"], echo)
            made = exported(tool, "openai-strict")
            assert made["required"] == list(function["parameters"]["properties"])
            assert made["additionalProperties"] is False


def closed(schema: Any) -> Any:
    """The schema without the keys that nobody declared."""
    if is_array(schema):
        return [closed(item) for item in schema]
    if not is_object(schema):
        return schema
    made = {key: closed(value) for key, value in schema.items()}
    if is_object(made.get("properties")) and "additionalProperties" not in made:
        made["additionalProperties"] = False
    return made


def filled(schema: dict[str, Any], form: Form) -> dict[str, Any]:
    """A strict schema of OpenAI's that may leave out what null stands for."""
    if form != "openai-strict":
        return schema
    return cast("dict[str, Any]", without_required(schema))


def without_required(schema: Any) -> Any:
    if is_array(schema):
        return [without_required(item) for item in schema]
    if not is_object(schema):
        return schema
    made = {key: without_required(value) for key, value in schema.items()}
    if is_array(made.get("required")) and is_object(made.get("properties")):
        del made["required"]
    return made
