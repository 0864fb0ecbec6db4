"""The options of a tool: plain values, checked when they are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal

from surehand.errors import OptionError
from surehand.policy.breaker import CircuitBreaker
from surehand.policy.checks import check_function, check_plain_function, count_or_none, flag, seconds_or_none, text
from surehand.policy.error_rules import ErrorRule, check_error_rule
from surehand.policy.rate import RateLimit
from surehand.policy.retry import RetryPolicy
from surehand.policy.unset import UNSET, Unset

__all__ = ["DEFAULT_MAX_OUTPUT", "DEFAULT_OPTIONS", "ToolOptions"]

DEFAULT_MAX_OUTPUT: Final = 50_000
"""Characters that a model is given of a result, where nobody says otherwise: some 12,000 tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOptions:
    """The options of a tool that decide how its calls are run; UNSET where nobody said anything.

    They can be given on the tool, as defaults of a node, and per tool on a node; the most specific wins:
    node override for that tool, then tool, then node default.
    """

    timeout: float | Unset | None = UNSET
    """Seconds a body may take, from its start; None for no limit. 300 by default."""
    idle_timeout: float | Unset | None = UNSET
    """Seconds a body may go without a sign of life (``heartbeat``, ``progress``, an item of a generator); None for no
    limit."""
    isolation: Literal["thread", "process"] | Unset = UNSET
    """Where the body runs: beside the program's own code, or in a process of its own that can really be ended."""
    retry: RetryPolicy | Unset | None = UNSET
    """The retry policy; None for no retries."""
    idempotent: bool | Unset = UNSET
    """Whether running the call twice is the same as running it once."""
    read_only: bool | Unset = UNSET
    """Whether the call changes nothing."""
    destructive: bool | Unset = UNSET
    """Whether the call may destroy something: such a call is never run on a guess of any kind."""
    exclusive: bool | Callable[[Any], Iterable[str]] | Unset = UNSET
    """Whether no other call of the turn may run at the same time; a function of the arguments names what the call needs
    for itself, and calls of the node that share a name run one after another."""
    concurrency: int | Unset | None = UNSET
    """How many calls of the tool may run at a time; None for no limit."""
    group: str | Unset | None = UNSET
    """The name of a set of tools that share a limit of the node (``groups=``); None for no group."""
    rate_limit: RateLimit | Unset | None = UNSET
    """How many calls of the tool may start in a time; more wait. None for no limit."""
    circuit_breaker: CircuitBreaker | Unset | None = UNSET
    """When calls of a tool that keeps failing are refused for a while; None for never."""
    repeat_guard: bool | Unset = UNSET
    """Whether a call that succeeded before in the run, or may have, and comes again word for word, is answered with
    what is known of it unless the model insists; never for tools that are ``read_only`` or ``idempotent``."""
    requires_approval: bool | Callable[[Any], bool] | Unset = UNSET
    """Whether a human has to agree first; a function decides by the arguments."""
    approval_timeout: float | Unset | None = UNSET
    """Seconds that a human has to agree to a call, where a run waits for him; None for ever."""
    reconcile: Callable[[Any], Any] | Unset | None = UNSET
    """Asked what became of a call that was interrupted while it ran: a function, sync or async, of a ``DoubtfulCall``
    that returns ``Happened(result)``, ``DidNotHappen()``, or None where it cannot tell either. Not asked where the tool
    may run twice. None for no such function."""
    on_unknown: Literal["tell", "ask"] | Unset = UNSET
    """What becomes of such a call where nobody can tell: the model is told so, or a human is asked where a run can wait
    for him."""
    max_output: int | Unset | None = UNSET
    """The most characters of a result that the model is given; None for no limit. 50,000 by default."""
    handle_tool_errors: ErrorRule | Unset = UNSET
    """What becomes of an exception that the body raises."""

    def __post_init__(self) -> None:
        for name in ("timeout", "idle_timeout", "approval_timeout"):
            value = getattr(self, name)
            if not isinstance(value, Unset):
                seconds_or_none(name, value)
        self._check_types()
        for name in ("concurrency", "max_output"):
            value = getattr(self, name)
            if not isinstance(value, Unset):
                count_or_none(name, value)
        for name in ("idempotent", "read_only", "destructive", "repeat_guard"):
            if not isinstance(getattr(self, name), Unset):
                flag(name, getattr(self, name))
        for name in ("exclusive", "requires_approval"):
            _check_rule(name, getattr(self, name))
        if not isinstance(self.handle_tool_errors, Unset):
            check_error_rule(self.handle_tool_errors)

    def _check_types(self) -> None:
        for name, kind in (("retry", RetryPolicy), ("rate_limit", RateLimit), ("circuit_breaker", CircuitBreaker)):
            value = getattr(self, name)
            if not isinstance(value, Unset | kind) and value is not None:
                raise OptionError(option=name, value=value, expected=f"a {kind.__name__} or None")
        if not isinstance(self.isolation, Unset) and self.isolation not in ("thread", "process"):
            raise OptionError(option="isolation", value=self.isolation, expected="'thread' or 'process'")
        if not isinstance(self.on_unknown, Unset) and self.on_unknown not in ("tell", "ask"):
            raise OptionError(option="on_unknown", value=self.on_unknown, expected="'tell' or 'ask'")
        if not isinstance(self.reconcile, Unset):
            check_function("reconcile", self.reconcile)
        if not isinstance(self.group, Unset) and self.group is not None:
            text("group", self.group)

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


def _check_rule(option: str, rule: object) -> None:
    if isinstance(rule, bool | Unset):
        return
    check_plain_function(option, rule, expected="True, False or a function of the arguments")


DEFAULT_OPTIONS: Final = ToolOptions(
    timeout=300.0,
    idle_timeout=None,
    isolation="thread",
    retry=RetryPolicy(),
    idempotent=False,
    read_only=False,
    destructive=False,
    exclusive=False,
    concurrency=None,
    group=None,
    rate_limit=None,
    circuit_breaker=None,
    repeat_guard=True,
    requires_approval=False,
    approval_timeout=None,
    reconcile=None,
    on_unknown="tell",
    max_output=DEFAULT_MAX_OUTPUT,
    handle_tool_errors=True,
)
"""What holds where nobody says otherwise."""
