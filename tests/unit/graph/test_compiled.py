from __future__ import annotations

import asyncio
import gc
import operator
import threading
from typing import Annotated, Any, TypedDict

import pytest

from surehand.control import current_runtime
from surehand.errors import InputError, OptionError
from surehand.graph import START, Command, CompiledGraph, MessagesState, StateGraph
from surehand.graph.actions import NodeAction
from surehand.messages import AIMessage


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def emit(item: object) -> None:
    runtime = current_runtime()
    if runtime is not None and runtime.emit is not None:
        runtime.emit(item)


def chain(*nodes: NodeAction) -> CompiledGraph:
    steps = [(f"n{number}", node) for number, node in enumerate(nodes)]
    return StateGraph(State).add_sequence(steps).add_edge(START, "n0").compile()


def say(word: str) -> Any:
    def node(state: State) -> dict[str, Any]:
        emit(f"saying {word}")
        return {"log": [word]}

    return node


def asay(word: str) -> Any:
    async def node(state: State) -> dict[str, Any]:
        emit(f"saying {word}")
        await asyncio.sleep(0)
        return {"log": [word]}

    return node


def taken(door: str, graph: CompiledGraph, given: Any, mode: Any) -> list[Any]:
    if door == "sync":
        return list(graph.stream(given, stream_mode=mode))

    async def main() -> list[Any]:
        return [item async for item in graph.astream(given, stream_mode=mode)]

    return asyncio.run(main())


both_doors = pytest.mark.parametrize("door", ["sync", "async"])
both_kinds = pytest.mark.parametrize("word", [say, asay])


@both_doors
@both_kinds
def test_updates_are_what_each_node_returned(door: str, word: Any) -> None:
    graph = chain(word("a"), lambda state: None, word("b"))
    expected = [{"n0": {"log": ["a"]}}, {"n1": None}, {"n2": {"log": ["b"]}}]
    assert taken(door, graph, {}, "updates") == expected


def test_updates_are_the_default() -> None:
    assert list(chain(say("a")).stream({})) == [{"n0": {"log": ["a"]}}]


@both_doors
@both_kinds
def test_values_are_the_state_after_the_input_and_after_each_step(door: str, word: Any) -> None:
    states = taken(door, chain(word("a"), word("b")), {"log": ["0"]}, "values")
    assert states == [{"log": ["0"]}, {"log": ["0", "a"]}, {"log": ["0", "a", "b"]}]


@both_doors
@both_kinds
def test_custom_items_are_what_nodes_emit(door: str, word: Any) -> None:
    assert taken(door, chain(word("a"), word("b")), {}, "custom") == ["saying a", "saying b"]


@both_doors
@both_kinds
def test_a_list_of_modes_gives_pairs_in_the_order_of_time(door: str, word: Any) -> None:
    assert taken(door, chain(word("a")), {}, ["updates", "custom", "values"]) == [
        ("values", {"log": []}),
        ("custom", "saying a"),
        ("updates", {"n0": {"log": ["a"]}}),
        ("values", {"log": ["a"]}),
    ]


@both_doors
def test_a_list_of_one_mode_gives_pairs_too(door: str) -> None:
    assert taken(door, chain(say("a")), {}, ["updates"]) == [("updates", {"n0": {"log": ["a"]}})]


@pytest.mark.parametrize("mode", ["debug", "", [], ["values", "x"], None])
def test_an_unknown_mode_is_refused_at_once(mode: Any) -> None:
    with pytest.raises(OptionError, match="values, updates, messages, calls, custom"):
        chain(say("a")).stream({}, stream_mode=mode)
    with pytest.raises(OptionError, match="values, updates, messages, calls, custom"):
        chain(say("a")).astream({}, stream_mode=mode)


@both_doors
def test_an_input_error_is_raised_by_the_stream(door: str) -> None:
    with pytest.raises(InputError):
        taken(door, chain(say("a")), 3, "updates")


