"""Every option that the reference documents changes what happens: each is tried with and without.

One table, so that an option cannot be added, or documented, without its effect being shown.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, Final, cast

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from support.kept import THREAD, answers_in, questions_in, turn_of
from support.kept import kept as kept_graph
from surehand import (
    AIMessage,
    CheckpointError,
    CircuitBreaker,
    Command,
    DoubtfulCall,
    Happened,
    HumanMessage,
    InMemoryStore,
    Limits,
    MemoryJournal,
    MemorySaver,
    NoProgress,
    RateLimit,
    ResultCache,
    ResultShelf,
    RetryPolicy,
    RunConfig,
    ToolContext,
    ToolException,
    ToolMessage,
    ToolNode,
    ToolOptions,
    create_agent,
    tool,
)
from surehand.agent import AgentState, before_model
from surehand.concurrency import SYSTEM_CLOCK
from surehand.integrations.otel import OpenTelemetry
from surehand.policy import DEFAULT_OPTIONS
from surehand.testing import FakeClock, ScriptedModel

PAGE: Final = Path(__file__).parents[2] / "docs" / "reference" / "options.md"
FAST: Final = RetryPolicy(initial_interval=0.001, jitter=False)


def calls(*names: str, **arguments: Any) -> AIMessage:
    """A turn that calls these tools, all with the same arguments."""
    return AIMessage(tool_calls=[{"id": f"c{i}", "name": name, "args": arguments} for i, name in enumerate(names)])


def answers(node: ToolNode, *names: str, **arguments: Any) -> list[ToolMessage]:
    """What a node says to a first turn."""
    return cast("list[ToolMessage]", node.invoke([calls(*names, **arguments)]))


def kind(answer: ToolMessage) -> str:
    """How a call ended, as a word."""
    return "success" if answer.outcome is None or answer.outcome.kind is None else str(answer.outcome.kind)


def kinds(found: list[ToolMessage]) -> list[str]:
    """How calls ended."""
    return [kind(answer) for answer in found]


class Peak:
    """How many bodies run at a time, at most."""

    def __init__(self) -> None:
        self.now = self.most = 0

    async def stay(self) -> str:
        """Be there for a moment."""
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.005)
        self.now -= 1
        return "ok"


def peak(node_options: dict[str, Any], tool_options: dict[str, Any], *, count: int = 4) -> int:
    """How many calls of one tool run at a time."""
    seen = Peak()

    @tool(**tool_options)
    async def busy(x: int = 1) -> str:
        """Be busy."""
        return await seen.stay()

    answers(ToolNode([busy], **node_options), *["busy"] * count)
    return seen.most


def hanging(**options: Any) -> str:
    """How a body ends that never does, on a clock that jumps."""
    options = {"timeout": 1_000, **options}

    @tool(**options)
    async def hang() -> str:
        """Hang."""
        await asyncio.Event().wait()
        return "never"

    return str(answers(ToolNode([hang], clock=FakeClock()), "hang")[0].content).split(". ")[0]


def attempts(policy: RetryPolicy | None, error: Callable[[], Exception], **options: Any) -> int:
    """How often a body is started that always fails, on a clock that jumps."""

    @tool(retry=policy, **options)
    async def failing() -> str:
        """Fail."""
        raise error()

    (answer,) = answers(ToolNode([failing], clock=FakeClock()), "failing")
    assert answer.outcome is not None
    return answer.outcome.attempts


def waits(policy: RetryPolicy, *, count: int = 3) -> list[float]:
    """The waits between attempts."""
    clock = FakeClock()

    @tool(retry=policy)
    async def failing() -> str:
        """Fail, and nothing happened."""
        raise ToolException("busy", retryable=True)

    answers(ToolNode([failing], clock=clock), "failing")
    return clock.sleeps[:count]


def busy_error() -> Exception:
    """Its author's word that nothing happened."""
    return ToolException("busy", retryable=True)


# -- options of a tool -----------------------------------------------------------------------------------------------


def process_of(isolation: str) -> bool:
    """Whether a body runs in this process."""
    node = ToolNode([where], overrides={"where": {"isolation": isolation}})
    return answers(node, "where")[0].content == str(os.getpid())


@tool
def where() -> str:
    """Say which process this is."""
    return str(os.getpid())


def doubtful(**options: Any) -> int:
    """How often a tool is started that fails with a broken connection."""
    return attempts(FAST, lambda: ConnectionResetError("gone"), **options)


def misspelt(**options: Any) -> str:
    """How a call ends whose name is spelled otherwise."""

    @tool(**options)
    def wipe_disk() -> str:
        """Wipe."""
        return "wiped"

    return kind(answers(ToolNode([wipe_disk]), "Wipe-Disk")[0])


