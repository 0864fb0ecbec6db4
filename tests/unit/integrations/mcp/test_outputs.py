"""What our tools return as data, and what a client is told of it; the official client checks the one by the other."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
import enum
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, TypedDict
from weakref import ref

import pytest
import typing_extensions
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.types import CallToolResult, Tool
from pydantic import BaseModel, ConfigDict, Field

from support.mcp.in_process import served, text_of
from surehand import BaseTool, Command, ToolException, ToolMessage, ToolReturn, tool
from surehand.calls.middleware import ResultCache

MODES = ["auto", "legacy"]


@dataclasses.dataclass
class Stock:
    item: str
    left: int = 0
    checked: dt.date | None = None


class Weather(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    wind_speed: float = Field(alias="windSpeed")
    at: dt.datetime = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)


class Gauge(BaseModel):
    wind_speed: float = Field(serialization_alias="windSpeed", validation_alias="wind")


class Place(TypedDict):
    name: str
    size: typing_extensions.NotRequired[int]


class Colour(enum.Enum):
    RED = "red"


class Tree(BaseModel):
    name: str
    inner: list[Tree] = []


class Shown(BaseModel):
    """What a subclass keeps to itself is not part of it."""

    name: str


class Hidden(Shown):
    password: str = "hunter2hunter2"


def called(function: Any, *, mode: str = "auto", **options: Any) -> tuple[Tool, CallToolResult]:
    """What a client is told of a tool, and what it is given by a call."""

    async def main() -> tuple[Tool, CallToolResult]:
        async with served([function], mode=mode, **options) as client:
            (declared,) = (await client.list_tools()).tools
            return declared, await client.call_tool(declared.name, {})

    return asyncio.run(main())


def returning(kind: Any, value: Any) -> Any:
    def made() -> Any:
        "Make something."
        return value

    made.__annotations__["return"] = kind
    return made


OBJECTS: list[tuple[Any, Any, dict[str, Any]]] = [
    (Stock, Stock("pen", 3, dt.date(2026, 1, 2)), {"item": "pen", "left": 3, "checked": "2026-01-02"}),
    (Weather, Weather(windSpeed=3.5), {"windSpeed": 3.5, "at": "2026-01-02T00:00:00Z"}),
    (Place, {"name": "Rome"}, {"name": "Rome"}),
    (Place, {"name": "Rome", "size": 3}, {"name": "Rome", "size": 3}),
    (dict[str, int], {"a": 1}, {"a": 1}),
    (dict[str, Any], {"a": Colour.RED, "b": [None]}, {"a": "red", "b": [None]}),
    (Mapping[str, Stock], {"a": Stock("pen")}, {"a": {"item": "pen", "left": 0, "checked": None}}),
    (Annotated[Stock, "what is left"], Stock("pen", 1), {"item": "pen", "left": 1, "checked": None}),
    (Tree, Tree(name="a", inner=[Tree(name="b")]), {"name": "a", "inner": [{"name": "b", "inner": []}]}),
    ("Stock", Stock("pen", 1), {"item": "pen", "left": 1, "checked": None}),
    (Stock, {"item": "pen"}, {"item": "pen"}),
    (Stock, '{"item": "pen", "left": 2}', {"item": "pen", "left": 2}),
    (Stock, ToolReturn(Stock("pen", 2), "for the program"), {"item": "pen", "left": 2, "checked": None}),
    (Shown, Hidden(name="a"), {"name": "a"}),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("kind", "value", "data"), OBJECTS)
def test_a_result_that_is_an_object_is_told_and_given_as_data(mode: str, kind: Any, value: Any, data: Any) -> None:
    declared, result = called(returning(kind, value), mode=mode)
    assert declared.output_schema is not None
    assert declared.output_schema["type"] == "object"
    assert (result.is_error, result.structured_content) == (False, data)
    assert text_of(result).startswith("{")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (str, "three"),
        (int, 3),
        (None, None),
        (list[Stock], [Stock("pen")]),
        (Stock | None, None),
        (dict, {"a": 1}),
        (Any, {"a": 1}),
        (object, {"a": 1}),
        (ToolReturn, ToolReturn({"a": 1})),
        (Command[Any], {"a": 1}),
        (ToolMessage, {"a": 1}),
        ("NoSuchName", {"a": 1}),
        (ref, {"a": 1}),
        (Callable[[], int], {"a": 1}),
        (tuple[int, int], (1, 2)),
    ],
)
def test_of_any_other_result_nothing_is_told_and_its_text_is_given(kind: Any, value: Any) -> None:
    declared, result = called(returning(kind, value))
    assert (declared.output_schema, result.structured_content, result.is_error) == (None, None, False)
    assert text_of(result)


def test_a_result_that_says_nothing_of_its_type_is_given_as_text() -> None:
    def made(**_: Any) -> Any:
        "Make something."
        return {"a": 1}

    del made.__annotations__["return"]
    declared, result = called(made)
    assert (declared.output_schema, result.structured_content, text_of(result)) == (None, None, '{"a": 1}')


def test_a_pair_of_content_and_artifact_is_given_as_its_content() -> None:
    made = tool(response_format="content_and_artifact")(returning(tuple[Stock, int], (Stock("pen"), 1)))
    declared, result = called(made)
    assert (declared.output_schema, result.is_error) == (None, False)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Stock, "sold out"),
        (Stock, None),
        (Stock, {"left": 3}),
        (Stock, [Stock("pen")]),
        (dict[str, int], {"a": "many"}),
        (dict[str, float], {"a": float("nan")}),
        (Place, {"name": 7}),
    ],
)
def test_a_result_of_another_form_is_no_data_and_the_client_learns_that_the_call_was_carried_out(
    mode: str, kind: Any, value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    _, result = called(returning(kind, value), mode=mode)
    assert (result.is_error, result.structured_content) == (True, None)
    assert text_of(result).startswith("The call was carried out, so do not repeat it.")
    assert "is not of the form that the tool declares" in caplog.text


def test_a_failure_has_no_data() -> None:
    @tool
    def made() -> Stock:
        "Make something."
        raise ToolException("Sold out.", artifact={"item": "pen"})

    _, result = called(made)
    assert (result.is_error, result.structured_content, text_of(result)) == (True, None, "Sold out.")


def test_a_long_result_is_cut_for_the_model_and_whole_as_data() -> None:
    declared, result = called(tool(max_output=200)(returning(Place, {"name": "x" * 10_000})))
    assert len(text_of(result)) <= 200
    assert result.structured_content == {"name": "x" * 10_000}
    assert declared.output_schema is not None


def test_what_a_middleware_answers_is_what_is_given() -> None:
    async def shorten(request: Any, run: Any) -> ToolMessage:
        answer: ToolMessage = await run(request)
        return answer.replace(content='{"item": "hidden"}')

    _, result = called(returning(Stock, Stock("secret")), middleware=[shorten])
    assert (text_of(result), result.structured_content) == ('{"item": "hidden"}', {"item": "hidden"})


@pytest.mark.parametrize(
    "value", [Stock("pen"), Weather(windSpeed=3.5), Gauge.model_validate({"wind": 3.5}), Tree(name="a")]
)
def test_a_result_that_is_kept_is_given_as_data_again(value: Any) -> None:
    async def main() -> list[Any]:
        made = tool(read_only=True)(returning(type(value), value))
        async with served([made], middleware=[ResultCache()]) as client:
            return [(await client.call_tool("made", {})).structured_content for _ in range(2)]

    first, second = asyncio.run(main())
    assert first == second
    assert first is not None


def test_methods_partials_and_coroutines_tell_what_they_return() -> None:
    class Shop:
        def stock(self, item: str = "pen") -> Stock:
            "What is left."
            return Stock(item)

    async def stock(item: str, number: int = 1) -> Stock:
        "What is left."
        return Stock(item, number)

    for function in (Shop().stock, partial(stock, "pen")):
        declared, result = called(tool("stock")(function))
        assert declared.output_schema is not None
        assert result.structured_content is not None
        assert result.structured_content["item"] == "pen"


@dataclasses.dataclass
class Shelf(BaseTool):
    """What is on a shelf."""

    number: int = 3

    def _run(self, item: str = "pen") -> Stock:
        return Stock(item, self.number)


def test_tools_need_not_be_hashable_nor_listed_before_they_are_called() -> None:
    async def main() -> CallToolResult:
        async with served([Shelf()], mode="legacy") as client:
            return await client.session.call_tool("shelf", {})

    result = asyncio.run(main())
    assert result.structured_content == {"item": "pen", "left": 3, "checked": None}


def test_hints_and_titles_are_told() -> None:
    @tool(read_only=True, idempotent=True, metadata={"mcp": {"title": "What is left", "openWorldHint": False}})
    def stock() -> Stock:
        "What is left."
        return Stock("pen")

    declared, _ = called(stock)
    assert declared.title == "What is left"
    assert declared.annotations is not None
    assert declared.annotations.model_dump(exclude_none=True) == {
        "read_only_hint": True,
        "idempotent_hint": True,
        "open_world_hint": False,
    }


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
kinds = st.sampled_from([dict[str, Any], dict[str, int], dict[str, list[float]], Place, Stock, Weather, Tree])


@settings(max_examples=40, deadline=None)
@given(kinds, values)
def test_no_client_is_ever_given_what_it_refuses(kind: Any, value: Any) -> None:
    _, result = called(returning(kind, value))  # the client raises on data that is missing or does not fit
    assert result.is_error == (result.structured_content is None)
    if result.structured_content is not None:
        json.dumps(result.structured_content, allow_nan=False)
