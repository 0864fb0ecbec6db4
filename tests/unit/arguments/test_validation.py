from __future__ import annotations

import contextlib
import itertools
import sys
import time
import timeit
from datetime import date, datetime
from decimal import Decimal
from enum import IntEnum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from support.arguments import complaints, refused, valid, values
from surehand.arguments import InvalidArguments, parse_arguments, validate_arguments
from surehand.spec import schema_of


def simple(city: str, limit: int = 3, unit: Literal["c", "f"] = "c") -> None: ...


class Level(IntEnum):
    LOW = 1


def field(annotation: Any) -> Any:
    """A function with one parameter, ``x``, of the annotation."""

    def tool(x: Any) -> None: ...

    tool.__annotations__["x"] = annotation
    return tool


def test_valid_arguments_need_no_repairs() -> None:
    found = valid(simple, {"city": "x", "limit": 1})

    assert (found.values, found.repairs) == ({"city": "x", "limit": 1, "unit": "c"}, ())
    assert found.wire == {"city": "x", "limit": 1}


@pytest.mark.parametrize(
    ("annotation", "given", "wanted", "note"),
    [
        (int, "5", 5, "read the text at $.x as an integer"),
        (int, 20.0, 20, "read the number at $.x as an integer"),
        (float, "1.5", 1.5, "read the text at $.x as a number"),
        (bool, "True", True, "read the text at $.x as true or false"),
        (bool, 1, True, "read the number at $.x as true or false"),
        (list[int], "[1, 2]", [1, 2], "read the text at $.x as an array"),
        (list[str], "['I', 'V']", ["I", "V"], "read the text at $.x as an array"),
        (set[int], "[1]", {1}, "read the text at $.x as an array"),
        (tuple[int, str], '[1, "a"]', (1, "a"), "read the text at $.x as an array"),
        (dict[str, int], '{"a": 1}', {"a": 1}, "read the text at $.x as an object"),
        (list[int] | None, "[1]", [1], "read the text at $.x as an array"),
        (list[int] | int, "[1]", [1], "read the text at $.x as an array"),
        (int | bool, "true", True, "read the text at $.x as an integer or true or false"),
        (Literal["celsius"], "Celsius", "celsius", "read the text at $.x as 'celsius'"),
        (Literal["foo_bar", "baz"], "Foo Bar", "foo_bar", "read the text at $.x as 'foo_bar'"),
        (Literal[1, 2], "1", 1, "read the text at $.x as 1"),
        (list[bool], ["false"], [False], "read the text at $.x[0] as true or false"),
    ],
)
def test_values_are_coerced_where_nothing_is_lost(annotation: Any, given: Any, wanted: Any, note: str) -> None:
    found = valid(field(annotation), {"x": given})

    assert (found.values["x"], type(found.values["x"])) == (wanted, type(wanted))
    assert found.repairs == (note,)


@pytest.mark.parametrize(
    ("annotation", "given"),
    [
        (int, True),
        (int, 3.5),
        (int, "5 kg"),
        (int, ""),
        (int, "null"),
        (int, [5]),
        (int, "[5]"),
        (float, False),
        (float, "nan"),
        (float, "-Infinity"),
        (float, "1e999"),
        (Decimal, True),
        (Level, True),
        (bool, 2),
        (bool, "maybe"),
        (str, 5),
        (str, True),
        (str, ["a"]),
        (str | None, 5),
        (list[int], "1, 2"),
        (list[int], 1),
        (list[int], '{"a": 1}'),
        (list[int], "[1"),
        (list[int] | list[str], "[1]"),
        (int | None, "None"),
        (dict[str, int], "[1]"),
        (dict[str, int], {"a": True}),
        (list[int], [1, True]),
        (date, 20240131),
        (date, "20240131"),
        (datetime, 1714550400),
        (Literal["Yes", "YES"], "yes"),
        (Literal["a"], "b"),
        (Literal[1], True),
    ],
)
def test_what_would_lose_or_guess_something_is_refused(annotation: Any, given: Any) -> None:
    assert complaints(field(annotation), {"x": given})[0].startswith("$.x")


@pytest.mark.parametrize("given", ["[1]", '{"a": 1}', "5", "true", "null", "None", "", " x ", '"quoted"'])
@pytest.mark.parametrize("annotation", [str, str | None, str | list[int], str | dict[str, int] | int, Any])
def test_a_declared_text_is_delivered_as_it_is(annotation: Any, given: str) -> None:
    found = valid(field(annotation), {"x": given})

    assert (found.values, found.repairs) == ({"x": given}, ())


class Link(BaseModel):
    n: int
    next: Link | None = None
    aliased: int = Field(default=0, alias="A")


