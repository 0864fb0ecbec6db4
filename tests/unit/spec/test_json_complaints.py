"""What a model is told about arguments that break a JSON Schema."""

from __future__ import annotations

from typing import Any

import pytest

from support.arguments import complaints, refused, values

Schema = dict[str, Any]


def schema(properties: Schema, **keywords: Any) -> Schema:
    return {"type": "object", "properties": properties, **keywords}


def form(tag: Schema, **properties: Any) -> Schema:
    return schema({"kind": tag, **properties}, required=["kind", *properties])


BY_CONST = {"oneOf": [form({"const": "a"}, n={"type": "integer"}), form({"const": "b"}, m={"type": "integer"})]}
BY_ENUM = {"anyOf": [form({"enum": ["a", "c"]}, n={"type": "integer"}), form({"enum": ["b"]}, m={"minimum": 3})]}
BY_KEYS = {
    "oneOf": [
        schema({"path": {"type": "string"}}, required=["path"], additionalProperties=False),
        schema({"url": {"type": "string"}}, required=["url"], additionalProperties=False),
    ]
}
TOLD: list[tuple[Schema, Any, list[str]]] = [
    ({"type": "string", "format": "date"}, "2024", ["$.x: expected a date such as '2024-05-31', got the text '2024'"]),
    (
        {"type": "string", "format": "date"},
        "2024-02-30",
        ["$.x: expected a date such as '2024-05-31', got the text '2024-02-30', there is no such day"],
    ),
    (BY_CONST, {"kind": "b"}, ["$.x.m: missing, expected an integer"]),
    (BY_CONST, {"kind": "a", "n": "x"}, ["$.x.n: expected an integer, got the text 'x'"]),
    (BY_CONST, {"kind": "d", "n": 1}, ["$.x.kind: expected one of 'a', 'b', got the text 'd'"]),
    (BY_ENUM, {"kind": "b", "m": 1}, ["$.x.m: must be at least 3, got the number 1"]),
    (BY_ENUM, {"kind": "d", "n": 1}, ["$.x.kind: expected one of 'a', 'c', 'b', got the text 'd'"]),
    (BY_KEYS, {"url": 3}, ["$.x.url: expected a string, got the number 3"]),
    ({"anyOf": [{"enum": ["a"]}, {"type": "null"}]}, "b", ["$.x: expected one of 'a', got the text 'b'"]),
    ({"anyOf": [{"const": "a"}, {"type": "integer"}]}, "b", ["$.x: expected an integer or 'a', got the text 'b'"]),
    ({"type": "string", "enum": ["a", "b"]}, {}, ["$.x: expected one of 'a', 'b', got an empty object"]),
    (
        {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]},
        1,
        ["$.x: expected null or 'a', got the number 1"],
    ),
    ({"oneOf": [{"const": "a"}, {"const": "b"}]}, "c", ["$.x: expected one of 'a', 'b', got the text 'c'"]),
    ({"anyOf": [{"minLength": 3}, {"pattern": "^a"}]}, "b", ["$.x: fits none of the allowed forms: "]),
    ({"propertyNames": {"enum": ["a"]}}, {"b": 1}, ["$.x.b: has a name that is not one of 'a'"]),
    ({"propertyNames": {"maxLength": 1}}, {"bc": 1}, ["$.x.bc: has a name that must have at most 1 character"]),
    ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, ["$.x.b: missing"]),
    ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, {"a": 1}, ["$.x.b: missing"]),
    ({"prefixItems": [{}], "items": False}, [1, 2], ["$.x[1]: is not allowed here, got the number 2"]),
    ({"prefixItems": [{}], "unevaluatedItems": False}, [1, 2], ["$.x[1]: is not allowed here, got the number 2"]),
    (
        {"prefixItems": [{}], "unevaluatedItems": {"type": "integer"}},
        ["a", "b"],
        ["$.x[1]: expected an integer, got the text 'b'"],
    ),
    (schema({"a": {}}, unevaluatedProperties=False), {"a": 1, "b": 2}, ["$.x.b: unknown argument"]),
    (
        schema({"a": {}}, unevaluatedProperties={"type": "object", "properties": {"c": {"minimum": 3}}}),
        {"b": {"c": 1}},
        ["$.x.b.c: must be at least 3, got the number 1"],
    ),
    (
        schema({"city": {}}, additionalProperties=False),
        {"citty": 1},
        ["$.x.citty: unknown argument (did you mean city?)"],
    ),
    ({"minContains": 2, "contains": {"const": 1}}, [1], ["$.x: does not hold the items that are asked for"]),
    ({"uniqueItems": True}, [1, 1.0], ["$.x: must not have equal items"]),
]


