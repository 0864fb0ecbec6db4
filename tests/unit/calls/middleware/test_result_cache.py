"""Results that are kept and used again."""

from __future__ import annotations

import asyncio
import threading
from typing import Annotated, Any

import pytest

from support.turns import by_both_doors, run_async, run_sync, turn
from surehand import (
    AIMessage,
    Command,
    InjectedState,
    InjectedToolCallId,
    OptionError,
    ResultCache,
    ResultShelf,
    ToolContext,
    ToolException,
    ToolMessage,
    ToolNode,
    ToolReturn,
    tool,
)
from surehand.events import CallFinished
from surehand.testing import FakeClock, record_events


class Counter:
    """How often a body ran."""

    def __init__(self) -> None:
        self.runs = 0

    def up(self) -> int:
        self.runs += 1
        return self.runs


def ask(node: ToolNode, name: str, *, thread_id: str = "", context: Any = None, **args: Any) -> ToolMessage:
    config: Any = {"configurable": {"thread_id": thread_id}}
    answers: list[ToolMessage] = node.invoke([turn((name, args))], config, context=context)
    return answers[0]


def searching(counter: Counter, cache: ResultCache, **options: Any) -> ToolNode:
    settings: dict[str, Any] = {"read_only": True, **options}

    @tool(**settings)
    def search(query: str = "a", limit: int = 1) -> str:
        """Search."""
        return f"{query}{counter.up()}"

    return ToolNode([search], middleware=[cache], approve=lambda name, args: True)


@by_both_doors
def test_the_same_call_is_answered_from_what_was_kept(run: Any) -> None:
    counter = Counter()
    node = searching(counter, ResultCache())
    first, again = (run(node, [turn(("search", {"query": "x", "limit": 2}))])[0] for _ in range(2))
    assert (first.content, again.content) == ("x1", "x1")
    assert counter.runs == 1


def test_the_order_of_arguments_is_no_difference_and_their_values_are() -> None:
    counter = Counter()
    node = searching(counter, ResultCache())
    calls: list[dict[str, Any]] = [
        {"query": "x", "limit": 2},
        {"limit": 2, "query": "x"},
        {"query": "y", "limit": 2},
        {"query": "x"},
    ]
    assert [ask(node, "search", **args).content for args in calls] == ["x1", "x1", "y2", "x3"]


def test_a_hit_carries_its_own_id_a_note_and_no_attempt() -> None:
    clock, events = FakeClock(), record_events()

    @tool(read_only=True)
    def look() -> str:
        """Look."""
        return "seen"

    node = ToolNode([look], middleware=[ResultCache(clock=clock)], listener=events)
    ask(node, "look")
    clock.advance(5)
    message = AIMessage(tool_calls=[{"id": "other", "name": "look", "args": {}}])
    [hit] = node.invoke([message])

    assert (hit.tool_call_id, hit.name, hit.content, hit.status) == ("other", "look", "seen", "success")
    assert hit.outcome.notes == ("from the result cache, 5 s old",)
    assert hit.outcome.attempts == 0
    assert events.of(CallFinished)[-1].outcome.notes == hit.outcome.notes


@pytest.mark.parametrize("options", [{"read_only": False}, {"read_only": False, "idempotent": True}])
def test_writes_are_never_kept(options: dict[str, Any]) -> None:
    counter = Counter()
    node = searching(counter, ResultCache(), **options)
    assert [ask(node, "search").content for _ in range(2)] == ["a1", "a2"]


def always(arguments: Any) -> bool:
    return True


@pytest.mark.parametrize("rule", [True, always])
def test_what_needs_an_approval_is_never_kept(rule: Any) -> None:
    counter = Counter()
    node = searching(counter, ResultCache(), requires_approval=rule)
    assert [ask(node, "search").content for _ in range(2)] == ["a1", "a2"]


