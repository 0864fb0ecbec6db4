"""Tools that keep failing are left alone for a while."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Any, Literal

import pytest

from support.conversations import Conversation
from support.turns import turn
from surehand import ModelRetry, ToolException, ToolNode, tool
from surehand.calls import ToolTable
from surehand.calls.breakers import Breakers
from surehand.calls.table import RegisteredTool
from surehand.outcomes import FailureKind, Outcome
from surehand.policy import CircuitBreaker
from surehand.testing import FakeClock

FAILED = Outcome(kind=FailureKind.EXCEPTION, error=ValueError())
FINE = Outcome()


def registered(breaker: CircuitBreaker | None, name: str = "quote") -> RegisteredTool:
    (only,) = ToolTable([tool(name, circuit_breaker=breaker)(lambda: "x").spec])
    return only


def opened(breaker: CircuitBreaker | None = None) -> tuple[Breakers, FakeClock, RegisteredTool]:
    """A breaker that has just opened."""
    clock, quote = FakeClock(autojump=None), registered(breaker or CircuitBreaker(failures=2, window=10, cooldown=5))
    breakers = Breakers(clock)
    for _ in range(2):
        breakers.ended(quote, FAILED)
    return breakers, clock, quote


def test_it_opens_after_so_many_failures() -> None:
    breakers, quote = Breakers(FakeClock(autojump=None)), registered(CircuitBreaker(failures=2))
    breakers.ended(quote, FAILED)
    assert breakers.admits(quote) is True
    breakers.ended(quote, FAILED)
    assert breakers.admits(quote) == (
        "The call was not executed: the tool 'quote' keeps failing and is left alone for another 30 seconds. "
        "Use another tool, or answer with what you have."
    )


def test_failures_count_within_a_rolling_window() -> None:
    clock, quote = FakeClock(autojump=None), registered(CircuitBreaker(failures=2, window=10))
    breakers = Breakers(clock)
    for _ in range(5):
        breakers.ended(quote, FAILED)
        assert breakers.admits(quote) is True
        clock.advance(10)
    breakers.ended(quote, FAILED)
    clock.advance(9)
    breakers.ended(quote, FAILED)
    assert breakers.admits(quote) is not True


def test_successes_in_between_do_not_take_failures_back() -> None:
    breakers, quote = Breakers(FakeClock(autojump=None)), registered(CircuitBreaker(failures=2))
    for outcome in (FAILED, FINE, FAILED):
        breakers.ended(quote, outcome)
    assert breakers.admits(quote) is not True


def test_after_the_cooldown_one_probe_is_let_through_at_a_time() -> None:
    breakers, clock, quote = opened()
    clock.advance(5)
    assert breakers.admits(quote) is True
    refused = breakers.admits(quote)
    assert isinstance(refused, str)
    assert "until another call has shown whether it works again" in refused


def test_a_probe_that_succeeds_closes_it() -> None:
    breakers, clock, quote = opened()
    clock.advance(5)
    breakers.admits(quote)
    breakers.ended(quote, FINE)
    breakers.ended(quote, FAILED)
    assert [breakers.admits(quote) for _ in range(3)] == [True] * 3


def test_a_probe_that_fails_opens_it_anew() -> None:
    breakers, clock, quote = opened()
    clock.advance(5)
    breakers.admits(quote)
    breakers.ended(quote, FAILED)
    clock.advance(4.9)
    assert breakers.admits(quote) is not True
    clock.advance(0.1)
    assert breakers.admits(quote) is True


@pytest.mark.parametrize("outcome", [None, Outcome(kind=FailureKind.CANCELLED)])
def test_a_probe_that_says_nothing_makes_room_for_another(outcome: Outcome | None) -> None:
    breakers, clock, quote = opened()
    clock.advance(5)
    breakers.admits(quote)
    breakers.ended(quote, outcome)
    assert breakers.admits(quote) is True
    assert breakers.admits(quote) is not True


@pytest.mark.parametrize("outcome", [FINE, FAILED, None])
def test_a_call_that_began_before_it_opened_is_not_the_probe(outcome: Outcome | None) -> None:
    breakers, clock, quote = opened()
    before = clock.now()
    clock.advance(6)
    breakers.admits(quote)
    breakers.ended(quote, outcome, began=before)
    assert breakers.admits(quote) is not True
    breakers.ended(quote, FINE)
    assert breakers.admits(quote) is True


def test_a_probe_is_known_by_its_start() -> None:
    breakers, clock, quote = opened()
    clock.advance(5.1)
    breakers.admits(quote)
    began = clock.now()
    clock.advance(0.2)
    breakers.ended(quote, FINE, began=began)
    assert [breakers.admits(quote) for _ in range(2)] == [True] * 2


@pytest.mark.parametrize("kind", [kind for kind in FailureKind if kind not in {"tool_error", "exception", "timeout"}])
def test_what_the_tool_did_not_do_is_no_failure_of_it(kind: FailureKind) -> None:
    breakers, quote = Breakers(FakeClock(autojump=None)), registered(CircuitBreaker(failures=1))
    breakers.ended(quote, Outcome(kind=kind, error=ValueError()))
    assert breakers.admits(quote) is True


@pytest.mark.parametrize(
    ("kind", "error", "counts"),
    [
        (FailureKind.EXCEPTION, ConnectionResetError(), True),
        (FailureKind.EXCEPTION, ExceptionGroup("several", [ValueError(), ConnectionResetError()]), True),
        (FailureKind.EXCEPTION, ValueError(), False),
        (FailureKind.TOOL_ERROR, ToolException("no"), False),
        (FailureKind.TIMEOUT, None, True),
    ],
)
def test_only_the_errors_that_are_named_count(kind: FailureKind, error: Exception | None, counts: bool) -> None:  # noqa: FBT001 - a case
    breaker = CircuitBreaker(failures=1, errors=(ConnectionError, TimeoutError))
    breakers, quote = Breakers(FakeClock(autojump=None)), registered(breaker)
    breakers.ended(quote, Outcome(kind=kind, error=error))
    assert (breakers.admits(quote) is not True) is counts


def test_timeouts_do_not_count_where_other_errors_are_named() -> None:
    breakers, quote = Breakers(FakeClock(autojump=None)), registered(CircuitBreaker(failures=1, errors=KeyError))
    breakers.ended(quote, Outcome(kind=FailureKind.TIMEOUT))
    assert breakers.admits(quote) is True


def test_a_tool_without_a_breaker_is_let_through() -> None:
    breakers, quote = Breakers(FakeClock(autojump=None)), registered(None)
    for _ in range(10):
        breakers.ended(quote, FAILED)
    assert breakers.admits(quote) is True
    assert not breakers.is_open("quote")


def test_each_tool_has_a_breaker_of_its_own() -> None:
    breakers, _, _ = opened()
    assert breakers.admits(registered(CircuitBreaker(failures=2), "other")) is True
    assert (breakers.is_open("quote"), breakers.is_open("other")) == (True, False)


def test_it_is_open_until_the_cooldown_is_over() -> None:
    breakers, clock, _ = opened()
    clock.advance(4.9)
    assert breakers.is_open("quote")
    clock.advance(0.1)
    assert not breakers.is_open("quote")


def test_of_many_threads_one_makes_the_probe() -> None:
    breakers, clock, quote = opened()
    clock.advance(5)
    start = threading.Barrier(8)
    admitted: list[Literal[True] | str] = []

    def ask() -> None:
        start.wait()
        admitted.extend(breakers.admits(quote) for _ in range(100))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert admitted.count(True) == 1


# Through a node


class Service:
    """Fails as often as it is told to."""

    def __init__(self, *errors: Exception | None) -> None:
        self.errors = list(errors)
        self.asked = 0

    def answer(self) -> str:
        self.asked += 1
        error = self.errors.pop(0) if self.errors else None
        if error is not None:
            raise error
        return "fine"


def node_of(service: Service, clock: FakeClock, **options: Any) -> ToolNode:
    @tool(circuit_breaker=CircuitBreaker(failures=2, cooldown=60), retry=None, **options)
    async def quote(number: int) -> str:
        """Ask the service."""
        return service.answer()

    return ToolNode([quote], clock=clock)


def test_a_service_that_is_down_is_not_asked_until_it_has_had_time() -> None:
    service, clock = Service(ValueError("down"), ValueError("down")), FakeClock(autojump=None)
    conversation = Conversation(node_of(service, clock))
    answers = [conversation.turn(("quote", {"number": number}))[0] for number in range(3)]
    clock.advance(60)
    answers += conversation.turn(("quote", {"number": 4}))
    assert ["left alone" in answer for answer in answers] == [False, False, True, False]
    assert (answers[3], service.asked) == ("fine", 3)


def test_calls_that_are_refused_by_a_breaker_are_limited() -> None:
    conversation = Conversation(node_of(Service(*[ToolException("down")] * 2), FakeClock(autojump=None)))
    for number in range(3):
        conversation.turn(("quote", {"number": number}))
    outcome = conversation.messages[-1].outcome
    assert (outcome.kind, outcome.attempts) == (FailureKind.LIMIT, 0)


def test_what_the_model_did_wrong_opens_nothing() -> None:
    service = Service(*[ModelRetry("another number")] * 5)
    conversation = Conversation(node_of(service, FakeClock(autojump=None)))
    for number in range(5):
        conversation.turn(("quote", {"number": number}), ("quote", {"number": "x"}))
    assert conversation.turn(("quote", {"number": 9})) == ["fine"]


def test_of_a_turn_of_calls_one_is_the_probe() -> None:
    service, clock = Service(*[ValueError("down")] * 2), FakeClock(autojump=None)
    conversation = Conversation(node_of(service, clock))
    conversation.turn(*(("quote", {"number": number}) for number in range(2)))
    clock.advance(60)
    answers = conversation.turn(*(("quote", {"number": 10 + number}) for number in range(5)))
    assert answers.count("fine") >= 1
    assert service.asked - 2 == answers.count("fine")


def test_a_cancelled_probe_leaves_the_breaker_usable() -> None:
    clock = FakeClock(autojump=None)
    is_down, gate = True, asyncio.Event()

    @tool(circuit_breaker=CircuitBreaker(failures=1, cooldown=60), retry=None)
    async def quote(number: int) -> str:
        """Ask the service."""
        if is_down:
            raise ValueError("down")
        await gate.wait()
        return "fine"

    node = ToolNode([quote], clock=clock)
    conversation = Conversation(node)
    conversation.turn(("quote", {"number": 1}))
    clock.advance(60)

    async def probe() -> None:
        task = asyncio.ensure_future(node.ainvoke([conversation.reply(("quote", {"number": 2}))]))
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait([task])
        gate.set()

    is_down = False
    asyncio.run(probe())
    assert conversation.turn(("quote", {"number": 3})) == ["fine"]


def test_a_probe_that_swallows_the_end_of_its_turn_does_not_keep_the_breaker_half_open() -> None:
    clock, over = FakeClock(autojump=None), asyncio.Event()

    @tool(circuit_breaker=CircuitBreaker(failures=1, cooldown=5), timeout=None)
    async def quote(kind: Literal["fails", "hangs", "works"]) -> str:
        """Get a quote."""
        if kind == "fails":
            raise ValueError("down")
        while kind == "hangs" and not over.is_set():
            with suppress(asyncio.CancelledError):
                await over.wait()
        return "42"

    node = ToolNode([quote], clock=clock)

    async def main() -> str:
        await node.ainvoke([turn(("quote", {"kind": "fails"}))])
        clock.advance(6)
        probe = asyncio.ensure_future(node.ainvoke([turn(("quote", {"kind": "hangs"}))]))
        await asyncio.sleep(0.01)
        probe.cancel()
        await asyncio.sleep(0.01)
        clock.advance(2)
        with pytest.raises(asyncio.CancelledError):
            await probe
        (answer,) = await node.ainvoke([turn(("quote", {"kind": "works"}))])
        over.set()
        return str(answer.content)

    assert asyncio.run(main()) == "42"