def repeated(**options: Any) -> str:
    """How a call ends that succeeded before, word for word."""

    @tool(**options)
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    node = ToolNode([pay])
    first = calls("pay", amount=5)
    (second,) = node.invoke(
        [HumanMessage("pay 5"), first, *node.invoke([HumanMessage("pay 5"), first]), calls("pay", amount=5)]
    )
    return kind(second)


def broken(breaker: CircuitBreaker | None, *, count: int = 3, between: float = 0.0, after: float = 0.0) -> list[str]:
    """How calls of a failing tool end, one after another."""
    clock = FakeClock(autojump=None)

    @tool(circuit_breaker=breaker, idempotent=True)
    async def failing() -> str:
        """Fail."""
        raise ValueError("broken")

    node = ToolNode([failing], clock=clock, no_progress=None)
    found: list[str] = []
    for number in range(count):
        if number and between:
            clock.advance(between)
        if after and number == count - 1:
            clock.advance(after)
        found += kinds(answers(node, "failing"))
    return found


def failing_with(rule: Any) -> str:
    """What is told of an exception."""

    @tool(handle_tool_errors=rule)
    def failing() -> str:
        """Fail."""
        raise ValueError("the reason")

    return str(answers(ToolNode([failing]), "failing")[0].content)


def starts(limit: RateLimit | None) -> float:
    """When the last of four calls has started, on a clock that jumps."""
    clock = FakeClock()

    @tool(rate_limit=limit)
    async def quick() -> str:
        """Answer."""
        return "ok"

    answers(ToolNode([quick], clock=clock), *["quick"] * 4)
    return clock.now()


def asked(**options: Any) -> str:
    """How a call ends that nobody approves."""

    @tool(**options)
    def act() -> str:
        """Act."""
        return "done"

    return kind(answers(ToolNode([act]), "act")[0])


def long_answer(**options: Any) -> int:
    """How long the answer of a long result is."""

    @tool(**options)
    def long() -> str:
        """Give a long text."""
        return "x" * 3_000

    return len(str(answers(ToolNode([long]), "long")[0].content))


def in_group(group: str | None) -> int:
    """How many calls of a group run at a time."""
    return peak({} if group is None else {"groups": {group: 1}}, {"group": group})


def with_two(**options: Any) -> bool:
    """Whether another call runs while this one does."""
    ran: list[str] = []

    @tool(**options)
    async def first() -> str:
        """Take a moment."""
        ran.append("first begins")
        await asyncio.sleep(0.01)
        ran.append("first ends")
        return "ok"

    @tool
    async def second() -> str:
        """Be quick."""
        ran.append("second")
        return "ok"

    answers(ToolNode([first, second]), "first", "second")
    return ran.index("second") < ran.index("first ends")


def expiry(seconds: float | None) -> bool:
    """Whether the question for an approval expires."""

    @tool(requires_approval=True, approval_timeout=seconds)
    def pay() -> str:
        """Pay."""
        return "paid"

    (question,) = questions_in(kept_graph(pay).invoke(turn_of("pay"), THREAD))
    return question.expires_at is not None


def interrupted(**options: Any) -> str:
    """What becomes of a call that was interrupted while it ran."""
    saver = MemorySaver()

    def graph(end: BaseException | None) -> Any:
        @tool(**options)
        def pay() -> str:
            """Pay, unless the program ends."""
            if end is not None:
                raise end
            return "paid"

        return kept_graph(pay, saver=saver)

    with pytest.raises(KeyboardInterrupt):
        graph(KeyboardInterrupt()).invoke(turn_of("pay"), THREAD)
    state = graph(None).invoke(None, THREAD)
    return "asked" if questions_in(state) else answers_in(state)[0].text


def known_before(_: DoubtfulCall) -> Happened:
    """That the call had its effect."""
    return Happened("paid before")


OF_A_TOOL: Final[dict[str, Callable[[], tuple[object, object]]]] = {
    "timeout": lambda: (hanging(timeout=2), hanging(timeout=3)),
    "idle_timeout": lambda: (hanging(idle_timeout=2), hanging(idle_timeout=None)),
    "isolation": lambda: (process_of("process"), process_of("thread")),
    "retry": lambda: (attempts(FAST, busy_error), attempts(None, busy_error)),
    "idempotent": lambda: (doubtful(idempotent=True), doubtful()),
    "read_only": lambda: (doubtful(read_only=True), doubtful()),
    "destructive": lambda: (misspelt(destructive=True), misspelt()),
    "exclusive": lambda: (with_two(exclusive=True), with_two()),
    "concurrency": lambda: (peak({}, {"concurrency": 2}), peak({}, {})),
    "group": lambda: (in_group("db"), in_group(None)),
    "rate_limit": lambda: (starts(RateLimit(2, per=10)), starts(None)),
    "circuit_breaker": lambda: (broken(CircuitBreaker(failures=2)), broken(None)),
    "repeat_guard": lambda: (repeated(), repeated(repeat_guard=False)),
    "requires_approval": lambda: (asked(requires_approval=True), asked()),
    "approval_timeout": lambda: (expiry(60), expiry(None)),
    "reconcile": lambda: (interrupted(reconcile=known_before), interrupted()),
    "on_unknown": lambda: (interrupted(on_unknown="ask"), interrupted()),
    "max_output": lambda: (long_answer(max_output=500), long_answer()),
    "handle_tool_errors": lambda: (failing_with("It failed."), failing_with(True)),
}


