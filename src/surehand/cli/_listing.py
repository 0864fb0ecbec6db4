"""What ``surehand tools`` prints: tools for people, or their exports for programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from functools import partial
from typing import Any, Final, cast

from surehand import BaseTool
from surehand.cli._screen import Screen

__all__ = ["SchemaForm", "exported", "show_tools"]


class SchemaForm(StrEnum):
    """Whose form of a tool definition."""

    OPENAI = "openai"
    RESPONSES = "responses"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"
    BEDROCK = "bedrock"
    MCP = "mcp"
    JSON = "json"


_EXPORTS: Final[Mapping[SchemaForm, Callable[[BaseTool], dict[str, Any]]]] = {
    SchemaForm.OPENAI: BaseTool.to_openai,
    SchemaForm.RESPONSES: partial(BaseTool.to_openai, api="responses"),
    SchemaForm.ANTHROPIC: BaseTool.to_anthropic,
    SchemaForm.GEMINI: BaseTool.to_gemini,
    SchemaForm.BEDROCK: BaseTool.to_bedrock,
    SchemaForm.MCP: BaseTool.to_mcp,
}


def exported(tools: Sequence[BaseTool], form: SchemaForm) -> Any:
    """The tools in a provider's form, as JSON data; ``json`` is name -> plain JSON Schema of the arguments."""
    if form is SchemaForm.JSON:
        return {tool.name: tool.spec.schema.json_schema for tool in tools}
    return [_EXPORTS[form](tool) for tool in tools]


def show_tools(tools: Sequence[BaseTool], screen: Screen) -> None:
    """Name, description, arguments and options of each tool."""
    specs = [tool.spec for tool in tools]  # all first: a tool that cannot be built is an error before any output
    for tool, spec in zip(tools, specs, strict=True):
        screen.title(spec.name)
        screen.labelled("description", spec.description or "none: a model will not know what it is for")
        arguments = _arguments(spec.schema.json_schema)
        for place, argument in enumerate(arguments or ["none"]):
            screen.labelled("" if place else "arguments", argument)
        options = _options(tool)
        if options:
            screen.labelled("options", ", ".join(options))
        for advice in _advice(spec.schema.json_schema):
            screen.labelled("advice", advice, style="yellow")


def _arguments(schema: Mapping[str, Any]) -> list[str]:
    properties = cast("Mapping[str, Mapping[str, Any]]", schema.get("properties", {}))
    required = cast("Sequence[str]", schema.get("required", ()))
    return [_argument(name, declared, is_required=name in required) for name, declared in properties.items()]


def _argument(name: str, declared: Mapping[str, Any], *, is_required: bool) -> str:
    need = "required" if is_required else f"default {json.dumps(declared.get('default'), ensure_ascii=False)}"
    description = declared.get("description")
    return f"{name} ({_kind(declared)}, {need}){f': {description}' if description else ''}"


def _advice(schema: Mapping[str, Any]) -> list[str]:
    """Required arguments that a model may well leave out, because their own declaration says so."""
    properties = cast("Mapping[str, Mapping[str, Any]]", schema.get("properties", {}))
    required = cast("Sequence[str]", schema.get("required", ()))
    return [
        f"{name!r} may be None but has no default: a call that leaves it out is refused. Give it `= None`."
        for name, declared in properties.items()
        if name in required and "null" in _kind(declared).split(" or ")
    ]


def _kind(declared: Mapping[str, Any]) -> str:
    """What a value may be, in a few words."""
    if "enum" in declared:
        return "one of " + ", ".join(json.dumps(value, ensure_ascii=False) for value in declared["enum"])
    if "$ref" in declared:
        return str(declared["$ref"]).rsplit("/", 1)[-1]
    kind = declared.get("type")
    if kind == "array" and isinstance(declared.get("items"), Mapping):
        return f"list of {_kind(declared['items'])}"
    if kind is not None:
        return " or ".join(cast("list[str]", kind)) if isinstance(kind, list) else str(kind)
    choices = cast("list[Mapping[str, Any]]", declared.get("anyOf") or declared.get("oneOf") or [])
    return " or ".join(_kind(choice) for choice in choices) or "anything"


def _options(tool: BaseTool) -> list[str]:
    """The options that the tool sets; the others are its node's to decide."""
    spec = tool.spec
    nothing = type(spec.options)()
    given = {field.name: getattr(spec.options, field.name) for field in fields(spec.options)}
    shown = [f"{name}={value!r}" for name, value in given.items() if value is not getattr(nothing, name)]
    return [*shown, *(["return_direct=True"] if spec.return_direct else [])]
