"""ERR: what becomes of failures, and who is told what of them."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Callable
from typing import Annotated, Any, NoReturn, Self

import pytest
from pydantic import BaseModel, model_validator

from support.liveness import comes_true, soon
from surehand import (
    AIMessage,
    HumanMessage,
    InjectedState,
    InjectedStore,
    InjectedToolArg,
    InMemoryStore,
    ModelRetry,
    Outcome,
    Store,
    Tell,
    ToolException,
    ToolMessage,
    ToolNode,
    ToolTimedOut,
    check_transcript,
    create_agent,
    tool,
)
from surehand.dialects import anthropic_messages, openai_chat
from surehand.events import CallFinished, CallStarted, Event, LateResult
from surehand.shapes import items_of
from surehand.testing import ScriptedModel

Door = Callable[..., list[ToolMessage]]


def _sync(node: ToolNode, state: Any, **options: Any) -> list[ToolMessage]:
    return _new_messages(node.invoke(state, **options))


def _async(node: ToolNode, state: Any, **options: Any) -> list[ToolMessage]:
    return _new_messages(asyncio.run(node.ainvoke(state, **options)))


def _new_messages(update: Any) -> list[ToolMessage]:
    return items_of(update) or list(update["messages"])


doors = pytest.mark.parametrize("door", [_sync, _async], ids=["sync", "async"])


def _turn(*calls: str | tuple[str, Any]) -> AIMessage:
    pairs: list[tuple[str, Any]] = [(call, {}) if isinstance(call, str) else call for call in calls]
    return AIMessage(tool_calls=[{"id": f"c{n}", "name": name, "args": args} for n, (name, args) in enumerate(pairs)])


def _raising(error: BaseException | type[BaseException], *, is_async: bool, name: str = "t", **options: Any) -> Any:
    """A tool that raises."""

    def body() -> NoReturn:
        raise error

    async def abody() -> NoReturn:
        raise error

    return tool(name, description="Raise.", **options)(abody if is_async else body)


bodies = pytest.mark.parametrize("is_async", [False, True], ids=["def", "async def"])


@tool
def fine() -> str:
    """Succeed."""
    return "fine"


def _answers_on(error: BaseException) -> list[ToolMessage]:
    return list(vars(error)["tool_messages"])


def _outcome(answer: ToolMessage) -> Outcome:
    assert answer.outcome is not None
    return answer.outcome


# -- ERR-01 -----------------------------------------------------------------------------------------------------------


@doors
@bodies
def test_ERR_01_a_tool_that_raises_is_answered_like_any_other_call(door: Door, *, is_async: bool) -> None:
    node = ToolNode([_raising(ValueError("boom"), is_async=is_async), fine])
    failed, other = door(node, [_turn("t", "fine")])

    assert (failed.tool_call_id, failed.status, other.text) == ("c0", "error", "fine")
    assert failed.text.startswith("ValueError: boom")


def test_ERR_01_an_agent_goes_on_after_a_tool_that_raises() -> None:
    model = ScriptedModel([_turn("t"), AIMessage("never mind")])
    result = create_agent(model, [_raising(ValueError("boom"), is_async=False)]).invoke("go")

    assert result["messages"][-1].text == "never mind"
    assert "ValueError: boom" in model.requests[1].messages[-1].text


@doors
@bodies
def test_ERR_01_an_exception_gets_out_where_the_host_asks_for_it(door: Door, *, is_async: bool) -> None:
    error = ValueError("boom")
    node = ToolNode([_raising(error, is_async=is_async)], handle_tool_errors=False)

    with pytest.raises(ValueError, match="boom") as caught:
        door(node, [_turn("t")])
    assert caught.value is error


# -- ERR-03 -----------------------------------------------------------------------------------------------------------


class Bounds(BaseModel):
    """A rule about two fields."""

    lo: int
    hi: int

    @model_validator(mode="after")
    def in_order(self) -> Self:
        """Low does not exceed high."""
        if self.lo > self.hi:
            raise ValueError("lo must be <= hi")
        return self


@tool(args_schema=Bounds)
def between(lo: int, hi: int) -> str:
    """Pick a number."""
    return f"{lo}..{hi}"


@doors
def test_ERR_03_a_rule_about_all_arguments_is_reported_with_its_reason(door: Door) -> None:
    (answer,) = door(ToolNode([between]), [_turn(("between", {"lo": 5, "hi": 1}))])

    assert _outcome(answer).kind == "invalid_arguments"
    assert "$: lo must be <= hi" in answer.text


class Silent(Exception):
    """Says nothing."""

    def __str__(self) -> str:
        return " "


@doors
@pytest.mark.parametrize("error", [Silent(), ToolException(""), ModelRetry(" "), TimeoutError(), AssertionError()])
def test_ERR_03_no_error_text_is_ever_blank(door: Door, error: Exception) -> None:
    (answer,) = door(ToolNode([_raising(error, is_async=False)]), [_turn("t")])

    assert len(answer.text.split()) >= 3


# -- ERR-04 -----------------------------------------------------------------------------------------------------------

INSIDE = "tenant-0042-north"


@tool
def report(
    year: int,
    state: Annotated[dict[str, Any], InjectedState],
    tenant: Annotated[str, InjectedToolArg],
    store: Annotated[Store, InjectedStore],
) -> str:
    """Make a report."""
    raise ValueError(f"{tenant} has no report of {year}")


@doors
@pytest.mark.parametrize("year", ["abc", 2026], ids=["refused", "failed"])
def test_ERR_04_what_is_injected_stays_out_of_everything_that_leaves(door: Door, year: Any) -> None:
    node = ToolNode([report], store=InMemoryStore())
    state = {"messages": [_turn(("report", {"year": year}))], "api_token": INSIDE}
    (answer,) = door(node, state, context={"tenant": INSIDE})

    left = f"{answer.text} {answer!r} {answer.artifact!r} {answer.outcome!r}"
    assert answer.status == "error"
    assert str(year) in answer.text
    assert INSIDE not in left
    assert [name for name in ("state", "tenant", "store", "api_token") if name in left] == []


# -- ERR-06 -----------------------------------------------------------------------------------------------------------


@doors
@bodies
def test_ERR_06_an_unexpected_exception_is_its_class_and_its_cleaned_message(
    door: Door, caplog: pytest.LogCaptureFixture, *, is_async: bool
) -> None:
    caplog.set_level(logging.DEBUG, logger="surehand")
    error = RuntimeError("pg://u:pw-12345@h/db refused, see /srv/app/db.py")
    (answer,) = door(ToolNode([_raising(error, is_async=is_async)]), [_turn("t")])

    told = f"RuntimeError: pg://[redacted]@h/db refused, see [redacted] [error {_outcome(answer).error_id}]"
    assert answer.text == told
    assert f"RuntimeError at {__file__}" in caplog.text
    assert str(_outcome(answer).error_id) in caplog.text
    assert "Traceback" in caplog.text


@doors
def test_ERR_06_a_host_can_word_what_leaves_by_itself(door: Door) -> None:
    def scrub(error: Exception) -> str:
        return str(error).replace("Liv", "the customer")

    node = ToolNode([_raising(RuntimeError("no account of Liv"), is_async=False)], handle_tool_errors=scrub)
    (answer,) = door(node, [_turn("t")])

    assert answer.text == "no account of the customer"


# -- ERR-07 -----------------------------------------------------------------------------------------------------------


@doors
@bodies
def test_ERR_07_an_authors_words_arrive_word_for_word(door: Door, *, is_async: bool) -> None:
    words = "unknown column foo in /reports/sales; password: ask Bob\n\nTry: bar, baz."
    (answer,) = door(ToolNode([_raising(ToolException(words), is_async=is_async)]), [_turn("t")])

    assert answer.text == words


class Private(Exception):
    """Its text is nobody's business."""


