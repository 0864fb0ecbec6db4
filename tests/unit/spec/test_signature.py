from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NotRequired, ParamSpec, TypeVar

import pytest
from typing_extensions import TypedDict, Unpack

from support.arguments import complaints, delivered
from surehand.errors import ToolDefinitionError
from surehand.spec import schema_of, spec_from_function

P = ParamSpec("P")
R = TypeVar("R")


def shouting(function: Callable[P, R]) -> Callable[P, R]:
    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **kwargs)

    return wrapper


def test_positional_only_parameters_are_passed_by_position() -> None:
    def tool(a: int, b: int = 2, /, c: int = 3) -> tuple[int, int, int]:
        return a, b, c

    assert delivered(tool, {"a": 1}) == (1, 2, 3)
    assert delivered(tool, {"a": 1, "c": 9}) == (1, 2, 9)


def test_var_positional_values_are_an_array_of_the_parameters_name() -> None:
    def tool(a: int, *values: int, b: int = 0) -> tuple[Any, ...]:
        return a, values, b

    assert schema_of(tool).json_schema["properties"]["values"]["type"] == "array"
    assert delivered(tool, {"a": 1, "values": [2, "3"], "b": 4}) == (1, (2, 3), 4)
    assert delivered(tool, {"a": 1}) == (1, (), 0)


def test_values_of_var_keywords_are_checked_against_their_annotation() -> None:
    def tool(**counts: int) -> dict[str, int]:
        return counts

    assert schema_of(tool).json_schema["additionalProperties"] == {"type": "integer"}
    assert delivered(tool, {"a": "1"}) == {"a": 1}
    assert complaints(tool, {"a": "x"}) == ["$.a: expected an integer, got the text 'x'"]


class Options(TypedDict):
    city: str
    days: NotRequired[int]


def test_unpacked_var_keywords_are_parameters_of_their_own() -> None:
    def tool(**options: Unpack[Options]) -> Any:
        return options

    assert schema_of(tool).json_schema["required"] == ["city"]
    assert delivered(tool, {"city": "x"}) == {"city": "x"}
    assert delivered(tool, {"city": "x", "days": 2}) == {"city": "x", "days": 2}


def test_a_wrapped_function_keeps_its_signature() -> None:
    @shouting
    def tool(a: int, b: str = "x") -> tuple[int, str]:
        return a, b

    assert list(schema_of(tool).json_schema["properties"]) == ["a", "b"]
    assert delivered(tool, {"a": 1}) == (1, "x")


def test_parameters_without_an_annotation_take_anything() -> None:
    scope: dict[str, Any] = {}
    exec("def tool(a, b=1):\n    return a, b\n", scope)
    tool = scope["tool"]

    assert schema_of(tool).json_schema["properties"] == {"a": {}, "b": {"default": 1}}
    assert delivered(tool, {"a": [1, {}]}) == ([1, {}], 1)


def test_raw_class_and_static_methods_are_read() -> None:
    class Holder:
        @classmethod
        def make(cls, n: int) -> str:
            return f"{cls.__name__}{n}"

        @staticmethod
        def plain(n: int) -> int:
            return n

    raw = spec_from_function(Holder.__dict__["make"])

    assert list(raw.schema.json_schema["properties"]) == ["n"]
    assert raw.bind(Holder).body.call({"n": 1}, {}) == "Holder1"
    assert spec_from_function(Holder.__dict__["plain"]).body.call({"n": 1}, {}) == 1


def test_a_parameter_called_self_of_a_plain_function_belongs_to_the_model() -> None:
    def tool(self: str) -> str:
        return self

    assert delivered(tool, {"self": "a"}) == "a"


@pytest.mark.parametrize("thing", [3, None, "tool"])
def test_what_cannot_be_called_is_no_tool(thing: object) -> None:
    with pytest.raises(ToolDefinitionError, match="cannot be called"):
        spec_from_function(thing, name="tool")


def test_positional_arguments_of_a_partial_vanish() -> None:
    def tool(a: int, b: int) -> int:
        return a - b

    assert delivered(functools.partial(tool, 10), {"b": 1}) == 9


def test_a_partial_of_a_coroutine_function_is_async() -> None:
    async def tool(a: int, b: int) -> int:
        return a + b

    assert spec_from_function(functools.partial(tool, 1)).body.is_async
    assert not spec_from_function(shouting(len), name="size").body.is_async


@pytest.mark.parametrize(
    ("bound", "wanted"),
    [
        ({"unit": "F"}, ("x", "F", {"tenant": "you"})),
        ({"tenant": "me"}, ("x", "C", {"tenant": "me"})),
    ],
)
def test_keywords_of_any_name_override_nothing_that_a_partial_binds(bound: dict[str, str], wanted: object) -> None:
    def tool(city: str, unit: str = "K", **more: str) -> tuple[str, str, dict[str, str]]:
        return city, unit, more

    assert delivered(functools.partial(tool, **bound), {"city": "x", "unit": "C", "tenant": "you"}) == wanted


def test_keywords_of_any_name_are_never_the_instance_of_a_method() -> None:
    class Tools:
        def method(self, **more: int) -> dict[str, int]:
            return more

        def __call__(self, **more: int) -> dict[str, int]:
            return more

    assert delivered(Tools().method, {"self": 1, "a": 2}) == {"a": 2}
    assert delivered(Tools(), {"self": 1, "a": 2}) == {"a": 2}


def test_the_model_cannot_override_a_bound_argument_of_a_partial() -> None:
    def tool(city: str, unit: str = "C") -> tuple[str, str]:
        return city, unit

    assert delivered(functools.partial(tool, unit="F"), {"city": "x", "unit": "K"}) == ("x", "F")


def test_the_return_annotation_may_be_anything() -> None:
    def tool(a: int) -> None: ...

    tool.__annotations__["return"] = "Nowhere"

    assert list(schema_of(tool).json_schema["properties"]) == ["a"]
