"""Random graphs, drawn: nothing lies on anything else, and every arrow leads from where it begins to where it ends."""

from __future__ import annotations

import random
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Hashable, Iterator
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.graphs import State, nothing, pixels
from surehand.graph import END, START, CompiledGraph, StateGraph
from surehand.graph.drawing.ascii import PENS
from surehand.graph.drawing.layout import Box, Layout, Point, lay_out
from surehand.graph.drawing.lettering import cells_of
from surehand.graph.drawing.pen import Pen
from surehand.graph.drawing.picture import Kind, picture_of
from surehand.graph.drawing.svg import PEN

SVG = "{http://www.w3.org/2000/svg}"
WORDS = ["end", "START", "a b", "1. x", "<b>", "[x]", '"', "#", "查询", "é", "🙂", "-->", "style", "long " * 20]

names = st.sampled_from(WORDS) | st.text(min_size=1, max_size=12)
usable = names.filter(lambda name: bool(name.strip()) and name not in (START, END))
labels = st.sampled_from(["yes", "no", "again and again"]) | st.text(max_size=5)


@st.composite
def graphs(draw: st.DrawFn, *, depth: int = 1) -> CompiledGraph:
    """Graphs of up to eight nodes, all of which can be reached, in which some may be graphs again."""
    nodes = draw(st.lists(usable, min_size=1, max_size=8, unique=True))
    made = StateGraph(State)
    for number, name in enumerate(nodes):
        is_graph = depth > 0 and draw(st.integers(0, 7)) == 0
        made.add_node(name, draw(graphs(depth=depth - 1)) if is_graph else nothing)
        made.add_edge(draw(st.sampled_from([START, *nodes[:number]])), name)
    some, ends = st.sampled_from(nodes), st.sampled_from([*nodes, END])
    for source, target in draw(st.lists(st.tuples(some, ends), max_size=8)):
        made.add_edge(source, target)
    for source, paths in draw(
        st.lists(st.tuples(some, st.dictionaries(labels, ends, min_size=1, max_size=4)), max_size=4)
    ):
        made.add_conditional_edges(source, lambda state: None, dict[Hashable, str](paths.items()))
    if draw(st.booleans()):
        made.add_conditional_edges(draw(some), lambda state: None)
    groups = st.lists(some, min_size=2, max_size=3, unique=True)
    for sources, target in draw(st.lists(st.tuples(groups, ends), max_size=2)) if len(nodes) > 1 else []:
        made.add_edge(sources, target)
    return made.compile()


pens = st.sampled_from([*PENS, PEN])


def levels(layout: Layout) -> Iterator[Layout]:
    """The layout and those of the graphs that are opened in it."""
    yield layout
    for box in layout.boxes:
        if box.inner is not None:
            yield from levels(box.inner)


def overlap(one: Box, other: Box) -> bool:
    return (
        one.x < other.x + other.width
        and other.x < one.x + one.width
        and one.y < other.y + other.height
        and other.y < one.y + one.height
    )


def is_on_edge(point: Point, box: Box) -> bool:
    return box.x < point[0] < box.x + box.width and point[1] in (box.y, box.y + box.height)


def goes_through(start: Point, end: Point, box: Box) -> bool:
    """Whether a line has more in common with a box than that it touches it."""
    left, right = sorted((start[0], end[0]))
    top, bottom = sorted((start[1], end[1]))
    return left < box.x + box.width and box.x < right + 1e-9 and top < box.y + box.height and box.y < bottom


@given(graphs(), pens)
@settings(max_examples=100, deadline=None)
def test_boxes_never_overlap_and_are_within_the_drawing(graph: CompiledGraph, pen: Pen) -> None:
    for layout in levels(lay_out(picture_of(graph.plan, xray=True), pen)):
        boxes = [*layout.boxes, *layout.labels]
        assert not any(overlap(one, other) for one, other in combinations(boxes, 2))
        for box in boxes:
            assert 0 <= box.x <= box.x + box.width <= layout.width
            assert 0 <= box.y <= box.y + box.height <= layout.height
            assert all(pen.measure(line) <= box.width for line in box.lines)
            if box.inner is not None:
                x, y = box.inner_at
                assert box.x < x <= x + box.inner.width < box.x + box.width
                assert box.y < y <= y + box.inner.height < box.y + box.height


@given(graphs(), pens)
@settings(max_examples=100, deadline=None)
def test_every_arrow_touches_its_source_its_label_and_its_target_and_nothing_else(
    graph: CompiledGraph, pen: Pen
) -> None:
    for layout in levels(lay_out(picture_of(graph.plan, xray=True), pen)):
        labels_of = {label.arrow: label for label in layout.labels}
        for arrow, route in zip(layout.picture.arrows, layout.routes, strict=True):
            label = labels_of.get(route.arrow)
            stops = [layout.boxes[arrow.source], *([label] if label else []), layout.boxes[arrow.target]]
            assert len(route.stretches) == len(stops) - 1 == 1 + bool(arrow.label)
            for (first, second), points in zip(pairwise(stops), route.stretches, strict=True):
                assert is_on_edge(points[0], first)
                assert is_on_edge(points[-1], second)
                assert all(0 < x < layout.width and 0 < y < layout.height for x, y in points)
                assert all(start[0] == end[0] or start[1] == end[1] for start, end in pairwise(points))
                for start, end in pairwise(points):
                    assert not any(goes_through(start, end, box) for box in (*layout.boxes, *layout.labels))