class Public(Private):
    """Its text may be told."""


def _missing(_: Exception) -> str:
    return "Something is missing."


@doors
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (Private("a b c"), "Private: its text is not shown."),
        (Public("at /srv/x.py"), "at /srv/x.py"),
        (KeyError("x"), "Something is missing."),
        (ValueError("a b c"), "ValueError: a b c"),
    ],
)
@pytest.mark.parametrize("where", ["node", "tool", "override"])
def test_ERR_07_how_much_is_told_can_differ_by_class(door: Door, error: Exception, text: str, where: str) -> None:
    rules: dict[type[Exception], Any] = {Private: Tell.CLASS_ONLY, Public: Tell.VERBATIM, LookupError: _missing}
    own: dict[str, Any] = {"handle_tool_errors": rules} if where == "tool" else {}
    given = _raising(error, is_async=False, **own)
    options: dict[str, Any] = {
        "node": {"handle_tool_errors": rules},
        "tool": {},
        "override": {"overrides": {"t": {"handle_tool_errors": rules}}, "handle_tool_errors": "of the node"},
    }
    (answer,) = door(ToolNode([given], **options[where]), [_turn("t")])

    is_left_over = type(error) is ValueError and where == "override"
    assert answer.text.startswith("of the node" if is_left_over else text)


