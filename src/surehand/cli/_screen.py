"""What is put on the screen: labelled lines that wrap to the terminal's width, or JSON lines."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from io import TextIOWrapper
from typing import Any, Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from surehand import ToolMessage
from surehand.outcomes import Outcome

__all__ = ["Screen", "did", "print_json", "shortened", "sized"]

LABEL_WIDTH: Final = 14
MAX_SHOWN: Final = 300
"""Characters of a text that are put on the screen; what the model is given is not shortened by this."""


class Screen:
    """Prints labelled lines; without a terminal there is no colour and the width is 80."""

    def __init__(self) -> None:
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # an ASCII terminal shows a question mark instead of failing
        self._console = Console(highlight=False)

    def title(self, text: str, *, note: str = "") -> None:
        """A line that begins something."""
        self._console.print()
        self._console.print(f"[bold]{escape(text)}[/bold]{f'  [dim]{escape(note)}[/dim]' if note else ''}")

    def line(self, text: str = "", *, style: str = "") -> None:
        """A line of prose."""
        self._console.print(Text(text, style=style))

    def labelled(self, label: str, text: str, *, style: str = "") -> None:
        """A label and a text that wraps beside it."""
        grid = Table.grid(padding=(0, 1))
        grid.add_column(width=LABEL_WIDTH, no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row(Text(f"  {label}", style="dim"), Text(text, style=style))
        self._console.print(grid)

    def call(self, *, sent: str, answer: ToolMessage) -> None:
        """The three lines of a call: what came, what was done, what goes back."""
        style = "green" if answer.status == "success" else "yellow"
        self.labelled("model sends", shortened(sent))
        self.labelled("Surehand", did(answer.outcome), style=style)
        self.labelled("model is told", shortened(answer.text))


def did(outcome: Outcome | None) -> str:
    """What was done with a call, in a few words."""
    if outcome is None:
        return "answered"
    kind = str(outcome.kind) if outcome.kind is not None else "success"
    ran = "nothing ran" if not outcome.attempts else f"{outcome.duration_s * 1000:.0f} ms"
    tries = f"{outcome.attempts} attempts" if outcome.attempts > 1 else ""
    repairs = f"repaired: {'; '.join(outcome.repairs)}" if outcome.repairs else ""
    notes = "; ".join(outcome.notes)
    return " · ".join(part for part in (kind, tries, ran, repairs, notes) if part)


def shortened(text: str, limit: int = MAX_SHOWN) -> str:
    """The text, or its beginning and its length."""
    return text if len(text) <= limit else f"{text[:limit]} … ({sized(len(text))} in all)"


def sized(characters: int) -> str:
    """A number of characters in words."""
    return f"{characters:,} characters"


def print_json(value: Mapping[str, Any]) -> None:
    """One line of JSON."""
    print(json.dumps(value, ensure_ascii=False, default=str), flush=True)
