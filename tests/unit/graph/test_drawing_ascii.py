from __future__ import annotations

from textwrap import dedent
from typing import Any, cast

import pytest

from support.graphs import agent, builder, fork_and_join, nothing, with_graph_inside
from surehand import OptionError
from surehand.graph import END, START


def picture(text: str) -> str:
    return dedent(text).lstrip("\n")


def test_an_agent_s_loop() -> None:
    assert agent().draw_ascii() == picture("""
              ( start )
                  |
                  v
            +-----------+
            |   model   |
            +-----------+
             ^  :    :
             |  :    +....+
             |  v         :
        +---------+       v
        |  tools  |    ( end )
        +---------+
    """)


def test_a_fork_and_a_join() -> None:
    assert fork_and_join().draw_ascii() == picture("""
                       ( start )
                           |
                           v
                     +-----------+
                     |   plan    |
                     +-----------+
                        |  |  |
               +--------+  |  +--------+
               v           v           v
        +---------+    +-------+    +-----+
        | search  |    | read  |    | ask |
        +---------+    +-------+    +-----+
               |           |           |
               +-----------+-----------+
                           v
                        ( all )
                           |
                           v
                       +-------+
                       | merge |
                       +-------+
                           |
                           v
                        ( end )
    """)


def test_a_circle_with_labels_and_a_node_that_repeats_itself() -> None:
    made = builder("draft", "check").add_edge(START, "draft").add_edge("draft", "check")
    graph = made.add_conditional_edges("check", lambda state: "ok", {"ok": END, "bad": "draft", "?": "check"}).compile()
    assert graph.draw_ascii() == picture("""
             ( start )
                 |
                 v
            +---------+
            |  draft  |
            +---------+
              |     ^
              |     :
              |    bad
              |     :
              v     :
           +-----------+
           |   check   |
           +-----------+
              :    ^  :
           +..+    :  :
           :       :  :
          ok          ?
           :
           v
        ( end )
    """)


def test_a_graph_inside_closed_and_opened() -> None:
    made = builder("last").add_node("agent", agent()).add_edge(START, "agent").add_edge("agent", "last")
    graph = made.add_edge("last", END).compile()
    assert "++-------++\n|| agent ||\n++-------++" in graph.draw_ascii()
    assert graph.draw_ascii(xray=True) == picture("""
                  ( start )
                      |
                      v
        +- agent -------------------+
        |                           |
        |        ( start )          |
        |            |              |
        |            v              |
        |      +-----------+        |
        |      |   model   |        |
        |      +-----------+        |
        |       ^  :    :           |
        |       |  :    +....+      |
        |       |  v         :      |
        |  +---------+       v      |
        |  |  tools  |    ( end )   |
        |  +---------+              |
        |                           |
        +---------------------------+
                      |
                      v
                  +-------+
                  | last  |
                  +-------+
                      |
                      v
                   ( end )
    """)


def test_names_are_drawn_as_they_are_and_as_wide_as_they_are() -> None:
    graph = (
        builder("查询数据库", "génération").add_edge(START, "查询数据库").add_edge("查询数据库", "génération").compile()
    )
    assert graph.draw_ascii().splitlines()[3:9] == [
        "+-------------+",
        "| 查询数据库  |",
        "+-------------+",
        "       |",
        "       v",
        "+-------------+",
    ]


def test_a_long_name_is_broken_between_its_words_and_cut_at_last() -> None:
    name = "a name of a node that goes on and on and says everything there is to say, and then some more of it"
    drawn = builder(name).add_edge(START, name).compile().draw_ascii()
    assert [line.strip("| ") for line in drawn.splitlines()[4:7]] == [
        "a name of a node that goes",
        "on and on and says",
        "everything there is to sa...",
    ]


def test_what_is_too_wide_is_told_as_a_list() -> None:
    assert fork_and_join().draw_ascii(max_width=30) == picture("""
        start
          --> plan
        plan
          --> search
          --> read
          --> ask
        search
          --> all of 1
        read
          --> all of 1
        ask
          --> all of 1
        merge
          --> end
        all of 1
          --> merge
    """)


def test_a_list_tells_labels_choices_marks_and_graphs_inside() -> None:
    made = builder("a" * 40).add_node("agent", agent()).add_node("sum", nothing, defer=True).add_edge(START, "a" * 40)
    made.add_conditional_edges("a" * 40, lambda state: "x", {"no": END, "yes": "agent"}).add_edge("agent", "sum")
    assert made.compile().draw_ascii(max_width=20, xray=True) == picture("""
        start
          --> aaaaaaaaaaa...
        aaaaaaaaaaaaaaaaa...
          ..> end (no)
          ..> agent (yes)
        agent
          --> sum
            start
              --> model
            model
              ..> tools
              ..> end
            tools
              --> model
        sum (deferred)
          --> end
    """)


def test_no_line_is_wider_than_asked_for() -> None:
    for width in (20, 40, 60, 80):
        assert max(map(len, with_graph_inside().draw_ascii(max_width=width, xray=True).splitlines())) <= width


def test_there_may_be_no_limit() -> None:
    names = [f"a rather long name {number}" for number in range(9)]
    made = builder(*names)
    for name in names:
        made.add_edge(START, name)
    drawn = made.compile().draw_ascii(max_width=None)
    assert max(map(len, drawn.splitlines())) > 200


@pytest.mark.parametrize("width", [0, 19, "80", 80.0])
def test_a_width_is_a_number_of_columns(width: object) -> None:
    with pytest.raises(OptionError, match="max_width"):
        agent().draw_ascii(max_width=cast("Any", width))


def test_lines_have_no_blanks_at_their_ends() -> None:
    assert [line for line in with_graph_inside().draw_ascii(xray=True).splitlines() if line != line.rstrip()] == []