@given(graphs())
@settings(max_examples=60, deadline=None)
def test_every_node_is_in_the_svg_once(graph: CompiledGraph) -> None:
    svg = ET.fromstring(graph.draw_svg())
    titles = Counter(title.text for title in [*svg.iter(f"{SVG}title")][1:])
    assert titles == Counter(figure.text for figure in picture_of(graph.plan).figures)


@given(graphs())
@settings(max_examples=10, deadline=None)
def test_pixels_can_be_read(graph: CompiledGraph) -> None:
    picture = pixels(graph.draw_png(scale=0.2))
    assert len(picture.rows) == picture.height
    assert {len(row) for row in picture.rows} == {4 * picture.width}


@given(graphs(), st.integers(20, 120))
@settings(max_examples=50, deadline=None)
def test_plain_text_is_as_narrow_as_asked_for(graph: CompiledGraph, width: int) -> None:
    drawn = graph.draw_ascii(max_width=width, xray=True)
    assert max(cells_of(line) for line in drawn.splitlines()) <= width


@given(graphs())
@settings(max_examples=100, deadline=None)
def test_every_line_of_mermaid_is_a_node_an_arrow_or_a_frame(graph: CompiledGraph) -> None:
    label = r'"[^"<>\n]*(<br/>\(deferred\))?"'
    node = rf"[A-Za-z_]\w*(\[{label}\]|\[\[{label}\]\]|\(\[(start|end)\]\)|\(\((all|any node)\)\))"
    arrow = rf"[A-Za-z_]\w* (-->|-\.->|-\. {label} \.->) [A-Za-z_]\w*"
    first, *lines = graph.draw_mermaid(xray=True).splitlines()
    assert first == "flowchart TD"
    assert [line for line in lines if not re.fullmatch(rf" +({node}|{arrow}|subgraph \w+\[{label}\]|end)", line)] == []
    ids = [line.split("[")[0].split("(")[0].strip() for line in lines if re.fullmatch(f" +{node}", line)]
    assert len(ids) == len(set(ids))


@given(graphs())
@settings(max_examples=30, deadline=None)
def test_the_same_graph_is_always_drawn_the_same(graph: CompiledGraph) -> None:
    assert graph.draw_svg(xray=True) == graph.draw_svg(xray=True)
    assert graph.draw_ascii(xray=True) == graph.draw_ascii(xray=True)


@pytest.mark.parametrize("seed", range(4))
def test_lines_to_different_figures_never_lie_on_one_another(seed: int) -> None:
    for layout in (lay_out(picture_of(graph.plan), pen) for graph in dense_graphs(seed) for pen in (*PENS, PEN)):
        assert [*shared_lines(layout)] == []


def dense_graphs(seed: int) -> Iterator[CompiledGraph]:
    chance = random.Random(seed)
    for _ in range(15):
        nodes = [f"n{number}" for number in range(chance.randint(1, 14))]
        made = StateGraph(State)
        for number, name in enumerate(nodes):
            made.add_node(name, nothing).add_edge(chance.choice([START, *nodes[:number]]), name)
        for _ in range(chance.randint(0, 2 * len(nodes))):
            answer, target = chance.choice(["yes", "no", "something else"]), chance.choice([*nodes, END])
            made.add_conditional_edges(chance.choice(nodes), lambda state: None, {answer: target})
        yield made.compile()


def shared_lines(layout: Layout) -> Iterator[tuple[Point, Point]]:
    """Pieces of lines of different nets that lie on one another for more than a point."""
    pieces = list[tuple[int, Point, Point]]()
    for route in layout.routes:
        for points in route.stretches:
            net = route.net if points is route.stretches[-1] else -1 - route.arrow
            pieces += [(net, min(piece), max(piece)) for piece in pairwise(points)]
    for (net, start, end), (other, its_start, its_end) in combinations(pieces, 2):
        if net != other and all(
            max(start[axis], its_start[axis]) < min(end[axis], its_end[axis])
            or start[axis] == end[axis] == its_start[axis] == its_end[axis]
            for axis in (0, 1)
        ):
            yield start, end


def test_every_join_has_a_figure() -> None:
    made = StateGraph(State).add_node("a", nothing).add_node("b", nothing).add_edge(START, "a").add_edge(START, "b")
    made.add_edge(["a", "b"], END)
    assert [figure.kind for figure in picture_of(made.compile().plan).figures].count(Kind.JOIN) == 1
