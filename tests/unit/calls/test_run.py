"""A whole turn: order, cancellation, exceptions, events, and the two doors."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Annotated, Any, TypeVar

import pytest
from pydantic import AfterValidator

from support.liveness import comes_true
from surehand import AIMessage, Command, HumanMessage, ToolException, ToolMessage, ToolNode, check_transcript, tool
from surehand.concurrency import Workers
from surehand.concurrency.workers import MAX_WORKING
from surehand.events import CallFinished, CallProgressed, CallRetried, CallStarted, Event, LateResult
from surehand.policy import RateLimit, RetryPolicy
from surehand.spec import ToolContext
from surehand.testing import FakeClock, faults

T = TypeVar("T")

variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")


def _turn(*names: str) -> AIMessage:
    return AIMessage(tool_calls=[{"id": f"c{i}", "name": name, "args": {}} for i, name in enumerate(names)])


def _on(error: BaseException) -> list[ToolMessage]:
    """The answers that an exception carries."""
    answers: list[ToolMessage] = vars(error)["tool_messages"]
    return answers


@tool
async def quick() -> str:
    """Answer at once."""
    return "quick"


@tool
async def forever() -> str:
    """Never answer."""
    await asyncio.Event().wait()
    return "never"


@tool(timeout=None)
def where() -> str:
    """Say which thread runs this."""
    return str(threading.get_ident())


def test_cancelling_the_caller_cancels_the_tools_and_leaves_a_whole_transcript() -> None:
    begun: list[str] = []
    ended: list[str] = []

    @tool
    async def tidy() -> str:
        """Clean up when cancelled."""
        begun.append("tidy")
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cleaned up")
        return "never"

    events: list[Event] = []
    turn = _turn("quick", "tidy", "forever")

    async def main() -> list[ToolMessage]:
        node = ToolNode([quick, tidy, forever], listener=events.append)
        task = asyncio.ensure_future(node.ainvoke([turn]))
        await comes_true(lambda: begun == ["tidy"] and any(isinstance(event, CallFinished) for event in events))
        task.cancel()
        try:
            await task
        except asyncio.CancelledError as error:
            return error.tool_messages  # type: ignore[attr-defined, no-any-return]
        return []

    answers = asyncio.run(main())
    assert ended == ["cleaned up"]
    assert [answer.status for answer in answers] == ["success", "error", "error"]
    assert check_transcript([HumanMessage("go"), turn, *answers]) == []


def _cancelled(node: ToolNode, turn: AIMessage, *, when: Callable[[], bool]) -> list[ToolMessage]:
    """The answers of a turn whose caller is cancelled."""

    async def main() -> list[ToolMessage]:
        task = asyncio.ensure_future(node.ainvoke([turn]))
        await comes_true(when)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        return _on(caught.value)

    return asyncio.run(main())


def test_a_cancelled_call_tells_its_attempts_and_one_that_was_not_begun_says_so() -> None:
    begun: list[str] = []

    @tool(concurrency=1)
    async def narrow() -> str:
        """Stay."""
        begun.append("narrow")
        await asyncio.Event().wait()
        return "never"

    @tool(retry=RetryPolicy(initial_interval=600, max_interval=600))
    async def busy() -> str:
        """Be busy."""
        begun.append("busy")
        raise ToolException("busy", retryable=True)

    node = ToolNode([narrow, busy])
    answers = _cancelled(node, _turn("narrow", "narrow", "busy"), when=lambda: sorted(begun) == ["busy", "narrow"])
    assert [str(answer.outcome and answer.outcome.kind) for answer in answers] == ["cancelled"] * 3
    assert [answer.outcome and answer.outcome.attempts for answer in answers] == [1, 0, 1]
    assert "It may have happened in part." in answers[0].text
    assert answers[1].text == "The call was not executed: the turn was ended before it."
    assert answers[2].outcome is not None
    assert answers[2].outcome.attempt_errors == ("busy",)
    assert "It may have happened in part." in answers[2].text


def test_a_call_that_waits_for_a_human_when_its_turn_is_cancelled_was_not_begun() -> None:
    asked: list[str] = []

    @tool(requires_approval=True)
    async def pay() -> str:
        """Pay."""
        return "paid"

    async def approve(name: str, arguments: Mapping[str, Any]) -> bool:
        asked.append(name)
        await asyncio.Event().wait()
        return True

    (answer,) = _cancelled(ToolNode([pay], approve=approve), _turn("pay"), when=lambda: asked == ["pay"])
    assert answer.text == "The call was not executed: the turn was ended before it."


def test_what_a_middleware_has_in_hand_when_its_turn_is_cancelled_may_have_happened() -> None:
    inside: list[str] = []

    async def elsewhere(request: Any, run: Any) -> str:
        inside.append(request.tool_call["name"])
        await asyncio.Event().wait()
        return "done elsewhere"

    node = ToolNode([quick], middleware=[elsewhere])
    (answer,) = _cancelled(node, _turn("quick"), when=lambda: inside == ["quick"])
    assert "It may have happened in part." in answer.text


def test_a_second_run_that_waits_does_not_make_the_first_one_unsaid() -> None:
    begun: list[int] = []
    waits: list[bool] = []

    @tool(read_only=True, rate_limit=RateLimit(1, per=600))
    async def look() -> str:
        """Look."""
        begun.append(1)
        return "seen"

    async def twice(request: Any, run: Any) -> Any:
        await run(request)
        waits.append(True)
        return await run(request)

    (answer,) = _cancelled(ToolNode([look], middleware=[twice]), _turn("look"), when=lambda: waits == [True])
    assert begun == [1]
    assert answer.outcome is not None
    assert answer.outcome.attempts == 1
    assert "It may have happened in part." in answer.text


def test_a_tool_that_cancels_itself_is_that_calls_failure() -> None:
    @tool
    async def give_up() -> str:
        """Raise CancelledError."""
        raise asyncio.CancelledError

    answers = ToolNode([quick, give_up]).invoke([_turn("give_up", "quick")])
    assert answers[0].outcome.kind == "cancelled"
    assert answers[1].content == "quick"


@pytest.mark.parametrize("is_async", [False, True])
def test_keyboard_interrupt_gets_through(*, is_async: bool) -> None:
    @tool("stop")
    def stop() -> str:
        """Interrupt."""
        raise KeyboardInterrupt

    @tool("stop")
    async def astop() -> str:
        """Interrupt."""
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ToolNode([astop if is_async else stop, quick]).invoke([_turn("stop", "quick")])


def test_system_exit_in_a_tool_is_that_calls_failure() -> None:
    @tool
    def leave() -> str:
        """Exit."""
        raise SystemExit(3)

    (answer,) = ToolNode([leave]).invoke([_turn("leave")])
    assert answer.outcome.kind == "exception"
    assert "SystemExit" in answer.content


@pytest.mark.parametrize("error", [SystemExit(3), asyncio.CancelledError(), GeneratorExit()])
def test_whatever_a_validator_raises_costs_its_own_call_only(error: BaseException) -> None:
    def check(value: int) -> int:
        raise error

    @tool
    def checked(number: Annotated[int, AfterValidator(check)]) -> str:
        """Take a number."""
        return "never"

    message = AIMessage(tool_calls=[
        {"id": "c0", "name": "quick", "args": {}},
        {"id": "c1", "name": "checked", "args": {"number": 1}},
    ])  # fmt: skip
    answers = ToolNode([quick, checked]).invoke([message])
    assert [answer.outcome.kind for answer in answers] == [None, "internal"]


def test_what_ends_the_program_while_calls_are_taken_up_leaves_none_of_them_running() -> None:
    begun, events = asyncio.Event(), list[Event]()
    ended: list[str] = []

    @tool
    async def wait() -> str:
        """Wait, and say how that ended."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")
        return "never"

    def interrupt(event: Event) -> None:
        events.append(event)
        if isinstance(event, CallStarted) and begun.is_set():
            begun.clear()
            raise KeyboardInterrupt

    async def main() -> None:
        with pytest.raises(KeyboardInterrupt) as caught:
            await ToolNode([wait, quick], listener=interrupt).ainvoke([_turn("wait", *["quick"] * 200)])
        assert [answer.tool_call_id for answer in _on(caught.value)] == [f"c{number}" for number in range(201)]
        assert ended == ["cancelled"]

    asyncio.run(main())
    started, finished = ([e.call_id for e in events if type(e) is kind] for kind in (CallStarted, CallFinished))
    assert sorted(started) == sorted(finished)


