"""What a tool says about a call of which nobody knows whether it happened: ``@tool(reconcile=…)``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

__all__ = ["DidNotHappen", "DoubtfulCall", "Happened", "Reconciled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DoubtfulCall:
    """A call whose body was started, and of whose end nothing is known: the program ended meanwhile."""

    call_id: str
    tool_name: str
    arguments: Mapping[str, Any]
    """The typed arguments by parameter name: those that the body would get if it ran again."""
    idempotency_key: str
    """What ``ToolContext.idempotency_key`` was in the body."""
    begun_at: float
    """When the body was started, in seconds since the epoch; 0 where that is not known."""
    thread_id: str = ""
    """The conversation; empty where it has no name."""
    context: Any = field(default=None, repr=False)
    """The host's own object, as given to ``invoke(…, context=…)``; None without one."""


@dataclass(frozen=True, slots=True)
class Happened:
    """The call had its effect."""

    result: Any = None
    """What the tool would have returned; it becomes the answer like any result."""


@dataclass(frozen=True, slots=True)
class DidNotHappen:
    """The call had no effect, and will have none: it is run."""


Reconciled: TypeAlias = Happened | DidNotHappen | None
"""What a ``reconcile`` function returns, or awaits; None where it cannot tell either."""
