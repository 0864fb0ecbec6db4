from __future__ import annotations

import asyncio
import contextvars
import operator
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest
from pydantic import BaseModel

from support.liveness import comes_true
from support.turns import Room
from surehand.concurrency import run_in_thread, run_sync
from surehand.concurrency.workers import MAX_WORKING
from surehand.control import current_runtime
from surehand.errors import GraphRecursionError, NodeError, OptionError, RoutingError, ToolException
from surehand.graph import END, START, Command, CompiledGraph, MessagesState, Send, StateGraph, add_messages
from surehand.messages import AIMessage, AnyMessage, HumanMessage
from surehand.policy import RetryPolicy
from surehand.stores import InMemoryStore

QUICK = RetryPolicy(max_attempts=3, initial_interval=0.001)


class State(TypedDict):
    log: Annotated[list[str], operator.add]
    value: Any


def graph_of(**nodes: Callable[[Any], Any]) -> StateGraph:
    """A graph whose nodes all follow START."""
    builder = StateGraph(State)
    for name, node in nodes.items():
        builder.add_node(name, node).add_edge(START, name)
    return builder


def through(door: str, graph: CompiledGraph, given: Any = None, config: Any = None, **options: Any) -> Any:
    given = {} if given is None else given
    if door == "sync":
        return graph.invoke(given, config, **options)
    return asyncio.run(graph.ainvoke(given, config, **options))


both_doors = pytest.mark.parametrize("door", ["sync", "async"])


# Threads, loops and time


@both_doors
def test_nodes_of_one_step_run_at_the_same_time(door: str) -> None:
    barrier = threading.Barrier(3, timeout=10)

    def meet(state: State) -> dict[str, Any]:
        barrier.wait()
        return {"log": ["met"]}

    assert through(door, graph_of(a=meet, b=meet, c=meet).compile())["log"] == ["met"] * 3


@both_doors
def test_async_and_sync_nodes_run_beside_one_another(door: str) -> None:
    met = threading.Event()

    async def wait_for_it(state: State) -> dict[str, Any]:
        assert await run_in_thread(lambda: met.wait(5))
        return {"log": ["async"]}

    def say(state: State) -> dict[str, Any]:
        met.set()
        return {"log": ["sync"]}

    assert through(door, graph_of(a=wait_for_it, b=say).compile())["log"] == ["async", "sync"]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="loops start no task at once")
def test_on_a_loop_that_starts_tasks_at_once_no_node_runs_after_one_has_failed() -> None:
    ran: list[str] = []

    async def fail(state: State) -> dict[str, Any]:
        raise LookupError("gone")

    async def work(state: State) -> dict[str, Any]:
        ran.append("work")
        return {"log": ["worked"]}

    with asyncio.Runner() as runner:
        runner.get_loop().set_task_factory(getattr(asyncio, "eager_task_factory"))  # noqa: B009 - not there in 3.11
        assert runner.run(graph_of(a=work, b=work).compile().ainvoke({}))["log"] == ["worked"] * 2
        with pytest.raises(LookupError, match="gone"):
            runner.run(graph_of(a=fail, b=work).compile().ainvoke({}))
    assert ran == ["work"] * 2


@both_doors
def test_updates_are_applied_in_the_order_of_the_nodes_whatever_ends_first(door: str) -> None:
    def taking(seconds: float, word: str) -> Any:
        async def node(state: State) -> dict[str, Any]:
            await asyncio.sleep(seconds)
            return {"log": [word]}

        return node

    graph = graph_of(a=taking(0.02, "a"), b=taking(0.0, "b"), c=taking(0.01, "c")).compile()
    assert through(door, graph)["log"] == ["a", "b", "c"]


def test_a_lone_sync_node_stays_in_the_callers_thread() -> None:
    threads: list[threading.Thread] = []
    graph_of(a=lambda state: threads.append(threading.current_thread())).compile().invoke({})
    assert threads == [threading.current_thread()]


def test_a_lone_sync_node_may_use_a_sync_door_itself() -> None:
    async def inner() -> str:
        await asyncio.sleep(0)
        return "inner"

    graph = graph_of(a=lambda state: {"log": [run_sync(inner)]}).compile()
    assert graph.invoke({})["log"] == ["inner"]