# -- ERR-08 -----------------------------------------------------------------------------------------------------------


@tool
async def in_a_group(error: str) -> None:
    """Raise in a task group, inside another."""
    errors: dict[str, Exception] = {
        "timeout": TimeoutError(),
        "value": ValueError("no such row"),
        "tool": ToolException("ask for a date"),
    }

    async def fail() -> None:
        raise errors[error]

    async with asyncio.TaskGroup() as outer:
        outer.create_task(fail())
        async with asyncio.TaskGroup() as inner:
            inner.create_task(asyncio.sleep(0))


@doors
@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        ("timeout", "timeout", "TimeoutError: it took too long."),
        ("value", "exception", "ValueError: no such row"),
        ("tool", "tool_error", "ask for a date"),
    ],
)
def test_ERR_08_a_group_is_opened_down_to_what_happened(door: Door, error: str, kind: str, text: str) -> None:
    (answer,) = door(ToolNode([in_a_group]), [_turn(("in_a_group", {"error": error}))])

    assert (_outcome(answer).kind, answer.text.startswith(text)) == (kind, True)


GROUPS: list[tuple[BaseException, str, list[str]]] = [
    (
        ExceptionGroup("", [ExceptionGroup("", [TimeoutError("slow"), TimeoutError()])]),
        "timeout",
        ["TimeoutError: slow"],
    ),
    (ExceptionGroup("", [ToolException("a"), ToolException("b")]), "tool_error", ["- a", "- b"]),
    (ExceptionGroup("", [ToolException("a"), ModelRetry("b")]), "tool_error", ["- a", "- b"]),
    (ExceptionGroup("", [ModelRetry("a"), ModelRetry("b")]), "invalid_arguments", ["- a", "- b"]),
    (ExceptionGroup("", [ToolException("a"), ValueError("b")]), "exception", ["- a", "- ValueError: b"]),
    (BaseExceptionGroup("", [asyncio.CancelledError(), TimeoutError()]), "timeout", ["TimeoutError: it took"]),
    (BaseExceptionGroup("", [SystemExit(1), ValueError("b")]), "exception", ["SystemExit", "ValueError: b"]),
    (ExceptionGroup("", [ValueError(n) for n in range(500)]), "exception", ["500 errors", "and 480 more"]),
]


@doors
@bodies
@pytest.mark.parametrize(("error", "kind", "parts"), GROUPS)
def test_ERR_08_all_that_is_in_a_group_is_told(
    door: Door, error: BaseException, kind: str, parts: list[str], *, is_async: bool
) -> None:
    (answer,) = door(ToolNode([_raising(error, is_async=is_async)]), [_turn("t")])

    assert _outcome(answer).kind == kind
    assert [part for part in parts if part not in answer.text] == []


@doors
def test_ERR_08_a_group_of_failures_that_did_not_happen_is_tried_again(door: Door) -> None:
    attempts: list[int] = []

    @tool
    async def work() -> str:
        """Fail once."""
        attempts.append(1)
        if len(attempts) == 1:
            raise ExceptionGroup("", [ToolException("a", retryable=True, retry_after=0.001)])
        return "done"

    (answer,) = door(ToolNode([work]), [_turn("work")])

    assert (answer.text, _outcome(answer).attempts) == ("done", 2)


@doors
def test_ERR_08_the_group_itself_gets_out_where_the_host_asks_for_it(door: Door) -> None:
    error = ExceptionGroup("g", [ValueError("a")])
    with pytest.raises(ExceptionGroup) as caught:
        door(ToolNode([_raising(error, is_async=False)], handle_tool_errors={ValueError: False}), [_turn("t")])
    assert caught.value is error


# -- ERR-10 -----------------------------------------------------------------------------------------------------------


