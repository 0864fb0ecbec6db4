"""JSON paths."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from surehand.wording import clipped

__all__ = ["json_path"]

_MAX_KEY: Final = 60
"""The most characters of one key; a model may make up a long one."""


def json_path(steps: Iterable[object]) -> str:
    """``$.items[2].qty``; keys that are no identifiers stand in brackets, as in ``$['a b']``."""
    return "$" + "".join(_step(step) for step in steps)


def _step(step: object) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if isinstance(step, str) and step.isidentifier():
        return f".{clipped(step, _MAX_KEY)}"
    return f"[{clipped(repr(step), _MAX_KEY)}]"
