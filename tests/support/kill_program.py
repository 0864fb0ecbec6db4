"""A program that makes thirty calls in six turns, keeps its run, and may be killed at any moment.

It takes orders from its standard input and carries out each in a process that it forks: the imports, which take longer
than all the rest, are done once. Everything that such a process does stands in a ledger, a file apart from the store:
when a call was noted, when its body began, when its effect happened, when its answer was noted.
"""

from __future__ import annotations

import asyncio
import faulthandler
import json
import os
import sys
import traceback
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final

import surehand
from support.kill_orders import TURNS, Ledger, Order, entries, kind_of
from support.kill_tools import tools_of
from surehand import (
    START,
    AIMessage,
    Command,
    HumanMessage,
    InterruptError,
    Message,
    MessagesState,
    SqliteSaver,
    StateGraph,
    StoreError,
    ToolMessage,
    ToolNode,
    TranscriptProblem,
    check_transcript,
    create_agent,
    tools_condition,
)
from surehand.calls import CallKey
from surehand.calls.journal import digest_of
from surehand.checkpoints import CallRow, Checkpointer
from surehand.control import RunConfig
from surehand.graph import CompiledGraph
from surehand.messages import message_from_dict, message_to_dict
from surehand.testing import FunctionModel
from surehand.tools import BaseTool

_PATIENCE: Final = 40
"""Seconds after which a program hangs; it then says where, and ends."""


# What the model says


class Script:
    """A model that makes the same calls whenever it is asked after the same conversation."""

    def __init__(self, ledger: Ledger, *, repeats_ids: bool) -> None:
        self._ledger = ledger
        self._repeats_ids = repeats_ids
        self.turn = 0
        """The turn that the model has just spoken; 0 where that is kept already."""

    def reply(self, messages: list[Message]) -> AIMessage | str:
        """The next turn."""
        spoken = sum(isinstance(message, AIMessage) for message in messages)
        self.turn = spoken + 1
        self._ledger.write("said", turn=self.turn)
        if spoken == len(TURNS):
            self._ledger.write("heard", messages=[message_to_dict(message) for message in messages])
            return "That was all."
        first = sum(TURNS[:spoken]) + 1
        offset = first if self._repeats_ids else 0
        numbers = range(first, first + TURNS[spoken])
        return AIMessage(
            tool_calls=[{"id": f"call_{n - offset}", "name": kind_of(n), "args": {"n": n}} for n in numbers]
        )


# What stands around the saver


