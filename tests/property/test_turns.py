"""Whatever a model asks for, whatever tools do, however a turn is run and broken off: one answer per call, in order."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surehand import (
    AIMessage,
    CircuitBreaker,
    HumanMessage,
    Limits,
    MemoryJournal,
    ModelRetry,
    RateLimit,
    ResultCache,
    ResultShelf,
    SingleFlight,
    ToolContext,
    ToolException,
    ToolMessage,
    ToolNode,
    check_transcript,
    tool,
)
from surehand.events import CallFinished, CallStarted
from surehand.shapes import is_object
from surehand.testing import EventLog, FakeClock, faults, record_events

ERRORS: dict[str, Callable[[], BaseException]] = {
    "value": lambda: ValueError("no such value"),
    "mute": ValueError,
    "told": lambda: ToolException("told"),
    "busy": lambda: ToolException("busy", retryable=True),
    "wrong": lambda: ModelRetry("other arguments, please"),
    "exit": lambda: SystemExit(3),
    "memory": MemoryError,
    "recursion": RecursionError,
    "cancelled": asyncio.CancelledError,
    "stop": StopIteration,
    "late": TimeoutError,
    "group": lambda: ExceptionGroup("several", [ValueError("a"), OSError("b")]),
    "foreign": lambda: BaseException("foreign"),
}


def _error(how: str) -> BaseException:
    return ERRORS.get(how, KeyError)()


@dataclass
class Bench:
    """The tools of one example, and what their bodies saw."""

    clock: FakeClock = field(default_factory=lambda: FakeClock(autojump=0.002))
    hang: faults.Hang = field(default_factory=faults.hang)
    bodies: Counter[str] = field(default_factory=Counter[str])
    """How often the body of each call was entered."""
    alone: int = 0
    """How many exclusive bodies are running."""
    crowd: int = 0
    """How many other asynchronous bodies are running."""
    was_disturbed: bool = False

    def tools(self) -> list[Any]:
        return [*self._plain(), *self._places(), *self._broken()]

    def _plain(self) -> Iterator[Any]:
        @tool
        def add(a: int, ctx: ToolContext, b: int = 1) -> int:
            """Add two numbers on a thread."""
            self.bodies[ctx.call_id] += 1
            return a + b

        @tool
        async def aadd(a: int, ctx: ToolContext, b: int = 1) -> int:
            """Add two numbers on the loop."""
            self.bodies[ctx.call_id] += 1
            self.crowd += 1
            await asyncio.sleep(0)
            self.was_disturbed |= self.alone > 0
            self.crowd -= 1
            return a + b

        @tool
        def fail(how: str, ctx: ToolContext) -> str:
            """Raise on a thread."""
            self.bodies[ctx.call_id] += 1
            raise _error(how)

        @tool
        async def afail(how: str, ctx: ToolContext) -> str:
            """Raise on the loop."""
            self.bodies[ctx.call_id] += 1
            raise _error(how)

        @tool
        async def leave() -> str:
            """Cancel the task that it runs in."""
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(0)
            return "left"

        @tool(read_only=True)
        def items(number: int) -> Any:
            """Yield on a thread."""
            yield from range(number)

        @tool(read_only=True)
        async def aitems(number: int) -> Any:
            """Yield on the loop."""
            for item in range(number):
                await asyncio.sleep(0)
                yield item

        yield from (add, aadd, fail, afail, leave, items, aitems)

    def _places(self) -> Iterator[Any]:
        @tool(exclusive=True)
        async def alone(ctx: ToolContext) -> str:
            """Run while nothing else does."""
            self.bodies[ctx.call_id] += 1
            self.alone += 1
            self.was_disturbed |= self.crowd > 0 or self.alone > 1
            await asyncio.sleep(0)
            self.alone -= 1
            return "alone"

        @tool(exclusive=lambda args: [args.path])
        async def lock(path: str) -> str:
            """Run while nothing else has the path."""
            await asyncio.sleep(0)
            return path

        @tool(concurrency=1, group="few")
        async def few(number: int) -> int:
            """Run one at a time."""
            await asyncio.sleep(0)
            return number

        @tool(rate_limit=RateLimit(2, per=5), read_only=True)
        async def paced(number: int) -> int:
            """Run twice in five seconds at most."""
            await asyncio.sleep(0)
            return number

        @tool(requires_approval=True)
        def pay(amount: int, ctx: ToolContext) -> str:
            """Pay, if somebody agrees."""
            self.bodies[ctx.call_id] += 1
            return f"paid {amount}"

        yield from (alone, lock, few, paced, pay)

    def _broken(self) -> Iterator[Any]:
        def whole() -> str:
            return "whole"

        async def awhole() -> str:
            return "whole"

        for kind, body in (("", whole), ("a", awhole)):
            yield self.hang.on(tool(f"{kind}hang")(body))
            yield faults.huge(300_000).on(tool(f"{kind}huge")(body))
            yield faults.flaky(2).on(tool(f"{kind}flaky")(body))
            yield faults.slow(7, clock=self.clock).on(tool(f"{kind}slow")(body))
            yield faults.garbage().on(tool(f"{kind}garbage")(body))
        yield faults.hang(ignores=1).on(tool("stubborn", timeout=3)(awhole))


NUMBERS = st.integers(-9, 9)
TEXTS = st.text(st.characters(codec=None, exclude_categories=()), max_size=8)  # lone surrogates included
WITHOUT_ARGUMENTS = ["alone", "leave", "stubborn"] + [
    f"{kind}{name}" for kind in ("", "a") for name in ("hang", "huge", "flaky", "slow", "garbage")
]
VALID: dict[str, st.SearchStrategy[Any]] = {
    "add": st.fixed_dictionaries({"a": NUMBERS}, optional={"b": NUMBERS}),
    "aadd": st.fixed_dictionaries({"a": NUMBERS}, optional={"b": NUMBERS}),
    "fail": st.fixed_dictionaries({"how": st.sampled_from(sorted(ERRORS))}),
    "afail": st.fixed_dictionaries({"how": st.sampled_from(sorted(ERRORS))}),
    "items": st.fixed_dictionaries({"number": st.integers(0, 3)}),
    "aitems": st.fixed_dictionaries({"number": st.integers(0, 3)}),
    "lock": st.fixed_dictionaries({"path": st.sampled_from(["x", "y"])}),
    "few": st.fixed_dictionaries({"number": NUMBERS}),
    "paced": st.fixed_dictionaries({"number": NUMBERS}),
    "pay": st.fixed_dictionaries({"amount": NUMBERS}),
    **{name: st.sampled_from([{}, None, "", "null"]) for name in WITHOUT_ARGUMENTS},
}
NAMES = st.sampled_from(sorted(VALID))
ODD_NAMES = st.sampled_from(["Add", " aadd ", "functions.few", "ad", "nosuch", "", None]) | TEXTS
ODD_ARGUMENTS = (
    st.sampled_from(
        ['{"a": 1', "{'a': 1}", '{"a": 1}{"a": 2}', "a=1", "[1]", [1], 5, {"a": "one"}, {"b": 1}, {"a": None}, '"{}"']
    )
    | TEXTS
    | st.dictionaries(TEXTS, st.none() | NUMBERS | TEXTS, max_size=3)
)
IDS = st.sampled_from(["same", "", None, 7, "\ud800"]) | st.text("abc", min_size=1, max_size=3)


def called(name: Any, arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"name": st.just(name), "args": arguments}, optional={"id": IDS})


VALID_CALLS = NAMES.flatmap(lambda name: called(name, VALID[name]))
ODDLY_NAMED = ODD_NAMES.flatmap(lambda name: called(name, VALID["add"]))
ODD_CALLS = NAMES.flatmap(lambda name: called(name, ODD_ARGUMENTS))
ANY_CALL = st.sampled_from([VALID_CALLS] * 4 + [ODDLY_NAMED, ODD_CALLS]).flatmap(lambda calls: calls)
CALLS = st.lists(ANY_CALL, min_size=3, max_size=9) | st.lists(ANY_CALL, max_size=2)


# -- how a turn is run -----------------------------------------------------------------------------------------------


def straight(request: Any, run: Any) -> Any:
    return run(request)


async def astraight(request: Any, run: Any) -> Any:
    return await run(request)


def short_cut(request: Any, run: Any) -> Any:
    return "from the cache" if request.tool_call["name"] in {"add", "alone"} else run(request)


async def broken(request: Any, run: Any) -> Any:
    answer = await run(request)
    if request.tool_call["name"] in {"aadd", "few"}:
        raise RuntimeError("the auditor is out")
    return answer


def changed(request: Any, run: Any) -> Any:
    return run(request.override(args={"a": 1, "b": 1}) if request.tool_call["name"] == "add" else request)


MIDDLEWARE: dict[str, Callable[[], Any]] = {
    "straight": lambda: straight,
    "astraight": lambda: astraight,
    "short cut": lambda: short_cut,
    "broken": lambda: broken,
    "changed": lambda: changed,
    "cache": ResultCache,
    "flight": SingleFlight,
}


class BrokenJournal(MemoryJournal):
    """Loses its disk after some entries."""

    def __init__(self, entries: int) -> None:
        super().__init__()
        self._left = entries

    async def begin(self, key: Any, after: int | None) -> bool:
        self._use()
        return await super().begin(key, after)

    async def finish(self, key: Any, answer: ToolMessage, command: Any = None, *, was_raised: bool = False) -> None:
        self._use()
        await super().finish(key, answer, command, was_raised=was_raised)

    def _use(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise OSError(28, "No space left on device")


def agree(_: str, arguments: Any) -> bool | str:
    return arguments["amount"] > 0 or "Too little."


Door = Literal["invoke", "ainvoke", "invoke in a loop", "cancelled"]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One turn, and how it is run."""

    calls: list[dict[str, Any]]
    finish_reason: str | None
    door: Door
    steps: int
    """After how many rounds of the loop the caller is cancelled."""
    width: int | None
    is_sequential: bool
    stops: bool
    middleware: list[str]
    journal_entries: int | None
    approves: bool
    rule: Any
    limits: Limits | None
    max_turn_output: int | None
    has_shelf: bool
    fatal: tuple[type[Exception], ...]
    idle_timeout: float | None
    breaker: CircuitBreaker | None

    @property
    def is_cut_off(self) -> bool:
        return self.finish_reason in {"length", "content_filter"}

    @property
    def is_plain(self) -> bool:
        """Whether nothing is to keep a valid call from its tool."""
        is_whole = self.door != "cancelled" and not (self.is_sequential and self.stops) and not self.fatal
        is_free = self.limits is None and self.breaker is None and self.idle_timeout != 5 and self.approves
        return is_whole and is_free and not self.middleware and self.journal_entries != 3

    def node(self, bench: Bench, events: EventLog) -> ToolNode:
        return ToolNode(
            bench.tools(),
            timeout=20,
            handle_tool_errors=self.rule,
            max_concurrency=self.width,
            groups={"few": 2},
            sequential=self.is_sequential,
            stop_on_failure=self.stops and self.is_sequential,
            limits=self.limits,
            fatal=self.fatal,
            idle_timeout=self.idle_timeout,
            circuit_breaker=self.breaker,
            middleware=[MIDDLEWARE[name]() for name in self.middleware],
            journal=None if self.journal_entries is None else BrokenJournal(self.journal_entries),
            approve=agree if self.approves else None,
            max_turn_output=self.max_turn_output,
            shelf=ResultShelf() if self.has_shelf else None,
            clock=bench.clock,
            listener=events,
        )


