from __future__ import annotations

import enum
import threading
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import pytest
import typing_extensions
from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    SecretStr,
    Strict,
    StringConstraints,
    field_validator,
    model_validator,
)

from support.arguments import complaints, delivered, refused, valid, values
from surehand.errors import ToolDefinitionError
from surehand.grammar import parse_arguments
from surehand.spec import InjectedToolArg, schema_of, spec_from_function

AWKWARD = ["schema", "copy", "json", "model_config", "validate", "dict", "model_fields", "construct", "_private", "__x"]


@pytest.mark.parametrize("name", [*AWKWARD, "title", "class_", "model_name", "description"])
def test_a_parameter_may_have_any_name(name: str) -> None:
    scope: dict[str, Any] = {}
    exec(f"def tool({name}: int, schema_: str = '') -> int:\n    return {name}\n", scope)

    assert delivered(scope["tool"], {name: "3"}) == 3
    assert list(schema_of(scope["tool"]).json_schema["properties"]) == [name, "schema_"]
    assert complaints(scope["tool"], {}) == [f"$.{name}: missing, expected an integer"]


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Size(NamedTuple):
    width: int
    height: int = 1


@dataclass
class Node:
    value: int
    children: list[Node] = field(default_factory=list["Node"])


class Movie(typing_extensions.TypedDict):
    title: str
    year: typing_extensions.NotRequired[int]


@pytest.mark.parametrize(
    ("annotation", "given", "wanted"),
    [
        (Colour, "red", Colour.RED),
        (Size, [2, 3], Size(2, 3)),
        (Node, {"value": 1, "children": [{"value": "2"}]}, Node(1, [Node(2)])),
        (Movie, {"title": "x"}, {"title": "x"}),
        (timedelta, "PT90S", timedelta(seconds=90)),
        (uuid.UUID, str(uuid.UUID(int=1)), uuid.UUID(int=1)),
        (Decimal, "0.10", Decimal("0.10")),
        (Path, "a/b", Path("a/b")),
        (frozenset[int], [1, 2], frozenset({1, 2})),
        (tuple[int, str], [1, "a"], (1, "a")),
        (tuple[int, ...], [1, 2], (1, 2)),
        (bytes, "abc", b"abc"),
        (dict[str, Colour], {"a": "blue"}, {"a": Colour.BLUE}),
        (Sequence[int], [1], [1]),
        (Iterable[int], ["1"], [1]),
        (Mapping[str, int], {"a": 1}, {"a": 1}),
        (int | None, None, None),
        (Literal[1, "a"], "a", "a"),
        (bool | int, True, True),
        (float, 3, 3.0),
        (Any, {"a": [1]}, {"a": [1]}),
    ],
)
def test_values_are_delivered_as_the_declared_type(annotation: Any, given: Any, wanted: Any) -> None:
    def tool(x: Any) -> Any:
        return x

    tool.__annotations__["x"] = annotation
    found = delivered(tool, {"x": given})

    assert (found, type(found)) == (wanted, type(wanted))


def test_a_default_is_fresh_in_every_call() -> None:
    def tool(items: list[int] = []) -> list[int]:  # noqa: B006 - what users write
        items.append(1)
        return items

    assert [delivered(tool, {}), delivered(tool, {})] == [[1], [1]]


def test_a_default_that_cannot_be_copied_is_shared() -> None:
    lock = threading.Lock()

    def tool(a: int = 1, lock: Any = lock) -> Any:
        return lock

    assert delivered(tool, {}) is lock


def test_descriptions_come_from_annotations_before_docstrings() -> None:
    def tool(
        a: Annotated[int, "from text"],
        b: Annotated[int, Field(description="from field")],
        c: int,
        d: Annotated[int, typing_extensions.Doc("from doc")],
        schema: int,
    ) -> None:
        """Tool.

        Args:
            a: from docstring
            b: from docstring
            c: from docstring
            schema: from docstring
            unknown: nothing
        """

    found = {name: part["description"] for name, part in schema_of(tool).json_schema["properties"].items()}

    assert found == {
        "a": "from text",
        "b": "from field",
        "c": "from docstring",
        "d": "from doc",
        "schema": "from docstring",
    }


