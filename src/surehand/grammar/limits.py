"""How much text the grammar takes; what is larger is refused by name."""

from __future__ import annotations

from typing import Final

__all__ = ["MAX_DEPTH", "MAX_DIGITS", "MAX_LENGTH"]

MAX_LENGTH: Final = 1_000_000
"""Characters of one text, and values of one mapping. A model's longest honest call is a file of some 200 KB."""

MAX_DEPTH: Final = 128
"""Brackets that may be open at once. Real calls stay under ten; past about a thousand Python's own tools fail."""

MAX_DIGITS: Final = 4_300
"""Characters of one number: Python's own default bound, because turning digits into an integer is quadratic."""
