"""Mistakes in a graph are errors, never log lines; conversations and commands follow written rules."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import pytest
from pydantic import BaseModel

from surehand import (
    END,
    START,
    AIMessage,
    Command,
    GraphRecursionError,
    HumanMessage,
    InputError,
    MessagesState,
    NodeError,
    RoutingError,
    Send,
    StateGraph,
    ToolMessage,
    ToolNode,
    tool,
)
from surehand.graph.actions import NodeAction


def union(left: dict[str, str], right: dict[str, str]) -> dict[str, str]:
    return {**left, **right}


class State(TypedDict):
    files: Annotated[dict[str, str], union]
    plain: str


def one(node: NodeAction, schema: Any = State) -> Any:
    return StateGraph(schema).add_node("node", node).add_edge(START, "node").compile()


def test_HIST_15_a_plain_list_of_messages_is_never_overwritten_by_tool_results() -> None:
    class Plain(TypedDict):
        messages: list  # type: ignore[type-arg]  # pyright: ignore[reportMissingTypeArgument] - as it was reported

    @tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    call = AIMessage(tool_calls=[{"id": "c1", "name": "add", "args": {"a": 1, "b": 2}}])
    result = one(ToolNode([add]), Plain).invoke({"messages": [HumanMessage("1 + 2?"), call]})["messages"]
    assert [message.type for message in result] == ["human", "ai", "tool"]


def test_CMD_11_two_nodes_that_write_one_key_are_merged_by_its_reducer() -> None:
    builder = StateGraph(State)
    for name in ("a", "b"):
        builder.add_node(name, lambda state, name=name: {"files": {name: "text"}}).add_edge(START, name)
    assert builder.compile().invoke({})["files"] == {"a": "text", "b": "text"}


def test_CMD_11_without_a_reducer_the_error_names_the_key_and_both_nodes() -> None:
    builder = StateGraph(State)
    for name in ("a", "b"):
        builder.add_node(name, lambda state, name=name: {"plain": name}).add_edge(START, name)
    with pytest.raises(NodeError, match="Node 'a': it and node 'b' wrote the key 'plain' in one step"):
        builder.compile().invoke({})


def test_CMD_11_the_commands_of_two_tools_are_merged_by_the_reducer() -> None:
    @tool
    def write(name: str) -> Command:
        """Write a file."""
        return Command(update={"files": {name: "text"}, "messages": [ToolMessage(name, tool_call_id=name)]})

    class Files(MessagesState):
        files: Annotated[dict[str, str], union]

    calls = AIMessage(tool_calls=[{"id": name, "name": "write", "args": {"name": name}} for name in ("a", "b")])
    result = one(ToolNode([write], commands=True), Files).invoke({"messages": [calls]})
    assert result["files"] == {"a": "text", "b": "text"}
    assert [m.tool_call_id for m in result["messages"] if isinstance(m, ToolMessage)] == ["a", "b"]


def test_CMD_13_each_tools_message_appears_once_in_the_updates() -> None:
    def node(state: MessagesState) -> list[Command]:
        return [Command(update={"messages": [AIMessage(word)]}) for word in "abc"]

    updates = [update["node"]["messages"] for update in one(node, MessagesState).stream({})]
    assert [message.content for messages in updates for message in messages] == ["a", "b", "c"]


def test_LOOP_03_at_the_limit_nothing_that_was_reached_is_lost() -> None:
    graph = StateGraph(MessagesState).add_node("node", lambda state: AIMessage("again")).add_edge(START, "node")
    with pytest.raises(GraphRecursionError) as caught:
        graph.add_edge("node", "node").compile().invoke("go", {"recursion_limit": 3})
    assert [message.content for message in caught.value.state["messages"]] == ["go", "again", "again", "again"]


@pytest.mark.parametrize("answer", ["typo", None, Send("typo", {}), Send(END, {})])
def test_a_path_to_an_unknown_node_is_an_error(answer: Any) -> None:
    graph = StateGraph(State).add_node("node", lambda state: None).add_edge(START, "node")
    with pytest.raises(RoutingError, match="Expected one of: node"):
        graph.add_conditional_edges("node", lambda state: answer).compile().invoke({})


def test_a_command_to_an_unknown_node_is_an_error() -> None:
    with pytest.raises(RoutingError, match="'typo'"):
        one(lambda state: Command(goto="typo")).invoke({})


def test_an_answer_that_a_path_map_does_not_have_is_an_error_that_names_the_answers() -> None:
    graph = StateGraph(State).add_node("node", lambda state: None).add_edge(START, "node")
    with pytest.raises(RoutingError, match=r"'maybe'.*Expected one of: yes, no"):
        graph.add_conditional_edges("node", lambda state: "maybe", {"yes": "node", "no": END}).compile().invoke({})


def test_a_message_that_a_node_returns_is_part_of_the_conversation() -> None:
    assert one(lambda state: AIMessage("kept"), MessagesState).invoke("hi")["messages"][-1].content == "kept"


def test_a_message_where_the_state_has_no_place_for_it_is_an_error() -> None:
    with pytest.raises(NodeError, match="none of State"):
        one(lambda state: AIMessage("lost")).invoke({})


def test_unknown_keys_are_errors_in_updates_and_in_the_input() -> None:
    with pytest.raises(NodeError, match=r"'fils'.*Did you mean 'files'"):
        one(lambda state: {"fils": {}}).invoke({})
    with pytest.raises(InputError, match="Did you mean 'plain'"):
        one(lambda state: None).invoke({"plan": "x"})


def test_an_empty_input_runs_the_graph() -> None:
    assert one(lambda state: {"plain": "ran"}).invoke({})["plain"] == "ran"


def test_what_a_node_makes_of_a_pydantic_state_is_validated() -> None:
    class Checked(BaseModel):
        count: int = 0

    with pytest.raises(NodeError, match=r"no valid Checked: \$\.count: Input should be a valid integer"):
        one(lambda state: {"count": "many"}, Checked).invoke({})


def test_a_graph_of_one_step_runs_with_a_limit_of_one() -> None:
    assert one(lambda state: {"plain": "ran"}).invoke({}, {"recursion_limit": 1})["plain"] == "ran"
