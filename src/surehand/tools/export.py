"""What a provider is told about a tool.

Pure functions of a tool's name, description, schema and options. Nothing of what they return is shared with the tool:
the schema that the provider gets may be changed, simplified or made strict, and the tool goes on checking by its own.
"""

from __future__ import annotations

import copy
from typing import Any, Literal

from surehand.spec import ToolSpec, export_names, original_names, wire_name
from surehand.tools.strict import ANTHROPIC, OPENAI, strict_schema

__all__ = [
    "export_names",
    "original_names",
    "to_anthropic",
    "to_bedrock",
    "to_gemini",
    "to_mcp",
    "to_openai",
    "wire_name",
]


def to_openai(
    spec: ToolSpec, *, strict: bool = False, name: str | None = None, api: Literal["chat", "responses"] = "chat"
) -> dict[str, Any]:
    """The tool as an entry of ``tools`` in a chat-completions or a Responses request.

    Args:
        spec: The tool.
        strict: Whether the provider is to hold the model to the schema. Every property is then required, and one that
            may be left out takes null, which is read as left out.
        name: The name on the wire; None for ``wire_name(spec.name)``.
        api: Whose form: the Responses API has no ``function`` inside, and is told ``strict`` in any case, because it
            makes a tool strict that says nothing.

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
    if api == "responses":
        return {"type": "function", **function, "strict": strict}
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


def to_gemini(
    spec: ToolSpec,
    *,
    name: str | None = None,
    field: Literal["parametersJsonSchema", "parameters"] = "parametersJsonSchema",
) -> dict[str, Any]:
    """The tool as one of the ``functionDeclarations`` of a Gemini request.

    Args:
        spec: The tool.
        name: The name on the wire; None for ``wire_name(spec.name)``.
        field: Where the schema goes: as it is, or, for servers that do not know that field, in the part of OpenAPI
            that ``parameters`` takes.
    """
    declaration: dict[str, Any] = {"name": name or wire_name(spec.name), "description": spec.description}
    return {**declaration, field: _schema_of(spec)}


def to_bedrock(spec: ToolSpec, *, name: str | None = None) -> dict[str, Any]:
    """The tool as an entry of ``toolConfig.tools`` in a Converse request of Amazon Bedrock."""
    tool: dict[str, Any] = {"name": name or wire_name(spec.name)}
    if spec.description:
        tool["description"] = spec.description
    return {"toolSpec": {**tool, "inputSchema": {"json": _schema_of(spec)}}}


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
