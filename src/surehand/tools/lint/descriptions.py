"""Rules about what the model is told of tools and arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from surehand.shapes import mapping_of
from surehand.spec import ToolSpec, wire_name
from surehand.tools.lint.finding import Asked, Remark, Rule
from surehand.wording import did_you_mean

__all__ = ["RULES"]

_FEWEST_WORDS: Final = 3
_MOST_CHARACTERS: Final = 1_024
"""What servers that took over OpenAI's first limits cut or refuse; OpenAI itself takes a million by now."""
_MENTIONED: Final = re.compile(
    r"\b(?i:call|calls|calling|use|uses|using|see|tool|tools|from|by|with|via)\s+[`'\"]?([a-z][a-z0-9]*(?:_[a-z0-9]+)+)\b"
    r"|\b([a-z][a-z0-9]*(?:_[a-z0-9]+)+)[`'\"]?\s+tool\b"
)


def properties_of(tool: ToolSpec) -> dict[str, Any]:
    """The declared arguments of a tool."""
    return {name: mapping_of(part) for name, part in mapping_of(tool.schema.json_schema.get("properties")).items()}


def _missing(tools: Sequence[ToolSpec], _asked: Asked) -> Iterator[Remark]:
    for tool in tools:
        if not tool.description.strip():
            yield Remark(
                tool=tool.name,
                message="It has no description, so the model has only its name to go by.",
                remedy="Say in a docstring what it does, when to use it, and what it returns.",
            )


def _short(tools: Sequence[ToolSpec], _asked: Asked) -> Iterator[Remark]:
    for tool in tools:
        words = tool.description.split()
        if words and (len(words) < _FEWEST_WORDS or _letters(tool.description) == _letters(tool.name)):
            yield Remark(
                tool=tool.name,
                message=f"Its description {tool.description!r} says no more than its name.",
                remedy="Say what it does, when to use it, and what it returns.",
            )


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def _long(tools: Sequence[ToolSpec], _asked: Asked) -> Iterator[Remark]:
    for tool in tools:
        if (length := len(tool.description)) > _MOST_CHARACTERS:
            yield Remark(
                tool=tool.name,
                message=f"Its description has {length:,} characters; some servers take {_MOST_CHARACTERS:,} at most.",
                remedy="Shorten it, and put what concerns one argument into that argument's description.",
            )


def _argument_missing(tools: Sequence[ToolSpec], _asked: Asked) -> Iterator[Remark]:
    for tool in tools:
        for name, part in properties_of(tool).items():
            if not part.get("description") and "$ref" not in part:
                yield Remark(
                    tool=tool.name,
                    place=name,
                    message=f"The argument {name!r} has no description.",
                    remedy="Describe it under Args in the docstring or by Field(description=…), with its unit.",
                )


def _mentions_nobody(tools: Sequence[ToolSpec], _asked: Asked) -> Iterator[Remark]:
    known = {name for tool in tools for name in (tool.name, wire_name(tool.name))}
    for tool in tools:
        own = properties_of(tool)
        for match in _MENTIONED.finditer(tool.description):
            name = match[1] or match[2]
            if name not in known and name not in own:
                yield Remark(
                    tool=tool.name,
                    message=f"Its description sends the model to {name!r}, and there is no such tool.",
                    remedy=did_you_mean(name, known).lstrip() or "Leave it out, or offer that tool too.",
                )


RULES: Final = (
    Rule(id="no-description", severity="warning", check=_missing),
    Rule(id="short-description", severity="warning", check=_short),
    Rule(id="long-description", severity="warning", check=_long),
    Rule(id="no-argument-description", severity="warning", check=_argument_missing),
    Rule(id="unknown-tool-mentioned", severity="warning", check=_mentions_nobody),
)
