"""Policies of a call: how often, how long, with what care. Plain values, checked when they are made."""

from surehand.policy.breaker import CircuitBreaker
from surehand.policy.checks import (
    are_exceptions,
    check_function,
    check_methods,
    count,
    flag,
    is_function,
    mapping,
    seconds,
    text,
    words,
)
from surehand.policy.error_rules import ErrorRule, check_error_rule
from surehand.policy.limits import Limits, NoProgress
from surehand.policy.options import DEFAULT_MAX_OUTPUT, DEFAULT_OPTIONS, ToolOptions
from surehand.policy.rate import RateLimit
from surehand.policy.retry import RetryOn, RetryPolicy
from surehand.policy.unset import UNSET, Unset

__all__ = [
    "DEFAULT_MAX_OUTPUT",
    "DEFAULT_OPTIONS",
    "UNSET",
    "CircuitBreaker",
    "ErrorRule",
    "Limits",
    "NoProgress",
    "RateLimit",
    "RetryOn",
    "RetryPolicy",
    "ToolOptions",
    "Unset",
    "are_exceptions",
    "check_error_rule",
    "check_function",
    "check_methods",
    "count",
    "flag",
    "is_function",
    "mapping",
    "seconds",
    "text",
    "words",
]
