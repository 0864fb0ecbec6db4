"""``compat="langgraph"``: LangGraph's own defaults, words and forms."""

# LangChain's own types are partly unknown.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool as their_tool
from langgraph.prebuilt import InjectedState, InjectedStore
from langgraph.prebuilt.tool_node import ToolInvocationError
from langgraph.types import Command

from support.langgraphs import asking, call, texts
from surehand import OptionError
from surehand.integrations.langchain.nodes import ToolNode


def fail(n: int) -> str:
    """Fail."""
    raise (KeyError("k") if n else ValueError("v"))


def node(*tools: Any, **options: Any) -> ToolNode:
    return ToolNode(tools or [fail], compat="langgraph", **options)


def answer(errors: Any, n: int = 0) -> Any:
    (message,) = node(handle_tool_errors=errors).invoke([AIMessage("", tool_calls=[call("fail", n=n)])])
    return message


def text_of(error: Exception) -> str:
    return f"Error: {error!r}\n Please fix your mistakes."


def for_value_errors(error: ValueError) -> str:
    return f"for {error}"


def for_both(error: ValueError | KeyError) -> str:
    return f"both {error}"


def for_all(error: Any) -> Any:
    return len(str(error))


class Handler:
    def __call__(self, error: Exception) -> str:
        return "handled"


@pytest.mark.parametrize(
    ("errors", "text"),
    [
        (True, text_of(ValueError("v"))),
        ("Sorry.", "Sorry."),
        (ValueError, text_of(ValueError("v"))),
        ((KeyError, ValueError), text_of(ValueError("v"))),
        (for_value_errors, "for v"),
        (for_both, "both v"),
        (for_all, "1"),
        (Handler(), "handled"),
        (lambda _: "anything", "anything"),
    ],
)
def test_errors_are_told_as_langgraph_tells_them(errors: Any, text: str) -> None:
    message = answer(errors)
    assert (message.content, message.status, message.response_metadata) == (text, "error", {})


@pytest.mark.parametrize("errors", [False, None, ValueError, (ValueError,), for_value_errors])
def test_what_is_not_told_is_raised(errors: Any) -> None:
    with pytest.raises(KeyError):
        answer(errors, n=1)


def test_by_default_only_wrong_arguments_are_told() -> None:
    with pytest.raises(ValueError, match="v"):
        node().invoke(asking(call("fail", n=0)))
    (message,) = node().invoke(asking(call("fail", n="x")))["messages"]
    assert message.content == (
        "Error invoking tool 'fail' with kwargs {'n': 'x'} with error:\n"
        " n: Input should be a valid integer, unable to parse string as an integer\n"
        " Please fix the error and try again."
    )
    with pytest.raises(ToolInvocationError) as refused:
        node(handle_tool_errors=False).invoke(asking(call("fail", n="x")))
    assert refused.value.tool_kwargs == {"n": "x"}


def test_rules_that_cannot_be_meant_are_refused_when_the_node_is_made() -> None:
    def about_text(error: str) -> str:
        return error

    for errors in (5, ["a"], about_text, BaseException):
        with pytest.raises(OptionError):
            node(handle_tool_errors=errors)


def test_an_unknown_tool_is_told_in_langgraphs_words() -> None:
    (message,) = node(handle_tool_errors=False).invoke([AIMessage("", tool_calls=[call("nobody")])])
    assert message.content == "Error: nobody is not a valid tool, try one of [fail]."


def test_the_other_calls_end_before_an_exception_goes_up() -> None:
    ended: list[str] = []

    async def slow() -> str:
        """Slow."""
        await asyncio.sleep(0.02)
        ended.append("slow")
        return "ok"

    with pytest.raises(ValueError, match="v"):
        asyncio.run(node(fail, slow).ainvoke(asking(call("fail", "1", n=0), call("slow", "2"))))
    assert ended == ["slow"]


def test_results_are_written_as_langchain_writes_them() -> None:
    values: list[Any] = [3, None, {"a": "é"}, ["a", "b"], [{"type": "text", "text": "x"}], {1}]

    @their_tool
    def give(n: int) -> Any:
        """Give."""
        return values[n]

    calls = [call("give", str(n), n=n) for n in range(len(values))]
    written = ["3", "null", '{"a": "é"}', '["a", "b"]', [{"type": "text", "text": "x"}], "{1}"]
    assert texts(node(give).invoke(asking(*calls))) == written


def test_without_a_store_or_with_a_bare_list_there_is_nothing_to_inject() -> None:
    @their_tool
    def stored(store: Annotated[Any, InjectedStore()]) -> str:
        """Stored."""
        return "x"

    @their_tool
    def placed(city: Annotated[str, InjectedState("city")]) -> str:
        """Placed."""
        return city

    with pytest.raises(ValueError, match="Cannot inject store"):
        node(stored).invoke(asking(call("stored")))
    with pytest.raises(ValueError, match="requires graph state dict"):
        node(placed).invoke(asking(call("placed"))["messages"])


def test_a_command_has_to_bring_its_answer() -> None:
    @their_tool
    def silent(kind: str) -> Any:
        """Silent."""
        own = {"messages": [ToolMessage("x", tool_call_id="1", id="kept")]}
        update: Any = {"nothing": {"messages": []}, "list": [ToolMessage("x", tool_call_id="1")]}.get(kind, own)
        return Command(update=update)

    for kind, words in (("nothing", "matching ToolMessage"), ("list", "list of messages in Command.update")):
        with pytest.raises(ValueError, match=words):
            node(silent).invoke(asking(call("silent", kind=kind)))
    (command,) = node(silent).invoke(asking(call("silent", kind="own")))
    assert command == Command(update={"messages": [ToolMessage("x", tool_call_id="1", id="kept", name="silent")]})


def test_of_two_tools_of_one_name_the_last_is_taken() -> None:
    def first() -> str:
        """First."""
        return "first"

    def second() -> str:
        """Second."""
        return "second"

    second.__name__ = "first"
    assert texts(node(first, second).invoke(asking(call("first")))) == ["second"]


def test_a_runtime_of_any_type_is_known_by_its_name() -> None:
    def look(runtime: Any) -> str:
        """Look."""
        return str(runtime.tool_call_id)

    assert texts(node(look).invoke(asking(call("look")))) == ["1"]
