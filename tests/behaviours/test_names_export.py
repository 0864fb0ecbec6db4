"""Names on the way to a provider: NAME-07, NAME-08."""

from __future__ import annotations

import re

import pytest

from surehand.errors import ToolDefinitionError
from surehand.messages import AIMessage
from surehand.nodes import ToolNode
from surehand.tools import Tool
from surehand.tools.export import export_names, original_names, to_anthropic, to_mcp, to_openai

LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def echo(n: int) -> int:
    return n


def named(name: str) -> Tool:
    return Tool.from_function(echo, name=name)


def test_NAME_07_two_names_that_are_one_on_the_wire_are_refused_naming_both() -> None:
    with pytest.raises(ToolDefinitionError) as caught:
        export_names(["get.user", "get user"])
    message = str(caught.value)
    assert "'get.user'" in message
    assert "'get user'" in message
    assert "'get_user'" in message


def test_NAME_07_an_illegal_name_that_becomes_a_legal_ones_twin_is_refused() -> None:
    with pytest.raises(ToolDefinitionError, match="get_user"):
        export_names(["get_user", "get user"])


@pytest.mark.parametrize("name", ["Code Calculator!", "查询", "a b.c/d", "naïve", "x" * 64])
def test_NAME_08_every_provider_gets_a_legal_name(name: str) -> None:
    spec = named(name).spec
    for wire in (to_openai(spec)["function"]["name"], to_anthropic(spec)["name"], to_mcp(spec)["name"]):
        assert LEGAL.fullmatch(wire)


def test_NAME_08_the_way_back_leads_to_the_original_name() -> None:
    wires = export_names(["Code Calculator!", "查询", "plain"])
    assert original_names(wires)[wires["查询"]] == "查询"
    assert wires["plain"] == "plain"


@pytest.mark.parametrize("name", ["Code Calculator!", "查询"])
def test_NAME_08_a_call_under_the_exported_name_reaches_the_tool(name: str) -> None:
    tool = named(name)
    wire = tool.to_openai()["function"]["name"]
    [answer] = ToolNode([tool]).invoke([AIMessage(tool_calls=[{"id": "c1", "name": wire, "args": {"n": 5}}])])
    assert (answer.content, answer.name, answer.tool_call_id) == ("5", name, "c1")
