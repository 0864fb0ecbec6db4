"""Calls that finished before a node asked or failed, when another process takes it up: none is run again."""

# LangChain's own types are partly unknown.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false, reportMissingTypeStubs=false

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import pytest
from langchain_core.messages import ToolMessage as ForeignAnswer
from langchain_core.tools import tool as their_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState
from langgraph.prebuilt import ToolRuntime
from langgraph.types import Command, Send, interrupt

from support.langgraphs import asking, asking_graph, call, config, graph_of, texts
from surehand import Command as OwnCommand
from surehand import ToolMessage, tool
from surehand.calls import CallKey, Recalled
from surehand.integrations.langchain.finished_calls import read_finished, write_finished
from surehand.integrations.langchain.nodes import ToolNode
from surehand.integrations.langchain.turn_journals import TurnJournal

ran: list[Any] = []
KEY = CallKey(thread_id="t", message_id="m", position=0, call_id="c", tool="charge", digest="d")


@pytest.fixture(autouse=True)
def _forget() -> None:
    ran.clear()


class State(MessagesState):
    paid: int


@their_tool
def confirm(what: str) -> str:
    """Confirm."""
    answer = interrupt(what)
    ran.append((what, answer))
    return f"{what}: {answer}"


@their_tool
def charge() -> str:
    """Charge."""
    ran.append("charge")
    return "charged"


def elsewhere(saver: InMemorySaver) -> InMemorySaver:
    """What another process has in hand: the same threads, and nothing that is remembered beside them."""
    other = InMemorySaver()
    other.storage, other.writes, other.blobs = saver.storage, saver.writes, saver.blobs
    return other


def run_apart(tools: Sequence[Any], calls: Sequence[Any], *steps: Any, **options: Any) -> Any:
    """The last state of a run of which each step is done by another process."""
    saver, state = InMemorySaver(), None
    for given in (asking(*calls), *steps):
        saver = elsewhere(saver)
        state = graph_of(ToolNode(tools, **options), schema=State, saver=saver).invoke(given, config())
    return state


def answers(state: Any) -> list[ForeignAnswer]:
    return [message for message in state["messages"] if message.type == "tool"]


THREE = (call("confirm", "1", what="a"), call("charge", "2"), call("confirm", "3", what="b"))


@pytest.mark.parametrize("compat", [None, "langgraph"])
def test_each_effect_happens_once_with_a_process_for_each_answer(compat: Any) -> None:
    found = run_apart([confirm, charge], THREE, Command(resume="x"), Command(resume="y"), compat=compat)
    assert ran == ["charge", ("a", "x"), ("b", "y")]
    assert texts(found) == ["a: x", "charged", "b: y"]


def test_answers_by_id_find_what_is_finished_too() -> None:
    async def main() -> Any:
        saver, given = InMemorySaver(), cast("Any", asking(*THREE))
        while True:
            saver = elsewhere(saver)
            state = await graph_of(ToolNode([confirm, charge]), saver=saver).ainvoke(given, config())
            if "__interrupt__" not in state:
                return state
            given = Command(resume={state["__interrupt__"][0].id: "ok"})

    assert texts(asyncio.run(main())) == ["a: ok", "charged", "b: ok"]
    assert ran.count("charge") == 1


def test_an_approved_call_is_run_once() -> None:
    @tool(requires_approval=True)
    def wipe(path: str) -> str:
        """Wipe."""
        ran.append(path)
        return "wiped"

    calls = [call("wipe", "1", path="/a"), call("wipe", "2", path="/b"), call("confirm", "3", what="c")]
    steps: list[Any] = [Command(resume=answer) for answer in ("approve", "reject", "yes")]
    found = run_apart([wipe, confirm], calls, *steps)
    assert (texts(found)[0], ran) == ("wiped", ["/a", ("c", "yes")])


def test_a_question_that_is_asked_again_elsewhere_keeps_its_id_and_what_is_finished() -> None:
    saver = InMemorySaver()
    states = []
    for given in (asking(*THREE), None, None):
        saver = elsewhere(saver)
        states.append(graph_of(ToolNode([confirm, charge]), saver=saver).invoke(given, config()))
    assert len({state["__interrupt__"][0].id for state in states}) == 1
    assert ran == ["charge"]


