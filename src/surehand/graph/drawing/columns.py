"""How far to the right each item stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor
from typing import Final

from surehand.graph.drawing.pen import Pen
from surehand.graph.drawing.ports import Sides, spread
from surehand.graph.drawing.spacing import apart
from surehand.graph.drawing.web import End, Web

__all__ = ["placed", "step_aside"]

_ROUNDS: Final = 4
_LARGE: Final = 5000
"""Items of a drawing that gets fewer rounds, so that it is there in a second or two."""

_THROUGH: Final = 8.0
"""How much more it matters that a line goes straight through rows than that a box stands in the middle."""

_SEVERAL: Final = 100.0
"""How much more two straight lines matter than one: so much that their item does not have to meet others halfway."""

_NARROW: Final = 3
"""Cells of a step to the side that looks like a mistake."""

_LOOSE: Final = 0.1
"""How much it matters where something stands that is tied to nothing on this side."""


def placed(sides: Sides, widths: Sequence[int], pen: Pen) -> tuple[list[int], dict[End, int]]:
    """The left side of each item and the column of each end of a line.

    Items stand near what they are tied to, in the order of their row, with gaps between. Where on their sides lines
    begin depends on where the others stand, and the other way round: so both are found in turns.
    """
    web = sides.web
    placer = _Placer(web, widths, pen)
    placer.pull({})
    rounds, far = _ROUNDS, pen.pitch + pen.gap
    reaches = [far, far, pen.pitch, pen.pitch, _NARROW]
    if len(web.items) >= _LARGE:
        rounds, reaches = 1, reaches[-1:]
    for _ in range(rounds):
        placer.pull(spread(sides, placer.lefts(), widths, pen))
    for number, reach in enumerate(reaches):
        placer.straighten(spread(sides, placer.lefts(), widths, pen), reach, is_upward=number % 2 == 1)
    lefts = placer.lefts()
    return lefts, spread(sides, lefts, widths, pen)


def step_aside(web: Web, item: int, lefts: list[int], widths: Sequence[int]) -> None:
    """Move an item by one cell, to a side where there is place for it."""
    row = web.rows[web.items[item].rank]
    place = row.index(item)
    if place + 1 == len(row) or lefts[row[place + 1]] - lefts[item] - widths[item] > 1:
        lefts[item] += 1
    elif place == 0 or lefts[item] - lefts[row[place - 1]] - widths[row[place - 1]] > 1:
        lefts[item] -= 1


@dataclass(frozen=True, slots=True)
class _Tie:
    """What one item is tied to."""

    other: int
    shift: float
    """How far to the right of the other's middle this item's middle is where the line between them is straight."""
    weight: float


class _Placer:
    def __init__(self, web: Web, widths: Sequence[int], pen: Pen) -> None:
        self._web, self._widths, self._pen = web, widths, pen
        self._middles = [0.0] * len(web.items)
        self._rows = [(row, self._offsets(row)) for row in web.rows]
        for row, offsets in self._rows:
            for item, offset in zip(row, offsets, strict=True):
                self._middles[item] = offset - offsets[-1] / 2

    def pull(self, columns: Mapping[End, int]) -> None:
        """Move all rows to what they are tied to: down, up, and to both sides."""
        above, below = self._ties(columns)
        both = [[*upper, *lower] for upper, lower in zip(above, below, strict=True)]
        for ties, rows in (
            (above, self._rows),
            (below, self._rows[::-1]),
            (both, self._rows),
            (both, self._rows[::-1]),
        ):
            for row, offsets in rows:
                self._move(row, offsets, [self._wanted(item, ties[item]) for item in row])

    def straighten(self, columns: Mapping[End, int], reach: int, *, is_upward: bool) -> None:
        """Take steps to the side out of the lines, row by row, by moving items no further than that."""
        above, below = self._ties(columns)
        ties = [[*upper, *lower] for upper, lower in zip(above, below, strict=True)] if is_upward else above
        for row, offsets in reversed(self._rows) if is_upward else self._rows:
            self._move(row, offsets, [self._straight(item, ties[item], reach) for item in row])

    def lefts(self) -> list[int]:
        """The left sides in whole cells, the leftmost at 0."""
        halves = zip(self._middles, self._widths, strict=True)
        lefts = [floor(middle + 0.5) - width // 2 for middle, width in halves]
        for row in self._web.rows:
            for left, right in pairwise(row):  # rounding may take a cell of a gap
                lefts[right] = max(lefts[right], lefts[left] + self._widths[left] + self._gap(left, right))
        first = min(lefts)
        return [left - first for left in lefts]

    def _move(self, row: Sequence[int], offsets: Sequence[float], wanted: Sequence[tuple[float, float]]) -> None:
        places = apart([place for place, _ in wanted], [weight for _, weight in wanted], offsets)
        for item, place in zip(row, places, strict=True):
            self._middles[item] = place

    def _wanted(self, item: int, ties: Sequence[_Tie]) -> tuple[float, float]:
        """Where an item is wanted, and how much."""
        weight = sum(tie.weight for tie in ties)
        if not ties:
            return self._middles[item], _LOOSE
        return sum((self._middles[tie.other] + tie.shift) * tie.weight for tie in ties) / weight, weight

    def _straight(self, item: int, ties: Sequence[_Tie], reach: int) -> tuple[float, float]:
        """Where most lines are straight, if that is not far away."""
        here = self._middles[item]
        found: dict[int, list[float]] = {}
        for tie in ties:
            found.setdefault(round(self._middles[tie.other] + tie.shift), []).append(tie.weight)
        near = {
            place: sum(weights) * (1 if len(weights) == 1 else _SEVERAL)
            for place, weights in found.items()
            if abs(place - here) <= (reach if len(weights) == 1 else self._pen.pitch + self._pen.gap)
        }
        best = min(near, key=lambda place: (-near[place], abs(place - here)), default=None)
        return (here, _LOOSE) if best is None else (best, near[best])

    def _ties(self, columns: Mapping[End, int]) -> tuple[list[list[_Tie]], list[list[_Tie]]]:
        """For each item what it is tied to above and below, where ends are in these columns."""
        above: list[list[_Tie]] = [[] for _ in self._web.items]
        below: list[list[_Tie]] = [[] for _ in self._web.items]
        lefts = self.lefts()
        middles = [left + width // 2 for left, width in zip(lefts, self._widths, strict=True)]
        for leg in self._web.legs:
            if (ends := leg.upper_and_lower) is None:
                continue
            upper, lower = ends
            figures = self._web.items[upper.item].is_figure + self._web.items[lower.item].is_figure
            weight = (_THROUGH, 2.0, 1.0)[figures]
            shift = 0.0
            if columns:
                shift = (columns[upper] - middles[upper.item]) - (columns[lower] - middles[lower.item])
            above[lower.item].append(_Tie(upper.item, shift, weight))
            below[upper.item].append(_Tie(lower.item, -shift, weight))
        return above, below

    def _offsets(self, row: Sequence[int]) -> list[float]:
        offsets = [0.0]
        for left, right in pairwise(row):
            apart_by = (self._widths[left] + self._widths[right]) / 2 + self._gap(left, right)
            offsets.append(offsets[-1] + apart_by)
        return offsets

    def _gap(self, left: int, right: int) -> int:
        are_figures = self._web.items[left].is_figure and self._web.items[right].is_figure
        return self._pen.gap if are_figures else self._pen.pitch
