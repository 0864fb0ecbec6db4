"""What a tool's author keeps of a failure for the program."""

from __future__ import annotations

from surehand import AIMessage, RetryPolicy, ToolException, ToolMessage, ToolNode, tool
from surehand.testing import FakeClock

CALL = AIMessage(tool_calls=[{"id": "1", "name": "book", "args": {}}])


def test_what_the_author_keeps_of_a_failure_stands_on_the_answer() -> None:
    @tool
    def book() -> str:
        raise ToolException("Sold out.", artifact={"code": 7})

    answers: list[ToolMessage] = ToolNode([book]).invoke([CALL])

    assert [(answer.text, answer.status, answer.artifact) for answer in answers] == [
        ("Sold out.", "error", {"code": 7})
    ]


def test_a_wait_that_the_author_names_is_waited_where_the_tool_may_run_twice() -> None:
    clock, runs = FakeClock(), list[float]()

    @tool(read_only=True, retry=RetryPolicy(jitter=False))
    async def book() -> str:
        runs.append(clock.now())
        if len(runs) == 1:
            raise ToolException("Busy.", retry_after=3)
        return "booked"

    answers: list[ToolMessage] = ToolNode([book], clock=clock).invoke([CALL])

    assert (answers[0].text, runs[1] - runs[0]) == ("booked", 3)


def test_a_wait_that_the_author_names_says_nothing_about_a_tool_that_may_not_run_twice() -> None:
    @tool
    def book() -> str:
        raise ToolException("Busy.", retry_after=3)

    answers: list[ToolMessage] = ToolNode([book]).invoke([CALL])

    assert answers[0].outcome is not None
    assert (answers[0].text, answers[0].outcome.attempts) == ("Busy.", 1)
