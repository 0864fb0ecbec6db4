"""What a graph that is not ours has around the calls of a turn."""

from __future__ import annotations

from typing import Any

import pytest

from surehand import AIMessage, ToolMessage, tool
from surehand.calls import Call, Host, Through, ToolTable, Turn, calls_of, run_turn_sync
from surehand.interrupts import Interrupt, Interrupted
from surehand.outcomes import FailureKind


class Question(Exception):
    """Another graph's way to ask."""


class Around:
    """Notes what it sees."""

    needs_loop = False

    def __init__(self, *, times: int = 1) -> None:
        self.times = times
        self.seen: list[str] = []

    async def around(self, call: Call, through: Through) -> Call:
        self.seen.append(call.name)
        ended = call
        for _ in range(self.times):
            ended = await through(call)
        return ended

    def asked(self, call: Call, error: BaseException) -> Interrupted | None:
        return Interrupted([Interrupt(id=call.id, value=str(error))]) if isinstance(error, Question) else None

    def received(self, call: Call, value: Any) -> Any:
        del call
        if value == "nonsense":
            raise ValueError("That cannot be an answer.")
        return f"received {value}"


@tool
def say(word: str) -> str:
    """Say a word."""
    if word == "ask":
        raise Question("which?")
    return word


def turn_of(around: Around, *words: str, name: str = "say") -> list[Call]:
    calls = [{"id": str(n), "name": name, "args": {"word": word}} for n, word in enumerate(words)]
    turn = Turn(host=Host(table=ToolTable([say.spec])), message=AIMessage(tool_calls=calls), surroundings=around)
    return calls_of(turn)


def contents(messages: list[ToolMessage]) -> list[Any]:
    return [message.content for message in messages]


def test_what_a_body_returned_is_received_in_our_words() -> None:
    answers = run_turn_sync(turn_of(Around(), "a", "b"))
    assert contents(answers.messages) == ["received a", "received b"]
    assert [call.id for call in answers.calls] == ["0", "1"]


def test_a_lone_synchronous_call_goes_through_it_without_a_loop() -> None:
    around = Around()
    assert contents(run_turn_sync(turn_of(around, "a")).messages) == ["received a"]
    assert around.seen == ["say"]


def test_it_sees_a_call_whose_tool_is_unknown() -> None:
    around = Around()
    answers = run_turn_sync(turn_of(around, "a", name="shout"))
    assert around.seen == ["shout"]
    assert answers.calls[0].outcome is not None
    assert answers.calls[0].outcome.kind is FailureKind.UNKNOWN_TOOL


def test_a_call_may_go_through_several_times() -> None:
    answers = run_turn_sync(turn_of(Around(times=3), "a"))
    assert contents(answers.messages) == ["received a"]


def test_an_exception_that_is_a_question_ends_the_turn_when_the_others_have_ended() -> None:
    with pytest.raises(Interrupted) as asked:
        run_turn_sync(turn_of(Around(), "ask", "b"))
    assert [question.value for question in asked.value.interrupts] == ["which?"]
    told: Any = asked.value
    assert contents(told.tool_messages) == ["received b"]


def test_what_cannot_be_received_is_the_tools_failure() -> None:
    answers = run_turn_sync(turn_of(Around(), "nonsense"))
    assert answers.messages[0].status == "error"
    assert "That cannot be an answer." in answers.messages[0].text
