"""What is wrong with a run that was killed and gone on with, by its ledger and its last transcript."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from support.kill_orders import KINDS, TURNS, entries, kind_of, turn_of

__all__ = ["complaints"]

_ONCE: Final = frozenset({"charge", "send", "bounce"})
"""What may not run twice, and of which nobody can find out."""
_FOUND_OUT: Final = frozenset({"book", "transfer"})
"""What may not happen twice, and can be found out."""
_TWICE: Final = frozenset(KINDS) - _ONCE - _FOUND_OUT
"""What may run twice."""

Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """One call of the last transcript, its answer, and what the ledger says of it."""

    n: int
    key: str
    answer: Entry
    entries: list[Entry]
    dead: frozenset[int]
    """The processes that did not come to the run's end."""
    are_together: bool

    @property
    def kind(self) -> str:
        return kind_of(self.n)

    @property
    def is_in_doubt(self) -> bool:
        return bool(self.answer["kind"] == "unknown_outcome")

    def count(self, mark: str) -> int:
        """How many lines say so of it."""
        return sum(entry["mark"] == mark for entry in self.entries)

    def was_noted(self, pid: int, mark: str, *states: str) -> bool:
        """Whether a process said that the call is ``noting`` or ``noted`` to be in one of the states."""
        return any(entry["pid"] == pid and entry["mark"] == mark and entry["state"] in states for entry in self.entries)


def complaints(ledger: Path, *, are_together: bool = False) -> list[str]:
    """Everything that is wrong; empty for a run that was gone on with as it should be.

    Args:
        ledger: The ledger of all processes that worked on the thread.
        are_together: Whether some of them lived at the same time: then, one may be in doubt about what another is
            doing, and be told that it did not happen right before it does.
    """
    written: list[Entry] = list(entries(ledger))
    last = next((entry for entry in reversed(written) if entry["mark"] == "over"), None)
    if last is None:
        return ["the run did not end", *(entry["text"] for entry in written if entry["mark"] == "lost")]
    found = list(_in_transcript(last))
    if found:  # what follows pairs calls with their answers
        return found
    for call in _calls(written, last["messages"], are_together=are_together):
        wrong = [*_in_record(call, written), *_in_effects(call), *_in_answer(call)]
        found += [f"call {call.n}, {call.kind}: {problem}" for problem in wrong]
    return found


def _in_transcript(last: Entry) -> Iterator[str]:
    yield from last["problems"]
    if last["next"]:
        yield f"the run is over, and {last['next']} comes next"
    messages: list[Entry] = last["messages"]
    expected = ["human"]
    for calls in TURNS:
        expected += ["ai", *["tool"] * calls]
    if (types := [message["type"] for message in messages]) != [*expected, "ai"]:
        yield f"the transcript is {' '.join(types)}"
        return
    called = [call for message in messages if message["type"] == "ai" for call in message["calls"]]
    answered = [message["id"] for message in messages if message["type"] == "tool"]
    if [call["n"] for call in called] != list(range(1, sum(TURNS) + 1)):
        yield f"the calls are {[call['n'] for call in called]}"
    if [call["id"] for call in called] != answered:
        yield f"the answers are to {answered}"


def _calls(written: list[Entry], messages: list[Entry], *, are_together: bool) -> Iterator[_Call]:
    pids = {entry["pid"] for entry in written}
    dead = frozenset(pids - {entry["pid"] for entry in written if entry["mark"] == "over"})
    called = [call for message in messages if message["type"] == "ai" for call in message["calls"]]
    answers = [message for message in messages if message["type"] == "tool"]
    for call, answer in zip(called, answers, strict=True):
        own = [entry for entry in written if entry.get("key") == call["key"] or entry.get("n") == call["n"]]
        yield _Call(n=call["n"], key=call["key"], answer=answer, entries=own, dead=dead, are_together=are_together)


def _in_record(call: _Call, written: list[Entry]) -> Iterator[str]:
    """Is it noted before it runs, under one key, and left alone once it is noted to have ended?"""
    if keys := {entry["key"] for entry in call.entries} - {call.key}:
        yield f"it had other keys than {call.key}: {sorted(keys)}"
    said, noted, is_ended = set[int](), set[int](), False
    for entry in written:
        match entry["mark"], entry["pid"]:
            case "said", pid if entry["turn"] == turn_of(call.n):
                said.add(pid)
            case "kept", pid if entry["turn"] == turn_of(call.n):
                said.discard(pid)
            case "noted", pid if entry["key"] == call.key:
                noted.add(pid)
                is_ended = entry["state"] != "running"
            case "begin", pid if entry["key"] == call.key:
                if pid in said:
                    yield "its body began before the model's turn was kept"
                if pid not in noted:
                    yield "its body began before it was noted"
                if is_ended and not call.are_together:
                    yield "its body began after it was noted to have ended"
            case _:
                pass


def _in_effects(call: _Call) -> Iterator[str]:
    begun, effects = call.count("begin"), call.count("effect")
    if call.kind in _ONCE and begun > 1:
        yield f"its body began {begun} times"
    if call.kind not in _TWICE and effects > 1 and not (call.are_together and call.kind in _FOUND_OUT):
        yield f"its effect happened {effects} times"
    if not effects and not call.is_in_doubt:
        yield "it was answered, and its effect did not happen"


def _in_answer(call: _Call) -> Iterator[str]:
    if call.is_in_doubt:
        if call.kind not in _ONCE:
            yield "it is in doubt, though it may run twice or can be found out"
        if not any(_may_be_in_doubt(call, pid) for pid in call.dead):
            yield "it is in doubt, and no process died while it ran"
        return
    if call.kind in _ONCE and any(_must_be_in_doubt(call, pid) for pid in call.dead):
        yield "a process died while it ran, and it is not in doubt"
    status, kind = ("error", "exception") if call.kind == "bounce" else ("success", None)
    if (call.answer["status"], call.answer["kind"]) != (status, kind):
        yield f"it was answered {call.answer['status']}, {call.answer['kind']}: {call.answer['text']}"
    if f"{call.kind} {call.n} done" not in call.answer["text"]:
        yield f"it was answered {call.answer['text']!r}"


def _may_be_in_doubt(call: _Call, pid: int) -> bool:
    has_ended = call.was_noted(pid, "noted", "done", "failed")
    return call.was_noted(pid, "noting", "running") and (call.are_together or not has_ended)


def _must_be_in_doubt(call: _Call, pid: int) -> bool:
    return call.was_noted(pid, "noted", "running") and not call.was_noted(pid, "noting", "done", "failed")
