"""A run between two steps, and what a step did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from surehand.graph.routing import Task
from surehand.graph.state import Values
from surehand.graph.updates import Update
from surehand.interrupts import Interrupt

__all__ = ["INTERRUPT", "Snapshot", "Step", "with_interrupts"]

INTERRUPT: Final = "__interrupt__"
"""The key under which the host finds the questions that a run waits for."""


class Snapshot(NamedTuple):
    """A run between two steps: all that it takes to go on."""

    step: int
    """How many steps ran in the thread."""
    values: Values
    tasks: tuple[Task, ...]
    """What runs next; nothing at the end."""
    arrived: Mapping[int, frozenset[str]] = {}
    """By the position of a join: the sources it has seen so far."""
    deferred: tuple[Task, ...] = ()
    """What runs when nothing else is left to run."""
    ran: tuple[str, ...] = ()
    """The nodes of the step that led here."""


class Step(NamedTuple):
    """What one step did."""

    updates: tuple[Update, ...]
    """In the order in which they were applied; empty for the entry, and for a step that waits for answers."""
    after: Snapshot
    interrupts: tuple[Interrupt, ...] = ()
    """What has to be answered before the step can end; the snapshot is the one before it then."""


def with_interrupts(state: Any, values: Values, interrupts: Sequence[Interrupt]) -> Any:
    """The state as the host sees it, with the questions that wait for answers: a dict, whatever the state is else."""
    if not interrupts:
        return state
    shown = cast("Mapping[str, Any]", state) if isinstance(state, Mapping) else values
    return {**shown, INTERRUPT: list(interrupts)}
