from __future__ import annotations

import sys
from typing import Annotated, Any

import pytest

from support.arguments import complaints, refused, valid, values
from surehand.errors import MissingExtraError, ToolDefinitionError
from surehand.spec import InjectedToolCallId, schema_of, spec_from_function


def schema(properties: dict[str, Any], **keywords: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **keywords}


def test_the_model_sees_the_schema_as_it_was_written() -> None:
    written = schema({"title": {"type": "string", "title": "T"}}, title="Args", additionalProperties=False)

    assert schema_of(written).json_schema == written


def test_changing_the_schema_afterwards_changes_nothing() -> None:
    written = schema({"n": {"type": "integer"}})
    made = schema_of(written)
    written["properties"]["n"]["type"] = "string"

    assert made.json_schema["properties"]["n"] == {"type": "integer"}


@pytest.mark.parametrize(
    ("part", "given", "told"),
    [
        ({"type": "integer"}, "x", "expected an integer, got the text 'x'"),
        ({"type": ["integer", "null"]}, "x", "expected an integer or null, got the text 'x'"),
        ({"enum": ["a", "b", None]}, "c", "expected one of 'a', 'b', null, got the text 'c'"),
        ({"const": "a"}, "c", "expected 'a', got the text 'c'"),
        ({"minimum": 1}, 0, "must be at least 1, got the number 0"),
        ({"maximum": 1}, 2.5, "must be at most 1, got the number 2.5"),
        ({"exclusiveMinimum": 1}, 1, "must be greater than 1, got the number 1"),
        ({"exclusiveMaximum": 1}, 1, "must be less than 1, got the number 1"),
        ({"multipleOf": 2}, 3, "must be a multiple of 2, got the number 3"),
        ({"minLength": 1}, "", "must have at least 1 character, got the text ''"),
        ({"maxLength": 2}, "abc", "must have at most 2 characters, got the text 'abc'"),
        ({"pattern": "^a"}, "b", "must match the pattern '^a', got the text 'b'"),
        ({"minItems": 2}, [1], "must have at least 2 items, got an array of 1 item"),
        ({"maxItems": 1}, [1, 2], "must have at most 1 item, got an array of 2 items"),
        ({"uniqueItems": True}, [1, 1], "must not have equal items, got an array of 2 items"),
        ({"format": "date"}, "soon", "expected a date such as '2024-05-31', got the text 'soon'"),
        (
            {"format": "date-time"},
            "soon",
            "expected a date and time such as '2024-05-31T09:30:00Z', got the text 'soon'",
        ),
        ({"not": {"type": "string"}}, "a", "has a form that is not allowed here, got the text 'a'"),
        (
            {"anyOf": [{"type": "integer"}, {"type": "array"}]},
            "x",
            "expected an integer or an array, got the text 'x'",
        ),
        ({"oneOf": [{"type": "integer"}, {"minimum": 1}]}, 3, "fits more than one of the allowed forms"),
        ({"contains": {"const": 1}}, [2], "does not hold the items that are asked for, got an array of 1 item"),
        (False, 1, "is not allowed here, got the number 1"),
    ],
)
def test_every_keyword_is_told_in_words(part: Any, given: Any, told: str) -> None:
    assert told in complaints(schema({"x": part}), {"x": given})[0]


@pytest.mark.parametrize(
    "text", ["2024-05-31T09:30:00Z", "2024-05-31T09:30:00+02:00", "2024-05-31T09:30:00", "2024-05-31T09:30:00.123Z"]
)
def test_dates_and_times_are_accepted_with_and_without_a_zone(text: str) -> None:
    assert values(schema({"x": {"type": "string", "format": "date-time"}}), {"x": text}) == {"x": text}


@pytest.mark.parametrize(("unit", "number"), [(0.01, 19.99), (0.1, 0.3), (0.01, 10**400), (3, 9.0), (1e-300, 1e300)])
def test_the_digits_of_a_number_decide_what_it_is_a_multiple_of(unit: float, number: float) -> None:
    assert values(schema({"x": {"multipleOf": unit}}), {"x": number}) == {"x": number}


def test_what_is_no_multiple_of_a_decimal_fraction_is_refused() -> None:
    assert complaints(schema({"x": {"multipleOf": 0.01}}), {"x": 0.295}) == [
        "$.x: must be a multiple of 0.01, got the number 0.295"
    ]


def test_problems_below_the_meant_alternative_are_told() -> None:
    forms = [schema({"n": {"type": "integer"}}, required=["n"]), {"type": "array"}]

    assert complaints(schema({"x": {"anyOf": forms}}), {"x": {"n": "a"}}) == [
        "$.x.n: expected an integer, got the text 'a'"
    ]


def test_a_wrong_tag_of_a_union_is_told_with_the_allowed_ones() -> None:
    forms = [schema({"kind": {"const": name}}, required=["kind"]) for name in ("cat", "dog")]

    assert complaints(schema({"x": {"oneOf": forms}}), {"x": {"kind": "bird"}}) == [
        "$.x.kind: expected one of 'cat', 'dog', got the text 'bird'"
    ]


def test_alternatives_that_are_alike_are_all_told() -> None:
    forms = [schema({}, required=[name]) for name in ("a", "b", "c", "d")]
    told = complaints(schema({"x": {"anyOf": forms}}), {"x": {}})

    assert told == [
        "$.x: fits none of the allowed forms: a: missing | b: missing | c: missing (and 1 more)",
    ]


