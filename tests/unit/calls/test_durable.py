"""A call and its journal: begun once, whoever runs the turn, and never told as something that it is not."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from support.kept import THREAD, answers_in, kept, questions_in, turn_of
from surehand import (
    AIMessage,
    CallJournal,
    CallKey,
    CircuitBreaker,
    Command,
    HumanMessage,
    InputError,
    MemoryJournal,
    Recalled,
    RetryPolicy,
    SavedJournal,
    Send,
    SingleFlight,
    ToolCallRequest,
    ToolContext,
    ToolException,
    ToolMessage,
    ToolNode,
    interrupt,
    tool,
)
from surehand.calls import Run
from surehand.checkpoints.memory import MemorySaver
from surehand.testing import FakeClock

RAN: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    RAN.clear()


JOURNALS: list[Callable[[], CallJournal]] = [MemoryJournal, lambda: SavedJournal(MemorySaver(), "t")]
every_journal = pytest.mark.parametrize("make", JOURNALS, ids=["memory", "saved"])


def a_turn(*calls: str | tuple[str, dict[str, Any]]) -> list[Any]:
    named = [(call, dict[str, Any]()) if isinstance(call, str) else call for call in calls]
    entries = [{"id": f"c{number}", "name": name, "args": args} for number, (name, args) in enumerate(named)]
    return [HumanMessage("go"), AIMessage(id="m", tool_calls=entries)]


def kinds(answers: list[ToolMessage]) -> list[Any]:
    return [None if answer.outcome is None else answer.outcome.kind for answer in answers]


# What every journal does

KEY = CallKey(thread_id="t", message_id="m", position=0, call_id="c0", tool="pay", digest="d")


@every_journal
def test_an_entry_follows_the_one_that_was_looked_at(make: Any) -> None:
    async def main() -> None:
        journal = make()
        assert await journal.recall(KEY) is None
        assert not await journal.begin(KEY, 1)
        assert await journal.begin(KEY, None)
        assert not await journal.begin(KEY, None)
        known = await journal.recall(KEY)
        assert (known.state, known.version, known.answer) == ("running", 1, None)
        assert abs(time.time() - known.begun_at) < 60

        await journal.wait(KEY)
        known = await journal.recall(KEY)
        assert (known.state, known.version) == ("waiting", 2)
        assert not await journal.begin(KEY, 1)
        assert await journal.begin(KEY, 2)

        answer = ToolMessage("no", tool_call_id="c0", status="error")
        await journal.finish(KEY, answer, Command(goto="x"), was_raised=True)
        known = await journal.recall(KEY)
        assert (known.state, known.version, known.answer, known.was_raised) == ("failed", 4, answer, True)
        assert known.command == Command(goto="x")

    asyncio.run(main())


@every_journal
def test_of_many_that_begin_at_a_time_one_does(make: Any) -> None:
    journal = make()
    begun: list[bool] = []
    barrier = threading.Barrier(8)

    def begin() -> None:
        barrier.wait()
        begun.append(asyncio.run(journal.begin(KEY, None)))

    threads = [threading.Thread(target=begin) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(begun) == [False] * 7 + [True]


# Several runs of one turn


@tool(timeout=None)
def pay_slowly(to: str) -> str:
    """Pay."""
    RAN.append(to)
    time.sleep(0.02)
    return f"paid {to}"


@tool
async def apay_slowly(to: str) -> str:
    """Pay, on the loop."""
    RAN.append(to)
    await asyncio.sleep(0.02)
    return f"paid {to}"


@every_journal
@pytest.mark.parametrize("paying", [pay_slowly, apay_slowly], ids=["sync", "async"])
@pytest.mark.parametrize("options", [{}, {"idempotent": True}, {"concurrency": 1}, {"middleware": [SingleFlight()]}])
def test_runs_of_one_turn_on_many_threads_run_each_body_once(make: Any, paying: Any, options: Any) -> None:
    shared: Any = {"nodes": [ToolNode([paying], journal=journal, **options) for journal in [make()] * 2]}
    turn = a_turn((paying.name, {"to": "a"}), (paying.name, {"to": "b"}))
    texts: list[list[str]] = []
    barrier = threading.Barrier(6)

    def run(number: int) -> None:
        node = shared["nodes"][number % 2]
        barrier.wait()
        answers = node.invoke(turn, THREAD) if number % 3 else asyncio.run(node.ainvoke(turn, THREAD))
        texts.append([answer.text for answer in answers])

    threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == [["paid a", "paid b"]] * 6
    assert sorted(RAN) == ["a", "b"]


@every_journal
def test_a_lone_call_is_waited_for_without_a_loop(make: Any) -> None:
    node = ToolNode([pay_slowly], journal=make())
    turn = a_turn(("pay_slowly", {"to": "a"}))
    texts: list[str] = []
    threads = [threading.Thread(target=lambda: texts.append(node.invoke(turn, THREAD)[0].text)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (texts, RAN) == (["paid a"] * 4, ["a"])


@pytest.mark.parametrize(("options", "kind"), [({"idempotent": True}, None), ({}, "unknown_outcome")])
def test_a_run_that_waits_goes_on_where_the_other_is_cancelled(options: Any, kind: Any) -> None:
    async def main() -> list[Any]:
        started = asyncio.Event()

        @tool(**options)
        async def hang_once() -> str:
            """Hang the first time."""
            RAN.append("hang")
            if len(RAN) == 1:
                started.set()
                await asyncio.Event().wait()
            return "done"

        node, turn = ToolNode([hang_once], journal=MemoryJournal()), a_turn("hang_once")
        first = asyncio.ensure_future(node.ainvoke(turn))
        await started.wait()
        second = asyncio.ensure_future(node.ainvoke(turn))
        await asyncio.sleep(0.01)
        assert not second.done()
        first.cancel()
        return kinds(await second)

    assert asyncio.run(main()) == [kind]


def test_a_run_does_not_wait_for_a_body_that_was_given_up() -> None:
    over = asyncio.Event()

    @tool(timeout=0.01)
    async def stubborn() -> str:
        """Swallow the end of the time."""
        while True:
            try:
                await over.wait()
            except asyncio.CancelledError:
                continue
            return "late"

    async def main() -> list[Any]:
        node, turn = ToolNode([stubborn], journal=MemoryJournal(), clock=FakeClock()), a_turn("stubborn")
        first = await node.ainvoke(turn)
        second = await node.ainvoke(turn)
        over.set()
        await asyncio.sleep(0.01)
        return kinds([*first, *second])

    assert asyncio.run(main()) == ["timeout", "unknown_outcome"]


def test_a_body_that_runs_its_own_turn_does_not_wait_for_itself() -> None:
    turn = a_turn("again")

    @tool
    def again() -> str:
        """Run the turn that this call is of."""
        RAN.append("again")
        inner: ToolMessage = node.invoke(turn, THREAD)[0]
        return f"inside: {inner.text}"

    node = ToolNode([again], journal=MemoryJournal())
    (answer,) = node.invoke(turn, THREAD)
    assert answer.text == "inside: This very call is running: it was not begun a second time."
    assert RAN == ["again"]


def test_two_runs_that_need_the_place_of_one_another_both_end() -> None:
    tries: list[int] = []

    @tool(concurrency=1, retry=RetryPolicy(initial_interval=0.01, jitter=False))
    async def shaky() -> str:
        """Fail once; wait for the next attempt without a place."""
        tries.append(1)
        if len(tries) == 1:
            raise ToolException("busy", retryable=True)
        return "done"

    async def main() -> list[str]:
        node, turn = ToolNode([shaky], journal=MemoryJournal()), a_turn("shaky")
        async with asyncio.timeout(10):
            runs = await asyncio.gather(*(node.ainvoke(turn) for _ in range(3)))
        return [answers[0].text for answers in runs]

    assert asyncio.run(main()) == ["done"] * 3
    assert len(tries) == 2


def test_a_probe_that_finds_its_call_begun_elsewhere_leaves_the_breaker_to_others() -> None:
    journal = MemoryJournal()
    is_broken = True

    @tool(circuit_breaker=CircuitBreaker(failures=1, cooldown=0.01), retry=None)
    def fragile(to: str) -> str:
        """Work, unless it is broken."""
        if is_broken:
            raise ValueError("broken")
        return f"paid {to}"

    done = a_turn(("fragile", {"to": "a"}))
    is_broken = False
    ToolNode([fragile], journal=journal).invoke(done, THREAD)
    is_broken = True
    node = ToolNode([fragile], journal=journal)
    node.invoke(a_turn(("fragile", {"to": "b"})), THREAD)
    time.sleep(0.02)
    is_broken = False
    assert node.invoke(done, THREAD)[0].text == "paid a"  # let through as a probe, and known from the journal
    assert node.invoke(a_turn(("fragile", {"to": "c"})), THREAD)[0].text == "paid c"


# What is no doubt


def test_calls_that_waited_for_their_place_in_a_crash_were_not_begun() -> None:
    saver = MemorySaver()

    @tool(name="pay")
    async def crash(number: int) -> str:
        """Pay, and crash at the third."""
        RAN.append(number)
        if number == 2:
            raise KeyboardInterrupt
        return f"paid {number}"

    @tool
    async def pay(number: int) -> str:
        """Pay."""
        RAN.append(number)
        return f"paid {number}"

    calls = [("pay", {"number": number}) for number in range(6)]
    with pytest.raises(KeyboardInterrupt):
        kept(crash, saver=saver, max_concurrency=1).invoke(turn_of(*calls), THREAD)
    answers = answers_in(kept(pay, saver=saver).invoke(None, THREAD))
    assert kinds(answers) == [None, None, "unknown_outcome", None, None, None]
    assert sorted(RAN) == [0, 1, 2, 3, 4, 5]


# What failed


def failing(**options: Any) -> Any:
    options = {"retry": None, **options}

    @tool(**options)
    def fail() -> str:
        """Fail the first time."""
        RAN.append("fail")
        if RAN.count("fail") == 1:
            raise ToolException("busy", retryable=True)
        return "fine"

    return fail


@tool
def ask() -> str:
    """Ask."""
    return f"heard {interrupt('Sure?')}"


def test_where_a_run_goes_on_the_model_hears_of_a_failure_once() -> None:
    graph = kept(failing(idempotent=True), ask)
    graph.invoke(turn_of("fail", "ask"), THREAD)
    answers = answers_in(graph.invoke(Command(resume=1), THREAD))
    assert ([answer.text for answer in answers], RAN) == (["busy", "heard 1"], ["fail"])


def test_outside_of_a_kept_run_a_failure_that_is_safe_is_tried_again() -> None:
    node = ToolNode([failing()], journal=MemoryJournal())
    assert [node.invoke(a_turn("fail"), THREAD)[0].text for _ in range(2)] == ["busy", "fine"]


def test_the_nodes_own_policy_tries_again_what_may_be() -> None:
    @tool(idempotent=True, retry=None)
    def told() -> str:
        """Fail the first time, and let the model know."""
        RAN.append("told")
        if RAN.count("told") == 1:
            raise ToolException("told")
        return "fine"

    retry = RetryPolicy(initial_interval=0.001, retry_on=ToolException)
    overrides = {"fail": {"handle_tool_errors": False}}
    graph = kept(told, failing(), retry=retry, overrides=overrides)
    answers = answers_in(graph.invoke(turn_of("told", "fail"), THREAD))
    assert [answer.text for answer in answers] == ["fine", "fine"]
    assert sorted(RAN) == ["fail", "fail", "told", "told"]


@pytest.mark.parametrize("options", [{}, {"idempotent": True}])
def test_what_ended_the_run_is_the_reason_to_run_it_again_where_that_is_safe(options: Any) -> None:
    @tool(retry=None, **options)
    def fail() -> str:
        """Fail the first time."""
        RAN.append("fail")
        if len(RAN) == 1:
            raise ValueError("no")
        return "fine"

    graph = kept(fail, handle_tool_errors=False)
    with pytest.raises(ValueError, match="no"):
        graph.invoke(turn_of("fail"), THREAD)
    (answer,) = answers_in(graph.invoke(None, THREAD))
    if options:
        assert (answer.text, len(RAN)) == ("fine", 2)
    else:
        assert (kinds([answer]), len(RAN)) == (["exception"], 1)


# Commands


@pytest.mark.parametrize("is_kept", [True, False])
def test_what_a_call_asked_of_the_graph_survives_a_recall(*, is_kept: bool) -> None:
    @tool
    def hand_over(to: str) -> Any:
        """Hand over."""
        RAN.append(to)
        return Command(update={"messages": [HumanMessage(f"for {to}")]}, goto=[Send("other", {"to": to})])

    journal: Any = SavedJournal(MemorySaver(), "t") if is_kept else MemoryJournal()
    node = ToolNode([hand_over], journal=journal, commands=True)
    first, second = (node.invoke(a_turn(("hand_over", {"to": "Ann"})), THREAD) for _ in range(2))
    assert first == second
    assert second[1].goto == [Send("other", {"to": "Ann"})]
    assert RAN == ["Ann"]


# Which call it is


def test_a_journal_wants_to_know_the_conversation() -> None:
    node = ToolNode([pay_slowly], journal=MemoryJournal())
    turn = [HumanMessage("go"), AIMessage(tool_calls=[{"id": "c", "name": "pay_slowly", "args": {"to": "a"}}])]
    with pytest.raises(InputError, match="A journal has to know which conversation"):
        node.invoke(turn)
    assert RAN == []
    node.invoke(turn, THREAD)
    node.invoke([turn[0], turn[1].replace(id="m")])
    assert RAN == ["a", "a"]


def test_what_two_people_said_word_for_word_makes_two_keys() -> None:
    keys: list[str] = []

    @tool
    def keep(ctx: ToolContext) -> str:
        """Keep the key."""
        keys.append(ctx.idempotency_key)
        return "kept"

    turn = [{"role": "user", "content": "go"}, {"role": "assistant", "content": None, "tool_calls": [
        {"id": "call_0", "type": "function", "function": {"name": "keep", "arguments": "{}"}}]}]  # fmt: skip
    for _ in range(2):
        ToolNode([keep]).invoke(turn)
        keep.invoke({"type": "tool_call", "id": "c", "name": "keep", "args": {}})
    assert len(set(keys)) == 4
    for _ in range(2):
        ToolNode([keep]).invoke(turn, THREAD)
    assert keys[-1] == keys[-2]


def test_the_idempotency_key_is_the_same_over_attempts_resumes_and_savers_objects() -> None:
    keys: list[str] = []

    @tool(retry=RetryPolicy(initial_interval=0.001), idempotent=True)
    def keep(ctx: ToolContext) -> str:
        """Keep the key; fail, ask, and fail again."""
        keys.append(ctx.idempotency_key)
        if len(keys) == 1:
            raise ToolException("busy", retryable=True)
        interrupt("Sure?")
        if len(keys) == 3:
            raise KeyboardInterrupt
        return "kept"

    saver = MemorySaver()
    kept(keep, saver=saver).invoke(turn_of("keep"), THREAD)
    with pytest.raises(KeyboardInterrupt):
        kept(keep, saver=saver).invoke(Command(resume=1), THREAD)
    state = kept(keep, saver=saver).invoke(None, THREAD)
    assert (answers_in(state)[0].text, len(keys), len(set(keys))) == ("kept", 4, 1)


# Journals that misbehave


class _Contrary(MemoryJournal):
    """Knows of nothing, and lets nothing begin."""

    async def begin(self, key: CallKey, after: int | None) -> bool:
        return False


def test_a_journal_that_contradicts_itself_ends_the_call() -> None:
    (answer,) = ToolNode([pay_slowly], journal=_Contrary()).invoke(a_turn(("pay_slowly", {"to": "a"})), THREAD)
    assert (kinds([answer]), RAN) == (["internal"], [])


class _Full(MemoryJournal):
    """Can be told of no question."""

    async def wait(self, key: CallKey, asked: Sequence[str] = ()) -> None:
        raise OSError("disk full")


def test_a_journal_that_fails_when_a_call_asks_loses_no_question() -> None:
    graph = kept(ask, journal=_Full())
    assert len(questions_in(graph.invoke(turn_of("ask"), THREAD))) == 1
    (answer,) = answers_in(graph.invoke(Command(resume=1), THREAD))
    assert kinds([answer]) == ["unknown_outcome"]  # as far as the journal knows, it was running


class _Odd(MemoryJournal):
    """Says that a call ended, and has no answer to it."""

    async def recall(self, key: CallKey) -> Recalled | None:
        return Recalled(state="done", version=1)

    async def begin(self, key: CallKey, after: int | None) -> bool:
        return False


def test_a_journal_without_the_answer_of_a_call_that_ended_ends_the_call() -> None:
    (answer,) = ToolNode([pay_slowly], journal=_Odd()).invoke(a_turn(("pay_slowly", {"to": "a"})), THREAD)
    assert (kinds([answer]), RAN) == (["internal"], [])


def test_a_middleware_that_runs_a_call_again_has_it_recorded_again() -> None:
    states: list[Any] = []
    journal = MemoryJournal()

    @tool(retry=None)
    def flaky(ctx: ToolContext) -> str:
        """Fail once."""
        (known,) = journal._entries.values()  # pyright: ignore[reportPrivateUsage] # noqa: SLF001 - what stands there now
        states.append((known.state, known.version))
        if len(states) == 1:
            raise ToolException("busy", retryable=True)
        return "fine"

    def persistent(request: ToolCallRequest, run: Run) -> ToolMessage:
        answer = run(request)
        return run(request) if answer.status == "error" else answer

    node = ToolNode([flaky], journal=journal, middleware=[persistent])
    assert node.invoke(a_turn("flaky"), THREAD)[0].text == "fine"
    assert states == [("running", 1), ("running", 3)]
