"""Tools by name."""

from __future__ import annotations

import pytest

from surehand import tool
from surehand.calls import ToolTable
from surehand.errors import OptionError, ToolDefinitionError
from surehand.policy import DEFAULT_OPTIONS, ToolOptions
from surehand.spec import ToolSpec


def _spec(name: str, **options: object) -> ToolSpec:
    return tool(name, **options)(lambda: "x").spec  # type: ignore[call-overload, no-any-return]


def test_the_most_specific_option_wins() -> None:
    table = ToolTable(
        [_spec("plain"), _spec("own", timeout=2.0), _spec("overridden", timeout=2.0)],
        defaults=ToolOptions(timeout=1.0),
        overrides={"overridden": ToolOptions(timeout=3.0)},
    )
    assert [tool.options.timeout for tool in table] == [1.0, 2.0, 3.0]


def test_what_nobody_sets_has_the_documented_default() -> None:
    (only,) = ToolTable([_spec("plain")])
    assert only.options == DEFAULT_OPTIONS


def test_a_tool_may_switch_off_what_the_node_sets() -> None:
    (only,) = ToolTable([_spec("plain", timeout=None, retry=None)], defaults=ToolOptions(timeout=1.0))
    assert (only.options.timeout, only.options.retry) == (None, None)


def test_an_override_of_an_unknown_tool_is_refused() -> None:
    with pytest.raises(OptionError, match="'nosuch'"):
        ToolTable([_spec("plain")], overrides={"nosuch": ToolOptions()})


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ToolDefinitionError, match="two tools have this name"):
        ToolTable([_spec("same"), _spec("same")])


@pytest.mark.parametrize(
    "name", ["get_user ", "GET_USER", "get-user", "functions.get_user", " Functions.Get-User", "get_user()"]
)
def test_spelling_noise_finds_the_one_tool(name: str) -> None:
    found = ToolTable([_spec("get_user"), _spec("get_users")]).like(name)
    assert found is not None
    assert found.spec.name == "get_user"


def test_noise_that_fits_two_tools_finds_none() -> None:
    assert ToolTable([_spec("get_user"), _spec("get-user")]).like("GET_USER") is None


def test_a_prefix_that_is_part_of_a_name_is_not_noise() -> None:
    table = ToolTable([_spec("a.x"), _spec("b.x")])
    assert table.like("x") is None
    assert table.get("a.x") is not None


@pytest.mark.parametrize(
    "name",
    [
        "search_web<|channel|>commentary",
        'search_web{"q": 1}',
        "tools/search_web:0",
        "ｓｅａｒｃｈ＿ｗｅｂ",
        "<search_web>" + "x" * 90,
    ],
)
def test_a_name_inside_of_what_was_called_is_near(name: str) -> None:
    assert ToolTable([_spec("search_web"), _spec("send_mail")]).near(name) == ["search_web"]


def test_of_names_that_differ_only_in_spelling_all_are_near() -> None:
    assert ToolTable([_spec("Get_A"), _spec("get-a")]).near("GET_A") == ["Get_A", "get-a"]


def test_near_names_are_few_and_the_nearest_first() -> None:
    table = ToolTable([_spec("get_weather"), _spec("get_water"), _spec("send_mail")])
    assert table.near("get_wether")[0] == "get_weather"
    assert "send_mail" not in table.near("get_wether")


def test_a_name_of_any_length_is_looked_up_quickly() -> None:
    assert ToolTable([_spec("a")]).near("x" * 1_000_000) == []
