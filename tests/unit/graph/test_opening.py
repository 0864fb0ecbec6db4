"""How a kept run begins: with an input, where it stopped, or with answers."""

from __future__ import annotations

import asyncio
import operator
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest

from surehand import (
    END,
    START,
    CheckpointConflict,
    Checkpointer,
    CheckpointError,
    Command,
    CompiledGraph,
    GraphRecursionError,
    InputError,
    InterruptError,
    InterruptExpired,
    MemorySaver,
    OptionError,
    RunConfig,
    Send,
    SqliteSaver,
    StateGraph,
    interrupt,
)
from surehand.checkpoints import ChannelRow, CheckpointRow
from surehand.graph import settings
from surehand.graph.actions import NodeAction
from surehand.interrupts import current_scope, read_decision
from surehand.interrupts.signals import Questions


class State(TypedDict):
    log: Annotated[list[Any], operator.add]
    value: NotRequired[Any]


CONFIG: RunConfig = {"configurable": {"thread_id": "t"}}

both_doors = pytest.mark.parametrize("door", ["sync", "async"])


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Checkpointer]:
    with MemorySaver() if request.param == "memory" else SqliteSaver(tmp_path / "runs.sqlite") as made:
        yield made


def through(door: str, graph: CompiledGraph, given: Any, config: RunConfig = CONFIG) -> Any:
    return graph.invoke(given, config) if door == "sync" else asyncio.run(graph.ainvoke(given, config))


def chain(saver: Checkpointer, **nodes: NodeAction) -> CompiledGraph:
    """A graph whose nodes follow one another."""
    return StateGraph(State).add_sequence(list(nodes.items())).add_edge(START, next(iter(nodes))).compile(saver)


def side_by_side(saver: Checkpointer, **nodes: NodeAction) -> CompiledGraph:
    """A graph whose nodes run in one step, and one after them."""
    builder = StateGraph(State)
    for name, node in nodes.items():
        builder.add_node(name, node).add_edge(START, name)
    builder.add_node("last", lambda state: {"log": [f"last saw {len(state['log'])}"]})
    return builder.add_edge(list(nodes), "last").compile(saver)


def questions_of(result: dict[str, Any]) -> list[Any]:
    return [question.value for question in result["__interrupt__"]]


# Threads


@both_doors
def test_a_thread_goes_on_from_the_state_it_has_reached(door: str, saver: Checkpointer) -> None:
    graph = chain(saver, a=lambda state: {"log": ["a"]})
    through(door, graph, {"log": ["1"]})
    assert through(door, graph, {"log": ["2"]})["log"] == ["1", "a", "2", "a"]
    assert through(door, graph, {"log": ["1"]}, {"configurable": {"thread_id": "u"}})["log"] == ["1", "a"]


def test_a_graph_with_a_checkpointer_needs_a_thread(saver: Checkpointer) -> None:
    graph = chain(saver, a=lambda state: {"log": ["a"]})
    named: list[Any] = [{}, {"thread_id": ""}, {"thread_id": None}]
    configs: list[Any] = [None, {}, *({"configurable": places} for places in named)]
    for config in configs:
        with pytest.raises(OptionError, match="thread_id"):
            graph.invoke({"log": []}, config)


@pytest.mark.parametrize("id", ["", "  ", True, b"1"])
def test_what_names_no_checkpoint_is_refused_as_such(id: Any, saver: Checkpointer) -> None:
    graph = chain(saver, a=lambda state: {"log": ["a"]})
    with pytest.raises(OptionError, match=r"checkpoint_id=.*: expected the id of a checkpoint, or None"):
        graph.invoke({"log": []}, {"configurable": {"thread_id": "t", "checkpoint_id": id}})


def test_numbers_are_names_of_threads_too(saver: Checkpointer) -> None:
    graph = chain(saver, a=lambda state: {"log": ["a"]})
    graph.invoke({"log": []}, {"configurable": {"thread_id": 7}})
    assert graph.get_state({"configurable": {"thread_id": "7"}}).values["log"] == ["a"]


def test_there_is_nothing_to_go_on_with_in_a_new_thread(saver: Checkpointer) -> None:
    graph = chain(saver, a=lambda state: {"log": ["a"]})
    with pytest.raises(InputError, match="no run to go on with"):
        graph.invoke(None, CONFIG)
    with pytest.raises(InputError, match="no run to go on with"):
        graph.invoke(Command(resume=1), CONFIG)