def test_a_field_given_as_the_default_says_everything() -> None:
    def tool(n: int = Field(3, ge=1, description="how many")) -> int:
        return n

    assert schema_of(tool).json_schema["properties"]["n"] == {
        "type": "integer",
        "minimum": 1,
        "default": 3,
        "description": "how many",
    }
    assert delivered(tool, {}) == 3
    assert complaints(tool, {"n": 0}) == ["$.n: must be at least 1, got the number 0"]


def test_an_alias_on_a_parameter_is_its_wire_name() -> None:
    def tool(age: Annotated[int, Field(alias="p_age")]) -> int:
        return age

    assert list(schema_of(tool).json_schema["properties"]) == ["p_age"]
    assert [delivered(tool, {name: 3}) for name in ("p_age", "age", "pAge")] == [3, 3, 3]


def test_no_title_is_generated_and_properties_called_title_stay() -> None:
    class Inner(BaseModel):
        title: str
        colour: Colour

    class Args(BaseModel):
        inner: Inner
        title: str = Field(title="The title")

    schema = schema_of(Args).json_schema

    assert schema["properties"]["title"] == {"type": "string", "title": "The title"}
    assert "title" not in schema
    assert "title" not in schema["$defs"]["Inner"]
    assert "title" not in schema["$defs"]["Colour"]
    assert list(schema["$defs"]["Inner"]["properties"]) == ["title", "colour"]


def test_nested_aliases_accept_the_own_name_too() -> None:
    class Inner(BaseModel):
        age: int = Field(alias="p_age")

    def tool(inner: Inner) -> int:
        return inner.age

    assert [delivered(tool, {"inner": {name: 3}}) for name in ("p_age", "age", "P-Age")] == [3, 3, 3]


def test_an_alias_path_is_followed() -> None:
    class Args(BaseModel):
        first: int = Field(validation_alias=AliasPath("items", 0))

    assert values(Args, {"items": [7]}) == {"first": 7}


class Mode(enum.Enum):
    FAST = "fast"
    SLOW = "slow"


@pytest.mark.parametrize(
    ("annotation", "given", "wanted"),
    [
        (Literal[Mode.FAST], "fast", Mode.FAST),
        (Literal[Mode.FAST, "auto"], "auto", "auto"),
        (Literal[Mode.FAST] | None, "FAST", Mode.FAST),
        (list[Literal[Mode.FAST, Mode.SLOW]], ["slow"], [Mode.SLOW]),
        (Sequence[Literal[Mode.SLOW]], ["slow"], [Mode.SLOW]),
        (Mapping[str, Literal[Mode.SLOW]], {"a": "slow"}, {"a": Mode.SLOW}),
    ],
)
def test_the_values_of_enum_members_in_a_literal_are_taken(annotation: Any, given: Any, wanted: Any) -> None:
    def tool(x: Any) -> Any:
        return x

    tool.__annotations__["x"] = annotation

    assert delivered(tool, {"x": given}) == wanted


def test_the_values_of_enum_members_are_told_and_dumped() -> None:
    def tool(x: Literal[Mode.FAST] | list[int]) -> None: ...

    assert complaints(tool, {"x": 5}) == ["$.x: expected one of 'fast' or an array, got the number 5"]
    assert schema_of(tool).dump_json({"x": "fast"}) == schema_of(tool).dump_json({"x": Mode.FAST}) == '{"x":"fast"}'


def test_allowed_values_are_told_as_the_model_is_to_write_them() -> None:
    def tool(x: Literal[Mode.FAST, True] | None) -> None: ...

    assert complaints(tool, {"x": "f"}) == ["$.x: expected one of 'fast' or true or null, got the text 'f'"]


class Chosen(BaseModel):
    size: int = Field(default=0, validation_alias=AliasChoices("size_cm", "size_mm", AliasPath("box", "size")))


@pytest.mark.parametrize("name", ["size_cm", "size_mm", "size", "SizeMM"])
def test_every_alias_of_several_is_the_same_argument(name: str) -> None:
    assert values(Chosen, {name: 2.0}) == {"size": 2}
    assert complaints(Chosen, {name: True}) == ["$.size_cm: expected an integer, got true"]


def test_two_aliases_of_one_argument_with_different_values_are_refused() -> None:
    assert complaints(Chosen, {"size_cm": 1, "size_mm": 2}) == [
        "$.size_mm: is another name of size_cm, and both were given with different values"
    ]


