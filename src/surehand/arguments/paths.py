"""JSON paths."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["json_path"]

_MAX_KEY = 60


def json_path(steps: Iterable[object]) -> str:
    """``$.items[2].qty``; keys that are no identifiers stand in brackets, as in ``$['a b']``."""
    return "$" + "".join(_step(step) for step in steps)


def _step(step: object) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if isinstance(step, str) and step.isidentifier():
        return f".{step}" if len(step) <= _MAX_KEY else f".{step[: _MAX_KEY - 1]}…"
    text = repr(step)
    return f"[{text if len(text) <= _MAX_KEY else text[: _MAX_KEY - 1] + '…'}]"
