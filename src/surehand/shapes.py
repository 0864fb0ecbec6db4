"""Questions about foreign JSON, asked so that type checkers understand the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

__all__ = ["is_array", "is_object", "is_pair"]


def is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether the value is a mapping."""
    return isinstance(value, Mapping)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Whether the value is a list."""
    return isinstance(value, list)


def is_pair(value: object) -> TypeGuard[tuple[Any, Any]]:
    """Whether the value is a tuple of two."""
    return isinstance(value, tuple) and len(value) == 2  # noqa: PLR2004 - a pair  # pyright: ignore[reportUnknownArgumentType] - only its length counts
