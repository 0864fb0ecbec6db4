"""When the body of a call may start: limits, groups, locks, rates, and turns that run one after another."""

from __future__ import annotations

import asyncio
import threading
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from support.turns import Room, Run, by_both_doors, run_async, run_sync, turn
from surehand import AIMessage, BaseTool, RateLimit, RetryPolicy, ToolException, ToolNode, tool
from surehand.errors import OptionError
from surehand.testing import FakeClock

BOTH_KINDS = pytest.mark.parametrize("kind", ["on_loop", "on_thread"])


def visitor(name: str, room: Room, *, is_async: bool = True, **options: Any) -> BaseTool:
    """A tool whose body is in a room for a while."""

    async def on_loop(key: str = "") -> str:
        with room.visit(key):
            await asyncio.sleep(0.002)
        return name

    def on_thread(key: str = "") -> str:
        with room.visit(key):
            room.stay()
        return name

    body: Callable[..., Any] = on_loop if is_async else on_thread
    return tool(name, description="Be somewhere for a while.", **options)(body)


def in_threads(count: int, run: Callable[[], object]) -> None:
    """Run the same in several threads at the same time, to the end."""
    threads = [threading.Thread(target=run, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()


# --- limits


@by_both_doors
def test_of_two_limits_of_a_turn_the_lower_one_holds(run: Run) -> None:
    room = Room()
    node = ToolNode([visitor("go", room)], max_concurrency=3)
    node.invoke([turn(*["go"] * 12)], {"max_concurrency": 2})
    assert room.peak == 2
    node.invoke([turn(*["go"] * 12)], {"max_concurrency": 5})
    assert room.peak == 3


@by_both_doors
def test_a_limit_of_the_turn_is_used_up_to_the_last_place(run: Run) -> None:
    room = Room(awaits=5)
    node = ToolNode([visitor("a", room), visitor("b", room, is_async=False)], max_concurrency=5)
    answers = run(node, [turn(*["a", "b"] * 20)])
    assert room.peak == 5
    assert [answer.content for answer in answers] == ["a", "b"] * 20


@by_both_doors
def test_tools_of_one_group_share_its_limit_and_others_have_no_part_in_it(run: Run) -> None:
    grouped, free = Room(awaits=2), Room()
    tools = [
        visitor("read", grouped, group="db"),
        visitor("write", grouped, is_async=False, group="db"),
        visitor("think", free),
    ]
    run(ToolNode(tools, groups={"db": 2}), [turn(*["read", "write", "think"] * 6)])
    assert grouped.peak == 2
    assert free.peak == 6


@by_both_doors
def test_a_tools_own_limit_and_its_groups_hold_together(run: Run) -> None:
    one, both = Room(), Room()

    @tool(group="db", concurrency=1)
    async def write() -> str:
        """Write."""
        with one.visit(), both.visit():
            await asyncio.sleep(0.002)
        return "written"

    node = ToolNode([write, visitor("read", both, group="db")], groups={"db": 3})
    run(node, [turn(*["write", "read"] * 8)])
    assert (one.peak, both.peak) == (1, 3)


@pytest.mark.parametrize("options", [{"concurrency": 2}, {"group": "db"}], ids=str)
@pytest.mark.parametrize("is_async", [True, False], ids=["on the loop", "on a thread"])
def test_a_limit_of_tools_holds_for_all_turns_of_the_node(options: dict[str, Any], *, is_async: bool) -> None:
    room = Room(awaits=2)
    groups = {"db": 2} if "group" in options else None
    node = ToolNode([visitor("go", room, is_async=is_async, **options)], groups=groups)
    in_threads(3, lambda: node.invoke([turn(*["go"] * 8)]))
    assert room.peak == 2
    assert len(room.order) == 24


def test_several_turns_in_one_loop_share_a_limit() -> None:
    room = Room()
    node = ToolNode([visitor("go", room, concurrency=2)])

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(4):
                tasks.create_task(node.ainvoke([turn("go", "go")]))

    asyncio.run(main())
    assert room.peak == 2
    assert len(room.order) == 8


def test_single_calls_from_many_threads_keep_a_limit_too() -> None:
    room = Room()
    node = ToolNode([visitor("go", room, is_async=False, concurrency=1, timeout=None)])
    in_threads(4, lambda: [node.invoke([turn("go")]) for _ in range(5)])
    assert room.peak == 1
    assert len(room.order) == 20


def test_a_group_that_no_tool_is_in_or_that_has_no_limit_is_refused() -> None:
    with pytest.raises(OptionError, match="groups"):
        ToolNode([visitor("go", Room(), group="db")], groups={"bd": 2})


def test_calls_start_in_the_order_in_which_they_were_made() -> None:
    room = Room()
    node = ToolNode([visitor("go", room, concurrency=2)])
    node.invoke([turn(*[("go", {"key": str(number)}) for number in range(10)])])
    assert room.order == [str(number) for number in range(10)]


def test_waiting_for_a_place_is_no_part_of_the_time_limit() -> None:
    clock = FakeClock()

    @tool(timeout=10, concurrency=1)
    async def work() -> str:
        """Take a while."""
        await clock.sleep(8)
        return "done"

    answers = ToolNode([work], clock=clock).invoke([turn("work", "work", "work")])
    assert [answer.content for answer in answers] == ["done"] * 3
    assert [(answer.outcome.queued_s, answer.outcome.duration_s) for answer in answers] == [(0, 8), (8, 8), (16, 8)]


@BOTH_KINDS
def test_a_call_that_fails_gives_its_place_back(kind: str) -> None:
    async def on_loop() -> str:
        raise ValueError("no")

    def on_thread() -> str:
        raise ValueError("no")

    body: Callable[..., Any] = {"on_loop": on_loop, "on_thread": on_thread}[kind]
    node = ToolNode([tool("fail", description="Fail.", concurrency=1)(body)])
    assert len(node.invoke([turn(*["fail"] * 5)])) == 5


def test_a_hung_thread_holds_no_place_once_its_call_is_answered() -> None:
    clock, release = FakeClock(), threading.Event()

    @tool(timeout=10, concurrency=1)
    def work(*, hangs: bool) -> str:
        """Perhaps hang."""
        if hangs:
            release.wait(20)
        return "done"

    answers = ToolNode([work], clock=clock).invoke([turn(("work", {"hangs": True}), ("work", {"hangs": False}))])
    release.set()
    assert answers[0].outcome.kind == "timeout"
    assert answers[1].content == "done"


def test_a_cancelled_turn_leaves_all_places_free() -> None:
    room, has_begun = Room(), asyncio.Event()

    @tool(concurrency=1)
    async def work(*, hangs: bool) -> str:
        """Perhaps hang."""
        with room.visit():
            has_begun.set()
            if hangs:
                await asyncio.Event().wait()
        return "done"

    node = ToolNode([work])

    async def main() -> str:
        hanging = asyncio.ensure_future(node.ainvoke([turn(*[("work", {"hangs": True})] * 3)]))
        await has_begun.wait()
        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging
        (answer,) = await node.ainvoke([turn(("work", {"hangs": False}))])
        return str(answer.content)

    assert asyncio.run(main()) == "done"
    assert room.peak == 1


def test_a_body_that_swallows_the_end_of_its_turn_holds_no_place_for_those_after_it() -> None:
    clock = FakeClock()

    @tool(concurrency=1)
    async def work(*, hangs: bool) -> str:
        """Perhaps go on whatever happens."""
        while hangs:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(10)
            hangs = not over.is_set()
        return "done"

    node = ToolNode([work], clock=clock)

    async def main() -> str:
        hanging = asyncio.ensure_future(node.ainvoke([turn(("work", {"hangs": True}))]))
        await asyncio.sleep(0.01)
        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging
        (answer,) = await asyncio.wait_for(node.ainvoke([turn(("work", {"hangs": False}))]), 5)
        over.set()
        return str(answer.content)

    over = asyncio.Event()
    assert asyncio.run(main()) == "done"


# --- things for one call alone


def own_file(args: Any) -> list[str]:
    """The file that a call names."""
    return [f"file:{args.key}"]


def own_key(args: Any) -> str:
    """The key itself, which is no list."""
    return str(args["key"])


@by_both_doors
def test_an_exclusive_call_waits_for_those_before_it_and_those_after_it_for_it(run: Run) -> None:
    room = Room()
    tools = [visitor("read", room), visitor("write", room, exclusive=True)]
    names = ["read", "read", "write", "read", "write", "write", "read"]
    run(ToolNode(tools), [turn(*[(name, {"key": name}) for name in names])])
    assert room.order == names
    assert room.peak == 2


@by_both_doors
@BOTH_KINDS
def test_calls_that_name_the_same_thing_run_one_after_another(run: Run, kind: str) -> None:
    room = Room()
    write = visitor("write", room, is_async=kind == "on_loop", exclusive=own_file)
    run(ToolNode([write]), [turn(*[("write", {"key": "a"})] * 6)])
    assert room.peak == 1


def test_what_a_call_needs_for_itself_may_be_one_text() -> None:
    room = Room()
    ToolNode([visitor("write", room, exclusive=own_key)]).invoke([turn(*[("write", {"key": "ab"})] * 4)])
    assert room.peak == 1


def test_calls_that_need_several_things_in_different_orders_all_come_to_an_end() -> None:
    room = Room()

    @tool(exclusive=lambda args: [f"account:{args.payer}", f"account:{args.payee}"])
    async def transfer(payer: str, payee: str) -> str:
        """Transfer money."""
        with room.visit():
            await asyncio.sleep(0.001)
        return "done"

    pairs = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "a")]
    answers = ToolNode([transfer]).invoke([turn(*[("transfer", {"payer": p, "payee": q}) for p, q in pairs * 5])])
    assert [answer.content for answer in answers] == ["done"] * 20
    assert room.peak == 1