DOORS: list[Door] = ["invoke", "ainvoke", "invoke in a loop"]
PLAIN_PLANS = st.builds(
    Plan,
    calls=CALLS,
    finish_reason=st.sampled_from(["tool_calls", None]),
    door=st.sampled_from(DOORS),
    steps=st.just(0),
    width=st.sampled_from([None, 1, 3]),
    is_sequential=st.booleans(),
    stops=st.just(value=False),
    middleware=st.just([]),
    journal_entries=st.sampled_from([None, 100]),
    approves=st.just(value=True),
    rule=st.sampled_from([True, False, "It failed.", ValueError]),
    limits=st.none(),
    max_turn_output=st.none(),
    has_shelf=st.booleans(),
    fatal=st.just(()),
    idle_timeout=st.sampled_from([None, 15]),
    breaker=st.none(),
)
WILD_PLANS = st.builds(
    Plan,
    calls=CALLS,
    finish_reason=st.sampled_from(["tool_calls"] * 8 + ["length", "content_filter"]),
    door=st.sampled_from([*DOORS, "cancelled", "cancelled"]),
    steps=st.integers(1, 30),
    width=st.sampled_from([None, 1, 3]),
    is_sequential=st.sampled_from([False, False, True]),
    stops=st.booleans(),
    middleware=st.lists(st.sampled_from(sorted(MIDDLEWARE)), max_size=2),
    journal_entries=st.sampled_from([None, 100, 3]),
    approves=st.booleans(),
    rule=st.sampled_from([True, True, False, "It failed.", ValueError]),
    limits=st.sampled_from([None, None, None, Limits(calls=2), Limits(calls_per_tool=1)]),
    max_turn_output=st.sampled_from([200_000, None, 1_000]),
    has_shelf=st.booleans(),
    fatal=st.sampled_from([(), (), (ValueError,), (ToolException, OSError)]),
    idle_timeout=st.sampled_from([None, None, 5]),
    breaker=st.sampled_from([None, None, CircuitBreaker(failures=1)]),
)
PLANS = PLAIN_PLANS | WILD_PLANS


