"""What the faults of the chaos kit do to tools, and what they leave alone."""

from __future__ import annotations

import asyncio
import gc
import math
import threading
from pathlib import Path
from typing import Any, cast, get_args

import pytest

from support.dying_tools import resize, rotate, sharpen
from support.programs import run_python
from surehand import AIMessage, BaseTool, ToolContext, ToolException, ToolNode, create_agent, tool
from surehand.errors import OptionError
from surehand.events import Event, LateResult
from surehand.testing import FakeClock, ScriptedModel, faults
from surehand.testing.faults import GO_ON, Fault, Garbage


@tool(tags=["shop"], read_only=True, timeout=30)
def stock(article: str) -> str:
    """Count the pieces in store."""
    return f"3 x {article}"


@tool
async def astock(article: str) -> str:
    """Count the pieces in store."""
    return f"3 x {article}"


class Shop(BaseTool):
    """Count the pieces in store."""

    def _run(self, article: str) -> str:
        return f"3 x {article}"

    async def _arun(self, article: str) -> str:
        return f"3 x {article}, counted twice"


BOTH = pytest.mark.parametrize("whole", [stock, astock], ids=["sync", "async"])


def turn(name: str, *articles: str) -> list[AIMessage]:
    calls = [{"id": f"c{n}", "name": name, "args": {"article": article}} for n, article in enumerate(articles)]
    return [AIMessage(tool_calls=calls)]


def told(broken: BaseTool, *articles: str, **options: Any) -> Any:
    node = ToolNode([broken], clock=options.pop("clock", FakeClock()), **options)
    return node.invoke(turn(broken.spec.name, *(articles or ("chair",))))


@BOTH
def test_a_tool_with_a_fault_is_to_all_others_the_same(whole: BaseTool) -> None:
    broken = faults.huge(10).on(whole)

    assert (broken.name, broken.description, broken.args) == (whole.name, whole.description, whole.args)
    assert broken.to_openai() == whole.to_openai()
    assert broken.spec.options == whole.spec.options
    assert broken.spec.tags == whole.spec.tags


@BOTH
def test_the_tool_itself_stays_whole(whole: BaseTool) -> None:
    faults.raises(ValueError("broken")).on(whole)

    assert told(whole)[0].content == "3 x chair"


@BOTH
def test_a_fault_may_raise_anything(whole: BaseTool) -> None:
    (answer,) = told(faults.raises(ValueError("the shelf fell over")).on(whole))

    assert answer.outcome.kind == "exception"
    assert "the shelf fell over" in answer.content


def test_an_exception_class_is_raised_anew_each_time() -> None:
    broken = faults.raises(ValueError).on(stock)
    with pytest.raises(ValueError) as first:  # noqa: PT011 - it says nothing
        broken.invoke({"article": "a"})
    with pytest.raises(ValueError) as second:  # noqa: PT011 - it says nothing
        broken.invoke({"article": "a"})

    assert first.value is not second.value


def test_a_fault_may_raise_in_the_first_calls_only() -> None:
    answers = told(faults.raises(ValueError("once"), times=1).on(stock), "a", "b", "c", max_concurrency=1)

    assert [answer.status for answer in answers] == ["error", "success", "success"]


@BOTH
def test_flaky_tools_are_retried_until_they_work(whole: BaseTool) -> None:
    clock = FakeClock()
    (answer,) = told(faults.flaky(2).on(whole), clock=clock)

    assert answer.content == "3 x chair"
    assert answer.outcome.attempts == 3
    assert len(clock.sleeps) == 2


def test_flaky_tools_fail_in_the_way_they_are_told_to() -> None:
    (answer,) = told(faults.flaky(1, ToolException("The till is shut.")).on(stock))

    assert answer.content == "The till is shut."


@BOTH
def test_a_hanging_tool_is_answered_when_the_clock_has_jumped(whole: BaseTool) -> None:
    clock = FakeClock()
    (answer,) = told(faults.hang().on(whole), clock=clock)

    assert answer.outcome.kind == "timeout"
    assert clock.now() >= (30 if whole is stock else 300)


def test_a_hanging_tool_that_is_released_does_its_work_late() -> None:
    late: list[Event] = []
    ended = threading.Event()

    def listener(event: Event) -> None:
        if isinstance(event, LateResult):
            late.append(event)
            ended.set()

    hang = faults.hang()
    told(hang.on(stock), listener=listener)
    hang.release()

    assert ended.wait(5)
    assert [cast("LateResult", event).value for event in late] == ["3 x chair"]


