"""What is wrong with tools before a model ever sees them."""

from surehand.tools.lint.check import MAX_TOKENS, MAX_TOTAL_TOKENS, RULES, lint_tools
from surehand.tools.lint.finding import Finding, Provider, Rule, Severity
from surehand.tools.lint.tokens import estimated_tokens

__all__ = [
    "MAX_TOKENS",
    "MAX_TOTAL_TOKENS",
    "RULES",
    "Finding",
    "Provider",
    "Rule",
    "Severity",
    "estimated_tokens",
    "lint_tools",
]
