from __future__ import annotations

from typing import Any

import pytest

from surehand.arguments.coercion import Coercion
from surehand.spec import read_directions

CAT = {"type": "object", "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}}, "required": ["kind"]}
DOG = {"type": "object", "properties": {"kind": {"const": "dog"}, "age": {"type": "number"}}, "required": ["kind"]}


def coerced(schema: Any, value: Any, *, is_strict: bool = False) -> Any:
    root = read_directions({"type": "object", "properties": {"x": schema}})
    return Coercion(is_strict=is_strict).arguments({"x": value}, root.properties, None)["x"]


@pytest.mark.parametrize(
    ("schema", "value", "wanted"),
    [
        ({"type": "integer"}, " 5 ", 5),
        ({"type": "integer"}, "5.0", 5),
        ({"type": "number"}, "5.5", 5.5),
        ({"type": "number"}, "+5", 5),
        ({"type": "boolean"}, "TRUE", True),
        ({"type": "boolean"}, "0", False),
        ({"type": "boolean"}, 1, True),
        ({"type": ["integer", "null"]}, "5", 5),
        ({"type": "array"}, "(1, 2)", [1, 2]),
        ({"type": "array", "items": {"type": "integer"}}, ["1", "2"], [1, 2]),
        ({"type": "array", "prefixItems": [{"type": "integer"}, {}]}, ["1", "2"], [1, "2"]),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, '{"a": "1"}', {"a": 1}),
        ({"anyOf": [{"type": "array"}, {"type": "object"}]}, "[1]", [1]),
        ({"oneOf": [CAT, DOG]}, {"kind": "cat", "lives": "9"}, {"kind": "cat", "lives": 9}),
        ({"oneOf": [CAT, DOG]}, '{"kind": "dog", "age": "1.5"}', {"kind": "dog", "age": 1.5}),
        ({"enum": [1, 2]}, "2", 2),
        ({"enum": ["Foo-Bar", "x"]}, "foo bar", "Foo-Bar"),
        ({"allOf": [{"type": "integer"}, {"minimum": 1}]}, "5", 5),
    ],
)
def test_values_are_made_to_fit(schema: Any, value: Any, wanted: Any) -> None:
    assert coerced(schema, value) == wanted


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, "5.5"),
        ({"type": "integer"}, "5e"),
        ({"type": "integer"}, "3.00000000000000000001"),
        ({"type": "number"}, "true"),
        ({"type": "boolean"}, "yes"),
        ({"type": "boolean"}, 2),
        ({"type": "null"}, "null"),
        ({"type": "string"}, "[1]"),
        ({"type": "string"}, 5),
        ({"type": ["string", "array"]}, "[1]"),
        ({"anyOf": [{"type": "string"}, {"type": "object"}]}, "{}"),
        ({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "array"}]}, "[1]"),
        ({"oneOf": [CAT, DOG]}, '{"kind": "bird"}'),
        ({"type": "array"}, "1"),
        ({"type": "array"}, "[1"),
        ({"enum": ["Yes", "YES"]}, "yes"),
        ({"enum": [None, "a"]}, "null"),
        ({}, "[1]"),
        (True, "[1]"),
    ],
)
def test_everything_else_stays_as_it_is(schema: Any, value: Any) -> None:
    assert coerced(schema, value) is value


def test_nothing_is_guessed_where_it_must_not_be() -> None:
    assert coerced({"enum": ["a_b"]}, "A B", is_strict=True) == "A B"
    assert coerced({"type": "integer"}, "5", is_strict=True) == 5
