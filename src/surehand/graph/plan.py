"""A graph that was checked, as plain values: what the engine runs and the drawing shows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from surehand.checkpoints import Checkpointer
from surehand.graph.actions import Action
from surehand.graph.caching import NodeCache
from surehand.graph.schema import types_of
from surehand.graph.state import State
from surehand.policy import RetryPolicy

__all__ = ["DEFAULT_LIMIT", "Branch", "Join", "Node", "Plan"]

DEFAULT_LIMIT: Final = 25
"""Steps a run may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node."""

    name: str
    index: int
    """The position in the order in which nodes were added: the order in which updates are applied."""
    action: Action
    takes_messages: bool
    """Whether it is a chat model, called with the conversation alone."""
    subgraph: Plan | None
    """The graph that it is; None for everything else."""
    retry: RetryPolicy | None
    destinations: frozenset[str] | None
    """Where its commands may lead; None where that is not known."""
    timeout: float | None = None
    """Seconds that an attempt may take; None for no limit."""
    is_deferred: bool = False
    """Whether it runs when nothing else is left to run."""
    cache: NodeCache | None = None
    """What it returned before; None where nothing is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A conditional edge."""

    source: str
    label: str
    """How messages name the path."""
    path: Action
    targets: Mapping[Hashable, str] | None
    """What the path's answers mean; None where it answers with names."""
    declared: tuple[str, ...]
    """The targets that are known: those of the map, or of the ``Literal`` that the path is annotated to return."""
    is_closed: bool
    """Whether the declared targets are all there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """An edge that waits for several nodes."""

    sources: tuple[str, ...]
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A whole graph."""

    name: str
    state: State
    nodes: Mapping[str, Node]
    edges: Mapping[str, tuple[str, ...]]
    """By source."""
    branches: Mapping[str, tuple[Branch, ...]]
    """By source."""
    joins: tuple[Join, ...]
    store: Any
    """What nodes find as their store; None without one."""
    recursion_limit: int = DEFAULT_LIMIT
    """Steps a run may take where its configuration does not say."""
    checkpointer: Checkpointer | None = None
    """Keeps the runs; None where they are not kept, and in a graph inside of another one."""
    schema: Any = None
    """The state's schema, whose annotations name types that checkpoints may hold."""
    types: frozenset[type] = frozenset()
    """Further types that they may hold."""
    pauses_before: frozenset[str] = frozenset()
    """The nodes before which a run stops, until somebody goes on with it."""
    pauses_after: frozenset[str] = frozenset()
    """The nodes after which a run stops."""

    def all_types(self) -> frozenset[type]:
        """The types of values in checkpoints of this graph and of those inside of it."""
        own = self.types | types_of(self.schema)
        inner = [node.subgraph.all_types() for node in self.nodes.values() if node.subgraph is not None]
        return own.union(*inner)
