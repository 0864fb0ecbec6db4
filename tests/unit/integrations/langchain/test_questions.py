"""Calls that ask, in a LangGraph node: each for itself; and what is not run again when the answer is there."""

# LangChain's own types are partly unknown.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false, reportMissingTypeStubs=false

from __future__ import annotations

import asyncio
import time
from inspect import signature
from typing import Any

import pytest
from langchain_core.tools import tool as their_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolRuntime
from langgraph.types import Command, RetryPolicy, interrupt
from pydantic import BaseModel, ValidationError

from support.langgraphs import asking, asking_graph, call, config, graph_of, texts
from surehand import ToolContext, ToolMessage, tool
from surehand.calls import CallKey
from surehand.integrations.langchain.nodes import ToolNode
from surehand.integrations.langchain.turn_journals import TurnJournal, journal_beside

ran: list[Any] = []


@pytest.fixture(autouse=True)
def _forget() -> None:
    ran.clear()


@their_tool
def send_email(to: str, delay: float = 0.0) -> str:
    """Send an e-mail."""
    time.sleep(delay)
    ran.append(("send", interrupt(f"send to {to}?")))
    return "sent"


@their_tool
def delete_prod(delay: float = 0.0) -> str:
    """Delete it all."""
    time.sleep(delay)
    ran.append(("delete", interrupt("delete?")))
    return "deleted"


@their_tool
def charge() -> str:
    """Charge."""
    ran.append("charge")
    return "charged"


def values(state: Any) -> list[Any]:
    return [question.value for question in state.get("__interrupt__", ())]


def ids(state: Any) -> list[str]:
    return [question.id for question in state["__interrupt__"]]


BOTH = (call("charge", "0"), call("send_email", "1", to="ada"), call("delete_prod", "2"))


@pytest.mark.parametrize("compat", [None, "langgraph"])
@pytest.mark.parametrize("delays", [(0.0, 0.0), (0.05, 0.0), (0.0, 0.05)])
def test_each_call_is_asked_for_itself_whichever_asks_first(compat: Any, delays: tuple[float, float]) -> None:
    graph = graph_of(ToolNode([send_email, delete_prod], compat=compat))
    calls = [call("send_email", "1", to="ada", delay=delays[0]), call("delete_prod", "2", delay=delays[1])]
    assert values(graph.invoke(asking(*calls), config())) == ["send to ada?"]
    assert values(graph.invoke(Command(resume="yes"), config())) == ["delete?"]
    assert ran == [("send", "yes")]
    found = graph.invoke(Command(resume="no"), config())
    assert ran == [("send", "yes"), ("delete", "no")]
    assert texts(found) == ["sent", "deleted"]


def test_answers_by_id_reach_their_question_in_asynchronous_runs() -> None:
    graph = graph_of(ToolNode([send_email, delete_prod, charge]))

    async def main() -> Any:
        asked = await graph.ainvoke(asking(*BOTH), config())
        again = await graph.ainvoke(Command(resume={ids(asked)[0]: None}), config())
        return await graph.ainvoke(Command(resume={ids(again)[0]: ["really"]}), config())

    assert texts(asyncio.run(main())) == ["charged", "sent", "deleted"]
    assert ran == ["charge", ("send", None), ("delete", ["really"])]


def test_a_finished_call_is_not_run_again_after_a_question() -> None:
    graph = graph_of(ToolNode([send_email, delete_prod, charge]))
    graph.invoke(asking(*BOTH), config())
    graph.invoke(Command(resume="yes"), config())
    graph.invoke(Command(resume="yes"), config())
    assert ran.count("charge") == 1


def test_a_graph_that_is_built_anew_beside_the_same_checkpointer_knows_what_is_finished() -> None:
    saver = InMemorySaver()
    steps: list[Any] = [asking(*BOTH), Command(resume="a"), Command(resume="b")]
    for given in steps:
        graph_of(ToolNode([send_email, delete_prod, charge]), saver=saver).invoke(given, config())
    assert ran == ["charge", ("send", "a"), ("delete", "b")]


def test_after_a_failure_only_what_failed_is_run_again() -> None:
    attempts: list[int] = []

    @their_tool
    def flaky() -> str:
        """Flaky."""
        attempts.append(1)
        if len(attempts) < 3:
            raise ConnectionError("lost")
        return "ok"

    node = ToolNode([flaky, charge], handle_tool_errors=False)
    policy = RetryPolicy(initial_interval=0.001, jitter=False, max_attempts=2)
    graph = graph_of(node, retry_policy=policy)
    with pytest.raises(ConnectionError):
        graph.invoke(asking(call("flaky", "1"), call("charge", "2")), config())
    assert texts(graph.invoke(None, config())) == ["ok", "charged"]
    assert (len(attempts), ran) == (3, ["charge"])


def test_a_turn_that_is_over_is_run_anew_when_the_thread_is_forked() -> None:
    graph = graph_of(ToolNode([charge]))
    graph.invoke(asking(call("charge")), config())
    before = next(state for state in graph.get_state_history(config()) if state.next == ("tools",))
    graph.invoke(None, before.config)
    assert ran == ["charge", "charge"]


