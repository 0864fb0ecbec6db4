"""A JSON Schema as its author wrote it, made into the one that is checked: the same meaning, in the validator's words.

Three things are put differently. Patterns lose what only JavaScript's old mode allows. ``nullable: true``, which
OpenAPI 3.0 has in place of a type, becomes that type. And formats that are not checked are left out, so that it does
not depend on the validator's version what is accepted; ``password``, which is none, is what ``writeOnly`` is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from surehand.shapes import is_array, is_object
from surehand.spec.json_places import parts_of
from surehand.spec.patterns import readable

__all__ = ["FORMATS", "adapted"]

FORMATS: Final = frozenset({"date", "date-time", "email", "ipv4", "ipv6", "uuid"})
"""The formats that are checked."""

_OF_THE_WHOLE: Final = ("$schema", "$id", "$anchor", "$defs", "definitions", "default", "writeOnly", "title")
_COMBINED: Final = ("$ref", "allOf", "anyOf", "oneOf", "not", "if", "const")


def adapted(schema: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The schema to check by, and its patterns: as they are read -> as they were written.

    Args:
        schema: The whole schema; it stays as it is.
    """
    written: dict[str, str] = {}
    return _adapted(schema, written), written


def _adapted(schema: Any, written: dict[str, str]) -> Any:
    if not is_object(schema):
        return schema
    found = dict(schema)
    for part in parts_of(schema):
        inner = _adapted(part.schema, written)
        if part.key is None:
            found[part.keyword] = inner
        else:
            holder: Any = found[part.keyword]
            if holder is schema[part.keyword]:
                holder = found[part.keyword] = dict(holder) if is_object(holder) else list(holder)
            holder[part.key] = inner
    _read_patterns(found, written)
    if isinstance(name := found.get("format"), str) and name not in FORMATS:
        del found["format"]
        if name == "password":
            found["writeOnly"] = True
    return _with_null(found) if found.get("nullable") is True else found


def _read_patterns(schema: dict[str, Any], written: dict[str, str]) -> None:
    if isinstance(pattern := schema.get("pattern"), str):
        schema["pattern"] = _read(pattern, written)
    if is_object(patterns := schema.get("patternProperties")):
        schema["patternProperties"] = {_read(pattern, written): part for pattern, part in patterns.items()}


def _read(pattern: str, written: dict[str, str]) -> str:
    read = readable(pattern)
    written[read] = pattern
    return read


def _with_null(schema: dict[str, Any]) -> dict[str, Any]:
    if any(keyword in schema for keyword in _COMBINED):
        own: dict[str, Any] = {key: schema.pop(key) for key in _OF_THE_WHOLE if key in schema}
        del schema["nullable"]
        return {**own, "anyOf": [schema, {"type": "null"}]}
    kinds = schema.get("type")
    if isinstance(kinds, str) and kinds != "null":
        schema["type"] = [kinds, "null"]
    elif is_array(kinds) and "null" not in kinds:
        schema["type"] = [*kinds, "null"]
    if is_array(values := schema.get("enum")) and None not in values:
        schema["enum"] = [*values, None]
    return schema