def test_failures_are_never_kept() -> None:
    counter = Counter()

    @tool(read_only=True)
    def search() -> str:
        """Search."""
        if counter.up() == 1:
            raise ToolException("not yet")
        return "found"

    node = ToolNode([search], middleware=[ResultCache()])
    assert [ask(node, "search").content for _ in range(3)] == ["not yet", "found", "found"]
    assert counter.runs == 2


def test_a_node_may_say_what_its_tools_do_not() -> None:
    counter = Counter()

    @tool
    def search() -> int:
        """Search."""
        return counter.up()

    node = ToolNode([search], overrides={"search": {"read_only": True}}, middleware=[ResultCache()])
    assert [ask(node, "search").content for _ in range(2)] == ["1", "1"]


def test_after_its_time_a_result_is_asked_for_anew() -> None:
    counter, clock = Counter(), FakeClock()
    node = searching(counter, ResultCache(ttl=60, clock=clock))
    ask(node, "search")
    clock.advance(59)
    assert ask(node, "search").content == "a1"
    clock.advance(1)
    assert ask(node, "search").content == "a2"


def test_the_result_that_was_not_used_for_longest_goes_first() -> None:
    counter = Counter()
    cache = ResultCache(max_entries=2)
    node = searching(counter, cache)
    for query in ["x", "y", "x", "z"]:
        ask(node, "search", query=query)
    assert len(cache) == 2
    assert [ask(node, "search", query=query).content for query in ["x", "y"]] == ["x1", "y4"]


def test_a_cleared_cache_holds_nothing() -> None:
    counter, cache = Counter(), ResultCache()
    node = searching(counter, cache)
    ask(node, "search")
    cache.clear()
    assert ask(node, "search").content == "a2"


def test_results_may_be_kept_for_their_conversation_only() -> None:
    counter = Counter()
    node = searching(counter, ResultCache(per_thread=True))
    assert [ask(node, "search", thread_id=thread).content for thread in ["s", "t", "s"]] == ["a1", "a2", "a1"]


def test_what_the_host_puts_in_decides_too_and_is_not_kept_unless_the_host_says_how() -> None:
    counter = Counter()

    @tool(read_only=True)
    def mine(user: Annotated[str, InjectedState("user")]) -> str:
        """Mine."""
        return f"{user}{counter.up()}"

    @tool(read_only=True)
    def ours(ctx: ToolContext) -> str:
        """Ours."""
        return f"{ctx.context}{counter.up()}"

    def asked(node: ToolNode, name: str, user: str) -> str:
        state = {"messages": [turn(name)], "user": user}
        answer: ToolMessage = node.invoke(state, context=user)["messages"][0]
        return answer.text

    careful = ToolNode([mine, ours], middleware=[ResultCache()])
    told = ToolNode([mine, ours], middleware=[ResultCache(key=lambda request: request.state["user"])])

    assert [asked(careful, "mine", "ann"), asked(careful, "mine", "ann"), asked(careful, "ours", "ann")] == [
        "ann1",
        "ann2",
        "ann3",
    ]
    assert [asked(told, "mine", user) for user in ("ann", "bob", "ann")] == ["ann4", "bob5", "ann4"]


def test_the_id_of_a_call_decides_no_result() -> None:
    counter = Counter()

    @tool(read_only=True)
    def look(call_id: Annotated[str, InjectedToolCallId]) -> int:
        """Look."""
        return counter.up()

    node = ToolNode([look], middleware=[ResultCache()])
    assert [ask(node, "look").content for _ in range(2)] == ["1", "1"]


def test_a_key_of_none_keeps_nothing_and_one_that_cannot_be_hashed_is_an_error() -> None:
    counter = Counter()
    node = searching(counter, ResultCache(key=lambda request: None))
    assert [ask(node, "search").content for _ in range(2)] == ["a1", "a2"]

    def unhashable(request: Any) -> Any:
        return [request.tool.name]

    node = ToolNode(
        [*searching(counter, ResultCache()).tools_by_name.values()], middleware=[ResultCache(key=unhashable)]
    )
    assert "fault in the application" in ask(node, "search").text


