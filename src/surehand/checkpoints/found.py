"""Rows as a database holds them, read with suspicion: somebody may have changed them by hand.

Whatever is not as a saver wrote it is a ``CheckpointError`` that names the thread and the checkpoint; no value that was
found decides how long anything takes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Final, NamedTuple, cast, get_args

from surehand.checkpoints.checks import MAX_NUMBER
from surehand.checkpoints.records import CallRow, CallState, CheckpointRow, LoadedCheckpoint, WriteRow
from surehand.errors import CheckpointError, shown

__all__ = ["Found", "Link", "channels_text"]

_REMEDY: Final = (
    "Something else has changed what was stored: restore it from a backup, go on from another checkpoint, or forget "
    "the thread with delete_thread()."
)


def channels_text(channels: Mapping[str, int]) -> str:
    """The versions of a checkpoint as they are stored."""
    return json.dumps(dict(channels), ensure_ascii=False, separators=(",", ":"))


class Link(NamedTuple):
    """One version of a chain, as it was found."""

    version: Any
    previous: Any
    text: Any


class Found:
    """Makes records of the values that were found in one thread and namespace."""

    def __init__(self, thread_id: str, namespace: str = "") -> None:
        self.thread_id = thread_id
        self.namespace = namespace

    def checkpoint(
        self, *, id: Any, number: Any, parent: Any, body: Any, created_at: Any, channels: Any
    ) -> CheckpointRow:
        """A checkpoint.

        Raises:
            CheckpointError: A value is not as it was written.
        """
        where = self._where(id)
        return CheckpointRow(
            thread_id=self.thread_id,
            namespace=self.namespace,
            id=self._text(where, "id", id),
            number=self._number(where, "number", number),
            parent=None if parent is None else self._text(where, "parent", parent),
            body=self._text(where, "body", body),
            created_at=self._seconds(where, "created_at", created_at),
            channels=self.channels(id, channels),
        )

    def channels(self, id: Any, channels: Any) -> dict[str, int]:
        """The versions that the checkpoint of this id names.

        Raises:
            CheckpointError: They are not as they were written.
        """
        where = self._where(id)
        text = self._text(where, "channels", channels)
        try:
            named = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self.damaged(where, f"its channels are no JSON ({shown(text)})") from error
        if not isinstance(named, dict):
            raise self.damaged(where, f"its channels are {shown(text)} instead of a JSON object")
        return {
            key: self._number(where, f"version of key {shown(key)}", version)
            for key, version in cast("dict[str, Any]", named).items()
        }

    def loaded(
        self, row: CheckpointRow, chains: Mapping[str, Sequence[Link]], writes: Sequence[tuple[Any, Any, Any, Any]]
    ) -> LoadedCheckpoint:
        """A checkpoint with all that belongs to it.

        Args:
            row: The checkpoint.
            chains: For each of its keys, what was found of its chain, the newest first.
            writes: The task, kind, number and text of each write.

        Raises:
            CheckpointError: A part is missing, or not as it was written.
        """
        where = self._where(row.id)
        return LoadedCheckpoint(
            row=row,
            channels={
                key: self._texts(where, key, version, chains.get(key, ())) for key, version in row.channels.items()
            },
            writes=tuple(sorted((self._write(where, *write) for write in writes), key=_place_of)),
        )

    def _texts(self, where: str, key: str, version: int, links: Sequence[Link]) -> tuple[str, ...]:
        name = f"key {shown(key)}"
        texts: list[str] = []
        expected: int | None = version
        for link in links:
            if link.version != expected:
                break
            texts.append(self._text(where, f"version {expected} of {name}", link.text))
            if link.previous is not None:
                self._number(where, f"previous version of version {expected} of {name}", link.previous)
                if link.previous >= link.version:
                    raise self.damaged(where, f"version {expected} of {name} is a change of version {link.previous}")
            expected = link.previous
        if expected is not None:
            raise self.damaged(where, f"version {expected} of {name} is missing")
        return tuple(reversed(texts))

    def _write(self, where: str, task: Any, kind: Any, number: Any, text: Any) -> WriteRow:
        return WriteRow(
            task=self._text(where, "task of a write", task),
            kind=self._text(where, "kind of a write", kind),
            number=self._number(where, "number of a write", number, least=0),
            text=self._text(where, "text of a write", text),
        )

    def call(self, *, key: Any, version: Any, state: Any, text: Any, changed_at: Any) -> CallRow:
        """What is known of a call.

        Raises:
            CheckpointError: A value is not as it was written.
        """
        where = f"call {shown(key)}"
        if state not in get_args(CallState):
            raise self.damaged(where, f"its state is {shown(state)}")
        return CallRow(
            key=self._text(where, "key", key),
            version=self._number(where, "version", version),
            state=cast("CallState", state),
            text=self._text(where, "text", text),
            changed_at=self._seconds(where, "changed_at", changed_at),
        )

    def number(self, id: Any, number: Any) -> int:
        """The number of the checkpoint of this id.

        Raises:
            CheckpointError: It is not as it was written.
        """
        return self._number(self._where(id), "number", number)

    def seconds(self, id: Any, created_at: Any) -> float:
        """When the checkpoint of this id was created.

        Raises:
            CheckpointError: It is not as it was written.
        """
        return self._seconds(self._where(id), "created_at", created_at)

    def name(self, value: Any) -> str:
        """A name: of a thread, a namespace, a checkpoint, a key.

        Raises:
            CheckpointError: It is not as it was written.
        """
        return self._text("", "a name", value)

    def damaged(self, where: str, problem: str) -> CheckpointError:
        """The error for something that is not as it was written."""
        inside = f"namespace {self.namespace!r}" if self.namespace else ""
        return CheckpointError(
            problem=problem,
            remedy=_REMEDY,
            thread_id=self.thread_id,
            where=", ".join(filter(None, [inside, where])),
        )

    def _where(self, id: Any) -> str:
        return f"checkpoint {shown(id)}"

    def _text(self, where: str, name: str, value: Any) -> str:
        if not isinstance(value, str):
            raise self.damaged(where, f"the {name} is {shown(value)} instead of a text")
        return value

    def _number(self, where: str, name: str, value: Any, *, least: int = 1) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= MAX_NUMBER:
            raise self.damaged(where, f"the {name} is {shown(value)} instead of a whole number from {least}")
        return value

    def _seconds(self, where: str, name: str, value: Any) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value):
            raise self.damaged(where, f"the {name} is {shown(value)} instead of seconds")
        return float(value)


def _place_of(row: WriteRow) -> tuple[str, str, int]:
    return row.task, row.kind, row.number