@both_doors
def test_none_changes_nothing_in_a_thread_that_is_at_its_end(door: str, saver: Checkpointer) -> None:
    runs = Counter[str]()

    def a(state: State) -> dict[str, Any]:
        runs["a"] += 1
        return {"log": ["a"]}

    graph = chain(saver, a=a)
    through(door, graph, {"log": []})
    assert through(door, graph, None)["log"] == ["a"]
    assert runs == {"a": 1}


# Going on after a failure


@both_doors
def test_a_run_that_failed_goes_on_at_the_node_that_failed(door: str, saver: Checkpointer) -> None:
    runs = Counter[str]()

    def a(state: State) -> dict[str, Any]:
        runs["a"] += 1
        return {"log": ["a"]}

    def b(state: State) -> dict[str, Any]:
        runs["b"] += 1
        if runs["b"] == 1:
            raise ConnectionError("down")
        return {"log": ["b"]}

    graph = chain(saver, a=a, b=b)
    with pytest.raises(ConnectionError):
        through(door, graph, {"log": []})
    assert graph.get_state(CONFIG).next == ("b",)
    assert through(door, graph, None)["log"] == ["a", "b"]
    assert runs == {"a": 1, "b": 2}


@both_doors
def test_siblings_that_ended_are_not_run_again(door: str, saver: Checkpointer) -> None:
    runs = Counter[str]()

    begun = threading.Event()

    def good(state: State) -> dict[str, Any]:
        runs["good"] += 1
        begun.set()
        return {"log": ["good"]}

    def bad(state: State) -> dict[str, Any]:
        runs["bad"] += 1
        if runs["bad"] == 1:
            assert begun.wait(20)  # what has begun on a thread comes to its end
            raise ConnectionError("down")
        return {"log": ["bad"]}

    graph = side_by_side(saver, good=good, bad=bad)
    with pytest.raises(ConnectionError):
        through(door, graph, {"log": []})
    assert [task.is_done for task in graph.get_state(CONFIG).tasks] == [True, False]
    assert through(door, graph, None)["log"] == ["good", "bad", "last saw 2"]
    assert runs == {"good": 1, "bad": 2}


def test_a_node_whose_path_fails_is_not_run_again(saver: Checkpointer) -> None:
    runs = Counter[str]()

    def a(state: State) -> dict[str, Any]:
        runs["a"] += 1
        return {"log": ["a"]}

    def path(state: State) -> str:
        runs["path"] += 1
        if runs["path"] == 1:
            raise ConnectionError("down")
        return END

    graph = StateGraph(State).add_node("a", a).add_edge(START, "a").add_conditional_edges("a", path).compile(saver)
    with pytest.raises(ConnectionError):
        graph.invoke({"log": []}, CONFIG)
    assert graph.invoke(None, CONFIG)["log"] == ["a"]
    assert runs == {"a": 1, "path": 2}


def test_a_run_that_reached_its_limit_goes_on_with_a_new_one(saver: Checkpointer) -> None:
    def path(state: State) -> str:
        return END if len(state["log"]) >= 5 else "a"

    builder = StateGraph(State).add_node("a", lambda state: {"log": ["a"]}).add_edge(START, "a")
    graph = builder.add_conditional_edges("a", path).compile(saver)
    with pytest.raises(GraphRecursionError) as caught:
        graph.invoke({"log": []}, {**CONFIG, "recursion_limit": 3})
    assert caught.value.state["log"] == ["a"] * 3
    assert graph.invoke(None, {**CONFIG, "recursion_limit": 3})["log"] == ["a"] * 5


# Questions of nodes


@both_doors
@pytest.mark.parametrize("answer", ["yes", None, {}, [], False, 0, "", {"a": 1}, ["x"], {"f" * 32: 1, "b": 2}])
def test_any_value_is_an_answer(door: str, answer: Any, saver: Checkpointer) -> None:
    def ask(state: State) -> dict[str, Any]:
        return {"value": ("got", interrupt("Go on?"))}

    graph = chain(saver, ask=ask)
    asked = through(door, graph, {"log": ["x"]})
    assert questions_of(asked) == ["Go on?"]
    assert asked["log"] == ["x"]
    assert through(door, graph, Command(resume=answer)) == {"log": ["x"], "value": ("got", answer)}


