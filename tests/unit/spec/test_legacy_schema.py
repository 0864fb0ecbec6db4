from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Any, Optional, Union

import pytest

from support.arguments import complaints, delivered, valid, values
from surehand.spec import schema_of, spec_from_function

v1 = pytest.importorskip("pydantic.v1")

Inner: Any = v1.create_model("Inner", title=(str, ...), n=(int, 1))
Args: Any = v1.create_model("Args", a=(int, v1.Field(..., alias="A", gt=0)), inner=(Optional[Inner], None))  # noqa: UP045 - v1's form


def test_the_schema_has_wire_names_and_no_generated_titles() -> None:
    shown = schema_of(Args).json_schema

    assert shown["properties"]["A"] == {"exclusiveMinimum": 0, "type": "integer"}
    assert shown["required"] == ["A"]
    assert list(shown["definitions"]["Inner"]["properties"]) == ["title", "n"]
    assert "title" not in shown


@pytest.mark.parametrize("name", ["A", "a"])
def test_alias_and_own_name_are_accepted(name: str) -> None:
    assert values(Args, {name: "3"}) == {"a": 3, "inner": None}


def test_text_for_a_nested_model_is_decoded() -> None:
    found = valid(Args, {"A": 1, "inner": '{"title": "t"}'})

    assert found.values["inner"] == Inner(title="t")
    assert found.repairs == ("read the text at $.inner as an object",)


def test_problems_are_told_like_those_of_other_schemas() -> None:
    assert complaints(Args, {"A": 0, "inner": {"n": "x"}}) == [
        "$.A: ensure this value is greater than 0",
        "$.inner.title: missing, expected a string",
        "$.inner.n: value is not a valid integer, got the text 'x'",
    ]
    assert complaints(Args, {}) == ["$.A: missing, expected an integer"]


Loose: Any = v1.create_model(
    "Loose",
    i=(int, 0),
    s=(str, ""),
    d=(dict[str, int], {}),
    u=(Union[Inner, list[int]], []),  # noqa: UP007 - v1's form
    inner=(Inner, None),
    day=(date, None),
)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"i": 3.7}, "$.i: expected an integer, got the number 3.7"),
        ({"s": 5}, "$.s: expected a string, got the number 5"),
        ({"s": True}, "$.s: expected a string, got true"),
        ({"d": [["a", 1]]}, "$.d: expected an object, got an array of 1 item"),
        ({"d": ""}, "$.d: expected an object, got the text ''"),
        ({"day": "1_000"}, "$.day: expected a date such as '2024-05-31', got the text '1_000'"),
        ({"day": "Infinity"}, "$.day: expected a date such as '2024-05-31', got the text 'Infinity'"),
        ({"d": {"a": 1.5}}, "$.d.a: expected an integer, got the number 1.5"),
        ({"u": [1.5]}, "$.u[0]: expected an integer, got the number 1.5"),
        ({"inner": {"title": 5}}, "$.inner.title: expected a string, got the number 5"),
    ],
)
def test_what_v1_would_cut_down_or_spell_out_is_refused(given: Any, told: str) -> None:
    assert complaints(Loose, given) == [told]


def test_what_fits_and_what_text_spells_is_taken_as_ever() -> None:
    given = {"i": 4.0, "s": "5", "d": {"a": "1"}, "u": {"title": "t"}, "inner": None, "day": None}

    assert values(Loose, given) == {**given, "i": 4, "d": {"a": 1}, "u": Inner(title="t")}


def test_what_v1_would_not_mind_is_told_with_what_it_minds() -> None:
    assert complaints(Loose, {"i": 3.7, "d": 5}) == [
        "$.d: value is not a valid dict, got the number 5",
        "$.i: expected an integer, got the number 3.7",
    ]


def test_a_number_is_not_cut_down_inside_a_v1_parameter() -> None:
    def tool(x: Any) -> Any: ...

    tool.__annotations__["x"] = Inner

    assert complaints(tool, {"x": {"title": "t", "n": 3.7}}) == ["$.x.n: expected an integer, got the number 3.7"]


def test_validated_arguments_are_dumped_as_json() -> None:
    assert schema_of(Args).dump_json({"A": 1}) == '{"a": 1, "inner": null}'


def test_one_parameter_annotated_with_the_model_gets_the_instance() -> None:
    def tool(args: Any) -> Any:
        return args

    tool.__annotations__["args"] = Args
    spec = spec_from_function(tool, args_schema=Args)

    assert spec.body.call(spec.schema.validate({"A": 1}), {}) == Args(A=1)


@pytest.mark.parametrize(
    ("annotation", "given", "wanted"),
    [
        (Inner, {"title": "t"}, Inner(title="t")),
        (Optional[Inner], {"title": "t"}, Inner(title="t")),  # noqa: UP045 - made at run time
        (list[Inner], [{"title": "t"}], [Inner(title="t")]),
        (dict[str, Inner], {"k": {"title": "t"}}, {"k": Inner(title="t")}),
        (Sequence[Inner], [{"title": "t"}], [Inner(title="t")]),
        (Mapping[str, Inner], {"k": {"title": "t"}}, {"k": Inner(title="t")}),
        (Annotated[Inner, "what it is"], {"title": "t", "n": "2"}, Inner(title="t", n=2)),
    ],
)
def test_a_parameter_may_be_a_v1_model(annotation: Any, given: Any, wanted: Any) -> None:
    def tool(x: Any) -> Any:
        return x

    tool.__annotations__["x"] = annotation

    assert delivered(tool, {"x": given}) == wanted


def test_problems_inside_a_v1_parameter_have_their_own_paths() -> None:
    def tool(x: Any) -> Any: ...

    tool.__annotations__["x"] = Inner

    assert complaints(tool, {"x": {"title": "t", "n": "a"}}) == [
        "$.x.n: value is not a valid integer, got the text 'a'"
    ]


def test_a_v1_parameter_is_dumped_as_json() -> None:
    def tool(x: Any) -> Any: ...

    tool.__annotations__["x"] = Inner

    assert schema_of(tool).dump_json({"x": {"title": "t"}}) == '{"x":{"title":"t","n":1}}'


def test_a_secret_is_not_shown_and_what_stands_beside_it_is() -> None:
    account = v1.create_model("Account", password=(v1.SecretStr, ...), age=(int, ...))
    kind = v1.create_model("WithAccount", account=(account, ...))

    assert complaints(kind, {"account": {"password": 1234, "age": "x"}}) == [
        "$.account.age: value is not a valid integer, got the text 'x'",
        "$.account.password: expected a string, got a number",
    ]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("a", "$.x: expected an object, got the text 'a'"),
        (None, "$.x: expected an object, got null"),
        ([], "$.x: expected an object, got an array of 0 items"),
        ({}, "$.x.title: missing, expected a string"),
    ],
)
def test_a_v1_parameter_that_is_no_object_is_told_in_one_complaint(given: Any, told: str) -> None:
    def tool(x: Any) -> Any: ...

    tool.__annotations__["x"] = Inner

    assert complaints(tool, {"x": given}) == [told]
