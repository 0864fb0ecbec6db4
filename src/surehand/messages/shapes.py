"""Foreign JSON, whose shape nobody promises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

__all__ = ["items_of", "mapping_of"]

_NOTHING: Mapping[str, Any] = {}


def mapping_of(value: object) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else _NOTHING


def items_of(value: object) -> list[Any]:
    """The items of a list or tuple; of anything else none."""
    return list(cast("list[Any]", value)) if isinstance(value, list | tuple) else []