@both_doors
def test_an_answer_may_be_given_by_the_id_of_its_question(door: str, saver: Checkpointer) -> None:
    graph = chain(saver, ask=lambda state: {"value": interrupt("Go on?")})
    (question,) = through(door, graph, {"log": []})["__interrupt__"]
    assert through(door, graph, Command(resume={question.id: None}))["value"] is None


@both_doors
def test_a_node_that_asks_runs_again_from_its_first_line_and_its_siblings_do_not(
    door: str, saver: Checkpointer
) -> None:
    runs = Counter[str]()

    def ask(state: State) -> dict[str, Any]:
        runs["ask"] += 1
        return {"log": [interrupt("first"), interrupt("second")]}

    def other(state: State) -> dict[str, Any]:
        runs["other"] += 1
        return {"log": ["other"]}

    graph = side_by_side(saver, ask=ask, other=other)
    assert questions_of(through(door, graph, {"log": []})) == ["first"]
    assert questions_of(through(door, graph, Command(resume=1))) == ["second"]
    assert through(door, graph, Command(resume=2))["log"] == [1, 2, "other", "last saw 3"]
    assert runs == {"ask": 3, "other": 1}


@both_doors
def test_several_questions_are_answered_in_any_order_partly_and_later(door: str, saver: Checkpointer) -> None:
    def asking(name: str) -> Callable[[Any], Any]:
        return lambda state: {"log": [(name, interrupt(name))]}

    graph = side_by_side(saver, **{name: asking(name) for name in ("a", "b", "c")})
    asked = through(door, graph, {"log": []})
    ids = {question.value: question.id for question in asked["__interrupt__"]}
    assert list(ids) == ["a", "b", "c"]
    with pytest.raises(InterruptError, match="waits for 3 answers"):
        through(door, graph, Command(resume="which?"))
    assert questions_of(through(door, graph, Command(resume={ids["c"]: 3}))) == ["a", "b"]
    assert questions_of(through(door, graph, Command(resume={ids["a"]: 1}))) == ["b"]
    assert through(door, graph, Command(resume=2))["log"] == [("a", 1), ("b", 2), ("c", 3), "last saw 3"]


def test_an_answer_to_no_question_is_refused_and_changes_nothing(saver: Checkpointer) -> None:
    graph = side_by_side(saver, a=lambda state: {"log": [interrupt("a")]}, b=lambda state: {"log": [interrupt("b")]})
    first, _ = graph.invoke({"log": []}, CONFIG)["__interrupt__"]
    with pytest.raises(InterruptError, match="No open question has the id 'ffff"):
        graph.invoke(Command(resume={first.id: 1, "f" * 32: 2}), CONFIG)
    assert len(graph.get_state(CONFIG).interrupts) == 2
    graph.invoke(Command(resume={first.id: 1}), CONFIG)
    with pytest.raises(InterruptError, match="No open question"):
        graph.invoke(Command(resume={first.id: 1}), CONFIG)


def test_a_run_that_asks_nothing_takes_no_answer(saver: Checkpointer) -> None:
    graph = chain(saver, a=lambda state: {"log": ["a"]})
    graph.invoke({"log": []}, CONFIG)
    with pytest.raises(InterruptError, match="waits for no answer"):
        graph.invoke(Command(resume=1), CONFIG)


@pytest.mark.parametrize(
    "command", [Command(), Command(update={"log": []}), Command(goto="a"), Command(resume=1, goto="a")]
)
def test_a_command_that_a_run_begins_with_holds_answers_and_nothing_else(command: Any, saver: Checkpointer) -> None:
    graph = chain(saver, a=lambda state: {"log": [interrupt("a")]})
    graph.invoke({"log": []}, CONFIG)
    with pytest.raises(InputError, match=r"Pass Command\(resume=…\)"):
        graph.invoke(command, CONFIG)


def test_nobody_can_be_asked_without_a_checkpointer() -> None:
    graph = StateGraph(State).add_node("a", lambda state: {"log": [interrupt("a")]}).add_edge(START, "a").compile()
    with pytest.raises(InterruptError, match="checkpointer"):
        graph.invoke({"log": []})
    with pytest.raises(InterruptError, match="checkpointer"):
        graph.invoke(Command(resume=1))