# -- options of a node -----------------------------------------------------------------------------------------------


@tool
def echo(text: str = "hello") -> str:
    """Say it again."""
    return text


@tool
def oops() -> str:
    """Fail."""
    raise ValueError("oops")


@tool
def mover() -> Any:
    """Move on."""
    return Command(goto="elsewhere")


@tool
def kept(store: Any = None) -> str:
    """Say what is in store."""
    return str(store)


def under(key: str) -> list[str]:
    """The keys of the update for a state whose messages stand under "log"."""
    try:
        return list(ToolNode([echo], messages_key=key).invoke({"log": [calls("echo")]}))
    except Exception as error:  # noqa: BLE001 - the effect that is looked for
        return [type(error).__name__]


def logged(tags: list[str] | None) -> list[tuple[str, ...]]:
    """The tags in the log records of a failing call."""
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign,assignment]  # a handler in one line
    logger = logging.getLogger("surehand.calls")
    logger.addHandler(handler)
    try:
        answers(ToolNode([oops], tags=tags), "oops")
    finally:
        logger.removeHandler(handler)
    return [record.__dict__["node_tags"] for record in records]


def order(node_options: dict[str, Any]) -> tuple[int, list[str]]:
    """How many calls run at a time, and how each of them ends, where one fails."""
    seen = Peak()

    @tool
    async def busy() -> str:
        """Be busy."""
        return await seen.stay()

    found = answers(ToolNode([busy, oops], **node_options), "busy", "oops", "busy")
    return seen.most, kinds(found)


def deadly(fatal: Any) -> str:
    """What comes of a turn in which a tool raises."""
    try:
        return kinds(answers(ToolNode([oops], fatal=fatal), "oops"))[0]
    except ValueError:
        return "raised"


def over(limits: Limits | None, *, turns: int = 1, clock: FakeClock | None = None) -> list[str]:
    """How the two calls of a turn end, after some turns that were like it."""

    @tool(repeat_guard=False)
    def step(number: int) -> str:
        """Take a step."""
        return f"step {number}"

    node = ToolNode([step], limits=limits, no_progress=None)
    messages: list[Any] = [HumanMessage("go")]
    found: list[ToolMessage] = []
    for turn in range(turns):
        entries = [{"id": f"t{turn}c{i}", "name": "step", "args": {"number": 2 * turn + i}} for i in range(2)]
        messages.append(AIMessage(tool_calls=entries))
        found = node.invoke(messages)
        messages += found
    return kinds(found)


def same_again(policy: NoProgress | None, *, turns: int) -> tuple[str, bool]:
    """How the last of several equal calls ends, and whether it is remarked upon."""

    @tool(read_only=True)
    def look() -> str:
        """Look."""
        return "nothing new"

    node = ToolNode([look], no_progress=policy)
    messages: list[Any] = [HumanMessage("go")]
    for turn in range(turns):
        messages.append(AIMessage(tool_calls=[{"id": f"t{turn}", "name": "look", "args": {}}]))
        messages += node.invoke(messages)
    return kind(messages[-1]), messages[-1].content != "nothing new"


def in_all(budget: int | None) -> int:
    """How many attempts two failing calls make together."""

    @tool(retry=FAST)
    async def failing() -> str:
        """Fail."""
        raise busy_error()

    found = answers(ToolNode([failing], retry_budget=budget), "failing", "failing")
    return sum(answer.outcome.attempts for answer in found if answer.outcome is not None)


def together(most: int | None) -> int:
    """How long the results of a turn are together."""

    @tool
    def long() -> str:
        """Give a long text."""
        return "x" * 3_000

    return sum(len(str(answer.content)) for answer in answers(ToolNode([long], max_turn_output=most), "long", "long"))


def shelved(shelf: ResultShelf | None) -> bool:
    """Whether a result that is too long can be read on."""

    @tool(max_output=500)
    def long() -> str:
        """Give a long text."""
        return "x" * 3_000

    return "read_tool_result" in str(answers(ToolNode([long], shelf=shelf), "long")[0].content)


