"""Whole programs with LangGraph and LangChain around our nodes and tools."""

# LangChain's own types are partly unknown.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false, reportMissingTypeStubs=false

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool as their_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import InjectedState, ToolRuntime
from langgraph.prebuilt import ToolNode as TheirNode
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from support.langgraphs import Prepared, asking, call, config, graph_of, texts
from surehand import InjectedState as OwnState
from surehand import ToolContext, tool, tools_condition
from surehand.integrations.langchain.export import to_langchain_tool
from surehand.integrations.langchain.nodes import ToolNode


@their_tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def divide(a: float, b: float) -> float:
    """Divide."""
    return a / b


def loop(model: Prepared, *tools: Any, schema: Any = MessagesState, **options: Any) -> Any:
    """A model and its tools, until there are no calls."""

    def ask(state: Any) -> Any:
        messages = state["messages"] if isinstance(state, dict) else state.messages
        return {"messages": [model.invoke(messages)]}

    graph: Any = StateGraph(schema).add_node("model", ask).add_node("tools", ToolNode(tools))
    graph.add_edge(START, "model").add_edge("tools", "model")
    return graph.add_conditional_edges("model", tools_condition, ["tools", END]).compile(**options)


class State(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages]
    city: str = "Rome"


@pytest.mark.parametrize("schema", [MessagesState, State])
@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_a_loop_with_a_model_corrects_itself(schema: Any, way: str) -> None:
    replies = [
        AIMessage("", tool_calls=[call("add", "1", a="two", b=1), call("divide", "2", a=1, b=0)]),
        AIMessage("", tool_calls=[call("add", "3", a=2, b=1), call("divide", "4", a=1, b=2)]),
        AIMessage("done"),
    ]
    graph = loop(Prepared(replies=replies), add, divide, schema=schema)
    given = {"messages": [HumanMessage("go")]}
    found = asyncio.run(graph.ainvoke(given)) if way == "ainvoke" else graph.invoke(given)
    assert [m.status for m in found["messages"] if isinstance(m, ToolMessage)] == ["error"] * 2 + ["success"] * 2
    assert texts(found)[2:] == ["3", "0.5"]
    assert found["messages"][-1].content == "done"


def test_state_store_and_context_reach_tools_of_both_kinds() -> None:
    @their_tool
    def theirs(city: Annotated[str, InjectedState("city")], runtime: ToolRuntime[Any, Any]) -> str:
        """Theirs."""
        assert runtime.store is not None
        item = runtime.store.get(("ns",), "k")
        assert item is not None
        return f"{city} {item.value['v']} {runtime.context['user']}"

    @tool
    def ours(city: Annotated[str, OwnState("city")], ctx: ToolContext) -> str:
        """Ours."""
        return f"{city} {ctx.store.get(('ns',), 'k').value['v']} {ctx.context['user']}"

    store = InMemoryStore()
    store.put(("ns",), "k", {"v": 7})
    graph: Any = StateGraph(State).add_node("tools", ToolNode([theirs, ours])).add_edge(START, "tools")
    given = {**asking(call("theirs", "1"), call("ours", "2")), "city": "Oslo"}
    assert texts(graph.compile(store=store).invoke(given, context={"user": "ada"})) == ["Oslo 7 ada"] * 2


def test_two_hand_offs_in_one_turn_both_arrive() -> None:
    @their_tool
    def hand_off(to: str, runtime: ToolRuntime) -> Command[Any]:
        """Hand off."""
        answer = ToolMessage(f"to {to}", tool_call_id=runtime.tool_call_id)
        return Command(graph=Command.PARENT, goto=to, update={"messages": [*runtime.state["messages"], answer]})

    inner = graph_of(ToolNode([hand_off, add]))
    seen: list[str] = []
    graph: Any = StateGraph(MessagesState).add_node("inner", inner, destinations=("ada", "bob"))
    for name in ("ada", "bob"):
        graph.add_node(name, partial(_visited, seen, name))
    calls = [call("hand_off", "1", to="ada"), call("add", "2", a=1, b=1), call("hand_off", "3", to="bob")]
    found = graph.add_edge(START, "inner").compile().invoke(asking(*calls))
    assert sorted(seen) == ["ada", "bob"]
    assert texts(found) == ["to ada", "to bob", "2"]


