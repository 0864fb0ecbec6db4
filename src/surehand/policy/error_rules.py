"""What becomes of an exception that a tool raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from surehand.errors import OptionError
from surehand.policy.checks import are_exceptions, is_function

__all__ = ["ErrorRule", "check_error_rule"]

ErrorRule: TypeAlias = bool | str | type[Exception] | tuple[type[Exception], ...] | Callable[[Exception], Any]
"""What becomes of an exception: tell (True), raise (False), a fixed text, only some types, or a function's answer."""


def check_error_rule(rule: object) -> ErrorRule:
    """The rule, if it is one.

    Raises:
        OptionError: The rule is neither a bool, a text, exception types nor a callable.
    """
    if isinstance(rule, bool) or (isinstance(rule, str) and rule.strip()):
        return rule
    if are_exceptions(rule) or is_function(rule):
        return rule
    raise OptionError(
        option="handle_tool_errors",
        value=rule,
        expected="True, False, a text, exception types or a function of the exception",
    )