class Money:
    """A type without a form of its own."""


def written(renderers: Any) -> str:
    """How a value of an own type is written."""

    @tool
    def price() -> Any:
        """Give a price."""
        return Money()

    return str(answers(ToolNode([price], renderers=renderers), "price")[0].content)


def passed(middleware: list[Any]) -> str:
    """The answer of a tool, through a middleware or not."""
    return str(answers(ToolNode([echo], middleware=middleware), "echo")[0].content)


def shout(request: Any, run: Any) -> str:
    """A middleware."""
    return str(run(request).content).upper()


def commanded(commands: bool) -> bool:  # noqa: FBT001 - the option's own value
    """Whether a command comes out of a node."""
    found = ToolNode([mover], commands=commands).invoke({"messages": [calls("mover")]})
    return isinstance(found, list)


def approved(approve: Any) -> str:
    """How a call ends that needs an approval."""
    return kind(answers(ToolNode([echo], requires_approval=True, approve=approve), "echo")[0])


def heard(listens: bool) -> bool:  # noqa: FBT001 - as above
    """Whether somebody heard of a call."""
    events: list[Any] = []
    answers(ToolNode([echo], listener=events.append if listens else None), "echo")
    return bool(events)


def stored(store: Any) -> str:
    """What a tool sees of a store."""

    @tool
    def look(ctx: ToolContext) -> str:
        """Look into the store."""
        return "a store" if isinstance(ctx.store, InMemoryStore) else "no store"

    return str(answers(ToolNode([look], store=store), "look")[0].content)


def run_twice(journal: MemoryJournal | None) -> int:
    """How often a body runs when its node is run again over the same turn."""
    ran: list[int] = []

    @tool
    def act() -> str:
        """Act."""
        ran.append(1)
        return "done"

    node, turn = ToolNode([act], journal=journal), calls("act")
    for _ in range(2):
        node.invoke([turn], {"configurable": {"thread_id": "t"}})
    return len(ran)


def real_seconds(clock: FakeClock | None) -> bool:
    """Whether the time of a call is that of a given clock."""

    @tool(timeout=0.02)
    async def hang() -> str:
        """Hang."""
        await asyncio.Event().wait()
        return "never"

    answers(ToolNode([hang], clock=SYSTEM_CLOCK if clock is None else clock), "hang")
    return clock is not None and clock.now() > 0


def in_euros(_: Money) -> str:
    """How money is written."""
    return "5 EUR"


def agreed(_tool: str, _arguments: Any) -> bool:
    """An approver who agrees to everything."""
    return True


OF_A_NODE: Final[dict[str, Callable[[], tuple[object, object]]]] = {
    "messages_key": lambda: (under("log"), under("messages")),
    "name": lambda: (ToolNode([echo], name="hands").name, ToolNode([echo]).name),
    "tags": lambda: (logged(["night shift"]), logged(None)),
    "overrides": lambda: (
        kinds(answers(ToolNode([echo], overrides={"echo": {"requires_approval": True}}), "echo")),
        kinds(answers(ToolNode([echo]), "echo")),
    ),
    "max_concurrency": lambda: (peak({"max_concurrency": 2}, {}), peak({}, {})),
    "groups": lambda: (peak({"groups": {"db": 1}}, {"group": "db"}), peak({"groups": {"db": 3}}, {"group": "db"})),
    "sequential": lambda: (peak({"sequential": True}, {}), peak({}, {})),
    "stop_on_failure": lambda: (order({"sequential": True, "stop_on_failure": True}), order({"sequential": True})),
    "fatal": lambda: (deadly(ValueError), deadly(KeyError)),
    "limits": lambda: (over(Limits(calls=1)), over(None)),
    "no_progress": lambda: (same_again(NoProgress(), turns=2), same_again(None, turns=2)),
    "retry_budget": lambda: (in_all(1), in_all(None)),
    "max_turn_output": lambda: (together(1_000), together(None)),
    "shelf": lambda: (shelved(ResultShelf()), shelved(None)),
    "renderers": lambda: (written({Money: in_euros}), written(None)),
    "middleware": lambda: (passed([shout]), passed([])),
    "commands": lambda: (commanded(True), commanded(False)),
    "approve": lambda: (approved(agreed), approved(None)),
    "listener": lambda: (heard(True), heard(False)),
    "store": lambda: (stored(InMemoryStore()), stored(None)),
    "journal": lambda: (run_twice(MemoryJournal()), run_twice(None)),
    "clock": lambda: (real_seconds(FakeClock()), real_seconds(None)),
}


# -- policies --------------------------------------------------------------------------------------------------------


class Later(Exception):
    """A service that asks to be left alone for a while."""

    retry_after = 30.0


