"""TIME: time limits, threads and loops, cancellation, context variables."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

from support.programs import run_python
from surehand import AIMessage, HumanMessage, ToolMessage, ToolNode, check_transcript, create_agent, tool
from surehand.events import CallProgressed
from surehand.testing import FakeClock, ScriptedModel, faults, record_events

user: ContextVar[str] = ContextVar("user", default="nobody")


def asking(*names: str, **arguments: Any) -> AIMessage:
    return AIMessage(
        tool_calls=[{"id": f"c{number}", "name": name, "args": arguments} for number, name in enumerate(names)]
    )


@tool
async def quick() -> str:
    """Answer at once."""
    return "quick"


@tool
def search() -> str:
    """Search."""
    return "found"


@tool
async def asearch() -> str:
    """Search."""
    return "found"


BOTH = pytest.mark.parametrize("whole", [search, asearch], ids=["sync", "async"])


@BOTH
def test_TIME_01_a_hung_tool_is_answered_with_its_limit_and_its_siblings_keep_their_results(whole: Any) -> None:
    hung = faults.hang().on(whole)
    node = ToolNode([hung, quick], timeout=90, clock=FakeClock())

    answers = node.invoke([asking(hung.name, "quick")])
    assert answers[0].outcome.kind == "timeout"
    assert "90 seconds" in answers[0].content
    assert (answers[1].status, answers[1].content) == ("success", "quick")


def test_TIME_01_there_is_a_limit_where_nobody_sets_one() -> None:
    clock = FakeClock()
    (answer,) = ToolNode([faults.hang().on(asearch)], clock=clock).invoke([asking("asearch")])

    assert answer.outcome.kind == "timeout"
    assert clock.now() == 300


SLEEPER = """
import time
from surehand import AIMessage, ToolNode, tool

@tool(timeout=0.2)
def sleep_long() -> str:
    "Sleep."
    time.sleep(30)
    return "late"

