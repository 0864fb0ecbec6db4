"""A journal: finished calls are answered from it, never run again."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from surehand import AIMessage, CallKey, MemoryJournal, ToolException, ToolMessage, ToolNode, tool
from surehand.calls.journal import digest_of

RUNS: list[str] = []


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
    asyncio.run(journal.begin(key))

    (answer,) = node.invoke([message])
    assert RUNS == []
    assert answer.outcome.kind == "unknown_outcome"
    assert "may have happened" in answer.content


def test_an_idempotent_call_that_was_cut_off_is_run_again() -> None:
    RUNS.clear()
    journal = MemoryJournal()
    key = CallKey(thread_id="", message_id="m1", position=0, call_id="c1", tool="pay", digest=digest_of({"to": "a"}))
    asyncio.run(journal.begin(key))

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

    async def recall(self, key: CallKey) -> ToolMessage | None:
        self._act("recall")
        return None

    async def begin(self, key: CallKey) -> None:
        self._act("begin")

    async def finish(self, key: CallKey, answer: ToolMessage) -> None:
        self._act("finish")

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
