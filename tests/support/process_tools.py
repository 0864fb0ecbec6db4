"""Tools that tests run in processes of their own; apart from the plain functions, whose module is quick to import."""

from __future__ import annotations

from surehand import tool

__all__ = ["double"]


@tool
def double(number: int) -> int:
    """Double a number."""
    return 2 * number
