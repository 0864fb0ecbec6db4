"""What there is to see of a graph: figures and the arrows between them, whatever they are drawn with."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from surehand.control import END, START
from surehand.errors import OptionError
from surehand.graph.drawing.lettering import cleaned
from surehand.graph.plan import Branch, Node, Plan

__all__ = ["Arrow", "Figure", "Kind", "Picture", "picture_of"]


_ANY: Final = ""
"""Stands among the names of nodes, none of which is blank."""

_Key = str | int
"""The name of a node, or the number of a join."""

_MANY: Final = 60
"""Arrows to every node that are still drawn one by one."""


class Kind(Enum):
    """What a figure stands for."""

    START = "start"
    END = "end"
    NODE = "node"
    JOIN = "join"
    """An edge that waits for several nodes: it has arrows from all of them and one to what follows."""
    ANY = "any"
    """Stands for every node: many paths that say nothing of their targets would be an arrow from each node to each."""


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
    """START first, then the nodes as they were added, the joins, ANY, and END: these two if anything leads there."""
    arrows: tuple[Arrow, ...]


def picture_of(plan: Plan, *, xray: bool | int = False) -> Picture:
    """What there is to see.

    Args:
        plan: The graph.
        xray: Whether nodes that are graphs are opened; a number: how many levels of them.

    Raises:
        OptionError: ``xray`` is none of these.
    """
    return _picture(plan, _depth(xray))


def _depth(xray: object) -> int:
    if not isinstance(xray, int) or xray < 0:
        raise OptionError(option="xray", value=xray, expected="True, False, or how many levels of graphs to open")
    return sys.maxsize if xray is True else int(xray)


def _picture(plan: Plan, depth: int) -> Picture:
    ways = _told_apart(plan, list(_ways(plan)))
    targets = {way.target for way in ways}
    figures: dict[_Key, Figure] = {START: Figure(kind=Kind.START, text="start")}
    figures |= {name: _figure(plan, node, depth) for name, node in plan.nodes.items()}
    figures |= {number: Figure(kind=Kind.JOIN, text="all") for number, _ in enumerate(plan.joins)}
    figures |= {_ANY: Figure(kind=Kind.ANY, text="any node")} if _ANY in targets else {}
    figures |= {END: Figure(kind=Kind.END, text="end")} if END in targets else {}
    arrows = _arrows(ways, {key: place for place, key in enumerate(figures)})
    return Picture(name=cleaned(plan.name), figures=tuple(figures.values()), arrows=arrows)


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


class _Way(NamedTuple):
    """One thing that leads from one figure to another."""

    source: _Key
    target: _Key
    is_choice: bool = False
    label: str = ""


def _arrows(ways: Sequence[_Way], places: Mapping[_Key, int]) -> tuple[Arrow, ...]:
    """The ways, with all that is said of those of one kind from one figure to another."""
    labels: dict[tuple[int, int, bool], dict[str, None]] = {}
    for way in ways:
        labels.setdefault((places[way.source], places[way.target], way.is_choice), {})[way.label] = None
    return tuple(
        Arrow(source=source, target=target, is_choice=is_choice, label=", ".join(filter(None, said)))
        for (source, target, is_choice), said in labels.items()
    )


def _told_apart(plan: Plan, ways: Sequence[_Way]) -> list[_Way]:
    """The ways, those that may lead anywhere being one to each node and to the end if they are few."""
    everywhere = (*plan.nodes, END)
    if sum(way.target == _ANY for way in ways) * len(everywhere) > _MANY:
        return [*ways, *(_Way(_ANY, target, is_choice=True) for target in everywhere)]
    return [
        way._replace(target=target) for way in ways for target in (everywhere if way.target == _ANY else (way.target,))
    ]


def _ways(plan: Plan) -> Iterator[_Way]:
    for source in (START, *plan.nodes):
        yield from (_Way(source, target) for target in plan.edges.get(source, ()))
        for branch in plan.branches.get(source, ()):
            yield from _ways_of_branch(branch)
        if source in plan.nodes:
            yield from _ways_of_node(plan, plan.nodes[source])
    for number, join in enumerate(plan.joins):
        yield from (_Way(source, number) for source in join.sources)
        yield _Way(number, join.target)


def _ways_of_branch(branch: Branch) -> Iterator[_Way]:
    """Where its answers lead."""
    if branch.targets is None:
        yield from (_Way(branch.source, target, is_choice=True) for target in branch.declared or (_ANY,))
        return
    for answer, target in branch.targets.items():
        label = "" if answer == target else cleaned(str(answer))
        yield _Way(branch.source, target, is_choice=True, label=label)


def _ways_of_node(plan: Plan, node: Node) -> Iterator[_Way]:
    """Where its commands lead; to the end where nothing is known to follow."""
    for target in (*plan.nodes, END):
        if target in (node.destinations or ()):
            yield _Way(node.name, target, is_choice=True)
    leads_on = plan.edges.get(node.name) or plan.branches.get(node.name) or node.destinations
    if not leads_on and not any(node.name in join.sources for join in plan.joins):
        yield _Way(node.name, END, is_choice=node.destinations is None)
