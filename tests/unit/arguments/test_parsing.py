from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel, Field

from surehand.arguments import MalformedArguments, parse_arguments
from surehand.spec import schema_of

SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "on": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "text": {"type": "string"},
        "unit": {"enum": ["c", "f"]},
    },
}


class Args(BaseModel):
    n: int = Field(alias="N")


@dataclass
class Data:
    n: int


def function(n: int) -> None: ...


def test_without_a_schema_values_stay_as_they_are() -> None:
    assert parse_arguments('{"n": "5"}').value == {"n": "5"}


def test_values_are_coerced_towards_the_schema() -> None:
    raw = '{"n": "5", "on": "False", "tags": "[\'a\']", "text": "5", "unit": "C", "more": "1"}'
    found = parse_arguments(raw, schema=SCHEMA)

    assert found.value == {"n": 5, "on": False, "tags": ["a"], "text": "5", "unit": "c", "more": "1"}
    assert len(found.repairs) == 4


def test_a_whole_number_written_with_a_fraction_becomes_the_integer_that_is_declared() -> None:
    found = parse_arguments('{"n": 20.0, "more": 20.0}', schema=SCHEMA)

    assert [(value, type(value)) for value in found.value.values()] == [(20, int), (20.0, float)]
    assert found.repairs == ("read the number at $.n as an integer",)


@pytest.mark.parametrize("kind", [Args, Data, function, schema_of(function)])
def test_any_kind_of_schema_directs_the_coercion(kind: Any) -> None:
    name = "N" if kind is Args else "n"

    assert parse_arguments({"n": "5"}, schema=kind).value == {name: 5}


@pytest.mark.parametrize("given", [{"N": 1, "n": 2}, {"_n": 1, "n": 2}])
def test_several_names_of_one_argument_never_overwrite_each_other(given: dict[str, int]) -> None:
    assert sorted(parse_arguments(given, schema=Args).value.values()) == [1, 2]


def test_what_cannot_be_coerced_stays_as_it_is() -> None:
    assert parse_arguments({"n": "five", "on": 3, "tags": "a, b"}, schema=SCHEMA).value == {
        "n": "five",
        "on": 3,
        "tags": "a, b",
    }


@pytest.mark.parametrize(
    "schema", [{}, {"type": "object"}, {"properties": 3}, {"$ref": "#"}, {"allOf": [{"$ref": "#"}]}]
)
def test_a_schema_that_says_nothing_changes_nothing(schema: dict[str, Any]) -> None:
    assert parse_arguments({"n": "5"}, schema=schema).value == {"n": "5"}


@pytest.mark.parametrize("raw", ["[1]", "{", 3, "n=5"])
def test_what_is_no_object_is_malformed_with_any_schema(raw: object) -> None:
    with pytest.raises(MalformedArguments):
        parse_arguments(raw, schema=SCHEMA)
