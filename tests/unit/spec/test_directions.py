from __future__ import annotations

from typing import Any

import pytest

from surehand.spec import read_directions

TYPES: list[tuple[Any, set[str]]] = [
    ({"const": None}, {"null"}),
    ({"enum": [True, 1, 1.5, "a", [], {}]}, {"boolean", "integer", "number", "string", "array", "object"}),
    ({"properties": {}}, {"object"}),
    ({"type": ["integer", "string"]}, {"integer", "string"}),
    ({"allOf": [{"type": ["integer", "string"]}, {"type": "integer"}]}, {"integer"}),
]


def directed(schema: Any, **keywords: Any) -> Any:
    return read_directions({"type": "object", "properties": {"x": schema}, **keywords}).properties["x"]


def test_a_recursive_reference_leads_back_to_itself() -> None:
    tree = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Tree"}}}
    found = directed({"$ref": "#/$defs/Tree"}, **{"$defs": {"Tree": tree}})

    assert found.child("next") is found
    assert not found.hides_secret()


def test_what_stands_behind_a_nullable_recursive_reference_is_known() -> None:
    secret = {"type": "string", "writeOnly": True}
    node = {
        "type": "object",
        "properties": {
            "n": {"type": "integer"},
            "s": secret,
            "next": {"anyOf": [{"$ref": "#/$defs/N"}, {"type": "null"}]},
        },
    }
    found = directed({"$ref": "#/$defs/N"}, **{"$defs": {"N": node}}).child("next")

    assert found.types == {"object", "null"}
    assert found.child("n").types == {"integer"}
    assert found.child("next").child("next").child("s").hides_secret()


def test_a_recursive_reference_may_have_neighbours() -> None:
    root = read_directions(
        {"type": "object", "properties": {"next": {"$ref": "#", "minProperties": 0}, "n": {"const": 1}}}
    )

    assert root.properties["next"].child("next") is not None
    assert root.required == frozenset()


def test_a_reference_to_itself_says_nothing() -> None:
    assert directed({"$ref": "#/$defs/A"}, **{"$defs": {"A": {"$ref": "#/$defs/A"}}}).types == frozenset()


def test_nullable_is_no_union() -> None:
    found = directed({"anyOf": [{"type": "integer"}, {"type": "null"}]})

    assert (found.types, found.branches, found.is_nullable) == ({"integer", "null"}, (), True)


def test_alternatives_of_an_object_only_add_keys() -> None:
    root = read_directions(
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}},
            "oneOf": [{"properties": {"b": {"type": "string"}}, "required": ["b"]}, {"required": ["a"]}],
            "if": {"properties": {"c": {}}},
            "dependentSchemas": {"a": {"properties": {"d": {}}}},
        }
    )

    assert list(root.names) == ["a", "b", "c", "d"]
    assert root.required == frozenset()


def test_alternatives_of_the_whole_add_their_keys() -> None:
    forms: list[Any] = [{"type": "object", "properties": {name: {}}, "required": [name]} for name in ("a", "b")]

    assert list(read_directions({"anyOf": forms}).names) == ["a", "b"]


@pytest.mark.parametrize(("schema", "types"), TYPES)
def test_types_are_read_or_inferred(schema: Any, types: set[str]) -> None:
    assert directed(schema).types == types


@pytest.mark.parametrize("schema", [{}, True, {"description": "x"}])
def test_a_schema_without_types_takes_everything(schema: Any) -> None:
    assert directed(schema).quiet is None


def test_a_secret_is_found_at_any_depth() -> None:
    secret = {"type": "string", "writeOnly": True}
    below = {
        "type": "array",
        "items": {"anyOf": [{"type": "integer"}, {"type": "object", "properties": {"p": secret}}]},
    }

    assert directed(below).hides_secret()
    assert not directed({"type": "array"}).hides_secret()
