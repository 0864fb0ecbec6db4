"""A graph as plain text: boxes of signs, lines of signs, and no other characters than those of the names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from math import ceil, floor
from typing import Final

from surehand.errors import OptionError
from surehand.graph.drawing.layout import Box, Layout, Point, lay_out
from surehand.graph.drawing.lettering import cells_of, wrapped
from surehand.graph.drawing.pen import Pen
from surehand.graph.drawing.picture import Kind, Picture

__all__ = ["PENS", "ascii_of"]

_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_UPRIGHT: Final = _UP | _DOWN
_LEVEL: Final = _LEFT | _RIGHT

_NARROWEST: Final = 20
"""Columns that there have to be."""

_PEN: Final = Pen(
    measure=cells_of,
    longest=28,
    ellipsis="...",
    line=1,
    pad=(2, 1),
    round_pad=(2, 0),
    frame=(3, 2, 2),
    gap=4,
    pitch=3,
    stub=1,
    track=1,
)
PENS: Final = (_PEN, replace(_PEN, longest=14))
"""What is drawn with if there is place, and if there is not."""


def ascii_of(picture: Picture, *, max_width: int | None = None) -> str:
    """The graph in boxes and lines; as a list of what follows what where that would be wider than ``max_width``.

    Raises:
        OptionError: The width is no number of columns that a name fits into.
    """
    columns = _columns(max_width)
    for pen in PENS:
        layout = lay_out(picture, pen)
        if columns is None or layout.width <= columns:
            canvas = _Canvas()
            canvas.draw(layout, 0, 0)
            return canvas.text()
    return "".join(f"{line}\n" for line in _listed(picture, "", columns or _NARROWEST))


def _columns(value: object) -> int | None:
    if value is None or (isinstance(value, int) and value >= _NARROWEST):
        return value
    raise OptionError(
        option="max_width", value=value, expected=f"None, or a number of columns that is not below {_NARROWEST}"
    )


def _listed(picture: Picture, indent: str, max_width: int) -> Iterator[str]:
    """What follows what, line by line, in columns that are left."""
    joins = [place for place, figure in enumerate(picture.figures) if figure.kind is Kind.JOIN]
    names = [
        f"all of {joins.index(place) + 1}" if place in joins else figure.text
        for place, figure in enumerate(picture.figures)
    ]
    for place, figure in enumerate(picture.figures):
        if figure.kind is Kind.END:
            continue
        marks = "".join(f" ({mark})" for mark in figure.marks)
        yield indent + _cut(names[place] + marks, max_width - len(indent))
        for arrow in picture.arrows:
            if arrow.source == place:
                label = f" ({arrow.label})" if arrow.label else ""
                line = f"{'..>' if arrow.is_choice else '-->'} {names[arrow.target]}{label}"
                yield f"{indent}  {_cut(line, max_width - len(indent) - 2)}"
        if figure.inner is not None:
            yield from _listed(figure.inner, f"{indent}    "[: max_width // 2], max_width)


def _cut(text: str, width: int) -> str:
    return wrapped(text, width, measure=cells_of, max_lines=1, ellipsis="...")[0]


class _Canvas:
    """Cells with characters."""

    def __init__(self) -> None:
        self._cells: dict[tuple[int, int], str] = {}

    def text(self) -> str:
        """The lines, without blanks at their ends."""
        height = max(row for row, _ in self._cells) + 1
        rows: list[dict[int, str]] = [{} for _ in range(height)]
        for (row, column), sign in self._cells.items():
            rows[row][column] = sign
        lines = ("".join(cells.get(column, " ") for column in range(max(cells, default=-1) + 1)) for cells in rows)
        return "".join(f"{line.rstrip()}\n" for line in lines)

    def draw(self, layout: Layout, x: int, y: int) -> None:
        """Draw it all, with its upper left corner at a place."""
        for (row, column), sign in _signs(layout).items():
            self._cells[y + row, x + column] = sign
        for box in (*layout.boxes, *layout.labels):
            self._draw_box(box, x, y)

    def _draw_box(self, box: Box, x: int, y: int) -> None:
        left, top = x + box.x, y + box.y
        if box.figure is None:
            self._write_lines(box, left, top)
        elif box.figure.kind is not Kind.NODE:
            self._write(f"( {box.lines[0]} )".center(box.width), left, top)
        else:
            self._draw_frame(box, left, top)
            if box.inner is None:
                self._write_lines(box, left, top + 1)
            else:
                self._write(f" {box.lines[0]} ", left + 2, top)
                self.draw(box.inner, x + box.inner_at[0], y + box.inner_at[1])

    def _draw_frame(self, box: Box, left: int, top: int) -> None:
        is_double = box.figure is not None and box.figure.is_graph and box.inner is None
        corner, side = ("++", "||") if is_double else ("+", "|")
        rule = corner + "-" * (box.width - 2 * len(corner)) + corner
        for row in range(top, top + box.height):
            is_rule = row in {top, top + box.height - 1}
            self._write(rule if is_rule else side + " " * (box.width - 2 * len(side)) + side, left, row)

    def _write_lines(self, box: Box, left: int, top: int) -> None:
        for row, line in enumerate(box.lines, top):
            self._write(line, left + (box.width - cells_of(line)) // 2, row)

    def _write(self, text: str, x: int, y: int) -> None:
        for letter in text:
            width = cells_of(letter)
            if not width:  # an accent stays with its letter
                self._cells[y, x - 1] = self._cells.get((y, x - 1), "") + letter
                continue
            self._cells[y, x] = letter
            if width > 1:
                self._cells[y, x + 1] = ""
            x += width


def _signs(layout: Layout) -> dict[tuple[int, int], str]:
    """The lines as signs by row and column."""
    ways: dict[tuple[int, int], dict[int, int]] = {}  # by cell and net: the sides to which the line leaves
    heads: dict[tuple[int, int], str] = {}
    dotted: dict[int, bool] = {}
    for route in layout.routes:
        nets = [-1 - route.arrow, route.net][-len(route.stretches) :]  # the way to a label is a net by itself
        for net, points in zip(nets, route.stretches, strict=True):
            dotted[net] = layout.picture.arrows[route.arrow].is_choice
            for cell, sides in _cells(points):
                of_cell = ways.setdefault(cell, {})
                of_cell[net] = of_cell.get(net, 0) | sides
        (_, before), (column, end) = route.stretches[-1][-2:]
        heads[int(end) - (before < end), int(column)] = "v" if before < end else "^"
    return {cell: heads.get(cell) or _sign(nets, dotted) for cell, nets in ways.items()}


def _sign(nets: dict[int, int], dotted: dict[int, bool]) -> str:
    """The sign for a cell: where lines cross, the upright one is seen."""
    if any(sides & _UPRIGHT and sides & _LEVEL for sides in nets.values()):
        return "+"
    upright = [net for net, sides in nets.items() if sides & _UPRIGHT]
    if upright:
        return ":" if all(dotted[net] for net in upright) else "|"
    return "." if all(dotted[net] for net in nets) else "-"


def _cells(points: tuple[Point, ...]) -> Iterator[tuple[tuple[int, int], int]]:
    """Row and column of all cells that a line goes through, with the sides to which it leaves them."""
    for (x, y), (to_x, to_y) in pairwise(points):
        if x == to_x:
            top, bottom = sorted((y, to_y))
            for row in range(floor(top), ceil(bottom)):
                yield (row, int(x)), _UP * (top < row + 0.5) | _DOWN * (bottom > row + 0.5)
        else:
            left, right = sorted((x, to_x))
            for column in range(floor(left), ceil(right)):
                yield (int(y), column), _LEFT * (left < column) | _RIGHT * (right > column + 1)
