from __future__ import annotations

import functools
import operator
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Annotated, Any, Literal, TypedDict

import pytest

from surehand.control import RunConfig
from surehand.errors import GraphDefinitionError, OptionError
from surehand.graph import END, START, Command, MessagesState, Send, StateGraph
from surehand.policy import RetryPolicy


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def say(state: State) -> dict[str, Any]:
    return {"log": ["said"]}


async def asay(state: State) -> dict[str, Any]:
    return {"log": ["awaited"]}


def builder(*names: str) -> StateGraph:
    made = StateGraph(State)
    for name in names:
        made.add_node(name, say)
    return made


def log_of(node: Any, *, name: str = "node") -> list[str]:
    graph = StateGraph(State).add_node(name, node).add_edge(START, name).compile()
    return list(graph.invoke({})["log"])


class Invokable:
    name = "invokable"

    def invoke(self, state: State, config: RunConfig | None = None) -> dict[str, Any]:
        return {"log": [f"invoked with {sorted(config or {})}"]}


def test_methods_can_be_chained() -> None:
    graph = StateGraph(State).add_node("a", say).add_node("b", say).add_edge(START, "a").add_edge("a", "b").compile()
    assert graph.invoke({})["log"] == ["said", "said"]


def test_a_function_is_added_under_its_own_name() -> None:
    assert StateGraph(State).add_node(say).add_edge(START, "say").compile().invoke({})["log"] == ["said"]


def test_an_object_is_added_under_its_own_name() -> None:
    graph = StateGraph(State).add_node(Invokable()).add_edge(START, "invokable").compile()
    assert graph.invoke({})["log"] == ["invoked with []"]


unnamed: Callable[[Any], Any] = lambda state: None  # noqa: E731 - a lambda is what is tested


@pytest.mark.parametrize("node", [unnamed, functools.partial(say), object(), 3])
def test_what_has_no_name_has_to_be_named(node: Any) -> None:
    with pytest.raises(GraphDefinitionError, match="Name it"):
        StateGraph(State).add_node(node)


@pytest.mark.parametrize("name", ["", "  ", START, END])
def test_names_that_cannot_be_used_are_refused(name: str) -> None:
    with pytest.raises(GraphDefinitionError, match="name"):
        StateGraph(State).add_node(name, say)


def test_a_second_node_of_one_name_is_refused() -> None:
    with pytest.raises(GraphDefinitionError, match="There is a node 'a' already"):
        builder("a", "a")


def test_a_name_without_an_action_is_refused() -> None:
    with pytest.raises(GraphDefinitionError, match="has no action"):
        StateGraph(State).add_node("a")


def test_every_callable_form_is_a_node() -> None:
    class Speaker:
        def __call__(self, state: State) -> dict[str, Any]:
            return {"log": ["object"]}

        def method(self, state: State) -> dict[str, Any]:
            return {"log": ["method"]}

        async def amethod(self, state: State) -> dict[str, Any]:
            return {"log": ["async method"]}

    class AsyncSpeaker:
        async def __call__(self, state: State) -> dict[str, Any]:
            return {"log": ["async object"]}

    def with_more(word: str, state: State) -> dict[str, Any]:
        return {"log": [word]}

    nodes = [
        say,
        asay,
        Speaker(),
        Speaker().method,
        Speaker().amethod,
        AsyncSpeaker(),
        functools.partial(with_more, "p"),
    ]
    assert [log_of(node) for node in nodes] == [
        ["said"], ["awaited"], ["object"], ["method"], ["async method"], ["async object"], ["p"]
    ]  # fmt: skip


def returns_a_coroutine(state: State) -> Any:
    return asay(state)


def test_a_sync_function_may_return_something_to_await() -> None:
    assert log_of(returns_a_coroutine) == ["awaited"]


def test_the_configuration_is_given_to_nodes_that_take_it() -> None:
    def positional(state: State, config: RunConfig) -> dict[str, Any]:
        return {"log": [str(config.get("tags"))]}

    def defaulted(state: State, config: RunConfig | None = None) -> dict[str, Any]:
        return {"log": [str(config and config.get("tags"))]}

    def named(state: State, *, config: RunConfig) -> dict[str, Any]:
        return {"log": [str(config.get("tags"))]}

    def other_default(state: State, extra: int = 3) -> dict[str, Any]:
        return {"log": [str(extra)]}

    graph = StateGraph(State).add_sequence([positional, defaulted, named, other_default])
    result = graph.add_edge(START, "positional").compile().invoke({}, {"tags": ["t"]})
    assert result["log"] == ["['t']", "['t']", "['t']", "3"]


def test_a_node_cannot_change_the_configuration_of_the_run() -> None:
    def change(state: State, config: dict[str, Any]) -> None:
        config["tags"] = ["changed"]

    def read(state: State, config: dict[str, Any]) -> dict[str, Any]:
        return {"log": config["tags"]}

    graph = StateGraph(State).add_sequence([change, read]).add_edge(START, "change").compile()
    assert graph.invoke({}, {"tags": ["given"]})["log"] == ["given"]


