from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypedDict

import pytest

from surehand.control import RunConfig
from surehand.errors import GraphDefinitionError, RoutingError
from surehand.graph import END, START, Command, CompiledGraph, Send, StateGraph


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def writer(word: str) -> Any:
    def write(state: State) -> dict[str, Any]:
        return {"log": [word]}

    return write


def graph_of(*names: str, **actions: Callable[[Any], Any]) -> StateGraph:
    """A graph without edges; a node that is given no action writes its own name."""
    builder = StateGraph(State)
    for name in names:
        builder.add_node(name, actions.get(name, writer(name)))
    return builder


def log_of(graph: CompiledGraph, config: RunConfig | None = None) -> list[str]:
    return list(graph.invoke({}, config)["log"])


def test_a_path_sees_the_state_after_the_step_and_names_the_next_node() -> None:
    graph = graph_of("a", "b", "c").add_edge(START, "a")
    graph.add_conditional_edges("a", lambda state: "c" if state["log"] == ["a"] else "b")
    assert log_of(graph.compile()) == ["a", "c"]


@pytest.mark.parametrize("answer", [["b", "c"], ("c", "b"), ["b", "c", "b", END]])
def test_a_path_may_name_several_nodes_and_each_runs_once(answer: Any) -> None:
    graph = graph_of("a", "b", "c").add_edge(START, "a").add_conditional_edges("a", lambda state: answer)
    assert log_of(graph.compile()) == ["a", "b", "c"]


@pytest.mark.parametrize("answer", [END, [], [END]])
def test_a_path_may_end_the_graph(answer: Any) -> None:
    graph = graph_of("a").add_edge(START, "a").add_conditional_edges("a", lambda state: answer)
    assert log_of(graph.compile()) == ["a"]


def test_a_path_map_translates_answers() -> None:
    graph = graph_of("a", "b").add_edge(START, "a").add_conditional_edges("a", lambda state: True, {True: "b", 2: END})
    assert log_of(graph.compile()) == ["a", "b"]


def test_a_path_map_may_be_a_list_of_names() -> None:
    graph = graph_of("a", "b").add_edge(START, "a").add_conditional_edges("a", lambda state: "b", ["b", END])
    assert log_of(graph.compile()) == ["a", "b"]


@pytest.mark.parametrize("answer", ["c", "b", None, [[]], {}])
def test_an_answer_that_is_not_in_the_map_is_an_error(answer: Any) -> None:
    graph = graph_of("a", "b").add_edge(START, "a").add_conditional_edges("a", lambda state: answer, {"yes": "b"})
    with pytest.raises(RoutingError, match="Expected one of: yes"):
        graph.compile().invoke({})


def test_a_graph_may_begin_with_a_path() -> None:
    graph = graph_of("a", "b").set_conditional_entry_point(lambda state: "b", {"b": "b", "a": "a"})
    assert log_of(graph.compile()) == ["b"]


def test_paths_may_be_methods_async_and_take_the_configuration() -> None:
    class Router:
        def route(self, state: State, config: RunConfig) -> str:
            return str(config.get("metadata", {})["to"])

        async def aroute(self, state: State) -> Literal["c"]:
            return "c"

    graph = graph_of("a", "b", "c").add_edge(START, "a")
    graph.add_conditional_edges("a", Router().route).add_conditional_edges("b", Router().aroute)
    assert log_of(graph.compile(), {"metadata": {"to": "b"}}) == ["a", "b", "c"]


def test_an_async_path_may_lead_into_the_graph() -> None:
    async def route(state: State) -> str:
        return "b"

    assert log_of(graph_of("a", "b").add_conditional_edges(START, route).compile()) == ["b"]


def test_a_path_may_be_an_object() -> None:
    class Route:
        def __call__(self, state: State) -> str:
            return "typo"

    with pytest.raises(GraphDefinitionError, match="The path of 'b' starts at 'b'"):
        graph_of("a").add_edge(START, "a").add_conditional_edges("b", Route()).compile()


def test_what_a_path_raises_gets_out_as_it_is_with_a_note() -> None:
    error = KeyError("no")

    def route(state: State) -> str:
        raise error

    with pytest.raises(KeyError) as caught:
        graph_of("a").add_edge(START, "a").add_conditional_edges("a", route).compile().invoke({})
    assert caught.value is error
    assert error.__notes__ == ["In the path 'route' of 'a' of graph 'graph', after step 1."]


