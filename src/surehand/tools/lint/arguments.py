"""Rules about the arguments of tools."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from typing_extensions import is_typeddict

from surehand.shapes import is_array, is_object, items_of, mapping_of
from surehand.spec import ToolSpec
from surehand.tools.lint.descriptions import properties_of
from surehand.tools.lint.finding import Asked, Remark, Rule

__all__ = ["RULES"]

_INJECTED: Final = {
    "state": "Annotated[dict, InjectedState]",
    "store": "Annotated[Store, InjectedStore]",
    "ctx": "ToolContext",
    "context": "ToolContext",
    "tool_context": "ToolContext",
    "runtime": "ToolContext",
    "config": "ToolContext",
    "call_id": "Annotated[str, InjectedToolCallId]",
    "tool_call_id": "Annotated[str, InjectedToolCallId]",
}
"""Names that frameworks give to what the host fills -> how it is said here."""
_PLAIN: Final = ("string", "integer", "number", "boolean")
_SAYS_NOTHING: Final = frozenset({"description", "title", "default", "examples", "example", "deprecated", "$comment"})


def _nullable_without_default(tools: Sequence[ToolSpec], _asked: Asked) -> Iterator[Remark]:
    for tool in tools:
        for name, part in properties_of(tool).items():
            if name in tool.schema.json_schema.get("required", ()) and _takes_null(part):
                yield Remark(
                    tool=tool.name,
                    place=name,
                    message=f"The argument {name!r} may be null and has no default: a call without it is refused.",
                    remedy="Give it a default, as in `= None`.",
                )


def _takes_null(part: Mapping[str, Any]) -> bool:
    kind = part.get("type")
    choices = [*items_of(part.get("anyOf")), *items_of(part.get("oneOf"))]
    return kind == "null" or (is_array(kind) and "null" in kind) or any(_takes_null(mapping_of(one)) for one in choices)


def _missing_default(tools: Sequence[ToolSpec], _asked: Asked) -> Iterator[Remark]:
    for tool in tools:
        for name in _needed_by_body(tool):
            if name in tool.schema.names.values() and name not in tool.schema.required and not _is_filled(tool, name):
                yield Remark(
                    tool=tool.name,
                    place=name,
                    message=f"The model may leave out {name!r}, and the function cannot be called without it.",
                    remedy="Give the parameter a default, put one into the schema, or require the argument.",
                )


def _needed_by_body(tool: ToolSpec) -> list[str]:
    """The parameters without a default that the host does not fill."""
    try:
        parameters = inspect.signature(tool.body.function).parameters.values()
    except (TypeError, ValueError):  # a built-in that does not say
        return []
    injected = {injection.parameter for injection in tool.injections}
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        parameter.name
        for parameter in parameters
        if parameter.default is inspect.Parameter.empty
        and parameter.kind not in variadic
        and parameter.name not in injected
    ]


def _is_filled(tool: ToolSpec, name: str) -> bool:
    """Whether the schema fills in an argument that was left out; models do, a JSON Schema where it says how."""
    model = tool.schema.model
    is_plain = model is None or is_typeddict(model)
    return not is_plain or "default" in properties_of(tool).get(name, {})


def _open(tools: Sequence[ToolSpec], _asked: Asked) -> Iterator[Remark]:
    for tool in tools:
        if tool.schema.extras == "collect":
            yield Remark(
                tool=tool.name,
                message="It takes arguments of any name (**kwargs), of which the model is told nothing.",
                remedy="Name the arguments, or take one that is an object with described keys.",
            )


def _anything(tools: Sequence[ToolSpec], _asked: Asked) -> Iterator[Remark]:
    for tool in tools:
        for name, part in properties_of(tool).items():
            is_list = part.get("type") == "array"
            if part.keys() <= _SAYS_NOTHING or (is_list and not part.get("items") and "prefixItems" not in part):
                yield Remark(
                    tool=tool.name,
                    place=name,
                    message=f"The argument {name!r} may be {'a list of anything' if is_list else 'anything'}.",
                    remedy="Annotate it with a type that says what is expected.",
                )


def _numbers(tools: Sequence[ToolSpec], _asked: Asked) -> Iterator[Remark]:
    for tool in tools:
        for name, part in properties_of(tool).items():
            numbers = [value for value in _choices(part) if isinstance(value, int | float)]
            if numbers:
                yield Remark(
                    tool=tool.name,
                    place=name,
                    message=f"The choices of {name!r} hold {numbers[0]!r}: Gemini's parameters take texts alone.",
                    remedy="Use texts as choices, or a number with bounds.",
                )


def _choices(part: Mapping[str, Any]) -> list[Any]:
    own = [*items_of(part.get("enum")), *([part["const"]] if "const" in part else [])]
    inner = [*items_of(part.get("anyOf")), part.get("items")]
    return [*own, *(value for one in inner if is_object(one) for value in _choices(one))]


def _injected(tools: Sequence[ToolSpec], _asked: Asked) -> Iterator[Remark]:
    for tool in tools:
        for name, part in properties_of(tool).items():
            is_id = name in ("call_id", "tool_call_id")
            if name in _INJECTED and (is_id or part.get("type", "object") not in _PLAIN):  # a pull request has a state
                yield Remark(
                    tool=tool.name,
                    place=name,
                    message=f"The argument {name!r} is called like what a host fills, and the model fills it.",
                    remedy=f"Annotate it as {_INJECTED[name]} if the host is meant; else rename it.",
                )


RULES: Final = (
    Rule(id="nullable-without-default", severity="warning", check=_nullable_without_default),
    Rule(id="missing-default", severity="error", check=_missing_default),
    Rule(id="open-arguments", severity="warning", check=_open),
    Rule(id="any-argument", severity="warning", check=_anything),
    Rule(id="number-choices", severity="warning", check=_numbers),
    Rule(id="injected-name", severity="warning", check=_injected),
)
