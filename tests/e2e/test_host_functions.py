"""What breaks in the host's own functions around the calls: each costs its call at most, and no other one.

Libraries raise more than ``Exception``: a panic of native code, a cancellation out of a task that was looked at.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from surehand import (
    AIMessage,
    HumanMessage,
    MemoryJournal,
    RetryPolicy,
    ToolContext,
    ToolException,
    ToolNode,
    ValidationNode,
    check_transcript,
    tool,
)
from surehand.concurrency import SYSTEM_CLOCK, Timer
from surehand.events import CallFinished, CallProgressed, CallRetried, CallStarted, Event
from surehand.testing import FakeClock

pytestmark = pytest.mark.timeout(60)  # a turn that has lost a call waits for ever


class Panic(BaseException):
    """As native code raises it."""


RAISED = pytest.mark.parametrize("kind", [ValueError, Panic, asyncio.CancelledError, SystemExit])


def raising(kind: type[BaseException]) -> Callable[..., NoReturn]:
    def fail(*_: Any) -> NoReturn:
        raise kind

    return fail


def on_first(event: type[Event], kind: type[BaseException]) -> Callable[[Event], None]:
    def listen(told: Event) -> None:
        if isinstance(told, event) and told.call_id == "c0":
            raise kind

    return listen


class BrokenJournal(MemoryJournal):
    """Fails at one of its methods, for the first call."""

    def __init__(self, broken: str, kind: type[BaseException]) -> None:
        super().__init__()
        self._broken = broken
        self._kind = kind

    def _fail_in(self, method: str, key: Any) -> None:
        if method == self._broken and key.call_id == "c0":
            raise self._kind

    async def recall(self, key: Any) -> Any:
        self._fail_in("recall", key)
        return await super().recall(key)

    async def begin(self, key: Any, after: int | None) -> bool:
        self._fail_in("begin", key)
        return await super().begin(key, after)

    async def finish(self, key: Any, *args: Any, **kwargs: Any) -> None:
        self._fail_in("finish", key)
        await super().finish(key, *args, **kwargs)


def ended(*, is_async: bool, **options: Any) -> tuple[list[Any], list[str]]:
    """How the first of three calls, and its siblings, ended; and which bodies came to their end."""
    done: list[str] = []
    tries: list[str] = []

    def body(ctx: ToolContext) -> str:
        tries.append(ctx.call_id)
        ctx.progress("half")
        if ctx.call_id == "c0" and options.get("retry") is not None and tries.count("c0") == 1:
            raise ToolException("busy", retryable=True)
        if ctx.call_id == "c0" and "handle_tool_errors" in options:
            raise OSError("no")
        done.append(ctx.call_id)
        return "done"

    @tool("work")
    def work(ctx: ToolContext) -> str:
        """Work."""
        return body(ctx)

    @tool("work")
    async def awork(ctx: ToolContext) -> str:
        """Work."""
        await asyncio.sleep(0)
        return body(ctx)

    message = AIMessage(
        id="m1", tool_calls=[{"id": f"c{number}", "name": "work", "args": {}} for number in range(3)], content=""
    )
    node = ToolNode([awork if is_async else work], **options)
    conversation = [HumanMessage("go"), message]
    answers = asyncio.run(node.ainvoke(conversation))
    assert check_transcript([*conversation, *answers]) == []
    return [answer.outcome.kind for answer in answers], sorted(done)


@RAISED
@pytest.mark.parametrize("event", [CallStarted, CallProgressed, CallFinished])
@pytest.mark.parametrize("is_async", [True, False])
def test_a_listener_costs_no_call_its_answer(event: type[Event], kind: type[BaseException], *, is_async: bool) -> None:
    kinds, done = ended(is_async=is_async, listener=on_first(event, kind))
    assert (kinds, done) == ([None] * 3, ["c0", "c1", "c2"])


@RAISED
@pytest.mark.parametrize("is_async", [True, False])
def test_a_listener_keeps_no_call_from_its_next_attempt(kind: type[BaseException], *, is_async: bool) -> None:
    options = {"listener": on_first(CallRetried, kind), "retry": RetryPolicy(), "clock": FakeClock()}
    assert ended(is_async=is_async, **options) == ([None] * 3, ["c0", "c1", "c2"])


@RAISED
@pytest.mark.parametrize("is_async", [True, False])
def test_an_approver_or_a_rule_that_fails_keeps_its_own_call_from_running(
    kind: type[BaseException], *, is_async: bool
) -> None:
    def approve(_: str, __: Any) -> NoReturn:
        raise kind

    async def aapprove(_: str, __: Any) -> NoReturn:
        raise kind

    for options in (
        {"approve": approve, "requires_approval": True},
        {"approve": aapprove, "requires_approval": True},
        {"requires_approval": raising(kind)},
        {"exclusive": raising(kind)},
    ):
        assert ended(is_async=is_async, **options) == (["internal"] * 3, [])


@RAISED
@pytest.mark.parametrize("is_async", [True, False])
def test_a_journal_that_fails_before_a_call_keeps_it_from_running(kind: type[BaseException], *, is_async: bool) -> None:
    begun = ended(is_async=is_async, journal=BrokenJournal("begin", kind))
    assert begun == (["internal", None, None], ["c1", "c2"])

    def agree(_: str, __: Any) -> bool:
        return True

    journal = BrokenJournal("recall", kind)
    looked_up = ended(is_async=is_async, journal=journal, requires_approval=True, approve=agree)
    assert looked_up == (["internal", None, None], ["c1", "c2"])


@RAISED
@pytest.mark.parametrize("is_async", [True, False])
def test_a_journal_that_fails_after_a_call_takes_its_answer_from_nobody(
    kind: type[BaseException], *, is_async: bool
) -> None:
    finished = ended(is_async=is_async, journal=BrokenJournal("finish", kind))
    assert finished == ([None] * 3, ["c0", "c1", "c2"])


@RAISED
@pytest.mark.parametrize("is_async", [True, False])
def test_a_handler_of_errors_that_fails_costs_its_words_only(kind: type[BaseException], *, is_async: bool) -> None:
    kinds, done = ended(is_async=is_async, handle_tool_errors=raising(kind))
    assert (kinds, done) == (["exception", None, None], ["c1", "c2"])

    asked = {"handle_tool_errors": True, "idempotent": True, "retry": RetryPolicy(retry_on=raising(kind))}
    kinds, done = ended(is_async=is_async, clock=FakeClock(), **asked)
    assert (kinds[1:], done) == ([None, None], ["c1", "c2"])


@RAISED
@pytest.mark.parametrize("is_async", [True, False])
def test_a_handler_or_filter_of_the_log_costs_no_call_its_answer(
    kind: type[BaseException], *, is_async: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "surehand.calls")
    calls = logging.getLogger("surehand.calls")
    broken = raising(kind)
    calls.addFilter(broken)
    try:
        assert ended(is_async=is_async) == ([None] * 3, ["c0", "c1", "c2"])
        failing = ended(is_async=is_async, handle_tool_errors=True)
        assert failing == (["exception", None, None], ["c1", "c2"])
        assert ended(is_async=is_async, listener=on_first(CallStarted, ValueError))[0] == [None] * 3
    finally:
        calls.removeFilter(broken)


class BrokenClock:
    """Fails when somebody wants to sleep."""

    def __init__(self, kind: type[BaseException]) -> None:
        self._kind = kind

    def now(self) -> float:
        return SYSTEM_CLOCK.now()

    def call_later(self, seconds: float, act: Callable[[], object]) -> Timer:
        return SYSTEM_CLOCK.call_later(seconds, act)

    async def sleep(self, seconds: float) -> None:
        del seconds
        raise self._kind


@RAISED
@pytest.mark.parametrize("is_async", [True, False])
def test_a_clock_that_fails_between_two_attempts_costs_that_call_alone(
    kind: type[BaseException], *, is_async: bool
) -> None:
    waiting = ended(is_async=is_async, clock=BrokenClock(kind), retry=RetryPolicy())
    assert waiting == (["internal", None, None], ["c1", "c2"])


@pytest.mark.parametrize("kind", [Panic, asyncio.CancelledError, SystemExit])
def test_a_validation_node_answers_whatever_its_host_raises(kind: type[BaseException]) -> None:
    def checked(number: int) -> str:
        """Take a number."""
        return str(number)

    call = {"id": "c0", "name": "checked", "args": {"number": "many"}}
    (answer,) = ValidationNode([checked], format_error=raising(kind)).invoke([AIMessage(tool_calls=[call])])
    assert (answer.tool_call_id, answer.outcome.kind) == ("c0", "invalid_arguments")


def test_ctrl_c_gets_through_the_functions_of_the_host() -> None:
    for options in (
        {"listener": on_first(CallFinished, KeyboardInterrupt)},
        {"requires_approval": raising(KeyboardInterrupt)},
        {"journal": BrokenJournal("finish", KeyboardInterrupt)},
    ):
        with pytest.raises(KeyboardInterrupt):
            ended(is_async=True, **options)


def test_a_cancellation_of_the_caller_is_no_fault_of_the_journal_that_it_strikes() -> None:
    asked = asyncio.Event()

    class Slow(MemoryJournal):
        async def begin(self, key: Any, after: int | None) -> bool:
            del key, after
            asked.set()
            await asyncio.Event().wait()
            return True

    @tool
    async def work() -> str:
        """Work."""
        return "done"

    async def main() -> None:
        message = AIMessage(id="m1", content="", tool_calls=[{"id": "c0", "name": "work", "args": {}}])
        turn = asyncio.ensure_future(ToolNode([work], journal=Slow()).ainvoke([HumanMessage("go"), message]))
        await asked.wait()
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn

    asyncio.run(main())
