"""HIST, LOOP and RETRY where a run is gone on with: what was counted, said and done before still counts.

Each part of a run has an agent of its own, as in another process.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.liveness import comes_true
from support.programs import run_python
from surehand import (
    AIMessage,
    Command,
    CompiledGraph,
    HumanMessage,
    Limits,
    MemorySaver,
    Message,
    RunConfig,
    SqliteSaver,
    ToolContext,
    ToolMessage,
    check_transcript,
    create_agent,
    tool,
)
from surehand.testing import FunctionModel

CONFIG: RunConfig = {"configurable": {"thread_id": "t"}}


def turns_so_far(messages: list[Message]) -> int:
    return sum(isinstance(message, AIMessage) for message in messages)


def asking(number: int, name: str, **args: Any) -> AIMessage:
    return AIMessage(tool_calls=[{"id": f"c{number}", "name": name, "args": args}])


def answers_in(result: Any) -> list[ToolMessage]:
    return [message for message in result["messages"] if isinstance(message, ToolMessage)]


def kinds(result: Any) -> list[str | None]:
    return [answer.outcome.kind if answer.outcome else None for answer in answers_in(result)]


def in_one_go(agent: Callable[..., CompiledGraph]) -> Any:
    return agent().invoke("go")


def in_parts(agent: Callable[..., CompiledGraph]) -> Any:
    """The result of a run that stops before every step, and is gone on with by another agent each time."""
    saver = MemorySaver()
    stopping = {"checkpointer": saver, "interrupt_before": "*"}
    result = agent(**stopping).invoke("go", CONFIG)
    while (made := agent(**stopping)).get_state(CONFIG).next:
        result = made.invoke(None, CONFIG)
    return result


in_any_way = pytest.mark.parametrize("run", [in_one_go, in_parts])


@tool
def fail(x: int) -> str:
    """Fail."""
    raise ValueError(f"{x} is no good")


@tool
def add(a: int) -> str:
    """Add one."""
    return str(a + 1)


@in_any_way
def test_LOOP_01_a_call_that_fails_again_and_again_ends_the_run_also_where_it_stops_meanwhile(run: Any) -> None:
    model = FunctionModel(lambda messages: asking(turns_so_far(messages), "fail", x=1))
    result = run(partial(create_agent, model, [fail]))
    assert result["end_reason"] == "repeated_failure"
    assert kinds(result) == ["exception"] * 4 + ["limit"] * 4


@in_any_way
def test_LOOP_03_the_models_turns_are_counted_over_all_parts_of_a_run(run: Any) -> None:
    model = FunctionModel(lambda messages: asking(turns_so_far(messages), "add", a=turns_so_far(messages)))
    result = run(partial(create_agent, model, [add], max_iterations=4))
    assert result["end_reason"] == "max_iterations"
    assert [answer.text for answer in answers_in(result)][:3] == ["1", "2", "3"]
    assert kinds(result) == [None, None, None, "limit"]


@in_any_way
def test_LOOP_08_a_forced_choice_is_for_the_first_request_of_a_run_and_not_of_each_part(run: Any) -> None:
    chosen: list[Any] = []

    class Noting(FunctionModel):
        async def _answer(self, request: Any) -> AIMessage:
            chosen.append(request.tool_choice)
            return await super()._answer(request)

    def reply(messages: list[Message]) -> AIMessage | str:
        turns = turns_so_far(messages)
        return asking(turns, "add", a=turns) if turns < 2 else "Done."

    result = run(partial(create_agent, Noting(reply), [add], tool_choice="add"))
    assert (chosen, result["end_reason"]) == (["add", None, None], "answer")


@in_any_way
def test_LOOP_10_calls_are_counted_over_all_parts_of_a_run(run: Any) -> None:
    def reply(messages: list[Message]) -> AIMessage | str:
        turns = turns_so_far(messages)
        return "Done." if turns and messages[-1].type == "human" else asking(turns, "add", a=turns)

    result = run(partial(create_agent, FunctionModel(reply), [add], limits=Limits(calls=2)))
    assert (kinds(result)[:2], result["end_reason"]) == ([None, None], "max_calls")


def test_LOOP_05_a_direct_result_ends_the_run_also_where_the_call_had_to_ask() -> None:
    @tool(return_direct=True)
    def look_up(ctx: ToolContext) -> str:
        """Look it up."""
        return f"direct: {ctx.interrupt('Where?')}"

    saver = MemorySaver()

    def agent() -> CompiledGraph:
        return create_agent(FunctionModel(lambda messages: asking(0, "look_up")), [look_up], checkpointer=saver)

    agent().invoke("go", CONFIG)
    result = agent().invoke(Command(resume="here"), CONFIG)
    assert (result["end_reason"], result["messages"][-1].text) == ("return_direct", "direct: here")


def test_LOOP_15_a_run_whose_model_fails_goes_on_there_and_runs_no_tool_again() -> None:
    ran: Counter[int] = Counter()
    failures = ["the provider is away"]

    @tool
    def note(n: int) -> str:
        """Note it."""
        ran[n] += 1
        return f"noted {n}"

    def reply(messages: list[Message]) -> AIMessage | str:
        turns = turns_so_far(messages)
        if turns == 2 and failures:
            raise ConnectionError(failures.pop())
        return asking(turns, "note", n=turns) if turns < 3 else "Done."

    saver = MemorySaver()

    def agent() -> CompiledGraph:
        return create_agent(FunctionModel(reply), [note], checkpointer=saver)

    with pytest.raises(ConnectionError):
        agent().invoke("go", CONFIG)
    assert [message.text for message in agent().get_state(CONFIG).values["messages"]][-1] == "noted 1"
    result = agent().invoke(None, CONFIG)
    assert (ran, result["end_reason"]) == ({0: 1, 1: 1, 2: 1}, "answer")
    assert check_transcript(result["messages"]) == []


def test_HIST_11_a_provider_that_gives_the_same_ids_in_each_turn_gets_an_answer_to_each_call() -> None:
    def reply(messages: list[Message]) -> AIMessage | str:
        turns = turns_so_far(messages)
        return asking(0, "add", a=turns) if turns < 3 else "Done."

    result = in_parts(partial(create_agent, FunctionModel(reply), [add]))
    assert [answer.text for answer in answers_in(result)] == ["1", "2", "3"]
    assert [answer.tool_call_id for answer in answers_in(result)] == ["c0", "c0", "c0"]


# A run that was cancelled


def stopped(ran: list[str], *, awaited: bool) -> Callable[[], CompiledGraph]:
    """Makes agents of a thread in which a run was cancelled while a tool of its turn ran, and the other had ended."""

    @tool
    async def pay() -> str:
        """Pay."""
        ran.append("pay")
        return "paid"

    may_end = threading.Event()

    def wait() -> str:
        ran.append("wait")
        may_end.wait(20)
        return "waited"

    async def await_it() -> str:
        ran.append("wait")
        await asyncio.sleep(60)
        return "waited"

    waiting = tool("wait", description="Wait.")(await_it if awaited else wait)
    calls: list[dict[str, Any]] = [{"id": name, "name": name, "args": {}} for name in ("pay", "wait")]

    def reply(messages: list[Message]) -> AIMessage | str:
        is_answered = any(isinstance(message, ToolMessage) for message in messages)
        return "Well." if is_answered else AIMessage(tool_calls=calls)

    saver = MemorySaver()

    def agent() -> CompiledGraph:
        return create_agent(FunctionModel(reply), [pay, waiting], checkpointer=saver)

    def is_under_way() -> bool:
        return len(ran) == 2 and [row.state for row in saver.calls("t")].count("done") == 1

    async def cancelled() -> None:
        run = asyncio.ensure_future(agent().ainvoke("go", CONFIG))
        await comes_true(is_under_way)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(cancelled())
    may_end.set()
    assert sorted(ran) == ["pay", "wait"]
    return agent


of_either_kind = pytest.mark.parametrize("awaited", [True, False], ids=["async", "sync"])


@of_either_kind
def test_HIST_14_a_run_that_was_cancelled_goes_on_and_runs_no_call_a_second_time(*, awaited: bool) -> None:
    ran: list[str] = []
    result = stopped(ran, awaited=awaited)().invoke(None, CONFIG)
    assert sorted(ran) == ["pay", "wait"]
    assert kinds(result) == [None, "unknown_outcome"]  # what was cancelled may have happened in part
    assert [answer.tool_call_id for answer in answers_in(result)] == ["pay", "wait"]
    assert result["messages"][-1].text == "Well."
    assert check_transcript(result["messages"]) == []


@of_either_kind
def test_HIST_13_a_run_that_was_cancelled_may_be_left_behind_by_a_new_message(*, awaited: bool) -> None:
    ran: list[str] = []
    result = stopped(ran, awaited=awaited)().invoke({"messages": [HumanMessage("Never mind.")]}, CONFIG)
    assert sorted(ran) == ["pay", "wait"]
    assert [message.type for message in result["messages"]] == ["human", "ai", "tool", "tool", "human", "ai"]
    assert check_transcript(result["messages"]) == []


# A run whose process was killed

PROGRAM = """
import os, signal, sys
from surehand import AIMessage, SqliteSaver, create_agent, tool
from surehand.testing import FunctionModel