def test_a_process_that_comes_back_runs_nothing_that_another_has_finished_meanwhile() -> None:
    saver = InMemorySaver()
    node = ToolNode([confirm, charge])
    graph_of(node, saver=saver).invoke(asking(*THREE), config())
    graph_of(node, saver=elsewhere(saver)).invoke(Command(resume="x"), config())
    found = graph_of(node, saver=saver).invoke(Command(resume="y"), config())
    assert ran == ["charge", ("a", "x"), ("b", "y")]
    assert texts(found) == ["a: x", "charged", "b: y"]


def test_graphs_inside_of_calls_go_on_beside_what_is_finished() -> None:
    inner = asking_graph()

    @their_tool
    def delegate(name: str) -> str:
        """Delegate."""
        said = str(inner.invoke({"name": name})["said"])
        ran.append(said)
        return said

    calls = [call("delegate", "1", name="ada"), call("charge", "2"), call("delegate", "3", name="bob")]
    found = run_apart([delegate, charge], calls, Command(resume=1), Command(resume=2))
    assert texts(found) == ["ada: 1", "charged", "bob: 2"]
    assert ran == ["charge", "ada: 1", "bob: 2"]


@pytest.mark.parametrize("compat", [None, "langgraph"])
def test_commands_and_artifacts_arrive_as_if_there_were_one_process(compat: Any) -> None:
    @their_tool(response_format="content_and_artifact")
    def chart() -> Any:
        """Draw."""
        ran.append("chart")
        return "a chart", {"points": [1, 2]}

    @their_tool
    def pay(runtime: ToolRuntime) -> Command[Any]:
        """Pay."""
        ran.append("pay")
        answer = ForeignAnswer("paid", tool_call_id=runtime.tool_call_id, id="p", artifact={"receipt": 7})
        return Command(update=[("paid", 20), ("messages", [answer])])

    @tool
    def note() -> OwnCommand[Any]:
        """Note."""
        ran.append("note")
        return OwnCommand(update={"messages": [ToolMessage("noted", tool_call_id="4")]})

    tools = [confirm, chart, pay, note]
    calls = [call("confirm", "1", what="a"), call("chart", "2"), call("pay", "3"), call("note", "4")]
    found = run_apart(tools, calls, None, Command(resume="x"), compat=compat)
    assert sorted(ran[:3]) == ["chart", "note", "pay"]
    assert ran[3:] == [("a", "x")]
    assert sorted(texts(found)) == ["a chart", "a: x", "noted", "paid"]
    assert found["paid"] == 20
    artifacts = {message.tool_call_id: message.artifact for message in answers(found)}
    assert artifacts == {"1": None, "2": {"points": [1, 2]}, "3": {"receipt": 7}, "4": None}
    kinds = {"surehand" in message.response_metadata for message in answers(found)}
    assert kinds == {compat is None}


@pytest.mark.parametrize("options", [{}, {"compat": "langgraph", "handle_tool_errors": True}])
def test_a_failure_that_was_told_is_told_in_the_same_words_and_not_run_again(options: Any) -> None:
    @their_tool
    def half() -> str:
        """Do half of it."""
        ran.append("half")
        raise ValueError("no more paper")

    calls = [call("confirm", "1", what="a"), call("half", "2")]
    found = run_apart([confirm, half], calls, None, Command(resume="x"), **options)
    (alone,) = ToolNode([half], **options).invoke(asking(call("half", "2")))["messages"]
    (told,) = [message for message in answers(found) if message.tool_call_id == "2"]
    assert (told.status, _without_error_id(told)) == ("error", _without_error_id(alone))
    assert ran == ["half", ("a", "x"), "half"]  # the last one is the one that is alone


def _without_error_id(message: ForeignAnswer) -> str:
    return str(message.content).partition("[error")[0]