def test_a_graph_may_be_run_inside_a_node_of_another() -> None:
    async def say(state: State) -> dict[str, Any]:
        return {"log": ["deep"]}

    inner = graph_of(a=say, b=say).compile()
    graph = graph_of(a=lambda state: {"log": inner.invoke({})["log"]}).compile()
    assert graph.invoke({})["log"] == ["deep", "deep"]


@pytest.mark.timeout(100)
def test_more_nodes_than_there_are_threads_may_each_run_a_graph_that_needs_threads() -> None:
    inner = graph_of(a=lambda state: {"log": ["a"]}, b=lambda state: {"log": ["b"]}).compile()
    together = threading.Barrier(MAX_WORKING, timeout=10)

    def outer(number: int) -> dict[str, Any]:
        if number < MAX_WORKING:
            together.wait()
        return {"log": inner.invoke({})["log"]}

    graph = StateGraph(State).add_node("outer", outer)
    graph.add_conditional_edges(START, lambda state: [Send("outer", number) for number in range(MAX_WORKING + 8)])
    assert len(graph.compile().invoke({})["log"]) == 2 * (MAX_WORKING + 8)


def test_under_await_a_sync_node_leaves_the_loop_free() -> None:
    threads: list[threading.Thread] = []
    graph = graph_of(a=lambda state: threads.append(threading.current_thread())).compile()
    asyncio.run(graph.ainvoke({}))
    assert threads != [threading.current_thread()]


def test_the_sync_door_works_inside_a_running_loop() -> None:
    graph = graph_of(a=lambda state: {"log": ["a"]}).compile()

    async def main() -> Any:
        return graph.invoke({})

    assert asyncio.run(main())["log"] == ["a"]


@pytest.mark.parametrize("kind", ["sync", "async"])
@both_doors
def test_no_more_nodes_run_at_a_time_than_the_configuration_allows(door: str, kind: str) -> None:
    room = Room(awaits=2)

    def work(state: State) -> None:
        with room.visit():
            room.stay()

    async def awork(state: State) -> None:
        with room.visit():
            await asyncio.sleep(0.005)

    nodes = {f"n{number}": work if kind == "sync" else awork for number in range(6)}
    through(door, graph_of(**nodes).compile(), config={"max_concurrency": 2})
    assert room.peak == 2


@both_doors
def test_context_variables_reach_nodes_and_do_not_leak_out_of_them(door: str) -> None:
    variable = contextvars.ContextVar("variable", default="unset")
    variable.set("given")

    def change(state: State) -> dict[str, Any]:
        seen = variable.get()
        variable.set("changed")
        return {"log": [seen]}

    graph = StateGraph(State).add_sequence([("a", change), ("b", change)]).add_edge(START, "a").compile()
    assert through(door, graph)["log"] == ["given", "given"]
    assert variable.get() == "given"


# What nodes are given


def mutate(state: Any) -> None:
    state["log"].append("mutated")
    state["value"]["k"] = "mutated"
    state["new"] = 1


@both_doors
def test_a_node_that_changes_what_it_was_given_does_not_change_the_state(door: str) -> None:
    given = {"log": ["a"], "value": {"k": 1}}
    graph = StateGraph(State).add_sequence([("a", mutate), ("b", mutate)]).add_edge(START, "a").compile()
    assert through(door, graph, given) == {"log": ["a"], "value": {"k": 1}}
    assert given == {"log": ["a"], "value": {"k": 1}}


def test_a_node_that_appends_to_the_messages_in_place_does_not_change_the_conversation() -> None:
    def append(state: MessagesState) -> None:
        state["messages"].append(AIMessage("smuggled in"))

    graph = StateGraph(MessagesState).add_node("a", append).add_edge(START, "a").compile()
    assert len(graph.invoke("hi")["messages"]) == 1


def test_parallel_nodes_do_not_see_each_others_changes() -> None:
    graph = graph_of(a=mutate, b=lambda state: {"log": [*state["log"]]}).compile()
    assert graph.invoke({"log": ["x"], "value": {}}, {"max_concurrency": 1})["log"] == ["x", "x"]


def test_a_node_that_keeps_what_it_returned_cannot_change_it_later() -> None:
    kept: list[int] = [1]

    def keep(state: State) -> dict[str, Any]:
        return {"value": kept}

    graph = StateGraph(State).add_sequence([("a", keep), ("b", lambda state: kept.append(2))]).add_edge(START, "a")
    assert graph.compile().invoke({})["value"] == [1]


