"""Which classes the values of an annotation may be of."""

from __future__ import annotations

from typing import Any

__all__ = ["types_in"]


def types_in(annotation: Any) -> set[type]:
    """The enums, dataclasses, pydantic models and named tuples that an annotation names, however deep.

    Looks into generics, unions, ``Annotated``, the fields of these classes and of TypedDicts, recursive ones included.
    Never raises: what cannot be resolved is left out, and refused by the codec when such a value is written.
    """
    raise NotImplementedError
