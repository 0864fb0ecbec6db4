from __future__ import annotations

import asyncio
import operator
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

import pytest
from pydantic import BaseModel

from surehand.checkpoints import CheckpointRow, MemorySaver
from surehand.control import RunConfig, current_runtime
from surehand.errors import GraphDefinitionError, GraphRecursionError, InputError, NodeError
from surehand.graph import END, START, Command, CompiledGraph, MessagesState, Send, StateGraph, add_messages
from surehand.graph.actions import NodeAction
from surehand.interrupts import interrupt
from surehand.messages import AIMessage, RemoveMessage
from surehand.policy import RetryPolicy
from surehand.stores import InMemoryStore, Store


class Outer(TypedDict):
    log: Annotated[list[str], operator.add]
    shared: str
    only_outer: str


class Inner(TypedDict):
    log: Annotated[list[str], operator.add]
    shared: str
    only_inner: str


def inner_of(*nodes: NodeAction, schema: Any = Inner, store: Store | None = None) -> CompiledGraph:
    steps = [(f"step{number}", node) for number, node in enumerate(nodes)]
    return StateGraph(schema).add_sequence(steps).add_edge(START, "step0").compile(store=store)


def outer_of(*nodes: NodeAction, schema: Any = Outer) -> CompiledGraph:
    return inner_of(*nodes, schema=schema)


def adds(word: str) -> NodeAction:
    return lambda state: {"log": [word]}


def invoke(door: str, graph: CompiledGraph, given: Any) -> Any:
    return graph.invoke(given) if door == "sync" else asyncio.run(graph.ainvoke(given))


both_doors = pytest.mark.parametrize("door", ["sync", "async"])


@both_doors
def test_a_subgraph_works_on_the_keys_that_both_graphs_have(door: str) -> None:
    seen: list[Any] = []

    def first(state: Inner) -> dict[str, Any]:
        seen.append(state)
        return {"shared": state["shared"] + "!", "only_inner": "x"}

    inner = inner_of(first, lambda state: {"shared": state["shared"] + "!"})
    result = invoke(door, outer_of(inner), {"shared": "hi", "only_outer": "kept", "log": ["a"]})
    assert seen == [{"shared": "hi", "log": ["a"]}]
    assert result == {"shared": "hi!!", "only_outer": "kept", "log": ["a"]}


@both_doors
def test_what_a_subgraph_adds_to_a_list_is_added_once(door: str) -> None:
    inner = inner_of(lambda state: {"log": ["b"]}, lambda state: {"log": ["c"]})
    assert invoke(door, outer_of(inner), {"log": ["a"]})["log"] == ["a", "b", "c"]


def test_parallel_subgraphs_do_not_contest_keys_that_they_only_read() -> None:
    def inner(word: str) -> CompiledGraph:
        return inner_of(lambda state: {"log": [word + state["shared"]]})

    builder = StateGraph(Outer).add_node("a", inner("a")).add_node("b", inner("b"))
    graph = builder.add_edge(START, "a").add_edge(START, "b").compile()
    assert graph.invoke({"shared": "!"}) == {"shared": "!", "log": ["a!", "b!"]}


def test_messages_that_a_subgraph_adds_replaces_and_removes_arrive_with_their_ids() -> None:
    def node(state: MessagesState) -> Any:
        first, second = state["messages"]
        return [RemoveMessage(id=first.id or ""), second.replace(content="changed"), AIMessage("new")]

    graph = outer_of(inner_of(node, schema=MessagesState), schema=MessagesState)
    updates, values = list(graph.stream({"messages": ["a", "b"]}, stream_mode=["updates", "values"]))[1:]
    assert [message.content for message in values[1]["messages"]] == ["changed", "new"]
    assert updates[1]["step0"]["messages"][-1].id == values[1]["messages"][-1].id


@both_doors
def test_a_subgraph_on_a_root_list_works_on_the_messages_key(door: str) -> None:
    inner = inner_of(lambda state: AIMessage(f"{len(state)}"), schema=Annotated[list[Any], add_messages])
    result = invoke(door, outer_of(inner, inner, schema=MessagesState), "hi")
    assert [message.content for message in result["messages"]] == ["hi", "1", "2"]