def policy(**options: Any) -> RetryPolicy:
    """A policy whose waits can be told beforehand."""
    options = {"jitter": False, "initial_interval": 1.0, "max_attempts": 4, **options}
    return RetryPolicy(**options)


OF_RETRY: Final[dict[str, Callable[[], tuple[object, object]]]] = {
    "max_attempts": lambda: (attempts(policy(max_attempts=2), busy_error), attempts(policy(), busy_error)),
    "initial_interval": lambda: (waits(policy(initial_interval=2.0)), waits(policy())),
    "backoff_factor": lambda: (waits(policy(backoff_factor=3.0)), waits(policy())),
    "max_interval": lambda: (waits(policy(max_interval=1.5)), waits(policy())),
    "jitter": lambda: (waits(policy(jitter=True)), waits(policy())),
    "transient": lambda: (
        attempts(policy(transient=False), ConnectionResetError, idempotent=True),
        attempts(policy(), ConnectionResetError, idempotent=True),
    ),
    "retry_on": lambda: (
        attempts(policy(retry_on=KeyError), KeyError, idempotent=True),
        attempts(policy(), KeyError, idempotent=True),
    ),
    "max_elapsed": lambda: (attempts(policy(max_elapsed=2.0), busy_error), attempts(policy(), busy_error)),
    "max_retry_after": lambda: (
        attempts(policy(retry_on=Later, max_retry_after=10.0), Later, idempotent=True),
        attempts(policy(retry_on=Later, max_retry_after=None), Later, idempotent=True),
    ),
}


def until_the_end(limits: Limits | None, replies: list[AIMessage]) -> tuple[object, list[str]]:
    """How an agent ends, and its calls, with a step that anybody may take."""

    @tool(repeat_guard=False)
    def step(number: int) -> str:
        """Take a step."""
        return f"step {number}"

    agent = create_agent(ScriptedModel(replies), [step], limits=limits)
    state = agent.invoke({"messages": "go"})
    return state["end_reason"], kinds([m for m in state["messages"] if isinstance(m, ToolMessage)])


def bad_turns(limits: Limits | None) -> object:
    """How an agent ends whose model calls what is not there, three times."""
    replies = [*[calls("nothing", number=i) for i in range(3)], AIMessage("sorry")]
    return until_the_end(limits, replies)[0]


def slow_run(limits: Limits | None) -> list[str]:
    """How the calls of a second turn end, in a run that has been going on for a while."""

    @tool(repeat_guard=False)
    async def pause(number: int) -> str:
        """Take a moment."""
        await asyncio.sleep(0.05)
        return str(number)

    replies = [calls("pause", number=1), calls("pause", number=2), AIMessage("done")]
    state = create_agent(ScriptedModel(replies), [pause], limits=limits).invoke({"messages": "go"})
    return kinds([m for m in state["messages"] if isinstance(m, ToolMessage)])


OF_LIMITS: Final[dict[str, Callable[[], tuple[object, object]]]] = {
    "turns": lambda: (
        until_the_end(Limits(turns=1), [calls("step", number=1), AIMessage("done")]),
        until_the_end(None, [calls("step", number=1), AIMessage("done")]),
    ),
    "calls": lambda: (over(Limits(calls=1)), over(Limits(calls=2))),
    "calls_per_tool": lambda: (over(Limits(calls_per_tool=1)), over(Limits(calls_per_tool=2))),
    "seconds": lambda: (slow_run(Limits(seconds=0.02)), slow_run(Limits(seconds=60))),
    "output_chars": lambda: (over(Limits(output_chars=5), turns=2), over(Limits(output_chars=500), turns=2)),
    "corrections": lambda: (bad_turns(Limits(corrections=2)), bad_turns(None)),
}


def stubborn(policy: NoProgress) -> int:
    """How often a model is asked that always makes the same call."""

    @tool(read_only=True)
    def look() -> str:
        """Look."""
        return "nothing new"

    replies = [calls("look") for _ in range(24)] + [AIMessage("I give up.")]
    state = create_agent(ScriptedModel(replies), [look], no_progress=policy).invoke({"messages": "go"})
    return sum(isinstance(message, AIMessage) for message in state["messages"])


OF_NO_PROGRESS: Final[dict[str, Callable[[], tuple[object, object]]]] = {
    "warn_after": lambda: (
        same_again(NoProgress(warn_after=2), turns=2),
        same_again(NoProgress(warn_after=3), turns=2),
    ),
    "refuse_after": lambda: (
        same_again(NoProgress(refuse_after=3), turns=4),
        same_again(NoProgress(refuse_after=9), turns=4),
    ),
    "stop_after": lambda: (stubborn(NoProgress(stop_after=1)), stubborn(NoProgress(stop_after=4))),
}


