from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.command import surehand as command

TIDY = '''
from typing import Annotated

from pydantic import Field

from surehand import tool


@tool(read_only=True)
def find_order(number: Annotated[int, Field(description="The number of the order.")]) -> int:
    """Look up one order by its number."""
    return number
'''


@pytest.fixture
def tidy(tmp_path: Path) -> str:
    path = tmp_path / "tidy_shop.py"
    path.write_text(TIDY, encoding="utf-8")
    return str(path)


def test_clean_tools_exit_with_0_and_say_what_they_cost(tidy: str) -> None:
    ended = command("lint", tidy)
    assert ended.code == 0
    assert "1 tool, nothing found; about" in ended.out
    assert "by estimate" in ended.out


def test_findings_exit_with_1_and_are_grouped_by_tool(shop: str) -> None:
    ended = command("lint", shop)
    assert ended.code == 1
    assert ended.out.index("find_order") < ended.out.index("'detail'") < ended.out.index("greet")
    assert "warning       no-argument-description" in ended.out
    assert "\x1b[" not in ended.out


def test_json_has_one_stable_form(shop: str) -> None:
    ended = command("lint", f"{shop}:greet", "--format", "json")
    report = json.loads(ended.out)
    assert set(report) == {"version", "tools", "findings"}
    assert report["version"] == 1
    assert report["tools"][0]["name"] == "greet"
    assert report["findings"] == [
        {
            "rule": "short-description",
            "tool": "greet",
            "place": "",
            "message": "Its description 'Say hello.' says no more than its name.",
            "remedy": "Say what it does, when to use it, and what it returns.",
            "severity": "warning",
        }
    ]
    assert ended.code == 1


def test_rules_are_selected_and_ignored(shop: str) -> None:
    assert command("lint", f"{shop}:greet", "--ignore", "short-description").code == 0
    assert command("lint", shop, "--select", "no-timeout,never-awaits").code == 0


def test_a_threshold_of_tokens_is_a_finding(tidy: str) -> None:
    ended = command("lint", tidy, "--max-tokens", "5")
    assert (ended.code, "token-cost" in ended.out) == (1, True)


def test_strict_forms_are_looked_at_where_they_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "loose_shop.py"
    path.write_text(TIDY.replace("int, Field(", "dict[str, int], Field("), encoding="utf-8")
    assert command("lint", str(path)).code == 0
    ended = command("lint", str(path), "--strict-providers", "openai,anthropic")
    assert (ended.code, "refused-in-strict" in ended.out) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no_such_module"], "There is no module"),
        (["{tidy}", "--select", "nonsense"], "select="),
        (["{tidy}", "--strict-providers", "acme"], "strict_providers="),
        (["{tidy}", "--format", "xml"], "xml"),
    ],
)
def test_what_cannot_be_meant_exits_with_2(tidy: str, arguments: list[str], words: str) -> None:
    ended = command("lint", *(argument.format(tidy=tidy) for argument in arguments))
    assert ended.code == 2
    assert words in ended.err
