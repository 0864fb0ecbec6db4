"""RETRY: what is run again by itself, what is not, and what a model may correct."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import httpx
import pytest

from support.fault_server import fault_server
from support.liveness import comes_true
from support.provider_server import Served, provider_server
from surehand import (
    AIMessage,
    HumanMessage,
    Limits,
    MemoryJournal,
    ModelRetry,
    RetryPolicy,
    Tool,
    ToolException,
    ToolMessage,
    ToolNode,
    create_agent,
    tool,
)
from surehand.calls.failures.advice import IN_DOUBT
from surehand.events import CallRetried, Event
from surehand.testing import FakeClock, FunctionModel

WAITS = RetryPolicy(max_attempts=4, initial_interval=1, backoff_factor=2, max_interval=8, jitter=False)


class Service:
    """A tool that fails a few times, and what became of its calls."""

    def __init__(self, error: Exception, *, failures: int = 1, policy: RetryPolicy = WAITS, **options: Any) -> None:
        self.attempts = 0
        self.delays: list[float] = []

        @tool(retry=policy, **options)
        def act(amount: int = 1) -> str:
            """Act on the world."""
            self.attempts += 1
            if self.attempts <= failures:
                raise error
            return f"done with {amount}"

        self._node = ToolNode([act], clock=FakeClock(), listener=self._hear, handle_tool_errors=True)

    def _hear(self, event: Event) -> None:
        if isinstance(event, CallRetried):
            self.delays.append(event.delay_s)

    def call(self, args: Any = None) -> ToolMessage:
        (answer,) = self._node.invoke([AIMessage(tool_calls=[{"id": "c", "name": "act", "args": args or {}}])])
        assert isinstance(answer, ToolMessage)
        return answer


def kinds(messages: Sequence[Any]) -> list[str | None]:
    outcomes = [message.outcome for message in messages if isinstance(message, ToolMessage)]
    return [None if outcome is None or outcome.kind is None else str(outcome.kind) for outcome in outcomes]


# -- RETRY-01 --------------------------------------------------------------------------------------------------------


def test_RETRY_01_nothing_is_run_again_where_nobody_said_that_it_is_safe() -> None:
    service = Service(ConnectionResetError("reset"), policy=RetryPolicy(retry_on=Exception))
    answer = service.call()
    assert service.attempts == 1
    assert answer.status == "error"


@pytest.mark.parametrize("options", [{"read_only": True}, {"idempotent": True}])
def test_RETRY_01_what_may_run_twice_is_run_again(options: dict[str, Any]) -> None:
    service = Service(ConnectionResetError("reset"), **options)
    assert service.call().text == "done with 1"
    assert service.attempts == 2


def test_RETRY_01_its_author_s_word_that_nothing_happened_is_enough() -> None:
    service = Service(ToolException("busy", retryable=True))
    assert service.call().text == "done with 1"


def test_RETRY_01_the_outcome_of_a_lost_request_is_called_in_doubt_where_that_matters() -> None:
    text = Service(ConnectionResetError("reset"), failures=9).call().text
    assert IN_DOUBT in text
    assert IN_DOUBT not in Service(ConnectionResetError("reset"), failures=9, read_only=True).call().text
    assert IN_DOUBT not in Service(ConnectionRefusedError("refused"), failures=9).call().text


def test_RETRY_01_a_real_client_whose_answer_never_came_is_in_doubt() -> None:
    with fault_server() as url:

        @tool
        def pay(amount: int) -> str:
            """Pay."""
            return httpx.post(f"{url}/hang", json={"amount": amount}, timeout=0.2).text

        message = AIMessage(tool_calls=[{"id": "c", "name": "pay", "args": {"amount": 3}}])
        (answer,) = ToolNode([pay]).invoke([message])
    assert answer.text.startswith("ReadTimeout: ")
    assert IN_DOUBT in answer.text
    assert answer.outcome.attempts == 1


# -- RETRY-03 --------------------------------------------------------------------------------------------------------


def test_RETRY_03_waits_grow_and_the_attempts_are_on_the_result() -> None:
    service = Service(TimeoutError("slow"), failures=3, idempotent=True)
    outcome = service.call().outcome
    assert outcome is not None
    assert service.delays == [1, 2, 4]
    assert outcome.attempts == 4
    assert ["TimeoutError: slow" in error for error in outcome.attempt_errors] == [True] * 3


def test_RETRY_03_attempts_end_and_the_last_failure_is_the_answer() -> None:
    service = Service(TimeoutError("slow"), failures=9, idempotent=True)
    answer = service.call()
    assert (service.attempts, answer.status) == (4, "error")


def test_RETRY_03_no_attempt_starts_after_the_time_allowed() -> None:
    policy = RetryPolicy(max_attempts=9, initial_interval=2, jitter=False, max_elapsed=5)
    service = Service(TimeoutError("slow"), failures=9, idempotent=True, policy=policy)
    service.call()
    assert service.delays == [2]


def test_RETRY_03_a_server_that_is_busy_is_asked_again_when_it_wants() -> None:
    busy = httpx.Response(429, headers={"retry-after": "7"}, request=httpx.Request("GET", "http://127.0.0.1/"))
    error = httpx.HTTPStatusError("Too Many Requests", request=busy.request, response=busy)
    service = Service(error, read_only=True)
    assert service.call().text == "done with 1"
    assert service.delays == [7]


def test_RETRY_03_a_wait_that_is_too_long_is_told_and_not_waited() -> None:
    service = Service(ToolException("closed", retryable=True, retry_after=3_600))
    assert "The service asks to wait 60 minutes before the next call." in service.call().text
    assert (service.attempts, service.delays) == (1, [])


def test_RETRY_03_a_real_client_gets_through_to_a_server_that_recovers() -> None:
    with provider_server([Served({}, status=503), Served({}, status=429), {"price": 3}]) as server:

        @tool(read_only=True, retry=RetryPolicy(initial_interval=0.01))
        async def quote() -> Any:
            """Look up a price."""
            async with httpx.AsyncClient() as client:
                return (await client.get(server.url)).raise_for_status().json()

        (answer,) = ToolNode([quote]).invoke([AIMessage(tool_calls=[{"id": "c", "name": "quote", "args": {}}])])
    assert answer.text == '{"price": 3}'
    assert answer.outcome.attempts == 3


@pytest.mark.parametrize("error", [ModelRetry("another amount"), ValueError("wrong"), ToolException("no")])
def test_RETRY_03_what_would_fail_again_is_not_repeated(error: Exception) -> None:
    service = Service(error, idempotent=True)
    assert service.call().status == "error"
    assert service.attempts == 1


def test_RETRY_03_wrong_arguments_are_never_retried() -> None:
    service = Service(ValueError("unused"), idempotent=True, policy=RetryPolicy(retry_on=Exception))
    answer = service.call({"amount": "much"})
    assert kinds([answer]) == ["invalid_arguments"]
    assert service.attempts == 0


# -- RETRY-04 --------------------------------------------------------------------------------------------------------


def counted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator as programs have them, around a function or around a tool."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        wrapper.calls += 1  # type: ignore[attr-defined]  # a function may have attributes
        return function(*args, **kwargs)

    wrapper.calls = 0  # type: ignore[attr-defined]  # as above
    return wrapper


def search(query: str, limit: int = 3) -> str:
    """Search the catalogue.

    Args:
        query: What to look for.
        limit: How many to find.
    """
    return f"{limit} of {query}"


@pytest.mark.parametrize(
    "decorated",
    [tool(counted(search)), Tool.from_function(counted(tool(search)), name="search")],
    ids=["tool outermost", "tool innermost"],
)
def test_RETRY_04_a_decorator_keeps_signature_and_docstring_in_either_order(decorated: Tool) -> None:
    assert decorated.description.startswith("Search the catalogue.")
    assert list(decorated.args) == ["query", "limit"]
    assert decorated.args["query"]["description"] == "What to look for."
    assert decorated.invoke({"query": "bees"}) == "3 of bees"


def test_RETRY_04_a_tool_itself_looks_like_its_function() -> None:
    decorated = tool(search)
    assert list(inspect.signature(decorated.func).parameters) == ["query", "limit"]
    assert decorated("bees", limit=1) == "1 of bees"


# -- RETRY-06, RETRY-07 ----------------------------------------------------------------------------------------------


def stubborn_model(*calls: dict[str, Any]) -> FunctionModel:
    """A model that makes the same calls for ever."""

    def reply(messages: Sequence[Any]) -> AIMessage:
        return AIMessage(tool_calls=[{**call, "id": f"c{len(messages)}.{i}"} for i, call in enumerate(calls)])

    return FunctionModel(reply)


WRONG_NAME = {"name": "serach", "args": {"query": "bees"}}
WRONG_ARGUMENTS = {"name": "search", "args": {"limit": "many"}}
UNREADABLE = {"name": "search", "args": "{query: "}


@pytest.mark.parametrize("wrong", [WRONG_NAME, WRONG_ARGUMENTS, UNREADABLE], ids=["name", "arguments", "text"])
def test_RETRY_06_one_budget_holds_for_all_that_a_model_may_correct(wrong: dict[str, Any]) -> None:
    result = create_agent(stubborn_model(wrong), [tool(search)], limits=Limits(corrections=3)).invoke("go")
    assert result["end_reason"] == "corrections"
    assert len(kinds(result["messages"])) == 4


def test_RETRY_06_retries_of_a_body_do_not_use_it_up() -> None:
    attempts: list[int] = []

    @tool(retry=RetryPolicy(max_attempts=4, initial_interval=0.001))
    def busy(hours: int) -> str:
        """Be busy for a while."""
        attempts.append(1)
        if len(attempts) < 4:
            raise ToolException("busy", retryable=True)
        return "ready"

    calls: tuple[tuple[str, dict[str, Any]], ...] = (("busy", {}), ("busi", {"hours": 1}), ("busy", {"hours": 1}))
    replies = iter({"name": name, "args": args} for name, args in calls)

    def reply(messages: Sequence[Any]) -> AIMessage:
        call = next(replies, None)
        return AIMessage("done") if call is None else AIMessage(tool_calls=[{**call, "id": f"c{len(messages)}"}])

    result = create_agent(FunctionModel(reply), [busy], limits=Limits(corrections=3)).invoke("go")
    assert (result["end_reason"], len(attempts)) == ("answer", 4)


def test_RETRY_07_the_budget_counts_turns_and_not_calls() -> None:
    model = stubborn_model(WRONG_NAME, WRONG_ARGUMENTS, UNREADABLE)
    result = create_agent(model, [tool(search)], limits=Limits(corrections=2)).invoke("go")
    assert result["end_reason"] == "corrections"
    assert len(kinds(result["messages"])) == 9


def test_RETRY_07_a_turn_with_one_call_that_runs_begins_the_count_anew() -> None:
    right = {"name": "search", "args": {"query": "bees"}}
    turns = iter([[WRONG_NAME], [WRONG_NAME, right], [WRONG_NAME], [right], []])

    def reply(messages: Sequence[Any]) -> AIMessage:
        calls = [{**call, "id": f"c{len(messages)}.{i}"} for i, call in enumerate(next(turns))]
        return AIMessage("done", tool_calls=calls)

    finding = tool(read_only=True)(search)
    result = create_agent(FunctionModel(reply), [finding], limits=Limits(corrections=2)).invoke("go")
    assert result["end_reason"] == "answer"


# -- RETRY-08 --------------------------------------------------------------------------------------------------------


def interrupted(**options: Any) -> tuple[list[int], ToolMessage]:
    """What ran, and the answer of a second run, where the first was cut off after the effect and before its end."""
    ran: list[int] = []

    @tool(**options)
    async def pay(amount: int) -> str:
        """Pay."""
        ran.append(amount)
        if len(ran) == 1:
            await asyncio.Event().wait()
        return "paid"

    call = {"id": "c", "name": "pay", "args": {"amount": 5}}
    turn = [HumanMessage("pay"), AIMessage(id="m", tool_calls=[call])]
    node = ToolNode([pay], journal=MemoryJournal())

    async def both() -> ToolMessage:
        first = asyncio.ensure_future(node.ainvoke(turn))
        await comes_true(lambda: bool(ran))
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        (answer,) = await node.ainvoke(turn)
        assert isinstance(answer, ToolMessage)
        return answer

    return ran, asyncio.run(both())


def test_RETRY_08_a_call_that_had_begun_before_a_crash_is_not_run_again_blindly() -> None:
    ran, answer = interrupted()
    assert ran == [5]
    assert kinds([answer]) == ["unknown_outcome"]
    assert "It may have happened" in answer.text


@pytest.mark.parametrize("options", [{"idempotent": True}, {"read_only": True}])
def test_RETRY_08_it_is_run_again_where_that_is_safe(options: dict[str, bool]) -> None:
    ran, answer = interrupted(**options)
    assert ran == [5, 5]
    assert answer.text == "paid"
