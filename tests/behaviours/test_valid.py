"""Schemas, validation, docstrings, typed delivery: what users of other libraries reported."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Annotated, Any, Literal

import pytest
from pydantic import AliasChoices, BaseModel, Field
from typing_extensions import TypedDict

from support.arguments import complaints, delivered, refused, valid, values
from support.postponed import postponed_tool
from surehand import AIMessage, Tool, ToolNode
from surehand.arguments import validate_arguments
from surehand.errors import ToolDefinitionError
from surehand.spec import schema_of, spec_from_function


def test_VALID_01_a_complaint_names_the_path_what_was_expected_and_what_was_given() -> None:
    def tool(n: int, unit: Literal["c", "f"]) -> None: ...

    assert complaints(tool, {"n": "abc", "unit": "k"}) == [
        "$.n: expected an integer, got the text 'abc'",
        "$.unit: expected one of 'c' or 'f', got the text 'k'",
    ]


def test_VALID_01_no_complaint_links_to_the_documentation_of_a_validator() -> None:
    def tool(n: int) -> None: ...

    assert "http" not in refused(tool, {"n": "abc"}).for_model()


def test_VALID_02_a_misnamed_argument_is_told_beside_the_missing_one() -> None:
    def read(path: str) -> None: ...

    assert complaints(read, {"file_path": "/d"}) == [
        "$.path: missing, expected a string; unknown: file_path (did you mean path?)"
    ]


def test_VALID_04_unknown_keys_never_reach_the_function() -> None:
    def tool(agent: str) -> dict[str, Any]:
        return locals()

    assert delivered(tool, {"agent": "a", "parameters": {}}) == {"agent": "a"}
    assert valid(tool, {"agent": "a", "parameters": {}}).repairs == ("dropped unknown argument 'parameters'",)


def test_VALID_05_further_keys_go_flat_to_a_function_with_var_keywords() -> None:
    def tool(kind: str, **kw: Any) -> dict[str, Any]:
        return kw

    assert delivered(tool, {"kind": "a", "name": "J"}) == {"name": "J"}


@pytest.mark.parametrize("name", ["x", "ex"])
def test_VALID_06_a_field_filled_through_any_alias_arrives_under_its_python_name(name: str) -> None:
    class Args(BaseModel):
        x: int = Field(validation_alias=AliasChoices("x", "ex"))

    assert values(Args, {name: 1}) == {"x": 1}


def test_VALID_08_the_schema_shows_the_wire_name_and_that_it_is_required() -> None:
    class Args(BaseModel):
        a: int = Field(alias="A")

    schema = schema_of(Args)

    assert (list(schema.json_schema["properties"]), schema.json_schema["required"]) == (["A"], ["A"])


@pytest.mark.parametrize("name", ["A", "a"])
def test_VALID_08_wire_name_and_python_name_are_both_accepted(name: str) -> None:
    class Args(BaseModel):
        a: int = Field(alias="A")

    assert values(Args, {name: 1}) == {"a": 1}


def test_VALID_10_a_default_factory_makes_a_field_optional() -> None:
    def tool(tags: Annotated[list[str], Field(default_factory=list)]) -> list[str]:
        return tags

    assert "required" not in schema_of(tool).json_schema
    assert delivered(tool, {}) == []


def test_VALID_12_null_for_a_field_with_a_default_means_not_given() -> None:
    def tool(q: str, limit: int = 10) -> int:
        return limit

    assert delivered(tool, {"q": "a", "limit": None}) == 10


def test_VALID_14_null_is_kept_where_the_type_allows_it() -> None:
    def tool(unit: Literal["C", "F"] | None) -> str | None:
        return unit

    assert delivered(tool, {"unit": None}) is None
    assert complaints(tool, {}) == ["$.unit: missing, expected one of 'C', 'F'"]


class Point(BaseModel):
    x: int
    y: int


@dataclass
class Pair:
    x: int
    y: int


class Both(TypedDict):
    x: int
    y: int


@pytest.mark.parametrize("kind", [Point, Pair])
def test_VALID_16_instances_of_models_and_dataclasses_are_delivered(kind: Any) -> None:
    def add(p: Any) -> int:
        total: int = p.x + p.y
        return total

    add.__annotations__["p"] = kind

    assert delivered(add, {"p": {"x": 1, "y": 2}}) == 3


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]


def act(pet: Annotated[Cat | Dog, Field(discriminator="kind")]) -> Cat | Dog:
    return pet


def test_VALID_18_the_schema_of_a_discriminated_union_keeps_its_variants() -> None:
    assert len(schema_of(act).json_schema["properties"]["pet"]["oneOf"]) == 2


def test_VALID_18_the_right_variant_is_delivered() -> None:
    assert delivered(act, {"pet": {"kind": "cat"}}) == Cat(kind="cat")


def test_VALID_18_a_wrong_tag_is_answered_with_the_allowed_ones() -> None:
    assert complaints(act, {"pet": {"kind": "bird"}}) == [
        "$.pet: 'kind' must be one of 'cat', 'dog', got the text 'bird'"
    ]


@pytest.mark.parametrize("name", ["config", "state", "runtime", "store", "callbacks", "context", "tool_call_id"])
def test_VALID_20_a_plain_parameter_of_any_name_belongs_to_the_model(name: str) -> None:
    scope: dict[str, Any] = {}
    exec(f"def tool({name}: str) -> str:\n    return {name}\n", scope)

    assert delivered(scope["tool"], {name: "a"}) == "a"


def test_VALID_21_no_argument_name_of_a_json_schema_is_reserved() -> None:
    names = ["config", "callbacks", "run_manager", "args", "kwargs", "self", "injected", "values", "cls"]
    schema = {"type": "object", "properties": {name: {"type": "integer"} for name in names}, "required": names}

    def tool(**kwargs: Any) -> dict[str, Any]:
        return kwargs

    spec = spec_from_function(tool, args_schema=schema)
    found = validate_arguments(spec.schema, dict.fromkeys(names, 1), tool="tool")

    assert spec.body.call(found.values, {}) == dict.fromkeys(names, 1)


def test_VALID_22_arguments_of_a_json_schema_are_coerced_as_it_asks() -> None:
    schema = {
        "type": "object",
        "properties": {"ids": {"type": "array"}, "on": {"type": "boolean"}, "n": {"type": "integer"}},
    }

    assert values(schema, {"ids": '["a"]', "on": "false", "n": "100"}) == {"ids": ["a"], "on": False, "n": 100}


def test_VALID_23_a_json_schema_is_validated_as_it_was_written() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}, "s": {"pattern": "^a"}}}

    assert complaints(schema, {"n": 0, "s": "b"}) == [
        "$.n: must be at least 1, got the number 0",
        "$.s: must match the pattern '^a', got the text 'b'",
    ]


def test_VALID_23_what_a_provider_is_not_shown_is_checked_all_the_same() -> None:
    schema = {"type": "object", "properties": {"s": {"type": "string", "minLength": 3}}, "required": ["s"]}
    found = Tool.from_json_schema("t", schema, dict)
    assert "minLength" not in str(found.to_openai(strict=True))

    [answer] = ToolNode([found]).invoke([AIMessage(tool_calls=[{"id": "c1", "name": "t", "args": {"s": "ab"}}])])
    assert (answer.status, "$.s: " in answer.text) == ("error", True)


@pytest.mark.parametrize("given", [20, 20.0, "20", "20.0"])
def test_VALID_24_integral_numbers_and_numeric_text_are_integers(given: object) -> None:
    def tool(n: int) -> None: ...

    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}

    assert repr(values(tool, {"n": given})["n"]) == repr(values(schema, {"n": given})["n"]) == "20"


@pytest.mark.parametrize("kind", [Point, Pair, Both, {"type": "object", "properties": {"x": {}, "y": {}}}])
def test_VALID_26_models_typed_dicts_dataclasses_and_json_schemas_are_accepted_as_args_schema(kind: Any) -> None:
    def tool(x: int, y: int) -> int:
        return x + y

    spec = spec_from_function(tool, args_schema=kind)
    found = validate_arguments(spec.schema, {"x": 1, "y": 2}, tool="tool")

    assert spec.body.call(found.values, {}) == 3


def test_VALID_26_v1_models_are_accepted_as_args_schema() -> None:
    v1 = pytest.importorskip("pydantic.v1")
    model = v1.create_model("Args", x=(int, ...), y=(int, 2))

    def tool(x: int, y: int) -> int:
        return x + y

    spec = spec_from_function(tool, args_schema=model)
    found = validate_arguments(spec.schema, {"x": "1"}, tool="tool")

    assert spec.body.call(found.values, {}) == 3


def test_VALID_28_types_in_parentheses_are_no_part_of_the_name() -> None:
    def tool(a: int) -> None:
        """Do it.

        Args:
            a (int): First.
        """

    assert schema_of(tool).json_schema["properties"]["a"]["description"] == "First."


@pytest.mark.parametrize(
    "section", ["Raises:\n    ValueError: never.", "Note:\n    Not for the model.", "Returns:\n    It."]
)
def test_VALID_30_other_sections_are_not_told_to_the_model(section: str) -> None:
    def tool(a: int) -> None: ...

    tool.__doc__ = f"Do it.\n\nAt once.\n\n{section}\n\nArgs:\n    a: First.\n"
    spec = spec_from_function(tool)

    assert spec.description == "Do it.\n\nAt once."
    assert spec.schema.json_schema["properties"]["a"]["description"] == "First."


def test_VALID_31_postponed_annotations_are_resolved_where_the_function_was_defined() -> None:
    assert delivered(postponed_tool, {"x": None, "k": "a"}) == (None, "a")


def test_VALID_31_names_of_the_enclosing_function_are_found() -> None:
    class Local(BaseModel):
        n: int

    def tool(item: Local, more: list[Local]) -> int:
        return item.n + len(more)

    assert delivered(tool, {"item": {"n": 1}, "more": [{"n": 2}]}) == 2


def test_VALID_31_names_of_outer_enclosing_functions_are_found() -> None:
    class Local(BaseModel):
        n: int

    def make() -> Any:
        def tool(item: Local) -> int:
            return item.n

        return schema_of(tool)

    assert values(make(), {"item": {"n": 1}}) == {"item": Local(n=1)}


def test_VALID_31_an_annotation_that_cannot_be_resolved_is_a_definition_error() -> None:
    def tool(x: Any) -> None: ...

    tool.__annotations__["x"] = "Nowhere"

    with pytest.raises(ToolDefinitionError, match="annotation 'Nowhere' of parameter 'x' cannot be resolved"):
        spec_from_function(tool)


class Service:
    def __init__(self, base: int = 0) -> None:
        self.base = base

    def read(self, n: int) -> int:
        return self.base + n

    @classmethod
    def make(cls, n: int) -> str:
        return f"{cls.__name__}{n}"

    @staticmethod
    def plain(n: int) -> int:
        return n

    def __call__(self, n: int) -> int:
        """Add."""
        return self.base * n


@pytest.mark.parametrize("function", [Service(5).read, Service.make, Service.plain, Service(2), Service.read])
def test_VALID_32_self_and_cls_are_never_in_the_schema(function: Callable[..., Any]) -> None:
    assert list(schema_of(function).json_schema["properties"]) == ["n"]


def test_VALID_32_the_state_is_bound_per_instance() -> None:
    assert [delivered(Service(base).read, {"n": 1}) for base in (5, 6)] == [6, 7]


def test_VALID_32_a_method_taken_from_its_class_is_bound_later() -> None:
    spec = spec_from_function(Service.read)

    assert spec.bind(Service(7)).body.call({"n": 1}, {}) == 8


def test_VALID_33_bound_arguments_of_a_partial_vanish() -> None:
    def f(city: str, unit: str) -> str:
        """Weather."""
        return city + unit

    spec = spec_from_function(functools.partial(f, unit="F"))

    assert (spec.name, spec.description, list(spec.schema.json_schema["properties"])) == ("f", "Weather.", ["city"])
    assert delivered(functools.partial(f, unit="F"), {"city": "x"}) == "xF"


def test_VALID_34_dates_sets_and_anything_are_delivered_as_declared() -> None:
    def tool(when: datetime, day: date, at: time, tags: set[str], x: Any) -> tuple[Any, ...]:
        return when, day, at, tags, x

    arguments = {"when": "2024-01-01T00:00:00Z", "day": "2024-01-02", "at": "09:30:00", "tags": ["a"], "x": [None]}

    assert delivered(tool, arguments) == (
        datetime(2024, 1, 1, tzinfo=UTC),
        date(2024, 1, 2),
        time(9, 30),
        {"a"},
        [None],
    )


def test_VALID_34_the_schema_has_the_formats() -> None:
    def tool(when: datetime, tags: set[str], x: Any) -> None: ...

    assert schema_of(tool).json_schema["properties"] == {
        "when": {"type": "string", "format": "date-time"},
        "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        "x": {},
    }