@pytest.mark.parametrize("is_async", [True, False], ids=["on the loop", "on a thread"])
def test_what_a_call_needs_for_itself_is_its_own_across_turns_and_threads(*, is_async: bool) -> None:
    room = Room()
    write = visitor("write", room, is_async=is_async, exclusive=own_file)
    node = ToolNode([write])
    in_threads(3, lambda: node.invoke([turn(*[("write", {"key": "a"})] * 5)]))
    assert room.peak == 1
    assert len(room.order) == 15


def test_who_waits_for_a_lock_keeps_no_place_from_the_others() -> None:
    reads: list[str] = []
    all_read = asyncio.Event()

    @tool(exclusive=lambda args: ["file"], timeout=5)
    async def write() -> str:
        """Write once everything was read."""
        await all_read.wait()
        return "written"

    @tool
    async def read() -> str:
        """Read."""
        reads.append("read")
        if len(reads) == 6:
            all_read.set()
        return "read"

    node = ToolNode([write, read], max_concurrency=2)
    answers = node.invoke([turn("write", "write", "write", *["read"] * 6)])
    assert [answer.content for answer in answers] == ["written"] * 3 + ["read"] * 6


def _wrong(_: object) -> Any:
    return [1]


def _broken(_: object) -> Any:
    raise KeyError("path")


