"""A run as it is kept: the snapshots between its steps, and what became known since the last one.

Each graph of a run has a namespace in the thread: empty for the graph itself, and below it
``<checkpoint>:<position of the task>`` for what runs inside of a task. The checkpoint's id tells a fork's tasks from
those of the run that it was forked from.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, cast

from surehand.checkpoints import ChannelRow, Checkpointer, CheckpointRow, LoadedCheckpoint, WriteRow
from surehand.checkpoints.codec import Codec
from surehand.checkpoints.deltas import Track
from surehand.control import Command
from surehand.errors import CheckpointError
from surehand.graph.channels import Write
from surehand.graph.plan import Plan
from surehand.graph.routing import WHOLE_STATE, Task
from surehand.graph.snapshot import Snapshot
from surehand.graph.updates import Update
from surehand.interrupts import Answer, Interrupt, InterruptScope, Questions

__all__ = ["Keeping", "Kept", "Recorder", "Source"]

_WRITES: Final = "__writes__"
"""Where a graph inside of another one keeps what its nodes wrote."""
_RUN: Final = "run"
_ANSWER: Final = "answer"
_UPDATE: Final = "update"
_QUESTIONS: Final = "questions"

Source = str
"""What made a checkpoint: ``input``, ``step``, ``update`` (the host, by ``update_state``) or ``fork``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """What a kept run shares with all that runs inside of it."""

    saver: Checkpointer
    thread_id: str
    codec: Codec
    questions: Questions = field(default_factory=Questions)
    entered: set[str] = field(default_factory=set[str])
    """The namespaces of what ran inside of the tasks of a step that has not ended."""


class Kept(NamedTuple):
    """A checkpoint, as it was read."""

    row: CheckpointRow
    source: Source
    snapshot: Snapshot
    writes: list[Write]
    """What nodes wrote so far, in a graph inside of another one."""
    for_parent: list[Command]
    tracks: dict[str, Track]
    updates: dict[int, Update]
    """Of the next tasks, by position: what those that have ended asked for."""
    questions: dict[int, tuple[Interrupt, ...]]
    """Of the next tasks, by position: what those that wait for answers asked."""
    answers: dict[str, Answer]
    created_at: str
    """When it was put, in ISO 8601, UTC."""
    runs: int
    """How often somebody went on from here."""

    @property
    def open(self) -> tuple[Interrupt, ...]:
        """The questions that nobody has answered."""
        waiting = [asked for position, asked in sorted(self.questions.items()) if position not in self.updates]
        return tuple(question for asked in waiting for question in asked if question.id not in self.answers)


class Recorder:
    """Keeps one graph of a run."""

    def __init__(self, keeping: Keeping, namespace: str = "") -> None:
        self.keeping = keeping
        self.namespace = namespace
        self.checkpoint_id = ""
        """Where the run stands; empty before its first checkpoint."""
        self._newest: CheckpointRow | None = None
        self._tracks: dict[str, Track] = {}
        self._stored: dict[str, Any] = {}
        """The values that are stored; one that is still the same object has not changed."""
        self._channels: dict[str, int] = {}

    def inside(self, position: int) -> Recorder:
        """What keeps a graph that runs inside of a task of the next step."""
        namespace = self.namespace_of(position)
        self.keeping.entered.add(namespace)
        return Recorder(self.keeping, namespace)

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
        return None if loaded is None else self.read(plan, loaded)

    def read(self, plan: Plan, loaded: LoadedCheckpoint) -> Kept:
        """A checkpoint that was loaded.

        Raises:
            CheckpointError: It cannot be read, or is none of this graph.
        """
        return _Reader(self.keeping, plan, loaded).read()

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

    # Writing

    async def put(
        self,
        snapshot: Snapshot,
        *,
        source: Source,
        writes: Sequence[Write] = (),
        for_parent: Sequence[Command] = (),
        is_here: bool,
    ) -> None:
        """Keep a snapshot; what ran inside of the tasks before it is forgotten.

        Raises:
            CheckpointConflict: Another run has gone on with the thread.
            CheckpointError: A value has no stored form.
            StoreError: The storage failed.
        """
        number = 1 if self._newest is None else self._newest.number + 1
        values: dict[str, Any] = dict(snapshot.values)
        if self.namespace:
            values[_WRITES] = [list(write) for write in writes]
        changes = self._changes(values, number)
        row = CheckpointRow(
            thread_id=self.keeping.thread_id,
            namespace=self.namespace,
            id=f"{number:08d}-{secrets.token_hex(4)}",
            number=number,
            parent=self.checkpoint_id or None,
            body=self._body(snapshot, source, for_parent),
            created_at=time.time(),  # noqa: TID251 - a time of day, for people
            channels=dict(self._channels),
        )
        after, drop = None if self._newest is None else self._newest.id, self._left_behind()
        if is_here:
            self.keeping.saver.put(row, changes, after=after, drop=drop)
        else:
            await self.keeping.saver.aput(row, changes, after=after, drop=drop)
        self._newest, self.checkpoint_id = row, row.id

    def _changes(self, values: Mapping[str, Any], number: int) -> list[ChannelRow]:
        rows: list[ChannelRow] = []
        for key, value in values.items():
            if key in self._stored and self._stored[key] is value:
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
        left = tuple(name for name in self.keeping.entered if name.startswith(mine) and name != self.namespace)
        self.keeping.entered.difference_update(left)
        return left

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
        await self._put_writes([WriteRow(task=str(position), kind=_UPDATE, number=0, text=text)], is_here=is_here)

    async def put_questions(self, position: int, questions: Iterable[Interrupt], *, is_here: bool) -> None:
        """Keep what a task waits for."""
        text = self.keeping.codec.dumps(list(questions), where="a question")
        await self._put_writes([WriteRow(task=str(position), kind=_QUESTIONS, number=0, text=text)], is_here=is_here)

    async def claim(self, run: int, answers: Mapping[str, Answer], *, is_here: bool) -> None:
        """Say that somebody goes on from here, with these answers; of two who do it at a time, one is refused.

        Raises:
            CheckpointConflict: Somebody else did.
        """
        rows = [WriteRow(task="", kind=_RUN, number=run, text=self.keeping.codec.dumps(None, where="a run"))]
        for id, answer in answers.items():
            text = self.keeping.codec.dumps(answer, where="an answer")
            rows.append(WriteRow(task=id, kind=_ANSWER, number=0, text=text))
        await self._put_writes(rows, is_here=is_here, is_claim=True)

    async def _put_writes(self, rows: Sequence[WriteRow], *, is_here: bool, is_claim: bool = False) -> None:
        place = (self.keeping.thread_id, self.namespace, self.checkpoint_id)
        if is_here:
            self.keeping.saver.put_writes(*place, rows, is_claim=is_claim)
        else:
            await self.keeping.saver.aput_writes(*place, rows, is_claim=is_claim)