def test_what_hangs_on_a_loop_can_be_released_too() -> None:
    hang = faults.hang()
    broken = hang.on(astock)

    async def main() -> Any:
        call = asyncio.ensure_future(broken.ainvoke({"article": "chair"}))
        await asyncio.sleep(0.01)
        threading.Thread(target=hang.release).start()
        return await call

    assert asyncio.run(main()) == "3 x chair"


def test_released_once_no_call_hangs_any_more() -> None:
    hang = faults.hang()
    hang.release()

    assert hang.on(stock).invoke({"article": "chair"}) == "3 x chair"
    assert asyncio.run(hang.on(astock).ainvoke({"article": "chair"})) == "3 x chair"


def test_a_thread_that_hangs_ends_with_the_test_and_does_nothing_more() -> None:
    entered = threading.Event()
    bodies: list[str] = []
    thread: list[threading.Thread] = []

    @tool
    def work() -> str:
        """Work."""
        bodies.append("worked")
        return "done"

    def enter(_: int) -> Any:
        thread.append(threading.current_thread())
        entered.set()
        return GO_ON

    late = threading.Event()
    broken = Fault(enter).on(faults.hang().on(work))
    node = ToolNode([broken], clock=FakeClock(), listener=lambda e: late.set() if isinstance(e, LateResult) else None)
    node.invoke([AIMessage(tool_calls=[{"id": "c", "name": "work", "args": {}}])])
    assert entered.is_set()
    assert not late.is_set()
    del broken, node
    gc.collect()

    assert late.wait(5)
    assert bodies == []


def test_an_asynchronous_body_may_swallow_cancellations() -> None:
    broken = faults.hang(ignores=2).on(astock)

    async def main() -> int:
        body = asyncio.ensure_future(broken.func(article="chair"))
        cancelled = 0
        while not body.done():
            await asyncio.sleep(0.001)
            cancelled += body.cancel()
        return cancelled

    assert asyncio.run(main()) == 3


@BOTH
def test_a_slow_tool_is_slow_on_the_clock_and_fast_in_the_test(whole: BaseTool) -> None:
    clock = FakeClock()
    (answer,) = told(faults.slow(20, clock=clock).on(whole), clock=clock)

    assert answer.content == "3 x chair"
    assert answer.outcome.duration_s == 20


@BOTH
def test_a_tool_that_is_too_slow_is_timed_out(whole: BaseTool) -> None:
    clock = FakeClock()
    (answer,) = told(faults.slow(20, clock=clock).on(whole.with_config(timeout=5)), clock=clock)

    assert answer.outcome.kind == "timeout"


@BOTH
def test_without_a_clock_slow_is_slow(whole: BaseTool) -> None:
    (answer,) = told(faults.slow(0.001).on(whole.with_config(timeout=None)))

    assert answer.content == "3 x chair"


@BOTH
def test_a_huge_result_is_as_long_as_it_is_asked_to_be(whole: BaseTool) -> None:
    (answer,) = told(faults.huge(1_000_000).on(whole))

    assert len(answer.content) < 60_000
    assert len(answer.artifact) == 1_000_000


@pytest.mark.parametrize("kind", get_args(Garbage))
@BOTH
def test_garbage_becomes_an_answer(whole: BaseTool, kind: Garbage) -> None:
    (answer,) = told(faults.garbage(kind).on(whole))

    answer.text.encode()
    assert answer.text.strip()


def test_garbage_of_no_kind_is_of_all_kinds_in_turn() -> None:
    broken = faults.garbage().on(stock)
    values = [broken.invoke({"article": "chair"}) for _ in get_args(Garbage)]

    assert values[0] == "half a character: \ud83d"
    assert math.isnan(values[1]["price"])
    assert values[2][1] is values[2]
    assert values[-1] is None


def test_faults_can_be_put_upon_one_another() -> None:
    (answer,) = told(faults.flaky(1).on(faults.huge(7).on(stock)))

    assert (answer.content, answer.outcome.attempts) == ("xxxxxxx", 2)


def test_a_class_with_both_forms_keeps_them() -> None:
    broken = faults.flaky(1).on(Shop())

    assert told(broken)[0].content == "3 x chair"
    assert asyncio.run(broken.ainvoke({"article": "chair"})) == "3 x chair, counted twice"


def test_a_method_that_is_bound_later_takes_its_fault_along() -> None:
    class Store:
        @tool
        def count(self, article: str) -> str:
            """Count."""
            return f"{self} {article}"

        broken = faults.flaky(1).on(count)

        def __repr__(self) -> str:
            return "store"

    assert told(Store().broken)[0].content == "store chair"


def test_a_fault_of_ones_own_is_a_function_of_the_number_of_the_call() -> None:
    odd = Fault(lambda number: "out of order" if number % 2 else GO_ON).on(stock)

    assert [odd.invoke({"article": "a"}) for _ in range(3)] == ["out of order", "3 x a", "out of order"]