@doors
@bodies
@pytest.mark.parametrize("error", [KeyboardInterrupt, BaseExceptionGroup("", [KeyboardInterrupt()])])
def test_ERR_10_ctrl_c_goes_up_when_the_siblings_are_cleared_away(door: Door, error: Any, *, is_async: bool) -> None:
    ended: list[str] = []

    @tool
    async def sibling() -> None:
        """Work until it is told to stop."""
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("sibling")

    node = ToolNode([sibling, _raising(error, is_async=is_async)])
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - which of the two it is stands in the next line
        door(node, [_turn("sibling", "t")])
    assert isinstance(caught.value, error if isinstance(error, type) else type(error))
    assert ended == ["sibling"]


@bodies
def test_ERR_10_an_exit_inside_of_a_tool_is_that_calls_failure(*, is_async: bool) -> None:
    failed, other = _sync(ToolNode([_raising(SystemExit(2), is_async=is_async), fine]), [_turn("t", "fine")])

    assert (_outcome(failed).kind, other.text) == ("exception", "fine")


def test_ERR_10_a_cancellation_from_outside_goes_up_and_leaves_a_whole_transcript() -> None:
    begun: list[str] = []
    ended: list[str] = []

    @tool
    async def working() -> None:
        """Work until it is told to stop."""
        begun.append("working")
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("working")

    async def main() -> list[ToolMessage]:
        task = asyncio.ensure_future(ToolNode([working, fine]).ainvoke([turn]))
        await comes_true(lambda: bool(begun))
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        return _answers_on(caught.value)

    turn = _turn("working", "fine")
    answers = asyncio.run(main())
    assert ended == ["working"]
    assert check_transcript([HumanMessage("go"), turn, *answers]) == []


# -- ERR-12 -----------------------------------------------------------------------------------------------------------


class AuthError(Exception):
    """Whoever goes on is not meant to."""


