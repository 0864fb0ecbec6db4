"""Policies of a call: how often, how long, with what care. Plain values, checked when they are made."""

from surehand.policy.breaker import CircuitBreaker
from surehand.policy.cache import CachePolicy
from surehand.policy.checks import (
    are_exceptions,
    check_function,
    check_methods,
    count,
    count_or_none,
    flag,
    instance,
    is_function,
    mapping,
    seconds,
    seconds_or_none,
    text,
    whole,
    words,
)
from surehand.policy.client_errors import status_of
from surehand.policy.error_rules import ClassRule, ErrorRule, ErrorRules, OneRule, Tell, check_error_rule
from surehand.policy.limits import DEFAULT_NO_PROGRESS, Limits, NoProgress
from surehand.policy.options import DEFAULT_MAX_OUTPUT, DEFAULT_OPTIONS, ToolOptions
from surehand.policy.rate import RateLimit
from surehand.policy.retry import RetryOn, RetryPolicy
from surehand.policy.transient import is_ambiguous, is_lasting, is_transient, retry_after_of
from surehand.policy.unset import UNSET, Unset

__all__ = [
    "DEFAULT_MAX_OUTPUT",
    "DEFAULT_NO_PROGRESS",
    "DEFAULT_OPTIONS",
    "UNSET",
    "CachePolicy",
    "CircuitBreaker",
    "ClassRule",
    "ErrorRule",
    "ErrorRules",
    "Limits",
    "NoProgress",
    "OneRule",
    "RateLimit",
    "RetryOn",
    "RetryPolicy",
    "Tell",
    "ToolOptions",
    "Unset",
    "are_exceptions",
    "check_error_rule",
    "check_function",
    "check_methods",
    "count",
    "count_or_none",
    "flag",
    "instance",
    "is_ambiguous",
    "is_function",
    "is_lasting",
    "is_transient",
    "mapping",
    "retry_after_of",
    "seconds",
    "seconds_or_none",
    "status_of",
    "text",
    "whole",
    "words",
]
