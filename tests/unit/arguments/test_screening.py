from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, Field

from surehand.arguments.screening import Screen
from surehand.spec import schema_of


class Inner(BaseModel):
    age: int = Field(alias="p_age")
    note: str = ""


def tool(inner: Inner, others: list[Inner] | None = None, anything: Any = None, table: dict[str, int] = {}) -> None: ...  # noqa: B006 - as authors write it


def screened(arguments: dict[str, Any]) -> tuple[dict[str, Any], Screen]:
    screen = Screen(schema_of(tool))
    return screen.arguments(arguments), screen


@pytest.mark.parametrize("name", ["p_age", "age", "pAge", "P_AGE", "AGE"])
def test_keys_of_nested_objects_are_named_as_the_validator_takes_them(name: str) -> None:
    found, _ = screened({"inner": {name: 1}, "others": [{name: 2}]})

    assert found == {"inner": {"p_age": 1}, "others": [{"p_age": 2}]}


def test_a_variant_of_a_key_that_was_given_is_not_taken_for_it() -> None:
    found, screen = screened({"inner": {"age": 1, "pAge": 2}})

    assert found == {"inner": {"p_age": 1, "pAge": 2}}
    assert screen.later_notes == ["dropped the unknown key $.inner.pAge"]


def test_two_names_of_one_key_with_different_values_are_refused() -> None:
    _, screen = screened({"inner": {"p_age": 1, "age": 2}})

    assert [(problem.place, problem.text) for problem in screen.problems] == [
        (("inner", "age"), "is another name of p_age, and both were given with different values")
    ]


def test_two_names_of_one_key_with_one_value_count_once() -> None:
    found, screen = screened({"inner": {"age": 1, "p_age": 1}})

    assert (found, screen.problems) == ({"inner": {"p_age": 1}}, [])
    assert screen.notes == ["dropped the key $.inner.p_age, the same as 'age'"]


def test_a_null_below_that_is_optional_and_not_allowed_is_left_out() -> None:
    found, screen = screened({"inner": {"p_age": None, "note": None}})

    assert found == {"inner": {"p_age": None}}
    assert screen.notes == ["left out the null at $.inner.note, which is optional"]


def test_unknown_keys_below_are_noted_once_the_validator_has_dropped_them() -> None:
    found, screen = screened({"inner": {"p_age": 1, "zzz": 2}})

    assert found == {"inner": {"p_age": 1, "zzz": 2}}
    assert screen.later_notes == ["dropped the unknown key $.inner.zzz"]


def test_containers_are_copied_wherever_they_are() -> None:
    given: dict[str, Any] = {"anything": [{"a": [1]}], "table": {"a": 1}}
    found, _ = screened(given)

    assert found == given
    assert found["anything"][0]["a"] is not given["anything"][0]["a"]


def test_true_is_no_number_at_any_depth() -> None:
    _, screen = screened({"table": {"a": True, "b": 1}})

    assert [problem.place for problem in screen.problems] == [("table", "a")]
