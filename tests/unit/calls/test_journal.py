"""A journal: finished calls are answered from it, never run again."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from surehand import (
    END,
    START,
    AIMessage,
    CallKey,
    HumanMessage,
    Limits,
    MemoryJournal,
    MessagesState,
    Recalled,
    RetryPolicy,
    SingleFlight,
    StateGraph,
    ToolCallRequest,
    ToolContext,
    ToolException,
    ToolMessage,
    ToolNode,
    tool,
)
from surehand.calls import Run
from surehand.calls.journal import digest_of
from surehand.testing import FakeClock

RUNS: list[str] = []
THREAD: Any = {"configurable": {"thread_id": "t"}}


@tool
def pay(to: str) -> str:
    """Pay."""
    RUNS.append(to)
    return f"paid {to}"


def _turn(message_id: str = "m1", call_id: str = "c1", to: str = "a") -> dict[str, Any]:
    call = {"id": call_id, "name": "pay", "args": {"to": to}}
    return {"messages": [AIMessage(id=message_id, tool_calls=[call])]}


def _key(**changes: Any) -> CallKey:
    key = CallKey(thread_id="t", message_id="m", position=0, call_id="c", tool="x", digest="d")
    return replace(key, **changes)


def test_a_finished_call_is_not_run_again_over_the_same_turn() -> None:
    RUNS.clear()
    node = ToolNode([pay], journal=MemoryJournal())

    first, second = node.invoke(_turn()), node.invoke(_turn())
    assert RUNS == ["a"]
    assert first["messages"][0].content == second["messages"][0].content == "paid a"


def test_another_turn_thread_or_argument_is_another_call() -> None:
    RUNS.clear()
    node = ToolNode([pay], journal=MemoryJournal())

    node.invoke(_turn())
    node.invoke(_turn(message_id="m2"))
    node.invoke(_turn(to="b"))
    node.invoke(_turn(), {"configurable": {"thread_id": "other"}})
    assert RUNS == ["a", "a", "b", "a"]


def test_a_call_that_was_cut_off_is_answered_as_unknown_and_not_run_again() -> None:
    RUNS.clear()
    journal = MemoryJournal()
    node = ToolNode([pay], journal=journal)
    message = _turn()["messages"][0]
    key = CallKey(thread_id="", message_id="m1", position=0, call_id="c1", tool="pay", digest=digest_of({"to": "a"}))
    asyncio.run(journal.begin(key, None))

    (answer,) = node.invoke([message])
    assert RUNS == []
    assert answer.outcome.kind == "unknown_outcome"
    assert "may have happened" in answer.content


def test_an_idempotent_call_that_was_cut_off_is_run_again() -> None:
    RUNS.clear()
    journal = MemoryJournal()
    key = CallKey(thread_id="", message_id="m1", position=0, call_id="c1", tool="pay", digest=digest_of({"to": "a"}))
    asyncio.run(journal.begin(key, None))

    (answer,) = ToolNode([pay], journal=journal, idempotent=True).invoke(_turn()["messages"])
    assert (RUNS, answer.content) == (["a"], "paid a")


def test_failures_are_remembered_too() -> None:
    runs: list[int] = []

    @tool
    def fail() -> str:
        """Fail."""
        runs.append(1)
        raise ToolException("no")

    node = ToolNode([fail], journal=MemoryJournal())
    message = AIMessage(id="m", tool_calls=[{"id": "c", "name": "fail", "args": {}}])
    assert [node.invoke([message])[0].content for _ in range(2)] == ["no", "no"]
    assert runs == [1]


class _Broken:
    """A journal whose disk is full."""

    def __init__(self, *, fails_at: str) -> None:
        self.fails_at = fails_at

    async def recall(self, key: CallKey) -> Recalled | None:
        self._act("recall")
        return None

    async def begin(self, key: CallKey, after: int | None) -> bool:
        self._act("begin")
        return self.fails_at != "recall"

    async def finish(self, key: CallKey, answer: ToolMessage, command: Any = None, *, was_raised: bool = False) -> None:
        self._act("finish")

    async def wait(self, key: CallKey, asked: Sequence[str] = ()) -> None:
        self._act("wait")

    def _act(self, step: str) -> None:
        if step == self.fails_at:
            raise OSError("disk full")


def test_a_journal_that_fails_before_the_effect_keeps_the_call_from_running() -> None:
    for step in ("recall", "begin"):
        RUNS.clear()
        (answer,) = ToolNode([pay], journal=_Broken(fails_at=step)).invoke(_turn()["messages"])
        assert (RUNS, answer.outcome.kind) == ([], "internal")


def test_a_journal_that_fails_after_the_effect_loses_no_answer() -> None:
    RUNS.clear()
    (answer,) = ToolNode([pay], journal=_Broken(fails_at="finish")).invoke(_turn()["messages"])
    assert (RUNS, answer.content) == (["a"], "paid a")


def test_keys_differ_by_every_field_and_digests_do_not_depend_on_the_order_of_keys() -> None:
    keys = [_key(), _key(thread_id="u"), _key(message_id="n"), _key(position=1), _key(call_id="e"), _key(digest="f")]
    assert len({key.idempotency_key for key in keys}) == len(keys)
    assert digest_of({"a": 1, "b": [2]}) == digest_of({"b": [2], "a": 1})
    assert digest_of({"a": 1}) != digest_of({"a": 2})


def test_a_digest_is_made_of_anything() -> None:
    class Mute:
        def __repr__(self) -> str:
            raise ValueError

    circle: list[Any] = []
    circle.append(circle)
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert len({digest_of(value) for value in ({1: 2, "a": 3}, circle, [Mute()], {Mute(): 1}, deep)}) >= 3


# What was done is known before anything says that it was not


def test_nobody_is_asked_for_a_call_that_is_done() -> None:
    RUNS.clear()
    asked: list[str] = []

    def approve(name: str, _: Any) -> bool:
        asked.append(name)
        return len(asked) == 1

    node = ToolNode([pay], journal=MemoryJournal(), requires_approval=True, approve=approve)
    assert [node.invoke(_turn())["messages"][0].content for _ in range(2)] == ["paid a"] * 2
    assert (RUNS, asked) == (["a"], ["pay"])


def test_a_call_that_nobody_approves_is_not_recorded() -> None:
    answers = iter([False, True])

    def approve(*_: object) -> bool:
        return next(answers)

    node = ToolNode([pay], journal=MemoryJournal(), requires_approval=True, approve=approve)
    kinds = [node.invoke(_turn())["messages"][0].outcome.kind for _ in range(2)]
    assert kinds == ["denied", None]


@pytest.mark.parametrize("options", [{}, {"requires_approval": True}, {"middleware": [SingleFlight()]}])
def test_of_several_runs_of_one_turn_at_a_time_one_runs_the_call(options: dict[str, Any]) -> None:
    RUNS.clear()

    async def approve(*_: object) -> bool:
        await asyncio.sleep(0.01)
        return True

    node = ToolNode([pay], journal=MemoryJournal(), approve=approve, **options)

    async def main() -> list[Any]:
        answers = await asyncio.gather(*(node.ainvoke(_turn()) for _ in range(4)))
        return [answer["messages"][0].outcome.kind for answer in answers]

    assert asyncio.run(main()) == [None] * 4
    assert RUNS == ["a"]


def test_a_limit_that_is_reached_later_does_not_deny_what_was_done() -> None:
    RUNS.clear()

    clock = FakeClock(autojump=None)

    @tool(retry=None)
    def fail() -> str:
        """Fail, after some time."""
        clock.advance(100)
        raise ToolException("busy", retryable=True)

    graph = StateGraph(MessagesState)
    options: dict[str, Any] = {"limits": Limits(seconds=100), "handle_tool_errors": False, "clock": clock}
    node = ToolNode([pay, fail], journal=MemoryJournal(), **options)
    graph.add_node("tools", node, retry=RetryPolicy(initial_interval=0.001, retry_on=ToolException))
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    calls: list[dict[str, Any]] = [
        {"id": "c1", "name": "pay", "args": {"to": "a"}},
        {"id": "c2", "name": "fail", "args": {}},
    ]
    state = graph.compile().invoke({"messages": [HumanMessage("go"), AIMessage(tool_calls=calls)]})
    paid, refused = state["messages"][2:]
    assert (RUNS, paid.text, refused.outcome.kind) == (["a"], "paid a", "limit")


def test_of_a_turn_that_stops_what_was_done_is_not_called_skipped() -> None:
    RUNS.clear()

    @tool(idempotent=True)
    def look() -> str:
        """Look, and fail the second time."""
        RUNS.append("look")
        if RUNS.count("look") > 1:
            raise ValueError("no")
        return "seen"

    class Forgetful(MemoryJournal):
        """Could not write down that something was looked at."""

        async def finish(
            self, key: CallKey, answer: ToolMessage, command: Any = None, *, was_raised: bool = False
        ) -> None:
            if key.tool == "pay":
                await super().finish(key, answer, command, was_raised=was_raised)

    node = ToolNode([look, pay], journal=Forgetful(), sequential=True, stop_on_failure=True)
    calls: list[dict[str, Any]] = [
        {"id": "c1", "name": "look", "args": {}},
        {"id": "c2", "name": "pay", "args": {"to": "a"}},
    ]
    turn = [AIMessage(id="m", tool_calls=calls)]
    assert [node.invoke(turn)[1].text for _ in range(2)] == ["paid a"] * 2
    assert RUNS == ["look", "a", "look"]


class _Keeping:
    """A journal of somebody's that keeps no more than a text."""

    def __init__(self, known: Any) -> None:
        self.known = known

    async def recall(self, key: CallKey) -> Recalled | None:
        known: Recalled | None = self.known
        return known

    async def begin(self, key: CallKey, after: int | None) -> bool:
        return False

    async def finish(self, key: CallKey, answer: ToolMessage, command: Any = None, *, was_raised: bool = False) -> None:
        raise AssertionError

    async def wait(self, key: CallKey, asked: Sequence[str] = ()) -> None:
        raise AssertionError


