"""What a provider is told about a tool.

Pure functions of a tool's name, description, schema and options. Nothing of what they return is shared with the tool:
the schema that the provider gets may be changed, simplified or made strict, and the tool goes on checking by its own.
"""

from __future__ import annotations

import copy
import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, Final

from surehand.errors import ToolDefinitionError
from surehand.spec import ToolSpec
from surehand.tools.strict import ANTHROPIC, OPENAI, strict_schema

__all__ = ["export_names", "original_names", "to_anthropic", "to_mcp", "to_openai", "wire_name"]

_LEGAL: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ILLEGAL_RUN: Final = re.compile(r"[^a-zA-Z0-9_-]+")
_MAX_LENGTH: Final = 64
_MARK_LENGTH: Final = 8
"""Hexadecimal digits that tell apart names which had to be cut."""


def to_openai(spec: ToolSpec, *, strict: bool = False, name: str | None = None) -> dict[str, Any]:
    """The tool as an entry of ``tools`` in a chat-completions request.

    Args:
        spec: The tool.
        strict: Whether the provider is to hold the model to the schema. Every property is then required, and one that
            may be left out takes null, which is read as left out.
        name: The name on the wire; None for ``wire_name(spec.name)``.

    Raises:
        ToolDefinitionError: The schema holds a construct that the strict form cannot carry.
    """
    function: dict[str, Any] = {"name": name or wire_name(spec.name)}
    if spec.description:
        function["description"] = spec.description
    if strict:
        function["strict"] = True
        function["parameters"] = strict_schema(spec.schema.json_schema, OPENAI, tool=spec.name)
    else:
        function["parameters"] = _schema_of(spec)
    return {"type": "function", "function": function}


def to_anthropic(spec: ToolSpec, *, strict: bool = False, name: str | None = None) -> dict[str, Any]:
    """The tool as an entry of ``tools`` in a messages request.

    Args:
        spec: The tool.
        strict: Whether the provider is to hold the model to the schema; properties may still be left out.
        name: The name on the wire; None for ``wire_name(spec.name)``.

    Raises:
        ToolDefinitionError: The schema holds a construct that the strict form cannot carry.
    """
    tool: dict[str, Any] = {"name": name or wire_name(spec.name)}
    if spec.description:
        tool["description"] = spec.description
    if strict:
        tool["strict"] = True
        tool["input_schema"] = strict_schema(spec.schema.json_schema, ANTHROPIC, tool=spec.name)
    else:
        tool["input_schema"] = _schema_of(spec)
    return tool


def to_mcp(spec: ToolSpec, *, name: str | None = None) -> dict[str, Any]:
    """The tool as an entry of the result of ``tools/list``, with the hints that its options give."""
    tool: dict[str, Any] = {"name": name or wire_name(spec.name)}
    if spec.description:
        tool["description"] = spec.description
    tool["inputSchema"] = _schema_of(spec)
    hints = {
        "readOnlyHint": spec.options.read_only,
        "destructiveHint": spec.options.destructive,
        "idempotentHint": spec.options.idempotent,
    }
    annotations = {hint: value for hint, value in hints.items() if isinstance(value, bool)}
    return {**tool, "annotations": annotations} if annotations else tool


def _schema_of(spec: ToolSpec) -> dict[str, Any]:
    """A copy of what the model sees, with the two keywords that providers insist on."""
    schema = copy.deepcopy(dict(spec.schema.json_schema))
    schema.setdefault("type", "object")
    schema.setdefault("properties", {})
    return schema


# -- names -----------------------------------------------------------------------------------------------------------


def wire_name(name: str) -> str:
    """The name in the form that every provider takes: 1 to 64 of the characters a-z, A-Z, 0-9, ``_`` and ``-``.

    A name of that form stays as it is. Accents are dropped, other scripts are written by code point (``查询`` becomes
    ``u67e5u8be2``), and what is left of illegal characters becomes one ``_`` each run. The same name always gives the
    same result.
    """
    if _LEGAL.fullmatch(name):
        return name
    plain = "".join(map(_plain_letters, unicodedata.normalize("NFKD", name)))
    wire = _ILLEGAL_RUN.sub("_", plain).strip("_")
    if not wire:
        return f"tool_{_mark(name)}"
    return wire if len(wire) <= _MAX_LENGTH else f"{wire[: _MAX_LENGTH - _MARK_LENGTH - 1]}_{_mark(name)}"


def _plain_letters(character: str) -> str:
    if character.isascii():
        return character
    if unicodedata.combining(character):
        return ""
    return f"u{ord(character):x}" if character.isalnum() else "_"


def _mark(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:_MARK_LENGTH]


def export_names(names: Iterable[str]) -> dict[str, str]:
    """Each name -> the name on the wire, for tools that are offered together.

    Raises:
        ToolDefinitionError: Two names would be the same on the wire.
    """
    wires: dict[str, str] = {}
    taken: dict[str, str] = {}
    for name in names:
        wire = wire_name(name)
        other = taken.setdefault(wire, name)
        if other != name:
            raise ToolDefinitionError(
                tool=name,
                problem=f"it and the tool {other!r} would both be called {wire!r} by the provider",
                remedy="Rename one of them.",
            )
        wires[name] = wire
    return wires


def original_names(wires: Mapping[str, str]) -> dict[str, str]:
    """The way back: the name on the wire -> the tool's own, for the result of ``export_names``."""
    return {wire: name for name, wire in wires.items()}
