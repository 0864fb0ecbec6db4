"""An option that nobody gave."""

from __future__ import annotations

from typing import Final, Literal

__all__ = ["UNSET", "Unset"]


class Unset:
    """The type of UNSET."""

    def __repr__(self) -> str:
        return "UNSET"

    def __bool__(self) -> Literal[False]:
        return False


UNSET: Final = Unset()
"""An option that was not given, where None has a meaning of its own."""