def test_recursive_models_are_guarded_and_named_at_any_depth() -> None:
    deep = {"n": 1, "next": {"n": "2", "next": {"n": 3, "aliased": 4}}}

    assert values(Link, deep)["next"].next.aliased == 4
    assert valid(Link, {"n": 1, "next": '{"n": "2"}'}).values["next"] == Link(n=2)
    assert complaints(Link, {"n": 1, "next": {"n": 2, "next": {"n": True}}}) == [
        "$.next.next.n: expected an integer, got true"
    ]


def test_every_digit_of_a_decimal_is_kept() -> None:
    arguments = parse_arguments('{"x": 0.1234567890123456789012345}').value

    assert values(field(Decimal), arguments) == {"x": Decimal("0.1234567890123456789012345")}
    assert values(field(list[Decimal]), {"x": [arguments["x"]]}) == {"x": [Decimal("0.1234567890123456789012345")]}


def test_a_number_whose_digits_make_it_no_integer_is_none() -> None:
    assert complaints(field(int), parse_arguments('{"x": 3.00000000000000000001}').value)


def test_a_large_integer_written_with_a_fraction_keeps_its_digits() -> None:
    assert values(field(int), parse_arguments('{"x": 10000000000000001.0}').value) == {"x": 10000000000000001}


@pytest.mark.parametrize("given", [1e23, "1e23", "100000000000000000000000.0"])
@pytest.mark.parametrize("kind", [field(int), {"type": "object", "properties": {"x": {"type": "integer"}}}])
def test_a_power_of_ten_is_that_integer_and_not_the_float_beside_it(kind: Any, given: Any) -> None:
    assert values(kind, {"x": given}) == {"x": 10**23}


@pytest.mark.parametrize("name", ["City", "CITY", "c_ity", "c-ity"])
def test_a_name_that_differs_in_case_and_separators_only_is_understood(name: str) -> None:
    found = valid(simple, {name: "x"})

    assert (found.values["city"], found.repairs) == ("x", (f"read the argument {name!r} as 'city'",))


def test_two_spellings_of_one_name_are_both_dropped() -> None:
    assert complaints(simple, {"City": "x", "CITY": "y"})[0].startswith(
        "$.city: missing, expected a string; unknown: City"
    )


def test_a_variant_of_a_name_that_was_given_is_dropped() -> None:
    assert valid(simple, {"city": "x", "City": "y"}).repairs == ("dropped unknown argument 'City'",)


def test_an_argument_given_twice_with_one_value_counts_once() -> None:
    class Args(BaseModel):
        age: int = Field(alias="p_age")

    assert valid(Args, {"age": 1, "p_age": 1}).repairs == ("dropped 'p_age', the same as 'age'",)


def test_an_argument_given_twice_with_two_values_is_refused() -> None:
    class Args(BaseModel):
        age: int = Field(alias="p_age")

    assert complaints(Args, {"age": 1, "p_age": 2}) == [
        "$.p_age: is another name of age, and both were given with different values"
    ]


def test_unknown_names_are_refused_where_the_schema_forbids_them() -> None:
    class Args(BaseModel):
        model_config = ConfigDict(extra="forbid")

        path: str = ""

    assert complaints(Args, {"paths": "x", "zzz": 1}) == [
        "$.paths: unknown argument (did you mean path?)",
        "$.zzz: unknown argument",
    ]


def test_nothing_is_guessed_for_a_destructive_tool() -> None:
    told = complaints(simple, {"City": "x", "unit": "C", "more": 1}, strict=True)

    assert told == [
        "$.City: unknown argument (did you mean city?)",
        "$.more: unknown argument",
        "$.city: missing, expected a string",
        "$.unit: expected one of 'c' or 'f', got the text 'C'",
    ]


def test_values_for_injected_parameters_are_discarded_whatever_the_schema_says() -> None:
    class Args(BaseModel):
        model_config = ConfigDict(extra="forbid")

        a: int

    found = valid(Args, {"a": 1, "user": "admin"}, injected=frozenset({"user"}))

    assert (found.values, found.repairs) == ({"a": 1}, ("discarded the argument 'user': the host fills it",))


def test_injected_parameters_are_never_told() -> None:
    assert "user" not in refused(simple, {"user": 1}, injected=frozenset({"user"})).for_model()


def test_everything_is_told_at_once() -> None:
    class Item(BaseModel):
        qty: Annotated[int, Field(ge=1)]
        name: str

    def order(items: list[Item], note: str, express: bool = False) -> None: ...  # noqa: FBT001, FBT002 - what users write

    assert complaints(
        order, {"items": [{"qty": 1, "name": "a"}, {"qty": 0}, {"qty": "x", "name": 3}], "express": []}
    ) == [
        "$.items[1].qty: must be at least 1, got the number 0",
        "$.items[1].name: missing, expected a string",
        "$.items[2].qty: expected an integer, got the text 'x'",
        "$.items[2].name: expected a string, got the number 3",
        "$.note: missing, expected a string",
        "$.express: expected true or false, got an array of 0 items",
    ]


