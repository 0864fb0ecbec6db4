"""Messages as people read them in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, cast

__all__ = ["call_lines", "title_lines"]

WIDTH: Final = 80
"""Columns of a title line."""


def title_lines(kind: str, name: str | None) -> Iterator[str]:
    """A line of ``=`` with the kind of message in its middle, and the name if there is one."""
    words = f" {kind.title()} Message "
    left = (WIDTH - len(words)) // 2
    yield f"{'=' * left}{words}{'=' * (WIDTH - len(words) - left)}"
    if name:
        yield f"Name: {name}"


def call_lines(name: str, call_id: str, args: object, error: str | None) -> Iterator[str]:
    """A call, its fault if it has one, and each argument on a line of its own."""
    yield f"  {name} ({call_id})"
    if error is not None:
        yield f"  Error: {error}"
    yield "  Args:"
    if isinstance(args, Mapping):
        for key, value in cast("Mapping[str, object]", args).items():
            yield f"    {key}: {value}"
    else:
        yield f"    {args}"