@tool
def pay() -> str:
    "Pay."
    print("paying", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

model = FunctionModel(lambda messages: AIMessage(tool_calls=[{"id": "c", "name": "pay", "args": {}}]))
with SqliteSaver(sys.argv[1]) as saver:
    create_agent(model, [pay], checkpointer=saver).invoke("go", {"configurable": {"thread_id": "t"}})
"""


def gone_on_with(folder: Path, **options: Any) -> tuple[list[str], ToolMessage]:
    """What ran after the process was killed in which a call had begun, and the answer to the call."""
    ended = run_python("-c", PROGRAM, str(folder / "runs.db"), cwd=folder)
    assert (ended.returncode, ended.stdout) == (-9, "paying\n"), ended.stderr
    ran: list[str] = []

    @tool(**options)
    def pay() -> str:
        """Pay."""
        ran.append("pay")
        return "paid"

    with SqliteSaver(folder / "runs.db") as saver:
        agent = create_agent(FunctionModel(lambda messages: "Well."), [pay], checkpointer=saver)
        (answer,) = answers_in(agent.invoke(None, CONFIG))
    return ran, answer


def test_RETRY_08_in_another_process_a_call_that_had_begun_is_not_run_again_blindly(tmp_path: Path) -> None:
    ran, answer = gone_on_with(tmp_path)
    assert (ran, answer.outcome and answer.outcome.kind) == ([], "unknown_outcome")
    assert "It may have happened" in answer.text


@pytest.mark.parametrize("options", [{"idempotent": True}, {"read_only": True}])
def test_RETRY_08_in_another_process_it_is_run_again_where_that_is_safe(options: Any, tmp_path: Path) -> None:
    ran, answer = gone_on_with(tmp_path, **options)
    assert (ran, answer.text) == (["pay"], "paid")


def test_RETRY_08_a_call_that_takes_long_is_waited_for_by_a_second_run_of_its_turn() -> None:
    ran: list[str] = []
    begun = asyncio.Event()

    @tool
    async def pay() -> str:
        """Pay, and take long."""
        ran.append("pay")
        begun.set()
        for _ in range(2_000):  # until the second run waits, on this loop
            await asyncio.sleep(0)
        return "paid"

    saver = MemorySaver()

    def agent() -> CompiledGraph:
        def reply(messages: list[Message]) -> AIMessage | str:
            return "Done." if isinstance(messages[-1], ToolMessage) else asking(0, "pay")

        return create_agent(FunctionModel(reply), [pay], checkpointer=saver)

    async def both() -> list[Any]:
        first = asyncio.ensure_future(agent().ainvoke("go", CONFIG))
        await begun.wait()
        return [*await asyncio.gather(first, agent().ainvoke(None, CONFIG), return_exceptions=True)]

    results = asyncio.run(both())
    assert ran == ["pay"]
    (won,) = [result for result in results if not isinstance(result, BaseException)]
    assert [answer.text for answer in answers_in(won)] == ["paid"]
    (lost,) = [result for result in results if isinstance(result, BaseException)]
    assert type(lost).__name__ == "CheckpointConflict"
