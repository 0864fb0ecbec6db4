"""A graph as text that Mermaid draws: solid arrows for edges, dotted ones for what is decided while it runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from surehand.control import END, START
from surehand.graph.plan import Branch, Plan

__all__ = ["draw_mermaid"]

_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_RESERVED: Final = frozenset(
    {"call", "class", "classdef", "click", "default", "direction", "end", "flowchart", "graph", "href", "linkstyle",
     "style", "subgraph"}
)  # fmt: skip


def draw_mermaid(plan: Plan) -> str:
    """The graph as a Mermaid flowchart; the same graph always gives the same text."""
    ids = {START: "__start__", END: "__end__"} | {name: _id(name, node.index) for name, node in plan.nodes.items()}
    lines = ["flowchart TD", f"    {ids[START]}([start])"]
    lines += [f'    {ids[name]}["{_escaped(name)}"]' for name in plan.nodes]
    lines += [f"    {ids[END]}([end])"]
    lines += [f"    {ids[source]} --> {ids[target]}" for source, target in _solid(plan)]
    for source, target, label in _dotted(plan):
        arrow = f'-. "{_escaped(label)}" .->' if label else "-.->"
        lines.append(f"    {ids[source]} {arrow} {ids[target]}")
    return "\n".join(lines) + "\n"


def _solid(plan: Plan) -> Iterator[tuple[str, str]]:
    for source in (START, *plan.nodes):
        yield from ((source, target) for target in plan.edges.get(source, ()))
        if source in plan.nodes and not _leads_on(plan, source):
            yield source, END
    for join in plan.joins:
        yield from ((source, join.target) for source in join.sources)


def _leads_on(plan: Plan, source: str) -> bool:
    """Whether anything is known to follow the node; where nothing does, the graph ends after it."""
    return bool(
        plan.edges.get(source)
        or plan.branches.get(source)
        or plan.nodes[source].destinations
        or any(source in join.sources for join in plan.joins)
    )


def _dotted(plan: Plan) -> Iterator[tuple[str, str, str]]:
    for source in (START, *plan.nodes):
        for branch in plan.branches.get(source, ()):
            yield from ((source, target, label) for target, label in _choices(plan, branch))
        node = plan.nodes.get(source)
        if node is not None and node.destinations:
            yield from ((source, target, "") for target in _in_order(plan, tuple(node.destinations)))


def _choices(plan: Plan, branch: Branch) -> list[tuple[str, str]]:
    """The targets of a branch with the answers that lead there; every node where they are not known."""
    if branch.targets is not None:
        return [(target, "" if key == target else str(key)) for key, target in branch.targets.items()]
    return [(target, "") for target in (branch.declared or (*plan.nodes, END))]


def _in_order(plan: Plan, names: Sequence[str]) -> list[str]:
    return [name for name in (*plan.nodes, END) if name in names]


def _id(name: str, index: int) -> str:
    return name if _PLAIN.fullmatch(name) and name.lower() not in _RESERVED else f"node_{index}_"


def _escaped(text: str) -> str:
    return text.replace("#", "#35;").replace('"', "#quot;").replace("\n", " ")