def generate(state: State) -> Iterator[dict[str, Any]]:
    yield {"log": ["x"]}


async def agenerate(state: State) -> AsyncIterator[dict[str, Any]]:
    yield {"log": ["x"]}


@pytest.mark.parametrize("node", [generate, agenerate])
def test_generators_are_refused(node: Any) -> None:
    with pytest.raises(GraphDefinitionError, match="generator"):
        StateGraph(State).add_node("node", node)


def takes_nothing() -> None: ...


def takes_three(a: Any, b: Any, c: Any) -> None: ...


def takes_another_keyword(state: Any, *, other: Any) -> None: ...


def takes_a_runtime(state: Any, runtime: Any) -> None: ...


@pytest.mark.parametrize(
    "node",
    [takes_nothing, takes_three, takes_another_keyword, takes_a_runtime, State, 3, "text"],
)
def test_what_cannot_be_called_with_the_state_is_refused(node: Any) -> None:
    with pytest.raises(GraphDefinitionError, match=r"Expected|instance"):
        StateGraph(State).add_node("node", node)


def test_a_chat_model_needs_a_state_with_messages() -> None:
    class Model:
        def bind_tools(self, tools: object) -> Model:
            return self

        def invoke(self, messages: object) -> object:
            return messages

    with pytest.raises(GraphDefinitionError, match="no message list"):
        StateGraph(State).add_node("model", Model())
    StateGraph(MessagesState).add_node("model", Model())


def test_a_retry_policy_has_two_spellings() -> None:
    StateGraph(State).add_node("a", say, retry=RetryPolicy()).add_node("b", say, retry_policy=RetryPolicy())
    with pytest.raises(OptionError, match="one RetryPolicy"):
        StateGraph(State).add_node("a", say, retry=RetryPolicy(), retry_policy=RetryPolicy())


def test_a_retry_policy_that_is_none_is_refused() -> None:
    policy: Any = 3
    with pytest.raises(OptionError, match="RetryPolicy"):
        StateGraph(State).add_node("a", say, retry=policy)


def test_a_sequence_adds_nodes_and_the_edges_between_them() -> None:
    graph = StateGraph(State).add_sequence([say, ("again", asay)]).set_entry_point("say").set_finish_point("again")
    assert graph.compile().invoke({})["log"] == ["said", "awaited"]


def test_an_empty_sequence_is_refused() -> None:
    with pytest.raises(GraphDefinitionError, match="empty"):
        StateGraph(State).add_sequence([])


@pytest.mark.parametrize(("start", "end"), [(END, "a"), ("a", START), ([], "a"), ([START, "a"], "b")])
def test_edges_that_run_the_wrong_way_are_refused(start: Any, end: str) -> None:
    with pytest.raises(GraphDefinitionError, match="cannot"):
        builder("a", "b").add_edge(start, end)


def test_nothing_is_decided_after_the_end() -> None:
    with pytest.raises(GraphDefinitionError, match="END"):
        builder("a").add_conditional_edges(END, lambda state: "a")


def test_a_graph_without_an_entry_is_refused() -> None:
    with pytest.raises(GraphDefinitionError, match="has no entry"):
        builder("a").compile()


@pytest.mark.parametrize("edge", [("plann", "report"), ("plan", "raport"), (["plan", "raport"], "report")])
def test_an_unknown_name_in_an_edge_names_its_neighbour(edge: Any) -> None:
    with pytest.raises(GraphDefinitionError, match=r"Did you mean '(plan|report)'"):
        builder("plan", "report").add_edge(START, "plan").add_edge(*edge).compile()


def test_end_in_the_middle_is_refused_with_the_reason() -> None:
    with pytest.raises(GraphDefinitionError, match="which is no node"):
        builder("a").add_edge(START, "a").add_edge(["a", "b"], "a").compile()


def test_a_path_map_to_nowhere_is_refused() -> None:
    made = builder("a").add_edge(START, "a").add_conditional_edges("a", lambda state: True, {True: "bb", False: END})
    with pytest.raises(GraphDefinitionError, match="leads to 'bb', which is no node"):
        made.compile()


def test_a_way_back_to_the_start_is_refused() -> None:
    made = builder("a").add_edge(START, "a").add_conditional_edges("a", lambda state: True, {True: START})
    with pytest.raises(GraphDefinitionError, match="Edges go from START and to END"):
        made.compile()


def always(answer: str, annotation: str) -> Callable[[State], str]:
    """A path whose return annotation is text, as in a module with postponed annotations."""

    def path(state: State) -> str:
        return answer

    path.__annotations__["return"] = annotation
    return path


