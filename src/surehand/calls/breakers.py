"""Whether a tool that keeps failing is left alone: the circuit breakers of one node, one per tool.

Whoever is let through says how it ended, whatever ended it, and also where the body never began: a half-open breaker
waits for its one probe.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from surehand.calls.history import NOT_EXECUTED
from surehand.calls.table import RegisteredTool
from surehand.concurrency import Clock
from surehand.outcomes import FailureKind, Outcome
from surehand.policy import CircuitBreaker
from surehand.shapes import leaf_errors

__all__ = ["Breakers"]

_FAILURES: Final = frozenset({FailureKind.TOOL_ERROR, FailureKind.EXCEPTION, FailureKind.TIMEOUT})
"""What is the tool's own failure: not the model's mistake, no refusal, no cancellation, no fault of our wiring."""

_Verdict: TypeAlias = Literal["success", "failure"] | None
"""What the end of a call says about its tool; None where it says nothing, as a cancellation."""


@dataclass(slots=True, kw_only=True)
class _Breaker:
    """The state of one tool's breaker; closed while ``opened_at`` is None."""

    policy: CircuitBreaker
    failed_at: deque[float] = field(default_factory=deque[float])
    """When it failed, as far as that still counts."""
    opened_at: float | None = None
    probe_at: float | None = None
    """When the one call was let through whose end decides; None while none is under way."""


class Breakers:
    """The breakers of a node's tools; may be used from several threads and loops at a time.

    Args:
        clock: The host's clock.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._breakers: dict[str, _Breaker] = {}

    def admits(self, tool: RegisteredTool) -> Literal[True] | str:
        """Whether a call of the tool may run now; if not, the words for the model.

        Each call that is let through must be followed by ``ended``.
        """
        policy = tool.options.circuit_breaker
        if not isinstance(policy, CircuitBreaker):
            return True
        with self._lock:
            breaker = self._breakers.get(tool.spec.name)
            if breaker is None or breaker.opened_at is None:
                return True
            now = self._clock.now()
            left = breaker.opened_at + policy.cooldown - now
            if left > 0:
                return _refusal(tool.spec.name, f"for another {left:.3g} seconds")
            if breaker.probe_at is not None:
                return _refusal(tool.spec.name, "until another call has shown whether it works again")
            breaker.probe_at = now
            return True

    def ended(self, tool: RegisteredTool, outcome: Outcome | None, *, began: float | None = None) -> None:
        """Take in how a call ended that was let through.

        Args:
            tool: The tool.
            outcome: How it ended; None where it ended without having run.
            began: When it began, after it was let through; None for just now.
        """
        policy = tool.options.circuit_breaker
        if not isinstance(policy, CircuitBreaker):
            return
        verdict = _verdict(policy, outcome)
        with self._lock:
            now = self._clock.now()
            breaker = self._breakers.get(tool.spec.name)
            if breaker is not None and breaker.opened_at is not None:
                # A call that began while the breaker was closed may end when it is half-open: it is not the probe.
                if breaker.probe_at is not None and (now if began is None else began) >= breaker.probe_at:
                    self._take_probe(tool.spec.name, breaker, verdict, now)
            elif verdict == "failure":
                self._take_failure(breaker or _Breaker(policy=policy), tool.spec.name, now)

    def is_open(self, name: str) -> bool:
        """Whether calls of the tool are refused now, all of them."""
        with self._lock:
            breaker = self._breakers.get(name)
            if breaker is None or breaker.opened_at is None:
                return False
            return self._clock.now() < breaker.opened_at + breaker.policy.cooldown

    def _take_failure(self, breaker: _Breaker, name: str, now: float) -> None:
        self._breakers[name] = breaker
        breaker.failed_at.append(now)
        while breaker.failed_at[0] <= now - breaker.policy.window:
            breaker.failed_at.popleft()
        if len(breaker.failed_at) >= breaker.policy.failures:
            breaker.failed_at.clear()
            breaker.opened_at = now

    def _take_probe(self, name: str, breaker: _Breaker, verdict: _Verdict, now: float) -> None:
        breaker.probe_at = None
        if verdict == "success":
            del self._breakers[name]
        elif verdict == "failure":
            breaker.opened_at = now


def _verdict(policy: CircuitBreaker, outcome: Outcome | None) -> _Verdict:
    if outcome is None:
        return None
    if outcome.kind is None:
        return "success"
    if outcome.kind not in _FAILURES:
        return None
    if policy.errors is None:
        return "failure"
    error = TimeoutError() if outcome.kind is FailureKind.TIMEOUT or outcome.error is None else outcome.error
    return "failure" if any(isinstance(leaf, policy.errors) for leaf in leaf_errors(error)) else None


def _refusal(name: str, how_long: str) -> str:
    return (
        f"{NOT_EXECUTED}the tool {name!r} keeps failing and is left alone {how_long}. "
        "Use another tool, or answer with what you have."
    )