def _visited(seen: list[str], name: str, state: Any) -> dict[str, Any]:
    del state
    seen.append(name)
    return {}


def test_the_agent_of_langchain_runs_our_tools() -> None:
    @tool
    def shout(word: str, ctx: ToolContext) -> str:
        """Shout a word."""
        return f"{word.upper()} {len(ctx.state['messages'])} {ctx.call_id}"

    replies = [AIMessage("", tool_calls=[call("shout", "1", word="hi"), call("shout", "2")]), AIMessage("done")]
    model = Prepared(replies=replies)
    agent: Any = create_agent(model, [to_langchain_tool(shout)])
    found = agent.invoke({"messages": [HumanMessage("go")]})
    good, bad = [m for m in found["messages"] if isinstance(m, ToolMessage)]
    assert good.content == "HI 2 1"
    assert (bad.status, bad.response_metadata["surehand"]["kind"]) == ("error", "invalid_arguments")
    assert model.bound[0].args_schema["properties"] == {"word": {"type": "string"}}


def test_the_node_of_langgraph_runs_our_tools() -> None:
    async def main() -> Any:
        return await graph_of(TheirNode([to_langchain_tool(divide)])).ainvoke(
            asking(call("divide", a="1", b=4)), config()
        )

    assert texts(asyncio.run(main())) == ["0.25"]


def test_a_tool_of_ours_is_called_by_bare_arguments_as_any_of_langchains_is() -> None:
    exported = to_langchain_tool(divide)
    assert exported.invoke({"a": 1, "b": 2}) == "0.5"
    assert exported.invoke(call("divide", a=1, b=2)).content == "0.5"


@pytest.mark.timeout(600)  # four programs, each of which imports all of LangGraph
def test_with_a_process_for_each_answer_each_effect_happens_once_and_as_it_was_approved(tmp_path: Path) -> None:
    pytest.importorskip("langgraph.checkpoint.sqlite")
    done = tmp_path / "done"

    def step(order: str) -> list[str]:
        program = Path(__file__).parents[1] / "support" / "langgraph_program.py"
        command = [sys.executable, str(program), str(tmp_path / "db"), str(done), order]
        environment = {**os.environ, "PYTHONPATH": str(program.parents[1])}
        return subprocess.run(
            command, check=True, capture_output=True, text=True, timeout=300, env=environment
        ).stdout.split("\n")[:-1]

    assert step("begin") == ["wipe"]
    assert step("approve") == ["send to ada?"]
    assert step("yes") == ["delete?"]
    told = ["0 wiped None", "1 sent None", "2 charged {'receipt': 20}", "3 noted ['hi']", "4 deleted None"]
    assert sorted(step("no")) == told
    lines = done.read_text().split("\n")[:-1]
    assert sorted(lines[:2]) == ["charge 20", "note hi"]
    assert lines[2:] == ["wipe /a", "send yes", "delete no"]


def test_a_run_is_interrupted_in_the_middle_of_a_loop_and_resumed() -> None:
    @their_tool
    def confirm() -> str:
        """Confirm."""
        return str(interrupt("sure?"))

    replies = [AIMessage("", tool_calls=[call("confirm", "1"), call("add", "2", a=1, b=1)]), AIMessage("done")]
    graph = loop(Prepared(replies=replies), confirm, add, checkpointer=InMemorySaver())
    graph.invoke({"messages": [HumanMessage("go")]}, config())
    found = graph.invoke(Command(resume="sure"), config())
    assert texts(found) == ["sure", "2"]
    assert found["messages"][-1].content == "done"