def test_a_reducer_that_changes_its_arguments_changes_neither_state_nor_update() -> None:
    def extend(left: list[str], right: list[str]) -> list[str]:
        left.extend(right)
        right.clear()
        return left

    class Extended(TypedDict):
        log: Annotated[list[str], extend]

    graph = StateGraph(Extended).add_node("a", lambda state: {"log": ["b"]}).add_edge(START, "a").compile()
    given = ["a"]
    assert list(graph.stream({"log": given}, stream_mode=["values", "updates"])) == [
        ("values", {"log": ["a"]}),
        ("updates", {"a": {"log": ["b"]}}),
        ("values", {"log": ["a", "b"]}),
    ]
    assert given == ["a"]


@both_doors
def test_the_runtime_reaches_nodes_and_paths(door: str) -> None:
    store, seen = InMemoryStore(), list[Any]()

    def look(state: State) -> None:
        runtime = current_runtime()
        assert runtime is not None
        seen.append((runtime.store, runtime.context, runtime.config.get("tags"), runtime.emit, dict(runtime.metadata)))

    def route(state: State) -> str:
        look(state)
        return END

    graph = graph_of(a=look).add_conditional_edges("a", route).compile(store=store, name="g")
    through(door, graph, config={"tags": ["t"]}, context="mine")
    expected = (store, "mine", ["t"], None, {"graph": "g", "node": "a", "step": 1})
    assert seen == [expected, expected]
    assert current_runtime() is None


# What nodes return


@pytest.mark.parametrize("returned", [None, {}, {"log": []}, Command()])
def test_a_node_may_return_nothing(returned: Any) -> None:
    assert graph_of(a=lambda state: returned).compile().invoke({}) == {"log": []}


def test_a_node_may_return_no_messages() -> None:
    graph = StateGraph(MessagesState).add_node("a", lambda state: []).add_edge(START, "a").compile()
    assert graph.invoke({}) == {"messages": []}


@pytest.mark.parametrize(
    "returned", ["text", 1, True, ["x"], AIMessage("x"), object(), {1}, Send("a", 1), [Send("a", 1)]]
)
def test_what_is_no_update_is_an_error_that_names_the_node(returned: Any) -> None:
    with pytest.raises(NodeError, match="Node 'a'"):
        graph_of(a=lambda state: returned).compile().invoke({})


@pytest.mark.parametrize("returned", ["text", 1, b"x", object()])
def test_what_is_no_message_is_an_error_of_a_message_list(returned: Any) -> None:
    graph = StateGraph(Annotated[list[Any], operator.add])  # no conversation: its reducer decides what it takes
    with pytest.raises(NodeError, match="reducer of the state cannot take"):
        graph.add_node("a", lambda state: 1).add_edge(START, "a").compile().invoke([])
    with pytest.raises(NodeError, match="Node 'a'"):
        StateGraph(MessagesState).add_node("a", lambda state: returned).add_edge(START, "a").compile().invoke({})


def test_an_unknown_key_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(NodeError, match="Did you mean 'value'"):
        graph_of(a=lambda state: {"valeu": 1}).compile().invoke({})


@both_doors
def test_two_writers_of_a_key_without_a_reducer_are_an_error_that_names_both(door: str) -> None:
    graph = graph_of(a=lambda state: {"value": 1}, b=lambda state: {"value": 1}).compile()
    with pytest.raises(NodeError, match="Node 'a': it and node 'b' wrote the key 'value' in one step"):
        through(door, graph)


def test_a_node_sent_twice_that_writes_such_a_key_twice_is_an_error() -> None:
    graph = StateGraph(State).add_node("a", lambda arg: {"value": arg})
    graph.add_conditional_edges(START, lambda state: [Send("a", 1), Send("a", 2)])
    with pytest.raises(NodeError, match="Node 'a': it wrote the key 'value' twice in one step"):
        graph.compile().invoke({})


def test_a_reducer_that_fails_is_an_error_that_names_key_and_node() -> None:
    with pytest.raises(NodeError, match=r"Node 'a': The reducer of the key 'log' .*TypeError") as caught:
        graph_of(a=lambda state: {"log": 3}).compile().invoke({})
    assert isinstance(caught.value.__cause__, TypeError)


