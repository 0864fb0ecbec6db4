"""Calls on their way through middlewares."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from support.liveness import comes_true
from support.turns import Run, by_both_doors, run_async, run_sync, turn
from surehand import (
    AIMessage,
    Command,
    FailureKind,
    InputError,
    MemoryJournal,
    ToolCallRequest,
    ToolException,
    ToolMessage,
    ToolNode,
    tool,
)
from surehand.concurrency import workers
from surehand.events import CallFinished, CallStarted
from surehand.testing import FakeClock, record_events

variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")

SYNC, ASYNC = "sync", "async"
kinds = pytest.mark.parametrize("kind", [SYNC, ASYNC])


@tool(read_only=True)
def double(number: int) -> int:
    """Double."""
    return 2 * number


@tool(read_only=True)
async def async_double(number: int) -> int:
    """Double."""
    return 2 * number


def one(name: str = "double", **args: Any) -> list[Any]:
    return [turn((name, args or {"number": 2}))]


def made(kind: str, before: Callable[[ToolCallRequest], Any], after: Callable[[ToolMessage], Any] | None = None) -> Any:
    """A middleware of either kind that changes what goes in and what comes out."""

    def end(answer: ToolMessage) -> Any:
        return answer if after is None else after(answer)

    def wrap(request: ToolCallRequest, run: Any) -> Any:
        return end(run(before(request)))

    async def awrap(request: ToolCallRequest, run: Any) -> Any:
        return end(await run(before(request)))

    return wrap if kind == SYNC else awrap


def same(request: ToolCallRequest) -> ToolCallRequest:
    return request


def answer_of(node: ToolNode, messages: list[Any], run: Run = run_sync) -> ToolMessage:
    answers: list[ToolMessage] = run(node, messages)
    assert len(answers) == 1
    return answers[0]


def evidence(error: BaseException) -> list[ToolMessage]:
    """The answers on an exception that a node raised."""
    messages: list[ToolMessage] = vars(error)["tool_messages"]
    return messages


# --- order and short cuts ---------------------------------------------------------------------------------------------


@by_both_doors
@pytest.mark.parametrize(
    "order", [[SYNC, ASYNC, SYNC], [ASYNC, SYNC, ASYNC], [SYNC, SYNC, SYNC], [ASYNC, ASYNC, ASYNC]]
)
def test_the_first_middleware_is_the_outermost(run: Run, order: list[str]) -> None:
    log: list[str] = []

    def layer(name: str, kind: str) -> Any:
        def before(request: ToolCallRequest) -> ToolCallRequest:
            log.append(f"{name} in")
            return request

        def after(answer: ToolMessage) -> ToolMessage:
            log.append(f"{name} out")
            return answer

        return made(kind, before, after)

    node = ToolNode([double], middleware=[layer(str(n), kind) for n, kind in enumerate(order)])
    assert answer_of(node, one(), run).content == "4"
    assert log == ["0 in", "1 in", "2 in", "2 out", "1 out", "0 out"]


@by_both_doors
def test_langchains_spelling_of_a_middleware_works_unchanged(run: Run) -> None:
    def limited(request: Any, handler: Any) -> Any:
        if request.tool_call["name"] == "double":
            request = request.override(tool_call={**request.tool_call, "args": {"number": 5}})
        return handler(request)

    assert answer_of(ToolNode([double], middleware=[limited]), one(), run).content == "10"


def test_a_lone_synchronous_call_goes_through_in_the_callers_own_thread() -> None:
    threads: list[threading.Thread] = []

    def watch(request: ToolCallRequest) -> ToolCallRequest:
        threads.append(threading.current_thread())
        return request

    node = ToolNode([double], timeout=None, middleware=[made(SYNC, watch)])
    assert answer_of(node, one()).content == "4"
    assert threads == [threading.current_thread()]


def test_on_a_loop_a_synchronous_middleware_runs_on_a_thread() -> None:
    threads: list[threading.Thread] = []

    def watch(request: ToolCallRequest) -> ToolCallRequest:
        threads.append(threading.current_thread())
        return request

    assert answer_of(ToolNode([double], middleware=[made(SYNC, watch)]), one(), run_async).content == "4"
    assert threads != [threading.current_thread()]


@pytest.mark.parametrize(("run", "expected"), [(run_sync, "sync"), (run_async, "async")])
def test_of_an_object_with_both_methods_the_door_decides(run: Run, expected: str) -> None:
    taken: list[str] = []

    class Both:
        def wrap_tool_call(self, request: Any, run: Any) -> Any:
            taken.append("sync")
            return run(request)

        async def awrap_tool_call(self, request: Any, run: Any) -> Any:
            taken.append("async")
            return await run(request)

    answer_of(ToolNode([double], middleware=[Both()]), one(), run)
    assert taken == [expected]


@by_both_doors
@kinds
def test_a_middleware_may_answer_without_running_anything(run: Run, kind: str) -> None:
    ran: list[int] = []

    @tool
    def effect(number: int) -> None:
        """Do it."""
        ran.append(number)

    def wrap(request: Any, run: Any) -> Any:
        return {"instead": request.arguments.number}

    async def awrap(request: Any, run: Any) -> Any:
        return {"instead": request.arguments.number}

    answer = answer_of(ToolNode([effect], middleware=[wrap if kind == SYNC else awrap]), one("effect", number=1), run)
    assert (answer.content, answer.status, answer.tool_call_id, answer.name) == (
        '{"instead": 1}',
        "success",
        "c0",
        "effect",
    )
    assert answer.outcome is not None
    assert answer.outcome.attempts == 0
    assert ran == []


@pytest.mark.parametrize(
    "call",
    [
        {"id": "c0", "name": "double", "args": "{number: "},
        {"id": "c0", "name": "double", "args": {"number": "x"}},
        {"id": "c0", "name": "halve", "args": {}},
    ],
)
def test_what_the_model_did_wrong_is_answered_before_any_middleware(call: dict[str, Any]) -> None:
    seen: list[Any] = []

    def watch(request: ToolCallRequest) -> ToolCallRequest:
        seen.append(request)
        return request

    node = ToolNode([double], middleware=[made(SYNC, watch)])
    answer = answer_of(node, [AIMessage(tool_calls=[call])])
    assert answer.status == "error"
    assert seen == []


# --- changed arguments ------------------------------------------------------------------------------------------------


@by_both_doors
@kinds
def test_changed_arguments_are_validated_anew(run: Run, kind: str) -> None:
    node = ToolNode([double], middleware=[made(kind, lambda request: request.override(args={"number": "21"}))])
    answer = answer_of(node, one(), run)
    assert answer.content == "42"
    assert answer.outcome is not None
    assert "a middleware changed the arguments" in answer.outcome.repairs


@kinds
def test_changed_arguments_that_break_the_schema_run_nothing(kind: str) -> None:
    node = ToolNode([double], middleware=[made(kind, lambda request: request.override(args={"number": "many"}))])
    answer = answer_of(node, one())
    assert answer.outcome is not None
    assert answer.outcome.kind is FailureKind.INVALID_ARGUMENTS


def test_arguments_changed_in_place_count_too() -> None:
    def force(request: ToolCallRequest) -> ToolCallRequest:
        request.tool_call["args"]["number"] = 50
        return request

    message = turn(("double", {"number": 2}))
    assert answer_of(ToolNode([double], middleware=[made(SYNC, force)]), [message]).content == "100"
    assert message.tool_calls[0]["args"] == {"number": 2}


def test_true_in_the_place_of_one_is_a_change() -> None:
    @tool(read_only=True)
    def show(value: Any) -> str:
        """Show."""
        return repr(value)

    node = ToolNode([show], middleware=[made(SYNC, lambda request: request.override(args={"value": True}))])
    assert answer_of(node, one("show", value=1)).content == "True"


def test_the_middlewares_inside_see_the_arguments_as_they_were_changed() -> None:
    seen: list[int] = []

    def watch(request: ToolCallRequest) -> ToolCallRequest:
        seen.append(request.arguments.number)
        return request

    change = made(SYNC, lambda request: request.override(args='{"number": 3}'))
    assert answer_of(ToolNode([double], middleware=[change, made(ASYNC, watch)]), one()).content == "6"
    assert seen == [3]


@kinds
def test_run_takes_nothing_but_the_request(kind: str) -> None:
    answer = answer_of(ToolNode([double], middleware=[made(kind, lambda request: request.tool_call)]), one())
    assert answer.outcome is not None
    assert answer.outcome.kind is FailureKind.INTERNAL


# --- other answers ----------------------------------------------------------------------------------------------------


@by_both_doors
@kinds
def test_an_answer_may_be_changed_and_keeps_what_is_known_of_its_run(run: Run, kind: str) -> None:
    def checked(answer: ToolMessage) -> ToolMessage:
        return answer.replace(content=f"{answer.text} (checked)")

    answer = answer_of(ToolNode([double], middleware=[made(kind, same, checked)]), one(), run)
    assert answer.content == "4 (checked)"
    assert answer.outcome is not None
    assert (answer.outcome.attempts, answer.outcome.kind) == (1, None)


def test_an_answer_keeps_the_calls_id_and_name_whatever_it_says() -> None:
    node = ToolNode([double], middleware=[lambda request, run: ToolMessage("x", tool_call_id="forged", name="other")])
    answer = answer_of(node, one())
    assert (answer.tool_call_id, answer.name, answer.content) == ("c0", "double", "x")


def test_a_failure_may_be_answered_as_a_success_and_a_success_as_a_failure() -> None:
    @tool
    def fail(number: int) -> None:
        """Fail."""
        raise ToolException("no")

    rescue = made(SYNC, same, lambda answer: answer.replace(content="fine", status="success"))
    condemn = made(SYNC, same, lambda answer: answer.replace(content="bad", status="error"))
    good = answer_of(ToolNode([fail], middleware=[rescue]), one("fail"))
    bad = answer_of(ToolNode([double], middleware=[condemn]), one())

    assert good.outcome is not None
    assert bad.outcome is not None
    assert (good.content, good.status, good.outcome.kind, good.outcome.attempts) == ("fine", "success", None, 1)
    assert (bad.content, bad.status, bad.outcome.kind, bad.outcome.text) == ("bad", "error", "tool_error", "bad")


def test_what_a_middleware_returns_is_rendered_and_capped_like_a_result() -> None:
    node = ToolNode([double], max_output=100, middleware=[lambda request, run: ["x" * 500]])
    answer = answer_of(node, one())
    assert len(answer.text) <= 100
    assert answer.artifact == ["x" * 500]


def test_a_note_on_a_result_that_was_cut_costs_it_nothing() -> None:
    @tool
    def long(number: int) -> str:
        """Return much."""
        return "x" * 1_000

    checked = made(SYNC, same, lambda answer: answer.replace(content=f"{answer.text} (checked)"))
    plain, noted = (
        answer_of(ToolNode([long], max_output=400, middleware=middleware), one("long"))
        for middleware in ([], [checked])
    )
    assert noted.content == f"{plain.text} (checked)"
    assert noted.artifact == "x" * 1_000
    assert noted.outcome is not None
    assert plain.outcome is not None
    assert noted.outcome.notes == plain.outcome.notes


@kinds
def test_a_command_of_the_tool_survives_another_answer(kind: str) -> None:
    @tool
    def move(number: int) -> Command:
        """Move."""
        return Command(update={"at": number}, goto="next")

    node = ToolNode(
        [move], commands=True, middleware=[made(kind, same, lambda answer: answer.replace(content="moved"))]
    )
    first, command = node.invoke({"messages": one("move")})
    assert first.update["messages"][0].content == "moved"
    assert (command.update, command.goto) == ({"at": 2}, "next")


def test_a_middleware_may_return_a_command_where_the_node_takes_them() -> None:
    def send_away(request: Any, run: Any) -> Command:
        return Command(goto="away")

    commands = [send_away]
    _, command = ToolNode([double], commands=True, middleware=commands).invoke({"messages": one()})
    refused = answer_of(ToolNode([double], middleware=commands), one())

    assert command.goto == "away"
    assert refused.outcome is not None
    assert refused.outcome.kind is FailureKind.INTERNAL


def test_a_forgotten_return_costs_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    def forgetful(request: Any, run: Any) -> None:
        run(request)

    assert answer_of(ToolNode([double], middleware=[forgetful]), one()).content == "4"
    assert "forgetful returned no answer" in caplog.text


def test_a_middleware_that_neither_runs_nor_answers_is_a_fault() -> None:
    answer = answer_of(ToolNode([double], middleware=[lambda request, run: None]), one())
    assert answer.outcome is not None
    assert answer.outcome.kind is FailureKind.INTERNAL


def test_a_coroutine_from_a_synchronous_middleware_is_a_fault_and_is_closed() -> None:
    async def later(request: Any, run: Any) -> Any:
        return await run(request)

    def hasty(request: Any, run: Any) -> Any:
        return later(request, run)

    answer = answer_of(ToolNode([double], middleware=[hasty]), one(), run_async)
    assert answer.outcome is not None
    assert answer.outcome.kind is FailureKind.INTERNAL


# --- running twice ----------------------------------------------------------------------------------------------------


def twice(request: Any, run: Any) -> Any:
    run(request)
    return run(request)


async def twice_async(request: Any, run: Any) -> Any:
    await run(request)
    return await run(request)


@by_both_doors
@pytest.mark.parametrize("middleware", [twice, twice_async])
def test_a_second_run_of_what_may_have_happened_is_refused(run: Run, middleware: Any) -> None:
    sent: list[int] = []

    @tool
    def send(number: int) -> str:
        """Send."""
        sent.append(number)
        return "sent"

    answer = answer_of(ToolNode([send], middleware=[middleware]), one("send"), run)
    assert sent == [2]
    assert answer.content == (
        "The call was run once and may have had its effect, so it was not run again. It was answered: sent"
    )
    assert answer.outcome is not None
    assert (answer.outcome.kind, answer.outcome.attempts) == (FailureKind.SKIPPED, 1)


@by_both_doors
@pytest.mark.parametrize("options", [{"read_only": True}, {"idempotent": True}])
def test_what_may_run_twice_runs_twice_each_time_with_arguments_of_its_own(run: Run, options: dict[str, Any]) -> None:
    given: list[list[int]] = []

    @tool(**options)
    def consume(numbers: list[int]) -> int:
        """Consume."""
        given.append(list(numbers))
        numbers.clear()
        return len(given)

    assert answer_of(ToolNode([consume], middleware=[twice]), one("consume", numbers=[1, 2]), run).content == "2"
    assert given == [[1, 2], [1, 2]]


def test_what_its_author_says_did_not_happen_runs_again() -> None:
    attempts: list[int] = []

    @tool(retry=None)
    def send(number: int) -> str:
        """Send."""
        attempts.append(number)
        if len(attempts) == 1:
            raise ToolException("busy", retryable=True)
        return "sent"

    assert answer_of(ToolNode([send], middleware=[twice]), one("send")).content == "sent"


def test_a_run_that_was_stopped_by_a_timeout_of_the_middleware_counts_as_one() -> None:
    runs: list[int] = []
    limits: list[asyncio.Timeout] = []

    @tool
    async def hang(number: int) -> None:
        """Hang; now the time is over."""
        runs.append(number)
        limits[-1].reschedule(asyncio.get_running_loop().time())
        await asyncio.Event().wait()

    async def patient(request: Any, run: Any) -> Any:
        for _ in range(2):
            try:
                async with asyncio.timeout(20) as limit:
                    limits.append(limit)
                    return await run(request)
            except TimeoutError:
                continue
        return "gave up"

    answer = answer_of(ToolNode([hang], middleware=[patient]), one("hang"), run_async)
    assert runs == [2]
    assert "not run again" in answer.text


# --- what goes wrong --------------------------------------------------------------------------------------------------


@by_both_doors
@kinds
@pytest.mark.parametrize("has_run", [False, True])
def test_an_exception_of_a_middleware_is_an_internal_answer(
    *, run: Run, kind: str, has_run: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def fall(value: Any) -> Any:
        raise RuntimeError("password=hunter2hunter2")

    broken = made(kind, same, fall) if has_run else made(kind, fall)
    answer = answer_of(ToolNode([double], middleware=[broken]), one(), run)

    assert answer.outcome is not None
    assert answer.outcome.kind is FailureKind.INTERNAL
    assert answer.outcome.attempts == int(has_run)
    assert answer.outcome.error_id is not None
    assert answer.outcome.error_id in answer.text
    assert ("its answer was lost" in answer.text) is has_run
    assert "hunter2" not in answer.text + caplog.text
    assert "RuntimeError at" in caplog.text


@kinds
def test_an_exception_of_a_middleware_is_raised_where_nothing_is_told(kind: str) -> None:
    error = RuntimeError("no")

    def fall(value: Any) -> Any:
        raise error

    with pytest.raises(RuntimeError) as caught:
        answer_of(ToolNode([double], handle_tool_errors=False, middleware=[made(kind, fall)]), one())
    assert caught.value is error


@kinds
def test_a_middleware_speaks_to_the_model_by_a_tool_exception(kind: str) -> None:
    def fall(value: Any) -> Any:
        raise ToolException("Not on Sundays.")

    answer = answer_of(ToolNode([double], middleware=[made(kind, fall)]), one())
    assert answer.outcome is not None
    assert (answer.content, answer.outcome.kind) == ("Not on Sundays.", FailureKind.TOOL_ERROR)


@by_both_doors
@kinds
def test_what_the_tool_raised_and_nobody_handles_passes_through_run(run: Run, kind: str) -> None:
    error = ToolException("no")
    seen: list[BaseException] = []

    @tool
    def fail(number: int) -> None:
        """Fail."""
        raise error

    def wrap(request: Any, run: Any) -> Any:
        try:
            return run(request)
        except ToolException as caught:
            seen.append(caught)
            raise

    async def awrap(request: Any, run: Any) -> Any:
        try:
            return await run(request)
        except ToolException as caught:
            seen.append(caught)
            raise

    node = ToolNode([fail], handle_tool_errors=False, middleware=[wrap if kind == SYNC else awrap])
    with pytest.raises(ToolException) as caught:
        answer_of(node, one("fail"), run)
    assert caught.value is error
    assert seen == [error]
    [answer] = evidence(caught.value)
    assert answer.outcome is not None
    assert (answer.content, answer.outcome.kind) == ("no", FailureKind.TOOL_ERROR)


def test_what_a_middleware_catches_is_not_raised() -> None:
    @tool
    def fail(number: int) -> None:
        """Fail."""
        raise ToolException("no")

    def rescue(request: Any, handler: Any) -> Any:
        try:
            return handler(request)
        except ToolException as error:
            return ToolMessage(content=f"Tool error: {error}", tool_call_id=request.tool_call["id"])

    node = ToolNode([fail], handle_tool_errors=False, middleware=[rescue])
    assert answer_of(node, one("fail")).content == "Tool error: no"


@pytest.mark.parametrize("handle_tool_errors", [True, False])
def test_a_middleware_that_cancels_itself_fails_that_call_alone(*, handle_tool_errors: bool) -> None:
    async def stop(request: Any, run: Any) -> Any:
        if request.arguments.number == 1:
            raise asyncio.CancelledError
        return await run(request)

    node = ToolNode([double], middleware=[stop], handle_tool_errors=handle_tool_errors)
    first, second = run_async(node, [turn(("double", {"number": 1}), ("double", {"number": 2}))])
    assert first.outcome is not None
    assert first.outcome.kind is FailureKind.CANCELLED
    assert second.content == "4"


@kinds
def test_keyboard_interrupts_get_through(kind: str) -> None:
    def interrupt(value: Any) -> Any:
        raise KeyboardInterrupt

    node = ToolNode([double], timeout=None, middleware=[made(SYNC, interrupt)])
    with pytest.raises(KeyboardInterrupt):
        answer_of(node, one())


# --- cancellation and threads -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [[SYNC], [ASYNC], [SYNC, ASYNC], [ASYNC, SYNC], [SYNC, SYNC]])
def test_cancelling_a_turn_cancels_through_middlewares_and_wakes_their_threads(order: list[str]) -> None:
    begun: list[str] = []
    ended: list[str] = []

    @tool
    async def hang() -> None:
        """Hang."""
        begun.append("body")
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("body")

    def wrap(request: Any, run: Any) -> Any:
        try:
            return run(request)
        finally:
            ended.append(SYNC)

    async def awrap(request: Any, run: Any) -> Any:
        try:
            return await run(request)
        finally:
            ended.append(ASYNC)

    node = ToolNode([hang], middleware=[wrap if kind == SYNC else awrap for kind in order])
    before = workers().abandoned

    async def main() -> list[ToolMessage]:
        task = asyncio.create_task(node.ainvoke([turn("hang", "hang")]))
        await comes_true(lambda: len(begun) == 2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        await comes_true(lambda: len(ended) == 2 * (len(order) + 1) and workers().abandoned <= before)
        return evidence(caught.value)

    answers = asyncio.run(main())
    assert [answer.outcome and answer.outcome.kind for answer in answers] == [FailureKind.CANCELLED] * 2


def test_a_timeout_of_the_tool_comes_back_through_a_synchronous_middleware() -> None:
    @tool(timeout=0.05)
    async def hang() -> None:
        """Hang."""
        await asyncio.Event().wait()

    answer = answer_of(ToolNode([hang], middleware=[made(SYNC, same)]), [turn("hang")], run_async)
    assert answer.outcome is not None
    assert answer.outcome.kind is FailureKind.TIMEOUT


def test_more_calls_than_there_are_threads_pass_through_several_synchronous_middlewares() -> None:
    @tool(read_only=True)
    def plain(number: int) -> int:
        """Return it."""
        return number

    node = ToolNode([plain], middleware=[made(SYNC, same), made(ASYNC, same), made(SYNC, same)])
    calls = [("plain", {"number": number}) for number in range(300)]
    answers = run_async(node, [turn(*calls)])
    assert [answer.content for answer in answers] == [str(number) for number in range(300)]
    assert threading.active_count() < 250


@by_both_doors
@pytest.mark.parametrize("order", [[SYNC], [ASYNC], [SYNC, ASYNC], [ASYNC, SYNC]])
@pytest.mark.parametrize("is_async", [False, True])
def test_context_variables_set_by_a_middleware_are_seen_in_the_body_and_nowhere_else(
    *, run: Run, order: list[str], is_async: bool
) -> None:
    @tool(read_only=True)
    def read() -> str:
        """Read."""
        return variable.get()

    @tool("read", read_only=True)
    async def read_async() -> str:
        """Read."""
        return variable.get()

    def trace(request: ToolCallRequest) -> ToolCallRequest:
        variable.set(variable.get() + request.tool_call["id"])
        return request

    node = ToolNode([read_async if is_async else read], middleware=[made(kind, trace) for kind in order])
    answers = run(node, [turn("read", "read", "read")])
    assert [answer.content for answer in answers] == ["unset" + f"c{n}" * len(order) for n in range(3)]
    assert variable.get() == "unset"


def at_once(request: Any, run: Any) -> str:
    return "at once"


# --- telling ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("middleware", [twice, at_once, made(SYNC, same)])
def test_a_call_begins_and_ends_once_whatever_it_went_through(middleware: Any) -> None:
    events = record_events()
    answer = answer_of(ToolNode([double], listener=events, middleware=[middleware]), one())
    [started], [finished] = events.of(CallStarted), events.of(CallFinished)
    assert started.call_id == finished.call_id == "c0"
    assert finished.outcome == answer.outcome


def test_a_journal_answers_inside_of_the_middlewares() -> None:
    ran: list[int] = []

    @tool
    def send(number: int) -> str:
        """Send."""
        ran.append(number)
        return "sent"

    count = made(ASYNC, same, lambda answer: answer.replace(content=f"{answer.text}!"))
    node = ToolNode([send], journal=MemoryJournal(), middleware=[count])
    messages = one("send")
    messages[0] = messages[0].replace(id="m1")

    assert [answer_of(node, messages, run_async).content for _ in range(2)] == ["sent!", "sent!"]
    assert ran == [2]


def test_bodies_that_swallow_the_end_of_their_time_keep_no_call_out_of_a_synchronous_middleware() -> None:
    over = asyncio.Event()

    @tool(timeout=10)
    async def stubborn() -> str:
        """Go on whatever happens."""
        while not over.is_set():
            with suppress(asyncio.CancelledError):
                await over.wait()
        return "late"

    async def main() -> list[ToolMessage]:
        node = ToolNode([stubborn], middleware=[lambda request, run: run(request)], clock=FakeClock())
        answers: list[ToolMessage] = await asyncio.wait_for(node.ainvoke([turn(*["stubborn"] * 70)]), 20)
        over.set()
        return answers

    assert {answer.outcome and answer.outcome.kind for answer in asyncio.run(main())} == {"timeout"}


def test_calls_of_a_turn_share_a_dict() -> None:
    shared: list[dict[Any, Any]] = []

    def keep(request: ToolCallRequest) -> ToolCallRequest:
        shared.append(request.shared)
        return request

    node = ToolNode([double], middleware=[made(ASYNC, keep)])
    run_async(node, [turn(("double", {"number": 1}), ("double", {"number": 2}))])
    run_async(node, one())
    assert shared[0] is shared[1]
    assert shared[0] is not shared[2]


def test_a_middleware_learns_that_an_answer_came_with_a_command() -> None:
    told: list[bool] = []

    @tool
    def move(number: int) -> Command:
        """Move."""
        return Command(goto="next")

    def ask(request: ToolCallRequest, run: Any) -> Any:
        answer = run(request)
        told.append(request.came_with_command())
        return answer

    node = ToolNode([move, double], commands=True, middleware=[ask])
    node.invoke({"messages": one("move")})
    node.invoke({"messages": one()})
    assert told == [True, False]


def test_an_answer_that_fails_when_it_is_read_is_the_middlewares_fault(caplog: pytest.LogCaptureFixture) -> None:
    class Hostile(ToolMessage):
        @property
        def status(self) -> Any:  # type: ignore[override]  # to be hostile
            raise ValueError("boo")

    hostile = object.__new__(Hostile)
    with caplog.at_level(logging.ERROR):
        answer = answer_of(ToolNode([double], middleware=[lambda request, run: hostile]), one())
    assert answer.outcome is not None
    assert answer.outcome.kind is FailureKind.INTERNAL


def test_the_input_error_of_a_middleware_is_the_developers() -> None:
    def wrong(request: ToolCallRequest) -> Any:
        return request.tool_call

    with pytest.raises(InputError, match="run takes the request"):
        answer_of(
            ToolNode([double], handle_tool_errors=False, middleware=[made(SYNC, wrong)]),
            one(),
        )