@pytest.mark.parametrize("rule", [_wrong, _broken])
def test_a_rule_that_fails_is_no_fault_of_the_model_and_nothing_runs(rule: Any) -> None:
    room = Room()
    node = ToolNode([visitor("write", room, exclusive=rule), visitor("read", room)])
    answers = node.invoke([turn("write", ("read", {"key": "read"}))])
    assert answers[0].outcome.kind == "internal"
    assert answers[1].content == "read"
    assert room.order == ["read"]


def test_a_call_whose_arguments_do_not_fit_asks_for_nothing() -> None:
    asked: list[object] = []

    def needs(arguments: object) -> list[str]:
        asked.append(arguments)
        return []

    @tool(exclusive=needs)
    async def write(size: int) -> str:
        """Write."""
        return "written"

    (answer,) = ToolNode([write]).invoke([turn(("write", {"size": "big"}))])
    assert answer.outcome.kind == "invalid_arguments"
    assert asked == []


# --- rates


@by_both_doors
def test_no_more_calls_start_in_a_span_than_the_rate_allows(run: Run) -> None:
    clock, starts = FakeClock(), list[float]()

    @tool(rate_limit=RateLimit(2, per=60))
    async def search() -> str:
        """Search."""
        starts.append(clock.now())
        return "found"

    answers = run(ToolNode([search], clock=clock), [turn(*["search"] * 5)])
    assert starts == [0, 0, 60, 60, 120]
    assert [answer.outcome.queued_s for answer in answers] == starts


def test_a_rate_holds_across_turns_and_for_each_tool_by_itself() -> None:
    clock, starts = FakeClock(), list[tuple[str, float]]()

    def limited(name: str) -> BaseTool:
        def act() -> str:
            starts.append((name, clock.now()))
            return name

        return tool(name, description="Act.", rate_limit=RateLimit(1, per=10))(act)

    node = ToolNode([limited("a"), limited("b")], clock=clock)
    for _ in range(3):
        node.invoke([turn("a", "b")])
    assert sorted(starts) == [("a", 0), ("a", 10), ("a", 20), ("b", 0), ("b", 10), ("b", 20)]


