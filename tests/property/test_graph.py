"""Random graphs: both doors, every timing and a plain model of the rules agree on what runs and what comes out."""

from __future__ import annotations

import asyncio
import operator
import time
from collections import Counter
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

from hypothesis import given, settings
from hypothesis import strategies as st

from support.graph_shapes import Shape, Target, path_of, shapes
from surehand.control import current_runtime
from surehand.errors import GraphRecursionError, InputError, NodeError
from surehand.graph import START, CompiledGraph, MessagesState, StateGraph, add_messages
from surehand.messages import AIMessage, Message, RemoveMessage

LIMIT = 8


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def expected(shape: Shape) -> tuple[list[str], bool]:
    """The log by a plain reading of the rules, and whether the limit of steps stopped it."""
    log: list[str] = []
    seen: list[set[str]] = [set() for _ in shape.joins]
    ran: list[str] = [START]
    for step in range(LIMIT + 1):
        targets: list[Target] = [target for source in ran for target in _single(shape, source, log)]
        for (sources, target), arrived in zip(shape.joins, seen, strict=True):
            arrived.update(set(ran) & set(sources))
            if len(arrived) == len(sources):
                targets.append(target)
                arrived.clear()
        pulled: list[tuple[str, str]] = [(name, name) for name in shape.names if name in targets]
        sent: list[tuple[str, str]] = [
            (target[0], f"{target[0]}:{target[1]}") for target in targets if isinstance(target, tuple)
        ]
        tasks = sorted([*pulled, *sent], key=lambda task: shape.names.index(task[0]))
        if not tasks or step == LIMIT:
            return log, bool(tasks)
        log = log + [f"{step + 1} {words}" for _, words in tasks]
        ran = list(dict.fromkeys(name for name, _ in tasks))
    raise AssertionError


def _single(shape: Shape, source: str, log: list[str]) -> list[Target]:
    return [target for start, target in dict.fromkeys(shape.edges) if start == source] + shape.choice(source, log)


def built(shape: Shape, *, delays: list[float] | None = None) -> CompiledGraph:
    builder = StateGraph(State)
    for name, is_async, delay in zip(shape.names, shape.is_async, delays or shape.delays, strict=True):
        builder.add_node(name, _node(name, delay, is_async=is_async))
    for start, end in shape.edges:
        builder.add_edge(start, end)
    for sources, end in shape.joins:
        builder.add_edge(list(sources), end)
    for source in shape.names:
        builder.add_conditional_edges(source, path_of(shape, source))
    return builder.compile()


def _node(name: str, delay: float, *, is_async: bool) -> Callable[[Any], Any]:
    def update(given: Any) -> dict[str, Any]:
        runtime = current_runtime()
        assert runtime is not None
        words = f"{name}:{given}" if isinstance(given, str) else name
        return {"log": [f"{runtime.metadata['step']} {words}"]}

    def node(given: Any) -> dict[str, Any]:
        time.sleep(delay)
        return update(given)

    async def anode(given: Any) -> dict[str, Any]:
        await asyncio.sleep(delay)
        return update(given)

    return anode if is_async else node


def outcome(run: Callable[[], Any]) -> tuple[list[str], bool]:
    try:
        return run()["log"], False
    except GraphRecursionError as error:
        return error.state["log"], True


def through_both_doors(graph: CompiledGraph) -> list[tuple[list[str], bool]]:
    config: Any = {"recursion_limit": LIMIT}
    return [
        outcome(lambda: graph.invoke({}, config)),
        outcome(lambda: asyncio.run(graph.ainvoke({}, config))),
    ]


@settings(max_examples=150, deadline=None)
@given(shapes())
def test_both_doors_run_what_the_rules_say_each_once_in_its_step(shape: Shape) -> None:
    log, is_stopped = expected(shape)
    assert through_both_doors(built(shape)) == [(log, is_stopped)] * 2
    plain = Counter(entry for entry in log if ":" not in entry)
    assert all(times == 1 for times in plain.values())


@settings(max_examples=40, deadline=None)
@given(shapes(), st.randoms(use_true_random=False))
def test_the_result_does_not_depend_on_how_long_nodes_take(shape: Shape, random: Any) -> None:
    delays = [random.choice([0.0, 0.001, 0.003]) for _ in shape.names]
    assert through_both_doors(built(shape, delays=delays)) == through_both_doors(built(shape))


@settings(max_examples=40, deadline=None)
@given(shapes(), st.integers(1, 3))
def test_the_result_does_not_depend_on_how_many_nodes_may_run_at_a_time(shape: Shape, width: int) -> None:
    graph = built(shape)
    config: Any = {"recursion_limit": LIMIT, "max_concurrency": width}
    assert outcome(lambda: graph.invoke({}, config)) == expected(shape)


@settings(max_examples=60, deadline=None)
@given(shapes())
def test_the_streamed_updates_put_together_are_the_state(shape: Shape) -> None:
    log: list[str] = []
    states: list[list[str]] = []
    try:
        for mode, item in built(shape).stream({}, {"recursion_limit": LIMIT}, stream_mode=["updates", "values"]):
            if mode == "updates":
                (update,) = item.values()
                log += update["log"]
            else:
                states.append(item["log"])
                assert states[-1] == log
    except GraphRecursionError as error:
        states.append(error.state["log"])
    assert states[-1] == expected(shape)[0]


IDS = st.sampled_from("abc")
WRITES = st.lists(
    st.builds(AIMessage, st.sampled_from(["1", "2"]), id=IDS) | st.builds(RemoveMessage, id=IDS),
    max_size=3,
)


def merged(writes: list[list[Message]], *, is_parallel: bool) -> Any:
    """The conversation after the writes, each by its own node: all in one step, or one after another."""
    builder = StateGraph(MessagesState)
    names = [f"n{number}" for number in range(len(writes))]
    for name, write in zip(names, writes, strict=True):
        builder.add_node(name, lambda state, write=write: {"messages": write})
    for previous, name in zip([START, *names], names, strict=False):
        builder.add_edge(START if is_parallel else previous, name)
    try:
        return builder.compile().invoke({})["messages"]
    except NodeError as error:  # a removal of what is not there
        return error.node


@settings(max_examples=100, deadline=None)
@given(st.lists(WRITES, min_size=1, max_size=4))
def test_parallel_writes_are_merged_as_if_the_nodes_had_run_one_after_another(writes: Any) -> None:
    assert merged(writes, is_parallel=True) == merged(writes, is_parallel=False)


@settings(max_examples=100, deadline=None)
@given(WRITES, WRITES, WRITES)
def test_merging_messages_is_associative_where_nothing_is_removed(a: Any, b: Any, c: Any) -> None:
    a, b, c = ([message for message in part if message.type == "ai"] for part in (a, b, c))
    try:
        assert add_messages(add_messages(a, b), c) == add_messages(a, add_messages(b, c))
    except InputError as error:
        raise AssertionError from error
