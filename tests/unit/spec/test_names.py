from __future__ import annotations

import functools

import pytest

from surehand.errors import ToolDefinitionError
from surehand.spec import check_tool_name, name_of, snake_case


@pytest.mark.parametrize("name", ["get_weather", "get-weather", "查询", "Code Calculator!", "a.b", "x" * 64])
def test_names_beyond_what_providers_take_are_allowed(name: str) -> None:
    assert check_tool_name(name) == name


@pytest.mark.parametrize("name", ["", "  ", " a", "a ", "a\n", "a\tb", "a\x00", "x" * 65, None, 3, b"a"])
def test_names_that_cannot_be_meant_are_refused(name: object) -> None:
    with pytest.raises(ToolDefinitionError, match="its name"):
        check_tool_name(name)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("SearchTheWeb", "search_the_web"), ("HTTPTool", "http_tool"), ("search", "search"), ("GetV2Item", "get_v2_item")],
)
def test_class_names_become_snake_case(name: str, wanted: str) -> None:
    assert snake_case(name) == wanted


class WebSearch:
    def __call__(self) -> None: ...


def search() -> None: ...


@pytest.mark.parametrize(
    ("function", "wanted"),
    [(search, "search"), (WebSearch(), "web_search"), (functools.partial(functools.partial(search)), "search")],
)
def test_callables_go_by_a_name(function: object, wanted: str) -> None:
    assert name_of(function) == wanted


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(ToolDefinitionError, match="name="):
        name_of(lambda: None)