@pytest.mark.parametrize("status", ["success", "error"])
def test_an_answer_is_an_answer_whatever_the_journal_kept_of_it(status: Any) -> None:
    RUNS.clear()
    kept = ToolMessage("kept", tool_call_id="other", name="another", status=status)
    known = Recalled(state="done", version=2, answer=kept)
    (answer,) = ToolNode([pay], journal=_Keeping(known)).invoke(_turn()["messages"])
    assert (RUNS, answer.text, answer.status, answer.outcome.status) == ([], "kept", status, status)
    assert (answer.tool_call_id, answer.name) == ("c1", "pay")


def test_what_is_no_answer_keeps_the_call_from_running() -> None:
    RUNS.clear()
    (answer,) = ToolNode([pay], journal=_Keeping({"content": "kept"})).invoke(_turn()["messages"])
    assert (RUNS, answer.outcome.kind) == ([], "internal")


# Which call it is


def _payload(user: str, to: str = "a") -> list[dict[str, Any]]:
    call = {"id": "call_0", "type": "function", "function": {"name": "pay", "arguments": json.dumps({"to": to})}}
    return [{"role": "user", "content": user}, {"role": "assistant", "content": None, "tool_calls": [call]}]


def test_calls_of_payloads_without_ids_are_told_apart_by_what_was_said_before() -> None:
    RUNS.clear()
    node = ToolNode([pay], journal=MemoryJournal())
    first = _payload("I am Ann")
    again = [*first, *node.invoke(first, THREAD), *_payload("once more")]
    for messages in (first, _payload("I am Bob"), again):
        node.invoke(messages, THREAD)
    assert RUNS == ["a"] * 3


