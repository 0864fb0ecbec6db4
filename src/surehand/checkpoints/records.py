"""What a saver keeps, as plain values; every text in them is JSON that the saver does not look into.

A checkpoint is a run between two steps. It names a version for each key of the state; what stands under a version is a
text that begins anew (``previous`` is None) or says what changed since the version before, so that a conversation is
stored once, however many checkpoints it runs through. Versions belong to the thread and namespace: no two checkpoints
write the same one, also where a thread was forked, so that a chain of versions leads back from any checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = ["CallRow", "CallState", "ChannelRow", "CheckpointRow", "LoadedCheckpoint", "WriteRow"]

CallState: TypeAlias = Literal["running", "waiting", "done", "failed"]
"""``running``: the body was about to start; ``waiting``: it asked, and did nothing yet; the others: it ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRow:
    """A run between two steps."""

    thread_id: str
    namespace: str
    """Empty for the graph itself; a path for a graph that runs inside of it."""
    id: str
    """Unique in the thread and namespace; ids sort as their ``number`` does."""
    number: int
    """1 for the first checkpoint of a thread and namespace, then one more for each, also after a fork."""
    parent: str | None
    """The id of the checkpoint that it came from; None for the first."""
    body: str
    created_at: float
    """Seconds since the epoch."""
    channels: Mapping[str, int] = field(default_factory=dict[str, int])
    """The version of each key of the state; a version is the number of the checkpoint that wrote it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelRow:
    """One version of one key of the state."""

    key: str
    version: int
    previous: int | None
    """The version that the text is a change of; None where it begins anew."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRow:
    """What became known after a checkpoint and before the next: an update, a question, an answer."""

    task: str
    kind: str
    number: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedCheckpoint:
    """A checkpoint with all that belongs to it."""

    row: CheckpointRow
    channels: Mapping[str, tuple[str, ...]]
    """For each key of the state, the texts of its chain of versions, the oldest first."""
    writes: tuple[WriteRow, ...]
    """In the order of task, kind and number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRow:
    """What is known of one call."""

    key: str
    """Which call it is; see ``CallKey.idempotency_key``."""
    version: int
    """1 for the first row of a call, then one more for each that takes its place."""
    state: CallState
    text: str
    changed_at: float
    """Seconds since the epoch."""
