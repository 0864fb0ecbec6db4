"""What keeps a JSON Schema from holding a call, or ending the process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from support.arguments import complaints, values
from surehand.errors import ToolDefinitionError
from surehand.spec import schema_of

Schema = dict[str, Any]
Step = Callable[[Schema], Schema]


def nested(levels: int, bottom: Any = None) -> Any:
    value: Any = {} if bottom is None else bottom
    for _ in range(levels):
        value = {"next": value}
    return value


def chain(length: int, step: Step, end: Schema) -> Schema:
    """Definitions that lead from one to the next."""
    definitions = {f"d{index}": step({"$ref": f"#/$defs/d{index + 1}"}) for index in range(length)}
    return {"type": "object", "$ref": "#/$defs/d0", "$defs": {**definitions, f"d{length}": end}}


STEPS: dict[str, Step] = {
    "$ref": lambda following: following,
    "allOf": lambda following: {"allOf": [following]},
    "anyOf": lambda following: {"anyOf": [following, {"type": "integer"}]},
    "if": lambda following: {"if": {"type": "object"}, "then": following},
    "unevaluatedProperties": lambda following: {"allOf": [following], "unevaluatedProperties": False},
}
CIRCLES: list[Schema] = [
    {"$ref": "#"},
    {"allOf": [{"$ref": "#"}]},
    {"if": {"$ref": "#"}, "then": False},
    {"properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
    {"properties": {"x": {"$dynamicRef": "#a", "$dynamicAnchor": "a"}}},
    {"properties": {"x": {"$id": "urn:x", "not": {"$ref": "urn:x"}}}},
]


@pytest.mark.parametrize("schema", CIRCLES)
def test_a_schema_that_asks_itself_about_the_same_value_is_refused(schema: Schema) -> None:
    with pytest.raises(ToolDefinitionError, match="in a circle"):
        schema_of(schema)


def test_a_schema_may_refer_to_itself_for_what_is_inside() -> None:
    schema = {"type": "object", "properties": {"next": {"$ref": "#"}, "n": {"type": "integer"}}}

    assert values(schema, nested(90, {"n": "5"})) == nested(90, {"n": 5})
    assert complaints(schema, nested(2, {"n": "x"})) == ["$.next.next.n: expected an integer, got the text 'x'"]


@pytest.mark.parametrize("times", [2, 3])
def test_definitions_that_double_are_refused(times: int) -> None:
    doubling = chain(30, lambda following: {"allOf": [following] * times}, {"type": "object"})
    start = time.process_time()

    with pytest.raises(ToolDefinitionError, match="more work than a call can wait for"):
        schema_of(doubling)
    assert time.process_time() - start < 2


def test_definitions_that_double_on_the_way_down_are_refused() -> None:
    doubling = chain(30, lambda following: {"properties": {"next": {"allOf": [following] * 2}}}, {"type": "object"})

    with pytest.raises(ToolDefinitionError, match="more work"):
        schema_of(doubling)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("length", [3, 12, 40, 5_000])
def test_long_chains_of_a_recursive_schema_end_in_words_or_are_followed(step: str, length: int) -> None:
    """In a thread of a small stack, which the validator's own recursion would overflow."""
    schema = chain(length, STEPS[step], {"properties": {"next": {"$ref": "#/$defs/d0"}}})
    outcome: list[str] = []

    def run() -> None:
        try:
            made = schema_of(schema)
        except ToolDefinitionError as error:
            outcome.append(error.problem)
            return
        try:
            outcome.append(str(values(made, nested(100)) == nested(100)))
        except pytest.fail.Exception:
            raise
        except Exception as error:  # noqa: BLE001 - looked at below
            outcome.append(str(error))

    before = threading.stack_size(1024 * 1024)
    try:
        thread = threading.Thread(target=run)
        start = time.process_time()
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert outcome[0] == "True" or "more work" in outcome[0] or "nested deeper than" in outcome[0]
    assert time.process_time() - start < 5


def trees(kinds: int, keyword: str = "anyOf") -> Schema:
    """A schema of trees whose nodes are of one of several kinds, which are told apart late."""
    forms = {
        f"k{index}": {
            "type": "object",
            "properties": {"next": {"$ref": "#/$defs/e"}, "n": {"type": "integer"}, "kind": {"const": f"k{index}"}},
            "required": ["kind"],
        }
        for index in range(kinds)
    }
    either = {keyword: [{"$ref": f"#/$defs/{name}"} for name in forms]}
    return {"type": "object", "properties": {"next": {"$ref": "#/$defs/e"}}, "$defs": {"e": either, **forms}}


