"""What is kept of a thread, as the host sees and changes it."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from pydantic import BaseModel

from surehand import (
    START,
    AIMessage,
    CheckpointConflict,
    Checkpointer,
    CheckpointError,
    CompiledGraph,
    HumanMessage,
    InputError,
    MemorySaver,
    MessagesState,
    NodeError,
    OptionError,
    RunConfig,
    SqliteSaver,
    StateGraph,
    add_messages,
)

CONFIG: RunConfig = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]
    value: Any


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Checkpointer]:
    with MemorySaver() if request.param == "memory" else SqliteSaver(tmp_path / "runs.sqlite") as made:
        yield made


def chain(saver: Checkpointer, *names: str) -> CompiledGraph:
    builder = StateGraph(State)
    builder.add_sequence([(name, lambda state, name=name: {"log": [name]}) for name in names])
    return builder.add_edge(START, names[0]).compile(saver)


def test_the_newest_checkpoint_is_the_state_of_a_thread(saver: Checkpointer) -> None:
    graph = chain(saver, "a", "b")
    graph.invoke({"log": ["1"]}, CONFIG)
    seen = graph.get_state(CONFIG)
    assert seen.values == {"log": ["1", "a", "b"]}
    assert seen.next == ()
    assert seen.metadata == {"source": "step", "step": 2, "ran": ["b"]}
    assert seen.created_at is not None
    assert seen.interrupts == ()
    assert asyncio.run(graph.aget_state(CONFIG)) == seen
    assert graph.get_state(seen.config) == seen


def test_a_thread_that_never_ran_has_no_state(saver: Checkpointer) -> None:
    seen = chain(saver, "a").get_state(CONFIG)
    assert (seen.values, seen.next, seen.created_at, seen.parent_config) == ({}, (), None, None)


def test_a_checkpoint_that_is_not_there_is_neither_shown_nor_changed(saver: Checkpointer) -> None:
    graph = chain(saver, "a")
    graph.invoke({"log": ["1"]}, CONFIG)
    nowhere: RunConfig = {"configurable": {"thread_id": "t", "checkpoint_id": "nope"}}
    with pytest.raises(CheckpointError, match="checkpoint 'nope': there is no such checkpoint"):
        graph.get_state(nowhere)
    with pytest.raises(CheckpointError, match="checkpoint 'nope': there is no such checkpoint"):
        graph.update_state(nowhere, {"log": ["2"]}, as_node="a")
    assert len(list(graph.get_state_history(CONFIG))) == 2


def test_a_history_begins_with_the_newest(saver: Checkpointer) -> None:
    graph = chain(saver, "a", "b")
    graph.invoke({"log": ["1"]}, CONFIG)
    graph.invoke({"log": ["2"]}, CONFIG)
    seen = list(graph.get_state_history(CONFIG))
    assert [each.next for each in seen] == [(), ("b",), ("a",), (), ("b",), ("a",)]
    assert [len(each.values["log"]) for each in seen] == [6, 5, 4, 3, 2, 1]
    assert [each.parent_config for each in seen] == [*(each.config for each in seen[1:]), None]
    assert [each.config for each in graph.get_state_history(CONFIG, limit=2)] == [each.config for each in seen[:2]]

    async def awaited() -> list[Any]:
        return [each async for each in graph.aget_state_history(CONFIG)]

    assert asyncio.run(awaited()) == seen


def test_a_graph_without_a_checkpointer_has_no_state_to_show() -> None:
    graph = StateGraph(State).add_node("a", lambda state: None).add_edge(START, "a").compile()
    with pytest.raises(OptionError, match="checkpointer"):
        graph.get_state(CONFIG)


def test_the_state_is_changed_as_a_node_would_and_the_run_goes_on_behind_it(saver: Checkpointer) -> None:
    graph = chain(saver, "a", "b")
    graph.invoke({"log": ["1"]}, CONFIG)
    named = graph.update_state(CONFIG, {"log": ["by hand"]}, as_node="a")
    seen = graph.get_state(CONFIG)
    assert seen.config == named
    assert seen.next == ("b",)
    assert seen.metadata == {"source": "update", "step": 3, "ran": ["a"]}
    assert graph.invoke(None, CONFIG)["log"] == ["1", "a", "b", "by hand", "b"]


def test_the_node_that_ran_last_is_meant_where_none_is_named(saver: Checkpointer) -> None:
    graph = chain(saver, "a", "b")
    graph.invoke({"log": []}, CONFIG)
    graph.update_state(CONFIG, {"value": 1})
    assert graph.get_state(CONFIG).next == ()
    assert graph.get_state(CONFIG).metadata["ran"] == ["b"]


def test_a_thread_may_begin_with_a_change(saver: Checkpointer) -> None:
    graph = chain(saver, "a", "b")
    graph.update_state(CONFIG, {"log": ["seed"]})
    assert graph.get_state(CONFIG).next == ("a",)
    assert graph.invoke(None, CONFIG)["log"] == ["seed", "a", "b"]


def test_a_change_of_an_earlier_checkpoint_forks_the_thread(saver: Checkpointer) -> None:
    graph = chain(saver, "a", "b")
    graph.invoke({"log": ["1"]}, CONFIG)
    first = list(graph.get_state_history(CONFIG))[-1]
    graph.update_state(first.config, {"log": ["2"]}, as_node=START)
    assert graph.invoke(None, CONFIG)["log"] == ["1", "2", "a", "b"]


@pytest.mark.parametrize("values", [{"nope": 1}, 5, "text"])
def test_what_is_no_update_is_refused(values: Any, saver: Checkpointer) -> None:
    graph = chain(saver, "a")
    graph.invoke({"log": []}, CONFIG)
    before = graph.get_state(CONFIG)
    with pytest.raises((NodeError, InputError)):
        graph.update_state(CONFIG, values)
    assert graph.get_state(CONFIG) == before


def test_a_node_that_cannot_be_told_has_to_be_named(saver: Checkpointer) -> None:
    builder = StateGraph(State)
    for name in ("first", "second"):
        builder.add_node(name, lambda state, name=name: {"log": [name]}).add_edge(START, name)
    graph = builder.compile(saver)
    graph.invoke({"log": []}, CONFIG)
    with pytest.raises(InputError, match="as_node"):
        graph.update_state(CONFIG, {"value": 1})
    with pytest.raises(InputError, match="Did you mean 'first'"):
        graph.update_state(CONFIG, {"value": 1}, as_node="fist")


def test_a_change_while_a_run_goes_on_wins_over_it(saver: Checkpointer) -> None:
    builder = StateGraph(State)

    def a(state: State) -> dict[str, Any]:
        graph.update_state(CONFIG, {"value": "changed"}, as_node="a")
        return {"log": ["a"]}

    graph = builder.add_node("a", a).add_edge(START, "a").compile(saver)
    with pytest.raises(CheckpointConflict):
        graph.invoke({"log": []}, CONFIG)
    assert graph.get_state(CONFIG).values["value"] == "changed"


# What states may hold


class Color(Enum):
    RED = "red"


@dataclass
class Plan:
    steps: list[str]
    color: Color = Color.RED


class Order(BaseModel):
    plan: Plan
    total: int


@dataclass
class Record:
    messages: Annotated[list[Any], add_messages] = field(default_factory=list[Any])
    order: Order | None = None


class Model(BaseModel):
    order: Order | None = None
    done: set[str] = set()


def test_states_of_every_kind_come_back_as_they_were(saver: Checkpointer) -> None:
    order = Order(plan=Plan(steps=["x"]), total=3)
    builder = StateGraph(Record).add_node("a", lambda state: {"order": order, "messages": [AIMessage("hi")]})
    record = builder.add_edge(START, "a").compile(saver)
    record.invoke({"messages": [HumanMessage("hello")]}, CONFIG)
    seen = record.get_state(CONFIG).values
    assert isinstance(seen, Record)
    assert seen.order == order
    assert [message.text for message in seen.messages] == ["hello", "hi"]

    other: RunConfig = {"configurable": {"thread_id": "m"}}
    model = StateGraph(Model).add_node("a", lambda state: {"order": order, "done": {"y"}}).add_edge(START, "a")
    graph = model.compile(saver)
    graph.invoke({}, other)
    assert graph.get_state(other).values == Model(order=order, done={"y"})


def with_total(order: Order, total: int) -> Order:
    order.total = total
    return order


class Changed(TypedDict):
    plan: Plan
    order: Annotated[Order, with_total]


def test_what_is_changed_in_place_and_written_is_stored_as_it_was_then(saver: Checkpointer) -> None:
    def change(state: Changed) -> dict[str, Any]:
        state["plan"].steps.append("y")
        return {"plan": state["plan"], "order": 2 * state["order"].total}

    builder = StateGraph(Changed).add_sequence([("a", change), ("b", change)]).add_edge(START, "a")
    graph = builder.compile(saver)
    graph.invoke({"plan": Plan(steps=["x"]), "order": Order(plan=Plan(steps=[]), total=1)}, CONFIG)
    seen = [(each.values["plan"].steps, each.values["order"].total) for each in graph.get_state_history(CONFIG)]
    assert seen == [(["x", "y", "y"], 4), (["x", "y"], 2), (["x"], 1)]


class Stranger:
    pass


def test_a_value_without_a_stored_form_is_refused_with_words_and_the_thread_stays(saver: Checkpointer) -> None:
    builder = StateGraph(State).add_node("a", lambda state: {"value": Stranger()}).add_edge(START, "a")
    graph = builder.compile(saver)
    with pytest.raises(CheckpointError, match="Stranger"):
        graph.invoke({"log": []}, CONFIG)
    assert graph.get_state(CONFIG).next == ("a",)


def test_further_types_are_named_when_the_graph_is_compiled(saver: Checkpointer) -> None:
    builder = StateGraph(State).add_node("a", lambda state: {"value": Color.RED}).add_edge(START, "a")
    with pytest.raises(CheckpointError, match="Color"):
        builder.compile(saver).invoke({"log": []}, CONFIG)
    other: RunConfig = {"configurable": {"thread_id": "other"}}
    graph = builder.compile(saver, types=[Color])
    graph.invoke({"log": []}, other)
    assert graph.get_state(other).values["value"] is Color.RED
    with pytest.raises(CheckpointError, match="Color"):
        builder.compile(saver).get_state(other)


def test_a_thread_of_another_graph_is_told_apart(saver: Checkpointer) -> None:
    stopped = StateGraph(State).add_sequence([("a", lambda state: None), ("gone", lambda state: None)])
    graph = stopped.add_edge(START, "a").compile(saver, interrupt_before=["gone"])
    graph.invoke({"log": []}, CONFIG)
    with pytest.raises(CheckpointError, match="goes on at the node 'gone'"):
        chain(saver, "a", "b").invoke(None, CONFIG)


def test_keys_may_be_added_to_and_taken_from_a_state(saver: Checkpointer) -> None:
    chain(saver, "a").invoke({"log": ["1"], "value": "kept"}, CONFIG)
    builder = (
        StateGraph(MessagesState).add_node("b", lambda state: {"messages": [AIMessage("hi")]}).add_edge(START, "b")
    )
    assert len(builder.compile(saver).invoke({"messages": []}, CONFIG)["messages"]) == 1
    assert chain(saver, "a").get_state(CONFIG).values == {"log": ["1", "a"], "value": "kept"}
