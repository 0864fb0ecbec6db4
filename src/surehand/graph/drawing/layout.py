"""Where everything of a picture stands, on a grid of cells: what the plain text and the SVG share.

Figures stand in rows, each below what leads to it (ranks), and beside one another so that few lines cross (order) and
many are straight (columns). Lines go down or up between the rows and to the side in the channels between them (tracks),
never through a box. A graph that is opened is laid out by itself, and is a box in the graph around it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from surehand.graph.drawing.columns import placed, step_aside
from surehand.graph.drawing.order import put_in_order
from surehand.graph.drawing.pen import Pen
from surehand.graph.drawing.picture import Figure, Kind, Picture
from surehand.graph.drawing.ports import Sides, needed_widths, spread
from surehand.graph.drawing.tracks import Span, shared_columns, tracks_of
from surehand.graph.drawing.web import End, Leg, Web, spun

__all__ = ["Box", "Layout", "Point", "Route", "lay_out"]

_TRIES: Final = 4
"""How often items step aside where two lines would lie on one another; more is hardly ever needed."""

Point = tuple[float, float]
"""Cells from the left and from the top; a line through the middle of the first cell is at 0.5."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A figure, or the label of an arrow."""

    x: int
    y: int
    width: int
    height: int
    lines: tuple[str, ...]
    figure: Figure | None = None
    """None for a label."""
    arrow: int | None = None
    """The arrow of a label."""
    inner: Layout | None = None
    """What the graph that is opened shows."""
    inner_at: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The way of an arrow: from its source to its target, or to its label and from there to its target."""

    arrow: int
    stretches: tuple[tuple[Point, ...], ...]
    net: int
    """Routes of one net come together on their way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A picture with places."""

    picture: Picture
    width: int
    height: int
    boxes: tuple[Box, ...]
    """In the order of the figures."""
    labels: tuple[Box, ...]
    routes: tuple[Route, ...]
    """In the order of the arrows."""


def lay_out(picture: Picture, pen: Pen) -> Layout:
    """Find a place for everything; the same picture always gets the same places."""
    figures = [_figure_box(figure, pen) for figure in picture.figures]
    web = spun(picture, [(box.width, box.height) for box in figures], pen)
    put_in_order(web)
    sides = Sides(web)
    widths = needed_widths(sides, pen)
    lefts, columns, tracks = _settled(sides, widths, pen)
    heights = [web.height(rank) for rank in range(len(web.rows))]
    floors = _floors(web, tracks, heights, pen)
    boxes = {
        item: _moved(box, lefts[item], widths[item], floors[rank := web.items[item].rank], heights[rank])
        for item, box in (dict(enumerate(figures)) | _label_boxes(web)).items()
    }
    surveyor = _Surveyor(web=web, boxes=boxes, columns=columns, tracks=tracks, floors=floors, heights=heights, pen=pen)
    return Layout(
        picture=picture,
        width=max(left + width for left, width in zip(lefts, widths, strict=True)),
        height=floors[-1],
        boxes=tuple(box for box in boxes.values() if box.figure is not None),
        labels=tuple(box for box in boxes.values() if box.figure is None),
        routes=tuple(
            Route(arrow=arrow, stretches=tuple(map(surveyor.points, way)), net=way[-1][-1].net)
            for arrow, way in enumerate(web.ways)
        ),
    )


def _figure_box(figure: Figure, pen: Pen) -> Box:
    """A box that is as large as it has to be, at no place yet."""
    lines = pen.lines(figure)
    width, height = pen.size(lines, pen.pad if figure.kind is Kind.NODE else pen.round_pad)
    width += 2 * figure.is_graph  # for its double border
    if figure.inner is None:
        return Box(x=0, y=0, width=width, height=height, lines=lines, figure=figure)
    inner = lay_out(figure.inner, pen)
    side, top, bottom = pen.frame
    return Box(
        x=0,
        y=0,
        width=max(width, inner.width + 2 * side),
        height=inner.height + top + bottom,
        lines=lines[:1],
        figure=figure,
        inner=inner,
        inner_at=(side, top),
    )


def _label_boxes(web: Web) -> dict[int, Box]:
    """The boxes of the labels by item, at no place yet."""
    return {
        item: Box(x=0, y=0, width=0, height=web.items[item].size[1], lines=web.items[item].lines, arrow=arrow)
        for item, arrow in web.labels.items()
    }


def _moved(box: Box, x: int, width: int, floor: int, height: int) -> Box:
    """The box in its row, of this height, that begins at the floor."""
    y = floor + (height - box.height) // 2
    inner = box.inner
    at = (x + (width - inner.width) // 2, y + box.inner_at[1]) if inner is not None else (0, 0)
    return replace(box, x=x, y=y, width=width, inner_at=at)


def _settled(sides: Sides, widths: Sequence[int], pen: Pen) -> tuple[list[int], dict[End, int], list[dict[int, int]]]:
    """The left sides of all items, the columns of all ends, and the tracks in each channel."""
    web = sides.web
    lefts, columns = placed(sides, widths, pen)
    tries = 0
    while True:
        spans = _spans(web, columns)
        tracks = [tracks_of(nets) for nets in spans]
        items = _in_the_way(web, spans, tracks, columns)
        if not items or tries == _TRIES:
            return lefts, columns, tracks
        for item in items:
            step_aside(web, item, lefts, widths)
        columns = spread(sides, lefts, widths, pen)
        tries += 1


def _in_the_way(
    web: Web, spans: Sequence[Mapping[int, Span]], tracks: Sequence[Mapping[int, int]], columns: Mapping[End, int]
) -> list[int]:
    """The items to which a line would come down on another line."""
    shared = {
        (channel, *place) for channel, nets in enumerate(spans) for place in shared_columns(nets, tracks[channel])
    }
    if not shared:
        return []
    lower = {end for leg in web.legs for end in (leg.tail, leg.head) if not end.is_below}
    return sorted({end.item for end in lower if (web.items[end.item].rank - 1, end.net, columns[end]) in shared})


def _spans(web: Web, columns: Mapping[End, int]) -> list[dict[int, Span]]:
    """The nets between each row and the next, and what is below the last one."""
    found: list[dict[int, tuple[set[int], set[int]]]] = [{} for _ in web.rows]
    for leg in web.legs:
        sides = found[leg.channel].setdefault(leg.net, (set(), set()))
        for end in (leg.tail, leg.head):
            sides[0 if end.is_below else 1].add(columns[end])
    return [{net: Span.of(upper, lower) for net, (upper, lower) in nets.items()} for nets in found]


def _floors(web: Web, tracks: Sequence[Mapping[int, int]], heights: Sequence[int], pen: Pen) -> list[int]:
    """Where each row begins, and at last where the drawing ends."""
    has_heads = {leg.channel for leg in web.legs if web.items[leg.head.item].is_figure}
    floors = [0]
    for rank in range(len(web.rows)):
        count = max(tracks[rank].values(), default=-1) + 1
        is_last = rank == len(web.rows) - 1
        stubs = bool(count) + (not is_last and (bool(count) or 1 + (rank in has_heads)))
        channel = stubs * pen.stub + (1 + (count - 1) * pen.track if count else 0)
        floors.append(floors[-1] + heights[rank] + channel)
    return floors


@dataclass(frozen=True, slots=True, kw_only=True)
class _Surveyor:
    """Knows where lines are."""

    web: Web
    boxes: Mapping[int, Box]
    columns: Mapping[End, int]
    tracks: Sequence[Mapping[int, int]]
    floors: Sequence[int]
    heights: Sequence[int]
    pen: Pen

    def points(self, legs: Sequence[Leg]) -> tuple[Point, ...]:
        """The corners of a line, with its ends."""
        points = list[Point]()
        for leg in legs:
            for point in self._corners(leg):
                if points and point == points[-1]:
                    continue
                if len(points) > 1 and points[-2][0] == points[-1][0] == point[0]:
                    points.pop()  # straight on, from one row to the next
                points.append(point)
        return tuple(points)

    def _corners(self, leg: Leg) -> list[Point]:
        first, last = self._point(leg.tail), self._point(leg.head)
        if leg.net not in self.tracks[leg.channel] or (first[0] == last[0] and first[1] != last[1]):
            return [first, last]
        bottom = self.floors[leg.channel] + self.heights[leg.channel]
        track = bottom + self.pen.stub + self.tracks[leg.channel][leg.net] * self.pen.track + 0.5
        return [first, (first[0], track), (last[0], track), last]

    def _point(self, end: End) -> Point:
        item, box = self.web.items[end.item], self.boxes.get(end.item)
        top, height = self.floors[item.rank], self.heights[item.rank]
        if box is not None:
            top, height = box.y, box.height
        return self.columns[end] + 0.5, float(top + height if end.is_below else top)