def test_a_path_beside_other_aliases_is_followed() -> None:
    assert values(Chosen, {"box": {"size": 3}}) == {"size": 3}


def test_a_model_that_allows_extras_hands_them_on() -> None:
    class Args(BaseModel):
        model_config = ConfigDict(extra="allow")

        a: int

    assert values(Args, {"a": 1, "b": 2}) == {"a": 1, "b": 2}


def test_errors_of_the_whole_model_stand_at_the_root() -> None:
    class Args(BaseModel):
        low: int
        high: int

        @model_validator(mode="after")
        def in_order(self) -> Args:
            if self.low > self.high:
                raise ValueError("low must not be above high")
            return self

    assert complaints(Args, {"low": 2, "high": 1}) == ["$: low must not be above high"]


def test_the_text_of_a_validator_goes_through_word_for_word() -> None:
    class Args(BaseModel):
        a: int

        @field_validator("a")
        @classmethod
        def meaningful(cls, value: int) -> int:
            if value != 37:
                raise ValueError("Only 37 is allowed")
            return value

    assert complaints(Args, {"a": 1}) == ["$.a: Only 37 is allowed"]


def test_a_validator_without_a_text_still_says_something() -> None:
    class Args(BaseModel):
        a: int

        @field_validator("a")
        @classmethod
        def never(cls, value: int) -> int:
            raise ValueError

    assert complaints(Args, {"a": 1}) == ["$.a: is not accepted, got the number 1"]


def test_other_exceptions_of_a_validator_get_out() -> None:
    class Args(BaseModel):
        a: int

        @field_validator("a")
        @classmethod
        def broken(cls, value: int) -> int:
            raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"):
        valid(Args, {"a": 1})


def test_secrets_are_never_shown() -> None:
    class Login(BaseModel):
        password: SecretStr

    def tool(login: Login, token: SecretStr) -> None: ...

    told = refused(tool, {"login": "hunter2", "token": 12345}).for_model()

    assert "hunter2" not in told
    assert "12345" not in told


def test_values_of_a_model_that_hides_its_input_are_never_shown() -> None:
    class Args(BaseModel):
        model_config = ConfigDict(hide_input_in_errors=True)

        a: int

    assert complaints(Args, {"a": "hunter2"}) == ["$.a: expected an integer, got a text"]


def test_a_strict_model_takes_dates_as_json_carries_them() -> None:
    class Args(BaseModel):
        model_config = ConfigDict(strict=True)

        when: uuid.UUID
        n: int

    assert values(Args, {"when": str(uuid.UUID(int=3)), "n": 1})["when"] == uuid.UUID(int=3)
    assert values(Args, {"when": str(uuid.UUID(int=3)), "n": "1"})["n"] == 1


@pytest.mark.parametrize("annotation", ["threading.Lock", "Sequence[threading.Thread]"])
def test_a_type_that_json_cannot_carry_is_a_definition_error(annotation: str) -> None:
    def tool(ok: int, x: Any) -> None: ...

    tool.__annotations__["x"] = annotation

    with pytest.raises(ToolDefinitionError, match="parameter 'x' with the annotation"):
        spec_from_function(tool)


def test_a_type_that_json_cannot_carry_may_be_injected() -> None:
    def tool(ok: int, x: Annotated[threading.Thread, InjectedToolArg]) -> None: ...

    assert list(schema_of(tool).json_schema["properties"]) == ["ok"]


def test_a_root_model_is_no_object_of_arguments() -> None:
    with pytest.raises(ToolDefinitionError, match="is a RootModel"):
        schema_of(RootModel[list[int]])


@pytest.mark.parametrize("thing", [3, None, "tool", int, [int]])
def test_what_describes_no_arguments_is_refused(thing: object) -> None:
    with pytest.raises(ToolDefinitionError, match="describes no arguments"):
        schema_of(thing)


def test_validated_arguments_as_json_have_defaults_and_types() -> None:
    class Args(BaseModel):
        a: int
        tags: set[str] = {"x"}

    assert schema_of(Args).dump_json({"a": "1"}) == '{"a":1,"tags":["x"]}'


