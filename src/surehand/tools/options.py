"""The options of a tool as keywords: the same on ``@tool``, on a node for all its tools, and there for one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, Final, Literal, TypedDict

from surehand.errors import OptionError
from surehand.policy import CircuitBreaker, ErrorRule, RateLimit, RetryPolicy, ToolOptions
from surehand.wording import did_you_mean

__all__ = ["OPTION_NAMES", "CallOptions", "OptionArguments", "tool_options"]


class CallOptions(TypedDict, total=False):
    """The keywords that say how calls are run; ``ToolOptions`` says what each of them means."""

    timeout: float | None
    idle_timeout: float | None
    isolation: Literal["thread", "process"]
    retry: RetryPolicy | None
    idempotent: bool
    read_only: bool
    destructive: bool
    exclusive: bool | Callable[[Any], Iterable[str]]
    concurrency: int | None
    group: str | None
    rate_limit: RateLimit | None
    circuit_breaker: CircuitBreaker | None
    repeat_guard: bool
    requires_approval: bool | Callable[[Any], bool]
    approval_timeout: float | None
    reconcile: Callable[[Any], Any] | None
    on_unknown: Literal["tell", "ask"]
    max_output: int | None


class OptionArguments(CallOptions, total=False):
    """The keywords of a tool: also what becomes of its exceptions."""

    handle_tool_errors: ErrorRule


OPTION_NAMES: Final = frozenset(field.name for field in fields(ToolOptions))
"""What may stand as an option of a tool; the keywords above say the same to type checkers."""


def tool_options(given: Mapping[str, Any], *, beside: Iterable[str] = ()) -> ToolOptions:
    """The keywords as options, checked.

    Args:
        given: The keywords.
        beside: What else could have been meant where they were given: the other keywords there.

    Raises:
        OptionError: A keyword is unknown, or its value cannot be meant.
    """
    for name in given:
        if name not in OPTION_NAMES:
            raise OptionError(
                option="option",
                value=name,
                expected=f"one of {', '.join(sorted(OPTION_NAMES))}",
                remedy=did_you_mean(name, {*OPTION_NAMES, *beside}).lstrip(),
            )
    return ToolOptions(**given)
