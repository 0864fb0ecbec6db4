"""What goes wrong while a text is read, and the questions that every reader of a stored value asks."""

from __future__ import annotations

from typing import Any

from surehand.errors import shown
from surehand.shapes import is_array, is_object

__all__ = ["Damaged", "list_of", "object_of", "text_of"]


class Damaged(Exception):
    """A text that cannot be read.

    Args:
        problem: What is wrong, as a sentence without a full stop.
        remedy: What to do; left out where it is what there always is to do with a damaged text.
    """

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy


def text_of(stored: object) -> str:
    """The text that this has to be."""
    if not isinstance(stored, str):
        raise _mistaken("a text", stored)
    return stored


def list_of(stored: object, length: int | None = None) -> list[Any]:
    """The list, of so many items, that this has to be."""
    if not is_array(stored) or (length is not None and len(stored) != length):
        raise _mistaken("a list" if length is None else f"a list of {length}", stored)
    return stored


def object_of(stored: object) -> dict[str, Any]:
    """The object that this has to be."""
    if not is_object(stored):
        raise _mistaken("an object", stored)
    return dict(stored)


def _mistaken(expected: str, stored: object) -> Damaged:
    return Damaged(f"the text is damaged: there should be {expected} where there is {shown(stored)}")