@both_doors
def test_several_commands_of_one_node_all_appear_in_the_updates(door: str) -> None:
    graph = chain(lambda state: [Command(update={"log": [word]}) for word in "abc"])
    assert taken(door, graph, {}, "updates") == [{"n0": {"log": [word]}} for word in "abc"]


def test_each_message_appears_once_with_the_id_that_the_state_has() -> None:
    builder = StateGraph(MessagesState).add_node("a", lambda state: [AIMessage("x"), AIMessage("y")])
    graph = builder.add_edge(START, "a").compile()
    (_, update), (_, state) = list(graph.stream({}, stream_mode=["updates", "values"]))[1:]
    assert update["a"]["messages"] == state["messages"]


def test_a_sync_stream_runs_a_step_only_when_its_items_are_taken() -> None:
    ran: list[str] = []
    stream = chain(lambda state: ran.append("a"), lambda state: ran.append("b")).stream({})
    assert ran == []
    next(stream)
    assert ran == ["a"]
    stream.close()
    assert ran == ["a"]


@pytest.mark.parametrize("mode", ["updates", "custom"])
def test_a_sync_stream_may_be_closed_early_without_a_trace(mode: Any) -> None:
    list(chain(say("a")).stream({}, stream_mode=mode))  # the loop of such streams is kept for the next
    threads, ended = set(threading.enumerate()), list[str]()

    async def long(state: State) -> None:
        emit("begun")
        try:
            await asyncio.sleep(30 if mode == "custom" else 0)
        finally:
            ended.append("ended")

    stream = chain(long, long).stream({}, stream_mode=mode)
    next(stream)
    stream.close()
    gc.collect()
    assert ended == ["ended"]
    assert set(threading.enumerate()) <= threads


def test_an_async_stream_may_be_closed_early_and_ends_its_nodes() -> None:
    ended: list[str] = []

    async def long(state: State) -> None:
        emit("begun")
        try:
            await asyncio.sleep(30)
        finally:
            await asyncio.sleep(0)
            ended.append("ended")

    async def main() -> None:
        stream = chain(long).astream({}, stream_mode="custom")
        assert await anext(stream) == "begun"
        await stream.aclose()
        assert ended == ["ended"]
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())


@both_doors
def test_custom_items_come_while_the_node_still_runs(door: str) -> None:
    may_end = threading.Event()

    def node(state: State) -> None:
        emit("first")
        assert may_end.wait(5)
        emit("second")

    items: list[Any] = []
    if door == "sync":
        for item in chain(node).stream({}, stream_mode="custom"):
            items.append(item)
            may_end.set()
    else:

        async def main() -> None:
            async for item in chain(node).astream({}, stream_mode="custom"):
                items.append(item)
                may_end.set()

        asyncio.run(main())
    assert items == ["first", "second"]


def test_custom_items_of_a_subgraph_reach_the_stream() -> None:
    assert list(chain(chain(say("a"))).stream({}, stream_mode="custom")) == ["saying a"]


@both_doors
def test_what_a_node_raises_gets_out_of_the_stream_after_the_items_before_it(door: str) -> None:
    def fail(state: State) -> None:
        emit("about to fail")
        raise LookupError("x")

    graph, items = chain(say("a"), fail), list[Any]()

    async def amain() -> None:
        async for item in graph.astream({}, stream_mode=["updates", "custom"]):
            items.append(item)

    def main() -> None:
        for item in graph.stream({}, stream_mode=["updates", "custom"]):
            items.append(item)

    with pytest.raises(LookupError):
        main() if door == "sync" else asyncio.run(amain())
    assert items == [("custom", "saying a"), ("updates", {"n0": {"log": ["a"]}}), ("custom", "about to fail")]


def test_changing_a_streamed_state_does_not_change_the_run() -> None:
    states: list[Any] = []
    for state in chain(say("a"), say("b")).stream({}, stream_mode="values"):
        states.append(list(state["log"]))
        state["log"].append("smuggled in")
    assert states == [[], ["a"], ["a", "b"]]


def test_nothing_is_emitted_outside_a_stream() -> None:
    assert chain(say("a")).invoke({}) == {"log": ["a"]}