def run(plan: Plan, node: ToolNode, conversation: list[Any]) -> list[ToolMessage]:
    """The answers of the turn, also where it was cancelled or an exception came out of it."""
    try:
        if plan.door == "invoke":
            answers: list[ToolMessage] = node.invoke(conversation)
        else:
            answers = asyncio.run(_run_in_loop(plan, node, conversation))
    except BaseException as error:
        kept: list[ToolMessage] | None = getattr(error, "tool_messages", None)
        if kept is None:
            raise
        answers = kept
    return answers


async def _run_in_loop(plan: Plan, node: ToolNode, conversation: list[Any]) -> list[ToolMessage]:
    if plan.door == "invoke in a loop":
        inside: list[ToolMessage] = node.invoke(conversation)
        return inside
    turn = asyncio.ensure_future(node.ainvoke(conversation))
    if plan.door == "cancelled":
        for _ in range(plan.steps):
            await asyncio.sleep(0)
        turn.cancel()
    answers: list[ToolMessage] = await turn
    return answers


# -- what holds ------------------------------------------------------------------------------------------------------


def check(plan: Plan) -> None:
    bench, events = Bench(), record_events()
    metadata = {} if plan.finish_reason is None else {"finish_reason": plan.finish_reason}
    message = AIMessage(id="turn", tool_calls=plan.calls, response_metadata=metadata)
    conversation = [HumanMessage("go"), message]
    try:
        answers = run(plan, plan.node(bench, events), conversation)
    finally:
        bench.hang.release()
    check_answers(conversation, answers)
    check_events(events, message, answers)
    check_bodies(plan, bench, answers)


