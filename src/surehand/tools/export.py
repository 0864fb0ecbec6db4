"""What a provider is told about a tool.

Pure functions of a tool's name, description, schema and options. Nothing of what they return is shared with the tool:
what a provider would refuse is adapted for it or refused with words, and the tool goes on checking by its own schema.
``adaptations`` lists what is told otherwise. Ollama, Cohere and most other servers take OpenAI's chat form.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from surehand.spec import ToolSpec, export_names, original_names, wire_name
from surehand.tools.forms import Adaptation, Notes, gemini_parameters, modernised, plain_root, with_items
from surehand.tools.strict import ANTHROPIC, OPENAI, strict_schema

__all__ = [
    "Adaptation",
    "Form",
    "GeminiField",
    "OpenAIApi",
    "adaptations",
    "export_names",
    "original_names",
    "to_anthropic",
    "to_bedrock",
    "to_gemini",
    "to_mcp",
    "to_openai",
    "wire_name",
]

OpenAIApi: TypeAlias = Literal["chat", "responses"]
"""Which of OpenAI's APIs."""
GeminiField: TypeAlias = Literal["parametersJsonSchema", "parameters"]
"""Where Gemini is given the schema."""
Form: TypeAlias = Literal[
    "openai", "openai-strict", "anthropic", "anthropic-strict", "gemini", "gemini-parameters", "bedrock", "mcp"
]
"""Whose form of a schema; those of OpenAI's two APIs are the same."""

_FORMS: Final[Mapping[Form, str]] = {
    "openai": "the form for OpenAI",
    "openai-strict": "the strict form for OpenAI",
    "anthropic": "the form for Anthropic",
    "anthropic-strict": "the strict form for Anthropic",
    "gemini": "the form for Gemini",
    "gemini-parameters": "the field parameters of Gemini",
    "bedrock": "the form for Bedrock",
    "mcp": "the form for MCP",
}
_WAYS_OUT: Final[Mapping[Form, str]] = {
    "openai-strict": ", or export the tool without strict=True",
    "anthropic-strict": ", or export the tool without strict=True",
    "gemini-parameters": ", or use the field parametersJsonSchema",
}
_ARGUMENT_NAME: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
"""What Anthropic takes as the name of an argument; names further inside are free."""


def to_openai(
    spec: ToolSpec, *, strict: bool = False, name: str | None = None, api: OpenAIApi = "chat"
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
        ToolDefinitionError: The schema holds a construct that the form cannot carry.
    """
    function = _named(spec, name)
    if strict:
        function["strict"] = True
    function["parameters"] = _schema(spec, "openai-strict" if strict else "openai")[0]
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
        ToolDefinitionError: The schema holds a construct that the form cannot carry, or an argument has a name that
            Anthropic refuses.
    """
    tool = _named(spec, name)
    if strict:
        tool["strict"] = True
    tool["input_schema"] = _schema(spec, "anthropic-strict" if strict else "anthropic")[0]
    return tool


def to_gemini(
    spec: ToolSpec, *, name: str | None = None, field: GeminiField = "parametersJsonSchema"
) -> dict[str, Any]:
    """The tool as one of the ``functionDeclarations`` of a Gemini request.

    Args:
        spec: The tool.
        name: The name on the wire; None for ``wire_name(spec.name)``.
        field: Where the schema goes: as it is, or, for servers that do not know that field, in the part of OpenAPI
            that ``parameters`` takes. A tool without arguments has no ``parameters``.

    Raises:
        ToolDefinitionError: The schema holds a construct that ``parameters`` cannot carry.
    """
    declaration: dict[str, Any] = {"name": name or wire_name(spec.name), "description": spec.description}
    schema, _ = _schema(spec, "gemini" if field == "parametersJsonSchema" else "gemini-parameters")
    return declaration if schema is None else {**declaration, field: schema}


def to_bedrock(spec: ToolSpec, *, name: str | None = None) -> dict[str, Any]:
    """The tool as an entry of ``toolConfig.tools`` in a Converse request of Amazon Bedrock.

    Raises:
        ToolDefinitionError: An argument has a name that the models of Anthropic there refuse.
    """
    return {"toolSpec": {**_named(spec, name), "inputSchema": {"json": _schema(spec, "bedrock")[0]}}}


def to_mcp(
    spec: ToolSpec, *, name: str | None = None, title: str = "", output_schema: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The tool as an entry of the result of ``tools/list``, with the hints that its options give.

    Args:
        spec: The tool.
        name: The name on the wire; None for ``wire_name(spec.name)``.
        title: What people are shown in the name's place; empty for nothing.
        output_schema: What the structured result looks like, which a server that says so has to give; None for nothing.
    """
    tool: dict[str, Any] = {"name": name or wire_name(spec.name)}
    if title:
        tool["title"] = title
    if spec.description:
        tool["description"] = spec.description
    tool["inputSchema"] = _schema(spec, "mcp")[0]
    if output_schema is not None:
        tool["outputSchema"] = copy.deepcopy(dict(output_schema))
    hints = {
        "readOnlyHint": spec.options.read_only,
        "destructiveHint": spec.options.destructive,
        "idempotentHint": spec.options.idempotent,
    }
    annotations = {hint: value for hint, value in hints.items() if isinstance(value, bool)}
    return {**tool, "annotations": annotations} if annotations else tool


def adaptations(spec: ToolSpec, form: Form) -> tuple[Adaptation, ...]:
    """What a form tells otherwise than the tool's own schema says it, in the order of the schema.

    Raises:
        ToolDefinitionError: The schema holds a construct that the form cannot carry.
    """
    return _schema(spec, form)[1].adaptations


def _named(spec: ToolSpec, name: str | None) -> dict[str, Any]:
    named = {"name": name or wire_name(spec.name)}
    return {**named, "description": spec.description} if spec.description else named


def _schema(spec: ToolSpec, form: Form) -> tuple[dict[str, Any] | None, Notes]:
    """The schema of a tool in a form, and what was adapted; a copy that may be changed."""
    notes = Notes(tool=spec.name, form=_FORMS[form], way_out=_WAYS_OUT.get(form, ""))
    if form == "mcp":  # its readers are programs, and know all of JSON Schema
        schema = copy.deepcopy(dict(spec.schema.json_schema))
        return {**schema, "type": "object", "properties": schema.get("properties", {})}, notes
    root = plain_root(modernised(spec.schema.json_schema), notes)
    match form:
        case "openai":
            return with_items(root, notes), notes
        case "openai-strict":
            return strict_schema(root, OPENAI, notes), notes
        case "anthropic-strict":
            _check_argument_names(root, notes)
            return strict_schema(root, ANTHROPIC, notes), notes
        case "gemini-parameters":
            return gemini_parameters(root, notes), notes
        case "anthropic" | "bedrock":
            _check_argument_names(root, notes)
        case "gemini":
            pass
    return root, notes


def _check_argument_names(root: Mapping[str, Any], notes: Notes) -> None:
    for name in root["properties"]:
        if not _ARGUMENT_NAME.fullmatch(name):
            raise notes.refusal(
                "$", f"has an argument named {name!r}", "Give it an alias of at most 64 letters a-z, digits, _, . and -"
            )
