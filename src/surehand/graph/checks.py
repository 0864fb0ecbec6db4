"""What can be wrong with a graph before it runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from surehand.control import END, START
from surehand.errors import GraphDefinitionError
from surehand.graph.plan import Plan
from surehand.wording import did_you_mean

__all__ = ["check_plan"]


def check_plan(plan: Plan) -> None:
    """Refuse a graph with an edge from or to nowhere, without an entry, or with a node that nothing leads to.

    Raises:
        GraphDefinitionError: With the name, what was expected, and near names.
    """
    for kind, source, target in _links(plan):
        _check_name(plan, source, f"{kind} starts at", also=START)
        _check_name(plan, target, f"{kind} from {source!r} leads to", also=END)
    if not plan.edges.get(START) and not plan.branches.get(START):
        raise GraphDefinitionError(
            problem=f"The graph {plan.name!r} has no entry", remedy="Add an edge from START to the first node."
        )
    _check_reachable(plan)


def _links(plan: Plan) -> Iterator[tuple[str, str, str]]:
    """Every known link as ``(kind, source, target)``."""
    for source, targets in plan.edges.items():
        for target in targets:
            yield "An edge", source, target
    for join in plan.joins:
        for source in join.sources:
            yield "An edge", source, join.target
    for source, branches in plan.branches.items():
        for branch in branches:
            yield f"{branch.label[0].upper()}{branch.label[1:]}", source, source if source != START else END
            for target in branch.declared:
                yield f"{branch.label[0].upper()}{branch.label[1:]}", source, target
    for node in plan.nodes.values():
        for target in node.destinations or ():
            yield f"A command of {node.name!r}", node.name, target


def _check_name(plan: Plan, name: str, what: str, *, also: str) -> None:
    if name in plan.nodes or name == also:
        return
    hint = " Edges go from START and to END." if name in (START, END) else did_you_mean(name, plan.nodes)
    raise GraphDefinitionError(
        problem=f"{what} {name!r}, which is no node of the graph {plan.name!r}",
        remedy=f"Expected one of: {', '.join([*plan.nodes, 'START' if also == START else 'END'])}.{hint}",
    )


def _check_reachable(plan: Plan) -> None:
    reached, to_do = {START}, [START]
    while to_do:
        targets = _targets_of(plan, to_do.pop())
        if targets is None:  # it may lead anywhere
            return
        for target in set(targets) - reached:
            reached.add(target)
            to_do.append(target)
    for name in plan.nodes:
        if name not in reached:
            raise GraphDefinitionError(
                problem=f"Nothing leads to the node {name!r} of the graph {plan.name!r}",
                remedy="Add an edge to it, or name it in destinations=[…] of the node whose command leads there.",
            )


def _targets_of(plan: Plan, source: str) -> Iterable[str] | None:
    """Where a node may lead; None for anywhere."""
    branches = plan.branches.get(source, ())
    node = plan.nodes.get(source)
    if not all(branch.is_closed for branch in branches) or (node is not None and node.destinations is None):
        return None
    return [
        *plan.edges.get(source, ()),
        *(target for branch in branches for target in branch.declared),
        *(join.target for join in plan.joins if source in join.sources),
        *(node.destinations or () if node is not None else ()),
    ]
