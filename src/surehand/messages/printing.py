"""Messages as people read them in a terminal."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping
from typing import Final, cast

__all__ = ["brief", "call_lines", "title_lines"]

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


def brief(value: object) -> str:
    """The start of plain data, of anything else the type: a value may be huge, and its own repr may take for ever."""
    return _BRIEF.repr(value)


class _Brief(reprlib.Repr):
    """Writes the first few items of each level, and no instance of any class that Python does not have itself."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxstring = self.maxlong = self.maxother = WIDTH

    def repr1(self, x: object, level: int) -> str:
        """Written by its type; whatever goes wrong meanwhile, the type's name is left."""
        try:
            return super().repr1(x, level) if type(x) in _WRITTEN else self.repr_instance(x, level)
        except Exception:  # noqa: BLE001 - an integer of more digits than are converted, a container that changes
            return self.repr_instance(x, level)

    def repr_instance(self, x: object, level: int) -> str:
        """What has no way of its own to be written."""
        del level
        return repr(x) if type(x) in _SHORT else f"<{type(x).__name__}>"


_SHORT: Final = frozenset({float, complex, bool, type(None)})
_WRITTEN: Final = _SHORT | {str, int, list, tuple, dict, set, frozenset}
_BRIEF: Final = _Brief()