@pytest.mark.parametrize(("part", "given", "told"), TOLD)
def test_the_rule_that_was_meant_is_told_at_its_place(part: Schema, given: Any, told: list[str]) -> None:
    found = complaints(schema({"x": part}), {"x": given})

    assert len(found) == len(told)
    assert all(text.startswith(start) for text, start in zip(found, told, strict=True)), found


def test_everything_is_told_at_once() -> None:
    written = schema({"a": {"type": "integer"}, "b": BY_CONST, "c": {"maximum": 3}}, required=["d"])

    assert complaints(written, {"a": "x", "b": {"kind": "a"}, "c": 4}) == [
        "$.d: missing",
        "$.a: expected an integer, got the text 'x'",
        "$.b.n: missing, expected an integer",
        "$.c: must be at most 3, got the number 4",
    ]


def test_a_value_like_one_of_very_many_is_told_that_one() -> None:
    written = schema({"x": {"enum": [f"country_{index}" for index in range(100)]}})

    assert complaints(written, {"x": "county_77"})[0].endswith("got the text 'county_77' (did you mean 'country_77'?)")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (float("nan"), "$.x: expected a finite number, got the number nan"),
        ([float("inf")], "$.x[0]: expected a finite number"),
        ({"a": {1, 2}}, "$.x.a: expected a value that JSON can carry"),
        ({1: 2}, "$.x: expected names that are text"),
        ("\ud800", "$.x: expected a string of valid characters"),
        ({"\ud800": 1}, "$.x: expected names of valid characters"),
        pytest.param(10**5000, "$.x: expected an integer of fewer digits", id="digits"),
    ],
)
def test_what_is_no_json_is_refused_with_its_place(value: Any, told: str) -> None:
    assert complaints(schema({"x": {}}), {"x": value})[0].startswith(told)


@pytest.mark.parametrize("value", [10**400, -(2**63) - 1, 19.99, 1.0, 0.1 + 0.2])
def test_numbers_keep_every_digit(value: float) -> None:
    assert repr(values(schema({"x": {"type": "number"}}), {"x": value})["x"]) == repr(value)


@pytest.mark.parametrize(
    ("part", "value"),
    [({"maximum": 10**30}, 10**30 + 1), ({"const": 2**53 + 1}, 2**53), ({"multipleOf": 0.01}, 0.295)],
)
def test_numbers_that_are_nearly_right_are_wrong(part: Schema, value: float) -> None:
    assert complaints(schema({"x": part}), {"x": value})


def test_secrets_stay_hidden_wherever_they_are_declared() -> None:
    secret = {"type": "string", "writeOnly": True, "minLength": 9}
    written = schema(
        {
            "a": schema({}, unevaluatedProperties=secret),
            "b": schema({}, additionalProperties=secret),
            "c": {"anyOf": [secret, {"type": "integer"}]},
        }
    )
    told = refused(written, {"a": {"k": "hunter2"}, "b": {"k": "hunter2"}, "c": "hunter2"})

    assert len(told.complaints) == 3
    assert "hunter2" not in told.for_model()


@pytest.mark.parametrize("item", ["é", {"b": "é", "a": 1}, 1e20, [-0.0]])
def test_items_that_nothing_speaks_of_are_found_whatever_they_are(item: Any) -> None:
    told = complaints(schema({"x": {"prefixItems": [{}], "unevaluatedItems": False}}), {"x": [0, item]})
    assert [text.split(",")[0] for text in told] == ["$.x[1]: is not allowed here"]


@pytest.mark.parametrize("mark", [{"writeOnly": True}, {"format": "password"}])
def test_a_secret_of_any_type_stays_hidden(mark: Schema) -> None:
    written = schema({"x": {"type": "string", **mark}})

    assert complaints(written, {"x": 4711}) == ["$.x: expected a string, got a number"]


def test_text_that_stands_for_a_value_is_told_with_what_is_wrong_with_that() -> None:
    written = schema({"x": {"type": "integer", "minimum": 1}})

    assert complaints(written, {"x": "0"}) == [
        "$.x: expected an integer, got the text '0'",
        "$.x: must be at least 1, got the number 0",
    ]
