"""CMD: calls that pause, that a human rejects, and that ask something of the graph."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from typing import Annotated, Any, cast

import pytest
from typing_extensions import TypedDict

from support.kept import THREAD, Door, answers_in, by_both_doors, kept, questions_in, turn_of
from surehand import (
    START,
    Command,
    NodeError,
    StateGraph,
    ToolMessage,
    ToolNode,
    add_messages,
    interrupt,
    tool,
)
from surehand.checkpoints.memory import MemorySaver
from surehand.events import CallFinished, CallPaused

RAN: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    RAN.clear()


@tool
def pay(to: str) -> str:
    """Pay."""
    RAN.append(to)
    return f"paid {to}"


@tool
async def ask(name: str) -> str:
    """Ask after some time."""
    await asyncio.sleep(random.random() / 200)
    RAN.append(f"asked {name}")
    return f"{name} {interrupt(name)}"


@by_both_doors
def test_CMD_01_a_resume_enters_the_paused_call_alone(run: Door) -> None:
    graph = kept(pay, ask)
    run(graph, turn_of(("pay", {"to": "Ann"}), ("ask", {"name": "A"}), ("pay", {"to": "Bob"})))
    state = run(graph, Command(resume="yes"))
    assert [answer.text for answer in answers_in(state)] == ["paid Ann", "A yes", "paid Bob"]
    assert sorted(RAN) == ["Ann", "Bob", "asked A", "asked A"]


@pytest.mark.parametrize("_", range(5))
def test_CMD_02_an_answer_goes_to_the_call_that_asked(_: int) -> None:
    graph = kept(ask)
    names = ["A", "B", "C", "D"]
    state = asyncio.run(graph.ainvoke(turn_of(*[("ask", {"name": name}) for name in names]), THREAD))
    answers = {question.id: f"for {question.value}" for question in questions_in(state)}
    state = asyncio.run(graph.ainvoke(Command(resume=answers), THREAD))
    assert [answer.text for answer in answers_in(state)] == [f"{name} for {name}" for name in names]


@by_both_doors
def test_CMD_04_all_pauses_of_a_turn_are_collected(run: Door) -> None:
    state = run(kept(ask), turn_of(*[("ask", {"name": name}) for name in "ABC"]))
    assert [(question.value, question.call_id) for question in questions_in(state)] == [
        ("A", "c0"),
        ("B", "c1"),
        ("C", "c2"),
    ]


@by_both_doors
def test_CMD_05_no_handler_and_no_wrapper_makes_a_pause_an_error(run: Door) -> None:
    def straight(request: Any, handler: Any) -> Any:
        return handler(request)

    def catching(request: Any, handler: Any) -> Any:
        try:
            return handler(request)
        except Exception:  # noqa: BLE001 - what the report is about
            return "caught"

    graph = kept(ask, middleware=[straight, catching], handle_tool_errors="Something failed.")
    assert len(questions_in(run(graph, turn_of(("ask", {"name": "A"}))))) == 1
    assert answers_in(run(graph, Command(resume="yes")))[0].text == "A yes"


def test_CMD_06_a_pause_has_an_event_of_its_own() -> None:
    graph = kept(ask, pay)
    events = [
        event
        for event, _ in graph.stream(
            turn_of(("ask", {"name": "A"}), ("pay", {"to": "Ann"})), THREAD, stream_mode="calls"
        )
        if isinstance(event, CallPaused | CallFinished)
    ]
    (paused,) = [event for event in events if event.call_id == "c0"]
    assert isinstance(paused, CallPaused)
    assert [(question.value, question.call_id) for question in paused.questions] == [("A", "c0")]
    assert [type(event) for event in events if event.call_id == "c1"] == [CallFinished]


@by_both_doors
def test_CMD_07_what_a_human_rejects_is_answered_so_and_never_runs(run: Door) -> None:
    graph = kept(pay, requires_approval=True)
    first, second = questions_in(run(graph, turn_of(("pay", {"to": "Ann"}), ("pay", {"to": "Bob"}))))
    state = run(graph, Command(resume={first.id: True, second.id: {"type": "reject", "message": "Not him."}}))
    paid, rejected = answers_in(state)
    assert (paid.text, rejected.text) == ("paid Ann", "The call was not executed. Not him.")
    assert rejected.outcome is not None
    assert (rejected.outcome.kind, RAN) == ("denied", ["Ann"])


# What tools ask of the graph


def merge(left: dict[str, str] | None, right: dict[str, str]) -> dict[str, str]:
    return {**(left or {}), **right}


class Files(TypedDict, total=False):
    messages: Annotated[list[Any], add_messages]
    files: Annotated[dict[str, str], merge]
    newest: str


def graph_of(*tools: Any, saver: Any = None) -> Any:
    graph = StateGraph(Files).add_node("tools", ToolNode(list(tools), commands=True)).add_edge(START, "tools")
    return graph.compile(checkpointer=saver)


@tool
def write(path: str) -> Any:
    """Write a file."""
    return Command(update={"files": {path: f"text of {path}"}})


@tool
def name_newest(path: str) -> Any:
    """Say which file is the newest."""
    RAN.append(path)
    return Command(update={"newest": path})


def test_CMD_11_what_two_calls_write_is_merged_by_the_reducer_of_the_key() -> None:
    state = graph_of(write).invoke(turn_of(("write", {"path": "a"}), ("write", {"path": "b"})))
    assert state["files"] == {"a": "text of a", "b": "text of b"}
    assert len(answers_in(state)) == 2


def test_CMD_11_two_calls_that_write_a_key_without_a_reducer_are_an_error_that_names_it() -> None:
    saver = MemorySaver()
    turn = turn_of(("name_newest", {"path": "a"}), ("name_newest", {"path": "b"}))
    with pytest.raises(NodeError, match="'newest' twice in one step"):
        graph_of(name_newest, saver=saver).invoke(turn, THREAD)
    assert [row.state for row in saver.calls("t")] == ["done", "done"]  # what they did is known and not done again


def test_CMD_09_what_several_calls_ask_of_the_parent_graph_all_takes_effect() -> None:
    @tool
    def report(key: str) -> Any:
        """Report to the graph around this one."""
        return Command(graph=Command.PARENT, update={"files": {key: key}}, goto="after")

    def after(_: Any) -> None:
        RAN.append("after")

    outer = StateGraph(Files).add_node("inner", graph_of(report), destinations=["after"]).add_node("after", after)
    state = outer.add_edge(START, "inner").compile().invoke(turn_of(*[("report", {"key": key}) for key in "abc"]))
    assert state["files"] == {"a": "a", "b": "b", "c": "c"}
    assert RAN == ["after"]


@pytest.mark.parametrize("mode", ["updates", "values", "messages"])
def test_CMD_13_each_answer_is_there_once_in_every_mode_of_a_stream(mode: str) -> None:
    calls = [("write", {"path": path}) for path in "abc"]
    seen: list[str] = []
    stream: Iterator[Any] = graph_of(write).stream(turn_of(*calls), stream_mode=mode)
    for item in stream:
        messages: list[Any] = [item[0]] if mode == "messages" else []
        if mode == "values":
            seen.clear()
            messages = item["messages"]
        elif mode == "updates":
            for update in item.values():
                messages += cast("dict[str, Any]", update or {}).get("messages", ())
        seen += [message.tool_call_id for message in messages if isinstance(message, ToolMessage)]
    assert seen == ["c0", "c1", "c2"]


def test_what_a_call_asked_of_the_graph_is_not_lost_where_another_one_pauses() -> None:
    graph = graph_of(write, ask, saver=MemorySaver())
    graph.invoke(turn_of(("write", {"path": "a"}), ("ask", {"name": "A"})), THREAD)
    state = graph.invoke(Command(resume="yes"), THREAD)
    assert state["files"] == {"a": "text of a"}
    assert [answer.text for answer in answers_in(state)] == ["Done; control moves on.", "A yes"]