class Watch:
    """Tells the ledger what a saver is asked to keep, and when it is kept."""

    def __init__(self, ledger: Ledger, script: Script) -> None:
        self._ledger = ledger
        self._script = script

    def over(self, saver: Checkpointer) -> Checkpointer:
        """The same saver, watched: each method that writes, and its awaited twin."""
        watched: Any = saver
        watched.put, watched.aput = self._put(saver.put), self._aput(saver.aput)
        watched.put_writes, watched.aput_writes = self._put(saver.put_writes), self._aput(saver.aput_writes)
        watched.save_call, watched.asave_call = self._save(saver.save_call), self._asave(saver.asave_call)
        return saver

    def _put(self, put: Callable[..., None]) -> Callable[..., None]:
        def watched(*given: Any, **named: Any) -> None:
            turn = self._before_put()
            put(*given, **named)
            self._after_put(turn)

        return watched

    def _aput(self, put: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        async def watched(*given: Any, **named: Any) -> None:
            turn = self._before_put()
            await put(*given, **named)
            self._after_put(turn)

        return watched

    def _before_put(self) -> int:
        turn, self._script.turn = self._script.turn, 0
        self._ledger.pass_by("before intent" if turn else "between checkpoints")
        return turn

    def _after_put(self, turn: int) -> None:
        self._ledger.write("kept", turn=turn)
        self._ledger.pass_by("after intent" if turn else "between checkpoints")

    def _save(self, save: Callable[..., bool]) -> Callable[..., bool]:
        def watched(thread_id: str, row: CallRow, **named: Any) -> bool:
            self._before_save(row)
            return self._after_save(row, save(thread_id, row, **named))

        return watched

    def _asave(self, save: Callable[..., Awaitable[bool]]) -> Callable[..., Awaitable[bool]]:
        async def watched(thread_id: str, row: CallRow, **named: Any) -> bool:
            self._before_save(row)
            return self._after_save(row, await save(thread_id, row, **named))

        return watched

    def _before_save(self, row: CallRow) -> None:
        self._ledger.write("noting", key=row.key, state=row.state)
        if row.state != "running":
            self._ledger.pass_by("before done")

    def _after_save(self, row: CallRow, is_kept: bool) -> bool:  # noqa: FBT001 - it is what the saver answered
        if is_kept:
            self._ledger.write("noted", key=row.key, state=row.state)
            self._ledger.pass_by("after running" if row.state == "running" else "after done")
        return is_kept


# The program


def run(order: Order) -> None:
    """Begin the run of a thread, or go on with it, and tell the ledger how it ended."""
    ledger = Ledger(order)
    try:
        _run(order, ledger)
    except (StoreError, InterruptError) as error:  # another process went on, has answered, or keeps the file
        ledger.write("lost", text=str(error))


def _run(order: Order, ledger: Ledger) -> None:
    script = Script(ledger, repeats_ids=order.repeats_ids)
    with Watch(ledger, script).over(_opened(order)) as saver:
        graph = _built(order, script, tools_of(ledger, asks=order.asks), saver)
        config: RunConfig = {"configurable": {"thread_id": order.thread_id}}
        is_begun = graph.get_state(config).created_at is not None
        ledger.write("started", goes_on=is_begun)
        given = None if is_begun else {"messages": [HumanMessage("Do it all.")]}
        reached = _reached(graph, given, config, order)
        thread_id, messages = order.thread_id, reached["messages"]
        if order.form == "tool":
            thread_id, messages = _inside(order, messages)
        ledger.write("over", **_told(order, thread_id, messages), next=list(graph.get_state(config).next))


def _reached(graph: CompiledGraph, given: Any, config: RunConfig, order: Order) -> dict[str, Any]:
    """The end of the run, with everything approved that is asked meanwhile."""
    while True:
        reached: dict[str, Any]
        reached = graph.invoke(given, config) if order.door == "sync" else asyncio.run(graph.ainvoke(given, config))
        questions = reached.get("__interrupt__", ())
        if not questions:
            return reached
        given = Command(resume={question.id: "approve" for question in questions})


def _opened(order: Order) -> Checkpointer:
    if order.store == "sqlite":
        return SqliteSaver(order.place, timeout=order.timeout)
    return _in_postgres()(order.place)


def _in_postgres() -> Callable[[str], Checkpointer]:
    """Not imported above: it takes its time, and a package that not everybody has."""
    return surehand.PostgresSaver


def _built(order: Order, script: Script, tools: Sequence[BaseTool], saver: Checkpointer) -> CompiledGraph:
    model = FunctionModel(script.reply)
    match order.form:
        case "agent":
            return create_agent(model, list(tools), checkpointer=saver)
        case "node":
            agent = create_agent(model, list(tools))
            return StateGraph(MessagesState).add_node("agent", agent).add_edge(START, "agent").compile(saver)
        case "tool":
            worker = create_agent(model, list(tools), name="worker").as_tool(description="Does it all.")
            return create_agent(FunctionModel(_delegated), [worker], checkpointer=saver)
        case "graph":
            return _drawn(model, tools, saver)


def _delegated(messages: list[Message]) -> AIMessage | str:
    """What a model says that leaves the work to another agent."""
    if isinstance(messages[-1], ToolMessage):
        return messages[-1].text
    return AIMessage(tool_calls=[{"id": "delegated", "name": "worker", "args": {"request": messages[-1].text}}])


def _drawn(model: FunctionModel, tools: Sequence[BaseTool], saver: Checkpointer) -> CompiledGraph:
    def think(state: dict[str, Any]) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    graph = StateGraph(MessagesState).add_node("model", think).add_node("tools", ToolNode(tools))
    graph.add_edge(START, "model").add_conditional_edges("model", tools_condition).add_edge("tools", "model")
    return graph.compile(saver)


# What is told


def _inside(order: Order, around: Sequence[Message]) -> tuple[str, list[Message]]:
    """The thread and the transcript of the agent that another one called; its last words are the call's answer."""
    asked, answer = around[1], around[2]
    if not isinstance(asked, AIMessage):
        raise TypeError(asked)
    key = _key(order.thread_id, asked, 0)
    heard = [line["messages"] for line in entries(Path(order.ledger)) if line["mark"] == "heard"]
    messages = [message_from_dict(message) for message in heard[-1]]
    return f"{order.thread_id}/worker/{key}", [*messages, AIMessage(answer.text)]


def _told(order: Order, thread_id: str, messages: Sequence[Message]) -> dict[str, Any]:
    """What is to be known of a transcript."""
    return {
        "messages": [_facts(thread_id, message) for message in messages],
        "problems": [str(problem) for problem in check_transcript(messages) if not _is_meant(order, problem)],
    }


def _is_meant(order: Order, problem: TranscriptProblem) -> bool:
    return order.repeats_ids and problem.kind == "repeated"


def _facts(thread_id: str, message: Message) -> dict[str, Any]:
    facts: dict[str, Any] = {"type": message.type, "text": message.text}
    if isinstance(message, AIMessage):
        facts["calls"] = [
            {"id": call["id"], "n": call["args"]["n"], "key": _key(thread_id, message, position)}
            for position, call in enumerate(message.tool_calls)
        ]
    if isinstance(message, ToolMessage):
        kind = None if message.outcome is None else message.outcome.kind
        facts |= {"id": message.tool_call_id, "status": message.status, "kind": kind}
    return facts


def _key(thread_id: str, message: AIMessage, position: int) -> str:
    """The idempotency key of a call."""
    call = message.tool_calls[position]
    key = CallKey(
        thread_id=thread_id,
        message_id=str(message.id),
        position=position,
        call_id=call["id"],
        tool=call["name"],
        digest=digest_of(call["args"]),
    )
    return key.idempotency_key


# Taking orders


def serve() -> None:
    """Carry out orders, each in a process of its own, and tell their ids and how they ended."""
    for line in sys.stdin:
        asked = json.loads(line)
        if "order" in asked:
            answer = {"pid": _forked(Order(**asked["order"]))}
        else:
            _, status = os.waitpid(asked["wait"], 0)
            answer = {"status": os.waitstatus_to_exitcode(status)}
        sys.stdout.write(json.dumps({**answer, "number": asked["number"]}) + "\n")
        sys.stdout.flush()


def _forked(order: Order) -> int:
    if order.store == "postgres":
        _in_postgres()  # once, before it is needed in each process
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        errors = os.open(f"{order.ledger}.errors", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.dup2(errors, 2)
        faulthandler.dump_traceback_later(_PATIENCE, exit=True)
        run(order)
        status = 0
    except BaseException:  # noqa: BLE001 - whatever it is, it must not become an answer of the parent's
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    serve()