def _task_form(task: Task) -> dict[str, Any]:
    return {"node": task.node} if task.arg is WHOLE_STATE else {"node": task.node, "arg": task.arg}


class _Reader:
    """Reads one checkpoint; whatever is not as it was written is an error that says where."""

    def __init__(self, keeping: Keeping, plan: Plan, loaded: LoadedCheckpoint) -> None:
        self._keeping = keeping
        self._plan = plan
        self._loaded = loaded
        self._where = f"checkpoint {loaded.row.id!r}"

    def read(self) -> Kept:
        try:
            return self._read()
        except CheckpointError as error:
            if error.thread_id:
                raise
            raise CheckpointError(
                problem=error.problem,
                remedy=error.remedy,
                thread_id=self._keeping.thread_id,
                where=f"{self._where}, {error.where}" if error.where else self._where,
            ) from error
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, OSError) as error:  # OSError: of times
            raise self._damaged(f"a part of it is missing or of the wrong kind ({error!r})") from error

    def _read(self) -> Kept:
        row, codec = self._loaded.row, self._keeping.codec
        body = cast("dict[str, Any]", _checked(codec.loads(row.body, where="its body"), dict))
        tracks = {
            key: Track.restored(codec, f"key {key!r}", texts, row.channels[key])
            for key, texts in self._loaded.channels.items()
        }
        values = self._plan.state.initial()
        values |= {key: track.value for key, track in tracks.items() if key in self._plan.state.channels}
        # A number beyond the joins there are, or a task of a node that is gone, is another graph's.
        arrived = {int(join): frozenset[str](_checked(seen, list)) for join, seen in body["arrived"].items()}
        if any(not 0 <= join < len(self._plan.joins) for join in arrived):
            raise self._damaged("it waits at a join that the graph does not have")
        snapshot = Snapshot(
            step=_checked(body["step"], int),
            values=values,
            tasks=tuple(self._task(form) for form in body["tasks"]),
            arrived=arrived,
            deferred=tuple(self._task(form) for form in body["deferred"]),
            ran=tuple(_checked(body["ran"], list)),
        )
        written: Any = tracks[_WRITES].value if _WRITES in tracks else []
        return Kept(
            row=row,
            source=_checked(body["source"], str),
            snapshot=snapshot,
            writes=[_write(form) for form in _checked(written, list)],
            for_parent=[_checked(command, Command) for command in body["for_parent"]],
            tracks=tracks,
            updates={int(w.task): self._update(w.text) for w in self._loaded.writes if w.kind == _UPDATE},
            questions={int(w.task): self._questions(w.text) for w in self._loaded.writes if w.kind == _QUESTIONS},
            answers={w.task: self._answer(w.text) for w in self._loaded.writes if w.kind == _ANSWER},
            created_at=datetime.fromtimestamp(row.created_at, UTC).isoformat(),
            runs=sum(w.kind == _RUN for w in self._loaded.writes),
        )

    def _task(self, form: Any) -> Task:
        name = _checked(form["node"], str)
        if name not in self._plan.nodes:
            raise CheckpointError(
                problem=f"it goes on at the node {name!r}, which the graph {self._plan.name!r} does not have",
                remedy="Give the node its name back, go on with update_state(…, as_node=…), or take another thread.",
                thread_id=self._keeping.thread_id,
                where=self._where,
            )
        return Task(name, form["arg"]) if "arg" in form else Task(name)

    def _update(self, text: str) -> Update:
        form = _checked(self._keeping.codec.loads(text, where="an update"), dict)
        return Update(
            node=_checked(form["node"], str),
            writes=[_write(write) for write in form["writes"]],
            targets=_checked(form["targets"], list),
            for_parent=[_checked(command, Command) for command in form["for_parent"]],
        )

    def _questions(self, text: str) -> tuple[Interrupt, ...]:
        return tuple(_checked(form, Interrupt) for form in self._keeping.codec.loads(text, where="a question"))

    def _answer(self, text: str) -> Answer:
        return cast("Answer", _checked(self._keeping.codec.loads(text, where="an answer"), Answer))

    def _damaged(self, problem: str) -> CheckpointError:
        return CheckpointError(
            problem=problem,
            remedy="It was changed by something else, or written by another graph. Restore it, or go on from an "
            "earlier checkpoint.",
            thread_id=self._keeping.thread_id,
            where=self._where,
        )


def _write(form: Any) -> Write:
    source, key, value = form
    return Write(_checked(source, str), _checked(key, str), value)


def _checked(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}")
    return value
