"""Reported behaviours of histories that depend on how calls are run."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from support.liveness import comes_true
from surehand import AIMessage, Command, HumanMessage, ToolMessage, ToolNode, check_transcript, tool
from surehand.events import Event, LateResult


def _turn(*names: str) -> AIMessage:
    return AIMessage(tool_calls=[{"id": f"c{i}", "name": name, "args": {}} for i, name in enumerate(names)])


@tool
def transfer_a() -> Command:
    """Hand over to agent a."""
    return Command(goto="a", update={"owner": "a"})


@tool
def transfer_b() -> Command:
    """Hand over to agent b."""
    return Command(goto="b", update={"owner": "b"})


def test_HIST_02_every_call_of_a_turn_with_two_hand_offs_is_answered() -> None:
    turn = _turn("transfer_a", "transfer_b")

    answers, *commands = ToolNode([transfer_a, transfer_b], commands=True).invoke({"messages": [turn]})
    messages: list[Any] = answers.update["messages"]
    assert check_transcript([HumanMessage("go"), turn, *messages]) == []
    assert [command.goto for command in commands] == ["a", "b"]


def test_HIST_14_on_cancel_both_kinds_of_tools_are_paired_and_a_late_result_is_dropped() -> None:
    begun, release, announced = threading.Event(), threading.Event(), threading.Event()
    late: list[Event] = []

    def listener(event: Event) -> None:
        if isinstance(event, LateResult):
            late.append(event)
            announced.set()

    @tool
    def blocking() -> str:
        """Block a thread."""
        begun.set()
        release.wait(20)
        return "late"

    @tool
    async def waiting() -> str:
        """Wait on the loop."""
        await asyncio.Event().wait()
        return "never"

    turn = _turn("blocking", "waiting")

    async def main() -> list[ToolMessage]:
        task = asyncio.ensure_future(ToolNode([blocking, waiting], listener=listener).ainvoke([turn]))
        await comes_true(begun.is_set)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError as error:
            return error.tool_messages  # type: ignore[attr-defined, no-any-return]
        return []

    answers = asyncio.run(main())
    release.set()
    assert [answer.outcome.kind for answer in answers if answer.outcome] == ["cancelled", "cancelled"]
    assert check_transcript([HumanMessage("go"), turn, *answers, HumanMessage("go on")]) == []
    assert announced.wait(20)
    assert all("late" not in str(answer.content) for answer in answers)
