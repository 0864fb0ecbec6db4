"""How the host's own types are written for a model: functions by type, for every node or for one.

What a renderer returns is rendered in its place, at any depth, so that it may be text, plain data, or values that have
renderers of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from types import NoneType
from typing import Any, Final, TypeAlias, TypeVar

from surehand.errors import OptionError
from surehand.policy import mapping

__all__ = ["RENDERERS", "Renderer", "Renderers", "register_renderer"]

T = TypeVar("T")
Renderer: TypeAlias = Callable[[Any], Any]
"""Takes a value and returns what is rendered in its place."""

_OWN_FORM: Final = frozenset({object, str, int, float, bool, NoneType, dict, list})
"""Types that JSON itself has, and the one that would take in all others."""


class Renderers:
    """Functions by type; the nearest class of a value decides, its own before its bases. Thread-safe.

    Args:
        functions: By type.
        base: Asked for classes that are not among them.

    Raises:
        OptionError: A key is no type that may be registered, or a value no function.
    """

    __slots__ = ("_base", "_functions", "_lock")

    def __init__(self, functions: Mapping[type, Renderer] | None = None, *, base: Renderers | None = None) -> None:
        self._functions: dict[type, Renderer] = {}
        self._base = base
        self._lock = Lock()
        mapping("renderers", functions)
        for kind, function in (functions or {}).items():
            self.add(kind, function)

    def __bool__(self) -> bool:
        return bool(self._functions) or bool(self._base)

    def add(self, kind: type, function: Renderer) -> None:
        """Take in a function, in place of the one that was there for the type.

        Raises:
            OptionError: The type is none that may be registered, or the function cannot be called.
        """
        if not _is_type(kind) or kind in _OWN_FORM:
            raise OptionError(
                option="renderers",
                value=kind,
                expected="a type that JSON does not have itself",
                remedy="Text, numbers, dicts and lists are always written as JSON; register a type of your own.",
            )
        if not callable(function):
            raise OptionError(option="renderers", value=function, expected="a function of one value")
        with self._lock:  # a new mapping each time: others read the old one meanwhile
            self._functions = {**self._functions, kind: function}

    def discard(self, kind: type) -> None:
        """Take out the function of the type, if there is one."""
        with self._lock:
            self._functions = {known: function for known, function in self._functions.items() if known is not kind}

    def find(self, kind: type) -> Renderer | None:
        """The function for values of the type; None where there is none."""
        if not self:
            return None
        return next((function for base in kind.__mro__ if (function := self.of(base)) is not None), None)

    def of(self, kind: type) -> Renderer | None:
        """The function for exactly this type, without a look at its bases; None where there is none."""
        own = self._functions.get(kind)
        return own if own is not None or self._base is None else self._base.of(kind)


def _is_type(value: object) -> bool:  # callers need not be typed
    return isinstance(value, type)


RENDERERS: Final = Renderers()
"""Those that hold for every node."""


def register_renderer(kind: type[T], function: Callable[[T], Any] | None) -> None:
    """Say how values of a type are written for a model, wherever they stand in a result.

    The type's subclasses are included, unless they are registered themselves. A function that raises costs nothing but
    a note: the value is then written as it would be without it. ``ToolNode(renderers={…})`` does the same for one node,
    and is asked first.

    Args:
        kind: The type. Those of JSON itself (text, numbers, dict, list) are always written as JSON.
        function: Takes a value and returns what stands for it: text, data, content blocks, or any value that is
            rendered in turn; one of the same type is written as it would be without the function. None takes an earlier
            registration back.

    Raises:
        OptionError: The type is none that may be registered, or the function cannot be called.

    Example:
        register_renderer(Money, lambda money: f"{money.amount} {money.currency}")
        register_renderer(pandas.DataFrame, lambda table: table.head(20))
    """
    if function is None:
        RENDERERS.discard(kind)
    else:
        RENDERERS.add(kind, function)
