"""What ``surehand lint`` prints: findings for people, or for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from surehand import BaseTool, Finding, estimated_tokens
from surehand.cli._screen import Screen

__all__ = ["lint_report", "listed", "show_findings"]

_STYLES = {"error": "red", "warning": "yellow"}


def listed(text: str) -> list[str]:
    """The words of a list with commas; none of an empty text."""
    return [word.strip() for word in text.split(",") if word.strip()]


def lint_report(tools: Sequence[BaseTool], findings: Sequence[Finding]) -> dict[str, Any]:
    """The findings as JSON data; keys are added to it, and none is taken away or changed."""
    return {
        "version": 1,
        "tools": [{"name": tool.name, "estimated_tokens": estimated_tokens(tool.spec)} for tool in tools],
        "findings": [asdict(finding) for finding in findings],
    }


def show_findings(tools: Sequence[BaseTool], findings: Sequence[Finding], screen: Screen) -> None:
    """The findings tool by tool, in the order of the tools, and what they come to."""
    for name in dict.fromkeys([*(tool.name for tool in tools), ""]):
        own = [finding for finding in findings if finding.tool == name]
        if own:
            screen.title(name or "all tools together")
        for finding in own:
            screen.labelled(finding.severity, f"{finding.rule}: {finding.message}", style=_STYLES[finding.severity])
            screen.labelled("", finding.remedy)
    screen.line()
    screen.line(_summary(tools, findings))


def _summary(tools: Sequence[BaseTool], findings: Sequence[Finding]) -> str:
    errors = sum(finding.severity == "error" for finding in findings)
    warnings = len(findings) - errors
    found = f"{_counted(errors, 'error')}, {_counted(warnings, 'warning')}" if findings else "nothing found"
    tokens = sum(estimated_tokens(tool.spec) for tool in tools)
    return f"{_counted(len(tools), 'tool')}, {found}; about {tokens:,} tokens in every request, by estimate."


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