def test_a_turn_without_ids_that_is_answered_in_part_is_the_same_turn() -> None:
    keys: list[str] = []

    @tool
    def keep(number: int, ctx: ToolContext) -> str:
        """Keep the key."""
        keys.append(ctx.idempotency_key)
        return "kept"

    calls = [{"id": f"c{n}", "name": "keep", "args": {"number": n}} for n in range(2)]
    turn = AIMessage(tool_calls=calls)
    ToolNode([keep]).invoke([HumanMessage("go"), turn], THREAD)
    ToolNode([keep]).invoke([HumanMessage("go"), turn, ToolMessage("kept", tool_call_id="c0")], THREAD)
    assert len(set(keys)) == 2
    assert keys[1] == keys[2]


def test_a_middleware_that_changes_the_arguments_each_time_makes_no_other_call() -> None:
    RUNS.clear()
    count = itertools.count()

    def stamp(request: ToolCallRequest, run: Run) -> ToolMessage:
        return run(request.override(args={"to": f"a{next(count)}"}))

    node = ToolNode([pay], journal=MemoryJournal(), middleware=[stamp])
    assert [node.invoke(_turn())["messages"][0].text for _ in range(2)] == ["paid a0"] * 2
    assert RUNS == ["a0"]


def test_what_a_middleware_runs_with_several_arguments_is_several_calls() -> None:
    keys: list[tuple[str, str]] = []

    @tool(idempotent=True)
    def put(to: str, ctx: ToolContext) -> str:
        """Put something."""
        keys.append((to, ctx.idempotency_key))
        return f"put {to}"

    def fan_out(request: ToolCallRequest, run: Run) -> str:
        return " ".join(run(request.override(args={"to": to})).text for to in ("b", "c", "b"))

    node = ToolNode([put], journal=MemoryJournal(), middleware=[fan_out])
    turn = [AIMessage(id="m", tool_calls=[{"id": "c", "name": "put", "args": {"to": "a"}}])]
    assert [node.invoke(turn)[0].text for _ in range(2)] == ["put b put c put b"] * 2
    assert [to for to, _ in keys] == ["b", "c", "b"]
    assert len(set(keys)) == 2


def test_a_middleware_that_tries_again_does_not_only_hear_the_journal() -> None:
    runs: list[int] = []

    @tool(retry=None)
    def flaky() -> str:
        """Fail once."""
        runs.append(1)
        if len(runs) == 1:
            raise ToolException("busy", retryable=True)
        return "fine"

    def persistent(request: ToolCallRequest, run: Run) -> ToolMessage:
        answer = run(request)
        return run(request) if answer.status == "error" else answer

    node = ToolNode([flaky], journal=MemoryJournal(), middleware=[persistent])
    turn = [AIMessage(id="m", tool_calls=[{"id": "c", "name": "flaky", "args": {}}])]
    assert [node.invoke(turn)[0].text for _ in range(2)] == ["fine"] * 2
    assert len(runs) == 2
