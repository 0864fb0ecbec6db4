"""What is put on the screen: labelled lines that wrap to the terminal's width, or JSON lines."""

from __future__ import annotations

import json
import sys
from typing import Final

from rich.console import Console
from rich.text import Text

from surehand import ToolMessage
from surehand.outcomes import Outcome

__all__ = ["Screen", "did", "print_json", "shortened", "sized"]

LABEL_WIDTH: Final = 16
MAX_SHOWN: Final = 300
"""Characters of a text that are put on the screen; what the model is given is not shortened by this."""
MAX_LINES: Final = 6
"""Lines of such a text."""


class Screen:
    """Prints labelled lines; without a terminal there is no colour and the width is 80."""

    def __init__(self) -> None:
        self._console = Console(highlight=False)

    def title(self, text: str, *, note: str = "") -> None:
        """A line that begins something."""
        self.line()
        self._console.print(Text.assemble((text, "bold"), (f"  {note}" if note else "", "dim")))

    def line(self, text: str = "", *, style: str = "", indent: str = "") -> None:
        """A line of prose."""
        self._wrapped(text, style=style, first=indent, rest=indent)

    def labelled(self, label: str, text: str, *, style: str = "") -> None:
        """A label and a text that wraps beside it."""
        self._wrapped(text, style=style, first=f"  {label}".ljust(LABEL_WIDTH), rest=" " * LABEL_WIDTH)

    def call(self, *, sent: str, answer: ToolMessage) -> None:
        """The three lines of a call: what came, what was done, what goes back."""
        style = "green" if answer.status == "success" else "yellow"
        self.labelled("model sends", shortened(sent))
        self.labelled("Surehand", did(answer.outcome), style=style)
        self.labelled("model is told", shortened(answer.text))

    def _wrapped(self, text: str, *, style: str, first: str, rest: str) -> None:
        """Print a text wrapped to the width; not a table, which would fill each line with blanks to its end."""
        width = max(20, self._console.width - len(first))
        lines = Text(text, style=style).wrap(self._console, width, overflow="fold")
        for place, line in enumerate(lines):
            line.rstrip()
            self._console.print(Text.assemble((rest if place else first, "dim"), line), soft_wrap=True)


def did(outcome: Outcome | None) -> str:
    """What was done with a call, in a few words."""
    if outcome is None:
        return "answered"
    kind = str(outcome.kind) if outcome.kind is not None else "success"
    ran = "nothing ran" if not outcome.attempts else f"{outcome.duration_s * 1000:.0f} ms"
    tries = f"{outcome.attempts} attempts" if outcome.attempts > 1 else ""
    repairs = f"repaired: {'; '.join(outcome.repairs)}" if outcome.repairs else ""
    notes = "; ".join(outcome.notes)
    return ", ".join(part for part in (kind, tries, ran, repairs, notes) if part)


def shortened(text: str) -> str:
    """The text without blank lines, or its beginning and its length."""
    lines = [line for line in text[:MAX_SHOWN].split("\n") if line.strip()]
    is_whole = len(text) <= MAX_SHOWN and len(lines) <= MAX_LINES
    shown = "\n".join(lines[:MAX_LINES])
    return shown if is_whole else f"{shown} … ({sized(len(text))} in all)"


def sized(characters: int) -> str:
    """A number of characters in words."""
    return f"{characters:,} characters"


def print_json(value: object, *, indent: int | None = None) -> None:
    """JSON, on one line without an indent; escaped where the output cannot carry every character."""
    can_all = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    print(json.dumps(value, ensure_ascii=not can_all, indent=indent, default=str), flush=True)