# Routing mistakes


@pytest.mark.parametrize(
    "command", [Command(goto="bb"), Command(goto=START), Command(goto=Send("bb", 1)), Command(goto=Send(END, 1))]
)
def test_a_command_to_nowhere_is_an_error(command: Command) -> None:
    with pytest.raises(RoutingError, match="Node 'a' leads to") as caught:
        graph_of(a=lambda state: command).compile().invoke({})
    assert caught.value.source == "a"


@pytest.mark.parametrize("answer", ["bb", None, 3, [None], START, Send("bb", 1), Send(END, 1)])
def test_a_path_to_nowhere_is_an_error(answer: Any) -> None:
    with pytest.raises(RoutingError, match="Node 'a' leads to"):
        graph_of(a=lambda state: None).add_conditional_edges("a", lambda state: answer).compile().invoke({})


@pytest.mark.parametrize("goto", [None, 3, {"a": 1}])
def test_a_command_whose_goto_is_no_target_is_an_error(goto: Any) -> None:
    with pytest.raises(NodeError, match="Expected the name of a node"):
        graph_of(a=lambda state: Command(goto=goto)).compile().invoke({})


def test_a_command_for_an_unknown_graph_is_an_error() -> None:
    with pytest.raises(NodeError, match="for the graph 'other'"):
        graph_of(a=lambda state: Command(graph="other")).compile().invoke({})


# Limits


def endless(seen: list[int]) -> CompiledGraph:
    def node(state: State) -> dict[str, Any]:
        seen.append(1)
        return {"value": len(seen)}

    return graph_of(a=node).add_edge("a", "a").compile()


@both_doors
def test_a_graph_of_as_many_steps_as_the_limit_runs(door: str) -> None:
    def say(state: State) -> dict[str, Any]:
        return {"log": ["x"]}

    nodes = [(f"n{number}", say) for number in range(3)]
    graph = StateGraph(State).add_sequence(nodes).add_edge(START, "n0").compile()
    assert len(through(door, graph, config={"recursion_limit": 3})["log"]) == 3
    with pytest.raises(GraphRecursionError) as caught:
        through(door, graph, config={"recursion_limit": 2})
    assert caught.value.state == {"log": ["x", "x"]}


def test_the_limit_is_25_steps_by_default_and_the_error_holds_what_was_reached() -> None:
    seen: list[int] = []
    with pytest.raises(GraphRecursionError, match="within 25 steps") as caught:
        endless(seen).invoke({})
    assert (caught.value.limit, caught.value.state["value"], len(seen)) == (25, 25, 25)


@pytest.mark.parametrize("config", [{"recursion_limit": 0}, {"max_concurrency": 0}, {"recursion_limit": "5"}, "text"])
def test_a_configuration_that_cannot_be_meant_is_refused(config: Any) -> None:
    with pytest.raises(OptionError):
        endless([]).invoke({}, config)


# Failures and retries


@both_doors
def test_what_a_node_raises_gets_out_as_it_is_with_a_note_that_names_the_node(door: str) -> None:
    error = KeyError("lost")

    def fail(state: State) -> None:
        raise error

    with pytest.raises(KeyError) as caught:
        through(door, graph_of(a=fail).compile(name="g"))
    assert caught.value is error
    assert error.__notes__ == ["In node 'a' of graph 'g', step 1."]


@both_doors
def test_a_failure_cancels_async_siblings_and_awaits_their_end(door: str) -> None:
    ended: list[str] = []

    async def long(state: State) -> None:
        try:
            await asyncio.sleep(30)
        finally:
            await asyncio.sleep(0)
            ended.append("cleaned up")

    async def fail(state: State) -> None:
        await asyncio.sleep(0.001)
        raise LookupError("x")

    with pytest.raises(LookupError):
        through(door, graph_of(a=long, b=fail).compile())
    assert ended == ["cleaned up"]


class Panic(BaseException):
    """As native code raises it."""


