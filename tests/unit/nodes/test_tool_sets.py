"""Tools that are computed for each turn, and what a node offers."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from support.turns import by_both_doors, run_async, turn
from surehand import (
    AIMessage,
    CircuitBreaker,
    HumanMessage,
    InMemoryStore,
    Limits,
    MessagesState,
    OptionError,
    ResultShelf,
    Send,
    StateGraph,
    Tool,
    ToolException,
    ToolMessage,
    ToolNode,
    ToolSetRequest,
    tool,
)
from surehand.errors import ToolDefinitionError
from surehand.testing import FakeClock


def answering(name: str, **options: Any) -> Tool:
    def answer() -> str:
        return f"{name} ran"

    return Tool.from_function(answer, name=name, **options)


A, B = answering("a"), answering("b")


def names_of(tools: list[Any]) -> list[str]:
    return [offered.spec.name for offered in tools]


def offer(node: ToolNode, *messages: Any, thread_id: str = "t") -> list[str]:
    config: Any = {"configurable": {"thread_id": thread_id}}
    return names_of(node.offered({"messages": [*messages]}, config))


# --- the function -----------------------------------------------------------------------------------------------------


@by_both_doors
def test_the_function_is_told_what_is_known_of_the_turn(run: Any) -> None:
    told: list[ToolSetRequest] = []

    def tools(request: ToolSetRequest) -> list[Tool]:
        told.append(request)
        return [A]

    store = InMemoryStore()
    run(ToolNode(tools, store=store), [turn("a")])
    config: Any = {"configurable": {"thread_id": "t"}, "tags": ["x"]}
    ToolNode(tools, store=store).invoke({"messages": [turn("a")], "user": "ann"}, config, context={"tenant": 7})

    bare, full = told
    assert (list(bare.state), bare.context, bare.thread_id, bare.store) == (["messages"], None, "", store)
    assert (full.state["user"], full.context, full.thread_id) == ("ann", {"tenant": 7}, "t")
    assert full.config.get("tags") == ["x"]
    with pytest.raises(TypeError):
        full.state["user"] = "bob"


@by_both_doors
def test_the_function_may_be_asynchronous(run: Any) -> None:
    async def tools(request: ToolSetRequest) -> list[Tool]:
        await asyncio.sleep(0)
        return [A]

    assert run(ToolNode(tools), [turn("a")])[0].content == "a ran"


def test_on_a_loop_a_synchronous_function_runs_on_a_thread() -> None:
    threads: list[threading.Thread] = []

    def tools(request: ToolSetRequest) -> list[Tool]:
        threads.append(threading.current_thread())
        return [A]

    run_async(ToolNode(tools), [turn("a")])
    assert threads != [threading.main_thread()]


def test_it_may_give_whatever_a_list_of_tools_may_hold_and_nothing_too() -> None:
    def plain(number: int) -> int:
        """Return it."""
        return number

    assert ToolNode(lambda request: (plain,)).invoke([turn(("plain", {"number": 1}))])[0].content == "1"
    [answer] = ToolNode(lambda request: []).invoke([turn("a")])
    assert answer.content == "There is no tool named 'a'. The tools are: none. Nothing was executed."


@by_both_doors
def test_what_it_raises_is_raised(run: Any) -> None:
    error = ConnectionError("no server")

    def tools(request: ToolSetRequest) -> list[Tool]:
        raise error

    with pytest.raises(ConnectionError) as caught:
        run(ToolNode(tools), [turn("a")])
    assert caught.value is error


@pytest.mark.parametrize("result", [None, "a", 3, {"a": A}, A])
def test_what_is_no_list_of_tools_is_refused_when_it_is_given(result: Any) -> None:
    with pytest.raises(OptionError, match="expected a list of tools"):
        ToolNode(lambda request: result).invoke([turn("a")])


def two(first: Any, second: Any) -> list[Any]:
    return [A]


@pytest.mark.parametrize("tools", [two, A, Tool])
def test_what_cannot_be_asked_is_refused_when_the_node_is_built(tools: Any) -> None:
    with pytest.raises(OptionError, match="a list of tools"):
        ToolNode(tools)


def test_options_of_the_node_hold_for_computed_tools_and_overrides_for_those_that_are_there() -> None:
    free = answering("free", requires_approval=False)
    node = ToolNode(
        lambda request: [A, B, free],
        requires_approval=True,
        overrides={"b": {"requires_approval": False}, "absent": {"requires_approval": False}},
    )
    answers = run_async(node, [turn("a", "b", "free")])
    assert [answer.status for answer in answers] == ["error", "success", "success"]


def test_a_node_of_computed_tools_has_none_to_name() -> None:
    node = ToolNode(lambda request: [A])
    assert (repr(node), node.tools_by_name) == ("ToolNode(computed)", {})


def test_each_user_has_tools_of_their_own_side_by_side() -> None:
    def tools(request: ToolSetRequest) -> list[Tool]:
        return [A, B] if request.context == "admin" else [A]

    node = ToolNode(tools)

    async def asked(user: str) -> str:
        [answer] = await node.ainvoke([turn("b")], context=user)
        return "ran" if answer.status == "success" else "unknown"

    async def main() -> list[str]:
        return await asyncio.gather(*(asked(user) for user in ["admin", "guest"] * 20))

    assert asyncio.run(main()) == ["ran", "unknown"] * 20


# --- what is offered --------------------------------------------------------------------------------------------------


def test_a_fixed_node_offers_what_it_has() -> None:
    node = ToolNode([A, B])
    assert offer(node, HumanMessage("hi")) == ["a", "b"]
    assert node.offered([HumanMessage("hi")]) == [A, B]


def test_both_doors_offer_the_same() -> None:
    node = ToolNode(lambda request: [A] if request.context is None else [B])
    assert names_of(asyncio.run(node.aoffered([HumanMessage("hi")]))) == ["a"]
    assert names_of(asyncio.run(node.aoffered([HumanMessage("hi")], None, "user"))) == ["b"]
    assert names_of(node.offered([HumanMessage("hi")], context="user")) == ["b"]


@pytest.mark.parametrize(("hides_tool", "expected"), [(True, ["steady"]), (False, ["shaky", "steady"])])
def test_a_tool_whose_open_breaker_hides_it_is_not_offered(*, hides_tool: bool, expected: list[str]) -> None:
    @tool(circuit_breaker=CircuitBreaker(failures=1, cooldown=30, hides_tool=hides_tool))
    def shaky() -> None:
        """Fail."""
        raise ToolException("no")

    clock = FakeClock()
    node = ToolNode([shaky, answering("steady")], clock=clock)
    assert offer(node, HumanMessage("hi")) == ["shaky", "steady"]
    node.invoke([turn("shaky")])
    assert offer(node, HumanMessage("hi")) == expected
    clock.advance(31)
    assert offer(node, HumanMessage("hi")) == ["shaky", "steady"]


def called(name: str, number: int) -> list[Any]:
    call_id = f"{name}{number}"
    answer = ToolMessage(str(number), tool_call_id=call_id, name=name)
    return [AIMessage(tool_calls=[{"id": call_id, "name": name, "args": {"n": number}}]), answer]


def test_a_tool_that_was_called_as_often_as_it_may_is_not_offered() -> None:
    node = ToolNode([A, B], limits=Limits(calls_per_tool=2))
    once = [HumanMessage("hi"), *called("a", 1)]
    assert offer(node, *once) == ["a", "b"]
    assert offer(node, *once, *called("a", 2)) == ["b"]
    assert offer(node, *once, *called("a", 2), HumanMessage("again")) == ["a", "b"]


def test_where_nothing_may_be_called_any_more_nothing_is_offered() -> None:
    node = ToolNode([A, B], limits=Limits(calls=2))
    assert offer(node, HumanMessage("hi"), *called("a", 1)) == ["a", "b"]
    assert offer(node, HumanMessage("hi"), *called("a", 1), *called("b", 2)) == []


def test_the_reader_of_long_results_is_offered_once_there_is_one_to_read() -> None:
    @tool
    def long() -> str:
        """Return much."""
        return "x" * 1_000

    node = ToolNode([long], shelf=ResultShelf(), max_output=400)
    config: Any = {"configurable": {"thread_id": "t"}}
    assert offer(node, HumanMessage("hi")) == ["long"]
    node.invoke([turn("long")], config)
    assert offer(node, HumanMessage("hi")) == ["long", "read_tool_result"]
    assert offer(node, HumanMessage("hi"), thread_id="another") == ["long"]


def test_the_reader_is_not_named_to_a_model_that_was_not_offered_it() -> None:
    node = ToolNode([A], shelf=ResultShelf())
    for name in ("read_result", "nothing"):
        [answer] = node.invoke([turn(name)])
        assert "read_tool_result" not in answer.text
        assert "The tools are: a." in answer.text


# --- what was offered, in a run ---------------------------------------------------------------------------------------


class Changing:
    """Gives another set each time it is asked."""

    def __init__(self, *sets: list[Tool]) -> None:
        self.sets = list(sets)
        self.asked = 0

    def __call__(self, request: ToolSetRequest) -> list[Tool]:
        self.asked += 1
        return self.sets[min(self.asked, len(self.sets)) - 1]


def graph_of(node: ToolNode, *, offers: int) -> Any:
    """A graph that asks so often what to offer, calls ``b`` and ends."""

    def model(state: MessagesState) -> dict[str, Any]:
        for _ in range(offers):
            node.offered(state)
        return {"messages": [turn("b")]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", node)
    graph.add_edge("__start__", "model")
    graph.add_edge("model", "tools")
    return graph.compile()


@pytest.mark.parametrize("has_id", [True, False])
def test_a_turn_runs_what_was_offered_for_it_whatever_the_function_gives_by_then(*, has_id: bool) -> None:
    changing = Changing([A, B], [A])
    asked = HumanMessage("hi", id="m1") if has_id else HumanMessage("hi")
    result = graph_of(ToolNode(changing), offers=1).invoke({"messages": [asked]})
    assert result["messages"][-1].content == "b ran"
    assert changing.asked == 1


def test_a_turn_that_nothing_was_offered_for_asks_itself() -> None:
    changing = Changing([A, B])
    assert graph_of(ToolNode(changing), offers=0).invoke({"messages": "hi"})["messages"][-1].content == "b ran"
    assert changing.asked == 1


def test_what_was_offered_in_two_ways_is_asked_for_again() -> None:
    changing = Changing([A, B], [A], [A])
    result = graph_of(ToolNode(changing), offers=2).invoke({"messages": "hi"})
    assert "'b' any more: it is no longer available" in result["messages"][-1].text
    assert changing.asked == 3


def test_what_was_offered_in_one_run_is_not_known_in_another() -> None:
    changing = Changing([A, B], [A], [A])
    node = ToolNode(changing)
    message = HumanMessage("hi", id="m1")
    graph_of(node, offers=1).invoke({"messages": [message]})
    other = graph_of(node, offers=1).invoke({"messages": [message]})
    assert other["messages"][-1].text.startswith("There is no tool named 'b'. ")


def test_branches_side_by_side_never_get_one_anothers_tools() -> None:
    def tools(request: ToolSetRequest) -> list[Tool]:
        return [A, B] if request.state["role"] == "admin" else [A]

    node = ToolNode(tools)
    ran: dict[str, str] = {}

    def branch(state: Any) -> dict[str, Any]:
        node.offered(state)
        [answer] = node.invoke({**state, "messages": [*state["messages"], turn("b")]})["messages"]
        ran[state["role"]] = answer.status
        return {}

    graph = StateGraph(MessagesState)
    graph.add_node("branch", branch)
    shared = [HumanMessage("hi", id="m1")]
    graph.add_conditional_edges(
        "__start__",
        lambda state: [Send("branch", {"messages": shared, "role": role}) for role in ("admin", "guest")],
        ["branch"],
    )
    for _ in range(5):
        graph.compile().invoke({"messages": []})
        assert ran == {"admin": "success", "guest": "error"}


def test_the_function_sees_an_agents_state_of_before_the_answer() -> None:
    seen: list[int] = []

    def tools(request: ToolSetRequest) -> list[Tool]:
        seen.append(len(request.state["messages"]))
        return [A, B]

    graph_of(ToolNode(tools), offers=1).invoke({"messages": "hi"})
    assert seen == [1]


class Server:
    """A source of tools, which a node can also be given to ask before each turn."""

    def tools(self) -> list[Any]:
        return []

    def __call__(self, request: object = None) -> list[Any]:
        return []


def test_a_source_of_tools_among_tools_is_no_tool() -> None:
    with pytest.raises(ToolDefinitionError, match="it holds tools and is none itself"):
        ToolNode([Server()])
