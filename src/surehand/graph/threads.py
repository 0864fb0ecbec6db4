"""What is kept of a thread, as the host sees and changes it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from surehand.checkpoints import CheckpointRow
from surehand.control import START, RunConfig
from surehand.errors import InputError, shown
from surehand.graph.engine import Run
from surehand.graph.kept import Keeping, Kept
from surehand.graph.plan import Plan
from surehand.graph.saving import Recorder
from surehand.graph.snapshot import Snapshot
from surehand.graph.state import MappingState
from surehand.graph.tasks import Settings
from surehand.interrupts import Interrupt
from surehand.wording import did_you_mean

__all__ = ["StateSnapshot", "StateTask", "change", "history", "look"]

_PAGE: Final = 50
"""How many checkpoints of a history are asked for at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateTask:
    """A node that runs next."""

    name: str
    is_done: bool
    """Whether it has ended, and waits for its siblings."""
    interrupts: tuple[Interrupt, ...]
    """What it asked."""


class StateSnapshot(NamedTuple):
    """A checkpoint of a thread."""

    values: Any
    """The state, as nodes see it."""
    next: tuple[str, ...]
    """The nodes that run next; nothing at the end of a run."""
    config: RunConfig
    """Names the checkpoint: with it a graph goes on from here."""
    metadata: dict[str, Any]
    """``source`` (``input``, ``step``, ``update`` or ``fork``), ``step``, and the nodes that ``ran`` in it."""
    created_at: str | None
    """In ISO 8601, UTC; None for a thread without a checkpoint."""
    parent_config: RunConfig | None
    """Names the checkpoint before; None for the first."""
    tasks: tuple[StateTask, ...]
    interrupts: tuple[Interrupt, ...]
    """The questions that nobody has answered."""


async def look(plan: Plan, settings: Settings, keeping: Keeping, *, is_here: bool) -> StateSnapshot:
    """The thread's newest checkpoint, or the one that the configuration names; an empty one for a new thread.

    Raises:
        CheckpointError: There is none of that name, or it cannot be read.
    """
    recorder = Recorder(keeping)
    kept = await recorder.load_named(plan, settings.checkpoint_id, is_here=is_here)
    return _empty(plan, settings) if kept is None else _seen(plan, kept)


async def history(plan: Plan, keeping: Keeping, *, limit: int | None, is_here: bool) -> AsyncIterator[StateSnapshot]:
    """The thread's checkpoints, the newest first."""
    recorder, before, left = Recorder(keeping), None, limit
    while left is None or left > 0:
        page = _PAGE if left is None else min(_PAGE, left)
        rows = await _page(keeping, before, page, is_here=is_here)
        for row in rows:
            kept = await recorder.load(plan, row.id, is_here=is_here)
            if kept is not None:  # else it was forgotten meanwhile
                yield _seen(plan, kept)
        if len(rows) < page:
            return
        before, left = rows[-1].number, None if left is None else left - len(rows)


async def _page(keeping: Keeping, before: int | None, limit: int, *, is_here: bool) -> list[CheckpointRow]:
    if is_here:
        return keeping.saver.history(keeping.thread_id, before=before, limit=limit)
    return await keeping.saver.ahistory(keeping.thread_id, before=before, limit=limit)


async def change(plan: Plan, settings: Settings, keeping: Keeping, values: object, as_node: str | None) -> RunConfig:
    """Add a checkpoint in which the state is changed as if a node had returned an update.

    Raises:
        InputError: The node is unknown or cannot be told, or the update is none.
        CheckpointError: There is no checkpoint of the name that the configuration gives.
        CheckpointConflict: A run has gone on with the thread.
    """
    recorder = Recorder(keeping)
    kept = await recorder.load_named(plan, settings.checkpoint_id, is_here=False)
    before = Snapshot(step=-1, values=plan.state.initial(), tasks=()) if kept is None else kept.snapshot
    if kept is not None:
        recorder.stand_on(kept, await recorder.newest(is_here=False))
    node = _node(plan, before, as_node)
    writes = [] if values is None else plan.state.read_update(node, values, values=before.values)
    merged = plan.state.merge(before.values, writes)
    plan.state.check(merged, (node,))
    run = Run(plan, settings, before, recorder=recorder)
    after = await run.led_on(before, [node], merged, ran=() if node == START else (node,), is_here=False)
    await recorder.put(after, source="update", wrote={write.key for write in writes}, is_here=False)
    return _named(keeping.thread_id, recorder.checkpoint_id)


def _node(plan: Plan, before: Snapshot, as_node: str | None) -> str:
    if as_node is not None:
        if as_node == START or as_node in plan.nodes:
            return as_node
        raise InputError(
            problem="The state can only be changed as one of the graph's nodes",
            value=as_node,
            remedy=f"Expected one of: {', '.join([START, *plan.nodes])}.{did_you_mean(as_node, plan.nodes)}",
        )
    if len(before.ran) > 1:
        raise InputError(
            problem=f"The nodes {', '.join(map(shown, before.ran))} ran in the last step, so that it cannot be told as "
            "which of them the state is to be changed",
            value=None,
            remedy="Pass as_node=….",
        )
    return before.ran[0] if before.ran else START


def _seen(plan: Plan, kept: Kept) -> StateSnapshot:
    row, snapshot = kept.row, kept.snapshot
    return StateSnapshot(
        values=plan.state.view(snapshot.values),
        next=tuple(task.node for task in snapshot.tasks),
        config=_named(row.thread_id, row.id),
        metadata={"source": kept.source, "step": snapshot.step, "ran": list(snapshot.ran)},
        created_at=kept.created_at,
        parent_config=None if row.parent is None else _named(row.thread_id, row.parent),
        tasks=tuple(
            StateTask(name=task.node, is_done=position in kept.updates, interrupts=kept.questions.get(position, ()))
            for position, task in enumerate(snapshot.tasks)
        ),
        interrupts=kept.open,
    )


def _empty(plan: Plan, settings: Settings) -> StateSnapshot:
    values: Any = {} if isinstance(plan.state, MappingState) else None
    return StateSnapshot(values, (), settings.config, {}, None, None, (), ())


def _named(thread_id: str, checkpoint_id: str) -> RunConfig:
    return {"configurable": {"thread_id": thread_id, "checkpoint_id": checkpoint_id}}
