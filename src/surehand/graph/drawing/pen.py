"""What a drawing is measured in: the sizes of text, boxes and gaps, in the cells of a grid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from surehand.graph.drawing.lettering import wrapped
from surehand.graph.drawing.picture import Figure

__all__ = ["Pen"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pen:
    """How large things are, in cells."""

    measure: Callable[[str], int]
    """The width of a text."""
    longest: int
    """The width of a line of a name; longer ones are broken."""
    ellipsis: str
    line: int
    """The height of a line of text."""
    pad: tuple[int, int]
    """From text to the border of its box, to the side and up."""
    round_pad: tuple[int, int]
    """The same for what is not a node."""
    frame: tuple[int, int, int]
    """From a graph that is opened to its border: to the side, to the top, where its name stands, and to the bottom."""
    gap: int
    """Between things beside each other."""
    pitch: int
    """Between the ends of arrows at a box, from one to the next."""
    stub: int
    """From a box to the first line beside it, with place for the head of an arrow."""
    track: int
    """From one line to the next."""

    def lines(self, figure: Figure) -> tuple[str, ...]:
        """The text of a figure."""
        return (*self.broken(figure.text, max_lines=3), *(f"({mark})" for mark in figure.marks))

    def broken(self, text: str, *, max_lines: int) -> tuple[str, ...]:
        """A text in lines."""
        return wrapped(text, self.longest, measure=self.measure, max_lines=max_lines, ellipsis=self.ellipsis)

    def size(self, lines: tuple[str, ...], pad: tuple[int, int]) -> tuple[int, int]:
        """Width and height of a box around lines of text."""
        return max(map(self.measure, lines)) + 2 * pad[0], len(lines) * self.line + 2 * pad[1]
