"""The callable of a tool, and how arguments reach its parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MethodType
from typing import Any

from surehand.errors import ToolDefinitionError
from surehand.spec.injection import Injection

__all__ = ["Body"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A function of the host, ready to be called with named values."""

    function: Callable[..., Any]
    """What is called."""
    is_async: bool = False
    """Whether calling it gives a coroutine."""
    injections: tuple[Injection, ...] = ()
    """The parameters that the host fills."""
    positional: tuple[tuple[str, Any], ...] = ()
    """Name and default (UNSET for none) of the parameters that have to be passed by position, in order."""
    variadic: str | None = None
    """The name of the ``*args`` parameter, whose items follow the positional ones; None without one."""
    receiver: str | None = None
    """``self`` or ``cls``, for a method that was taken from its class and is not bound yet; else None."""
    reserved: frozenset[str] = frozenset()
    """Names whose values stand already, such as those a partial binds; what a model sends under them is discarded."""

    def call(self, values: Mapping[str, Any], injected: Mapping[str, Any]) -> Any:
        """Call the function; a coroutine function gives its coroutine.

        Args:
            values: Parameter name -> value; names that are no parameter go to ``**kwargs``.
            injected: Parameter name -> value, for the injected ones; they win over ``values``.

        Raises:
            ToolDefinitionError: The function is a method that was never bound to an instance.
        """
        if self.receiver is not None:
            raise ToolDefinitionError(
                tool=getattr(self.function, "__qualname__", repr(self.function)),
                problem="it was taken from its class, so there is no instance to call it on",
                remedy="Take it from an instance, as in Class().method.",
            )
        if not self.positional and self.variadic is None:
            return self.function(**{**values, **injected}) if injected else self.function(**values)
        return self._call_by_position({**values, **injected})

    def _call_by_position(self, values: dict[str, Any]) -> Any:
        items = values.pop(self.variadic, ()) if self.variadic is not None else ()
        leading = [values.pop(name, default) for name, default in self.positional]
        return self.function(*leading, *items, **values)

    def bind(self, receiver: object) -> Body:
        """The body of the method on an instance (or class); itself where nothing is to be bound."""
        if self.receiver is None:
            return self
        return replace(self, function=MethodType(self.function, receiver), receiver=None)