@doors
@bodies
@pytest.mark.parametrize("wrapped", [False, True], ids=["bare", "in a group"])
def test_ERR_12_a_fatal_exception_ends_the_run_and_carries_the_answers(
    door: Door, *, is_async: bool, wrapped: bool
) -> None:
    error: Exception = AuthError("expired")
    raised = ExceptionGroup("g", [error]) if wrapped else error
    ended: list[str] = []
    events: list[Event] = []
    begun = threading.Event()

    @tool
    async def sibling() -> None:
        """Work until it is told to stop."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("sibling")

    def others_are_there() -> bool:
        return begun.is_set() and any(isinstance(event, CallFinished) for event in events)

    async def late() -> NoReturn:
        await comes_true(others_are_there)
        raise raised

    def late_on_a_thread() -> NoReturn:
        assert soon(others_are_there, within=20)
        raise raised

    given = tool("late", description="Fail later.")(late if is_async else late_on_a_thread)
    node = ToolNode([fine, sibling, given], fatal=(AuthError,), listener=events.append)
    with pytest.raises(type(raised)) as caught:
        door(node, [_turn("fine", "sibling", "late")])

    messages = _answers_on(caught.value)
    assert caught.value is raised
    assert ended == ["sibling"]
    assert [message.tool_call_id for message in messages] == ["c0", "c1", "c2"]
    assert messages[0].text == "fine"


def _in_brackets(error: Exception) -> str:
    return f"<{error}>"


@doors
@pytest.mark.parametrize("where", ["node", "tool", "override"])
def test_ERR_12_what_is_told_raised_or_translated_is_decided_by_tool_and_type(door: Door, where: str) -> None:
    rules: dict[type[Exception], Any] = {
        AuthError: False,
        TimeoutError: "Ask for less.",
        ValueError: _in_brackets,
    }
    options = {"handle_tool_errors": rules} if where == "tool" else {}
    tools = [
        _raising(error, is_async=False, name=name, **options)
        for name, error in {"auth": AuthError(), "slow": TimeoutError(), "value": ValueError("v")}.items()
    ]
    of_node: dict[str, Any] = {
        "node": {"handle_tool_errors": rules},
        "tool": {"handle_tool_errors": {AuthError: False}},
        "override": {"overrides": {given.name: {"handle_tool_errors": rules} for given in tools}},
    }
    node = ToolNode(tools, **of_node[where])

    slow, value = door(node, [_turn("slow", "value")])
    assert (slow.text, value.text) == ("Ask for less.", "<v>")
    with pytest.raises(AuthError) as caught:
        door(node, [_turn("auth", "value")])
    assert [message.status for message in _answers_on(caught.value)] == ["error", "error"]


@doors
@bodies
def test_ERR_12_a_time_that_is_over_meets_the_rule_for_timeouts_and_is_raised_as_one(
    door: Door, *, is_async: bool
) -> None:
    over = threading.Event()

    async def slow() -> None:
        await asyncio.Event().wait()

    def slow_on_a_thread() -> None:
        over.wait(20)

    given = tool("slow", description="Take too long.", timeout=0.02)(slow if is_async else slow_on_a_thread)
    (answer,) = door(ToolNode([given], handle_tool_errors={TimeoutError: "Try a smaller range."}), [_turn("slow")])
    assert (_outcome(answer).kind, answer.text) == ("timeout", "Try a smaller range.")
    with pytest.raises(TimeoutError) as caught:
        door(ToolNode([given], handle_tool_errors=False), [_turn("slow")])
    over.set()
    assert isinstance(caught.value, ToolTimedOut)


# -- ERR-13 -----------------------------------------------------------------------------------------------------------

FAILURES: list[tuple[str, Any]] = [
    ("t", {}),
    ("nobody", {}),
    ("between", {"lo": 5, "hi": 1}),
    ("between", "{"),
    ("denied", {}),
    ("nothing", {}),
]


@tool(requires_approval=True)
def denied() -> None:
    """Never allowed."""


@tool
def nothing() -> None:
    """Return nothing."""


@doors
@pytest.mark.parametrize("call", FAILURES, ids=str)
def test_ERR_13_the_next_request_is_well_formed_whatever_failed(door: Door, call: tuple[str, Any]) -> None:
    turn = _turn(call)
    tools = [_raising(ValueError(), is_async=False), between, denied, nothing]
    answers = door(ToolNode(tools), [turn])
    history = [HumanMessage("go"), turn, *answers]

    assert check_transcript(history) == []
    request: list[dict[str, Any]] = json.loads(json.dumps(openai_chat.write_messages(history)))
    assert [entry["content"].strip() != "" for entry in request if entry["role"] == "tool"] == [True]
    assert '"tool_result"' in json.dumps(anthropic_messages.write_messages(history))


# -- ERR-15 -----------------------------------------------------------------------------------------------------------


@tool
async def own_cancellation() -> NoReturn:
    """Cancel itself."""
    raise asyncio.CancelledError


@tool(timeout=0.02)
async def never() -> None:
    """Take too long."""
    await asyncio.Event().wait()


@doors
def test_ERR_15_each_announced_start_has_one_announced_end(door: Door) -> None:
    events: list[Event] = []
    calls: list[tuple[str, Any]] = [*FAILURES, ("fine", {}), ("never", {}), ("own_cancellation", {})]
    tools = [_raising(ValueError(), is_async=False), between, denied, nothing, fine, never, own_cancellation]
    door(ToolNode(tools, listener=events.append), [_turn(*calls)])

    ids = [f"c{n}" for n in range(len(calls))]
    assert sorted(event.call_id for event in events if isinstance(event, CallStarted)) == sorted(ids)
    assert sorted(event.call_id for event in events if isinstance(event, CallFinished)) == sorted(ids)
    for call_id in ids:
        mine = [type(event) for event in events if event.call_id == call_id and not isinstance(event, LateResult)]
        assert (mine[0], mine[-1]) == (CallStarted, CallFinished)


def test_ERR_15_calls_that_are_cancelled_have_an_end_too() -> None:
    events: list[Event] = []

    async def main() -> None:
        node = ToolNode([never.with_config(timeout=None), fine], listener=events.append)
        task = asyncio.ensure_future(node.ainvoke([_turn("never", "fine")]))
        await comes_true(lambda: any(isinstance(event, CallFinished) for event in events))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    finished = {event.call_id: event.outcome.kind for event in events if isinstance(event, CallFinished)}
    assert finished == {"c0": "cancelled", "c1": None}


@doors
def test_ERR_15_a_call_whose_exception_gets_out_has_an_end_too(door: Door) -> None:
    events: list[Event] = []
    node = ToolNode([_raising(ValueError(), is_async=False)], handle_tool_errors=False, listener=events.append)
    with pytest.raises(ValueError, match=r"^$"):
        door(node, [_turn("t")])
    assert [type(event) for event in events] == [CallStarted, CallFinished]
