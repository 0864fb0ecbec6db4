"""What a rule is, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from surehand.spec import ToolSpec

__all__ = ["Asked", "Check", "Finding", "Provider", "Remark", "Rule", "Severity"]

Severity: TypeAlias = Literal["error", "warning"]
"""``error``: calls or whole requests will fail. ``warning``: the model will do worse than it could."""
Provider: TypeAlias = Literal["openai", "anthropic", "gemini"]
"""Whose strictest form is looked at: strict decoding, and for Gemini the field ``parameters``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a rule found."""

    rule: str
    """The rule's id."""
    tool: str
    """The tool's name; empty where it is about all of them together."""
    place: str
    """Where: an argument's name, a place in the schema such as ``$.p``, or empty for the tool itself."""
    message: str
    """What is wrong, as a sentence."""
    remedy: str
    """What to do, as a sentence."""
    severity: Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """What a check says; with the rule's id and severity it is a finding."""

    tool: str
    message: str
    remedy: str
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the caller wants to know of."""

    strict_providers: Sequence[Provider] = ()
    max_tokens: int
    max_total_tokens: int


Check: TypeAlias = Callable[[Sequence[ToolSpec], Asked], Iterator[Remark]]
"""Looks at all tools, because some mistakes are made by two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Something that can be wrong with a tool."""

    id: str
    severity: Severity
    check: Check
