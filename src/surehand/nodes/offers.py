"""What a model is offered for a turn, and how the turn that follows finds it again.

A model is offered tools, and some time later calls one of them; both have to mean the same tools. So what was offered
in a run of a graph is remembered there, under the message that the model was to answer, and the turn is resolved
against it, whatever the function would give by then. What was offered under one message in two ways, as by two branches
that run side by side, is not used at all: a turn must not get hold of tools that were meant for another.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final, cast

from surehand.calls import Guard, Host, RegisteredTool, ToolTable
from surehand.control import Runtime
from surehand.messages import Message, ToolMessage
from surehand.nodes.tool_sets import ToolSet
from surehand.outcomes import FailureKind
from surehand.policy import CircuitBreaker
from surehand.shapes import is_object
from surehand.spec import wire_name

__all__ = ["Offers", "can_be_called", "had", "is_hidden_at_times"]

_KEPT: Final = 32
"""How many turns of a run are remembered."""


@dataclass(slots=True)
class Offers:
    """What a node's models were offered in one run."""

    names: set[str] = field(default_factory=set[str])
    """Every name that was offered."""
    _by_mark: OrderedDict[Hashable, tuple[ToolSet | None, Any]] = field(
        default_factory=OrderedDict[Hashable, "tuple[ToolSet | None, Any]"]
    )
    """The set under the message it was offered for; None where there were two."""
    _lock: Lock = field(default_factory=Lock)

    @classmethod
    def of(cls, runtime: Runtime, node: object) -> Offers:
        """What was offered by a node in this run."""
        return cast("Offers", runtime.shared.setdefault((cls, node), cls()))

    def remember(self, tools: ToolSet, messages: Sequence[Any]) -> None:
        """Note what was offered for the answer to these messages, as the state holds them."""
        mark = _mark_of(messages)
        with self._lock:
            self.names.update(tool.spec.name for tool in tools.tools)
            before, _ = self._by_mark.get(mark, (tools, None))
            # The message is kept too: where it has no id, its place in memory must not become another's.
            self._by_mark[mark] = (tools if before is tools else None, messages[-1] if messages else None)
            self._by_mark.move_to_end(mark)
            if len(self._by_mark) > _KEPT:
                self._by_mark.popitem(last=False)

    def recall(self, messages: Sequence[Any]) -> ToolSet | None:
        """What was offered for the answer to these messages; None where nobody knows."""
        with self._lock:
            return self._by_mark.get(_mark_of(messages), (None, None))[0]


def _mark_of(messages: Sequence[Any]) -> Hashable:
    """What tells the newest of these messages from others."""
    if not messages:
        return None
    newest = messages[-1]
    given: object = newest.get("id") if is_object(newest) else getattr(newest, "id", None)
    return given if isinstance(given, str) else id(newest)


def _names_in(messages: Sequence[Message]) -> frozenset[str]:
    """The names of tools that answered in a conversation."""
    answers = (message for message in messages if isinstance(message, ToolMessage) and message.name)
    return frozenset(str(answer.name) for answer in answers if not _is_unknown(answer))


def _is_unknown(answer: ToolMessage) -> bool:
    if answer.outcome is None:  # a payload keeps nothing but the words
        return answer.text.startswith("There is no tool named ")
    return answer.outcome.kind is FailureKind.UNKNOWN_TOOL


def had(offers: Offers | None, messages: Sequence[Message]) -> Callable[[str], bool]:
    """Asks whether a tool of a name, or of one that is the same on the wire, was there before."""

    def was_there(name: str) -> bool:
        known = _names_in(messages) | (frozenset[str]() if offers is None else frozenset(offers.names))
        return name in known or name in map(wire_name, known)

    return was_there


def is_hidden_at_times(tool: RegisteredTool) -> bool:
    """Whether the tool is not offered while its circuit breaker is open."""
    breaker = tool.options.circuit_breaker
    return isinstance(breaker, CircuitBreaker) and breaker.hides_tool


def can_be_called(name: str, table: ToolTable, host: Host, guard: Guard | None) -> bool:
    """Whether a call of the tool could run now: its breaker does not hide it, and its limit is not used up."""
    tool = table.get(name)
    if tool is not None and is_hidden_at_times(tool) and host.breakers is not None and host.breakers.is_open(name):
        return False
    return guard is None or not guard.is_used_up(name)
