from __future__ import annotations

from typing import Any, Literal, TypedDict

from surehand.graph import END, START, StateGraph


class State(TypedDict):
    x: int


def nothing(state: State) -> None:
    return None


def builder(*names: str) -> StateGraph:
    made = StateGraph(State)
    for name in names:
        made.add_node(name, nothing)
    return made


def lines(graph: StateGraph) -> list[str]:
    return [line.strip() for line in graph.compile().draw_mermaid().splitlines()]


def test_edges_are_solid_and_choices_are_dotted() -> None:
    def route(state: State) -> Literal["tools", "__end__"]:
        return "tools"

    made = builder("model", "tools").add_edge(START, "model").add_edge("tools", "model")
    assert lines(made.add_conditional_edges("model", route)) == [
        "flowchart TD",
        "__start__([start])",
        'model["model"]',
        'tools["tools"]',
        "__end__([end])",
        "__start__ --> model",
        "tools --> model",
        "model -.-> tools",
        "model -.-> __end__",
    ]


def test_answers_of_a_path_map_are_labels() -> None:
    made = builder("a", "b").add_edge(START, "a").add_conditional_edges("a", lambda state: True, {True: "b", "no": END})
    drawn = lines(made)
    assert 'a -. "True" .-> b' in drawn
    assert 'a -. "no" .-> __end__' in drawn


def test_a_path_that_says_nothing_may_lead_anywhere() -> None:
    drawn = lines(builder("a", "b").add_edge(START, "a").add_conditional_edges("a", lambda state: "b"))
    assert [line for line in drawn if line.startswith("a -")] == ["a -.-> a", "a -.-> b", "a -.-> __end__"]


def test_joins_destinations_and_loose_ends_are_drawn() -> None:
    made = builder("a", "b", "c").add_node("d", nothing, destinations=["a", END])
    drawn = lines(made.add_edge(START, "a").add_edge(START, "b").add_edge(["a", "b"], "c").add_edge("a", "d"))
    for line in ("a --> c", "b --> c", "c --> __end__", "d -.-> a", "d -.-> __end__"):
        assert line in drawn


def test_names_that_mermaid_cannot_take_get_an_id_and_keep_their_label() -> None:
    made = builder("end", 'say "hi" #1', "查询").add_edge(START, "end").add_edge("end", 'say "hi" #1')
    drawn = lines(made.add_edge('say "hi" #1', "查询"))
    assert drawn[2:5] == ['node_0_["end"]', 'node_1_["say #quot;hi#quot; #35;1"]', 'node_2_["查询"]']
    assert "node_0_ --> node_1_" in drawn


def test_the_same_graph_is_always_drawn_the_same() -> None:
    def drawn() -> Any:
        made = builder("a", "b", "c").add_edge(START, "a").add_edge("a", "c")
        return made.add_node("d", nothing, destinations={"c", "b", "a"}).add_edge("a", "d").compile().draw_mermaid()

    assert drawn() == drawn()
