"""Whatever a schema is like, each form takes what the tool takes, or an adaptation says that it does not."""

from __future__ import annotations

from typing import Any, get_args

import jsonschema
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from support.instances import instances
from surehand.errors import ToolDefinitionError
from surehand.shapes import is_array, is_object
from surehand.tools import Tool, adaptations
from surehand.tools.export import Form, to_anthropic, to_bedrock, to_gemini, to_mcp, to_openai

FORMS: tuple[Form, ...] = get_args(Form)
SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
NAMES = st.sampled_from("abcd")
LEAVES: list[dict[str, Any]] = [
    {"type": "string"},
    {"type": "string", "minLength": 2, "description": "A word."},
    {"type": "string", "format": "date"},
    {"type": "string", "enum": ["x", "y"]},
    {"enum": ["x", 1, None]},
    {"const": "x"},
    {"const": 3},
    {"type": "integer", "minimum": 0, "default": 3},
    {"type": ["integer", "null"]},
    {"type": ["string", "boolean"]},
    {"type": "boolean"},
    {"type": "null"},
    {"type": "object"},
    {"type": "array"},
    {"$ref": "#/$defs/D"},
    {"$ref": "#/$defs/D", "description": "Of D."},
    {},
]


def echo(**arguments: Any) -> dict[str, Any]:
    return arguments


@st.composite
def objects(draw: st.DrawFn, depth: int) -> dict[str, Any]:
    """An object with some of four properties."""
    made: dict[str, Any] = {"type": "object"} if draw(st.booleans()) else {}
    properties = draw(st.dictionaries(NAMES, fields(depth - 1), max_size=3))
    if properties:
        made["properties"] = properties
    if draw(st.booleans()):
        made["required"] = draw(st.lists(NAMES, max_size=2, unique=True))
    if draw(st.booleans()):
        made["additionalProperties"] = draw(st.sampled_from([False, False, True, {"type": "integer"}]))
    return made


@st.composite
def fields(draw: st.DrawFn, depth: int) -> Any:
    """A schema of any kind."""
    match draw(st.integers(0, 6 if depth > 0 else 2)):
        case 3:
            return {"type": "object", **draw(objects(depth))}
        case 4:
            return {"type": "array", "items": draw(fields(depth - 1))}
        case 5:
            return {"type": "array", "prefixItems": [draw(fields(0)), draw(fields(0))], "items": draw(st.booleans())}
        case 6:
            choices = draw(st.lists(fields(depth - 1), min_size=1, max_size=3))
            return {draw(st.sampled_from(["anyOf", "oneOf", "allOf"])): choices}
        case _:
            return dict(draw(st.sampled_from(LEAVES)))


@st.composite
def wholes(draw: st.DrawFn) -> dict[str, Any]:
    """The schema of a tool's arguments, perhaps combined of several."""
    made = {**draw(objects(2)), "type": "object", "$defs": {"D": {"type": "string", "maxLength": 5}}}
    for keyword in ("anyOf", "oneOf", "allOf"):
        if draw(st.integers(0, 3)) == 0:
            made[keyword] = draw(st.lists(objects(1), min_size=1, max_size=3))
    return made


def exported(tool: Tool, form: Form) -> dict[str, Any]:
    is_strict = form.endswith("strict")
    made: dict[Form, Any] = {
        "openai": lambda: to_openai(tool.spec)["function"]["parameters"],
        "openai-strict": lambda: to_openai(tool.spec, strict=is_strict)["function"]["parameters"],
        "anthropic": lambda: to_anthropic(tool.spec)["input_schema"],
        "anthropic-strict": lambda: to_anthropic(tool.spec, strict=is_strict)["input_schema"],
        "gemini": lambda: to_gemini(tool.spec)["parametersJsonSchema"],
        "gemini-parameters": lambda: to_gemini(tool.spec, field="parameters").get("parameters"),
        "bedrock": lambda: to_bedrock(tool.spec)["toolSpec"]["inputSchema"]["json"],
        "mcp": lambda: to_mcp(tool.spec)["inputSchema"],
    }
    return made[form]() or {"type": "object", "additionalProperties": False}


def readable(schema: Any, form: Form) -> Any:
    """A form as plain JSON Schema: OpenAPI's ``nullable``, and what null stands for in OpenAI's strict form."""
    if is_array(schema):
        return [readable(item, form) for item in schema]
    if not is_object(schema):
        return schema
    made = {key: readable(value, form) for key, value in schema.items()}
    if form == "openai-strict" and is_object(made.get("properties")):
        made.pop("required", None)
    if form == "gemini-parameters" and is_object(made.get("properties")):
        made["additionalProperties"] = False  # the field cannot say so, and a model sends what was declared
    if made.pop("nullable", None) is True:
        return {"anyOf": [made, {"type": "null"}]}
    return made


def example(data: st.DataObject, schema: Any) -> Any:
    return data.draw(instances(schema))


@settings(max_examples=80, deadline=None, suppress_health_check=SLOW)
@given(form=st.sampled_from(FORMS), schema=wholes(), data=st.data())
def test_what_a_tool_takes_a_form_takes_unless_it_says_otherwise(
    form: Form, schema: dict[str, Any], data: st.DataObject
) -> None:
    tool = Tool.from_json_schema("t", schema, echo)
    try:
        made = exported(tool, form)
    except ToolDefinitionError:
        assume(False)
        return
    jsonschema.Draft202012Validator.check_schema(made)
    effects = {adaptation.effect for adaptation in adaptations(tool.spec, form)}
    assume(not effects & {"narrower", "closed"})
    jsonschema.validate(example(data, schema), readable(made, form))


@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
@given(form=st.sampled_from([form for form in FORMS if not form.endswith("strict")]), schema=wholes(), data=st.data())
def test_what_a_form_takes_the_tool_takes_unless_it_says_otherwise(
    form: Form, schema: dict[str, Any], data: st.DataObject
) -> None:
    tool = Tool.from_json_schema("t", schema, echo)
    try:
        made = exported(tool, form)
    except ToolDefinitionError:
        assume(False)
        return
    # An object that is asked for as text is one again by the time it is checked.
    assume(all(adaptation.effect not in ("wider", "narrower") for adaptation in adaptations(tool.spec, form)))
    jsonschema.validate(example(data, readable(made, form)), schema)