def test_who_waits_for_time_keeps_no_place_from_the_others() -> None:
    clock, ended = FakeClock(), dict[str, float]()

    @tool(rate_limit=RateLimit(1, per=60))
    async def search(query: str) -> str:
        """Search."""
        ended[query] = clock.now()
        return query

    @tool
    async def think() -> str:
        """Think."""
        ended["thought"] = clock.now()
        return "thought"

    calls = [("search", {"query": query}) for query in "abc"]
    ToolNode([search, think], clock=clock, max_concurrency=1).invoke([turn(*calls, "think")])
    assert ended == {"a": 0, "thought": 0, "b": 60, "c": 120}


# --- one after another


def step(name: str, log: list[str], *, fails: bool = False) -> BaseTool:
    """A tool that notes that it ran."""

    async def act() -> str:
        await asyncio.sleep(0)
        log.append(name)
        if fails:
            raise ValueError("no")
        return name

    return tool(name, description="A step.")(act)


@by_both_doors
def test_one_after_another_no_call_starts_before_the_one_before_has_ended(run: Run) -> None:
    room = Room()
    run(
        ToolNode([visitor("go", room), visitor("stay", room, is_async=False)], sequential=True),
        [turn(*["go", "stay"] * 3)],
    )
    assert room.peak == 1


@by_both_doors
@pytest.mark.parametrize("failing", ["fail", "nosuch", ("go", {"surplus": {}, "x": 1})], ids=str)
def test_whatever_a_failure_is_what_comes_after_it_is_skipped(run: Run, failing: Any) -> None:
    log: list[str] = []

    @tool
    async def strict(number: int) -> str:
        """Take a number."""
        log.append("strict")
        return str(number)

    tools = [step("go", log), step("fail", log, fails=True), strict]
    calls = ["go", ("strict", {"number": "x"}) if isinstance(failing, tuple) else failing, "go", "go"]
    answers = run(ToolNode(tools, sequential=True, stop_on_failure=True), [turn(*calls)])
    assert [answer.status for answer in answers] == ["success", "error", "error", "error"]
    assert [answer.outcome.kind for answer in answers[2:]] == ["skipped", "skipped"]
    assert log.count("go") == 1


def test_what_was_skipped_is_told_why() -> None:
    log: list[str] = []
    node = ToolNode([step("go", log), step("fail", log, fails=True)], sequential=True, stop_on_failure=True)
    skipped = run_sync(node, [turn("fail", "go")])[1]
    assert skipped.content == "The call was not executed, because the call of 'fail' before it failed."
    assert skipped.outcome.attempts == 0


# --- many


def worker(room: Room) -> BaseTool:
    """A tool that works for two steps of the loop."""

    @tool
    async def work(number: int) -> int:
        """Work."""
        with room.visit():
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        return number

    return work


MANY = turn(*[("work", {"number": number}) for number in range(10_000)])


def test_ten_thousand_calls_fill_their_hundred_places_and_no_more() -> None:
    room = Room()
    answers = run_async(ToolNode([worker(room)], max_concurrency=100), [MANY])
    assert room.peak == 100
    assert [answer.content for answer in answers] == [str(number) for number in range(10_000)]


@pytest.mark.slow
def test_ten_thousand_calls_with_a_limit_need_little_memory_beside_their_answers() -> None:
    node = ToolNode([worker(Room())], max_concurrency=100)
    tracemalloc.start()
    try:
        answers = run_sync(node, [MANY])
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(answers) == 10_000
    assert peak - kept < 10_000_000  # what ten thousand waiting tasks would need is several times that


def test_a_call_that_waits_for_its_next_attempt_holds_no_place() -> None:
    clock = FakeClock()
    started: list[str] = []

    @tool(concurrency=1, retry=RetryPolicy(initial_interval=60, jitter=False, max_interval=60))
    async def ask(who: str) -> str:
        """Ask."""
        started.append(who)
        if who == "busy" and started.count("busy") == 1:
            raise ToolException("busy", retryable=True)
        return f"{who} at {clock.now():g}"

    calls = [{"id": f"c{n}", "name": "ask", "args": {"who": who}} for n, who in enumerate(["busy", "free"])]
    answers = ToolNode([ask], clock=clock).invoke([AIMessage(tool_calls=calls)])
    assert ([answer.content for answer in answers], started) == (["busy at 60", "free at 0"], ["busy", "free", "busy"])
