"""When a tool that keeps failing is left alone for a while."""

from __future__ import annotations

from dataclasses import dataclass

from surehand.errors import OptionError
from surehand.policy.checks import are_exceptions, count, flag, seconds

__all__ = ["CircuitBreaker"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitBreaker:
    """When calls of a tool are refused because it keeps failing.

    *Closed*, calls run. After ``failures`` failures within ``window`` seconds it is *open*: calls are answered
    ``limit`` at once. After ``cooldown`` seconds it is *half-open*: one call is let through; its success closes it, its
    failure opens it anew. What the model did wrong is no failure of the tool.

    Example:
        @tool(circuit_breaker=CircuitBreaker(failures=3, cooldown=60))
        def quote(symbol: str) -> float: ...

    Raises:
        OptionError: A value cannot be meant.
    """

    failures: int = 5
    """How many failures open it."""
    window: float = 60.0
    """The seconds within which they count."""
    cooldown: float = 30.0
    """Seconds it stays open before one call is let through."""
    errors: type[Exception] | tuple[type[Exception], ...] | None = None
    """The exceptions that count; None for all, and for timeouts."""
    hides_tool: bool = False
    """Whether the tool is not offered to the model while it is open."""

    def __post_init__(self) -> None:
        count("failures", self.failures)
        seconds("window", self.window)
        seconds("cooldown", self.cooldown)
        flag("hides_tool", self.hides_tool)
        if self.errors is not None and not are_exceptions(self.errors):
            raise OptionError(option="errors", value=self.errors, expected="an exception type, a tuple of them or None")
