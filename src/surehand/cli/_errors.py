"""What a command says when it cannot do what it was asked."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import typer

from surehand.errors import ModelError, UsageError

__all__ = ["FAILED", "USAGE", "CommandError", "one_line_errors"]

FAILED: Final = 1
"""Exit code: the command was carried out, and what it carried out failed."""
USAGE: Final = 2
"""Exit code: the command could not be carried out."""


class CommandError(Exception):
    """A command was given something it cannot work with."""

    def __init__(self, *, problem: str, remedy: str) -> None:
        super().__init__(f"{problem}. {remedy}")


@contextmanager
def one_line_errors() -> Generator[None]:
    """Turn an error of usage, or of a model that cannot be asked, into one line and exit code 2."""
    try:
        yield
    except (CommandError, UsageError, ModelError) as error:
        print(f"surehand: {' '.join(str(error).split())}", file=sys.stderr)
        raise typer.Exit(USAGE) from error
