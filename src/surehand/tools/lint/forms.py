"""Rules about what providers make of a tool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from surehand.errors import ToolDefinitionError
from surehand.spec import ToolSpec
from surehand.tools.export import Adaptation, Form, adaptations, to_anthropic
from surehand.tools.limits import size_of
from surehand.tools.lint.finding import Asked, Provider, Remark, Rule

__all__ = ["RULES"]

_PLAIN: Final[tuple[Form, ...]] = ("openai", "anthropic", "gemini", "bedrock")
_STRICT: Final[Mapping[Provider, Form]] = {
    "openai": "openai-strict",
    "anthropic": "anthropic-strict",
    "gemini": "gemini-parameters",
}
_MOST_TOOLS: Final = 128
"""What OpenAI takes in one request, and Gemini on Vertex."""
_ANTHROPIC_TOTALS: Final = {"tools": 20, "optional": 24, "unions": 16}
"""What Anthropic takes of strict tools, of arguments in them that may be left out, and of those of several types."""


def _refused(tools: Sequence[ToolSpec], _asked: Asked) -> Iterator[Remark]:
    for tool in tools:
        for form in _PLAIN:
            yield from _refusal(tool, form)


def _refusal(tool: ToolSpec, form: Form) -> Iterator[Remark]:
    try:
        adaptations(tool, form)
    except ToolDefinitionError as error:
        yield Remark(tool=tool.name, message=f"{_sentence(error.problem)}.", remedy=error.remedy)


def _adapted(tools: Sequence[ToolSpec], _asked: Asked) -> Iterator[Remark]:
    for tool in tools:
        yield from _losses(tool, _PLAIN)


def _losses(tool: ToolSpec, forms: Sequence[Form]) -> Iterator[Remark]:
    """What gets lost in some forms, each loss once."""
    seen: set[tuple[str, str]] = set()
    for form in forms:
        for loss in _lost(tool, form):
            if (loss.place, loss.what) not in seen:
                seen.add((loss.place, loss.what))
                effect = (
                    "so the model may send what the tool then refuses"
                    if loss.effect == "wider"
                    else "so the model cannot send all that the tool takes"
                )
                yield Remark(
                    tool=tool.name,
                    place=loss.place,
                    message=f"The export to {form} {loss.what}, {effect}: {loss.why}.",
                    remedy="Say it in a description, or write the schema without it.",
                )


def _lost(tool: ToolSpec, form: Form) -> list[Adaptation]:
    try:
        return [made for made in adaptations(tool, form) if made.effect in ("wider", "narrower")]
    except ToolDefinitionError:
        return []  # another rule says so


def _refused_in_strict(tools: Sequence[ToolSpec], asked: Asked) -> Iterator[Remark]:
    for tool in tools:
        for provider in asked.strict_providers:
            yield from _refusal(tool, _STRICT[provider])


def _lost_in_strict(tools: Sequence[ToolSpec], asked: Asked) -> Iterator[Remark]:
    for tool in tools:
        for provider in asked.strict_providers:
            yield from _losses(tool, [_STRICT[provider]])


def _too_many(tools: Sequence[ToolSpec], _asked: Asked) -> Iterator[Remark]:
    if len(tools) > _MOST_TOOLS:
        yield Remark(
            tool="",
            message=f"There are {len(tools)} tools, and OpenAI takes {_MOST_TOOLS} in a request.",
            remedy="Choose the tools for each turn: give the node a function in the place of the list.",
        )


def _too_much_for_anthropic(tools: Sequence[ToolSpec], asked: Asked) -> Iterator[Remark]:
    if "anthropic" not in asked.strict_providers:
        return
    sizes = [size_of(schema) for tool in tools if (schema := _anthropic_schema(tool)) is not None]
    counts = {
        "tools": (len(sizes), "strict tools"),
        "optional": (sum(size.optional for size in sizes), "arguments that may be left out in strict tools"),
        "unions": (sum(size.unions for size in sizes), "arguments of several types in strict tools"),
    }
    for what, (count, words) in counts.items():
        if count > (most := _ANTHROPIC_TOTALS[what]):
            yield Remark(
                tool="",
                message=f"There are {count} {words}, and Anthropic takes {most} in a request.",
                remedy="Export as strict only the tools in which a broken schema would do harm.",
            )


def _anthropic_schema(tool: ToolSpec) -> dict[str, Any] | None:
    try:
        schema: dict[str, Any] = to_anthropic(tool, strict=True)["input_schema"]
    except ToolDefinitionError:
        return None
    return schema


def _sentence(problem: str) -> str:
    return problem[:1].upper() + problem[1:]


RULES: Final = (
    Rule(id="refused-by-provider", severity="error", check=_refused),
    Rule(id="lost-in-export", severity="warning", check=_adapted),
    Rule(id="refused-in-strict", severity="error", check=_refused_in_strict),
    Rule(id="lost-in-strict", severity="warning", check=_lost_in_strict),
    Rule(id="too-many-tools", severity="error", check=_too_many),
    Rule(id="too-much-strict", severity="error", check=_too_much_for_anthropic),
)
