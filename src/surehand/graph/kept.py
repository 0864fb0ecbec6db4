"""A checkpoint as a graph reads it, and what it takes to read one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar, cast, get_args

from surehand.checkpoints import Checkpointer, CheckpointRow, LoadedCheckpoint
from surehand.checkpoints.codec import Codec, Track
from surehand.control import Command
from surehand.errors import CheckpointError
from surehand.graph.channels import Write
from surehand.graph.plan import Plan
from surehand.graph.routing import Task
from surehand.graph.snapshot import Snapshot
from surehand.graph.updates import Update
from surehand.interrupts import Answer, Interrupt, Questions

__all__ = ["ANSWER", "EXPIRING", "QUESTIONS", "RUN", "UPDATE", "WRITES", "Keeping", "Kept", "Source", "read_kept"]

T = TypeVar("T")

WRITES: Final = "__writes__"
"""Where a graph inside of another one keeps what its nodes wrote, beside the keys of its state."""
RUN: Final = "run"
"""The kind of a row that says that somebody goes on from a checkpoint."""
ANSWER: Final = "answer"
"""The kind of a row that holds an answer to a question."""
UPDATE: Final = "update"
"""The kind of a row that holds what a task asked for that ended before its siblings."""
QUESTIONS: Final = "questions"
"""The kind of a row that holds what a task waits for."""
EXPIRING: Final = "expiring"
"""The kind of a row that holds a question that may expire, also when it is no longer waited for: asked once more, it
has the time that it had."""

Source: TypeAlias = Literal["input", "step", "update", "fork"]
"""What made a checkpoint; ``update`` is the host, by ``update_state``."""

_SOURCES: Final[tuple[str, ...]] = get_args(Source)


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
    expiring: tuple[Interrupt, ...]
    """What was asked here and may expire, answered or not."""
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

    @property
    def asked(self) -> dict[str, Interrupt]:
        """The questions that are to be as they were when they are asked again, by id."""
        waiting = [question for asked in self.questions.values() for question in asked]
        return {question.id: question for question in (*self.expiring, *waiting)}


def read_kept(keeping: Keeping, plan: Plan, loaded: LoadedCheckpoint) -> Kept:
    """A checkpoint that was loaded.

    Raises:
        CheckpointError: It cannot be read, or is none of this graph.
    """
    return _Reader(keeping, plan, loaded).read()


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
        body = _object(codec.loads(row.body, where="its body"))
        tracks = {
            key: Track.restored(codec, f"key {key!r}", texts, row.channels[key])
            for key, texts in self._loaded.channels.items()
        }
        written: Any = tracks[WRITES].value if WRITES in tracks else []
        return Kept(
            row=row,
            source=_source(body["source"]),
            snapshot=self._snapshot(body, tracks),
            writes=[_write(self._keeping.codec.loads(text, where="what nodes wrote")) for text in _list(written)],
            for_parent=[_checked(command, Command) for command in body["for_parent"]],
            tracks=tracks,
            updates={int(w.task): self._update(w.text) for w in self._loaded.writes if w.kind == UPDATE},
            questions={int(w.task): self._questions(w.text) for w in self._loaded.writes if w.kind == QUESTIONS},
            expiring=tuple(self._question(w.text) for w in self._loaded.writes if w.kind == EXPIRING),
            answers={w.task: self._answer(w.text) for w in self._loaded.writes if w.kind == ANSWER},
            created_at=datetime.fromtimestamp(row.created_at, UTC).isoformat(),
            runs=sum(w.kind == RUN for w in self._loaded.writes),
        )

    def _snapshot(self, body: dict[str, Any], tracks: Mapping[str, Track]) -> Snapshot:
        state = self._plan.state
        # A number beyond the joins there are, or a task of a node that is gone, is another graph's.
        arrived = {int(join): frozenset[str](_list(seen)) for join, seen in body["arrived"].items()}
        if any(not 0 <= join < len(self._plan.joins) for join in arrived):
            raise self._damaged("it waits at a join that the graph does not have")
        return Snapshot(
            step=_checked(body["step"], int),
            values=state.initial() | {key: track.value for key, track in tracks.items() if key in state.channels},
            tasks=tuple(self._task(form) for form in body["tasks"]),
            arrived=arrived,
            deferred=tuple(self._task(form) for form in body["deferred"]),
            ran=tuple(_list(body["ran"])),
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
        form = _object(self._keeping.codec.loads(text, where="an update"))
        return Update(
            node=_checked(form["node"], str),
            writes=[_write(write) for write in form["writes"]],
            targets=_list(form["targets"]),
            for_parent=[_checked(command, Command) for command in form["for_parent"]],
        )

    def _questions(self, text: str) -> tuple[Interrupt, ...]:
        return tuple(_checked(form, Interrupt) for form in self._keeping.codec.loads(text, where="a question"))

    def _question(self, text: str) -> Interrupt:
        return _checked(self._keeping.codec.loads(text, where="a question"), Interrupt)

    def _answer(self, text: str) -> Answer:
        return _checked(self._keeping.codec.loads(text, where="an answer"), Answer)

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


def _source(stored: object) -> Source:
    if stored not in _SOURCES:
        raise ValueError(stored)
    return cast("Source", stored)


def _list(stored: object) -> list[Any]:
    return _checked(stored, list)  # pyright: ignore[reportUnknownVariableType] - a list of anything


def _object(stored: object) -> dict[str, Any]:
    return _checked(stored, dict)  # pyright: ignore[reportUnknownVariableType] - JSON: its keys are texts


def _checked(value: object, kind: type[T]) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}")
    return value
