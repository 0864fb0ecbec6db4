"""Values whose shape nobody promises: foreign JSON, and what hosts hand in.

Answers come in a form that type checkers understand; nothing here raises. ``isinstance`` would answer too, but leaves a
checker in strict mode with containers of unknown items, and so with an ignore at every use.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, TypeGuard, TypeVar, cast

__all__ = [
    "JSON_TYPES",
    "attach",
    "is_a",
    "is_array",
    "is_object",
    "is_pair",
    "is_same",
    "items_of",
    "leaf_errors",
    "mapping_of",
]

T = TypeVar("T")

JSON_TYPES: Final = frozenset({str, dict, list, int, float, bool, type(None)})
"""The types of most values: there is nothing in one of exactly these to be awaited, gone through or asked."""

_NOTHING: Final[Mapping[str, Any]] = {}


def is_a(value: object, kind: type[T]) -> TypeGuard[T]:
    """Whether the value is one of these, which are no JSON data."""
    # Nearly all values are of the very types of JSON: they need not be asked.
    return type(value) not in JSON_TYPES and _is_instance(value, kind)


def is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether the value is a mapping."""
    # The very class is what nearly always comes, here and for lists, and costs a fraction of what others do.
    return type(value) is dict or _is_instance(value, Mapping)


def _is_instance(value: object, kind: type) -> bool:
    """``isinstance``; what does not let itself be asked, such as a proxy of nothing, is an instance of nothing."""
    try:
        return isinstance(value, kind)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - ``__class__`` may be the value's own code
        return False


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Whether the value is a list."""
    return type(value) is list or _is_instance(value, list)  # pyright: ignore[reportUnknownArgumentType] - any value


def is_pair(value: object) -> TypeGuard[tuple[Any, Any]]:
    """Whether the value is a tuple of two."""
    return is_a(value, tuple) and len(value) == 2  # noqa: PLR2004 - a pair  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - only its length counts


def mapping_of(value: object) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return value if is_object(value) else _NOTHING


def items_of(value: object) -> list[Any]:
    """The items of a list or tuple, in a new list; of anything else none."""
    return list(cast("list[Any]", value)) if is_array(value) or is_a(value, tuple) else []


def is_same(left: object, right: object) -> bool:
    """Whether two values are one, or equal as far as they can tell; False where comparing them fails."""
    if left is right:
        return True
    try:
        return bool(left == right)
    except Exception:  # noqa: BLE001 - an __eq__ of the host's (arrays, frames) may raise anything, and then says nothing
        return False


def attach(error: BaseException, **evidence: object) -> None:
    """Put evidence on an exception, also where its class does not want to be assigned to, as a frozen dataclass."""
    for name, value in evidence.items():
        with suppress(Exception):  # a property of this name: the exception speaks for itself
            object.__setattr__(error, name, value)


def leaf_errors(error: BaseException, *, limit: int = 1_000) -> list[BaseException]:
    """The exceptions inside a group, in order, nested groups opened; the exception itself where it is none."""
    leaves: list[BaseException] = []
    waiting = [error]
    for _ in range(limit):
        if not waiting:
            break
        current = waiting.pop()
        inner = _inner_errors(current)
        if inner:
            waiting += reversed(inner)
        else:
            leaves.append(current)
    return leaves or [error]


def _inner_errors(error: BaseException) -> list[BaseException]:
    if not issubclass(type(error), BaseExceptionGroup):
        return []
    # By way of the base class, whatever a subclass does to the attribute.
    return list(vars(BaseExceptionGroup)["exceptions"].__get__(error))