def test_except_exception_does_not_swallow_a_question(saver: Checkpointer) -> None:
    def ask(state: State) -> dict[str, Any]:
        try:
            return {"value": interrupt("Go on?")}
        except Exception:  # noqa: BLE001 - as careless nodes do
            return {"value": "swallowed"}

    graph = chain(saver, ask=ask)
    graph.invoke({"log": []}, CONFIG)
    assert graph.invoke(Command(resume="heard"), CONFIG)["value"] == "heard"


def test_an_asynchronous_node_may_ask_from_inside_a_task_group(saver: Checkpointer) -> None:
    async def question(name: str) -> Any:
        return interrupt(name, key=name)

    async def ask(state: State) -> dict[str, Any]:
        async with asyncio.TaskGroup() as group:
            first, second = group.create_task(question("a")), group.create_task(question("b"))
        return {"log": [first.result(), second.result()]}

    graph = chain(saver, ask=ask)
    ids = {question.value: question.id for question in graph.invoke({"log": []}, CONFIG)["__interrupt__"]}
    assert graph.invoke(Command(resume={ids["b"]: 2, ids["a"]: 1}), CONFIG)["log"] == [1, 2]


def test_keys_tell_questions_apart_whatever_their_order(saver: Checkpointer) -> None:
    order = ["a", "b"]

    def ask(state: State) -> dict[str, Any]:
        return {"value": {name: interrupt(name, key=name) for name in order}}

    graph = chain(saver, ask=ask)
    assert questions_of(graph.invoke({"log": []}, CONFIG)) == ["a"]
    order.reverse()
    assert questions_of(graph.invoke(Command(resume="for a"), CONFIG)) == ["b"]
    assert graph.invoke(Command(resume="for b"), CONFIG)["value"] == {"a": "for a", "b": "for b"}


@both_doors
def test_a_graph_inside_asks_and_goes_on_where_it_asked(door: str, saver: Checkpointer) -> None:
    runs = Counter[str]()

    def before(state: State) -> dict[str, Any]:
        runs["before"] += 1
        return {"log": ["before"]}

    inner = StateGraph(State).add_sequence([("before", before), ("ask", lambda state: {"log": [interrupt("inside")]})])
    graph = chain(saver, outer=lambda state: {"log": ["outer"]}, inner=inner.add_edge(START, "before").compile())
    assert questions_of(through(door, graph, {"log": []})) == ["inside"]
    assert through(door, graph, Command(resume="answer"))["log"] == ["outer", "before", "answer"]
    assert runs == {"before": 1}


def test_a_graph_that_a_node_runs_by_itself_asks_as_a_part_of_the_node(saver: Checkpointer) -> None:
    inner = StateGraph(State)
    for name in ("x", "y"):
        inner.add_node(name, lambda state, name=name: {"log": [interrupt(name)]}).add_edge(START, name)
    translated = inner.compile()
    graph = chain(saver, outer=lambda state: {"log": translated.invoke({"log": []})["log"]})
    ids = {question.value: question.id for question in graph.invoke({"log": []}, CONFIG)["__interrupt__"]}
    assert set(ids) == {"x", "y"}
    assert graph.invoke(Command(resume={ids["y"]: 2, ids["x"]: 1}), CONFIG)["log"] == [1, 2]


def test_every_send_asks_for_itself(saver: Checkpointer) -> None:
    builder = StateGraph(State).add_node("each", lambda number: {"log": [(number, interrupt(f"number {number}"))]})
    builder.add_conditional_edges(START, lambda state: [Send("each", number) for number in range(3)])
    graph = builder.compile(saver)
    asked = graph.invoke({"log": []}, CONFIG)["__interrupt__"]
    answers = {question.id: question.value.upper() for question in asked}
    log = graph.invoke(Command(resume=answers), CONFIG)["log"]
    assert log == [(number, f"NUMBER {number}") for number in range(3)]


def test_a_question_may_expire(saver: Checkpointer) -> None:
    def ask(state: State) -> dict[str, Any]:
        try:
            return {"value": interrupt("Quick?", expires_in=0.01)}
        except InterruptExpired as error:
            return {"value": f"too late for {error.question}"}

    graph = chain(saver, ask=ask)
    asked = graph.invoke({"log": []}, CONFIG)["__interrupt__"][0]
    assert asked.expires_at is not None
    assert 0 < asked.expires_at - asked.asked_at <= 0.011
    time.sleep(0.02)
    assert graph.invoke(Command(resume="yes"), CONFIG)["value"] == "too late for Quick?"


