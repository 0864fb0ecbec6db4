"""What is made to fit a JSON Schema, wherever in it the type was said."""

from __future__ import annotations

import enum
from typing import Any

import jsonschema
import pytest

from support.arguments import complaints, valid, values
from surehand.grammar import ExactFloat

Schema = dict[str, Any]

KIND_DECIDES: Schema = {
    "if": {"properties": {"kind": {"const": "number"}}},
    "then": {"properties": {"x": {"type": "integer"}}},
    "else": {"properties": {"x": {"type": "string"}}},
}
TAGGED: Schema = {
    "oneOf": [
        {"type": "object", "properties": {"kind": {"const": "a"}, "n": {"type": "integer"}}, "required": ["kind"]},
        {"type": "object", "properties": {"kind": {"const": "b"}, "n": {"type": "string"}}, "required": ["kind"]},
    ]
}
NODE: Schema = {"type": "object", "properties": {"n": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}}}


def schema(properties: Schema, **keywords: Any) -> Schema:
    return {"type": "object", "properties": properties, **keywords}


COERCED: list[tuple[Schema, Any, Any]] = [
    (schema({"x": {"type": "integer"}}), {"x": "5"}, {"x": 5}),
    (schema({"x": {"type": "integer"}}), {"x": 20.0}, {"x": 20}),
    (schema({"x": {"type": ["integer", "null"]}}), {"x": "5"}, {"x": 5}),
    (schema({"x": {"type": ["integer", "string"]}}), {"x": "5"}, {"x": "5"}),
    (schema({"x": {"type": "string"}}), {"x": '{"a": 1}'}, {"x": '{"a": 1}'}),
    (schema({"x": {"type": "array"}}), {"x": "[1, '2']"}, {"x": [1, "2"]}),
    (schema({"x": {"type": "integer"}, "y": {"type": "integer"}}, required=["y"]), {"x": None, "y": 1}, {"y": 1}),
    (schema({"x": {"enum": ["In Progress", "done"]}}), {"x": "in_progress"}, {"x": "In Progress"}),
    (schema({"x": {"$ref": "#/$defs/n"}}, **{"$defs": {"n": {"type": "integer"}}}), {"x": "5"}, {"x": 5}),
    (schema({"x": {"$ref": "#n"}}, **{"$defs": {"n": {"$anchor": "n", "type": "integer"}}}), {"x": "5"}, {"x": 5}),
    (
        schema({"x": {"$dynamicRef": "#n"}}, **{"$defs": {"n": {"$dynamicAnchor": "n", "type": "integer"}}}),
        {"x": "5"},
        {"x": 5},
    ),
    (
        schema({"x": {"$ref": "urn:a:b"}}, **{"$defs": {"n": {"$id": "urn:a:b", "type": "integer"}}}),
        {"x": "5"},
        {"x": 5},
    ),
    (schema({"x": NODE}, **{"$defs": {"node": NODE}}), {"x": '{"next": {"n": "1"}}'}, {"x": {"next": {"n": 1}}}),
    (schema({"x": {"allOf": [{"type": "integer"}, {"minimum": 3}]}}), {"x": "5"}, {"x": 5}),
    (schema({"x": {"anyOf": [{"type": "integer"}, {"type": "array"}]}}), {"x": "[1]"}, {"x": [1]}),
    (schema({"x": TAGGED}), {"x": {"kind": "a", "n": "7"}}, {"x": {"kind": "a", "n": 7}}),
    (schema({"x": TAGGED}), {"x": {"kind": "b", "n": "7"}}, {"x": {"kind": "b", "n": "7"}}),
    (schema({"kind": {}, "x": {}}, **KIND_DECIDES), {"kind": "number", "x": "5"}, {"kind": "number", "x": 5}),
    (schema({"kind": {}, "x": {}}, **KIND_DECIDES), {"kind": "text", "x": "5"}, {"kind": "text", "x": "5"}),
    (
        schema({"a": {}, "x": {}}, dependentSchemas={"a": {"properties": {"x": {"type": "boolean"}}}}),
        {"a": 1, "x": "true"},
        {"a": 1, "x": True},
    ),
    (
        schema({"x": {"prefixItems": [{"type": "integer"}, {"type": "boolean"}], "items": {"type": "number"}}}),
        {"x": ["1", "true", "2.5"]},
        {"x": [1, True, 2.5]},
    ),
    (
        schema({"x": {"prefixItems": [{"type": "integer"}], "unevaluatedItems": {"type": "number"}}}),
        {"x": ["1", "2.5"]},
        {"x": [1, 2.5]},
    ),
    (
        schema({"x": schema({"a": {}}, unevaluatedProperties={"type": "integer"})}),
        {"x": {"a": "1", "b": "2"}},
        {"x": {"a": "1", "b": 2}},
    ),
    (
        schema({}, patternProperties={"^n_": {"type": "integer"}, "^o_": schema({"z": {"type": "boolean"}})}),
        {"n_a": "5", "o_b": '{"z": "true"}'},
        {"n_a": 5, "o_b": {"z": True}},
    ),
    (schema({}, additionalProperties={"type": "integer"}), {"a": "5"}, {"a": 5}),
]


@pytest.mark.parametrize(("written", "given", "wanted"), COERCED)
def test_a_value_is_made_to_fit_without_a_loss(written: Schema, given: Any, wanted: Any) -> None:
    found = valid(written, given)

    assert repr(found.values) == repr(wanted)
    assert bool(found.repairs) is (given != wanted or repr(given) != repr(wanted))
    oracle: Any = jsonschema.Draft202012Validator(written)
    oracle.validate(found.values)


