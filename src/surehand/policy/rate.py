"""How many calls may start in a time."""

from __future__ import annotations

from dataclasses import dataclass

from surehand.policy.checks import count, seconds

__all__ = ["RateLimit"]


@dataclass(frozen=True, slots=True)
class RateLimit:
    """At most ``calls`` starts in any span of ``per`` seconds; further calls wait for their turn.

    Example:
        @tool(rate_limit=RateLimit(10, per=60))
        def search(query: str) -> list[str]: ...

    Raises:
        OptionError: ``calls`` is no whole number above 0, or ``per`` no number of seconds above 0.
    """

    calls: int
    """How many calls may start."""
    per: float = 1.0
    """The span, in seconds."""

    def __post_init__(self) -> None:
        count("calls", self.calls)
        seconds("per", self.per)