def test_an_answer_in_time_counts_however_late_the_run_goes_on(
    saver: Checkpointer, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails = [True]
    ahead = 0.0
    monkeypatch.setattr(settings, "Questions", partial(Questions, now=lambda: time.time() + ahead))

    def ask(state: State) -> dict[str, Any]:
        answer = interrupt("Quick?", expires_in=100)
        if fails:
            fails.pop()
            raise ConnectionError("down")
        return {"value": answer}

    graph = chain(saver, ask=ask)
    graph.invoke({"log": []}, CONFIG)
    with pytest.raises(ConnectionError):
        graph.invoke(Command(resume="yes"), CONFIG)
    ahead = 101.0
    assert graph.invoke(None, CONFIG)["value"] == "yes"


@pytest.mark.parametrize("late", [Command(resume="late"), None])
def test_a_question_that_has_expired_stays_expired(late: Any, saver: Checkpointer) -> None:
    def ask(state: State) -> dict[str, Any]:
        try:
            first = interrupt("Quick?", expires_in=0.01)
        except InterruptExpired:
            first = "too late"
        return {"log": [first, interrupt("Then?")]}

    graph = chain(saver, ask=ask)
    graph.invoke({"log": []}, CONFIG)
    time.sleep(0.02)
    assert questions_of(graph.invoke(late, CONFIG)) == ["Then?"]
    assert graph.invoke(Command(resume="well"), CONFIG)["log"] == ["too late", "well"]


def test_a_question_that_cannot_be_kept_is_refused_where_it_is_asked(saver: Checkpointer) -> None:
    def ask(state: State) -> dict[str, Any]:
        with pytest.raises(InterruptError, match=r"cannot be kept: .* no stored form"):
            interrupt(object())
        return {"log": [interrupt("What else?")]}

    graph = chain(saver, ask=ask)
    assert questions_of(graph.invoke({"log": []}, CONFIG)) == ["What else?"]


@both_doors
def test_a_path_cannot_ask(door: str, saver: Checkpointer) -> None:
    builder = StateGraph(State).add_node("a", lambda state: {"log": ["a"]}).add_edge(START, "a")
    graph = builder.add_conditional_edges("a", lambda state: interrupt("Where to?")).compile(saver)
    with pytest.raises(InterruptError, match="ask in a node or a tool"):
        through(door, graph, {"log": []})


@both_doors
def test_a_graph_inside_that_had_ended_is_forgotten_with_its_step(door: str, saver: Checkpointer) -> None:
    inner = StateGraph(State).add_node("in", lambda state: {"log": ["inside"]}).add_edge(START, "in").compile()
    builder = StateGraph(State).add_node("inner", inner).add_node("ask", lambda state: {"log": [interrupt("Go on?")]})
    graph = builder.add_edge(START, "inner").add_edge(START, "ask").compile(saver)
    through(door, graph, {"log": []})
    (asked,) = saver.history("t")
    namespace = f"{asked.id}:0"
    assert saver.history("t", namespace)
    assert through(door, graph, Command(resume="yes"))["log"] == ["inside", "yes"]
    assert saver.history("t", namespace) == []


def test_a_new_input_leaves_open_questions_behind(saver: Checkpointer) -> None:
    graph = chain(saver, ask=lambda state: {"log": [interrupt(f"after {len(state['log'])}")]})
    graph.invoke({"log": ["1"]}, CONFIG)
    assert questions_of(graph.invoke({"log": ["2"]}, CONFIG)) == ["after 2"]
    assert graph.invoke(Command(resume="heard"), CONFIG)["log"] == ["1", "2", "heard"]


def test_another_process_may_answer(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    with SqliteSaver(path) as first:
        (question,) = chain(first, ask=lambda state: {"log": [interrupt("Go on?")]}).invoke({"log": []}, CONFIG)[
            "__interrupt__"
        ]
    with SqliteSaver(path) as second:
        graph = chain(second, ask=lambda state: {"log": [interrupt("Go on?")]})
        assert graph.get_state(CONFIG).interrupts == (question,)
        assert graph.invoke(Command(resume={question.id: "yes"}), CONFIG)["log"] == ["yes"]


@both_doors
def test_streams_say_what_is_asked(door: str, saver: Checkpointer) -> None:
    graph = chain(saver, a=lambda state: {"log": ["a"]}, ask=lambda state: {"log": [interrupt("Go on?")]})

    def items(given: Any) -> list[Any]:
        if door == "sync":
            return list(graph.stream(given, CONFIG, stream_mode=["updates", "values"]))

        async def main() -> list[Any]:
            return [item async for item in graph.astream(given, CONFIG, stream_mode=["updates", "values"])]

        return asyncio.run(main())

    first = items({"log": []})
    (question,) = graph.get_state(CONFIG).interrupts
    assert first[-2:] == [
        ("updates", {"__interrupt__": (question,)}),
        ("values", {"log": ["a"], "__interrupt__": [question]}),
    ]
    assert items(Command(resume="yes")) == [("updates", {"ask": {"log": ["yes"]}}), ("values", {"log": ["a", "yes"]})]


# Stops that the graph was compiled with


@both_doors
def test_a_run_stops_before_and_after_the_nodes_that_were_named(door: str, saver: Checkpointer) -> None:
    builder = StateGraph(State)
    builder.add_sequence([(name, lambda state, name=name: {"log": [name]}) for name in "abc"]).add_edge(START, "a")
    graph = builder.compile(saver, interrupt_before=["b"], interrupt_after=["b"])
    assert through(door, graph, {"log": []})["log"] == ["a"]
    assert graph.get_state(CONFIG).next == ("b",)
    assert through(door, graph, None)["log"] == ["a", "b"]
    assert through(door, graph, None)["log"] == ["a", "b", "c"]


# Forks


def test_a_thread_forks_at_an_earlier_checkpoint(saver: Checkpointer) -> None:
    graph = chain(saver, a=lambda state: {"log": ["a"]}, b=lambda state: {"log": [f"b{len(state['log'])}"]})
    graph.invoke({"log": ["1"]}, CONFIG)
    after_a = next(each for each in graph.get_state_history(CONFIG) if each.next == ("b",))
    assert graph.invoke(None, after_a.config)["log"] == ["1", "a", "b2"]
    forked = graph.get_state(CONFIG)
    assert [each.metadata["source"] for each in graph.get_state_history(CONFIG)] == [
        "step",
        "fork",
        "step",
        "step",
        "input",
    ]
    assert forked.values["log"] == ["1", "a", "b2"]
    assert graph.invoke({"log": ["2"]}, after_a.config)["log"] == ["1", "a", "2", "a", "b4"]


def test_a_checkpoint_that_is_not_there_is_said_so(saver: Checkpointer) -> None:
    graph = chain(saver, a=lambda state: {"log": ["a"]})
    graph.invoke({"log": []}, CONFIG)
    with pytest.raises(CheckpointError, match="no such checkpoint"):
        graph.invoke(None, {"configurable": {"thread_id": "t", "checkpoint_id": "nope"}})


def test_a_question_of_an_earlier_checkpoint_is_asked_anew_in_its_fork(saver: Checkpointer) -> None:
    graph = chain(saver, ask=lambda state: {"log": [interrupt("Go on?")]})
    graph.invoke({"log": []}, CONFIG)
    asked = graph.get_state(CONFIG)
    graph.invoke(Command(resume="first"), CONFIG)
    with pytest.raises(InterruptError, match="not the newest"):
        graph.invoke(Command(resume="second"), asked.config)
    assert questions_of(graph.invoke(None, asked.config)) == ["Go on?"]
    assert graph.invoke(Command(resume="second"), CONFIG)["log"] == ["second"]


# Two runs of one thread


def test_of_two_runs_of_a_thread_one_wins_and_the_other_is_told(saver: Checkpointer) -> None:
    inside: list[Any] = []

    def a(state: State) -> dict[str, Any]:
        if not inside:
            inside.append(None)
            inside.append(graph.invoke({"log": ["quick"]}, CONFIG))
        return {"log": ["a"]}

    graph = chain(saver, a=a)
    with pytest.raises(CheckpointConflict, match="another run has gone on"):
        graph.invoke({"log": ["slow"]}, CONFIG)
    assert graph.get_state(CONFIG).values["log"] == ["slow", "quick", "a"]


def test_of_two_who_answer_at_a_time_one_is_told(saver: Checkpointer) -> None:
    answers: list[Any] = []

    def ask(state: State) -> dict[str, Any]:
        answer = interrupt("Go on?")
        if not answers:
            answers.append(answer)
            with pytest.raises(InterruptError):
                graph.invoke(Command(resume="second"), CONFIG)
        return {"log": [answer]}

    graph = chain(saver, ask=ask)
    graph.invoke({"log": []}, CONFIG)
    assert graph.invoke(Command(resume="first"), CONFIG)["log"] == ["first"]


# Nodes


@both_doors
def test_a_deferred_node_runs_when_nothing_else_is_left(door: str, saver: Checkpointer) -> None:
    builder = StateGraph(State)
    for name in ("short", "long", "longer"):
        builder.add_node(name, lambda state, name=name: {"log": [name]})
    builder.add_node("end", lambda state: {"log": [f"end after {len(state['log'])}"]}, defer=True)
    for source, target in ((START, "short"), (START, "long"), ("long", "longer"), ("short", "end"), ("longer", "end")):
        builder.add_edge(source, target)
    assert through(door, builder.compile(saver), {"log": []})["log"] == ["short", "long", "longer", "end after 3"]


def test_a_node_goes_where_its_command_says(saver: Checkpointer) -> None:
    def a(state: State) -> Command[Literal["b"]]:
        return Command(update={"log": ["a"]}, goto="b")

    builder = StateGraph(State).add_node("a", a).add_node("b", lambda state: {"log": ["b"]}).add_edge(START, "a")
    assert builder.compile(saver).invoke({"log": []}, CONFIG)["log"] == ["a", "b"]


def test_langchains_decisions_answer_all_open_approvals_in_their_order(saver: Checkpointer) -> None:
    def approve(name: str) -> Callable[[Any], Any]:
        def ask(state: State) -> dict[str, Any]:
            scope = current_scope()
            assert scope is not None
            shown = {"tool": name, "decisions": ["approve", "reject"]}
            return {"log": [(name, read_decision(scope.ask(shown, kind="approval")).kind)]}

        return ask

    graph = side_by_side(saver, a=approve("a"), b=approve("b"))
    graph.invoke({"log": []}, CONFIG)
    with pytest.raises(InterruptError, match="waits for 2 answers"):
        graph.invoke(Command(resume={"decisions": [{"type": "approve"}]}), CONFIG)
    decided = Command(resume={"decisions": [{"type": "approve"}, {"type": "reject"}]})
    assert graph.invoke(decided, CONFIG)["log"][:2] == [("a", "approve"), ("b", "reject")]


def test_a_graph_inside_writes_what_is_new_at_each_step() -> None:
    written: list[int] = []

    class Counting(MemorySaver):
        def put(self, row: CheckpointRow, changes: Sequence[ChannelRow], **options: Any) -> None:
            written.append(sum(len(change.text) for change in changes))
            super().put(row, changes, **options)

    def more(state: State) -> str:
        return "a" if len(state["log"]) < 40 else END

    inner = StateGraph(State).add_node("a", lambda state: {"log": ["x" * 1_000]}).add_edge(START, "a")
    graph = chain(Counting(), inner=inner.add_conditional_edges("a", more).compile())
    graph.invoke({"log": []}, {**CONFIG, "recursion_limit": 50})
    assert max(written[5:-1]) < 3_000


class Panic(BaseException):
    """As native code raises it."""


@both_doors
@pytest.mark.parametrize("kind", [ConnectionError, Panic])
def test_a_sibling_of_a_node_that_failed_comes_to_its_end_and_is_kept(
    door: str, saver: Checkpointer, kind: type[BaseException]
) -> None:
    runs = Counter[str]()

    async def bad(state: State) -> dict[str, Any]:
        runs["bad"] += 1
        if runs["bad"] == 1:
            raise kind("down")
        return {"log": ["bad"]}

    async def slow(state: State) -> dict[str, Any]:
        runs["slow"] += 1
        await asyncio.sleep(0.02)
        return {"log": ["slow"]}

    graph = side_by_side(saver, bad=bad, slow=slow)
    with pytest.raises(kind):
        through(door, graph, {"log": []})
    assert through(door, graph, None)["log"] == ["bad", "slow", "last saw 2"]
    assert runs == {"bad": 2, "slow": 1}