def offered(*, hides_tool: bool) -> list[list[str]]:
    """What the model is offered, each time, of a tool that fails."""

    @tool(circuit_breaker=CircuitBreaker(failures=1, hides_tool=hides_tool))
    def failing() -> str:
        """Fail."""
        raise ValueError("broken")

    model = ScriptedModel([calls("failing"), AIMessage("It is broken.")])
    create_agent(model, [failing, echo]).invoke({"messages": "go"})
    return [sorted(request.tool_names) for request in model.requests]


def asked_how(**options: Any) -> tuple[tuple[str, ...], Any, list[str], object]:
    """What an agent's model is asked with, first and last, and how its run ends."""
    model = ScriptedModel([calls("echo"), AIMessage("done")])
    settings: dict[str, Any] = {"tools": [echo], **options}
    state = create_agent(model, **settings).invoke({"messages": "go"})
    first = model.requests[0]
    return first.tool_names, first.tool_choice, [message.type for message in first], state["end_reason"]


def reads_on(shelf: ResultShelf | None) -> bool:
    """Whether the model is offered to read on in a result that is too long."""

    @tool(max_output=500)
    def long() -> str:
        """Give a long text."""
        return "x" * 3_000

    model = ScriptedModel([calls("long"), AIMessage("done")])
    create_agent(model, [long], shelf=shelf).invoke({"messages": "go"})
    return "read_tool_result" in model.requests[1].tool_names


def end_of_answer(**options: Any) -> object:
    """How a run ends whose model answers in JSON."""
    return create_agent(ScriptedModel(['{"x": 1}']), **options).invoke("go")["end_reason"]


def steps(**options: Any) -> list[str]:
    """The steps of an agent's run up to its end, or to where it stops."""
    model = ScriptedModel([calls("echo"), AIMessage("done")])
    agent = create_agent(model, [echo], **options)
    return [name for step in agent.stream("go", {"configurable": {"thread_id": "t"}}) for name in step]


def again_in_thread(checkpointer: MemorySaver | None) -> int:
    """How many messages there are after a second input in the same thread."""
    agent = create_agent(ScriptedModel(["a", "b"]), checkpointer=checkpointer)
    results = [agent.invoke("go", {"configurable": {"thread_id": "t"}}) for _ in range(2)]
    return len(results[1]["messages"])


class Kept(AgentState, total=False):
    """A state with a value of any type."""

    place: Any


def keeps_place(*types: type) -> bool:
    """Whether a value whose type no annotation names can be kept."""
    hook = before_model(lambda state, runtime: {"place": Place(1)}, name="hook", state_schema=Kept)
    agent = create_agent(ScriptedModel(["a"]), checkpointer=MemorySaver(), middleware=[hook], types=types)
    try:
        agent.invoke("go", {"configurable": {"thread_id": "t"}})
    except CheckpointError:
        return False
    return True


@dataclass
class Place:
    """A value of a type of the host's."""

    number: int


OF_AN_AGENT: Final[dict[str, Callable[[], tuple[object, object]]]] = {
    "tools": lambda: (asked_how(tools=[echo, oops]), asked_how()),
    "system_prompt": lambda: (asked_how(system_prompt="Be brief."), asked_how()),
    "max_iterations": lambda: (asked_how(max_iterations=1), asked_how()),
    "tool_choice": lambda: (asked_how(tool_choice="required"), asked_how()),
    "limits": lambda: (asked_how(limits=Limits(turns=1)), asked_how()),
    "shelf": lambda: (reads_on(ResultShelf()), reads_on(None)),
    "middleware": lambda: (steps(middleware=[before_model(lambda state, runtime: None, name="look")]), steps()),
    "response_format": lambda: (end_of_answer(response_format={"title": "Answer"}), end_of_answer()),
    "checkpointer": lambda: (again_in_thread(MemorySaver()), again_in_thread(None)),
    "types": lambda: (keeps_place(Place), keeps_place()),
    "interrupt_before": lambda: (steps(checkpointer=MemorySaver(), interrupt_before=["tools"]), steps()),
    "interrupt_after": lambda: (steps(checkpointer=MemorySaver(), interrupt_after=["model"]), steps()),
    "name": lambda: (
        create_agent(ScriptedModel([]), name="clerk").plan.name,
        create_agent(ScriptedModel([])).plan.name,
    ),
}