def test_of_several_exceptions_the_first_in_call_order_comes_out() -> None:
    @tool
    async def late() -> str:
        """Fail late."""
        await asyncio.sleep(0.01)
        raise ToolException("first in order")

    @tool
    async def early() -> str:
        """Fail early."""
        raise ToolException("first in time")

    with pytest.raises(ToolException, match="first in order") as caught:
        ToolNode([late, early], handle_tool_errors=False).invoke([_turn("late", "early")])
    assert len(caught.value.tool_messages) == 2  # type: ignore[attr-defined]


def test_events_tell_the_story_of_each_call_with_one_start_and_one_finish() -> None:
    events: list[Event] = []
    attempts: list[int] = []

    @tool(retry=RetryPolicy(initial_interval=0.001, jitter=False))
    def flaky(context: ToolContext) -> str:
        """Fail once."""
        attempts.append(context.attempt)
        context.progress("half")
        if len(attempts) == 1:
            raise ToolException("busy", retryable=True)
        return "ok"

    ToolNode([flaky, quick], listener=events.append).invoke([_turn("flaky", "nosuch", "quick")])
    mine = [type(event) for event in events if event.call_id == "c0"]
    assert mine == [CallStarted, CallProgressed, CallRetried, CallProgressed, CallFinished]
    assert attempts == [1, 2]
    for call_id in ("c1", "c2"):
        assert [type(event) for event in events if event.call_id == call_id] == [CallStarted, CallFinished]