def test_a_key_that_is_merged_otherwise_outside_gets_the_value_that_was_reached() -> None:
    class Last(TypedDict):
        log: list[str]

    inner = inner_of(lambda state: {"log": ["b"]}, lambda state: {"log": ["c"]})
    assert outer_of(inner, schema=Last).invoke({"log": ["a"]}) == {"log": ["a", "b", "c"]}


def test_a_subgraph_may_have_a_state_of_another_kind() -> None:
    @dataclass
    class Record:
        shared: str
        log: Annotated[list[str], operator.add] = field(default_factory=list[str])

    class Model(BaseModel):
        shared: str
        log: Annotated[list[str], operator.add] = []

    inner = inner_of(lambda state: {"log": [state.shared]}, schema=Record)
    assert outer_of(inner, inner, schema=Model).invoke({"shared": "x"}) == Model(shared="x", log=["x", "x"])


def test_a_state_that_a_subgraph_cannot_begin_with_is_an_error_that_names_the_node() -> None:
    class Model(BaseModel):
        shared: int

    inner = inner_of(lambda state: None, schema=Model)
    with pytest.raises(InputError, match="no valid Model") as caught:
        outer_of(inner).invoke({"shared": "text"})
    assert caught.value.__notes__ == ["In node 'step0' of graph 'graph', step 1."]


def test_a_subgraph_without_a_shared_key_is_refused() -> None:
    class Other(TypedDict):
        other: int

    with pytest.raises(GraphDefinitionError, match="shares no key"):
        StateGraph(Other).add_node("a", inner_of(lambda state: None))


def test_a_subgraph_may_be_sent_an_argument_as_its_input() -> None:
    inner = inner_of(lambda state: {"log": [state["shared"]]})
    builder = StateGraph(Outer).add_node("inner", inner)
    builder.add_conditional_edges(START, lambda state: [Send("inner", {"shared": word}) for word in "xy"])
    assert builder.compile().invoke({})["log"] == ["x", "y"]


@both_doors
def test_a_command_for_the_parent_updates_it_and_leads_on_there(door: str) -> None:
    def hand_off(state: Inner) -> Command:
        return Command(graph=Command.PARENT, update={"only_outer": "by command", "log": ["b"]}, goto="other")

    inner = inner_of(lambda state: {"log": ["a"]}, hand_off, lambda state: {"log": ["never"]})
    builder = StateGraph(Outer).add_node("inner", inner).add_node("other", lambda state: {"log": ["other"]})
    result = invoke(door, builder.add_edge(START, "inner").compile(), {})
    assert result == {"log": ["a", "b", "other"], "only_outer": "by command"}


def test_commands_for_the_parent_from_parallel_nodes_all_take_effect() -> None:
    def hand_off(word: str) -> Any:
        def node(state: Inner) -> Command:
            return Command(graph=Command.PARENT, update={"log": [word]}, goto=word)

        return node

    inner = StateGraph(Inner).add_node("i", hand_off("a")).add_node("j", hand_off("b"))
    outer = StateGraph(Outer).add_node("inner", inner.add_edge(START, "i").add_edge(START, "j").compile())
    outer.add_node("a", lambda state: {"log": ["ran a"]}).add_node("b", lambda state: {"log": ["ran b"]})
    assert outer.add_edge(START, "inner").compile().invoke({})["log"] == ["a", "b", "ran a", "ran b"]


def test_a_command_reaches_one_graph_up() -> None:
    hand_off = inner_of(lambda state: Command(graph=Command.PARENT, goto="next"))
    middle = StateGraph(Inner).add_node("inner", hand_off).add_node("next", lambda state: {"log": ["middle"]})
    assert outer_of(middle.add_edge(START, "inner").compile()).invoke({})["log"] == ["middle"]


def test_a_command_for_a_parent_that_is_not_there_is_an_error() -> None:
    with pytest.raises(NodeError, match="there is none"):
        inner_of(lambda state: Command(graph=Command.PARENT)).invoke({})