def test_after_a_failure_that_was_raised_another_process_runs_only_what_failed() -> None:
    attempts: list[int] = []

    @their_tool
    def flaky() -> str:
        """Flaky."""
        attempts.append(1)
        if len(attempts) < 3:
            raise ConnectionError("lost")
        return "ok"

    saver = InMemorySaver()
    calls = [call("flaky", "1"), call("charge", "2"), call("confirm", "3", what="a")]
    steps: list[Any] = [asking(*calls), None]
    for given in steps:
        saver = elsewhere(saver)
        with pytest.raises(ConnectionError):
            graph_of(ToolNode([flaky, charge, confirm], handle_tool_errors=False), saver=saver).invoke(given, config())
    found: Any = None
    answered: list[Any] = [None, Command(resume="x")]
    for given in answered:
        saver = elsewhere(saver)
        node = ToolNode([flaky, charge, confirm], handle_tool_errors=False)
        found = graph_of(node, saver=saver).invoke(given, config())
    assert texts(found) == ["ok", "charged", "a: x"]
    assert (len(attempts), ran) == (3, ["charge", ("a", "x")])


def test_an_artifact_that_cannot_be_kept_costs_neither_the_question_nor_the_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @their_tool(response_format="content_and_artifact")
    def connect() -> Any:
        """Connect."""
        ran.append("connect")
        return "connected", object()

    found = run_apart([confirm, connect], [call("connect", "1"), call("confirm", "2", what="a")], Command(resume="x"))
    assert texts(found) == ["connected", "a: x"]
    assert ran == ["connect", ("a", "x")]
    assert "1: its answer is kept with the thread without its artifact (TypeError)" in caplog.messages


def test_what_cannot_be_kept_at_all_stays_in_the_process(caplog: pytest.LogCaptureFixture) -> None:
    @their_tool
    def locked(runtime: ToolRuntime) -> Command[Any]:
        """Lock."""
        ran.append("locked")
        answer = ForeignAnswer("locked", tool_call_id=runtime.tool_call_id)
        return Command(update={"messages": [answer]}, goto=[Send("after", object())])

    calls = [call("locked", "1"), call("confirm", "2", what="a")]
    saver = InMemorySaver()
    state = graph_of(ToolNode([locked, confirm]), saver=saver).invoke(asking(*calls), config())
    assert state["__interrupt__"][0].value == "a"
    again = graph_of(ToolNode([locked, confirm]), saver=saver).invoke(None, config())
    assert (again["__interrupt__"][0].value, ran) == ("a", ["locked"])
    assert any("another process would run it again" in message for message in caplog.messages)


def test_a_fork_runs_finished_calls_anew() -> None:
    saver = InMemorySaver()
    graph_of(ToolNode([confirm, charge]), saver=saver).invoke(asking(*THREE[:2]), config())
    graph = graph_of(ToolNode([confirm, charge]), saver=elsewhere(saver))
    graph.invoke(Command(resume="x"), config())
    before = next(state for state in graph.get_state_history(config()) if state.next == ("tools",))
    assert graph.invoke(None, before.config)["__interrupt__"][0].value == "a"
    assert ran == ["charge", ("a", "x"), "charge"]


def test_what_is_known_here_of_a_calls_end_stays() -> None:
    journal = TurnJournal()
    mine, other = (Recalled(state="done", version=1, answer=ToolMessage(word, tool_call_id="c")) for word in "ab")

    async def main() -> tuple[Any, Any]:
        await journal.begin(KEY, None)
        await journal.wait(KEY)
        journal.learn({KEY: mine})
        learnt = await journal.recall(KEY)
        journal.learn({KEY: other})
        return learnt, await journal.recall(KEY)

    learnt, kept = asyncio.run(main())
    assert (learnt.answer.content, learnt.version, kept) == ("a", 3, learnt)
    assert journal.finished("t", "m") == {KEY: learnt}
    assert journal.finished("t", "another") == {}


@pytest.mark.parametrize("saver", [InMemorySaver(), None])
def test_a_turn_is_told_by_the_node_that_reads_it(saver: Any) -> None:
    entry = Recalled(state="done", version=4, answer=ToolMessage("ok", tool_call_id="c", artifact={"n": 1}))
    (form,) = write_finished({KEY: entry}, checkpointer=saver)
    ((key, read),) = read_finished([form], thread_id="u", message_id="n").items()
    assert (key.thread_id, key.message_id, key.position, key.tool) == ("u", "n", 0, "charge")
    assert read == Recalled(state="done", version=1, answer=entry.answer)
