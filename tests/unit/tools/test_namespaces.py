"""Tools under a prefix."""

from __future__ import annotations

from typing import Any

import pytest

from support.turns import turn
from surehand import BaseTool, OptionError, ToolContext, ToolDefinitionError, ToolNode, prefixed, tool


@tool(read_only=True, timeout=3, tags=["web"], metadata={"owner": "ann"})
def search(query: str, ctx: ToolContext) -> str:
    """Search the web."""
    return f"{ctx.tool_name}: {query}"


class Send(BaseTool):
    """Send a mail."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def _run(self, text: str) -> str:
        self.sent.append(text)
        return "sent"


def answer_to(node: ToolNode, name: str, **args: Any) -> Any:
    return node.invoke([turn((name, args))])[0]


def test_a_tool_under_a_prefix_is_the_same_tool_by_another_name() -> None:
    [renamed] = prefixed("github", [search])
    assert (renamed.name, renamed.spec.name, renamed.description) == (
        "github_search",
        "github_search",
        "Search the web.",
    )
    assert renamed.to_openai()["function"]["parameters"] == search.to_openai()["function"]["parameters"]
    assert (renamed.spec.options, renamed.spec.tags) == (search.spec.options, search.spec.tags)
    assert renamed.spec.metadata == search.spec.metadata


def test_the_tool_that_was_given_keeps_its_name() -> None:
    prefixed("github", [search])
    assert (search.name, search.spec.name) == ("search", "search")


def test_it_is_called_answered_and_told_by_its_new_name() -> None:
    answer = answer_to(ToolNode(prefixed("github", [search])), "github_search", query="x")
    assert (answer.content, answer.name) == ("github_search: x", "github_search")
    assert prefixed("github", [search])[0].invoke({"query": "x"}) == "github_search: x"


def test_a_class_keeps_its_state_and_a_function_becomes_a_tool() -> None:
    def plain(number: int) -> int:
        """Return it."""
        return number

    send = Send()
    node = ToolNode(prefixed("mail", [send, plain]))
    assert answer_to(node, "mail_send", text="hi").content == "sent"
    assert answer_to(node, "mail_plain", number=2).content == "2"
    assert send.sent == ["hi"]


def test_prefixes_add_up() -> None:
    assert [renamed.spec.name for renamed in prefixed("a", prefixed("b", [search]))] == ["a_b_search"]


def test_options_are_given_under_the_new_name() -> None:
    node = ToolNode(prefixed("github", [search]), overrides={"github_search": {"requires_approval": True}})
    assert "needs a human's approval" in answer_to(node, "github_search", query="x").text


@pytest.mark.parametrize("prefix", ["", "  ", None, 3])
def test_a_prefix_that_says_nothing_is_refused(prefix: Any) -> None:
    with pytest.raises(OptionError, match="prefix"):
        prefixed(prefix, [search])


def test_a_name_that_gets_too_long_is_refused() -> None:
    with pytest.raises(ToolDefinitionError, match="has 71 characters"):
        prefixed("x" * 64, [search])


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ToolDefinitionError, match="'github_search': two tools have this name"):
        prefixed("github", [search, search])


def test_a_prefix_that_makes_two_names_one_is_told_where_they_meet() -> None:
    @tool("b_search")
    def other() -> str:
        """Search too."""
        return "other"

    with pytest.raises(ToolDefinitionError, match="'a_b_search': two tools have this name"):
        ToolNode([*prefixed("a", [other]), *prefixed("a_b", [search])])