def check_answers(conversation: list[Any], answers: list[ToolMessage]) -> None:
    ids = [call["id"] for call in conversation[-1].tool_calls]
    assert [answer.tool_call_id for answer in answers] == ids
    assert len(set(ids)) == len(ids)
    assert check_transcript([*conversation, *answers]) == []
    for answer in answers:
        assert answer.text.strip()
        answer.text.encode()
        assert answer.outcome is not None
        assert answer.status == answer.outcome.status


def check_events(events: EventLog, message: AIMessage, answers: list[ToolMessage]) -> None:
    """Every call that was taken up has one start and, after it, one finish, which says what its answer says."""
    for call, answer in zip(message.tool_calls, answers, strict=True):
        mine = [event for event in events.about(call["id"]) if isinstance(event, CallStarted | CallFinished)]
        assert [type(event) for event in mine] in ([], [CallStarted, CallFinished])
        for event in mine:
            if isinstance(event, CallFinished) and answer.outcome is not None:
                assert event.outcome.kind == answer.outcome.kind
        if not mine:
            assert answer.outcome is not None
            assert answer.outcome.kind == "cancelled"


NEVER_RUN = frozenset({"truncated", "malformed", "unknown_tool", "denied", "limit", "skipped"})
KINDS = {
    "value": "exception",
    "mute": "exception",
    "told": "tool_error",
    "busy": "tool_error",
    "wrong": "invalid_arguments",
    "exit": "exception",
    "memory": "exception",
    "recursion": "exception",
    "cancelled": "cancelled",
    "stop": "exception",
    "late": "timeout",
    "group": "exception",
    "foreign": "exception",
}


def check_bodies(plan: Plan, bench: Bench, answers: list[ToolMessage]) -> None:
    """Nothing runs that must not, nothing runs more often than it says, and each result is that of its own call."""
    assert not bench.was_disturbed
    for raw, answer in zip(plan.calls, answers, strict=True):
        outcome, entered = answer.outcome, bench.bodies[answer.tool_call_id]
        assert outcome is not None
        assert entered <= max(1, outcome.attempts)
        if str(outcome.kind) in NEVER_RUN:
            assert entered == 0
        if plan.is_cut_off:
            assert outcome.kind == "truncated" or plan.door == "cancelled"
        elif plan.is_plain and raw["name"] in VALID and (is_object(raw["args"]) or raw["args"] is None):
            check_result(raw["name"], raw["args"] or {}, answer)


def check_result(name: str, arguments: Mapping[str, Any], answer: ToolMessage) -> None:
    """In a turn that nothing is meant to disturb, a call that is valid comes to what its tool does."""
    kind = None if answer.outcome is None else answer.outcome.kind
    if kind in {"invalid_arguments", "malformed"} and arguments.get("how") != "wrong":
        return
    if name in {"add", "aadd"}:
        assert answer.text == str(int(arguments["a"]) + int(arguments.get("b", 1)))
    elif name in {"fail", "afail"}:
        assert kind == KINDS.get(arguments["how"], "exception")
    elif name == "pay":
        assert kind == (None if int(arguments["amount"]) > 0 else "denied")
    elif name in {"hang", "ahang", "stubborn"}:
        assert kind == "timeout"
    else:
        assert kind == ("cancelled" if name == "leave" else None)


@pytest.mark.filterwarnings("ignore:A synchronous call was made:RuntimeWarning")
@given(PLANS)
@settings(max_examples=150)
def test_every_call_of_any_turn_has_its_answer(plan: Plan) -> None:
    check(plan)


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.filterwarnings("ignore:A synchronous call was made:RuntimeWarning")
@given(PLANS)
@settings(max_examples=2_000)
def test_every_call_of_very_many_turns_has_its_answer(plan: Plan) -> None:
    check(plan)