def test_what_a_coercion_cured_is_not_told() -> None:
    def tool(items: list[int], n: int) -> None: ...

    assert complaints(tool, {"items": "[1]", "n": "x"}) == ["$.n: expected an integer, got the text 'x'"]


def test_text_that_was_decoded_and_is_still_wrong_is_told_as_it_was_sent_with_what_is_wrong_inside() -> None:
    assert complaints(field(list[int]), {"x": '["a"]'}) == [
        "$.x: expected an array, got the text '[\"a\"]'",
        "$.x[0]: expected an integer, got the text 'a'",
    ]


def test_keys_of_decoded_text_are_looked_at_too() -> None:
    class Inner(BaseModel):
        file_path: str
        limit: int = 1

    found = valid(field(Inner), {"x": '{"filePath": "a", "limit": null, "zzz": 1}'})

    assert found.values == {"x": Inner(file_path="a")}
    assert found.wire == {"x": {"file_path": "a", "zzz": 1}}


def test_the_cause_is_the_error_of_the_validator() -> None:
    assert isinstance(refused(simple, {}).__cause__, ValidationError)


def test_the_hint_lists_the_arguments_where_a_name_was_wrong() -> None:
    assert refused(simple, {}).hint == "Arguments: city (required), limit (optional), unit (optional)."
    assert refused(simple, {"city": 1}).hint == ""


def test_the_wire_form_validates_again_to_the_same_values() -> None:
    found = valid(simple, {"City": "x", "limit": "4", "unit": None, "zzz": 1})

    assert valid(simple, found.wire).values == found.values


def test_the_arguments_that_were_given_are_not_changed() -> None:
    given = {"x": [{"a": 1}], "zzz": 1}
    found = values(field(list[dict[str, int]]), given)
    found["x"][0]["a"] = 2

    assert given == {"x": [{"a": 1}], "zzz": 1}


@pytest.mark.parametrize("junk", [{1: 2}, {None: 1}, {(): 1}, {"city": object()}, {"city": {1, 2}}, {"city": b"\xff"}])
def test_junk_ends_in_a_complaint(junk: Any) -> None:
    assert refused(field(int), junk).complaints


def test_a_value_of_any_depth_ends_in_a_complaint() -> None:
    value: Any = 1
    for _ in range(10_000):
        value = [value]

    assert "nested deeper" in complaints(field(Any), {"x": value})[0]


def test_all_that_stands_around_the_validator_costs_little() -> None:
    schema = schema_of(simple)
    arguments = {"city": "x", "limit": 3, "unit": "c"}
    whole = min(timeit.repeat(lambda: validate_arguments(schema, arguments, tool="t"), number=200, repeat=20))
    floor = min(timeit.repeat(lambda: schema.validate(arguments), number=200, repeat=20))

    assert whole < 5 * floor


def many_spellings(count: int) -> list[str]:
    """Names that differ from ``x`` in separators only."""
    tails = itertools.chain.from_iterable(itertools.product("_- ", repeat=length) for length in itertools.count(1))
    return ["x" + "".join(tail) for tail in itertools.islice(tails, count)]


def nested(x: dict[str, int], y: list[int]) -> None: ...


INNER = {"type": "object", "properties": {"x": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (nested, {"x": "{}", "y": ["a"] * 10_000}),
        (field(int), dict.fromkeys(many_spellings(20_000), 1)),
        ({"type": "object", "properties": {"a": INNER}}, {"a": dict.fromkeys(many_spellings(20_000), 1)}),
        (
            {"type": "object", "properties": {"a": {**INNER, "additionalProperties": False}}},
            {"a": dict.fromkeys(many_spellings(40_000), 1)},
        ),
    ],
    ids=["problems beside a coercion", "spellings", "spellings below", "unknown keys below"],
)
def test_very_many_problems_take_no_more_than_their_share_of_time(kind: Any, given: dict[str, Any]) -> None:
    schema = schema_of(kind)
    start = time.process_time()
    with contextlib.suppress(InvalidArguments):
        validate_arguments(schema, given, tool="t")

    assert time.process_time() - start < 2


def test_a_long_list_of_values_is_gone_through_once_and_not_for_each_wrong_value() -> None:
    choices = [f"city-{number}" for number in range(20_000)]
    schema = schema_of({"properties": {"a": {"items": {"enum": choices}}}}, tool="places")
    steps = 0

    def count(frame: Any, event: str, _: Any) -> None:
        nonlocal steps
        steps += event in ("call", "c_call")

    counted: list[int] = []
    for many in (1, 100):
        steps = 0
        sys.setprofile(count)
        with contextlib.suppress(InvalidArguments):
            validate_arguments(schema, {"a": [f"town-{number}" for number in range(many)]}, tool="places")
        sys.setprofile(None)
        counted.append(steps)

    assert counted[0] > len(choices)
    assert counted[1] < 2 * counted[0]
