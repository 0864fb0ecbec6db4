"""Policies of a call: how often, how long, with what care. Plain values, checked when they are made."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal, TypeAlias, TypeGuard

from surehand.errors import OptionError

__all__ = [
    "DEFAULT_MAX_OUTPUT",
    "DEFAULT_OPTIONS",
    "UNSET",
    "ErrorRule",
    "RetryOn",
    "RetryPolicy",
    "ToolOptions",
    "Unset",
    "check_error_rule",
    "check_function",
    "check_methods",
    "count",
    "flag",
    "mapping",
    "seconds",
    "text",
    "words",
]


class Unset:
    """The type of UNSET."""

    def __repr__(self) -> str:
        return "UNSET"

    def __bool__(self) -> Literal[False]:
        return False


UNSET: Final = Unset()
"""An option that was not given, where None has a meaning of its own."""

RetryOn: TypeAlias = type[Exception] | tuple[type[Exception], ...] | Callable[[Exception], bool]
"""Which exceptions a policy retries."""

ErrorRule: TypeAlias = bool | str | type[Exception] | tuple[type[Exception], ...] | Callable[[Exception], Any]
"""What becomes of an exception: tell (True), raise (False), a fixed text, only some types, or a function's answer."""


def seconds(option: str, value: object) -> float:
    """The value as a positive, finite number of seconds.

    Raises:
        OptionError: The value is not a number above 0.
    """
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < float("inf"):
        raise OptionError(
            option=option, value=value, expected="a number of seconds above 0", remedy="Use None for no limit."
        )
    return float(value)