def test_two_tools_of_one_name_do_not_share_results() -> None:
    cache = ResultCache()
    counters = [Counter(), Counter()]
    nodes = [searching(counter, cache) for counter in counters]
    assert [ask(node, "search").content for node in nodes] == ["a1", "a1"]
    assert [counter.runs for counter in counters] == [1, 1]


def test_each_answer_has_an_artifact_of_its_own() -> None:
    @tool(read_only=True)
    def table() -> ToolReturn:
        """Give a table."""
        return ToolReturn("a table", artifact=[[1, 2]])

    node = ToolNode([table], middleware=[ResultCache()])
    first = ask(node, "table")
    first.artifact[0].clear()
    second = ask(node, "table")
    second.artifact.append("changed")

    assert ask(node, "table").artifact == [[1, 2]]
    assert ask(node, "table").content == "a table"


def test_what_cannot_be_copied_is_not_kept() -> None:
    counter = Counter()

    @tool(read_only=True)
    def opened() -> ToolReturn:
        """Open."""
        counter.up()
        return ToolReturn("opened", artifact=threading.Lock())

    node = ToolNode([opened], middleware=[ResultCache()])
    assert [ask(node, "opened").content for _ in range(2)] == ["opened", "opened"]
    assert counter.runs == 2


def test_what_came_with_a_command_is_not_kept() -> None:
    counter = Counter()

    @tool(read_only=True)
    def move() -> Command:
        """Move."""
        counter.up()
        return Command(goto="next")

    node = ToolNode([move], commands=True, middleware=[ResultCache()])
    assert [len(node.invoke({"messages": [turn("move")]})) for _ in range(2)] == [2, 2]
    assert counter.runs == 2


@pytest.mark.parametrize("content", ["x" * 5_000, [{"type": "text", "text": "x" * 5_000}]])
def test_a_result_that_is_read_on_in_one_conversation_is_not_given_to_another(content: Any) -> None:
    @tool(read_only=True, max_output=1_000)
    def read() -> Any:
        """Read something long."""
        return content

    shelf = ResultShelf()
    node = ToolNode([read], shelf=shelf, middleware=[ResultCache()])
    for thread_id in ("a", "b"):
        text = ask(node, "read", thread_id=thread_id).text
        (handle,) = shelf.handles(thread_id)
        assert handle in text


def test_a_result_that_was_cut_for_good_is_kept() -> None:
    counter = Counter()

    @tool(read_only=True, max_output=1_000)
    def read() -> str:
        """Read something long."""
        counter.up()
        return "x" * 5_000

    node = ToolNode([read], middleware=[ResultCache()])
    assert ask(node, "read").text == ask(node, "read").text
    assert counter.runs == 1


def test_a_lone_call_still_needs_no_loop() -> None:
    places: list[threading.Thread] = []

    @tool(read_only=True)
    def look() -> str:
        """Look."""
        places.append(threading.current_thread())
        return "seen"

    ask(ToolNode([look], timeout=None, middleware=[ResultCache()]), "look")
    assert places == [threading.current_thread()]


def test_many_threads_and_loops_may_use_one_cache() -> None:
    counter, cache = Counter(), ResultCache(max_entries=8)
    node = searching(counter, cache)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for number in range(50):
                query = str(number % 16)
                assert ask(node, "search", query=query).text.startswith(query)
                assert asyncio.run(node.ainvoke([turn(("search", {"query": query}))]))[0].text.startswith(query)
        except BaseException as error:  # noqa: BLE001 - shown by the test, whatever it is
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(cache) == 8


@pytest.mark.parametrize(
    "options", [{"ttl": 0}, {"ttl": -1}, {"max_entries": 0}, {"max_entries": None}, {"key": "a"}, {"per_thread": 1}]
)
def test_what_cannot_be_meant_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        ResultCache(**options)


def test_it_says_how_much_it_holds() -> None:
    counter, cache = Counter(), ResultCache()
    run_sync(searching(counter, cache), [turn("search")])
    run_async(searching(counter, cache), [turn("search")])
    assert repr(cache) == "ResultCache(2 results)"
