"""What is said about a tool is refused where it makes no sense."""

from __future__ import annotations

from typing import Any

import pytest

from surehand import BaseTool, OptionError, Tool, ToolNode, tool
from surehand.errors import ToolDefinitionError


def echo(word: str) -> str:
    """Say it again."""
    return word


SENSELESS: list[dict[str, Any]] = [
    {"description": 5},
    {"return_direct": "yes"},
    {"response_format": "pair"},
    {"tags": "one"},
    {"tags": 5},
    {"tags": [5]},
    {"metadata": [1]},
    {"handle_tool_errors": 5},
    {"timeout": "soon"},
]


@pytest.mark.parametrize("fields", SENSELESS)
def test_an_option_of_a_function_that_makes_no_sense_is_refused_by_name(fields: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=f"^{next(iter(fields))}="):
        tool(**fields)(echo)


@pytest.mark.parametrize("fields", [fields for fields in SENSELESS if "description" not in fields])
def test_an_attribute_of_a_tool_class_that_makes_no_sense_is_refused_by_name(fields: dict[str, Any]) -> None:
    class Echo(BaseTool):
        def _run(self, word: str) -> str:
            return word

    made = Echo()
    vars(made).update(fields)
    with pytest.raises(OptionError, match=f"^{next(iter(fields))}="):
        _ = made.spec


@pytest.mark.parametrize("fields", [{"tags": "one"}, {"metadata": 5}, {"timeout": 0}, {"colour": "red"}])
def test_a_configuration_that_makes_no_sense_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        tool(echo).with_config(**fields)


def test_a_tool_is_not_made_into_a_tool_again() -> None:
    with pytest.raises(ToolDefinitionError, match="it is a tool already"):
        Tool.from_function(tool(echo))


@pytest.mark.parametrize(
    ("misspelt", "near"),
    [("timout", "timeout"), ("desciption", "description"), ("return_directly", "return_direct")],
)
def test_a_misspelt_option_of_a_tool_is_refused_with_the_near_one(misspelt: str, near: str) -> None:
    options: dict[str, Any] = {misspelt: 3}

    with pytest.raises(OptionError, match=f"Did you mean '{near}'"):
        tool(**options)(echo)


@pytest.mark.parametrize(
    ("misspelt", "near"),
    [("time_out", "timeout"), ("middlewares", "middleware"), ("stop_on_fail", "stop_on_failure")],
)
def test_a_misspelt_option_of_a_node_is_refused_with_the_near_one(misspelt: str, near: str) -> None:
    options: dict[str, Any] = {misspelt: 3}

    with pytest.raises(OptionError, match=f"Did you mean '{near}'"):
        ToolNode([echo], **options)