(answer,) = ToolNode([sleep_long]).invoke([AIMessage(tool_calls=[{"id": "c", "name": "sleep_long", "args": {}}])])
print(answer.outcome.kind, "still be running" in answer.content)
"""


def test_TIME_03_a_sync_body_that_outlives_its_limit_keeps_neither_the_caller_nor_the_process(tmp_path: Path) -> None:
    began = time.monotonic()
    done = run_python("-c", SLEEPER, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (0, "timeout True\n"), done.stderr
    assert time.monotonic() - began < 20


def test_TIME_05_sync_tools_run_in_parallel_off_the_loop_which_goes_on() -> None:
    meet = threading.Barrier(3)

    @tool
    def meet_others() -> str:
        """Wait for the others, which all have to run for that."""
        meet.wait(10)
        return "met"

    async def main() -> list[ToolMessage]:
        turn = asyncio.ensure_future(ToolNode([meet_others]).ainvoke([asking("meet_others", "meet_others")]))
        for _ in range(10):
            await asyncio.sleep(0.001)
        assert not turn.done()  # the loop ticks while both bodies wait
        meet.wait(10)
        answers: list[ToolMessage] = await turn
        return answers

    assert [answer.content for answer in asyncio.run(main())] == ["met", "met"]


def test_TIME_06_generators_are_stepped_off_the_loop_and_what_they_yield_is_progress() -> None:
    ticked = threading.Event()

    @tool
    def report() -> Any:
        """Report in steps."""
        yield "begun"
        assert ticked.wait(10)  # the loop goes on between two steps
        yield "half"
        return "all of it"

    async def main(node: ToolNode) -> list[ToolMessage]:
        asyncio.get_running_loop().call_later(0.01, ticked.set)
        answers: list[ToolMessage] = await node.ainvoke([asking("report")])
        return answers

    events = record_events()
    (answer,) = asyncio.run(main(ToolNode([report], listener=events)))
    assert [event.progress for event in events.of(CallProgressed)] == ["begun", "half"]
    assert answer.content == "all of it"


def test_TIME_06_a_generator_that_returns_nothing_comes_to_the_list_of_its_items() -> None:
    @tool
    def count(until: int) -> Any:
        """Count."""
        yield from range(until)

    @tool
    async def acount(until: int) -> Any:
        """Count."""
        for number in range(until):
            yield number

    answers = ToolNode([count, acount]).invoke([asking("count", "acount", until=3)])
    assert [answer.content for answer in answers] == ["[0, 1, 2]", "[0, 1, 2]"]


async def _found(query: str) -> str:
    await asyncio.sleep(0)
    return f"found {query}"


def handed_back(query: str) -> Any:
    """Hand back what is to be awaited."""
    return _found(query)


class Searcher:
    """Search."""

    async def __call__(self, query: str) -> str:
        return await _found(query)


async def ahanded_back(query: str) -> Any:
    """Hand back what is to be awaited."""
    return handed_back(query)


async def task_handed_back(query: str) -> Any:
    """Hand back a task."""
    return asyncio.ensure_future(ahanded_back(query))


@pytest.mark.parametrize(
    "function",
    [handed_back, ahanded_back, task_handed_back, Searcher()],
    ids=["sync wrapper", "async wrapper", "async starter", "object with an async call"],
)
@pytest.mark.parametrize("door", ["invoke", "ainvoke"])
def test_TIME_07_whatever_gives_an_awaitable_is_awaited(function: Callable[..., Any], door: str) -> None:
    node = ToolNode([tool("find")(function)])
    turn = [asking("find", query="it")]

    (answer,) = node.invoke(turn) if door == "invoke" else asyncio.run(node.ainvoke(turn))
    assert (answer.status, answer.content) == ("success", "found it")


def test_TIME_08_async_tools_work_from_sync_code() -> None:
    model = ScriptedModel([asking("quick"), "Done."])

    assert asearch.invoke({}) == "found"
    assert create_agent(model, [quick]).invoke("go")["messages"][-2].content == "quick"


@pytest.mark.filterwarnings("ignore:A synchronous call was made:RuntimeWarning")
def test_TIME_08_async_tools_work_from_sync_code_inside_a_running_loop() -> None:
    async def main() -> tuple[str, Any]:
        return ToolNode([quick]).invoke([asking("quick")])[0].content, asearch.invoke({})

    assert asyncio.run(main()) == ("quick", "found")


@tool
def who() -> str:
    """Say who the user is, and leave another behind."""
    seen = user.get()
    user.set("left by a thread")
    return seen


@tool
async def awho() -> str:
    """Say who the user is, and leave another behind."""
    seen = user.get()
    user.set("left by a task")
    await asyncio.sleep(0)
    return seen


@pytest.mark.filterwarnings("ignore:A synchronous call was made:RuntimeWarning")
@pytest.mark.parametrize("is_in_loop", [False, True])
def test_TIME_10_the_bridge_from_sync_to_async_carries_the_callers_context(*, is_in_loop: bool) -> None:
    user.set("ann")

    async def inside() -> Any:
        return ToolNode([awho]).invoke([asking("awho")])

    (answer,) = asyncio.run(inside()) if is_in_loop else ToolNode([awho]).invoke([asking("awho")])
    assert answer.content == "ann"
    assert user.get() == "ann"


@pytest.mark.parametrize("door", ["invoke", "ainvoke"])
@pytest.mark.parametrize("names", [("who",), ("awho",), ("who", "awho", "who", "awho")])
def test_TIME_11_tools_see_the_callers_context_and_not_one_anothers(names: tuple[str, ...], door: str) -> None:
    user.set("ann")
    node = ToolNode([who, awho])

    answers = node.invoke([asking(*names)]) if door == "invoke" else asyncio.run(node.ainvoke([asking(*names)]))
    assert {answer.content for answer in answers} == {"ann"}
    assert user.get() == "ann"


def test_TIME_11_callers_in_many_threads_each_see_their_own() -> None:
    node = ToolNode([who, awho])
    seen: dict[str, set[str]] = {}

    def use(name: str) -> None:
        user.set(name)
        seen[name] = {answer.content for answer in node.invoke([asking("who", "awho")])}

    threads = [threading.Thread(target=use, args=(f"user {number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {f"user {number}": {f"user {number}"} for number in range(8)}


def test_TIME_13_cancelling_a_run_reaches_its_async_tools_and_waits_for_their_clean_up() -> None:
    ended: list[str] = []
    both = asyncio.Barrier(3)

    @tool
    async def work() -> str:
        """Work until told to stop, and then tidy up."""
        try:
            await both.wait()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            ended.append("tidy")
        return "never"

    message = asking("work", "work", "quick")

    async def main() -> list[ToolMessage]:
        run = asyncio.ensure_future(ToolNode([work, quick]).ainvoke([message]))
        await both.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await run
        assert ended == ["tidy", "tidy"]
        return list(getattr(caught.value, "tool_messages", []))

    answers = asyncio.run(main())
    assert [str(answer.outcome and answer.outcome.kind) for answer in answers] == ["cancelled", "cancelled", "None"]
    assert check_transcript([HumanMessage("go"), message, *answers]) == []


@BOTH
@pytest.mark.parametrize(
    ("of_node", "of_tool", "of_override", "of_run", "limit"),
    [
        (None, None, None, None, 300),
        (50, None, None, None, 50),
        (50, 40, None, None, 40),
        (50, 40, 30, None, 30),
        (None, 40, 30, None, 30),
        (50, 40, 30, 60, 60),
        (None, None, None, 20, 20),
    ],
)
def test_TIME_15_the_most_specific_time_limit_holds(
    *, whole: Any, of_node: int | None, of_tool: int | None, of_override: int | None, of_run: int | None, limit: int
) -> None:
    hung = faults.hang().on(whole if of_tool is None else whole.with_config(timeout=of_tool))
    node_options: dict[str, Any] = {} if of_node is None else {"timeout": of_node}
    overrides = None if of_override is None else {hung.name: {"timeout": of_override}}
    config: Any = None if of_run is None else {"timeout": of_run}
    clock = FakeClock()

    (answer,) = ToolNode([hung], clock=clock, overrides=overrides, **node_options).invoke([asking(hung.name)], config)
    assert f"within {limit} seconds" in answer.content
    assert clock.now() == limit


def test_TIME_15_what_cannot_be_killed_is_said() -> None:
    node = ToolNode([faults.hang().on(search), faults.hang().on(asearch)], clock=FakeClock())

    on_thread, on_loop = node.invoke([asking("search", "asearch")])
    assert "It may still be running" in on_thread.content
    assert "It was stopped" in on_loop.content