def test_arguments_of_a_function_as_json_have_their_own_names() -> None:
    def tool(schema: int, b: str | None = None, **kw: int) -> None: ...

    assert schema_of(tool).dump_json({"schema": 1, "c": "2"}) == '{"schema":1,"b":null,"c":2}'


def test_a_dataclass_and_a_typed_dict_dump_as_json() -> None:
    assert schema_of(Node).dump_json({"value": "1"}) == '{"value":1,"children":[]}'
    assert schema_of(Movie).dump_json({"title": "x"}) == '{"title":"x"}'


@dataclass
class Counted:
    x: int
    count: int = field(init=False, default=0)


def test_a_field_that_a_dataclass_fills_itself_is_no_argument() -> None:
    assert list(schema_of(Counted).json_schema["properties"]) == ["x"]
    assert valid(Counted, {"x": 1, "count": 5}).repairs == ("dropped unknown argument 'count'",)


def test_a_default_of_another_type_is_no_warning() -> None:
    scope: dict[str, Any] = {}
    exec("def tool(a: str = None) -> None: ...", scope)
    tool = scope["tool"]

    assert schema_of(tool).dump_json({}) == '{"a":null}'
    assert valid(tool, {"a": None}).repairs == ("left out the null at $.a, which is optional",)


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    tricks: list[str]


def one_of(pet: Cat | Dog) -> None: ...


def tagged(pet: Annotated[Cat | Dog, Field(discriminator="kind")]) -> None: ...


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"kind": "bird", "lives": 1}, ["$.pet.kind: expected one of 'cat' or 'dog', got the text 'bird'"]),
        ({"kind": "dog"}, ["$.pet.tricks: missing, expected an array"]),
        ({"kind": "dog", "tricks": [1]}, ["$.pet.tricks[0]: expected a string, got the number 1"]),
        (
            {"lives": 1},
            ["$.pet.kind: missing, expected one of 'cat', 'dog'", "$.pet.tricks: missing, expected an array"],
        ),
    ],
)
def test_of_a_union_the_member_is_told_that_the_value_was_meant_to_be(given: Any, told: list[str]) -> None:
    assert complaints(one_of, {"pet": given}) == told


def test_a_tag_that_is_null_is_told_as_null() -> None:
    assert complaints(tagged, {"pet": {"kind": None}}) == ["$.pet: 'kind' must be one of 'cat', 'dog', got null"]


def test_members_of_another_kind_are_not_told_where_one_was_meant() -> None:
    def tool(x: int | list[int]) -> None: ...

    assert complaints(tool, {"x": [1, "a"]}) == ["$.x[1]: expected an integer, got the text 'a'"]
    assert complaints(tool, {"x": {}}) == ["$.x: expected an integer or an array, got an empty object"]


@pytest.mark.parametrize(
    ("kind", "given", "told"),
    [
        (
            date,
            "2024-02-30",
            "a date such as '2024-05-31', got the text '2024-02-30', day value is outside expected range",
        ),
        (date, "20240131", "a date such as '2024-05-31', got the text '20240131'"),
        (list[date] | None, 20240131, "a date such as '2024-05-31', got the number 20240131"),
        (
            date | datetime,
            20240131,
            "a date such as '2024-05-31' or a date and time such as '2024-05-31T09:30:00Z', got the number 20240131",
        ),
        (
            date | datetime | None,
            "20240131",
            "a date such as '2024-05-31' or a date and time such as '2024-05-31T09:30:00Z', got the text '20240131'",
        ),
        (datetime | str, 5, "a date and time such as '2024-05-31T09:30:00Z' or a string, got the number 5"),
        (timedelta, True, "a duration such as 'PT1H30M' or a number of seconds, got true"),
        (datetime, True, "a date and time such as '2024-05-31T09:30:00Z', got true"),
        (Literal[1, 2, "3"], True, "one of 1, 2 or '3', got true"),
        (Sequence[int], "12", "an array, got the text '12'"),
        (date | str, 5, "a date such as '2024-05-31' or a string, got the number 5"),
    ],
)
def test_the_form_that_is_asked_for_is_told_and_never_guessed(kind: Any, given: Any, told: str) -> None:
    def tool(x: Any) -> None: ...

    tool.__annotations__["x"] = kind

    assert complaints(tool, {"x": [given] if kind == list[date] | None else given}) in (
        [f"$.x: expected {told}"],
        [f"$.x[0]: expected {told}"],
    )


