"""Which figures stand above which others: the rows of a drawing."""

from __future__ import annotations

from collections.abc import Sequence

from surehand.graph.drawing.picture import Arrow

__all__ = ["ranks_of"]


def ranks_of(count: int, arrows: Sequence[Arrow]) -> list[int]:
    """The row of each figure, counted from the top: below everything that leads there.

    Arrows that close a circle do not count; they lead up again. The first figure is alone at the top.
    """
    below: list[list[int]] = [[] for _ in range(count)]
    for arrow in arrows:
        below[arrow.source].append(arrow.target)
    order, back = _walk(below)
    ranks = [0] + [1] * (count - 1)
    for source in reversed(order):  # every figure before those that it leads to
        for target in below[source]:
            if (source, target) not in back:
                ranks[target] = max(ranks[target], ranks[source] + 1)
    return ranks


def _walk(below: Sequence[Sequence[int]]) -> tuple[list[int], set[tuple[int, int]]]:
    """The figures in the order in which a walk in depth leaves them, and the ways that lead back on the walk.

    It keeps a stack of its own: a chain of a thousand nodes is a graph like any other.
    """
    left, back = list[int](), set[tuple[int, int]]()
    entered, on_way = set[int](), set[int]()
    for root in range(len(below)):
        if root in entered:
            continue
        entered.add(root)
        on_way.add(root)
        stack = [(root, iter(below[root]))]
        while stack:
            at, ways = stack[-1]
            target = next(ways, None)
            if target is None:
                stack.pop()
                on_way.remove(at)
                left.append(at)
            elif target in on_way:
                back.add((at, target))
            elif target not in entered:
                entered.add(target)
                on_way.add(target)
                stack.append((target, iter(below[target])))
    return left, back
