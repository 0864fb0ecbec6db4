"""What stands in the rows of a drawing, and what is tied to what from one row to the next.

An arrow that leads over several rows takes a place in each of them, so that nothing else stands in its way; a label has
a place in a row of its own. Arrows of one kind to one figure come together on their way and have one head: where many
lead to the end, that is one line and not many side by side. They never come together where they leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from surehand.graph.drawing.pen import Pen
from surehand.graph.drawing.picture import Arrow, Kind, Picture
from surehand.graph.drawing.ranks import ranks_of

__all__ = ["End", "Item", "Leg", "Web", "spun"]

_LABEL_PAD: Final = (1, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Something with a place in a row: the figures first, as they are in the picture, then labels and bends."""

    rank: int
    size: tuple[int, int]
    lines: tuple[str, ...] = ()
    is_bend: bool = False
    """Whether it is nothing but a place where a line goes through the row."""
    is_figure: bool = False
    is_box: bool = False
    """Whether its lines may end anywhere on its sides; a single one ends in the middle of what is no box."""


class End(NamedTuple):
    """Where a line touches an item."""

    item: int
    is_below: bool
    """Whether it touches the lower side."""
    net: int
    is_out: bool
    """Whether it leaves from here."""


class Leg(NamedTuple):
    """A piece of a line, between two rows. Those of one net may lie on one another."""

    net: int
    channel: int
    """The row above it."""
    tail: End
    head: End

    @property
    def upper_and_lower(self) -> tuple[End, End] | None:
        """The end in the row above and the one in the row below; None where both are in the same row."""
        if self.tail.is_below == self.head.is_below:
            return None
        return (self.tail, self.head) if self.tail.is_below else (self.head, self.tail)


@dataclass(slots=True, kw_only=True)
class Web:
    """Items in rows, tied by legs."""

    items: list[Item]
    rows: list[list[int]]
    """The items of each row, from left to right as a first guess."""
    legs: list[Leg] = field(default_factory=list[Leg])
    ways: list[list[list[Leg]]] = field(default_factory=list[list[list[Leg]]])
    """For each arrow the legs that it goes along: two lists of them where it goes through a label."""
    labels: dict[int, int] = field(default_factory=dict[int, int])
    """The arrow of each label."""

    def height(self, rank: int) -> int:
        """How high a row is."""
        return max(self.items[item].size[1] for item in self.rows[rank])


def spun(picture: Picture, sizes: Sequence[tuple[int, int]], pen: Pen) -> Web:
    """The web of a picture whose figures have these sizes."""
    ranks = _with_rows_for_labels(ranks_of(len(picture.figures), picture.arrows), picture.arrows)
    figures = [
        Item(rank=rank, size=size, is_figure=True, is_box=figure.kind is Kind.NODE)
        for rank, size, figure in zip(ranks, sizes, picture.figures, strict=True)
    ]
    spinner = _Spinner(figures, pen)
    for number, arrow in enumerate(picture.arrows):
        spinner.add(number, arrow)
    return spinner.finished()


def _with_rows_for_labels(ranks: Sequence[int], arrows: Sequence[Arrow]) -> list[int]:
    """The ranks with one more after each that a label has to stand below."""
    labelled = {ranks[arrow.source] - (ranks[arrow.target] < ranks[arrow.source]) for arrow in arrows if arrow.label}
    before = [0]
    for rank in range(max(ranks)):
        before.append(before[-1] + (rank in labelled))
    return [rank + before[rank] for rank in ranks]


class _Spinner:
    """Makes the legs of one arrow after the other."""

    def __init__(self, figures: list[Item], pen: Pen) -> None:
        self._pen = pen
        self._web = Web(items=figures, rows=[])
        self._nets: dict[object, int] = {}
        self._bends: dict[tuple[int, int], int] = {}
        """By net and row."""
        self._onward: dict[int, Leg] = {}
        """The leg that leads on from a bend."""

    def add(self, number: int, arrow: Arrow) -> None:
        rank, target = self._rank(arrow.source), self._rank(arrow.target)
        at, step, way = arrow.source, 1 if target > rank else -1, list[list[Leg]]()
        is_loop = arrow.source == arrow.target
        if arrow.label:
            at = self._label(number, arrow.label, rank + (1 if is_loop else step))
            is_down = is_loop or step > 0
            way.append([self._leg(self._net(number), (arrow.source, is_down), (at, not is_down))])
        net = self._net((arrow.target, arrow.is_choice, step))
        if is_loop:  # out of the lower side, or up from the label there, and back to it
            way.append([self._leg(net, (at, not arrow.label), (at if not arrow.label else arrow.target, True))])
        else:
            way.append(self._legs(net, at, arrow.target, step))
        self._web.ways.append(way)

    def finished(self) -> Web:
        web = self._web
        web.rows = [[] for _ in range(max(item.rank for item in web.items) + 1)]
        for item in _first_order(web):
            web.rows[web.items[item].rank].append(item)
        return web

    def _legs(self, net: int, at: int, target: int, step: int) -> list[Leg]:
        legs = list[Leg]()
        while at != target:
            leg = self._onward.get(at)
            if leg is None:
                rank = self._rank(at) + step
                to = target if rank == self._rank(target) else self._bend(net, rank)
                leg = self._leg(net, (at, step > 0), (to, step < 0))
                if self._web.items[at].is_bend:
                    self._onward[at] = leg
            legs.append(leg)
            at = leg.head.item
        return legs

    def _leg(self, net: int, tail: tuple[int, bool], head: tuple[int, bool]) -> Leg:
        ranks = [self._rank(item) - (not is_below) for item, is_below in (tail, head)]
        leg = Leg(net, ranks[0], End(*tail, net, is_out=True), End(*head, net, is_out=False))
        self._web.legs.append(leg)
        return leg

    def _net(self, key: object) -> int:
        return self._nets.setdefault(key, len(self._nets))

    def _rank(self, item: int) -> int:
        return self._web.items[item].rank

    def _label(self, number: int, text: str, rank: int) -> int:
        lines = self._pen.broken(text, max_lines=2)
        self._web.labels[len(self._web.items)] = number
        return self._item(Item(rank=rank, size=self._pen.size(lines, _LABEL_PAD), lines=lines))

    def _bend(self, net: int, rank: int) -> int:
        if (net, rank) not in self._bends:
            self._bends[net, rank] = self._item(Item(rank=rank, size=(1, 0), is_bend=True))
        return self._bends[net, rank]

    def _item(self, item: Item) -> int:
        self._web.items.append(item)
        return len(self._web.items) - 1


def _first_order(web: Web) -> list[int]:
    """The items as a walk in depth from the top enters them: what belongs together comes together."""
    below: list[list[int]] = [[] for _ in web.items]
    for leg in web.legs:
        if (ends := leg.upper_and_lower) is not None:
            below[ends[0].item].append(ends[1].item)
    order, entered = list[int](), set[int]()
    for root in range(len(web.items)):
        stack = [root]
        while stack:
            item = stack.pop()
            if item not in entered:
                entered.add(item)
                order.append(item)
                stack += reversed(below[item])
    return order
