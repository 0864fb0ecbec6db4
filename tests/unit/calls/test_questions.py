"""Calls that ask: each gets its own answer, and no other call is run again for it."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from support.kept import THREAD, Door, answers_in, by_both_doors, kept, questions_in, turn_of
from support.process_bodies import ask_apart, ask_apart_by_context
from support.turns import run_sync
from support.turns import turn as bare_turn
from surehand import (
    END,
    START,
    CircuitBreaker,
    Command,
    HumanMessage,
    InterruptExpired,
    Limits,
    MessagesState,
    RetryPolicy,
    SingleFlight,
    StateGraph,
    ToolContext,
    ToolException,
    ToolMessage,
    ToolNode,
    interrupt,
    tool,
)
from surehand.checkpoints.memory import MemorySaver
from surehand.events import CallPaused
from surehand.testing import record_events

RAN: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    RAN.clear()


@tool
def pay(to: str = "Ann") -> str:
    """Pay."""
    RAN.append(f"pay {to}")
    return f"paid {to}"


@tool
def ask(what: str = "Sure?") -> str:
    """Ask."""
    RAN.append(f"ask {what}")
    return f"{what} {interrupt(what)!r}"


@tool
async def ask_on_loop(what: str = "Sure?") -> str:
    """Ask, on the loop."""
    await asyncio.sleep(0)
    return f"{what} {interrupt(what)!r}"


@tool
def ask_by_context(what: str, ctx: ToolContext) -> str:
    """Ask by the context."""
    return f"{what} {ctx.interrupt(what)!r}"


@tool
def ask_between(what: str = "Sure?") -> Iterator[str]:
    """Ask between two items."""
    yield what
    yield repr(interrupt(what))


@tool
async def ask_between_on_loop(what: str = "Sure?") -> AsyncIterator[str]:
    """Ask between two items, on the loop."""
    yield what
    yield repr(interrupt(what))


ASKING: list[tuple[Any, str]] = [
    (ask, "Sure? {}"),
    (ask_on_loop, "Sure? {}"),
    (ask_by_context, "Sure? {}"),
    (ask_between, '["Sure?","{}"]'),
    (ask_between_on_loop, '["Sure?","{}"]'),
]


@by_both_doors
@pytest.mark.parametrize("is_alone", [True, False], ids=["alone", "beside another"])
@pytest.mark.parametrize(("asking", "form"), ASKING, ids=lambda value: getattr(value, "name", ""))
def test_a_body_of_any_kind_asks_and_goes_on_with_the_answer(
    asking: Any, form: str, run: Door, *, is_alone: bool
) -> None:
    graph = kept(asking, pay)
    calls: list[Any] = [(asking.name, {"what": "Sure?"}), *([] if is_alone else ["pay"])]
    (question,) = questions_in(run(graph, turn_of(*calls)))
    assert (question.value, question.kind, question.call_id) == ("Sure?", "question", "c0")
    assert (question.tool, question.node) == (asking.name, "tools")

    state = run(graph, Command(resume=7))
    assert questions_in(state) == []
    assert answers_in(state)[0].text.replace(", ", ",") == form.format(7)
    assert RAN.count("pay Ann") == (0 if is_alone else 1)


@pytest.mark.parametrize("answer", [None, {}, [], False, "", 0])
def test_any_value_is_an_answer(answer: Any) -> None:
    graph = kept(ask)
    graph.invoke(turn_of("ask"), THREAD)
    state = graph.invoke(Command(resume=answer), THREAD)
    assert answers_in(state)[0].text == f"Sure? {answer!r}"


@by_both_doors
def test_all_questions_of_a_turn_come_together_in_call_order(run: Door) -> None:
    graph = kept(ask, ask_on_loop, pay)
    state = run(graph, turn_of(("ask_on_loop", {"what": "A"}), "pay", ("ask", {"what": "B"}), ("ask", {"what": "C"})))
    assert [(question.value, question.call_id) for question in questions_in(state)] == [
        ("A", "c0"),
        ("B", "c2"),
        ("C", "c3"),
    ]
    assert answers_in(state) == []


def test_answers_find_their_calls_in_any_order_partly_and_later() -> None:
    saver = MemorySaver()
    graph = kept(ask, pay, saver=saver)
    questions = questions_in(graph.invoke(turn_of(*[("ask", {"what": w}) for w in "ABC"], "pay"), THREAD))
    by_value = {question.value: question.id for question in questions}

    graph.invoke(Command(resume={by_value["B"]: 2}), THREAD)
    graph = kept(ask, pay, saver=saver)  # as another process would
    left = questions_in(graph.invoke(Command(resume={by_value["C"]: 3}), THREAD))
    assert [question.id for question in left] == [by_value["A"]]
    state = graph.invoke(Command(resume=1), THREAD)
    assert [answer.text for answer in answers_in(state)] == ["A 1", "B 2", "C 3", "paid Ann"]
    assert RAN.count("pay Ann") == 1


@by_both_doors
def test_a_call_that_has_no_answer_yet_is_not_begun_again(run: Door) -> None:
    begun: list[str] = []

    @tool
    def twice(name: str, ctx: ToolContext) -> str:
        """Ask two things."""
        begun.append(name)
        return f"{ctx.interrupt(f'{name}1')} {ctx.interrupt(f'{name}2')}"

    graph = kept(twice)
    state = run(graph, turn_of(*[("twice", {"name": name}) for name in "ABC"]))
    while questions := questions_in(state):
        state = run(graph, Command(resume={questions[-1].id: questions[-1].value}))
    assert [answer.text for answer in answers_in(state)] == ["A1 A2", "B1 B2", "C1 C2"]
    assert sorted(begun) == sorted("AAABBBCCC")  # to ask, to ask again, to end


def test_a_call_whose_question_has_expired_is_begun_again_to_hear_of_it() -> None:
    @tool
    def hurry(name: str, ctx: ToolContext) -> str:
        """Ask what is to be answered soon."""
        return str(ctx.interrupt(name, expires_in=0.02))

    graph = kept(hurry, ask)
    questions = questions_in(graph.invoke(turn_of(("hurry", {"name": "Quick?"}), "ask"), THREAD))
    time.sleep(0.03)
    state = graph.invoke(Command(resume={questions[1].id: "yes"}), THREAD)
    late, heard = answers_in(state)
    assert late.outcome is not None
    assert (late.outcome.kind, heard.text) == ("expired", "Sure? 'yes'")


def test_answers_find_their_calls_whichever_asked_first() -> None:
    @tool
    async def dawdle(name: str) -> str:
        """Ask after some time."""
        await asyncio.sleep(random.random() / 200)
        return f"{name} {interrupt(name)}"

    graph = kept(dawdle)
    names = [f"n{number}" for number in range(20)]
    state = asyncio.run(graph.ainvoke(turn_of(*[("dawdle", {"name": name}) for name in names]), THREAD))
    answers = {question.id: f"for {question.value}" for question in questions_in(state)}
    state = asyncio.run(graph.ainvoke(Command(resume=answers), THREAD))
    assert [answer.text for answer in answers_in(state)] == [f"{name} for {name}" for name in names]


def test_equal_calls_of_a_turn_each_ask_for_themselves() -> None:
    graph = kept(ask)
    first, second = questions_in(graph.invoke(turn_of("ask", "ask"), THREAD))
    assert first.id != second.id
    state = graph.invoke(Command(resume={first.id: 1, second.id: 2}), THREAD)
    assert [answer.text for answer in answers_in(state)] == ["Sure? 1", "Sure? 2"]


@by_both_doors
def test_a_body_asks_several_times_one_after_the_other(run: Door) -> None:
    @tool
    def survey() -> str:
        """Ask three things."""
        first = interrupt("first")
        named = interrupt("by name", key="named")
        return f"{first} {named} {interrupt('second')}"

    graph = kept(survey)
    asked = [questions_in(run(graph, turn_of("survey")))[0].value]
    asked += [questions_in(run(graph, Command(resume=answer)))[0].value for answer in (1, 2)]
    assert asked == ["first", "by name", "second"]
    assert answers_in(run(graph, Command(resume=3)))[0].text == "1 2 3"


def test_the_attempts_of_a_call_ask_the_same_question() -> None:
    tries: list[object] = []

    @tool(retry=RetryPolicy(initial_interval=0.001))
    def shaky() -> str:
        """Ask, and fail twice."""
        tries.append(interrupt("Sure?"))
        if len(tries) < 3:
            raise ToolException("busy", retryable=True)
        return "done"

    graph = kept(shaky)
    assert len(questions_in(graph.invoke(turn_of("shaky"), THREAD))) == 1
    state = graph.invoke(Command(resume="yes"), THREAD)
    assert (tries, answers_in(state)[0].outcome.attempts) == (["yes"] * 3, 3)  # type: ignore[union-attr]


def test_what_parts_of_a_body_ask_side_by_side_is_asked_together() -> None:
    @tool
    async def both() -> str:
        """Ask twice at once."""

        async def part(name: str) -> Any:
            return interrupt(name, key=name)

        async with asyncio.TaskGroup() as group:
            parts = [group.create_task(part(name)) for name in ("a", "b")]
        return " ".join(str(part.result()) for part in parts)

    graph = kept(both)
    questions = questions_in(graph.invoke(turn_of("both"), THREAD))
    assert [question.value for question in questions] == ["a", "b"]
    state = graph.invoke(Command(resume={question.id: question.value * 2 for question in questions}), THREAD)
    assert answers_in(state)[0].text == "aa bb"


def test_a_part_that_fails_beside_one_that_asks_is_the_failure_of_the_body() -> None:
    @tool
    async def both() -> str:
        """Ask, and fail."""

        async def asks() -> None:
            interrupt("Sure?")

        async def fails() -> None:
            raise ValueError("no such thing")

        async with asyncio.TaskGroup() as group:
            group.create_task(asks())
            group.create_task(fails())
        return "done"

    (answer,) = answers_in(kept(both).invoke(turn_of("both"), THREAD))
    assert answer.outcome is not None
    assert (answer.outcome.kind, "ValueError: no such thing" in answer.text) == ("exception", True)
    assert "Interrupt" not in answer.text


@by_both_doors
def test_a_tool_that_catches_exceptions_does_not_swallow_its_own_question(run: Door) -> None:
    @tool
    def careful() -> str:
        """Ask, and catch what comes."""
        try:
            return f"heard {interrupt('Sure?')}"
        except Exception:  # noqa: BLE001 - as careful tools do
            return "it failed"

    graph = kept(careful, handle_tool_errors="It failed.")
    assert len(questions_in(run(graph, turn_of("careful")))) == 1
    assert answers_in(run(graph, Command(resume=1)))[0].text == "heard 1"


# Through middlewares


def _catching(request: Any, run: Any) -> Any:
    try:
        return run(request)
    except Exception:  # noqa: BLE001 - as careful middlewares do
        return "a failure"
    finally:
        RAN.append("left")


async def _catching_on_loop(request: Any, run: Any) -> Any:
    try:
        return await run(request)
    except Exception:  # noqa: BLE001 - as careful middlewares do
        return "a failure"
    finally:
        RAN.append("left")


@by_both_doors
@pytest.mark.parametrize("middleware", [_catching, _catching_on_loop])
@pytest.mark.parametrize("calls", [["ask"], ["ask", "pay"]])
def test_a_question_goes_through_middlewares(middleware: Any, calls: list[str], run: Door) -> None:
    graph = kept(ask, pay, middleware=[middleware, _catching])
    assert len(questions_in(run(graph, turn_of(*calls)))) == 1
    assert RAN.count("left") == 2 * len(calls)
    assert answers_in(run(graph, Command(resume=1)))[0].text == "Sure? 1"


@by_both_doors
def test_a_middleware_asks_for_the_call_that_it_is_around(run: Door) -> None:
    def asking(request: Any, run: Any) -> Any:
        said = interrupt(f"Before {request.tool_call['id']}?")
        return f"{said}: {run(request).text}"

    graph = kept(pay, middleware=[asking])
    questions = questions_in(run(graph, turn_of("pay", "pay")))
    assert [question.value for question in questions] == ["Before c0?", "Before c1?"]
    state = run(graph, Command(resume={question.id: question.call_id for question in questions}))
    assert [answer.text for answer in answers_in(state)] == ["c0: paid Ann", "c1: paid Ann"]


def test_calls_that_shared_a_run_which_asked_ask_for_themselves() -> None:
    @tool(read_only=True)
    async def look() -> str:
        """Ask where to look."""
        return f"saw {interrupt('Where?')}"

    graph = kept(look, middleware=[SingleFlight()])
    questions = questions_in(graph.invoke(turn_of("look", "look"), THREAD))
    assert [question.call_id for question in questions] == ["c0", "c1"]


# What a question is not


def test_a_question_is_no_failure_of_the_tool_and_keeps_nothing_from_others() -> None:
    @tool(concurrency=1, circuit_breaker=CircuitBreaker(failures=1))
    def alone(name: str) -> str:
        """Ask, alone."""
        return f"{name} {interrupt(name)}"

    graph = kept(alone)
    questions = questions_in(graph.invoke(turn_of(*[("alone", {"name": n}) for n in "ab"]), THREAD))
    assert len(questions) == 2
    state = graph.invoke(Command(resume={question.id: 1 for question in questions}), THREAD)
    assert [answer.text for answer in answers_in(state)] == ["a 1", "b 1"]


def test_the_limits_of_a_run_count_a_resumed_turn_once() -> None:
    graph = kept(ask, pay, limits=Limits(calls=2, calls_per_tool=1))
    assert len(questions_in(graph.invoke(turn_of("pay", "ask", "pay"), THREAD))) == 1
    state = graph.invoke(Command(resume=1), THREAD)
    kinds = [answer.outcome.kind for answer in answers_in(state) if answer.outcome]
    assert kinds == [None, None, "limit"]


@by_both_doors
def test_calls_one_after_another_stop_at_a_question(run: Door) -> None:
    graph = kept(pay, ask, sequential=True)
    calls = [("pay", {"to": "Ann"}), ("ask", {"what": "Sure?"}), ("pay", {"to": "Bob"}), ("ask", {"what": "Really?"})]
    assert [question.value for question in questions_in(run(graph, turn_of(*calls)))] == ["Sure?"]
    assert RAN == ["pay Ann", "ask Sure?"]
    assert [question.value for question in questions_in(run(graph, Command(resume=1)))] == ["Really?"]
    state = run(graph, Command(resume=2))
    assert [answer.text for answer in answers_in(state)] == ["paid Ann", "Sure? 1", "paid Bob", "Really? 2"]
    assert RAN.count("pay Ann") == RAN.count("pay Bob") == 1


def test_calls_after_an_exclusive_one_that_asks_run() -> None:
    @tool(exclusive=True)
    def alone() -> str:
        """Ask, while nothing else runs."""
        return f"heard {interrupt('Sure?')}"

    graph = kept(pay, alone)
    graph.invoke(turn_of(("pay", {"to": "Ann"}), "alone", ("pay", {"to": "Bob"})), THREAD)
    assert RAN == ["pay Ann", "pay Bob"]
    state = graph.invoke(Command(resume=1), THREAD)
    assert [answer.text for answer in answers_in(state)] == ["paid Ann", "heard 1", "paid Bob"]


def test_an_exception_that_goes_up_comes_before_questions() -> None:
    tries: list[int] = []

    @tool(idempotent=True, retry=None)
    def fail() -> str:
        """Fail once."""
        tries.append(1)
        if len(tries) == 1:
            raise ValueError("no")
        return "fine"

    graph = kept(ask, fail, pay, handle_tool_errors=False)
    with pytest.raises(ValueError, match="no") as caught:
        graph.invoke(turn_of("ask", "fail", "pay"), THREAD)
    answers: Any = vars(caught.value)["tool_messages"]
    waiting, _, paid = answers
    assert (waiting.outcome.kind, "waited for an answer" in waiting.text, paid.text) == ("cancelled", True, "paid Ann")

    (question,) = questions_in(graph.invoke(None, THREAD))
    state = graph.invoke(Command(resume={question.id: 1}), THREAD)
    assert [answer.text for answer in answers_in(state)] == ["Sure? 1", "fine", "paid Ann"]
    assert (len(tries), RAN.count("pay Ann")) == (2, 1)


# Where nobody could answer


@pytest.mark.parametrize("asking", [ask, ask_on_loop, ask_by_context], ids=lambda asking: asking.name)
def test_outside_of_a_kept_graph_the_developer_is_told(asking: Any, caplog: pytest.LogCaptureFixture) -> None:
    node = ToolNode([asking])
    with caplog.at_level(logging.DEBUG):
        (answer,) = run_sync(node, [bare_turn((asking.name, {"what": "Sure?"}))])
    assert (answer.outcome.kind, answer.outcome.attempts) == ("internal", 1)
    assert "not in your arguments" in answer.text
    assert "Compile the graph with a checkpointer" in caplog.text


def test_a_tool_in_a_process_of_its_own_cannot_ask(caplog: pytest.LogCaptureFixture) -> None:
    graph = kept(tool(isolation="process")(ask_apart), tool(isolation="process")(ask_apart_by_context))
    with caplog.at_level(logging.DEBUG):
        answers = answers_in(graph.invoke(turn_of("ask_apart", "ask_apart_by_context"), THREAD))
    assert [answer.outcome.kind for answer in answers if answer.outcome] == ["internal", "internal"]
    assert "A tool in a process of its own cannot ask" in caplog.text


# Expiry


@tool
def ask_for_a_moment(*, is_careful: bool, ctx: ToolContext) -> str:
    """Ask, and wait for a moment."""
    try:
        return f"heard {ctx.interrupt('Sure?', expires_in=0.02)}"
    except InterruptExpired:
        if is_careful:
            return "went on without"
        raise


@pytest.mark.parametrize("is_careful", [True, False])
def test_a_question_that_nobody_answers_in_time_expires(*, is_careful: bool) -> None:
    graph = kept(ask_for_a_moment)
    (question,) = questions_in(graph.invoke(turn_of(("ask_for_a_moment", {"is_careful": is_careful})), THREAD))
    assert question.expires_at == pytest.approx(question.asked_at + 0.02)

    time.sleep(0.03)
    (answer,) = answers_in(graph.invoke(None, THREAD))
    if is_careful:
        assert answer.text == "went on without"
    else:
        assert answer.outcome is not None
        assert (answer.outcome.kind, "nobody answered in time" in answer.text) == ("expired", True)


# Tools that a node calls itself


def test_a_tool_that_a_node_calls_directly_asks_for_the_node() -> None:
    def work(_: Any) -> dict[str, Any]:
        said = [ask.invoke({"what": "A"}), ask.invoke({"what": "A"}), ask.invoke({"what": "B"})]
        return {"messages": [HumanMessage(", ".join(said))]}

    graph = StateGraph(MessagesState).add_node("work", work).add_edge(START, "work").add_edge("work", END)
    compiled = graph.compile(checkpointer=MemorySaver())
    state = compiled.invoke({"messages": "go"}, THREAD)
    for answer in (1, 2, 3):
        (question,) = questions_in(state)
        assert (question.tool, question.node) == ("ask", "work")
        state = compiled.invoke(Command(resume=answer), THREAD)
    assert state["messages"][-1].text == "A 1, A 2, B 3"


# What is told of it


@by_both_doors
def test_a_call_that_asks_is_announced_as_paused_and_started_anew(run: Door) -> None:
    events = record_events()
    graph = kept(ask, pay, listener=events)
    (question,) = questions_in(run(graph, turn_of("ask", "pay")))
    assert [type(event).__name__ for event in events.about("c0")] == ["CallStarted", "CallPaused"]
    paused = events.about("c0")[1]
    assert isinstance(paused, CallPaused)
    assert ([q.id for q in paused.questions], str(paused)) == ([question.id], "c0 ask: waits for 1 answer")

    run(graph, Command(resume=1))
    assert [type(event).__name__ for event in events.about("c0")][2:] == ["CallStarted", "CallFinished"]


def test_a_cancelled_turn_closes_the_calls_that_had_asked() -> None:
    asked = asyncio.Event()

    @tool
    async def ask_soon() -> str:
        """Ask."""
        asked.set()
        return str(interrupt("Sure?"))

    @tool
    async def hang() -> str:
        """Hang."""
        await asyncio.Event().wait()
        return "never"

    async def main() -> BaseException:
        graph = kept(ask_soon, hang)
        work = asyncio.ensure_future(graph.ainvoke(turn_of("ask_soon", "hang"), THREAD))
        await asked.wait()
        await asyncio.sleep(0.01)
        work.cancel()
        try:
            await work
        except asyncio.CancelledError as error:
            return error
        raise AssertionError

    error: Any = asyncio.run(main())
    messages: list[ToolMessage] = error.tool_messages
    assert [message.outcome.kind for message in messages if message.outcome] == ["cancelled", "cancelled"]