def test_a_join_waits_for_all_its_sources() -> None:
    graph = graph_of("a", "b", "b2", "c").add_edge(START, "a").add_edge(START, "b").add_edge("b", "b2")
    assert log_of(graph.add_edge(["a", "b2"], "c").compile()) == ["a", "b", "b2", "c"]


def test_two_single_edges_run_the_target_whenever_one_of_them_fires() -> None:
    graph = graph_of("a", "b", "b2", "c").add_edge(START, "a").add_edge(START, "b").add_edge("b", "b2")
    assert log_of(graph.add_edge("a", "c").add_edge("b2", "c").compile()) == ["a", "b", "b2", "c", "c"]


def test_a_join_in_a_loop_waits_anew_each_time() -> None:
    graph = graph_of("a", "b", "c").add_edge(START, "a").add_edge(START, "b").add_edge(["a", "b"], "c")
    graph.add_conditional_edges("c", lambda state: ["a", "b"] if len(state["log"]) < 6 else END)
    assert log_of(graph.compile()) == ["a", "b", "c", "a", "b", "c"]


def test_a_join_whose_sources_do_not_all_come_does_not_fire() -> None:
    graph = graph_of("a", "b", "c").add_edge(["a", "b"], "c").add_conditional_edges(START, lambda state: "a")
    assert log_of(graph.compile()) == ["a"]


def test_each_send_runs_its_node_with_its_own_argument() -> None:
    graph = graph_of("a").add_node("b", lambda arg: {"log": [arg]}).add_edge(START, "a")
    graph.add_conditional_edges("a", lambda state: [Send("b", word) for word in ("z", "y", "x")])
    assert log_of(graph.compile()) == ["a", "z", "y", "x"]


def test_a_node_may_be_run_by_an_edge_and_by_sends_in_one_step() -> None:
    graph = StateGraph(State).add_node("a", writer("a"))
    graph.add_node("b", lambda state: {"log": [state if isinstance(state, str) else "edge"]})
    graph.add_edge(START, "a").add_edge("a", "b").add_conditional_edges("a", lambda state: Send("b", "sent"))
    assert log_of(graph.compile()) == ["a", "edge", "sent"]


def test_a_path_after_several_sends_is_asked_once() -> None:
    asked: list[int] = []

    def route(state: State) -> str:
        asked.append(len(state["log"]))
        return END

    graph = StateGraph(State).add_node("b", lambda arg: {"log": [arg]})
    graph.add_conditional_edges(START, lambda state: [Send("b", "x"), Send("b", "y")]).add_conditional_edges("b", route)
    graph.compile().invoke({})
    assert asked == [2]


def test_a_command_updates_and_leads_on() -> None:
    graph = graph_of("a", "b", a=lambda state: Command(update={"log": ["by command"]}, goto="b")).add_edge(START, "a")
    assert log_of(graph.compile()) == ["by command", "b"]


def test_a_commands_target_is_added_to_the_edges() -> None:
    graph = graph_of("a", "b", "c", a=lambda state: Command(goto=["c"])).add_edge(START, "a").add_edge("a", "b")
    assert log_of(graph.compile()) == ["b", "c"]


def test_a_command_may_send() -> None:
    def fan_out(state: State) -> Command:
        return Command(goto=[Send("b", {"word": "x"}), Send("b", {"word": "y"})])

    graph = StateGraph(State).add_node("a", fan_out).add_node("b", lambda arg: {"log": [arg["word"]]})
    assert log_of(graph.add_edge(START, "a").compile()) == ["x", "y"]


def test_commands_of_parallel_nodes_all_take_effect() -> None:
    graph = graph_of("a", "b", "c", "d", a=lambda state: Command(goto="d"), b=lambda state: Command(goto="c"))
    assert log_of(graph.add_edge(START, "a").add_edge(START, "b").compile()) == ["c", "d"]


def test_a_list_with_commands_is_several_updates() -> None:
    def node(state: State) -> Any:
        return [Command(update={"log": ["1"]}), {"log": ["2"]}, Command(goto="b"), None]

    assert log_of(graph_of("a", "b", a=node).add_edge(START, "a").compile()) == ["1", "2", "b"]


def test_a_command_to_the_end_ends() -> None:
    graph = graph_of("a", a=lambda state: Command(update={"log": ["x"]}, goto=END)).add_edge(START, "a")
    assert log_of(graph.compile()) == ["x"]
