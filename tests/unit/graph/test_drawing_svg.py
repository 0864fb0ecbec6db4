from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

from support.graphs import agent, builder, fork_and_join, nothing, with_graph_inside
from support.programs import run_python
from surehand.graph import END, START, CompiledGraph

SVG = "{http://www.w3.org/2000/svg}"


def parsed(text: str) -> ET.Element:
    return ET.fromstring(text)


def texts(picture: ET.Element) -> list[str]:
    return [element.text or "" for element in picture.iter(f"{SVG}text")]


def in_notebook(graph: CompiledGraph, method: str = "_repr_svg_") -> str | None:
    shown: str | None = getattr(graph, method)()
    return shown


def test_every_node_is_drawn_once_with_its_name() -> None:
    picture = parsed(fork_and_join().draw_svg())
    assert sorted(texts(picture)) == sorted(["start", "plan", "search", "read", "ask", "merge", "all", "end"])


def test_choices_are_dashed_and_edges_are_not() -> None:
    lines = [path for path in parsed(agent().draw_svg()).iter(f"{SVG}path") if "Z" not in path.attrib["d"]]
    assert [path.get("stroke-dasharray") is not None for path in lines] == [False, True, True, False]


def test_labels_are_drawn() -> None:
    assert {"spam", "no"} <= set(texts(parsed(with_graph_inside().draw_svg())))


def test_marks_stand_below_the_name() -> None:
    made = builder("a").add_node("b", nothing, defer=True).add_edge(START, "a").add_edge("a", "b")
    drawn = texts(parsed(made.compile().draw_svg()))
    assert drawn[drawn.index("b") + 1] == "(deferred)"


def test_a_graph_inside_is_opened_on_demand() -> None:
    graph = with_graph_inside()
    assert "tools" not in texts(parsed(graph.draw_svg()))
    assert texts(parsed(graph.draw_svg(xray=True))).count("tools") == 1


def test_names_are_escaped() -> None:
    name = '</text><script>alert("x")</script>&'
    made = builder(name).add_edge(START, name).add_conditional_edges(name, lambda state: "x", {"<i>&": END})
    picture = parsed(made.compile(name="a < b").draw_svg())
    assert [element.tag for element in picture.iter() if "script" in element.tag] == []
    assert name in {element.text for element in picture.iter(f"{SVG}title")}
    assert "<i>&" in texts(picture)
    assert picture[0].text == "a < b"


def test_what_xml_cannot_hold_is_replaced() -> None:
    made = builder("nul \x00 half \ud800 \uffff").add_edge(START, "nul \x00 half \ud800 \uffff")
    drawn = made.compile().draw_svg()
    assert "nul � half � �" in texts(parsed(drawn))
    drawn.encode("utf-8")


def test_it_needs_nothing_from_elsewhere() -> None:
    drawn = with_graph_inside().draw_svg(xray=True).replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert re.findall(r"http|href|url\(|@import|<style|<script|<image|<use| id=| on\w+=", drawn) == []


def test_those_who_do_not_see_it_are_told() -> None:
    picture = parsed(with_graph_inside().draw_svg())
    assert picture.get("role") == "img"
    assert (picture[0].tag, picture[0].text) == (f"{SVG}title", "graph")
    assert picture[1].tag == f"{SVG}desc"
    assert picture[1].text == (
        "start leads to triage; triage may lead to end (spam), agent (no); report leads to end; agent leads to report"
    )


def test_the_whole_of_a_long_name_is_in_the_title_of_its_node() -> None:
    name = "read " * 60
    picture = parsed(builder(name).add_edge(START, name).compile().draw_svg())
    assert name.strip() in {element.text for element in picture.iter(f"{SVG}title")}
    assert any(text.endswith("…") for text in texts(picture))


def test_everything_is_within_the_picture() -> None:
    picture = parsed(with_graph_inside().draw_svg())
    width, height = float(picture.attrib["width"]), float(picture.attrib["height"])
    assert picture.get("viewBox") == f"0 0 {width:g} {height:g}"
    for box in picture.iter(f"{SVG}rect"):
        assert 0 <= float(box.attrib["x"]) <= float(box.attrib["x"]) + float(box.attrib["width"]) <= width - 24
        assert 0 <= float(box.attrib["y"]) <= float(box.attrib["y"]) + float(box.attrib["height"]) <= height - 24


def test_the_same_graph_is_always_drawn_the_same() -> None:
    assert with_graph_inside().draw_svg(xray=True) == with_graph_inside().draw_svg(xray=True)


def test_a_notebook_shows_it() -> None:
    assert in_notebook(agent()) == agent().draw_svg()


def test_a_notebook_does_not_show_what_nobody_could_read() -> None:
    names = [f"n{number}" for number in range(301)]
    graph = builder().add_sequence([(name, nothing) for name in names]).set_entry_point("n0").compile()
    assert in_notebook(graph) is None


def test_two_hundred_nodes_in_a_row_are_drawn_without_haste() -> None:
    names = [f"node {number}" for number in range(200)]
    graph = builder().add_sequence([(name, nothing) for name in names]).set_entry_point(names[0]).compile()
    assert set(names) <= set(texts(parsed(graph.draw_svg())))


def test_a_chain_may_be_longer_than_the_stack_is_deep() -> None:
    names = [f"n{number}" for number in range(sys.getrecursionlimit() + 100)]
    graph = builder().add_sequence([(name, nothing) for name in names]).set_entry_point("n0").compile()
    assert graph.draw_ascii().count("+----") == 2 * len(names)


def test_what_draws_is_not_imported_before_something_is_drawn(tmp_path: Path) -> None:
    program = (
        "import sys, surehand.graph\n"
        "print([name for name in sys.modules if name.startswith('surehand.graph.drawing.')])"
    )
    assert run_python("-c", program, cwd=tmp_path).stdout.strip() == "[]"
