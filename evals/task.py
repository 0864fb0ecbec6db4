"""A task: a request, tools that misbehave as real ones do, and what must have happened in the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from evals.answers import Check, anything
from evals.world import Effect, Function, Offer, World

__all__ = ["Task"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One request to an agent."""

    name: str
    stress: str
    """What of the tool layer it stresses, in a few words for the table."""
    request: str
    """What the user says."""
    tools: Callable[[World], list[Function | Offer]]
    """Makes the tools of one run; their state is the run's own."""
    answer: Check = anything
    """What the final answer must say."""
    effects: tuple[Effect, ...] = ()
    """What must have happened, each exactly as often as it stands here, in any order; and nothing else."""
