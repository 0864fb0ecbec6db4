"""What a graph's stream says of tools and of pauses."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import pytest

from surehand import (
    START,
    AIMessage,
    Command,
    CompiledGraph,
    HumanMessage,
    MemorySaver,
    MessagesState,
    StateGraph,
    ToolContext,
    ToolMessage,
    ToolNode,
    interrupt,
    tool,
)
from surehand.events import CallFinished

THREAD: Any = {"configurable": {"thread_id": "t"}}


def calling(name: str, *ids: str) -> list[Any]:
    return [HumanMessage("go"), AIMessage(tool_calls=[{"id": id, "name": name, "args": {"word": id}} for id in ids])]


def tools_graph(*tools: Any, schema: Any = MessagesState, **options: Any) -> CompiledGraph:
    builder = StateGraph(schema).add_node("tools", ToolNode([*tools], commands=True)).add_edge(START, "tools")
    return builder.compile(**options)


@pytest.mark.parametrize("mode", ["updates", "values", "messages", "calls"])
def test_CMD_13_the_message_of_each_tool_with_a_command_appears_once_in_each_stream(mode: Any) -> None:
    def last(left: str, right: str) -> str:
        return right or left

    class Words(MessagesState):
        word: Annotated[str, last]

    @tool
    def write(word: str, context: ToolContext) -> Command:
        """Write a word."""
        return Command(update={"word": word, "messages": [ToolMessage(word, tool_call_id=context.call_id)]})

    items = list(tools_graph(write, schema=Words).stream(calling("write", "a", "b", "c"), stream_mode=mode))
    assert _answered(mode, items) == ["a", "b", "c"]


def _answered(mode: str, items: list[Any]) -> list[str]:
    """The calls whose answers a stream gave, in its order."""
    if mode == "calls":
        return sorted(event.call_id for event, _ in items if isinstance(event, CallFinished))
    if mode == "values":
        messages: list[Any] = items[-1]["messages"]
    elif mode == "updates":
        messages = [message for update in items for message in update["tools"].get("messages", [])]
    else:
        messages = [message for message, _ in items]
    return [message.tool_call_id for message in messages if isinstance(message, ToolMessage)]


def test_CMD_06_a_pause_is_announced_as_one_with_its_payload_and_as_no_error() -> None:
    @tool
    def ask(word: str) -> str:
        """Ask."""
        return str(interrupt({"say": word}))

    graph = tools_graph(ask, checkpointer=MemorySaver())
    items = list(graph.stream(calling("ask", "c1"), THREAD, stream_mode=["calls", "updates", "messages"]))
    events: list[Any] = [item[0] for mode, item in items if mode == "calls"]
    assert [type(event).__name__ for event in events] == ["CallStarted", "CallPaused"]
    assert [question.value for question in events[1].questions] == [{"say": "c1"}]
    assert [mode for mode, _ in items] == ["calls", "calls", "updates"]
    (question,) = items[-1][1]["__interrupt__"]
    assert (question.value, question.call_id) == ({"say": "c1"}, "c1")


def test_CMD_06_after_the_answer_the_stream_goes_on_with_the_calls_end() -> None:
    @tool
    def ask(word: str) -> str:
        """Ask."""
        return str(interrupt({"say": word}))

    graph = tools_graph(ask, checkpointer=MemorySaver())
    graph.invoke(calling("ask", "c1"), THREAD)
    items = list(graph.stream(Command(resume="hello"), THREAD, stream_mode=["calls", "messages", "updates"]))
    assert [mode for mode, _ in items] == ["calls", "calls", "messages", "updates"]
    assert items[2][1][0].text == "hello"


def test_CMD_06_a_pause_of_a_node_stands_in_the_updates_and_in_the_values() -> None:
    class State(TypedDict, total=False):
        said: str

    def node(state: State) -> State:
        return {"said": interrupt("Your name?")}

    graph = StateGraph(State).add_node("node", node).add_edge(START, "node").compile(checkpointer=MemorySaver())
    *_, (first, updates), (second, values) = graph.stream({}, THREAD, stream_mode=["updates", "values"])
    assert (first, second) == ("updates", "values")
    assert [question.value for question in updates["__interrupt__"]] == ["Your name?"]
    assert values == {"__interrupt__": [*updates["__interrupt__"]]}
