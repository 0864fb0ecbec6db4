"""Questions about values of JSON, asked so that type checkers understand the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

__all__ = ["is_array", "is_object"]


def is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether the value is a mapping."""
    return isinstance(value, Mapping)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Whether the value is a list."""
    return isinstance(value, list)
