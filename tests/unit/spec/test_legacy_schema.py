from __future__ import annotations

from typing import Annotated, Any, Optional

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
        "$.inner.title: missing",
        "$.inner.n: value is not a valid integer, got the text 'x'",
    ]
    assert complaints(Args, {}) == ["$.A: missing, expected an integer"]


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

    assert complaints(tool, {"x": {"title": "t", "n": "a"}}) == ["$.x.n: value is not a valid integer"]


def test_a_v1_parameter_is_dumped_as_json() -> None:
    def tool(x: Any) -> Any: ...

    tool.__annotations__["x"] = Inner

    assert schema_of(tool).dump_json({"x": {"title": "t"}}) == '{"x":{"title":"t","n":1}}'