def test_the_result_of_a_given_up_body_is_announced_and_goes_nowhere() -> None:
    announced = threading.Event()
    late: list[Event] = []

    def listener(event: Event) -> None:
        if isinstance(event, LateResult):
            late.append(event)
            announced.set()

    hang = faults.hang()
    node = ToolNode([hang.on(tool("hang")(lambda: "late"))], listener=listener, clock=FakeClock())
    (answer,) = node.invoke([_turn("hang")])
    hang.release()
    assert announced.wait(5)
    assert answer.outcome.kind == "timeout"
    assert [getattr(event, "value", None) for event in late] == ["late"]


def test_what_a_given_up_body_hands_back_to_be_awaited_is_closed() -> None:
    announced, hang = threading.Event(), faults.hang()
    coroutines: list[Coroutine[Any, Any, None]] = []

    def work() -> Any:
        """Hand back a coroutine."""
        coroutines.append(asyncio.sleep(0))
        return coroutines[0]

    def listener(event: Event) -> None:
        if isinstance(event, LateResult):
            announced.set()

    ToolNode([hang.on(tool(work))], listener=listener, clock=FakeClock()).invoke([_turn("work")])
    hang.release()
    assert announced.wait(5)
    assert inspect.getcoroutinestate(coroutines[0]) == inspect.CORO_CLOSED


def test_the_clock_of_a_timeout_starts_when_the_body_has_a_thread() -> None:
    clock = FakeClock()

    @tool(timeout=500)
    def busy() -> str:
        """Take more than half of the time it has."""
        clock.block(300)
        return "done"

    answers = ToolNode([busy], clock=clock).invoke([_turn(*["busy"] * 100)])  # more than there are threads
    assert {answer.content for answer in answers} == {"done"}