def tree(levels: int, **end: Any) -> Any:
    value: Any = {"kind": "k1", **end}
    for _ in range(levels):
        value = {"kind": "k1", "next": value}
    return {"next": value}


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
@pytest.mark.parametrize("levels", [1, 8, 30])
def test_every_level_of_a_tree_of_many_kinds_is_checked_told_and_coerced(levels: int, keyword: str) -> None:
    made = schema_of(trees(25, keyword))
    place = "$" + ".next" * (levels + 1)
    start = time.process_time()

    assert values(made, tree(levels, n=5)) == tree(levels, n=5)
    assert values(made, tree(levels, n="5")) == tree(levels, n=5)
    assert complaints(made, tree(levels, n="x")) == [f"{place}.n: expected an integer, got the text 'x'"]
    assert complaints(made, tree(levels, kind="no"))[0].startswith(f"{place}.kind: expected one of 'k0', 'k1', 'k2'")
    assert time.process_time() - start < 2


def test_where_no_reason_can_be_found_in_time_that_is_told() -> None:
    made = schema_of(trees(25))

    assert complaints(made, tree(110, n="x")) == [
        "$: does not fit the schema, and is too large or nested too deeply for the reason to be told"
    ]


def test_a_value_that_is_nested_deeper_than_can_be_checked_is_refused_with_a_path() -> None:
    schema = chain(30, STEPS["allOf"], {"properties": {"next": {"$ref": "#/$defs/d0"}}})

    assert values(schema, nested(20)) == nested(20)
    assert complaints(schema, nested(100))[0].startswith("$.next.next.next: is nested deeper than")


def test_a_deep_schema_is_refused_in_words() -> None:
    schema: Schema = {"type": "object"}
    for _ in range(400):
        schema = {"type": "object", "properties": {"x": schema}}

    with pytest.raises(ToolDefinitionError):
        schema_of(schema)


def test_a_huge_enum_is_checked_and_told_in_short() -> None:
    schema = {"type": "object", "properties": {"x": {"enum": [f"name_{index}" for index in range(50_000)]}}}
    start = time.process_time()

    assert values(schema, {"x": "name_49999"}) == {"x": "name_49999"}
    assert complaints(schema, {"x": "nobody"})[0].endswith("and 49980 more, got the text 'nobody'")
    assert time.process_time() - start < 5


def test_very_many_items_and_errors_are_told_in_short() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "array", "items": {"type": "integer"}}}}
    start = time.process_time()

    assert len(complaints(schema, {"x": ["a"] * 20_000})) == 21
    assert time.process_time() - start < 5


def test_very_many_items_of_many_kinds_are_told_in_short_and_coerced() -> None:
    written = trees(25, "oneOf")
    made = schema_of({**written, "properties": {"x": {"type": "array", "items": {"$ref": "#/$defs/e"}}}})
    start = time.process_time()

    assert values(made, {"x": [{"kind": "k9", "n": "5"}] * 1_000}) == {"x": [{"kind": "k9", "n": 5}] * 1_000}
    found = complaints(made, {"x": [{"kind": "k9", "n": "x"}] * 1_000})
    assert found[0] == "$.x[0].n: expected an integer, got the text 'x'"
    assert len(found) == 21
    assert time.process_time() - start < 5


def test_a_value_that_fits_several_of_very_many_forms_is_told_so() -> None:
    forms = {"oneOf": [{"type": "object"}, {"required": ["a"]}]}
    made = schema_of({"type": "object", "properties": {"x": {"type": "array", "items": forms}}})

    assert complaints(made, {"x": [{"a": 1}] * 900})[0] == (
        "$.x[0]: fits more than one of the allowed forms, expected exactly one"
    )


def test_an_empty_list_in_a_large_value_is_told_of() -> None:
    part = {"type": "array", "items": {"type": "array", "minItems": 1}}
    told = complaints({"type": "object", "properties": {"x": part}}, {"x": [[0]] * 2_000 + [[]]})
    assert told == ["$.x[2000]: must have at least 1 item, got an array of 0 items"]


def test_alternatives_that_double_about_one_text_are_not_all_gone_through() -> None:
    definitions: Schema = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(13)}
    written = {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/d0"}},
        "$defs": {**definitions, "d13": {"type": "integer"}},
    }
    began = time.process_time()
    assert complaints(written, {"x": "a"})
    assert time.process_time() - began < 1
