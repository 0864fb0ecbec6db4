"""The schemas of a server's tools are built when a call needs them, and refused when they are declared."""

from __future__ import annotations

import copy
import gc
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.real_schemas import mcp_tools
from surehand import AIMessage, ToolDefinitionError, ToolMessage, ToolNode
from surehand.integrations.mcp.declared import Choice, Toolbox
from surehand.integrations.mcp.schemas import declared_schema, is_plain
from surehand.spec.json_checker import Checker
from surehand.spec.json_schema import JsonSchema

PLAIN: dict[str, Any] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"path": {"type": "string"}, "limit": {"type": "integer", "minimum": 1, "default": 10}},
    "required": ["path"],
}
DEEP = json.loads('{"items": ' * 480 + "{}" + "}" * 480)


def read(schema: Any) -> Any:
    return declared_schema(schema, json.dumps(schema), tool="find")


def checkers() -> int:
    gc.collect()
    return sum(isinstance(found, Checker) for found in gc.get_objects())


def test_of_thousands_of_tools_only_those_that_are_called_are_built() -> None:
    async def run(name: str, arguments: dict[str, Any], context: Any) -> str:
        return f"{name} {arguments}"

    box = Toolbox(Choice(server="large"), run)
    before = checkers()
    node = ToolNode(box.tools([{"name": f"find_{number}", "inputSchema": PLAIN} for number in range(2_000)]))
    assert checkers() == before

    call = {"id": "1", "name": "find_7", "args": {"path": "/a"}}
    answers: list[ToolMessage] = node.invoke([AIMessage(tool_calls=[call])])
    assert answers[0].text == "find_7 {'path': '/a', 'limit': 10}"
    assert checkers() == before + 1


def test_nearly_all_schemas_of_real_servers_are_plain_and_every_plain_one_can_be_built() -> None:
    plain = [schema for _, schema in mcp_tools() if is_plain(schema, json.dumps(schema))]
    assert len(plain) > 0.9 * len(list(mcp_tools()))
    for schema in plain:
        JsonSchema(schema, tool="find")


names = st.sampled_from(["a", "b", "type", "pattern", "$ref", "properties", "default", "nullable", "é", ""])
numbers = st.integers() | st.floats() | st.sampled_from([0, 1, 10**400, -1])
types = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null", "any", "Object"])
leaves = st.fixed_dictionaries(
    {},
    optional={
        "type": types | st.lists(types, max_size=3),
        "minimum": numbers,
        "maxLength": numbers,
        "enum": st.lists(st.text(max_size=3) | numbers | st.none(), max_size=3),
        "const": st.none() | st.text(max_size=3) | numbers,
        "default": st.none() | numbers,
        "format": st.sampled_from(["date", "regex", "nothing"]),
        "nullable": st.booleans() | st.none(),
        "$ref": st.sampled_from(["#", "#/properties/a", "other.json"]),
        "pattern": st.sampled_from(["a+", "(", "(?<!a)b"]),
        "$schema": st.sampled_from(["http://json-schema.org/draft-04/schema#", "http://example.org/none", "", "#"]),
        "id": st.sampled_from(["#a", "http://example.org/"]),
    },
)


def holders(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {},
        optional={
            "type": types,
            "properties": st.dictionaries(names, inner, max_size=3),
            "items": inner | st.lists(inner, max_size=2),
            "prefixItems": st.lists(inner, max_size=2),
            "additionalProperties": inner | st.booleans(),
            "anyOf": st.lists(inner, max_size=2),
            "if": inner,
            "dependencies": st.dictionaries(names, inner | st.lists(names, max_size=2), max_size=2),
            "required": st.lists(names, max_size=2),
            "$defs": st.dictionaries(names, inner, max_size=1),
            "$schema": st.sampled_from(["https://json-schema.org/draft/2020-12/schema", "https://example.org/none", 7]),
        },
    )


schemas = st.recursive(leaves, holders, max_leaves=8)


@given(schemas)
def test_what_is_plain_can_be_built(schema: dict[str, Any]) -> None:
    if is_plain(schema, json.dumps(schema)):
        JsonSchema(schema, tool="find")


def test_what_is_built_later_is_the_same() -> None:
    later, now = read(PLAIN), JsonSchema(PLAIN, tool="find")
    assert not isinstance(later, JsonSchema)
    assert later.json_schema == now.json_schema
    assert list(later.json_schema["properties"]) == ["path", "limit"]
    assert (later.names, later.required, later.extras) == (now.names, now.required, now.extras)
    assert (later.is_exact, later.model, later.other_direction) == (now.is_exact, now.model, now.other_direction)
    assert later.directions.keys() == now.directions.keys()
    assert later.validate({"path": "a"}) == now.validate({"path": "a"})
    assert later.dump_json({"path": "a"}) == now.dump_json({"path": "a"})
    assert copy.copy(later).json_schema == now.json_schema
    with pytest.raises(AttributeError):
        later.no_such_thing  # noqa: B018


def test_a_reader_that_changes_what_it_was_shown_changes_nothing_else() -> None:
    schema = read(PLAIN)
    schema.json_schema["properties"].clear()
    assert "path" in PLAIN["properties"]
    assert schema.names == {"path": "path", "limit": "limit"}


@pytest.mark.parametrize(
    "schema",
    [
        None,
        "object",
        [],
        {"type": "array"},
        {"properties": 7},
        {"properties": {"a": {"type": "strnig"}}},
        {"properties": {"a": {"$ref": "#/$defs/a"}}},
        {"properties": {"a": {"$ref": "http://127.0.0.1:1/a"}}},
        {"$ref": "#"},
        {"properties": {"a": {"pattern": "("}}},
        {"patternProperties": {"(": {}}},
        {"$schema": "http://example.org/none"},
        {"properties": {"a": DEEP}},
    ],
)
def test_what_cannot_be_used_is_refused_when_it_is_declared(schema: Any) -> None:
    with pytest.raises(ToolDefinitionError):
        read(schema)
