"""Tools whose bodies run in processes of their own, as a node runs them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

import pytest

from support import process_tools as tools
from support.liveness import children, is_alive, soon
from surehand import AIMessage, InMemoryStore, ToolDefinitionError, ToolMessage, ToolNode, tool
from surehand.calls.attempts.apart import LeftBehind
from surehand.calls.failures.advice import BROKEN_OFF
from surehand.events import CallProgressed, Event
from surehand.outcomes import Outcome

NAMES = ["seeing", "storing", "reaching", "flaky", "dying", "hanging", "slow_items"]


@dataclass(frozen=True)
class Ran:
    """One turn with a call of each tool, side by side."""

    answers: dict[str, ToolMessage]
    events: list[Event]
    left: set[int]
    """The processes that were there afterwards and not before."""

    def outcome(self, name: str) -> Outcome:
        outcome = self.answers[name].outcome
        assert outcome is not None
        return outcome

    def progress(self, name: str) -> list[Any]:
        told = [event for event in self.events if isinstance(event, CallProgressed)]
        return [event.progress for event in told if event.tool_name == name]


@pytest.fixture(scope="module")
def ran() -> Ran:
    events: list[Event] = []
    node = ToolNode([getattr(tools, name) for name in NAMES], store=InMemoryStore(), listener=events.append)
    calls = [{"id": name, "name": name, "args": {"word": "it"} if name == "seeing" else {}} for name in NAMES]
    state = {"messages": [AIMessage(tool_calls=calls)], "topic": "bees"}
    before = children()
    answers = node.invoke(state, context={"deps": {"url": "x"}})["messages"]
    return Ran({answer.tool_call_id: answer for answer in answers}, events, children() - before)


def test_a_body_sees_its_call_as_any_other_does(ran: Ran) -> None:
    seen = json.loads(ran.answers["seeing"].text)
    assert seen.pop("pid") != os.getpid()
    assert 299 < seen.pop("left") <= 300
    assert len(seen.pop("key")) == 32
    assert seen == {
        "call_id": "seeing",
        "tool_name": "seeing",
        "state": "dict",
        "topic": "bees",
        "deps": {"url": "x"},
    }


def test_its_progress_is_announced(ran: Ran) -> None:
    assert ran.progress("seeing") == ["seeing it"]


def test_its_attempts_are_counted_and_told(ran: Ran) -> None:
    assert ran.answers["flaky"].text == "attempt 2"
    assert ran.outcome("flaky").attempts == 2


@pytest.mark.parametrize("name", ["storing", "reaching"])
def test_a_store_that_cannot_be_pickled_is_a_fault_of_the_application(name: str, ran: Ran) -> None:
    assert ran.outcome(name).kind == "internal"
    assert "fault in the application, not in your arguments. Do not retry." in ran.answers[name].text


def test_a_process_that_dies_is_told_with_the_doubt_it_leaves(ran: Ran) -> None:
    text = ran.answers["dying"].text.partition(" [error")[0]
    assert text == f"ProcessDied: The process of tool 'dying' was ended by SIGKILL before it had answered. {BROKEN_OFF}"


def test_a_body_that_never_ends_is_killed_in_time_and_answered(ran: Ran) -> None:
    assert ran.outcome("hanging").kind == "timeout"
    assert "did not answer within 0.3 seconds. It was stopped" in ran.answers["hanging"].text
    (pid,) = ran.progress("hanging")
    assert soon(lambda: not is_alive(pid), within=10)
    assert ran.left == set()


def test_what_a_body_produced_before_it_fell_silent_is_in_the_answer(ran: Ran) -> None:
    assert ran.outcome("slow_items").kind == "timeout"
    assert "gave no sign of life for 0.3 seconds" in ran.answers["slow_items"].text
    assert '["first","second"]' in ran.answers["slow_items"].text.replace(" ", "")


def test_a_tool_may_be_called_directly_too() -> None:
    assert tools.double.with_config(isolation="process").invoke({"number": 4}) == 8


def test_a_function_that_another_process_cannot_find_is_refused_when_the_node_is_built() -> None:
    @tool(isolation="process")
    def local() -> None:
        """Do nothing."""

    with pytest.raises(ToolDefinitionError, match="local' is defined inside another function"):
        ToolNode([local])


def test_what_was_left_behind_says_so_whatever_is_done_with_it() -> None:
    store = LeftBehind("t", "store", "cannot pickle a lock")
    assert repr(store) == "<store, left behind>"
    with pytest.raises(ToolDefinitionError, match="its store cannot be taken to a process of its own"):
        store.get("a")
    with pytest.raises(ToolDefinitionError, match="cannot pickle a lock"):
        store["a"]
    with pytest.raises(AttributeError):
        store.__len__()
