"""Time limits and caches of nodes."""

from __future__ import annotations

import asyncio
import operator
import threading
import time
from collections import Counter
from typing import Annotated, Any, NotRequired, TypedDict

import pytest

from surehand import (
    START,
    AIMessage,
    CachePolicy,
    CompiledGraph,
    MessagesState,
    NodeError,
    NodeTimedOut,
    OptionError,
    RetryPolicy,
    StateGraph,
)


class State(TypedDict):
    log: NotRequired[Annotated[list[Any], operator.add]]
    number: int


both_doors = pytest.mark.parametrize("door", ["sync", "async"])


def through(door: str, graph: CompiledGraph, given: Any) -> Any:
    return graph.invoke(given) if door == "sync" else asyncio.run(graph.ainvoke(given))


def alone(node: Any, **options: Any) -> CompiledGraph:
    return StateGraph(State).add_node("node", node, **options).add_edge(START, "node").compile()


@both_doors
def test_an_asynchronous_node_is_cancelled_at_its_time_limit(door: str) -> None:
    ended: list[str] = []

    async def slow(state: State) -> dict[str, Any]:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        return {"number": 0}

    with pytest.raises(NodeTimedOut, match=r"'node' did not end within 0\.02 s") as caught:
        through(door, alone(slow, timeout=0.02), {})
    assert ended == ["cancelled"]
    assert isinstance(caught.value, TimeoutError)
    assert (caught.value.node, caught.value.timeout) == ("node", 0.02)


@both_doors
def test_a_synchronous_node_is_given_up_at_its_time_limit(door: str) -> None:
    go_on = threading.Event()

    def slow(state: State) -> Any:
        go_on.wait(20)
        return {"log": ["late"]}

    begun = time.perf_counter()
    with pytest.raises(NodeTimedOut):
        through(door, alone(slow, timeout=0.02), {})
    assert time.perf_counter() - begun < 15
    go_on.set()


def test_a_timeout_of_the_nodes_own_is_its_own() -> None:
    def node(state: State) -> dict[str, Any]:
        raise TimeoutError("mine")

    with pytest.raises(TimeoutError, match="mine") as caught:
        alone(node, timeout=5).invoke({})
    assert not isinstance(caught.value, NodeTimedOut)


def test_each_attempt_has_the_whole_time() -> None:
    runs = Counter[str]()

    async def slow_once(state: State) -> dict[str, Any]:
        runs["node"] += 1
        await asyncio.sleep(30 if runs["node"] == 1 else 0)
        return {"log": ["done"]}

    retry = RetryPolicy(max_attempts=2, initial_interval=0.001, retry_on=TimeoutError)
    assert alone(slow_once, timeout=0.5, retry=retry).invoke({})["log"] == ["done"]


def test_a_graph_as_a_node_may_have_a_time_limit_too() -> None:
    async def slow(state: State) -> dict[str, Any]:
        await asyncio.sleep(30)
        return {"number": 0}

    with pytest.raises(NodeTimedOut, match="'node'"):
        alone(alone(slow), timeout=0.02).invoke({"log": []})


@pytest.mark.parametrize("timeout", [0, -1, "3", True, float("nan")])
def test_a_time_limit_is_a_number_of_seconds(timeout: Any) -> None:
    with pytest.raises(OptionError, match="timeout"):
        StateGraph(State).add_node("node", lambda state: None, timeout=timeout)


# Caches


def counted(runs: Counter[str]) -> Any:
    def node(state: State) -> dict[str, Any]:
        runs["node"] += 1
        return {"log": [state["number"]]}

    return node


@both_doors
def test_a_node_that_is_given_the_same_again_is_not_run(door: str) -> None:
    runs = Counter[str]()
    graph = alone(counted(runs), cache=CachePolicy())
    assert [through(door, graph, {"number": number})["log"] for number in (1, 1, 2, 1)] == [[1], [1], [2], [1]]
    assert runs == {"node": 2}


def test_what_is_kept_is_nobody_elses() -> None:
    runs = Counter[str]()
    graph = alone(counted(runs), cache=CachePolicy())
    graph.invoke({"number": 1})["log"].append("changed")
    assert graph.invoke({"number": 1})["log"] == [1]


def test_a_result_is_kept_as_long_as_the_policy_says() -> None:
    runs = Counter[str]()
    graph = alone(counted(runs), cache=CachePolicy(ttl=0.01))
    graph.invoke({"number": 1})
    time.sleep(0.02)
    graph.invoke({"number": 1})
    assert runs == {"node": 2}


def test_the_oldest_result_goes_first() -> None:
    runs = Counter[str]()
    graph = alone(counted(runs), cache=CachePolicy(max_results=2))
    for number in (1, 2, 3, 2, 3, 1):
        graph.invoke({"number": number})
    assert runs == {"node": 4}


def parity(state: State) -> int:
    return state["number"] % 2


def test_a_key_says_what_tells_inputs_apart() -> None:
    runs = Counter[str]()
    graph = alone(counted(runs), cache_policy=CachePolicy(key=parity))
    assert [graph.invoke({"number": number})["log"] for number in (1, 3, 2)] == [[1], [1], [2]]


def test_an_input_that_cannot_be_told_from_others_needs_a_key() -> None:
    graph = alone(counted(Counter[str]()), cache=CachePolicy())
    with pytest.raises(NodeError, match="key="):
        graph.invoke({"number": object()})


def test_messages_that_come_from_the_cache_are_messages_of_their_own() -> None:
    runs = Counter[str]()

    def node(state: MessagesState) -> Any:
        runs["node"] += 1
        return {"messages": [AIMessage("hi")]}

    graph = (
        StateGraph(MessagesState)
        .add_node("node", node, cache=CachePolicy(key=lambda state: 0))
        .add_edge(START, "node")
        .compile()
    )
    first, second = graph.invoke({"messages": []})["messages"][0], graph.invoke({"messages": []})["messages"][0]
    assert (first.text, second.text) == ("hi", "hi")
    assert first.id != second.id
    assert runs == {"node": 1}


def test_failures_are_not_kept() -> None:
    runs = Counter[str]()

    def node(state: State) -> dict[str, Any]:
        runs["node"] += 1
        if runs["node"] == 1:
            raise ConnectionError("down")
        return {"log": ["up"]}

    graph = alone(node, cache=CachePolicy())
    with pytest.raises(ConnectionError):
        graph.invoke({"number": 1})
    assert graph.invoke({"number": 1})["log"] == ["up"]


@pytest.mark.parametrize("options", [{"cache": True}, {"cache": CachePolicy(), "cache_policy": CachePolicy()}])
def test_a_cache_is_a_policy(options: Any) -> None:
    with pytest.raises(OptionError, match="cache"):
        StateGraph(State).add_node("node", lambda state: None, **options)


def test_a_node_that_changes_what_it_is_given_is_known_by_what_it_was_given() -> None:
    runs = Counter[str]()

    def node(state: State) -> dict[str, Any]:
        runs["node"] += 1
        state["number"] += 1
        return {"log": [state["number"]]}

    graph = alone(node, cache=CachePolicy())
    assert [graph.invoke({"number": 1})["log"] for _ in range(2)] == [[2], [2]]
    assert runs == {"node": 1}
