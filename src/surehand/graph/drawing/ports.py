"""Where along the sides of a box its lines begin and end."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import ceil, floor
from typing import Final

from surehand.graph.drawing.pen import Pen
from surehand.graph.drawing.spacing import apart
from surehand.graph.drawing.web import End, Web

__all__ = ["Sides", "needed_widths", "spread"]

_LEAST: Final = 2
"""Cells from one line to the next where one has to step aside."""


class Sides:
    """What ends at each side of each item, and what each end is tied to."""

    def __init__(self, web: Web) -> None:
        self.web = web
        self._ends: dict[tuple[int, bool], dict[End, None]] = {}
        self._others: dict[End, list[End]] = {}
        for leg in web.legs:
            for end, other in ((leg.tail, leg.head), (leg.head, leg.tail)):
                self._ends.setdefault((end.item, end.is_below), {})[end] = None
                self._others.setdefault(end, []).append(other)

    def ends(self, item: int, *, is_below: bool) -> Collection[End]:
        """The ends at one side of an item."""
        return self._ends.get((item, is_below), ())

    def others(self, end: End) -> Sequence[End]:
        """What an end is tied to."""
        return self._others[end]


def needed_widths(sides: Sides, pen: Pen) -> list[int]:
    """The width that each item needs for its text and for the ends of its lines: odd, so that it has a middle."""
    widths = list[int]()
    for number, item in enumerate(sides.web.items):
        count = 1 if item.is_bend else max(len(sides.ends(number, is_below=side)) for side in (True, False))
        widths.append(max(item.size[0], (count + 1) * pen.pitch + 1 if count > 1 else 1))
    return [width | 1 for width in widths]


def spread(sides: Sides, lefts: Sequence[int], widths: Sequence[int], pen: Pen) -> dict[End, int]:
    """The column of each end.

    Ends look to where their lines lead, so that many lines are straight, and keep a pitch apart. Between two rows the
    upper ends come first; a lower end then looks for the very column of what is above it.
    """
    spreader, web = _Spreader(sides, lefts, widths, pen), sides.web
    for rank, row in enumerate(web.rows):
        below = web.rows[rank + 1] if rank + 1 < len(web.rows) else []
        bends = [item for item in below if web.items[item].is_bend]
        spreader.place(bends, (), is_below=False)
        spreader.place(row, bends, is_below=True)
        spreader.place(below, row, is_below=False)
    return spreader.columns


class _Spreader:
    def __init__(self, sides: Sides, lefts: Sequence[int], widths: Sequence[int], pen: Pen) -> None:
        self.columns: dict[End, int] = {}
        self._sides, self._pen, self._lefts, self._widths = sides, pen, lefts, widths

    def place(self, items: Sequence[int], opposite: Sequence[int], *, is_below: bool) -> None:
        """Find places on one side of a row, with those on the opposite side being known."""
        across = [end for item in opposite for end in self._sides.ends(item, is_below=not is_below)]
        taken = {self.columns[end]: end.net for end in across}
        for number in items:
            ends, item = self._sides.ends(number, is_below=is_below), self._sides.web.items[number]
            if item.is_bend or (len(ends) == 1 and not item.is_box):
                self.columns.update(dict.fromkeys(ends, self._middle(number)))
            else:
                self._place_along(number, ends, taken)

    def _place_along(self, item: int, ends: Collection[End], taken: Mapping[int, int]) -> None:
        if not ends:
            return
        wanted = {end: self._wanted(end) for end in ends}
        ordered = sorted(ends, key=lambda end: (wanted[end], end.is_out, end.net))
        pitch = self._pen.pitch
        least, most = self._range(item, len(ends), [wanted[end] for end in ordered])
        offsets = [float(number * pitch) for number in range(len(ends))]
        places = apart([wanted[end] for end in ordered], [1.0] * len(ends), offsets)
        for number, (end, place) in enumerate(zip(ordered, places, strict=True)):
            from_left, from_right = least + number * pitch, most - (len(ends) - 1 - number) * pitch
            column = min(max(int(place + 0.5), from_left), from_right)
            self.columns[end] = self._aside(end, column, taken, ordered[:number], most)

    def _range(self, item: int, count: int, wanted: Sequence[float]) -> tuple[int, int]:
        """The first and the last column for ends: well away from the corners, but for what is straight nearer there."""
        left, right = self._lefts[item], self._lefts[item] + self._widths[item] - 1
        spare = right - left - (count - 1) * self._pen.pitch
        inset, smallest = min(self._pen.pitch, spare // 2), min(self._pen.pitch // 2, spare // 2)
        from_left, from_right = ceil(wanted[0]) - left, right - floor(wanted[-1])
        return (
            left + (from_left if smallest <= from_left < inset else inset),
            right - (from_right if smallest <= from_right < inset else inset),
        )

    def _wanted(self, end: End) -> float:
        others = self._sides.others(end)
        return sum(self.columns.get(other, self._middle(other.item)) for other in others) / len(others)

    def _aside(self, end: End, column: int, taken: Mapping[int, int], before: Sequence[End], most: int) -> int:
        """The column, or one beside it where a line of another net ends right across from it.

        Two such lines would have to keep out of each other's way on the one column that both have.
        """
        least = self.columns[before[-1]] + _LEAST if before else self._lefts[end.item] + 1
        for step in (0, 1, -1, 2, -2):
            if least <= column + step <= most and taken.get(column + step, end.net) == end.net:
                return column + step
        return max(column, least)

    def _middle(self, item: int) -> int:
        return self._lefts[item] + self._widths[item] // 2