@both_doors
@pytest.mark.parametrize("kind", [LookupError, Panic, SystemExit])
def test_a_failure_waits_for_sync_siblings_that_have_begun_and_gets_out_by_itself(
    door: str, kind: type[BaseException]
) -> None:
    begun, ended = threading.Event(), list[str]()

    def work(state: State) -> None:
        begun.set()
        time.sleep(0.02)
        ended.append("work")

    def fail(state: State) -> None:
        begun.wait(5)
        raise kind

    with pytest.raises(kind):
        through(door, graph_of(a=work, b=fail).compile())
    assert ended == ["work"]


def test_a_failure_drops_siblings_that_have_not_begun() -> None:
    ran: list[str] = []

    def fail(state: State) -> None:
        raise LookupError("x")

    graph = graph_of(a=fail, b=lambda state: ran.append("b"), c=lambda state: ran.append("c")).compile()
    with pytest.raises(LookupError):
        graph.invoke({}, {"max_concurrency": 1})
    assert ran == []


def test_of_several_failures_the_first_in_order_gets_out_and_names_the_others() -> None:
    barrier = threading.Barrier(2, timeout=5)

    def fail(error: Exception) -> Any:
        def node(state: State) -> None:
            barrier.wait()
            raise error

        return node

    with pytest.raises(LookupError) as caught:
        graph_of(a=fail(LookupError("first")), b=fail(OSError("second"))).compile().invoke({})
    assert "Node 'b' failed in the same step: OSError('second')" in caught.value.__notes__


def test_a_sibling_that_fails_when_it_is_cancelled_does_not_hide_the_failure() -> None:
    async def cleans_up_badly(state: State) -> None:
        try:
            await asyncio.sleep(30)
        finally:
            raise OSError("cleaning up failed")

    async def fail(state: State) -> None:
        await asyncio.sleep(0.001)
        raise LookupError("first")

    with pytest.raises(LookupError, match="first") as caught:
        graph_of(a=cleans_up_badly, b=fail).compile().invoke({})
    assert "Node 'a' failed in the same step: OSError('cleaning up failed')" in caught.value.__notes__


def test_a_node_that_raises_cancelled_error_by_itself_is_an_error_of_the_node() -> None:
    async def node(state: State) -> None:
        raise asyncio.CancelledError

    with pytest.raises(NodeError, match="although nobody cancelled it"):
        graph_of(a=node).compile().invoke({})


