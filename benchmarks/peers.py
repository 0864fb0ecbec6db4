"""The same work with LangGraph and LangChain, where they are installed."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from importlib.util import find_spec
from typing import Any


def is_there() -> bool:
    """Whether the peers are installed."""
    return find_spec("langgraph") is not None and find_spec("langchain_core") is not None


def _config() -> dict[str, Any]:
    from langgraph.runtime import Runtime  # noqa: PLC0415 - an optional peer

    # outside a graph their node asks for the runtime that a graph would set
    return {"configurable": {"__pregel_runtime": Runtime()}}


def langchain_tool(function: Callable[..., Any]) -> Any:
    """The function as a tool of LangChain's."""
    from langchain_core.tools import tool  # noqa: PLC0415 - an optional peer

    return tool(function)


def node(function: Callable[..., Any]) -> Any:
    """Their node with the function as its only tool."""
    from langgraph.prebuilt import ToolNode  # noqa: PLC0415 - an optional peer

    return ToolNode([langchain_tool(function)], handle_tool_errors=True)


def _message(calls: Sequence[tuple[str, str, str]]) -> Any:
    from langchain_core.messages import AIMessage  # noqa: PLC0415 - an optional peer

    read = [{"id": id, "name": name, "args": json.loads(args), "type": "tool_call"} for id, name, args in calls]
    return AIMessage(content="", tool_calls=read)


def turn(function: Callable[..., Any], calls: Sequence[tuple[str, str, str]]) -> Callable[[], Awaitable[object]]:
    """All calls in one turn."""
    made, config = node(function), _config()
    return lambda: made.ainvoke([_message(calls)], config)


def one_by_one(function: Callable[..., Any], calls: Sequence[tuple[str, str, str]]) -> Callable[[], object]:
    """Each call as a turn of its own, through their sync door."""
    made, config = node(function), _config()
    return lambda: [made.invoke([_message([call])], config) for call in calls]


def _conversation(name: str, calls: Sequence[tuple[str, str, str]], older: int) -> list[Any]:
    """A turn of calls after so many older turns of one call each."""
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage  # noqa: PLC0415 - an optional peer

    before: list[Any] = []
    for number in range(older):
        call: Any = {"id": f"old{number}", "name": name, "args": {"city": "Oslo", "days": number}, "type": "tool_call"}
        asked = AIMessage("", tool_calls=[call])
        before += [HumanMessage("Go."), asked, ToolMessage("rain", tool_call_id=f"old{number}"), AIMessage("Done.")]
    return [*before, HumanMessage("Go."), _message(calls)]


def node_turn(
    made: Any, name: str, calls: Sequence[tuple[str, str, str]], *, older: int, is_async: bool
) -> Callable[[], Any]:
    """All calls in one turn of a node of theirs, or of one that stands in its place."""
    config, invoke = _config(), made.ainvoke if is_async else made.invoke
    return lambda: invoke({"messages": _conversation(name, calls, older)}, config)


def graph_turn(
    made: Any, name: str, calls: Sequence[tuple[str, str, str]], *, older: int, is_async: bool
) -> Callable[[], Any]:
    """The same in a graph of theirs that has nothing but this node."""
    from langgraph.graph import END, START, MessagesState, StateGraph  # noqa: PLC0415 - an optional peer

    building: Any = StateGraph(MessagesState)
    building.add_node("tools", made)
    building.add_edge(START, "tools")
    building.add_edge("tools", END)
    graph = building.compile()
    invoke = graph.ainvoke if is_async else graph.invoke
    return lambda: invoke({"messages": _conversation(name, calls, older)})


def agent(function: Callable[..., Any], name: str, args: dict[str, Any]) -> Callable[[], object] | None:
    """Their agent with a scripted model: one call, one answer; None where LangChain is not installed."""
    if find_spec("langchain") is None:
        return None
    from langchain.agents import create_agent  # noqa: PLC0415 - an optional peer
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel  # noqa: PLC0415
    from langchain_core.messages import AIMessage  # noqa: PLC0415
    from langchain_core.tools import tool  # noqa: PLC0415

    class Scripted(GenericFakeChatModel):
        """A scripted model that takes tools."""

        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            """The same model: the script knows its tools."""
            return self

    def replies() -> Any:
        while True:
            yield AIMessage(content="", tool_calls=[{"id": "c1", "name": name, "args": args, "type": "tool_call"}])
            yield AIMessage(content="Done.")

    built = create_agent(Scripted(messages=replies()), [tool(function)])
    return lambda: built.invoke({"messages": [("user", "Go.")]})
