"""Pictures of graphs: as Mermaid's text, as plain text, as SVG and as PNG, all made here, without a network."""

from __future__ import annotations

from typing import Final

from surehand.graph.plan import Plan

__all__ = ["draw_ascii", "draw_mermaid", "draw_png", "draw_svg", "svg_for_notebook"]

# The modules that draw are imported when something is drawn: most programs with graphs never do.

_READABLE: Final = 300
"""Nodes and arrows of a graph that a notebook shows without having been asked."""


def draw_mermaid(plan: Plan, *, xray: bool | int = False) -> str:
    """The graph as a Mermaid flowchart."""
    from surehand.graph.drawing.mermaid import mermaid_of  # noqa: PLC0415 - see above
    from surehand.graph.drawing.picture import picture_of  # noqa: PLC0415 - see above

    return mermaid_of(picture_of(plan, xray=xray))


def draw_ascii(plan: Plan, *, xray: bool | int = False, max_width: int | None = 120) -> str:
    """The graph as plain text."""
    from surehand.graph.drawing.ascii import ascii_of  # noqa: PLC0415 - see above
    from surehand.graph.drawing.picture import picture_of  # noqa: PLC0415 - see above

    return ascii_of(picture_of(plan, xray=xray), max_width=max_width)


def draw_svg(plan: Plan, *, xray: bool | int = False) -> str:
    """The graph as an SVG picture."""
    from surehand.graph.drawing.picture import picture_of  # noqa: PLC0415 - see above
    from surehand.graph.drawing.svg import svg_of  # noqa: PLC0415 - see above

    return svg_of(picture_of(plan, xray=xray))


def draw_png(plan: Plan, *, xray: bool | int = False, scale: float = 2.0) -> bytes:
    """The graph as a PNG picture."""
    from surehand.graph.drawing.png import png_of  # noqa: PLC0415 - see above

    return png_of(draw_svg(plan, xray=xray), scale=scale)


def svg_for_notebook(plan: Plan) -> str | None:
    """The graph as an SVG picture, unless it is too large to be looked at."""
    from surehand.graph.drawing.picture import picture_of  # noqa: PLC0415 - see above
    from surehand.graph.drawing.svg import svg_of  # noqa: PLC0415 - see above

    picture = picture_of(plan)
    return svg_of(picture) if len(picture.figures) + len(picture.arrows) <= _READABLE else None
