"""A graph as an SVG picture that needs nothing but itself.

It has no scripts, no style sheets, no ids and no references, so that several may stand in one page, and none of them
asks anybody for anything. Boxes bring their own ground, and lines are of a grey that can be told from white and from
black: the page may be light or dark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from math import ceil
from typing import Final

from surehand.graph.drawing.layout import Box, Layout, Point, lay_out
from surehand.graph.drawing.lettering import ems_of
from surehand.graph.drawing.pen import Pen
from surehand.graph.drawing.picture import Figure, Kind, Picture

__all__ = ["PEN", "svg_of"]

_CELL: Final = 4
"""Pixels to a cell."""
_FONT: Final = 14
_SMALL: Final = 12
"""Pixels to an em."""
_MARGIN: Final = 12
_HEAD: Final = (9, 4.5)
"""Length of a head, and half its width."""
_CORNER: Final = 6

_LINE: Final = "#7d838c"
_INK: Final = "#24292f"
_FAINT: Final = "#57606a"
_GROUND: Final = "#f6f8fa"
_TINT: Final = "#dbe7f5"

PEN: Final = Pen(
    measure=lambda text: ceil(ems_of(text) * _FONT / _CELL),
    longest=50,
    ellipsis="…",
    line=5,
    pad=(4, 3),
    round_pad=(4, 2),
    frame=(5, 10, 5),
    gap=9,
    pitch=5,
    stub=5,
    track=3,
)


def svg_of(picture: Picture) -> str:
    """The graph as SVG 1.1; the same graph always gives the same text."""
    layout = lay_out(picture, PEN)
    width, height = layout.width * _CELL + 2 * _MARGIN, layout.height * _CELL + 2 * _MARGIN
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    font = f'font-family="sans-serif" font-size="{_FONT}" text-anchor="middle"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" version="1.1" role="img" {size} {font}>',
        f"<title>{_text(picture.name)}</title>",
        f"<desc>{_text(_told(picture))}</desc>",
        *_drawn(layout, _MARGIN, _MARGIN),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _text(text: str) -> str:
    return escape(text, quote=False)


def _told(picture: Picture) -> str:
    """The graph in words, for those who do not see it."""
    ways: dict[tuple[int, bool], list[str]] = {}
    for arrow in picture.arrows:
        target = picture.figures[arrow.target].text + (f" ({arrow.label})" if arrow.label else "")
        ways.setdefault((arrow.source, arrow.is_choice), []).append(target)
    said = (
        f"{picture.figures[source].text} {'may lead' if is_choice else 'leads'} to {', '.join(targets)}"
        for (source, is_choice), targets in sorted(ways.items())
    )
    return "; ".join(said)


def _drawn(layout: Layout, x: int, y: int) -> Iterator[str]:
    """All of a layout, moved by so many pixels."""
    yield f'<g transform="translate({x} {y})">'
    yield f'<g fill="none" stroke="{_LINE}" stroke-width="1.5">'
    yield from _lines(layout)
    yield "</g>"
    yield f'<g fill="{_LINE}">'
    yield from _heads(layout)
    yield "</g>"
    yield f'<g fill="{_GROUND}" stroke="{_LINE}">'
    for box in layout.boxes:
        yield from _figure(box)
    yield "</g>"
    for label in layout.labels:
        yield from _label(label)
    for box in layout.boxes:
        if box.inner is not None:
            yield from _drawn(box.inner, *(cells * _CELL for cells in box.inner_at))
    yield "</g>"


def _figure(box: Box) -> Iterator[str]:
    figure = box.figure
    if figure is None:
        return
    yield f"<g><title>{_text(' '.join([figure.text, *(f'({mark})' for mark in figure.marks)]))}</title>"
    if figure.kind is not Kind.NODE:
        tint = f' fill="{_TINT}"' if figure.kind in {Kind.START, Kind.END} else ""
        yield _rect(box, f'rx="{box.height * _CELL / 2:g}"{tint}')
    else:
        yield _rect(box, 'rx="6"')
    if box.inner is not None:
        title = f'y="{_px(box.y) + 24}" fill="{_FAINT}"'
        yield f'<text x="{_px(box.x + box.width / 2)}" {title} stroke="none">{_text(box.lines[0])}</text>'
    else:
        yield from [_rect(box, 'rx="3" fill="none"', inset=3)] if figure.is_graph else []
        yield from _lines_of_text(box, figure)
    yield "</g>"


def _rect(box: Box, more: str, *, inset: int = 0) -> str:
    width, height = box.width * _CELL - 2 * inset, box.height * _CELL - 2 * inset
    return f'<rect x="{box.x * _CELL + inset}" y="{box.y * _CELL + inset}" width="{width}" height="{height}" {more}/>'


def _lines_of_text(box: Box, figure: Figure) -> Iterator[str]:
    names = len(box.lines) - len(figure.marks)
    for number, line in enumerate(box.lines):
        look = f'fill="{_INK}"' if number < names else f'fill="{_FAINT}" font-size="{_SMALL}"'
        yield _line_of_text(box, number, line, f'stroke="none" {look}')


def _line_of_text(box: Box, number: int, line: str, look: str) -> str:
    middle = box.y + box.height / 2 + (number + 0.5 - len(box.lines) / 2) * PEN.line
    return f'<text x="{_px(box.x + box.width / 2)}" y="{_px(middle) + 5}" {look}>{_text(line)}</text>'


def _label(box: Box) -> Iterator[str]:
    yield _rect(box, f'rx="4" fill="{_GROUND}"')
    for number, line in enumerate(box.lines):
        yield _line_of_text(box, number, line, f'fill="{_FAINT}" font-size="{_SMALL}"')


def _lines(layout: Layout) -> Iterator[str]:
    """The lines of all arrows, each piece once: dashes that lie on dashes would fill their gaps."""
    nets: dict[int, list[tuple[Point, Point]]] = {}
    for route in layout.routes:
        dashes = ' stroke-dasharray="5 4"' if layout.picture.arrows[route.arrow].is_choice else ""
        *to_label, last = route.stretches
        drawn = nets.setdefault(route.net, [])
        for points, has_head in [*((stretch, False) for stretch in to_label), (_until(last, drawn), True)]:
            yield f'<path d="{_path(points, ends_at_head=has_head and points[-1] == last[-1])}"{dashes}/>'
        drawn += pairwise(last)


def _heads(layout: Layout) -> Iterator[str]:
    heads = {route.net: route.stretches[-1][-2:] for route in layout.routes}
    for (_, before), (x, y) in heads.values():
        length = _HEAD[0] if before < y else -_HEAD[0]
        left, right = _px(x) - _HEAD[1], _px(x) + _HEAD[1]
        yield f'<path d="M{_px(x):g} {_px(y):g}L{left:g} {_px(y) - length:g}H{right:g}Z"/>'


def _path(points: Sequence[Point], *, ends_at_head: bool) -> str:
    """A line with round corners; before a head it ends where that begins."""
    pixels = [(_px(x), _px(y)) for x, y in points]
    if ends_at_head:
        (_, above), (x, y) = pixels[-2:]
        pixels[-1] = (x, y - _HEAD[0] + 1 if above < y else y + _HEAD[0] - 1)
    parts = [f"M{pixels[0][0]:g} {pixels[0][1]:g}"]
    for before, corner, after in zip(pixels, pixels[1:], pixels[2:], strict=False):
        # Half of the way to the next corner is left to that one.
        start, end = (_towards(corner, other, _CORNER, part=0.5) for other in (before, after))
        parts.append(f"L{start[0]:g} {start[1]:g}Q{corner[0]:g} {corner[1]:g} {end[0]:g} {end[1]:g}")
    parts.append(f"L{pixels[-1][0]:g} {pixels[-1][1]:g}")
    return "".join(parts)


def _towards(corner: Point, other: Point, far: float, *, part: float = 1.0) -> Point:
    """The point so far on the way from a corner to another one, but after no more than that part of the way."""
    way = abs(other[0] - corner[0]) + abs(other[1] - corner[1])
    share = min(far / way, part) if way else 0.0
    return corner[0] + (other[0] - corner[0]) * share, corner[1] + (other[1] - corner[1]) * share


def _until(points: Sequence[Point], drawn: Sequence[tuple[Point, Point]]) -> tuple[Point, ...]:
    """A line up to where it meets what is drawn of its net, and round the corner if it turns there."""
    for number, (start, end) in enumerate(pairwise(points)):
        met = [point for line in drawn if (point := _meeting(start, end, line)) is not None]
        if met:
            nearest = min(met, key=lambda point: abs(point[0] - start[0]) + abs(point[1] - start[1]))
            is_corner = nearest == end and number + 2 < len(points)
            rest = [_towards(end, points[number + 2], _CORNER / _CELL)] if is_corner else []
            return (*points[: number + 1], nearest, *rest)
    return tuple(points)


def _meeting(start: Point, end: Point, line: tuple[Point, Point]) -> Point | None:
    """The first point that an upright or level line has in common with another one."""
    found = list[float]()
    for axis in (0, 1):
        low, high = sorted((start[axis], end[axis]))
        its_low, its_high = sorted((line[0][axis], line[1][axis]))
        if its_low > high or its_high < low:
            return None
        found.append(min(max(start[axis], its_low), its_high))
    return found[0], found[1]


def _px(cells: float) -> float:
    return cells * _CELL