@pytest.mark.parametrize(
    ("kind", "given", "told"),
    [
        (dict[int, str], {"1": "a", "01": "b"}, "$.x['01']"),
        (dict[date, int], {"2024-01-01": 1, "2024-01-01T00:00:00": 2}, "$.x['2024-01-01T00:00:00']"),
        (dict[float, int] | None, {"1": 1, "1.0": 2}, "$.x['1.0']"),
        (list[dict[bool, int]], [{"true": 1, "yes": 2}], "$.x[0].yes"),
        (Mapping[Annotated[str, StringConstraints(to_lower=True)], int], {"a": 1, "A": 2}, "$.x.A"),
    ],
)
def test_keys_that_stand_for_the_same_value_lose_nothing(
    kind: Any, given: dict[str, Any] | list[dict[str, Any]], told: str
) -> None:
    def tool(x: Any) -> None: ...

    tool.__annotations__["x"] = kind
    first = next(iter(given[0] if isinstance(given, list) else given))

    assert complaints(tool, {"x": given}) == [
        f"{told}: is another name of {first}, and both were given with different values"
    ]


def test_keys_that_stand_for_different_values_are_kept() -> None:
    def tool(x: dict[int, str], y: dict[str, int]) -> None: ...

    assert values(tool, {"x": {"1": "a", "02": "b"}, "y": {"a": 1, "A": 2}}) == {
        "x": {1: "a", 2: "b"},
        "y": {"a": 1, "A": 2},
    }


def test_a_key_that_is_wrong_is_told_from_its_value() -> None:
    def tool(x: dict[int, str]) -> None: ...

    assert complaints(tool, {"x": {"one": "a"}}) == ["$.x.one: the key itself: expected an integer, got the text 'one'"]


def test_an_unknown_key_is_told_beside_the_missing_one_that_it_may_stand_for() -> None:
    def tool(dogs: list[Dog]) -> None: ...

    error = refused(tool, {"dogs": [{"kind": "dog", "trick": []}]})

    assert [str(complaint) for complaint in error.complaints] == [
        "$.dogs[0].tricks: missing, expected an array; unknown: trick (did you mean tricks?)"
    ]
    assert error.hint == "Keys of $.dogs[0]: kind (required), tricks (required)."


@pytest.mark.parametrize(
    ("kind", "given", "number"),
    [
        (bool | int, "1", 1),
        (bool | float, "0.5", 0.5),
        (datetime | int, "20240131", 20240131),
        (date | datetime | float | None, "86400", 86400.0),
        (date | int, "2024.0", 2024),
    ],
)
def test_digits_are_a_number_where_a_number_may_stand(kind: Any, given: str, number: float) -> None:
    def tool(x: Any) -> None: ...

    tool.__annotations__["x"] = kind
    found = valid(tool, {"x": given})

    assert (found.values, type(found.values["x"])) == ({"x": number}, type(number))
    assert found.repairs[0].startswith("read the text at $.x as ")


class Exact(BaseModel):
    model_config = ConfigDict(strict=True)

    day: date
    colour: Colour
    size: int = 1


def test_a_strict_part_takes_what_json_has_no_type_for_as_text() -> None:
    def tool(x: Exact, day: Annotated[date, Strict()], more: list[Exact] | None = None) -> None: ...

    given = {"day": "2024-01-31", "colour": "RED", "size": "5"}
    exact = Exact(day=date(2024, 1, 31), colour=Colour.RED, size=5)

    assert values(tool, {"x": given, "day": "2024-01-31", "more": [given]}) == {
        "x": exact,
        "day": date(2024, 1, 31),
        "more": [exact],
    }
    assert complaints(tool, {"x": {**given, "day": "x", "size": 1.5}, "day": "2024-01-31"}) == [
        "$.x.day: expected a date such as '2024-05-31', got the text 'x'",
        "$.x.size: expected an integer, got the number 1.5",
    ]


def test_a_strict_part_costs_no_digit() -> None:
    def tool(price: Annotated[Decimal, Strict()], note: str) -> None: ...

    given = parse_arguments('{"price": 1.10000000000000000000001, "note": "ä \\"x\\""}').value

    assert values(tool, given) == {"price": Decimal("1.10000000000000000000001"), "note": 'ä "x"'}
