"""Tools whose processes die; in a module of their own, where a process finds them quickly."""

from __future__ import annotations

from surehand import tool
from surehand.testing import faults

__all__ = ["resize", "rotate", "sharpen"]


@tool(isolation="process")
def resize(width: int) -> int:
    """Resize a picture."""
    return width


@tool(isolation="process")
async def rotate(degrees: int) -> int:
    """Rotate a picture."""
    return degrees


@tool(isolation="process")
def sharpen(times: int) -> int:
    """Sharpen a picture."""
    return times


resize = faults.die().on(resize)
rotate = faults.die("exit").on(rotate)
sharpen = faults.hang().on(sharpen)