def test_a_subgraph_uses_the_store_around_it_unless_it_has_its_own() -> None:
    seen: list[Any] = []

    def look(state: Inner) -> None:
        runtime = current_runtime()
        assert runtime is not None
        seen.append((runtime.store, runtime.context))

    outside, own = InMemoryStore(), InMemoryStore()
    builder = StateGraph(Outer).add_sequence([("a", inner_of(look)), ("b", inner_of(look, store=own))])
    builder.add_edge(START, "a").compile(store=outside).invoke({}, context="mine")
    assert seen == [(outside, "mine"), (own, "mine")]


@both_doors
def test_the_limit_of_steps_holds_inside_a_subgraph(door: str) -> None:
    endless = StateGraph(Inner).add_node("loop", lambda state: {"log": ["x"]}).add_edge(START, "loop")
    graph = outer_of(endless.add_edge("loop", "loop").compile())
    with pytest.raises(GraphRecursionError) as caught:
        invoke(door, graph, {})
    assert len(caught.value.state["log"]) == 25


def test_a_subgraph_has_a_path_to_the_end_of_its_own() -> None:
    inner = StateGraph(Inner).add_node("a", lambda state: {"log": ["a"]}).add_edge(START, "a").add_edge("a", END)
    assert outer_of(inner.compile(), lambda state: {"log": ["outer"]}).invoke({})["log"] == ["a", "outer"]


@both_doors
def test_a_retried_subgraph_goes_on_where_it_failed(door: str) -> None:
    ran: list[str] = []

    def pay(_: Inner) -> dict[str, Any]:
        ran.append("pay")
        return {"log": ["paid"]}

    def flaky(_: Inner) -> dict[str, Any]:
        ran.append("flaky")
        if ran.count("flaky") == 1:
            raise ConnectionError("reset")
        return {"log": ["done"]}

    policy = RetryPolicy(initial_interval=0.001)
    graph = StateGraph(Outer).add_node("inner", inner_of(pay, flaky), retry=policy).add_edge(START, "inner").compile()

    assert invoke(door, graph, {})["log"] == ["paid", "done"]
    assert ran == ["pay", "flaky", "flaky"]


@both_doors
def test_a_step_that_is_tried_again_inside_writes_once(door: str) -> None:
    fails = [True]

    def path(state: Inner) -> str:
        if fails:
            fails.pop()
            raise ConnectionError("down")
        return END

    inner = StateGraph(Inner).add_node("a", lambda state: {"log": ["a"]}).add_edge(START, "a")
    builder = StateGraph(Outer).add_edge(START, "inner")
    retry = RetryPolicy(initial_interval=0.001)
    builder.add_node("inner", inner.add_conditional_edges("a", path).compile(), retry_policy=retry)
    assert invoke(door, builder.compile(), {"log": []})["log"] == ["a"]


@both_doors
def test_a_step_that_could_not_be_kept_inside_is_kept_whole_the_next_time(door: str) -> None:
    fails = [True]

    class Shaky(MemorySaver):
        def put(self, row: CheckpointRow, *args: Any, **options: Any) -> None:
            if row.namespace and row.number == 3 and fails:
                fails.pop()
                raise ConnectionError("down")
            super().put(row, *args, **options)

    def ask(state: Inner) -> dict[str, Any]:
        return {"log": [interrupt("?")]}

    inner = inner_of(adds("a"), adds("b"), adds("c"), ask)
    builder = StateGraph(Outer).add_node("inner", inner, retry_policy=RetryPolicy(initial_interval=0.001))
    graph = builder.add_edge(START, "inner").compile(Shaky())
    config: RunConfig = {"configurable": {"thread_id": "t"}}
    given: list[Any] = [{"log": []}, Command(resume="d")]
    results = [graph.invoke(g, config) if door == "sync" else asyncio.run(graph.ainvoke(g, config)) for g in given]
    assert results[-1]["log"] == ["a", "b", "c", "d"]
    assert fails == []
