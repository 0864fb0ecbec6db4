"""A tool in a module whose annotations are all text."""

from __future__ import annotations

from typing import Literal, Optional


def postponed_tool(x: Optional[str], k: Literal["a"]) -> tuple[str | None, str]:  # noqa: UP045 - the spelling users have
    return x, k
