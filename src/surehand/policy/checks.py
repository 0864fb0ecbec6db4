"""Checks of option values: what cannot be meant is refused when it is given, with the value in the words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeGuard, TypeVar

from surehand.callables import is_async_callable
from surehand.errors import OptionError

__all__ = [
    "are_exceptions",
    "check_function",
    "check_methods",
    "check_plain_function",
    "count",
    "count_or_none",
    "flag",
    "instance",
    "is_function",
    "mapping",
    "seconds",
    "seconds_or_none",
    "text",
    "whole",
    "words",
]

T = TypeVar("T")

_NO_LIMIT: Final = "Use None for no limit."


def seconds(option: str, value: object) -> float:
    """The value as a positive, finite number of seconds.

    Raises:
        OptionError: The value is not a number above 0.
    """
    return _seconds(option, value)


def seconds_or_none(option: str, value: object) -> float | None:
    """The same, of an option for which None is no limit.

    Raises:
        OptionError: The value is neither None nor a number above 0.
    """
    return None if value is None else _seconds(option, value, _NO_LIMIT)


def _seconds(option: str, value: object, remedy: str = "") -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < float("inf"):
        raise OptionError(option=option, value=value, expected="a number of seconds above 0", remedy=remedy)
    return float(value)


def count(option: str, value: object) -> int:
    """The value as a whole number of at least 1.

    Raises:
        OptionError: The value is no whole number above 0.
    """
    return _count(option, value)


def count_or_none(option: str, value: object) -> int | None:
    """The same, of an option for which None is no limit.

    Raises:
        OptionError: The value is neither None nor a whole number above 0.
    """
    return None if value is None else _count(option, value, _NO_LIMIT)


def _count(option: str, value: object, remedy: str = "") -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise OptionError(option=option, value=value, expected="a whole number of at least 1", remedy=remedy)
    return value


def whole(option: str, value: object) -> int:
    """The value as a whole number of at least 0.

    Raises:
        OptionError: The value is no whole number, or below 0.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise OptionError(option=option, value=value, expected="a whole number of at least 0")
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


def instance(option: str, value: object, kind: type[T]) -> T | None:
    """The value as one of a class of ours; None stays None.

    Raises:
        OptionError: The value is something else.
    """
    if value is None or isinstance(value, kind):
        return value
    raise OptionError(option=option, value=value, expected=f"a {kind.__name__} or None")


def check_function(option: str, value: object) -> None:
    """Refuse what is neither None nor can be called.

    Raises:
        OptionError: The value cannot be called.
    """
    if value is not None and not callable(value):
        raise OptionError(option=option, value=value, expected="a function or None")


def check_plain_function(option: str, value: object, *, expected: str) -> None:
    """Refuse what cannot be called, or gives a coroutine, which nobody awaits and which would be taken for a yes.

    Raises:
        OptionError: The value cannot be called, or is asynchronous.
    """
    if not is_function(value):
        raise OptionError(option=option, value=value, expected=expected)
    if is_async_callable(value):
        raise OptionError(option=option, value=value, expected=expected, remedy="Write it without async.")


def check_methods(option: str, value: object, *names: str) -> None:
    """Refuse what is not None and lacks one of the methods.

    Raises:
        OptionError: A method is missing.
    """
    missing = [name for name in names if not callable(getattr(value, name, None))]
    if value is not None and missing:
        raise OptionError(option=option, value=value, expected=f"an object with the methods {', '.join(names)}")


def are_exceptions(rule: object) -> TypeGuard[type[Exception] | tuple[type[Exception], ...]]:
    """Whether the value is an exception type, or several of them."""
    types: tuple[Any, ...] = rule if isinstance(rule, tuple) else (rule,)  # pyright: ignore[reportUnknownVariableType] - any items
    return bool(types) and all(isinstance(item, type) and issubclass(item, Exception) for item in types)


def is_function(rule: object) -> TypeGuard[Callable[[Exception], Any]]:
    """Whether the value can be called and is no class."""
    return callable(rule) and not isinstance(rule, type)
