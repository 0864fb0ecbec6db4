"""Rules about what tools cost: their declarations are sent, and paid for, with every request."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from surehand.spec import ToolSpec, wire_name
from surehand.tools.lint.finding import Asked, Remark, Rule

__all__ = ["RULES", "estimated_tokens"]

_CHARACTERS_PER_TOKEN: Final = 4
"""The rule of thumb that OpenAI gives for English text; JSON, and other scripts, cost more."""


def estimated_tokens(tool: ToolSpec) -> int:
    """About how many tokens the declaration of a tool costs in a request: its characters as compact JSON, by four."""
    declared = {"name": wire_name(tool.name), "description": tool.description, "parameters": tool.schema.json_schema}
    text = json.dumps(declared, ensure_ascii=False, separators=(",", ":"), default=str)
    return -(-len(text) // _CHARACTERS_PER_TOKEN)


def _dear(tools: Sequence[ToolSpec], asked: Asked) -> Iterator[Remark]:
    for tool in tools:
        if (tokens := estimated_tokens(tool)) > asked.max_tokens:
            yield Remark(
                tool=tool.name,
                message=f"It costs about {tokens:,} tokens in every request, more than {asked.max_tokens:,}.",
                remedy="Shorten descriptions, or leave out arguments that models do not use.",
            )


def _dear_together(tools: Sequence[ToolSpec], asked: Asked) -> Iterator[Remark]:
    if (tokens := sum(map(estimated_tokens, tools))) > asked.max_total_tokens:
        yield Remark(
            tool="",
            message=f"All {len(tools)} together cost about {tokens:,} tokens, more than {asked.max_total_tokens:,}.",
            remedy="Choose the tools for each turn, or shorten the dearest.",
        )


RULES: Final = (
    Rule(id="token-cost", severity="warning", check=_dear),
    Rule(id="total-token-cost", severity="warning", check=_dear_together),
)