def test_several_questions_of_one_call_are_answered_in_their_order() -> None:
    @their_tool
    def ask() -> str:
        """Ask."""
        return f"{interrupt('name?')} {interrupt('age?')}"

    graph = graph_of(ToolNode([ask]))
    assert values(graph.invoke(asking(call("ask")), config())) == ["name?"]
    assert values(graph.invoke(Command(resume="Ada"), config())) == ["age?"]
    assert texts(graph.invoke(Command(resume=36), config())) == ["Ada 36"]


def test_a_question_that_is_asked_again_keeps_its_id() -> None:
    graph = graph_of(ToolNode([send_email]))
    first = graph.invoke(asking(call("send_email", to="ada")), config())
    again = graph.invoke(None, config())
    assert ids(first) == ids(again)


@pytest.mark.skipif("response_schema" not in signature(interrupt).parameters, reason="LangGraph before 1.2")
def test_an_answer_that_does_not_fit_can_be_given_again() -> None:
    class Approval(BaseModel):
        approved: bool

    @their_tool
    def ask() -> str:
        """Ask."""
        return str(interrupt("ok?", response_schema=Approval))

    graph = graph_of(ToolNode([ask]))
    asked = graph.invoke(asking(call("ask")), config())
    with pytest.raises(ValidationError):
        graph.invoke(Command(resume={ids(asked)[0]: {"approved": "perhaps"}}), config())
    assert texts(graph.invoke(Command(resume={ids(asked)[0]: {"approved": True}}), config())) == ["approved=True"]


def test_graphs_inside_of_two_calls_are_told_apart() -> None:
    inner = asking_graph()

    @their_tool
    def delegate(name: str) -> str:
        """Delegate."""
        return str(inner.invoke({"name": name})["said"])

    graph = graph_of(ToolNode([delegate]))
    calls = [call("delegate", "1", name="ada"), call("delegate", "2", name="bob")]
    assert values(graph.invoke(asking(*calls), config())) == ["ada"]
    assert values(graph.invoke(Command(resume=1), config())) == ["bob"]
    assert texts(graph.invoke(Command(resume=2), config())) == ["ada: 1", "bob: 2"]


def test_tools_of_ours_ask_through_the_graph() -> None:
    @tool(requires_approval=True)
    def wipe(path: str) -> str:
        """Wipe."""
        ran.append(path)
        return "wiped"

    @tool
    def ask(ctx: ToolContext) -> str:
        """Ask."""
        return str(ctx.interrupt("why?"))

    graph = graph_of(ToolNode([wipe, ask]))
    calls = [call("wipe", "1", path="/a"), call("wipe", "2", path="/b"), call("ask", "3")]
    (approval,) = values(graph.invoke(asking(*calls), config()))
    assert approval["arguments"] == {"path": "/a"}
    (approval,) = values(graph.invoke(Command(resume="approve"), config()))
    assert approval["arguments"] == {"path": "/b"}
    assert values(graph.invoke(Command(resume="reject"), config())) == ["why?"]
    found = texts(graph.invoke(Command(resume="because"), config()))
    assert (found[0], found[2], ran) == ("wiped", "because", ["/a"])


def test_without_a_checkpointer_nobody_can_approve() -> None:
    @tool(requires_approval=True)
    def wipe() -> str:
        """Wipe."""
        return "wiped"

    (message,) = ToolNode([wipe]).invoke(asking(call("wipe")))["messages"]
    assert message.response_metadata["surehand"]["kind"] == "denied"


def test_except_exception_in_a_wrapper_swallows_no_question() -> None:
    def careless(request: Any, execute: Any) -> Any:
        try:
            return execute(request)
        except Exception as error:  # noqa: BLE001 - what is tried
            return str(error)

    graph = graph_of(ToolNode([send_email], wrap_tool_call=careless))
    assert values(graph.invoke(asking(call("send_email", to="ada")), config())) == ["send to ada?"]


def test_a_journal_lives_beside_what_keeps_the_thread() -> None:
    saver, own = InMemorySaver(), TurnJournal()
    assert journal_beside(saver, own) is journal_beside(saver, TurnJournal())
    assert journal_beside(InMemorySaver(), own) is not journal_beside(saver, own)
    assert journal_beside(None, own) is own


def test_runs_that_no_thread_keeps_never_share_what_a_call_came_to() -> None:
    @their_tool
    async def pay(runtime: ToolRuntime) -> str:
        """Pay."""
        await asyncio.sleep(0.02)
        return f"paid by {runtime.config.get('configurable', {}).get('user')}"

    graph: Any = StateGraph(MessagesState).add_node("tools", ToolNode([pay])).add_edge(START, "tools").compile()

    async def main() -> Any:
        runs = [graph.ainvoke(asking(call("pay")), {"configurable": {"user": user}}) for user in ("ann", "bob")]
        return await asyncio.gather(*runs)

    assert [texts(found) for found in asyncio.run(main())] == [["paid by ann"], ["paid by bob"]]


def test_turns_that_are_over_are_soon_forgotten() -> None:
    journal = TurnJournal()
    keys = [
        CallKey(thread_id=f"{n}", message_id="m", position=0, call_id="c", tool="t", digest="d") for n in range(300)
    ]

    async def main() -> list[bool]:
        for key in keys:
            await journal.begin(key, None)
            await journal.finish(key, ToolMessage("ok", tool_call_id="c"))
            journal.end([key])
        return [await journal.recall(key) is not None for key in (keys[0], keys[-1])]

    assert asyncio.run(main()) == [False, True]
