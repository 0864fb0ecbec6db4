from __future__ import annotations

from typing import Any, cast

import pytest

from support.graphs import State, agent, builder, nothing, with_graph_inside
from surehand import Command, OptionError
from surehand.checkpoints import MemorySaver
from surehand.graph import END, START, StateGraph


def lines(graph: StateGraph) -> list[str]:
    return [line.strip() for line in graph.compile().draw_mermaid().splitlines()]


def test_edges_are_solid_and_choices_are_dotted() -> None:
    assert [line.strip() for line in agent().draw_mermaid().splitlines()] == [
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


def test_several_answers_with_one_target_are_one_arrow() -> None:
    made = builder("a", "b").add_edge(START, "a")
    drawn = lines(made.add_conditional_edges("a", lambda state: "no", {"yes": "b", "sure": "b", "b": "b", "no": END}))
    assert [line for line in drawn if line.startswith("a -")] == ['a -. "yes, sure" .-> b', 'a -. "no" .-> __end__']


def test_a_path_that_says_nothing_may_lead_anywhere() -> None:
    drawn = lines(builder("a", "b").add_edge(START, "a").add_conditional_edges("a", lambda state: "b"))
    assert [line for line in drawn if line.startswith("a -")] == ["a -.-> a", "a -.-> b", "a -.-> __end__"]


def test_many_paths_that_say_nothing_lead_to_one_place_that_leads_anywhere() -> None:
    names = [f"n{number}" for number in range(20)]
    made = builder(*names).add_edge(START, "n0")
    for name in names:
        made.add_conditional_edges(name, lambda state: "n1")
    drawn = lines(made)
    assert "node_20_any((any node))" in drawn
    assert [line for line in drawn if line.startswith("n7 ")] == ["n7 -.-> node_20_any"]
    assert "node_20_any -.-> n3" in drawn
    assert "node_20_any -.-> __end__" in drawn


def test_an_edge_that_waits_for_several_nodes_goes_through_a_place_of_its_own() -> None:
    drawn = lines(builder("a", "b", "c").add_edge(START, "a").add_edge(START, "b").add_edge(["a", "b"], "c"))
    for line in ("node_3_join((all))", "a --> node_3_join", "b --> node_3_join", "node_3_join --> c"):
        assert line in drawn


def test_destinations_and_loose_ends_are_drawn() -> None:
    made = builder("a", "c").add_node("d", nothing, destinations=["a", END]).add_edge(START, "a")
    drawn = lines(made.add_edge("a", "c").add_edge("a", "d"))
    for line in ("c --> __end__", "d -.-> a", "d -.-> __end__"):
        assert line in drawn


def test_a_node_whose_commands_may_lead_anywhere_may_be_the_last() -> None:
    def hand_over(state: State) -> Command:
        return Command(goto="other")

    drawn = lines(builder("other").add_node("first", hand_over).add_edge(START, "first").add_edge("other", END))
    assert "first -.-> __end__" in drawn


def test_there_is_no_end_where_nothing_leads_to_it() -> None:
    drawn = builder("a", "b").add_edge(START, "a").add_edge("a", "b").add_edge("b", "a").compile().draw_mermaid()
    assert "__end__" not in drawn


def test_what_nodes_do_besides_running_is_noted() -> None:
    made = builder("ask", "act").add_node("collect", nothing, defer=True)
    made.add_edge(START, "ask").add_edge("ask", "act").add_edge("act", "collect")
    graph = made.compile(checkpointer=MemorySaver(), interrupt_before=["act"], interrupt_after=["ask", "act"])
    drawn = graph.draw_mermaid()
    assert 'ask["ask<br/>(pauses after)"]' in drawn
    assert 'act["act<br/>(pauses before)<br/>(pauses after)"]' in drawn
    assert 'collect["collect<br/>(deferred)"]' in drawn


def test_a_graph_inside_is_a_node_with_a_border_of_its_own() -> None:
    assert 'agent[["agent"]]' in with_graph_inside().draw_mermaid()


def test_a_graph_inside_is_opened_on_demand() -> None:
    drawn = [line.rstrip() for line in with_graph_inside().draw_mermaid(xray=True).splitlines()]
    opened = drawn.index('    subgraph agent["agent"]')
    assert drawn[opened + 1 : opened + 10] == [
        "        agent____start__([start])",
        '        agent__model["model"]',
        '        agent__tools["tools"]',
        "        agent____end__([end])",
        "        agent____start__ --> agent__model",
        "        agent__tools --> agent__model",
        "        agent__model -.-> agent__tools",
        "        agent__model -.-> agent____end__",
        "    end",
    ]
    assert "    agent____end__ --> report" in drawn
    assert '    triage -. "no" .-> agent____start__' in drawn


def test_so_many_levels_of_graphs_are_opened() -> None:
    outer = builder("last").add_node("middle", with_graph_inside()).add_edge(START, "middle").add_edge("middle", "last")
    graph = outer.compile()
    assert [graph.draw_mermaid(xray=depth).count("subgraph") for depth in (0, 1, 2, 3)] == [0, 1, 2, 2]
    assert graph.draw_mermaid(xray=False) == graph.draw_mermaid(xray=0)
    assert graph.draw_mermaid(xray=True) == graph.draw_mermaid(xray=2)


@pytest.mark.parametrize("xray", [-1, "all", 1.5, None])
def test_levels_are_a_number(xray: object) -> None:
    with pytest.raises(OptionError, match="xray"):
        agent().draw_mermaid(xray=cast("Any", xray))


def test_names_that_mermaid_cannot_take_get_an_id_and_keep_their_label() -> None:
    made = builder("end", 'say "hi" #1', "查询").add_edge(START, "end").add_edge("end", 'say "hi" #1')
    drawn = lines(made.add_edge('say "hi" #1', "查询"))
    assert drawn[2:5] == ['node_0_["end"]', 'node_1_["say #quot;hi#quot; #35;1"]', 'node_2_["查询"]']
    assert "node_0_ --> node_1_" in drawn


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("1. first", "1#46; first"),
        ("- item", "#45; item"),
        ("_slanted_", "#95;slanted#95;"),
        ("snake_case", "snake_case"),
        ("`code` *bold*", "#96;code#96; #42;bold#42;"),
        ("<b>&amp;</b>", "#60;b#62;#38;amp#59;#60;/b#62;"),
        ("two\nlines", "two lines"),
        ("half \ud800 a pair\x00", "half � a pair�"),
        ("turned\u202eround", "turnedround"),
        ("x" * 300, "x" * 199 + "…"),
    ],
)
def test_labels_are_read_as_they_are(name: str, label: str) -> None:
    assert f'["{label}"]' in builder(name).add_edge(START, name).compile().draw_mermaid()


def test_ids_that_are_made_are_not_those_of_other_nodes() -> None:
    names = ["node_1_", "end", "node_0_"]
    drawn = lines(StateGraph(State).add_sequence([(name, nothing) for name in names]).set_entry_point("node_1_"))
    ids = [line.partition("[")[0] for line in drawn if '["' in line]
    assert len(set(ids)) == 3


def test_ids_within_a_graph_are_not_those_of_nodes_around_it() -> None:
    inner = builder("b", "c").add_edge(START, "b").add_edge("b", "c").compile()
    outer = builder("a__b", "a__c").add_node("a", inner).add_edge(START, "a").add_edge("a", "a__b")
    drawn = outer.add_edge("a", "a__c").compile().draw_mermaid(xray=True)
    assert {'a__b["a#95;#95;b"]', 'a__b_["b"]', 'a__c_["c"]'} <= {line.strip() for line in drawn.splitlines()}


def test_the_same_graph_is_always_drawn_the_same() -> None:
    def drawn() -> str:
        made = builder("a", "b", "c").add_edge(START, "a").add_edge("a", "c")
        return made.add_node("d", nothing, destinations={"c", "b", "a"}).add_edge("a", "d").compile().draw_mermaid()

    assert drawn() == drawn()