@pytest.mark.parametrize("timeout", [None, 1_000])
def test_the_time_that_a_body_waits_for_a_thread_is_not_taken_for_time_that_it_ran(
    timeout: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Threads of its own, of which none is left to a body that waits because the machine is busy.
    monkeypatch.setattr(sys.modules[Workers.__module__], "_workers", Workers(slow_seconds=1_000, idle_seconds=0.1))
    begun: list[int] = []
    go_on = threading.Event()

    @tool(timeout=timeout)
    def stay() -> str:
        """Stay until told to go."""
        begun.append(1)
        go_on.wait(30)
        return "gone"

    clock = FakeClock(autojump=None)

    async def main() -> list[ToolMessage]:
        turn = asyncio.ensure_future(ToolNode([stay], clock=clock).ainvoke([_turn(*["stay"] * (MAX_WORKING + 1))]))
        await comes_true(lambda: len(begun) >= MAX_WORKING)
        clock.advance(5)
        go_on.set()
        answers: list[ToolMessage] = await turn
        return answers

    outcomes = [answer.outcome for answer in asyncio.run(main()) if answer.outcome is not None]
    times = [(outcome.queued_s, outcome.duration_s) for outcome in outcomes]
    assert times == [(0, 5)] * MAX_WORKING + [(5, 0)]


def test_a_lone_synchronous_call_without_a_timeout_runs_in_the_callers_thread() -> None:
    (answer,) = ToolNode([where]).invoke([_turn("where")])
    assert answer.content == str(threading.get_ident())


def test_a_lone_synchronous_call_with_a_timeout_runs_on_another_thread_and_keeps_it() -> None:
    release = threading.Event()

    @tool(timeout=0.03)
    def hang() -> str:
        """Hang."""
        release.wait(5)
        return "late"

    @tool(timeout=5)
    def elsewhere() -> str:
        """Say which thread runs this."""
        return str(threading.get_ident())

    assert ToolNode([hang]).invoke([_turn("hang")])[0].outcome.kind == "timeout"
    release.set()
    assert ToolNode([elsewhere]).invoke([_turn("elsewhere")])[0].content != str(threading.get_ident())


def test_what_a_lone_synchronous_tool_hands_back_to_be_awaited_keeps_the_timeout_too() -> None:
    @tool(timeout=0.03)
    def wrapper() -> Any:
        """Return a coroutine that never ends."""
        return asyncio.Event().wait()

    @tool(timeout=5)
    def failing() -> Any:
        """Return a coroutine with a time limit of its own."""
        return asyncio.wait_for(asyncio.Event().wait(), 0.01)

    assert ToolNode([wrapper]).invoke([_turn("wrapper")])[0].outcome.kind == "timeout"
    own = ToolNode([failing]).invoke([_turn("failing")])[0]
    assert (own.outcome.kind, "TimeoutError" in own.content) == ("timeout", True)


@pytest.mark.parametrize("names", [("where", "where"), ("where", "quick")])
def test_side_by_side_synchronous_calls_run_on_other_threads(names: tuple[str, ...]) -> None:
    answers = ToolNode([where, quick]).invoke([_turn(*names)])
    assert answers[0].content != str(threading.get_ident())


def test_a_tool_in_the_callers_thread_may_run_a_loop_of_its_own() -> None:
    async def inner() -> str:
        await asyncio.sleep(0)
        return "inner"

    @tool(timeout=None)
    def outer() -> str:
        """Start a loop, and another node."""
        nested = ToolNode([quick]).invoke([_turn("quick")])[0].content
        return f"{asyncio.run(inner())} {nested}"

    assert ToolNode([outer]).invoke([_turn("outer")])[0].content == "inner quick"


def test_a_lone_call_is_retried_in_the_callers_thread_too() -> None:
    attempts: list[int] = []

    @tool(timeout=None, retry=RetryPolicy(initial_interval=0.001, jitter=False))
    def flaky() -> str:
        """Fail once."""
        attempts.append(threading.get_ident())
        if len(attempts) == 1:
            raise ToolException("busy", retryable=True)
        return "ok"

    assert ToolNode([flaky]).invoke([_turn("flaky")])[0].content == "ok"
    assert set(attempts) == {threading.get_ident()}


def test_a_synchronous_tool_may_hand_back_an_awaitable() -> None:
    async def later() -> str:
        await asyncio.sleep(0)
        return "later"

    @tool
    def wrapper() -> Any:
        """Return a coroutine."""
        return later()

    assert ToolNode([wrapper]).invoke([_turn("wrapper")])[0].content == "later"
    assert ToolNode([wrapper], timeout=None).invoke([_turn("wrapper")])[0].content == "later"


def test_the_items_of_an_async_generator_are_the_result() -> None:
    @tool
    async def count() -> Any:
        """Count."""
        for number in range(3):
            yield number

    assert ToolNode([count]).invoke([_turn("count")])[0].content == "[0, 1, 2]"


@pytest.mark.parametrize("names", [("read",), ("read", "read")])
def test_tools_see_the_callers_context_and_do_not_change_it(names: tuple[str, ...]) -> None:
    @tool(timeout=None)
    def read() -> str:
        """Read and write a context variable."""
        seen = variable.get()
        variable.set("changed")
        return seen

    variable.set("caller")
    assert {answer.content for answer in ToolNode([read]).invoke([_turn(*names)])} == {"caller"}
    assert variable.get() == "caller"


@pytest.mark.filterwarnings("ignore:A synchronous call was made:RuntimeWarning")
def test_the_synchronous_door_works_inside_a_running_loop() -> None:
    async def main() -> str:
        return str(ToolNode([quick]).invoke([_turn("quick")])[0].content)

    assert asyncio.run(main()) == "quick"


def test_one_node_may_be_used_from_many_threads_at_once() -> None:
    node = ToolNode([quick, where])
    results: list[str] = []

    def use() -> None:
        results.extend(str(answer.content) for answer in node.invoke([_turn("quick", "quick")]))

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == ["quick"] * 16


def test_hundreds_of_calls_are_answered_in_order() -> None:
    answers = ToolNode([quick]).invoke([_turn(*["quick"] * 500)])
    assert [answer.tool_call_id for answer in answers] == [f"c{index}" for index in range(500)]


class _Panic(BaseException):
    """What a foreign library raises that does not derive its errors from Exception."""


@pytest.mark.parametrize("error", [_Panic("broke"), BaseExceptionGroup("several", [_Panic("broke")])])
def test_an_exception_outside_of_exception_is_that_calls_failure(error: BaseException) -> None:
    @tool
    def panic() -> str:
        """Panic."""
        raise error

    answers = ToolNode([panic, quick]).invoke([_turn("panic", "quick")])
    assert answers[0].outcome.kind == "exception"
    assert answers[0].content.startswith("_Panic: broke")
    assert answers[1].content == "quick"


@pytest.mark.parametrize("names", [("leave", "quick"), ("quick", "leave"), ("leave",)])
def test_a_tool_that_cancels_its_own_task_is_that_calls_failure(names: tuple[str, ...]) -> None:
    events: list[Event] = []

    @tool
    async def leave() -> str:
        """Cancel the task it runs in."""
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
        return "never"

    answers = ToolNode([leave, quick], listener=events.append).invoke([_turn(*names)])
    assert [answer.outcome.kind for answer in answers] == [None if name == "quick" else "cancelled" for name in names]
    assert {answer.outcome.attempts for answer in answers} == {1}
    assert [type(event) for event in events].count(CallFinished) == len(names)


def test_every_started_call_has_one_finish_also_when_the_caller_is_cancelled() -> None:
    events: list[Event] = []

    async def main() -> None:
        node = ToolNode([quick, forever], listener=events.append)
        task = asyncio.ensure_future(node.ainvoke([_turn("quick", "forever", "forever")]))
        await comes_true(lambda: any(isinstance(event, CallFinished) for event in events))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    for kind in (CallStarted, CallFinished):
        assert sorted(event.call_id for event in events if type(event) is kind) == ["c0", "c1", "c2"]


def test_who_is_cancelled_again_and_again_still_waits_for_bodies_that_clean_up() -> None:
    events: list[Event] = []
    begun: list[str] = []
    cleaned: list[str] = []

    @tool
    async def tidy() -> str:
        """Take a while to clean up."""
        begun.append("tidy")
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.05)
            cleaned.append("cleaned")
        return "never"

    async def main() -> list[str]:
        task = asyncio.ensure_future(ToolNode([tidy], listener=events.append).ainvoke([_turn("tidy", "tidy")]))
        await comes_true(lambda: len(begun) == 2)
        for _ in range(3):
            await asyncio.sleep(0.01)
            task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        assert len(_on(caught.value)) == 2
        return list(cleaned)

    assert asyncio.run(main()) == ["cleaned", "cleaned"]
    assert [type(event) for event in events].count(CallFinished) == 2


