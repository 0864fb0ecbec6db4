"""Foreign JSON, whose shape nobody promises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic_core import to_jsonable_python

from surehand.errors import shown

__all__ = ["items_of", "json_form", "mapping_of"]

_NOTHING: Mapping[str, Any] = {}
_MAX_DEPTH: Final = 200
_PREVIEW: Final = 200


def mapping_of(value: object) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else _NOTHING


def items_of(value: object) -> list[Any]:
    """The items of a list or tuple; of anything else none."""
    return list(cast("list[Any]", value)) if isinstance(value, list | tuple) else []


def json_form(value: object) -> Any:
    """The value as JSON, or as what comes nearest; a copy that nobody else holds. Never raises."""
    try:
        return to_jsonable_python(value, fallback=shown, bytes_mode="base64", serialize_unknown=True)
    except (ValueError, RecursionError):  # it holds itself, is nested beyond reason, or has keys that are no Unicode
        return _json_form(value, 0)


def _json_form(value: object, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        return shown(value, _PREVIEW)
    if isinstance(value, Mapping):
        fields = mapping_of(cast("object", value))
        return {key if type(key) is str else shown(key): _json_form(item, depth + 1) for key, item in fields.items()}
    if isinstance(value, list | tuple):
        return [_json_form(item, depth + 1) for item in items_of(cast("object", value))]
    return value if isinstance(value, str) else _leaf(value)


def _leaf(value: object) -> Any:
    try:
        return to_jsonable_python(value, fallback=shown, bytes_mode="base64", serialize_unknown=True)
    except (ValueError, RecursionError):
        return shown(value, _PREVIEW)
