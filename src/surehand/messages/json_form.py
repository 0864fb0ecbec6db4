"""The JSON form of values that may have none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic_core import to_jsonable_python

from surehand.errors import shown
from surehand.shapes import items_of, mapping_of

__all__ = ["json_form"]

_MAX_DEPTH: Final = 200
"""Containers inside containers, beyond which a value is only shown."""
_PREVIEW: Final = 200
"""Characters of a value that is only shown."""


def json_form(value: object) -> Any:
    """The value as JSON, or as what comes nearest; a copy that nobody else holds. Never raises."""
    try:
        return _converted(value)
    except (ValueError, RecursionError):  # it holds itself, is nested beyond reason, or has keys that are no Unicode
        return _json_form(value, set())


def _converted(value: object) -> Any:
    return to_jsonable_python(value, fallback=shown, bytes_mode="base64", serialize_unknown=True)


def _json_form(value: object, outer: set[int]) -> Any:
    """The long way, part by part, so that one bad spot does not cost the rest."""
    place = id(value)
    if len(outer) > _MAX_DEPTH or place in outer:
        return shown(value, _PREVIEW)
    if not isinstance(value, Mapping | list | tuple):
        return value if isinstance(value, str) else _leaf(value)
    outer.add(place)
    form: Any
    if isinstance(value, Mapping):
        fields = mapping_of(cast("object", value))
        form = {key if type(key) is str else shown(key): _json_form(item, outer) for key, item in fields.items()}
    else:
        form = [_json_form(item, outer) for item in items_of(cast("object", value))]
    outer.discard(place)
    return form


def _leaf(value: object) -> Any:
    try:
        return _converted(value)
    except (ValueError, RecursionError):
        return shown(value, _PREVIEW)
