"""A run is kept: the snapshots between its steps, and what becomes known between them.

Each graph of a run has a namespace in the thread: empty for the graph itself, and below it
``<checkpoint>:<position of the task>`` for what runs inside of a task. The checkpoint's id tells a fork's tasks from
those of the run that it was forked from.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from surehand.checkpoints import ChannelRow, CheckpointRow, WriteRow
from surehand.checkpoints.codec import Track
from surehand.control import Command
from surehand.errors import CheckpointError
from surehand.graph.channels import Write
from surehand.graph.kept import ANSWER, EXPIRING, QUESTIONS, RUN, UPDATE, WRITES, Keeping, Kept, Source, read_kept
from surehand.graph.plan import Plan
from surehand.graph.routing import WHOLE_STATE, Task
from surehand.graph.snapshot import Snapshot
from surehand.graph.updates import Update
from surehand.interrupts import Answer, Interrupt, InterruptScope

__all__ = ["Recorder"]


class Recorder:
    """Keeps one graph of a run.

    Args:
        keeping: What keeps the run.
        namespace: Where the graph is kept.
        inside: The namespace and the checkpoint of the step that the graph runs in; None for one that runs in none.
    """

    def __init__(self, keeping: Keeping, namespace: str = "", *, inside: tuple[str, str] | None = None) -> None:
        self.keeping = keeping
        self.namespace = namespace
        self._inside = inside
        self.checkpoint_id = ""
        """Where the run stands; empty before its first checkpoint."""
        self._newest: CheckpointRow | None = None
        self._tracks: dict[str, Track] = {}
        self._stored: dict[str, Any] = {}
        """The values that are stored; one that nobody wrote and that is still the same object has not changed."""
        self._channels: dict[str, int] = {}
        self._texts: list[str] = []
        """What nodes wrote so far, in a graph inside of another one."""

    def inside(self, position: int) -> Recorder:
        """What keeps a graph that runs inside of a task of the next step."""
        return self.within(self.keeping, self.namespace_of(position))

    @classmethod
    def within(cls, keeping: Keeping, task: str, *, place: str = "") -> Recorder:
        """What keeps a graph that runs inside of a task, by the task's namespace, or under a place in it."""
        around, _, last = task.rpartition("/")
        namespace = f"{task}/{place}" if place else task
        keeping.entered.add(namespace)
        return cls(keeping, namespace, inside=(around, last.partition(":")[0]))

    def namespace_of(self, position: int) -> str:
        """Where what runs inside of a task is kept."""
        name = f"{self.checkpoint_id}:{position}"
        return f"{self.namespace}/{name}" if self.namespace else name

    def scope(self, position: int, node: str) -> InterruptScope:
        """Where a task of the next step asks."""
        keeping = self.keeping
        return InterruptScope(
            keeping.questions, (keeping.thread_id, self.namespace, self.checkpoint_id, str(position)), node=node
        )

    @property
    def is_at_newest(self) -> bool:
        """Whether nobody has gone on from where the run stands."""
        return self._newest is None or self._newest.id == self.checkpoint_id

    # Reading

    async def load(self, plan: Plan, checkpoint_id: str | None = None, *, is_here: bool) -> Kept | None:
        """A checkpoint, by default the newest one; None where there is none.

        Raises:
            CheckpointError: It cannot be read, or is none of this graph.
        """
        thread, saver = self.keeping.thread_id, self.keeping.saver
        if is_here:
            loaded = saver.load(thread, self.namespace, checkpoint_id)
        else:
            loaded = await saver.aload(thread, self.namespace, checkpoint_id)
        return None if loaded is None else read_kept(self.keeping, plan, loaded)

    async def load_named(self, plan: Plan, checkpoint_id: str | None, *, is_here: bool) -> Kept | None:
        """The checkpoint that a configuration names, or the newest where it names none; None for a new thread.

        Raises:
            CheckpointError: There is none of that name, or it cannot be read.
        """
        kept = await self.load(plan, checkpoint_id, is_here=is_here)
        if kept is None and checkpoint_id is not None:
            raise CheckpointError(
                problem="there is no such checkpoint",
                remedy="Take an id from get_state_history.",
                thread_id=self.keeping.thread_id,
                where=f"checkpoint {checkpoint_id!r}",
            )
        return kept

    async def newest(self, *, is_here: bool) -> CheckpointRow | None:
        """The newest checkpoint there is, whoever wrote it."""
        thread, saver = self.keeping.thread_id, self.keeping.saver
        if is_here:
            return saver.newest(thread, self.namespace)
        return await saver.anewest(thread, self.namespace)

    def stand_on(self, kept: Kept, newest: CheckpointRow | None = None) -> None:
        """Go on from a checkpoint; what is put next comes after the newest one, also where that is another."""
        self.checkpoint_id = kept.row.id
        self._newest = newest or kept.row
        self._tracks = kept.tracks
        self._channels = dict(kept.row.channels)
        self._stored = dict(kept.snapshot.values)
        self._texts = list(kept.tracks[WRITES].value) if WRITES in kept.tracks else []
        # Whatever ran inside of its tasks ends with the step, also where this part of the run does not enter it again.
        self.keeping.entered.update(map(self.namespace_of, range(len(kept.snapshot.tasks))))

    # Writing

    async def put(
        self,
        snapshot: Snapshot,
        *,
        source: Source,
        wrote: Collection[str] | None,
        writes: Sequence[Write] = (),
        for_parent: Sequence[Command] = (),
        is_here: bool,
    ) -> None:
        """Keep a snapshot; what ran inside of the tasks before it is forgotten.

        Args:
            snapshot: The snapshot.
            source: What made it.
            wrote: The keys that were written since the one before; None where that may be any.
            writes: What nodes wrote so far, in a graph inside of another one.
            for_parent: Commands for the graph around this one.
            is_here: Whether to block instead of awaiting.

        Raises:
            CheckpointConflict: Another run has gone on with the thread.
            CheckpointError: A value has no stored form.
            StoreError: The storage failed.
        """
        number = 1 if self._newest is None else self._newest.number + 1
        values: dict[str, Any] = dict(snapshot.values)
        if self.namespace:
            values[WRITES] = self._texts_of(writes)
        try:
            changes = self._changes(values, wrote, number)
            row = self._row(snapshot, source, for_parent, number)
            await self._save(row, changes, is_here=is_here)
        except BaseException:
            # What the tracks hold may not be stored; a graph inside that is tried again stores everything whole.
            self._tracks, self._stored = {}, {}
            raise

    def _texts_of(self, writes: Sequence[Write]) -> list[str]:
        """The writes of all steps as texts, so that those of the steps before are not written anew to be compared."""
        dumps = self.keeping.codec.dumps
        self._texts += [dumps(list(write), where=f"key {write.key!r}") for write in writes[len(self._texts) :]]
        return list(self._texts)

    async def _save(self, row: CheckpointRow, changes: Sequence[ChannelRow], *, is_here: bool) -> None:
        after, drop = None if self._newest is None else self._newest.id, self._left_behind()
        # A first checkpoint of a graph inside of a step that another run has ended would begin anew what is forgotten.
        inside = self._inside if after is None else None
        if is_here:
            self.keeping.saver.put(row, changes, after=after, drop=drop, inside=inside)
        else:
            await self.keeping.saver.aput(row, changes, after=after, drop=drop, inside=inside)
        self.keeping.entered.difference_update(drop)
        self._newest, self.checkpoint_id = row, row.id

    def _row(self, snapshot: Snapshot, source: Source, for_parent: Sequence[Command], number: int) -> CheckpointRow:
        return CheckpointRow(
            thread_id=self.keeping.thread_id,
            namespace=self.namespace,
            id=f"{number:08d}-{secrets.token_hex(4)}",
            number=number,
            parent=self.checkpoint_id or None,
            body=self._body(snapshot, source, for_parent),
            created_at=time.time(),  # noqa: TID251 - a time of day, for people
            channels=dict(self._channels),
        )

    def _changes(self, values: Mapping[str, Any], wrote: Collection[str] | None, number: int) -> list[ChannelRow]:
        rows: list[ChannelRow] = []
        for key, value in values.items():
            # What was written may be the old object, changed in place.
            is_untouched = wrote is not None and key not in wrote
            if is_untouched and key in self._stored and self._stored[key] is value:
                continue
            track = self._tracks.get(key)
            if track is None:
                track = self._tracks[key] = Track(self.keeping.codec, f"key {key!r}")
            change = track.change(value, number)
            if change is not None:
                rows.append(ChannelRow(key=key, version=number, previous=change.previous, text=change.text))
                self._channels[key] = number
            self._stored[key] = value
        return rows

    def _left_behind(self) -> tuple[str, ...]:
        mine = f"{self.namespace}/" if self.namespace else ""
        return tuple(name for name in self.keeping.entered if name.startswith(mine) and name != self.namespace)

    def _body(self, snapshot: Snapshot, source: Source, for_parent: Sequence[Command]) -> str:
        body = {
            "source": source,
            "step": snapshot.step,
            "ran": list(snapshot.ran),
            "tasks": [_task_form(task) for task in snapshot.tasks],
            "deferred": [_task_form(task) for task in snapshot.deferred],
            "arrived": {str(join): sorted(seen) for join, seen in snapshot.arrived.items()},
            "for_parent": list(for_parent),
        }
        return self.keeping.codec.dumps(body, where="a checkpoint")

    async def put_update(self, position: int, update: Update, *, is_here: bool) -> None:
        """Keep what a task asked for that ended before its siblings."""
        form = {
            "node": update.node,
            "writes": [list(write) for write in update.writes],
            "targets": update.targets,
            "for_parent": update.for_parent,
        }
        text = self.keeping.codec.dumps(form, where=f"the update of node {update.node!r}")
        await self._put_writes([WriteRow(task=str(position), kind=UPDATE, number=0, text=text)], is_here=is_here)

    async def put_questions(self, position: int, questions: Iterable[Interrupt], *, is_here: bool) -> None:
        """Keep what a task waits for; and of what may expire, for good, until when that was."""
        asked, dumps = list(questions), self.keeping.codec.dumps
        rows = [WriteRow(task=str(position), kind=QUESTIONS, number=0, text=dumps(asked, where="a question"))]
        rows += [
            WriteRow(task=question.id, kind=EXPIRING, number=0, text=dumps(question, where="a question"))
            for question in asked
            if question.expires_at is not None
        ]
        await self._put_writes(rows, is_here=is_here)

    async def claim(self, run: int, answers: Mapping[str, Answer], *, is_here: bool) -> None:
        """Say that somebody goes on from here, with these answers; of two who do it at a time, one is refused.

        Raises:
            CheckpointConflict: Somebody else did.
        """
        rows = [WriteRow(task="", kind=RUN, number=run, text=self.keeping.codec.dumps(None, where="a run"))]
        for id, answer in answers.items():
            text = self.keeping.codec.dumps(answer, where="an answer")
            rows.append(WriteRow(task=id, kind=ANSWER, number=0, text=text))
        await self._put_writes(rows, is_here=is_here, is_claim=True)

    async def _put_writes(self, rows: Sequence[WriteRow], *, is_here: bool, is_claim: bool = False) -> None:
        place = (self.keeping.thread_id, self.namespace, self.checkpoint_id)
        if is_here:
            self.keeping.saver.put_writes(*place, rows, is_claim=is_claim)
        else:
            await self.keeping.saver.aput_writes(*place, rows, is_claim=is_claim)


def _task_form(task: Task) -> dict[str, Any]:
    return {"node": task.node} if task.arg is WHOLE_STATE else {"node": task.node, "arg": task.arg}