OF_BREAKERS: Final[dict[str, Callable[[], tuple[object, object]]]] = {
    "failures": lambda: (broken(CircuitBreaker(failures=1)), broken(CircuitBreaker(failures=2))),
    "window": lambda: (
        broken(CircuitBreaker(failures=2, window=1.0), between=5.0),
        broken(CircuitBreaker(failures=2, window=60.0), between=5.0),
    ),
    "cooldown": lambda: (
        broken(CircuitBreaker(failures=2, cooldown=5.0), after=10.0),
        broken(CircuitBreaker(failures=2, cooldown=50.0), after=10.0),
    ),
    "errors": lambda: (broken(CircuitBreaker(failures=1, errors=KeyError)), broken(CircuitBreaker(failures=1))),
    "hides_tool": lambda: (offered(hides_tool=True), offered(hides_tool=False)),
}

OF_RATES: Final[dict[str, Callable[[], tuple[object, object]]]] = {
    "calls": lambda: (starts(RateLimit(1, per=10)), starts(RateLimit(2, per=10))),
    "per": lambda: (starts(RateLimit(2, per=20)), starts(RateLimit(2, per=10))),
}


def hung(config: RunConfig | None) -> float:
    """After how many seconds a call of a run ends that never would, on a clock that jumps."""
    clock = FakeClock()

    @tool
    async def hang() -> str:
        """Hang."""
        await asyncio.Event().wait()
        return "never"

    ToolNode([hang], clock=clock).invoke([calls("hang")], config)
    return clock.now()


def crowd(config: RunConfig | None) -> int:
    """How many calls of a turn of a run are there at a time."""
    seen = Peak()

    @tool
    async def busy() -> str:
        """Be busy."""
        return await seen.stay()

    ToolNode([busy]).invoke([calls(*["busy"] * 4)], config)
    return seen.most


OF_A_RUN: Final[dict[str, Callable[[], tuple[object, object]]]] = {
    "timeout": lambda: (hung({"timeout": 7}), hung(None)),
    "max_concurrency": lambda: (crowd({"max_concurrency": 2}), crowd(None)),
}


def looked_up(cache: ResultCache, *asked: str, between: Callable[[], object] = lambda: None) -> list[str]:
    """What a tool behind a cache was really asked, of users in threads that are called after them."""
    ran: list[str] = []

    @tool(read_only=True)
    async def look(x: int) -> str:
        """Look."""
        ran.append(str(x))
        return "seen"

    node = ToolNode([look], middleware=[cache])
    for who in asked:
        number, _, user = who.partition(" ")
        node.invoke([calls("look", x=int(number))], {"configurable": {"thread_id": user}}, context=user)
        between()
    return ran


def aged(*, ttl: float | None) -> list[str]:
    """What is asked again when a minute has gone by."""
    clock = FakeClock(autojump=None)
    return looked_up(ResultCache(ttl=ttl, clock=clock), "1", "1", between=lambda: clock.advance(60))


def by_clock(clock: FakeClock | None) -> list[str]:
    """What is asked again when time goes by on a test's clock."""
    own = FakeClock(autojump=None)
    cache = ResultCache(ttl=30, clock=SYSTEM_CLOCK if clock is None else clock)
    return looked_up(cache, "1", "1", between=lambda: (clock or own).advance(60))


OF_A_CACHE: Final[dict[str, Callable[[], tuple[object, object]]]] = {
    "ttl": lambda: (aged(ttl=30), aged(ttl=None)),
    "max_entries": lambda: (
        looked_up(ResultCache(max_entries=1), "1", "2", "1"),
        looked_up(ResultCache(), "1", "2", "1"),
    ),
    "key": lambda: (
        looked_up(ResultCache(key=lambda request: str(request.context)), "1 ann", "1 bob"),
        looked_up(ResultCache(), "1 ann", "1 bob"),
    ),
    "per_thread": lambda: (
        looked_up(ResultCache(per_thread=True), "1 ann", "1 bob"),
        looked_up(ResultCache(), "1 ann", "1 bob"),
    ),
    "clock": lambda: (by_clock(FakeClock(autojump=None)), by_clock(None)),
}


def stays(shelf: ResultShelf) -> list[bool]:
    """Which of three texts of ten characters can be read on."""
    handles = [shelf.put("t", str(number) * 10) for number in range(3)]
    kept = shelf.handles("t")
    return [handle in kept for handle in handles]


OF_A_SHELF: Final[dict[str, Callable[[], tuple[object, object]]]] = {
    "max_chars": lambda: (stays(ResultShelf(max_chars=20)), stays(ResultShelf())),
    "max_results": lambda: (stays(ResultShelf(max_results=1)), stays(ResultShelf())),
}


