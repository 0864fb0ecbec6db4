"""The argument schemas of a server's tools, built when a call needs them.

What checks arguments takes half a millisecond to build and tens of kilobytes to keep, and of a server's thousands of
tools a run calls a few. What has to be known at once is whether a schema can be used, because a tool whose schema
cannot be is not offered. Of one that is valid, small and plain it is known without building: no reference in it leads
nowhere, no pattern is beyond an engine, and nothing is asked twice. Every other schema is built at once, as it says
itself what is wrong with it. What would change our minds: schemas that are built as fast as they are read.
"""

from __future__ import annotations

import copy
import functools
import importlib
import re
from collections.abc import Mapping
from typing import Any, Final

from typing_extensions import override

from surehand.shapes import is_object
from surehand.spec import ArgumentSchema
from surehand.spec.json_schema import JsonSchema

__all__ = ["declared_schema", "is_plain"]

_MAX_BRACKETS: Final = 100
"""The most objects and lists in a plain declaration: it is no deeper than this, and asks for no more."""
_SPECIAL: Final = re.compile(r'"(?:\$(?!schema")|pattern|unevaluated)')
"""The beginnings of keywords that make a schema other than plain, wherever they stand."""
_LATER: Final = frozenset({"names", "required", "extras", "directions", "other_direction"})


def declared_schema(declared: object, written: str, *, tool: str) -> ArgumentSchema:
    """The schema as a server declares it.

    Args:
        declared: The schema, of any type; it must not change afterwards.
        written: JSON text that it is in.
        tool: The tool it belongs to, for errors.

    Raises:
        MissingExtraError: The ``jsonschema`` extra is not installed.
        ToolDefinitionError: It cannot be used.
    """
    if is_object(declared) and is_plain(declared, written):
        return _LaterSchema(declared, tool=tool)
    return JsonSchema(declared, tool=tool)  # type: ignore[arg-type]  # which says so of what is no schema


def is_plain(schema: Mapping[str, Any], written: str) -> bool:
    """Whether it is sure, without building it, that arguments can be checked by a schema.

    Args:
        schema: The schema.
        written: JSON text that it is in.
    """
    is_small = written.count("{") + written.count("[") <= _MAX_BRACKETS
    return is_small and schema.get("type", "object") == "object" and not _SPECIAL.search(written) and _is_valid(schema)


def _is_valid(schema: Mapping[str, Any]) -> bool:
    try:
        return bool(importlib.import_module("jsonschema_rs").meta.is_valid(schema))
    except Exception:  # noqa: BLE001 - whatever is wrong with it: it is built, and that says so
        return False


class _LaterSchema(ArgumentSchema):
    """A plain schema, built by its first use; two threads may both build it, to the same end."""

    is_exact = True

    def __init__(self, schema: Mapping[str, Any], *, tool: str) -> None:
        self._declared = schema
        self._tool = tool

    @override
    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return self._built.validate(arguments)

    @override
    def dump_json(self, arguments: Mapping[str, Any]) -> str:
        return self._built.dump_json(arguments)

    @functools.cached_property
    def _built(self) -> JsonSchema:
        return JsonSchema(self._declared, tool=self._tool)

    def __getattr__(self, name: str) -> Any:
        if name == "json_schema":  # a copy, for a reader may change it
            made = {"type": "object", **copy.deepcopy(dict(self._declared))}
        elif name in _LATER:
            made = getattr(self._built, name)
        else:
            raise AttributeError(name)
        setattr(self, name, made)
        return made