def _on_eager_loop(main: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner() as runner:
        runner.get_loop().set_task_factory(getattr(asyncio, "eager_task_factory"))  # noqa: B009 - not there in 3.11
        return runner.run(main)


eager = pytest.mark.skipif(sys.version_info < (3, 12), reason="loops start no task at once")


@eager
def test_a_loop_that_starts_tasks_at_once_is_a_loop_like_others() -> None:
    events: list[Event] = []

    async def main() -> list[ToolMessage]:
        node = ToolNode([quick, where], listener=events.append)
        return await asyncio.wait_for(node.ainvoke([_turn("quick", "where", "nobody", "quick")]), 5)

    answers = _on_eager_loop(main())
    assert [answer.tool_call_id for answer in answers] == ["c0", "c1", "c2", "c3"]
    assert [type(event) for event in events].count(CallFinished) == 4


@eager
def test_on_such_a_loop_a_fatal_exception_keeps_those_after_it_from_running() -> None:
    @tool
    async def break_off() -> str:
        """Fail at once."""
        raise LookupError("gone")

    async def main() -> list[ToolMessage]:
        with pytest.raises(LookupError) as caught:
            await ToolNode([forever, break_off, quick], fatal=LookupError).ainvoke(
                [_turn("forever", "break_off", "quick")]
            )
        return _on(caught.value)

    answers = _on_eager_loop(main())
    assert [answer.outcome and answer.outcome.kind for answer in answers] == ["cancelled", "exception", "cancelled"]


def test_an_exception_that_refuses_to_carry_the_answers_comes_out_all_the_same() -> None:
    class Closed(Exception):
        def __setattr__(self, name: str, value: object) -> None:
            raise TypeError("closed")

    error = Closed()

    @tool
    async def fail() -> str:
        """Fail."""
        raise error

    with pytest.raises(Closed) as caught:
        ToolNode([fail, quick], handle_tool_errors=False).invoke([_turn("fail", "quick")])
    assert caught.value is error


class _Mute(ToolException):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class _Bare(ToolException):
    def __init__(self) -> None:  # does not call the base class
        self.args = ("bare",)


@pytest.mark.parametrize(("error", "text"), [(_Mute(), "The tool failed without saying why."), (_Bare(), "bare")])
def test_a_tool_exception_of_any_make_is_told_as_the_tools_own(error: ToolException, text: str) -> None:
    @tool
    async def fail() -> str:
        """Fail."""
        raise error

    (answer,) = ToolNode([fail]).invoke([_turn("fail")])
    assert (answer.outcome.kind, answer.content) == ("tool_error", text)


@pytest.mark.parametrize("timeout", [None, 5])
def test_a_generator_fails_as_the_tool_that_it_is(timeout: float | None) -> None:
    @tool(timeout=timeout)
    def lines() -> Any:
        """Give two lines, then fail."""
        yield "one"
        raise ToolException("the file is broken")

    (answer,) = ToolNode([lines]).invoke([_turn("lines")])
    assert (answer.outcome.kind, answer.content) == ("tool_error", "the file is broken")


def test_a_slow_generator_is_timed_out_and_holds_up_nobody() -> None:
    release = threading.Event()

    @tool(timeout=0.05)
    def drip() -> Any:
        """Give one item and wait."""
        yield 1
        release.wait(5)

    answers = ToolNode([drip, quick]).invoke([_turn("drip", "quick")])
    release.set()
    assert answers[0].outcome.kind == "timeout"
    assert answers[1].content == "quick"


def test_an_endless_generator_is_cut_with_a_note() -> None:
    @tool
    def count_up() -> Any:
        """Count."""
        yield from iter(int, 1)

    (answer,) = ToolNode([count_up], max_output=100).invoke([_turn("count_up")])
    assert answer.status == "success"
    assert any("only the first 10,000 items" in note for note in answer.outcome.notes)


def test_what_a_body_raises_when_its_time_is_up_is_still_a_timeout() -> None:
    @tool(timeout=0.02)
    async def clumsy() -> str:
        """Fail at cleaning up."""
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError("cleaning up failed")
        return "never"

    (answer,) = ToolNode([clumsy]).invoke([_turn("clumsy")])
    assert answer.outcome.kind == "timeout"


def test_every_attempt_gets_the_arguments_as_the_model_sent_them() -> None:
    seen: list[dict[str, int]] = []

    @tool(retry=RetryPolicy(initial_interval=0.001))
    def fill(box: dict[str, int]) -> str:
        """Change what it was given, and fail once."""
        seen.append(dict(box))
        box["extra"] = 1
        if len(seen) == 1:
            raise ToolException("busy", retryable=True)
        return "ok"

    ToolNode([fill]).invoke([AIMessage(tool_calls=[{"id": "c", "name": "fill", "args": {"box": {"a": 1}}}])])
    assert seen == [{"a": 1}, {"a": 1}]


def test_a_human_who_thinks_holds_up_no_other_call() -> None:
    answered = threading.Event()

    def approve(_: str, __: Any) -> bool:
        return answered.wait(5)

    @tool(requires_approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    @tool
    async def other() -> str:
        """End while the human thinks."""
        answered.set()
        return "other"

    answers = ToolNode([pay, other], approve=approve).invoke([_turn("pay", "other")])
    assert [answer.content for answer in answers] == ["paid", "other"]


def test_an_id_that_is_no_proper_text_still_has_an_idempotency_key() -> None:
    @tool
    def key(context: ToolContext) -> str:
        """Tell the key."""
        return context.idempotency_key

    (answer,) = ToolNode([key]).invoke([AIMessage(tool_calls=[{"id": "\ud800", "name": "key", "args": {}}])])
    assert len(answer.content) == 32


class _Unreadable(dict[str, Any]):
    def get(self, key: str, default: object = None) -> Any:
        raise RuntimeError("cannot be read")


@pytest.mark.parametrize("update", [5, "text", _Unreadable()])
def test_a_command_that_cannot_be_read_costs_the_turn_no_answer(update: Any) -> None:
    @tool
    def move() -> Any:
        """Ask the graph for what it cannot do."""
        return Command(update=update)

    answers = ToolNode([move, quick], commands=True).invoke([_turn("move", "quick")])
    assert [answer.outcome.kind for answer in answers] == ["internal", None]


class _Unasked:
    """What does not say what it is."""

    def __getattribute__(self, name: str) -> Any:
        raise ValueError(name)


class _Unread(list[int]):
    """A list that cannot be gone through."""

    def __iter__(self) -> Iterator[int]:
        raise ValueError("nobody goes through this")


@pytest.mark.parametrize("make", [_Unasked, _Unread, lambda: _Unread([1])])
def test_a_result_that_fails_when_it_is_looked_at_is_a_result(make: Callable[[], Any]) -> None:
    @tool
    def work() -> Any:
        """Work."""
        return make()

    (answer,) = ToolNode([work]).invoke([_turn("work")])
    assert (answer.status, bool(answer.text)) == ("success", True)


def test_a_fatal_exception_ends_the_turn_only_when_all_its_calls_have_ended() -> None:
    begun: list[str] = []
    ended: list[str] = []

    class Fatal(Exception):
        pass

    @tool
    async def deadly() -> str:
        """End the turn."""
        while len(begun) < 199:  # noqa: ASYNC110 - others start meanwhile
            await asyncio.sleep(0.001)
        raise Fatal

    @tool
    async def tidy() -> str:
        """Take a moment to clean up."""
        begun.append("tidy")
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            ended.append("tidy")
        return "never"

    events: list[Event] = []
    node = ToolNode([deadly, tidy], fatal=Fatal, listener=events.append)
    with pytest.raises(Fatal) as caught:
        node.invoke([_turn("deadly", *["tidy"] * 199)])
    messages: list[ToolMessage] = vars(caught.value)["tool_messages"]
    started = [event.call_id for event in events if isinstance(event, CallStarted)]
    finished = [event.call_id for event in events if isinstance(event, CallFinished)]
    assert (len(messages), len(ended)) == (200, 199)
    assert sorted(started) == sorted(finished)
