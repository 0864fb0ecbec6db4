"""What there is to see of a graph: figures and the arrows between them, whatever they are drawn with."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from surehand.control import END, START
from surehand.errors import OptionError
from surehand.graph.drawing.lettering import cleaned
from surehand.graph.plan import Branch, Node, Plan

__all__ = ["Arrow", "Figure", "Kind", "Picture", "picture_of"]


class Kind(Enum):
    """What a figure stands for."""

    START = "start"
    END = "end"
    NODE = "node"
    JOIN = "join"
    """An edge that waits for several nodes: it has arrows from all of them and one to what follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Something with arrows to and from it."""

    kind: Kind
    text: str
    marks: tuple[str, ...] = ()
    """What else is to be said of a node, in a word or two each."""
    is_graph: bool = False
    """Whether the node is a graph."""
    inner: Picture | None = None
    """The graph that the node is, where it is to be opened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """A way from one figure to another; at most one of each kind from one to another."""

    source: int
    """The position of the figure."""
    target: int
    is_choice: bool
    """Whether it is decided while the graph runs if this way is taken."""
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A graph; the same graph always gives the same picture."""

    name: str
    figures: tuple[Figure, ...]
    """START first, then the nodes as they were added, the joins, and END if anything leads there."""
    arrows: tuple[Arrow, ...]


def picture_of(plan: Plan, *, xray: bool | int = False) -> Picture:
    """What there is to see.

    Args:
        plan: The graph.
        xray: Whether nodes that are graphs are opened; a number: how many levels of them.

    Raises:
        OptionError: ``xray`` is none of these.
    """
    if not isinstance(xray, int) or xray < 0:
        raise OptionError(option="xray", value=xray, expected="True, False, or how many levels of graphs to open")
    return _picture(plan, sys.maxsize if xray is True else int(xray))


def _picture(plan: Plan, depth: int) -> Picture:
    arrows = _arrows(plan)
    figures = [Figure(kind=Kind.START, text="start")]
    figures += [_figure(plan, node, depth) for node in plan.nodes.values()]
    figures += [Figure(kind=Kind.JOIN, text="all") for _ in plan.joins]
    if any(arrow.target == len(figures) for arrow in arrows):
        figures.append(Figure(kind=Kind.END, text="end"))
    return Picture(name=cleaned(plan.name), figures=tuple(figures), arrows=arrows)


def _figure(plan: Plan, node: Node, depth: int) -> Figure:
    marks = {
        "deferred": node.is_deferred,
        "pauses before": node.name in plan.pauses_before,
        "pauses after": node.name in plan.pauses_after,
    }
    return Figure(
        kind=Kind.NODE,
        text=cleaned(node.name),
        marks=tuple(mark for mark, is_so in marks.items() if is_so),
        is_graph=node.subgraph is not None,
        inner=_picture(node.subgraph, depth - 1) if node.subgraph is not None and depth > 0 else None,
    )


def _arrows(plan: Plan) -> tuple[Arrow, ...]:
    """Every way through the graph, with all that is said of it."""
    joins = len(plan.nodes) + 1
    places = {START: 0, END: joins + len(plan.joins)}
    places |= {name: place for place, name in enumerate(plan.nodes, 1)}
    labels: dict[tuple[int, int, bool], dict[str, None]] = {}
    for source, target, is_choice, label in _ways(plan):
        labels.setdefault((places[source], places[target], is_choice), {})[label] = None
    for place, join in enumerate(plan.joins, joins):
        labels |= {(places[source], place, False): {} for source in join.sources}
        labels[place, places[join.target], False] = {}
    return tuple(
        Arrow(source=source, target=target, is_choice=is_choice, label=", ".join(filter(None, said)))
        for (source, target, is_choice), said in labels.items()
    )


def _ways(plan: Plan) -> Iterator[tuple[str, str, bool, str]]:
    """``(source, target, whether that is decided while it runs, the answer that leads there)``, without the joins."""
    for source in (START, *plan.nodes):
        yield from ((source, target, False, "") for target in plan.edges.get(source, ()))
        for branch in plan.branches.get(source, ()):
            yield from ((source, target, True, label) for target, label in _choices(plan, branch))
        if source in plan.nodes:
            yield from _ways_of_node(plan, plan.nodes[source])


def _ways_of_node(plan: Plan, node: Node) -> Iterator[tuple[str, str, bool, str]]:
    """Where its commands lead; to the end where nothing is known to follow."""
    yield from ((node.name, target, True, "") for target in (*plan.nodes, END) if target in (node.destinations or ()))
    leads_on = plan.edges.get(node.name) or plan.branches.get(node.name) or node.destinations
    if not leads_on and not any(node.name in join.sources for join in plan.joins):
        yield node.name, END, node.destinations is None, ""


def _choices(plan: Plan, branch: Branch) -> list[tuple[str, str]]:
    """The targets of a branch with the answers that lead there; every node where they are not known."""
    if branch.targets is not None:
        return [(target, "" if key == target else cleaned(str(key))) for key, target in branch.targets.items()]
    return [(target, "") for target in (branch.declared or (*plan.nodes, END))]
