"""The journal of a thread in a saver: what it keeps, how it is written, and what it refuses to read."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from support.turns import turn
from surehand import (
    AIMessage,
    CallKey,
    CheckpointError,
    Command,
    Outcome,
    SavedJournal,
    Send,
    ToolMessage,
    ToolNode,
    tool,
)
from surehand.checkpoints import CallRow, Checkpointer
from surehand.checkpoints.codec import Codec
from surehand.checkpoints.memory import MemorySaver
from surehand.outcomes import FailureKind

KEY = CallKey(thread_id="t", message_id="m", position=0, call_id="c", tool="pay", digest="d")
ANSWER = ToolMessage("paid", tool_call_id="c", name="pay", outcome=Outcome(attempts=2, notes=("a note",)))


@dataclass
class Ticket:
    """An artifact of the host's."""

    seat: int


class Watched(MemorySaver):
    """Notes which threads call it, and how many calls are under way together."""

    def __init__(self) -> None:
        super().__init__()
        self.seen_on: list[str] = []
        self.together: list[int] = []
        self._waiting: list[Callable[[], bool]] = []
        self._under_way = 0

    def save_call(self, thread_id: str, row: CallRow, *, after: int | None) -> bool:
        self.seen_on.append(threading.current_thread().name)
        return super().save_call(thread_id, row, after=after)

    async def asave_call(self, thread_id: str, row: CallRow, *, after: int | None) -> bool:
        """What a saver with a writer of its own does: all that came meanwhile goes into one transaction."""
        self._under_way += 1
        await asyncio.sleep(0)
        if self._under_way:
            self.together.append(self._under_way)
            self._under_way = 0
        return super().save_call(thread_id, row, after=after)


def run(awaitable: Any) -> Any:
    async def main() -> Any:
        return await awaitable

    return asyncio.run(main())


def ended(saver: Checkpointer, answer: ToolMessage, command: Command | None = None, codec: Codec | None = None) -> Any:
    """What another process recalls of a call that ended so."""
    journal = SavedJournal(saver, "t", codec)
    assert run(journal.begin(KEY, None))
    run(journal.finish(KEY, answer, command))
    return run(SavedJournal(saver, "t", codec).recall(KEY))


def test_an_answer_comes_back_whole() -> None:
    known = ended(MemorySaver(), ANSWER)
    assert (known.state, known.version, known.answer, known.command) == ("done", 2, ANSWER, None)
    assert known.begun_at > 0


def test_a_failure_comes_back_as_one() -> None:
    failure = ToolMessage(
        "no", tool_call_id="c", status="error", outcome=Outcome(kind=FailureKind.TOOL_ERROR, text="no", retryable=True)
    )
    known = ended(MemorySaver(), failure)
    assert (known.state, known.answer) == ("failed", failure)


@pytest.mark.parametrize("artifact", [[1, (2, 3)], {1: {"a"}}, Ticket(7), b"\x00", None])
def test_artifacts_are_kept(artifact: Any) -> None:
    known = ended(MemorySaver(), ANSWER.replace(artifact=artifact), codec=Codec([Ticket]))
    assert known.answer.artifact == artifact
    assert type(known.answer.artifact) is type(artifact)


def test_an_artifact_that_has_no_stored_form_costs_the_answer_nothing() -> None:
    known = ended(MemorySaver(), ANSWER.replace(artifact=object()))
    assert (known.answer.text, known.answer.outcome) == ("paid", ANSWER.outcome)


def test_commands_are_kept() -> None:
    command: Command = Command(update={"x": (1, 2)}, goto=[Send("other", {"y": 1}), "next"], graph=Command.PARENT)
    assert ended(MemorySaver(), ANSWER, command).command == command


def test_a_command_that_has_no_stored_form_leaves_the_call_as_begun() -> None:
    saver = MemorySaver()
    with pytest.raises(CheckpointError):
        ended(saver, ANSWER, Command(update={"x": object()}))
    known = run(SavedJournal(saver, "t").recall(KEY))
    assert (known.state, known.answer) == ("running", None)


def test_a_call_that_asks_is_no_longer_running() -> None:
    saver = MemorySaver()
    journal = SavedJournal(saver, "t")
    assert run(journal.begin(KEY, None))
    run(journal.wait(KEY))
    assert run(journal.recall(KEY)).state == "waiting"
    assert run(SavedJournal(saver, "t").begin(KEY, 2))


def test_threads_of_a_saver_know_nothing_of_one_another() -> None:
    saver = MemorySaver()
    ended(saver, ANSWER)
    assert run(SavedJournal(saver, "u").recall(KEY)) is None


def test_an_entry_that_took_the_place_of_another_stays() -> None:
    saver = MemorySaver()
    first, second = SavedJournal(saver, "t"), SavedJournal(saver, "t")
    assert run(first.begin(KEY, None))
    assert run(second.begin(KEY, 1))
    run(first.finish(KEY, ANSWER))
    assert run(first.recall(KEY)).state == "running"


@pytest.mark.parametrize(
    ("state", "form"),
    [
        ("done", {"begun_at": 1.0}),
        ("done", {"begun_at": 1.0, "answer": {"content": "paid"}}),
        ("running", {"begun_at": 1.0, "answer": ANSWER}),
        ("failed", {"begun_at": 1.0, "answer": ANSWER, "command": "go"}),
        ("running", {}),
        ("running", {"begun_at": "yesterday"}),
        ("running", [1]),
        ("paid", {"begun_at": 1.0}),
    ],
)
def test_a_damaged_entry_is_refused_and_nothing_runs(state: Any, form: Any) -> None:
    ran: list[str] = []

    @tool
    def pay(to: str) -> str:
        """Pay."""
        ran.append(to)
        return "paid"

    saver = MemorySaver()
    message = AIMessage(id="m", tool_calls=[{"id": "c", "name": "pay", "args": {"to": "a"}}])
    node = ToolNode([pay], journal=SavedJournal(saver, "t"))
    thread: Any = {"configurable": {"thread_id": "t"}}
    node.invoke([message], thread)
    (row,) = saver.calls("t")
    damaged = replace(row, version=row.version + 1, state=state, text=Codec().dumps(form, where="a test"))
    try:
        assert saver.save_call("t", damaged, after=row.version)
    except CheckpointError:
        return  # the saver itself refuses it
    (answer,) = node.invoke([message], thread)
    assert (ran, answer.outcome.kind) == (["a"], "internal")


# How it is written


def test_calls_that_begin_side_by_side_are_written_side_by_side() -> None:
    @tool
    async def pay(to: str) -> str:
        """Pay."""
        await asyncio.sleep(0.001)
        return "paid"

    saver = Watched()
    node = ToolNode([pay], journal=SavedJournal(saver, "t"))
    calls = [("pay", {"to": str(number)}) for number in range(50)]
    asyncio.run(node.ainvoke([turn(*calls).replace(id="m")], {"configurable": {"thread_id": "t"}}))
    assert saver.together[0] == 50
    assert len(saver.together) < 10


def test_a_lone_synchronous_call_stays_with_its_journal_in_the_callers_thread() -> None:
    @tool(timeout=None)
    def where() -> str:
        """Say which thread this is."""
        return threading.current_thread().name

    saver = Watched()
    node = ToolNode([where], journal=SavedJournal(saver, "t"))
    (answer,) = node.invoke([turn("where").replace(id="m")], {"configurable": {"thread_id": "t"}})
    assert [answer.text, *saver.seen_on] == [threading.current_thread().name] * 3
    assert saver.together == []