def test_cancelling_a_run_cancels_its_nodes() -> None:
    begun: list[str] = []
    ended: list[str] = []

    async def long(state: State) -> None:
        begun.append("begun")
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    async def main() -> None:
        task = asyncio.ensure_future(graph_of(a=long, b=long).compile().ainvoke({}))
        await comes_true(lambda: len(begun) == 2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert ended == ["cancelled", "cancelled"]


INTERRUPTED = """
import asyncio, sys
from surehand import MessagesState, StateGraph

def interrupt(state):
    raise KeyboardInterrupt

builder = StateGraph(MessagesState).add_node("a", interrupt)
graph = builder.set_entry_point("a").compile()
try:
    graph.invoke({}) if sys.argv[1] == "sync" else asyncio.run(graph.ainvoke({}))
except KeyboardInterrupt:
    print("got through")
"""


@both_doors
def test_keyboard_interrupts_get_through(door: str) -> None:
    """In a process of its own: an interrupt that went astray must not end the test run."""
    command = [sys.executable, "-c", INTERRUPTED, door]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert (done.stdout, done.returncode) == ("got through\n", 0)


def failing(times: int, error: Exception) -> tuple[Any, list[int]]:
    attempts: list[int] = []

    def node(state: State) -> dict[str, Any]:
        attempts.append(1)
        if len(attempts) <= times:
            raise error
        return {"log": ["done"]}

    return node, attempts


@pytest.mark.parametrize("error", [RuntimeError("x"), ConnectionError("x"), ToolException("x", retryable=True)])
@both_doors
def test_a_node_with_a_retry_policy_is_tried_again(door: str, error: Exception) -> None:
    node, attempts = failing(2, error)
    graph = StateGraph(State).add_node("a", node, retry=QUICK).add_edge(START, "a").compile()
    assert through(door, graph)["log"] == ["done"]
    assert len(attempts) == 3


@pytest.mark.parametrize("error", [TypeError("x"), ValueError("x"), KeyError("x"), ToolException("x")])
def test_mistakes_are_not_tried_again(error: Exception) -> None:
    node, attempts = failing(1, error)
    with pytest.raises(type(error)):
        StateGraph(State).add_node("a", node, retry=QUICK).add_edge(START, "a").compile().invoke({})
    assert len(attempts) == 1


def test_a_policy_that_names_exceptions_covers_those_alone() -> None:
    policy = RetryPolicy(max_attempts=2, initial_interval=0.001, retry_on=ValueError)
    node, attempts = failing(1, ValueError("x"))
    graph = StateGraph(State).add_node("a", node, retry_policy=policy).add_edge(START, "a").compile()
    assert graph.invoke({})["log"] == ["done"]
    node, attempts = failing(1, ConnectionError("x"))
    with pytest.raises(ConnectionError):
        StateGraph(State).add_node("a", node, retry=policy).add_edge(START, "a").compile().invoke({})
    assert len(attempts) == 1


def test_retries_end_with_the_policy() -> None:
    node, attempts = failing(9, RuntimeError("x"))
    with pytest.raises(RuntimeError):
        StateGraph(State).add_node("a", node, retry=QUICK).add_edge(START, "a").compile().invoke({})
    assert len(attempts) == 3


def test_no_attempt_starts_after_the_time_the_policy_allows() -> None:
    node, attempts = failing(9, RuntimeError("x"))
    policy = RetryPolicy(max_attempts=9, initial_interval=5.0, max_elapsed=1.0)
    with pytest.raises(RuntimeError):
        StateGraph(State).add_node("a", node, retry=policy).add_edge(START, "a").compile().invoke({})
    assert len(attempts) == 1


def test_each_attempt_sees_the_state_as_it_was() -> None:
    seen: list[int] = []

    def node(state: State) -> None:
        seen.append(len(state["log"]))
        state["log"].append("half done")
        if len(seen) < 2:
            raise RuntimeError

    StateGraph(State).add_node("a", node, retry=QUICK).add_edge(START, "a").compile().invoke({})
    assert seen == [0, 0]


def test_a_chat_model_is_called_with_the_messages_and_its_reply_is_the_update() -> None:
    class Model:
        def bind_tools(self, tools: object) -> Model:
            return self

        async def ainvoke(self, messages: list[Any]) -> AIMessage:
            return AIMessage(f"{len(messages)} messages, the last: {messages[-1].content}")

    expected = "1 messages, the last: hi"
    graph = StateGraph(MessagesState).add_node("model", Model()).add_edge(START, "model").compile()
    assert graph.invoke("hi")["messages"][-1].content == expected
    graph = StateGraph(Annotated[list[Any], add_messages]).add_node("model", Model()).add_edge(START, "model").compile()
    assert graph.invoke("hi")[-1].content == expected


def test_a_chat_model_finds_the_messages_of_an_object_and_of_a_send() -> None:
    class Chat(BaseModel):
        messages: list[AnyMessage] = []

    class Echo:
        def bind_tools(self, tools: object) -> Echo:
            return self

        def invoke(self, messages: list[Any], config: object = None) -> AIMessage:
            return AIMessage(messages[-1].content)

    builder = StateGraph(Chat).add_node("echo", Echo()).add_edge(START, "echo")
    builder.add_conditional_edges(START, lambda state: Send("echo", {"messages": [HumanMessage("sent")]}))
    assert [message.content for message in builder.compile().invoke("hi").messages] == ["hi", "hi", "sent"]


def test_one_graph_may_be_run_from_several_threads() -> None:
    async def node(state: State) -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"log": [state["value"]]}

    graph = graph_of(a=node, b=node).compile()
    results: dict[int, Any] = {}

    def work(number: int) -> None:
        results[number] = graph.invoke({"value": str(number)})["log"]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: [str(number)] * 2 for number in range(8)}


@both_doors
def test_a_node_may_let_a_task_group_fail_and_go_on(door: str) -> None:
    async def fail() -> None:
        raise ValueError("inside")

    async def careful(state: State) -> dict[str, Any]:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(fail())
                group.create_task(fail())
        except* ValueError:
            pass
        return {"log": ["went on"]}

    assert through(door, graph_of(a=careful).compile())["log"] == ["went on"]
    assert through(door, graph_of(a=careful, b=careful).compile())["log"] == ["went on", "went on"]