def test_an_annotation_that_cannot_be_resolved_says_nothing() -> None:
    graph = builder("a", "b").add_edge(START, "a").add_conditional_edges("a", always("b", "Nowhere"))
    assert graph.compile().invoke({})["log"] == ["said", "said"]


def test_an_annotation_may_name_what_is_local_to_the_caller() -> None:
    answers = Literal["a"]
    with pytest.raises(GraphDefinitionError, match="Nothing leads to the node 'b'"):
        builder("a", "b").add_conditional_edges(START, always("a", "answers")).compile()
    assert answers == Literal["a"]


def test_a_path_from_nowhere_is_refused() -> None:
    with pytest.raises(GraphDefinitionError, match="starts at 'b'"):
        builder("a").add_edge(START, "a").add_conditional_edges("b", lambda state: "a").compile()


def test_a_literal_annotation_that_names_no_node_is_refused() -> None:
    def path(state: State) -> Literal["a", "bb"]:
        return "a"

    with pytest.raises(GraphDefinitionError, match="The path 'path' of 'a' from 'a' leads to 'bb'"):
        builder("a", "b").add_edge(START, "a").add_edge("a", "b").add_conditional_edges("a", path).compile()


@pytest.mark.parametrize("path_map", ["a", 3])
def test_a_path_map_that_is_none_is_refused(path_map: Any) -> None:
    with pytest.raises(GraphDefinitionError, match="path_map"):
        builder("a").add_conditional_edges("a", lambda state: "a", path_map)


def test_a_node_that_nothing_leads_to_is_refused() -> None:
    with pytest.raises(GraphDefinitionError, match="Nothing leads to the node 'b'"):
        builder("a", "b").add_edge(START, "a").compile()


def test_nodes_that_lead_only_to_each_other_are_refused() -> None:
    with pytest.raises(GraphDefinitionError, match="Nothing leads to"):
        builder("a", "b", "c").add_edge(START, "a").add_edge("b", "c").add_edge("c", "b").compile()


def test_a_path_without_annotation_may_lead_anywhere() -> None:
    graph = builder("a", "b").add_edge(START, "a").add_conditional_edges("a", lambda state: "b").compile()

    assert graph.invoke({})["log"] == ["said", "said"]


def test_a_closed_path_does_not_lead_elsewhere() -> None:
    def path(state: State) -> Literal["a"]:
        return "a"

    with pytest.raises(GraphDefinitionError, match="Nothing leads to the node 'b'"):
        builder("a", "b").add_conditional_edges(START, path).compile()


def test_a_node_whose_code_speaks_of_commands_may_lead_anywhere() -> None:
    def hand_off(state: State) -> Any:
        return Command(goto="b")

    graph = StateGraph(State).add_node("a", hand_off).add_node("b", say).add_edge(START, "a").compile()

    assert graph.invoke({})["log"] == ["said"]


def test_declared_destinations_count_as_edges_and_are_checked() -> None:
    made = StateGraph(State).add_node("a", say, destinations=["b"]).add_node("b", say).add_edge(START, "a")
    made.compile()
    with pytest.raises(GraphDefinitionError, match="A command of 'c'"):
        made.add_node("c", say, destinations=["dd"]).add_edge("b", "c").compile()


def test_a_bare_command_annotation_may_lead_anywhere() -> None:
    def hand_off(state: State) -> Command:
        return make_command()

    def make_command() -> Command:
        return Command(goto="b")

    graph = StateGraph(State).add_node("a", hand_off).add_node("b", say).add_edge(START, "a").compile()

    assert graph.invoke({})["log"] == ["said"]


def test_a_path_annotated_with_send_may_lead_anywhere() -> None:
    def path(state: State) -> list[Send]:
        return [Send("b", {})]

    graph = builder("a", "b").add_edge(START, "a").add_conditional_edges("a", path).compile()

    assert graph.invoke({})["log"] == ["said", "said"]


def test_changes_after_compiling_do_not_reach_the_compiled_graph() -> None:
    made = builder("a").add_edge(START, "a")
    graph = made.compile()
    made.add_node("b", say).add_edge("a", "b")
    assert graph.invoke({})["log"] == ["said"]
    assert made.compile().invoke({})["log"] == ["said", "said"]


def test_a_compiled_graph_shows_its_name_and_nodes() -> None:
    graph = builder("a").add_edge(START, "a").compile(name="mine")
    assert repr(graph) == "CompiledGraph('mine', nodes=[a])"


def test_a_graph_without_nodes_returns_its_input() -> None:
    assert StateGraph(State).add_edge(START, END).compile().invoke({"log": ["a"]}) == {"log": ["a"]}


def test_a_store_without_the_methods_of_one_is_refused() -> None:
    graph = StateGraph(MessagesState)
    graph.add_node("reply", lambda state: {})
    graph.add_edge(START, "reply")

    with pytest.raises(OptionError, match=r"^store='file\.db'"):
        graph.compile(store="file.db")  # type: ignore[arg-type]  # what is refused
