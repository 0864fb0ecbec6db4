"""The linter: every rule over all tools."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, get_args

from surehand.errors import OptionError
from surehand.tools.collect import as_tools
from surehand.tools.lint import arguments, descriptions, effects, forms, names, tokens
from surehand.tools.lint.finding import Asked, Finding, Provider, Rule
from surehand.wording import did_you_mean

__all__ = ["MAX_TOKENS", "MAX_TOTAL_TOKENS", "RULES", "lint_tools"]

MAX_TOKENS: Final = 1_000
"""Estimated tokens that one tool may cost in each request before it is found too dear."""
MAX_TOTAL_TOKENS: Final = 10_000
"""The same for all tools together."""
RULES: Final[tuple[Rule, ...]] = (
    *names.RULES,
    *descriptions.RULES,
    *arguments.RULES,
    *effects.RULES,
    *forms.RULES,
    *tokens.RULES,
)
"""Every rule, in the order in which it is checked."""


def lint_tools(
    tools: Iterable[Any],
    *,
    select: Collection[str] | None = None,
    ignore: Collection[str] = (),
    strict_providers: Sequence[Provider] = (),
    max_tokens: int = MAX_TOKENS,
    max_total_tokens: int = MAX_TOTAL_TOKENS,
) -> list[Finding]:
    """What is wrong with the tools, in the order of the rules; nothing is called and nothing is sent.

    Args:
        tools: Tools that are offered together: tools, functions, or whatever else can be one.
        select: Ids of the rules to check; None for all.
        ignore: Ids of rules that are not checked.
        strict_providers: Whose strictest form the tools are to be exported in; what gets lost there is found then.
        max_tokens: Estimated tokens that one tool may cost.
        max_total_tokens: The same for all of them.

    Raises:
        OptionError: There is no such rule or provider.
        ToolDefinitionError: Something among the tools cannot be one.
    """
    _check_known("select", select or ())
    _check_known("ignore", ignore)
    for provider in strict_providers:
        if provider not in get_args(Provider):
            raise OptionError(
                option="strict_providers", value=provider, expected=f"some of {', '.join(get_args(Provider))}"
            )
    specs = [tool.spec for tool in as_tools(tools)]
    asked = Asked(strict_providers=strict_providers, max_tokens=max_tokens, max_total_tokens=max_total_tokens)
    return [
        Finding(
            rule=rule.id,
            tool=remark.tool,
            place=remark.place,
            message=remark.message,
            remedy=remark.remedy,
            severity=rule.severity,
        )
        for rule in RULES
        if (select is None or rule.id in select) and rule.id not in ignore
        for remark in rule.check(specs, asked)
    ]


def _check_known(option: str, ids: Collection[str]) -> None:
    known = [rule.id for rule in RULES]
    for id in ids:
        if id not in known:
            raise OptionError(
                option=option,
                value=id,
                expected=f"ids of rules: {', '.join(known)}",
                remedy=did_you_mean(id, known).lstrip(),
            )