def count(option: str, value: object) -> int:
    """The value as a whole number of at least 1.

    Raises:
        OptionError: The value is no whole number above 0.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise OptionError(
            option=option, value=value, expected="a whole number of at least 1", remedy="Use None for no limit."
        )
    return value


def flag(option: str, value: object) -> bool:
    """The value as a bool; nothing else is taken for one.

    Raises:
        OptionError: The value is neither True nor False.
    """
    if not isinstance(value, bool):
        raise OptionError(option=option, value=value, expected="True or False")
    return value


def text(option: str, value: object) -> str:
    """The value as a text that says something.

    Raises:
        OptionError: The value is no text, or a blank one.
    """
    if not isinstance(value, str) or not value.strip():
        raise OptionError(option=option, value=value, expected="a text that is not blank")
    return value


def words(option: str, value: object) -> tuple[str, ...]:
    """The value as several texts; None has none.

    Raises:
        OptionError: The value is one text, or holds something that is none.
    """
    if value is None:
        return ()
    items: tuple[Any, ...] = (None,)
    if isinstance(value, Iterable) and not isinstance(value, str):
        items = tuple(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - any items
    if not all(isinstance(item, str) for item in items):
        raise OptionError(option=option, value=value, expected="a list of texts")
    return items


def mapping(option: str, value: object) -> dict[str, Any]:
    """A copy of the value as a dict; None is an empty one.

    Raises:
        OptionError: The value is no mapping.
    """
    if value is not None and not isinstance(value, Mapping):
        raise OptionError(option=option, value=value, expected="a mapping or None")
    return dict(value or {})  # pyright: ignore[reportUnknownArgumentType] - any items


def check_function(option: str, value: object) -> None:
    """Refuse what is neither None nor can be called.

    Raises:
        OptionError: The value cannot be called.
    """
    if value is not None and not callable(value):
        raise OptionError(option=option, value=value, expected="a function or None")


def check_methods(option: str, value: object, *names: str) -> None:
    """Refuse what is not None and lacks one of the methods.

    Raises:
        OptionError: A method is missing.
    """
    missing = [name for name in names if not callable(getattr(value, name, None))]
    if value is not None and missing:
        raise OptionError(option=option, value=value, expected=f"an object with the methods {', '.join(names)}")


def _check_factor(value: object) -> None:
    if not isinstance(value, int | float) or not 1 <= value < _NEVER:
        raise OptionError(option="backoff_factor", value=value, expected="a number of at least 1")


def check_error_rule(rule: object) -> ErrorRule:
    """The rule, if it is one.

    Raises:
        OptionError: The rule is neither a bool, a text, exception types nor a callable.
    """
    if isinstance(rule, bool) or (isinstance(rule, str) and rule.strip()):
        return rule
    if _are_exceptions(rule) or _is_function(rule):
        return rule
    raise OptionError(
        option="handle_tool_errors",
        value=rule,
        expected="True, False, a text, exception types or a function of the exception",
    )


def _are_exceptions(rule: object) -> TypeGuard[type[Exception] | tuple[type[Exception], ...]]:
    types: tuple[Any, ...] = rule if isinstance(rule, tuple) else (rule,)  # pyright: ignore[reportUnknownVariableType] - any items
    return bool(types) and all(isinstance(item, type) and issubclass(item, Exception) for item in types)


def _is_function(rule: object) -> TypeGuard[Callable[[Exception], Any]]:
    return callable(rule) and not isinstance(rule, type)


_NEVER: Final = float("inf")

DEFAULT_MAX_OUTPUT: Final = 50_000
"""Characters that a model is given of a result, where nobody says otherwise: some 12,000 tokens."""


def _asked_for(error: BaseException | None) -> float | None:
    """The seconds in an exception's ``retry_after``; None where it says nothing that can be meant."""
    try:
        after = getattr(error, "retry_after", None)
    except Exception:  # noqa: BLE001 - a property of a foreign exception may raise anything, and is only a wish
        return None
    return after if isinstance(after, int | float) and after > 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and when a failed attempt is made again.

    A tool is retried when its author raises ``ToolException(retryable=True)``. Whatever else ``retry_on`` names is
    retried only on tools that are ``idempotent`` or ``read_only``: an attempt that failed may have had an effect.
    """

    max_attempts: int = 3
    """Attempts in all, the first one included."""
    initial_interval: float = 0.5
    """Seconds before the second attempt."""
    backoff_factor: float = 2.0
    """Each wait is this many times as long as the one before."""
    max_interval: float = 8.0
    """The longest wait in seconds."""
    jitter: bool = True
    """Whether each wait is shortened by a random part, at most half, so that retries do not come in step."""
    retry_on: RetryOn | None = None
    """Further exceptions to retry; None adds none."""
    max_elapsed: float | None = None
    """No new attempt starts when this many seconds have passed since the first; None for no limit."""

    def __post_init__(self) -> None:
        count("max_attempts", self.max_attempts)
        for name in ("initial_interval", "max_interval"):
            seconds(name, getattr(self, name))
        if self.max_elapsed is not None:
            seconds("max_elapsed", self.max_elapsed)
        _check_factor(self.backoff_factor)
        flag("jitter", self.jitter)
        if self.retry_on is not None and not _are_exceptions(self.retry_on) and not _is_function(self.retry_on):
            raise OptionError(
                option="retry_on", value=self.retry_on, expected="exception types, a function of the exception or None"
            )

    def delay(self, attempt: int, *, after: float | None = None) -> float:
        """Seconds to wait after the given failed attempt (from 1).

        Args:
            attempt: The number of the attempt that failed.
            after: What the failure itself asked for, in seconds; it is the least that is waited.
        """
        try:
            wait = min(self.max_interval, self.initial_interval * self.backoff_factor ** (attempt - 1))
        except OverflowError:  # a power beyond what a float holds, after a thousand attempts
            wait = self.max_interval
        if self.jitter:
            wait *= random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing
        return max(wait, after or 0.0)

    def next_delay(self, attempt: int, error: BaseException | None, *, elapsed: float) -> float | None:
        """Seconds until the next attempt; None when attempts or time have run out.

        Args:
            attempt: The number of the attempt that failed, from 1.
            error: What it failed with; its ``retry_after``, in seconds, is the least that is waited. Infinity means
                never; what is no number says nothing.
            elapsed: Seconds since the first attempt began.
        """
        if attempt >= self.max_attempts:
            return None
        wait = self.delay(attempt, after=_asked_for(error))
        limit = _NEVER if self.max_elapsed is None else self.max_elapsed
        return None if wait == _NEVER or elapsed + wait > limit else wait

    def covers(self, error: Exception) -> bool:
        """Whether ``retry_on`` names this exception."""
        rule = self.retry_on
        if rule is None:
            return False
        if isinstance(rule, type | tuple):
            return isinstance(error, rule)
        return bool(rule(error))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOptions:
    """The options of a tool that decide how its calls are run; UNSET where nobody said anything.

    They can be given on the tool, as defaults of a node, and per tool on a node; the most specific wins:
    node override for that tool, then tool, then node default.
    """

    timeout: float | Unset | None = UNSET
    """Seconds a body may take, from its start; None for no limit. 300 by default."""
    retry: RetryPolicy | Unset | None = UNSET
    """The retry policy; None for no retries."""
    idempotent: bool | Unset = UNSET
    """Whether running the call twice is the same as running it once."""
    read_only: bool | Unset = UNSET
    """Whether the call changes nothing."""
    destructive: bool | Unset = UNSET
    """Whether the call may destroy something: such a call is never run on a guess of any kind."""
    exclusive: bool | Unset = UNSET
    """Whether no other call of the turn may run at the same time."""
    concurrency: int | Unset | None = UNSET
    """How many calls of the tool may run at a time in one turn; None for no limit."""
    requires_approval: bool | Callable[[Mapping[str, Any]], bool] | Unset = UNSET
    """Whether a human has to agree first; a function decides by the arguments."""
    max_output: int | Unset | None = UNSET
    """The most characters of a result that the model is given; None for no limit. 50,000 by default."""
    handle_tool_errors: ErrorRule | Unset = UNSET
    """What becomes of an exception that the body raises."""

    def __post_init__(self) -> None:
        if not isinstance(self.timeout, Unset) and self.timeout is not None:
            seconds("timeout", self.timeout)
        for name in ("concurrency", "max_output"):
            value = getattr(self, name)
            if not isinstance(value, Unset) and value is not None:
                count(name, value)
        if not isinstance(self.retry, Unset | RetryPolicy) and self.retry is not None:
            raise OptionError(option="retry", value=self.retry, expected="a RetryPolicy or None")
        for name in ("idempotent", "read_only", "destructive", "exclusive"):
            if not isinstance(getattr(self, name), Unset):
                flag(name, getattr(self, name))
        if not isinstance(self.requires_approval, bool | Unset) and not callable(self.requires_approval):
            raise OptionError(
                option="requires_approval",
                value=self.requires_approval,
                expected="True, False or a function of the arguments",
            )
        if not isinstance(self.handle_tool_errors, Unset):
            check_error_rule(self.handle_tool_errors)

    def over(self, *weaker: ToolOptions) -> ToolOptions:
        """These options, with what they leave unset taken from the first of the weaker ones that sets it."""
        layers = (self, *weaker)
        chosen = {
            field.name: next(
                (value for layer in layers if not isinstance(value := getattr(layer, field.name), Unset)), UNSET
            )
            for field in fields(self)
        }
        return replace(self, **chosen)


DEFAULT_OPTIONS: Final = ToolOptions(
    timeout=300.0,
    retry=RetryPolicy(),
    idempotent=False,
    read_only=False,
    destructive=False,
    exclusive=False,
    concurrency=None,
    requires_approval=False,
    max_output=DEFAULT_MAX_OUTPUT,
    handle_tool_errors=True,
)
"""What holds where nobody says otherwise."""