def test_missing_and_unknown_keys_are_told_one_by_one() -> None:
    inner = schema({"a": {"type": "integer"}, "b": {"enum": [1]}}, required=["a", "b"], additionalProperties=False)

    assert complaints(schema({"x": inner}), {"x": {"d": 1, "e": 2}}) == [
        "$.x.a: missing, expected an integer",
        "$.x.b: missing, expected one of 1",
        "$.x.d: unknown argument",
        "$.x.e: unknown argument",
    ]


def test_usable_defaults_are_filled() -> None:
    written = schema({"a": {"type": "integer", "default": 1}, "b": {"type": "string", "default": None}, "c": {}})

    assert values(written, {}) == {"a": 1}


def test_a_default_is_fresh_in_every_call() -> None:
    made = schema_of(schema({"a": {"type": "array", "default": []}}))
    first = valid(made, {}).values["a"]

    assert first is not valid(made, {}).values["a"]


def test_a_schema_without_properties_takes_anything() -> None:
    assert values({"type": "object"}, {"a": [1]}) == {"a": [1]}


def test_a_schema_with_no_properties_takes_nothing() -> None:
    found = valid(schema({}), {"a": 1})

    assert (found.values, found.repairs) == ({}, ("dropped unknown argument 'a'",))


@pytest.mark.parametrize("other", [True, {"type": "integer"}])
def test_additional_properties_are_taken_where_they_are_declared(other: Any) -> None:
    assert values(schema({"a": {}}, additionalProperties=other), {"b": 1}) == {"b": 1}


def test_additional_properties_are_coerced_as_they_are_declared() -> None:
    assert values(schema({}, additionalProperties={"type": "integer"}), {"b": "1"}) == {"b": 1}


def test_keys_that_match_a_pattern_are_taken() -> None:
    written = schema({}, patternProperties={"^x-": {"type": "integer"}}, additionalProperties=False)

    assert values(written, {"x-a": 1}) == {"x-a": 1}
    assert complaints(written, {"y": 1}) == ["$.y: unknown argument"]


def test_unknown_keys_of_nested_objects_are_kept() -> None:
    assert values(schema({"x": schema({"a": {}})}), {"x": {"a": 1, "b": 2}}) == {"x": {"a": 1, "b": 2}}


def test_local_references_are_followed() -> None:
    written = schema({"tree": {"$ref": "#/$defs/Tree"}})
    written["$defs"] = {
        "Tree": schema({"n": {"type": "integer"}, "next": {"$ref": "#/$defs/Tree"}}, required=["n"]),
    }

    assert values(written, {"tree": '{"n": "1", "next": {"n": 2.0}}'}) == {"tree": {"n": 1, "next": {"n": 2}}}
    assert complaints(written, {"tree": {"n": 1, "next": {}}}) == ["$.tree.next.n: missing, expected an integer"]


@pytest.mark.parametrize("reference", ["#/$defs/Nowhere", "https://example.com/schema.json", "other.json"])
def test_a_reference_that_leads_nowhere_is_a_definition_error(reference: str) -> None:
    with pytest.raises(ToolDefinitionError, match="which is not in it"):
        schema_of(schema({"x": {"$ref": reference}}))


def test_the_draft_is_the_one_the_schema_names() -> None:
    draft = "http://json-schema.org/draft-07/schema#"
    written = schema({"x": {"type": "array", "items": [{"type": "integer"}], "additionalItems": False}})

    assert complaints({"$schema": draft, **written}, {"x": [1, 2]})
    with pytest.raises(ToolDefinitionError, match="not valid"):
        schema_of(written)


@pytest.mark.parametrize(
    "written", [{"type": "array"}, {"type": "object", "properties": 3}, {"type": "dict"}, {"type": ["string"]}]
)
def test_what_is_no_schema_of_an_object_is_a_definition_error(written: dict[str, Any]) -> None:
    with pytest.raises(ToolDefinitionError):
        schema_of(written)


def test_a_recursive_schema_and_a_deep_value_end_in_a_complaint() -> None:
    written = schema({"next": {"$ref": "#"}})
    value: dict[str, Any] = {}
    for _ in range(5000):
        value = {"next": value}

    assert "nested" in refused(written, value).for_model()


def test_secrets_of_a_json_schema_are_never_shown() -> None:
    written = schema({"token": {"type": "string", "writeOnly": True, "minLength": 9}})

    assert "hunter2" not in refused(written, {"token": "hunter2"}).for_model()


def test_dumping_gives_the_valid_arguments_as_json() -> None:
    assert schema_of(schema({"a": {"default": "ä"}, "b": {}})).dump_json({"b": 1}) == '{"b": 1, "a": "ä"}'


def test_injected_properties_are_hidden_and_not_required() -> None:
    def tool(q: str, call_id: Annotated[str, InjectedToolCallId]) -> None: ...

    written = schema({"q": {"type": "string"}, "call_id": {"type": "string"}}, required=["q", "call_id"])

    assert spec_from_function(tool, args_schema=written).schema.json_schema == schema(
        {"q": {"type": "string"}}, required=["q"]
    )


def test_without_the_package_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)

    with pytest.raises(MissingExtraError, match=r"surehand\[jsonschema\]"):
        schema_of(schema({}))
