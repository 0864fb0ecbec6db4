"""Random graphs end in the same state, run straight through or stopped and taken up again after every step."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.graph_shapes import Shape, path_of, shapes
from surehand import (
    Checkpointer,
    Command,
    CompiledGraph,
    GraphRecursionError,
    MemorySaver,
    RunConfig,
    SqliteSaver,
    StateGraph,
    current_runtime,
    interrupt,
)

LIMIT = 8


def joined(left: dict[str, int], right: dict[str, int]) -> dict[str, int]:
    return {**left, **right}


class State(TypedDict):
    log: Annotated[list[str], operator.add]
    seen: Annotated[dict[str, int], joined]


class Flaky(Exception):
    pass


class World:
    """What nodes do outside of the graph; it outlives every process of a run."""

    def __init__(self, habits: dict[str, str]) -> None:
        self._habits = habits
        self.ended: Counter[str] = Counter()
        self._failed: set[str] = set()

    def work(self, name: str, given: Any) -> dict[str, Any]:
        """One run of a node: some fail the first time in a step, some ask, some ask twice."""
        runtime = current_runtime()
        assert runtime is not None
        words = f"{name}:{given}" if isinstance(given, str) else name
        place = f"{runtime.metadata['step']} {words}"
        habit = self._habits.get(name, "plain")
        heard = [interrupt(f"{place}?{number}") for number in range({"asks": 1, "asks twice": 2}.get(habit, 0))]
        if habit == "fails" and place not in self._failed:
            self._failed.add(place)
            raise Flaky(place)
        self.ended[place] += 1
        return {"log": ["".join([place, *heard])], "seen": {name: len(heard)}}


def built(shape: Shape, world: World, saver: Checkpointer, *, stops: bool) -> CompiledGraph:
    builder = StateGraph(State)
    for name, is_async in zip(shape.names, shape.is_async, strict=True):
        builder.add_node(name, _node(name, world, is_async=is_async))
    for start, end in shape.edges:
        builder.add_edge(start, end)
    for sources, end in shape.joins:
        builder.add_edge(list(sources), end)
    for source in shape.names:
        builder.add_conditional_edges(source, path_of(shape, source))
    return builder.compile(saver, interrupt_after="*" if stops else ())


def _node(name: str, world: World, *, is_async: bool) -> Callable[[Any], Any]:
    async def anode(given: Any) -> dict[str, Any]:
        return world.work(name, given)

    return anode if is_async else lambda given: world.work(name, given)


def straight(shape: Shape, habits: dict[str, str]) -> list[str]:
    """The log of a run that goes on as long as it can: until it fails, asks or ends."""
    world = World(habits)
    with MemorySaver() as saver:
        return reached(lambda: built(shape, world, saver, stops=False), one_at_a_time=False, world=world)


def reached(make: Callable[[], CompiledGraph], *, one_at_a_time: bool, world: World) -> list[str]:
    """The log at the end, by a graph made anew for every part of the run."""
    given: Any = {"log": []}
    config: RunConfig = {"configurable": {"thread_id": "t"}}
    while True:
        graph = make()
        step = graph.get_state(config).metadata.get("step", 0)
        if step >= LIMIT:
            break
        try:
            result = graph.invoke(given, {**config, "recursion_limit": LIMIT - step})
        except Flaky:
            given = None
            continue
        except GraphRecursionError:
            break
        asked = result.get("__interrupt__", [])
        if asked:
            some = asked[:1] if one_at_a_time else asked
            given = Command(resume={question.id: f"={question.value}" for question in some})
        elif graph.get_state(config).next:
            given = None
        else:
            break
    log: list[str] = make().get_state(config).values["log"]
    logged = Counter(entry.partition("=")[0] for entry in log)
    assert {place: world.ended[place] for place in logged} == logged
    return log


HABITS = st.dictionaries(
    st.sampled_from([f"n{number}" for number in range(5)]), st.sampled_from(["fails", "asks", "asks twice"]), max_size=4
)


@settings(max_examples=60, deadline=None)
@given(shapes(), HABITS)
def test_stopped_and_taken_up_after_every_step_it_ends_in_the_same_state(shape: Shape, habits: dict[str, str]) -> None:
    world = World(habits)
    with MemorySaver() as saver:
        log = reached(lambda: built(shape, world, saver, stops=True), one_at_a_time=True, world=world)
    assert log == straight(shape, habits)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(shapes(), HABITS)
def test_many_more_stopped_graphs_end_in_the_same_state(shape: Shape, habits: dict[str, str]) -> None:
    world = World(habits)
    with MemorySaver() as saver:
        log = reached(lambda: built(shape, world, saver, stops=True), one_at_a_time=True, world=world)
    assert log == straight(shape, habits)


@settings(max_examples=15, deadline=None)
@given(shapes(), HABITS)
def test_it_is_the_same_where_every_part_opens_the_file_anew(shape: Shape, habits: dict[str, str]) -> None:
    world = World(habits)
    with TemporaryDirectory() as folder:
        savers: list[SqliteSaver] = []

        def make() -> CompiledGraph:
            while savers:
                savers.pop().close()
            savers.append(SqliteSaver(Path(folder) / "runs.sqlite", synchronous="NORMAL"))
            return built(shape, world, savers[-1], stops=True)

        log = reached(make, one_at_a_time=True, world=world)
        savers.pop().close()
    assert log == straight(shape, habits)