@pytest.mark.parametrize(
    ("make", "option"),
    [
        (lambda: faults.garbage("rubbish"), "kinds"),  # type: ignore[arg-type]
        (lambda: faults.huge(0), "size"),
        (lambda: faults.slow(-1), "seconds"),
        (lambda: faults.flaky(0), "times"),
        (lambda: faults.chaos([stock], seed=1, rate=2), "rate"),
        (lambda: faults.chaos([stock], seed=1, faults=[]), "faults"),
        (lambda: faults.die().on(stock), "isolation"),
        (lambda: faults.chaos([stock], seed=1, faults=[faults.die()]), "isolation"),
        (lambda: faults.hang().on(cast("Any", turn)), "tool"),
    ],
)
def test_what_cannot_be_meant_is_refused(make: Any, option: str) -> None:
    with pytest.raises(OptionError, match=option):
        make()


DYING = """
import sys
from surehand import tool
from surehand.testing import faults

@tool
def work() -> str:
    "Work."
    return "done"

faults.die(sys.argv[1], force=True).on(work).invoke({})
"""


@pytest.mark.parametrize(("how", "code"), [("exit", 70), ("kill", -9)])
def test_a_tool_that_dies_takes_its_process_along(how: str, code: int, tmp_path: Path) -> None:
    assert run_python("-c", DYING, how, cwd=tmp_path).returncode == code


def test_a_tool_with_a_process_of_its_own_may_die_unforced() -> None:
    alone = stock.with_config(isolation="process")

    assert faults.die().on(alone).spec.options == alone.spec.options


def test_a_process_that_dies_costs_its_call_and_nothing_else() -> None:
    calls = [
        {"id": "c0", "name": "resize", "args": {"width": 3}},
        {"id": "c1", "name": "stock", "args": {"article": "chair"}},
        {"id": "c2", "name": "rotate", "args": {"degrees": 90}},
    ]
    answers = ToolNode([resize, stock, rotate]).invoke([AIMessage(tool_calls=calls)])

    assert [answer.status for answer in answers] == ["error", "success", "error"]
    assert "SIGKILL" in answers[0].content
    assert "70" in answers[2].content


def test_a_process_that_hangs_is_ended() -> None:
    turn_of_one = [AIMessage(tool_calls=[{"id": "c0", "name": "sharpen", "args": {"times": 3}}])]
    (answer,) = ToolNode([sharpen], overrides={"sharpen": {"timeout": 0.1}}).invoke(turn_of_one)

    assert answer.outcome.kind == "timeout"
    assert "It was stopped" in answer.content


def contents(seed: int, **options: Any) -> list[str]:
    broken = faults.chaos([stock, astock], seed=seed, **options)
    calls = [
        {"id": f"c{n}", "name": "stock" if n % 2 else "astock", "args": {"article": f"article {n // 3}"}}
        for n in range(60)
    ]
    answers = ToolNode(broken, clock=FakeClock()).invoke([AIMessage(tool_calls=calls)])
    return [answer.text.partition(" [error")[0] for answer in answers]


def test_chaos_is_the_same_for_the_same_seed_and_another_for_another() -> None:
    assert contents(1) == contents(1)
    assert contents(1) != contents(2)


@pytest.mark.parametrize(("rate", "struck"), [(0, 0), (1, 60)])
def test_chaos_strikes_as_often_as_it_is_told_to(rate: float, struck: int) -> None:
    answers = contents(1, rate=rate, faults=[faults.raises(ValueError("struck"))])

    assert sum("struck" in answer for answer in answers) == struck


def test_what_is_injected_does_not_change_what_chaos_strikes() -> None:
    @tool
    def whose(article: str, context: ToolContext) -> str:
        """Tell."""
        return f"{article} {context.call_id}"

    def hits() -> list[bool]:
        (broken,) = faults.chaos([whose], seed=3, rate=0.5, faults=[faults.huge(9)])
        return [broken.invoke({"article": str(n)}) == "xxxxxxxxx" for n in range(20)]

    assert hits() == hits()
    assert any(hits())


@pytest.mark.parametrize("seed", range(5))
def test_an_agent_gets_through_chaos(seed: int) -> None:
    calls = [{"id": f"c{n}", "name": "stock", "args": {"article": str(n)}} for n in range(10)]
    model = ScriptedModel([AIMessage(tool_calls=calls), "Done."])
    agent = create_agent(model, faults.chaos([stock], seed=seed, rate=0.5, faults=[faults.garbage(), faults.huge(99)]))

    assert agent.invoke("Count.")["messages"][-1].text == "Done."