def traced(*, is_own: bool = True, **options: bool) -> list[list[str]]:
    """The names of what stands on the spans of a call that come to a provider."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    spans = OpenTelemetry(tracer_provider=provider if is_own else None, **options)
    answers(ToolNode([echo], middleware=[spans], listener=spans.listen), "echo")
    return [sorted(span.attributes or {}) for span in exporter.get_finished_spans()]


OF_TRACING: Final[dict[str, Callable[[], tuple[object, object]]]] = {
    "tracer_provider": lambda: (traced(), traced(is_own=False)),
    "record_arguments": lambda: (traced(record_arguments=True), traced()),
    "record_results": lambda: (traced(record_results=True), traced()),
}

EFFECTS: Final = {
    "Of a tool": OF_A_TOOL,
    "Of a node": OF_A_NODE,
    "Of an agent": OF_AN_AGENT,
    "Of a run": OF_A_RUN,
    "`RetryPolicy`": OF_RETRY,
    "`Limits`": OF_LIMITS,
    "`NoProgress`": OF_NO_PROGRESS,
    "`CircuitBreaker`": OF_BREAKERS,
    "`RateLimit`": OF_RATES,
    "`ResultCache`": OF_A_CACHE,
    "`ResultShelf`": OF_A_SHELF,
    "`OpenTelemetry`": OF_TRACING,
}

CLASSES: Final[tuple[tuple[str, dict[str, Callable[[], tuple[object, object]]], type], ...]] = (
    ("`ResultCache`", OF_A_CACHE, ResultCache),
    ("`ResultShelf`", OF_A_SHELF, ResultShelf),
    ("`OpenTelemetry`", OF_TRACING, OpenTelemetry),
)
"""What takes its options as arguments: its section, what is shown of them, and the class."""


def _each() -> Iterator[Any]:
    for section, effects in EFFECTS.items():
        for name, effect in effects.items():
            yield pytest.param(effect, id=f"{section.strip('`')}-{name}")


@pytest.mark.parametrize("effect", list(_each()))
def test_the_option_has_an_effect(effect: Callable[[], tuple[object, object]]) -> None:
    with_it, without = effect()
    assert with_it != without


# -- the page --------------------------------------------------------------------------------------------------------


def _sections() -> dict[str, dict[str, list[str]]]:
    """The rows of the reference's tables, by section and option."""
    found: dict[str, dict[str, list[str]]] = {}
    for part in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        rows = re.findall(r"^\| `(\w+)` \| (.+) \| (.+) \| (.+) \|$", part, re.MULTILINE)
        found[part.splitlines()[0]] = {name: list(cells) for name, *cells in rows}
    return found


def test_the_page_documents_every_option_whose_effect_is_shown_and_no_other() -> None:
    assert {section: set(rows) for section, rows in _sections().items()} == {
        section: set(effects) for section, effects in EFFECTS.items()
    }


def test_every_option_there_is_stands_in_the_table() -> None:
    node = set(inspect.signature(ToolNode.__init__).parameters) - {"self", "tools", "handle_tool_errors", "options"}
    assert set(OF_A_NODE) == node
    agent = set(inspect.signature(create_agent).parameters) - {"model"}
    assert set(OF_AN_AGENT) == agent - set(OF_A_NODE) - {"handle_tool_errors"} | {
        "limits",
        "middleware",
        "shelf",
        "name",
    }
    assert set(OF_A_TOOL) == {field.name for field in fields(ToolOptions)}
    for effects, policy_type in (
        (OF_RETRY, RetryPolicy),
        (OF_LIMITS, Limits),
        (OF_NO_PROGRESS, NoProgress),
        (OF_BREAKERS, CircuitBreaker),
        (OF_RATES, RateLimit),
    ):
        assert set(effects) == {field.name for field in fields(policy_type)}
    for _, effects, made in CLASSES:
        assert set(effects) == set(inspect.signature(made).parameters)


def _told(value: object) -> str:
    """A default as the page writes it."""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, RetryPolicy | NoProgress):
        return f"`{type(value).__name__}()`"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def test_the_page_tells_the_true_defaults() -> None:
    sections = _sections()
    for name, cells in sections["Of a tool"].items():
        assert cells[2] == _told(getattr(DEFAULT_OPTIONS, name)), name
    parameters = inspect.signature(ToolNode.__init__).parameters
    for name, cells in sections["Of a node"].items():
        if name not in ("clock", "groups"):
            assert cells[2] == _told(parameters[name].default), name
    for title, policy_type in (
        ("`RetryPolicy`", RetryPolicy),
        ("`Limits`", Limits),
        ("`NoProgress`", NoProgress),
        ("`CircuitBreaker`", CircuitBreaker),
        ("`RateLimit`", RateLimit),
    ):
        for field in fields(policy_type):
            expected = "required" if field.default is MISSING else _told(field.default)
            assert sections[title][field.name][2].split(",")[0].removesuffix(" for all") == expected, field.name
    for title, _, made in CLASSES:
        for name, parameter in inspect.signature(made).parameters.items():
            if name != "clock":
                assert sections[title][name][2].partition(":")[0] == _told(parameter.default), name