def test_draft_7_names_the_items_of_a_tuple_in_its_own_way() -> None:
    items = {"type": "array", "items": [{"type": "integer"}], "additionalItems": {"type": "boolean"}}
    written = schema({"x": items}, **{"$schema": "http://json-schema.org/draft-07/schema#"})

    assert values(written, {"x": ["1", "true"]}) == {"x": [1, True]}


@pytest.mark.parametrize("given", ["abc", 1.5, True, [], None])
def test_what_would_be_lost_is_not_coerced(given: Any) -> None:
    assert complaints(schema({"x": {"type": "integer"}}, required=["x"]), {"x": given})


def test_a_destructive_tool_gets_no_guessed_value() -> None:
    written = schema({"x": {"patternProperties": {"^a": {"enum": ["Yes"]}}}})

    assert values(written, {"x": {"ab": "yes"}}) == {"x": {"ab": "Yes"}}
    assert complaints(written, {"x": {"ab": "yes"}}, strict=True) == [
        "$.x.ab: expected one of 'Yes', got the text 'yes'"
    ]


@pytest.mark.parametrize(
    ("part", "given", "wanted"),
    [
        ({"type": "integer", "nullable": True}, None, None),
        ({"enum": ["A b"], "nullable": True}, "a_b", "A b"),
        ({"enum": ["A b"], "nullable": True}, None, None),
        ({"type": ["integer"], "nullable": True}, "5", 5),
        ({"$ref": "#/$defs/n", "nullable": True}, None, None),
        ({"allOf": [{"$ref": "#/$defs/n"}], "nullable": True}, "5", 5),
    ],
)
def test_nullable_of_openapi_is_a_type_like_any_other(part: Schema, given: Any, wanted: Any) -> None:
    assert values(schema({"x": part}, **{"$defs": {"n": {"type": "integer"}}}), {"x": given}) == {"x": wanted}


def test_only_the_word_true_makes_a_value_nullable() -> None:
    assert complaints(schema({"x": {"type": "integer", "nullable": False}}, required=["x"]), {"x": None})


FILTER = schema(
    {"op": {"enum": ["equals", "above"]}},
    required=["op"],
    **{
        "if": {"properties": {"op": {"const": "above"}}},
        "then": {"properties": {"value": {"type": "integer"}}},
        "else": {"properties": {"value": {"type": ["string", "boolean", "null"]}}},
    },
)


@pytest.mark.parametrize("value", [None, True, "5"])
def test_what_the_schema_takes_as_it_is_is_neither_changed_nor_refused(value: Any) -> None:
    """Whatever its other alternatives would ask for."""
    found = valid(schema({"x": FILTER}), {"x": {"op": "equals", "value": value}})
    assert found.values == {"x": {"op": "equals", "value": value}}
    assert not found.repairs


def test_a_null_that_was_meant_is_kept_beside_one_that_means_nothing() -> None:
    given = {"x": {"op": "equals", "value": None}, "n": None}
    found = valid(schema({"x": FILTER, "n": {"type": "integer"}}), given)
    assert found.values == {"x": {"op": "equals", "value": None}}
    assert found.repairs == ("left out the null at $.n, which is optional",)


def test_a_null_is_left_out_of_an_object_that_was_text() -> None:
    part = schema({"n": {"type": "integer"}, "s": {"type": "string"}})
    assert values(schema({"x": part}), {"x": '{"n": null, "s": "a"}'}) == {"x": {"s": "a"}}


def test_an_alternative_that_takes_anything_leaves_text_alone() -> None:
    found = valid(schema({"x": schema({"a": {"oneOf": [True, {"type": "integer"}]}})}), {"x": {"a": "5"}})
    assert (found.values, found.repairs) == ({"x": {"a": "5"}}, ())


class Word(str):
    __slots__ = ()


class Level(enum.IntEnum):
    LOW = 1


@pytest.mark.parametrize(
    ("part", "given", "wanted"),
    [
        ({"type": "number"}, ExactFloat("3.14159265358979323846"), 3.141592653589793),
        ({"type": "number"}, "3.14159265358979323846", 3.141592653589793),
        ({"type": "array", "items": {"type": "number"}}, [ExactFloat("1e-400")], [0.0]),
        ({"type": "string"}, Word("a"), "a"),
        ({"type": "integer"}, Level.LOW, 1),
        ({"type": "object", "required": ["a"]}, {Word("a"): 1}, {"a": 1}),
    ],
)
def test_numbers_and_texts_of_their_own_kinds_are_checked_like_any(part: Schema, given: Any, wanted: Any) -> None:
    assert values(schema({"x": part}), {"x": given}) == {"x": wanted}


def test_a_number_of_many_digits_is_told_of_as_a_number() -> None:
    refused = complaints(schema({"x": {"type": "string"}}), {"x": ExactFloat("3.14159265358979323846")})
    assert refused == ["$.x: expected a string, got the number 3.141592653589793"]


@pytest.mark.parametrize(
    "others", [{"additionalProperties": {"type": "string"}}, {"patternProperties": {"^[A-Z]": {}}}]
)
def test_a_key_of_an_object_that_takes_other_keys_is_taken_for_a_known_one_only_if_that_is_required(
    others: Schema,
) -> None:
    part = schema({"tag": {"type": "string"}, "id": {"type": "string"}}, required=["id"], **others)
    assert values(schema({"x": part}), {"x": {"Tag": "a", "ID": "b"}}) == {"x": {"Tag": "a", "id": "b"}}
