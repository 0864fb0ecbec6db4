"""A checkpointer in this process's memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypeAlias, TypeVar

from surehand.checkpoints.checks import (
    already_there,
    check_call,
    check_follows,
    check_inside,
    check_names,
    check_page,
    check_put,
    check_writes,
)
from surehand.checkpoints.protocol import Checkpointer
from surehand.checkpoints.pruning import Retention, is_at_or_below, is_inside_step, needed_versions
from surehand.checkpoints.records import CallRow, ChannelRow, CheckpointRow, LoadedCheckpoint, WriteRow
from surehand.errors import CheckpointConflict, CheckpointError, StoreError

__all__ = ["MemorySaver"]

T = TypeVar("T")

_Place: TypeAlias = tuple[str, str, int]
"""A write's task, kind and number."""


@dataclass(slots=True, eq=False)
class _Space:
    """One namespace of a thread."""

    steps: dict[str, CheckpointRow] = field(default_factory=dict[str, CheckpointRow])
    """By id, the oldest first."""
    versions: dict[tuple[str, int], ChannelRow] = field(default_factory=dict[tuple[str, int], ChannelRow])
    writes: dict[str, dict[_Place, WriteRow]] = field(default_factory=dict[str, dict[_Place, WriteRow]])
    """By the id of their checkpoint."""

    @property
    def newest(self) -> CheckpointRow | None:
        return next(reversed(self.steps.values()), None)

    @property
    def head(self) -> tuple[str, int] | None:
        """The id and the number of the newest one."""
        newest = self.newest
        return None if newest is None else (newest.id, newest.number)

    def forget(self, ids: Iterable[str]) -> None:
        """Forget steps, and the versions that no remaining one needs."""
        for id in ids:
            del self.steps[id]
            self.writes.pop(id, None)
        previous = {link: change.previous for link, change in self.versions.items()}
        needed = needed_versions([row.channels for row in self.steps.values()], previous)
        self.versions = {link: change for link, change in self.versions.items() if link in needed}


@dataclass(slots=True, eq=False)
class _Thread:
    spaces: dict[str, _Space] = field(default_factory=dict[str, _Space])
    calls: dict[str, CallRow] = field(default_factory=dict[str, CallRow])
    """In the order in which they were begun."""

    def prune(self, rule: Retention) -> int:
        """Forget old checkpoints, the namespaces that are outside of others first; says how many."""
        forgotten = 0
        for namespace in sorted(self.spaces, key=len):
            space = self.spaces.get(namespace)
            if space is None:  # it went with a step of an outer one
                continue
            gone = rule.forgotten([(row.id, row.created_at) for row in reversed(space.steps.values())])
            if gone:
                forgotten += len(gone) + self._forget_inside(namespace, gone)
                space.forget(gone)
        return forgotten

    def _forget_inside(self, outer: str, checkpoint_ids: Collection[str]) -> int:
        inside = [name for name in self.spaces if is_inside_step(name, outer, checkpoint_ids)]
        return sum(len(self.spaces.pop(name).steps) for name in inside)


class MemorySaver(Checkpointer):
    """Keeps runs as long as it lives itself; for tests, and for programs that need no run after their end.

    It takes what savers on databases take, and refuses what they refuse.

    Example:
        graph = builder.compile(checkpointer=MemorySaver())
    """

    def __init__(self) -> None:
        self._threads: dict[str, _Thread] = {}
        self._lock = threading.Lock()
        self._is_closed = False

    def put(
        self,
        row: CheckpointRow,
        changes: Sequence[ChannelRow],
        *,
        after: str | None,
        drop: Sequence[str] = (),
        inside: tuple[str, str] | None = None,
    ) -> None:
        """Add a checkpoint; see ``Checkpointer.put``."""
        check_put(row, changes, after, drop, inside)
        with self._held() as threads:
            thread = threads.get(row.thread_id) or _Thread()
            space = thread.spaces.get(row.namespace) or _Space()
            check_follows(row, after=after, newest=space.head)
            if inside is not None:
                check_inside(row, inside, thread.spaces.get(inside[0], _Space()).head)
            links = {(change.key, change.version): change for change in changes}
            if row.id in space.steps or space.versions.keys() & links:
                raise already_there(row)
            threads[row.thread_id], thread.spaces[row.namespace] = thread, space
            space.steps[row.id] = _own(row)
            space.versions.update(links)
            for name in [name for name in thread.spaces if any(is_at_or_below(name, top) for top in drop)]:
                del thread.spaces[name]

    def put_writes(
        self, thread_id: str, namespace: str, checkpoint_id: str, writes: Sequence[WriteRow], *, is_claim: bool = False
    ) -> None:
        """Add to what became known after a checkpoint; see ``Checkpointer.put_writes``."""
        check_writes(thread_id, namespace, checkpoint_id, writes)
        with self._held():
            space = self._space(thread_id, namespace)
            places = [_place_of(row) for row in writes]
            there = space.writes.get(checkpoint_id, {})
            is_taken = is_claim and (len(set(places)) < len(places) or any(place in there for place in places))
            if checkpoint_id not in space.steps or is_taken:
                raise CheckpointConflict(thread_id=thread_id, where=f"checkpoint {checkpoint_id!r}")
            space.writes.setdefault(checkpoint_id, {}).update(zip(places, writes, strict=True))

    def load(self, thread_id: str, namespace: str = "", checkpoint_id: str | None = None) -> LoadedCheckpoint | None:
        """A checkpoint; see ``Checkpointer.load``."""
        check_names(thread_id, namespace, checkpoint_id)
        with self._held():
            space = self._space(thread_id, namespace)
            row = space.newest if checkpoint_id is None else space.steps.get(checkpoint_id)
            if row is None:
                return None
            writes = sorted(space.writes.get(row.id, {}).items())
            return LoadedCheckpoint(
                row=_own(row),
                channels={key: _texts(space, row, key, version) for key, version in row.channels.items()},
                writes=tuple(write for _, write in writes),
            )

    def newest(self, thread_id: str, namespace: str = "") -> CheckpointRow | None:
        """The newest checkpoint without its texts; see ``Checkpointer.newest``."""
        return next(iter(self.history(thread_id, namespace, limit=1)), None)

    def history(
        self, thread_id: str, namespace: str = "", *, before: int | None = None, limit: int | None = None
    ) -> list[CheckpointRow]:
        """Checkpoints, the newest first; see ``Checkpointer.history``."""
        check_names(thread_id, namespace)
        check_page(before, limit)
        with self._held():
            rows = reversed(self._space(thread_id, namespace).steps.values())
            older = (row for row in rows if before is None or row.number < before)
            return [_own(row) for row in islice(older, limit)]

    def save_call(self, thread_id: str, row: CallRow, *, after: int | None) -> bool:
        """Write what is known of a call; see ``Checkpointer.save_call``."""
        check_call(thread_id, row, after)
        with self._held() as threads:
            thread = threads.get(thread_id) or _Thread()
            known = thread.calls.get(row.key)
            if (None if known is None else known.version) != after:
                return False
            threads[thread_id] = thread
            thread.calls[row.key] = row
            return True

    def load_call(self, thread_id: str, key: str) -> CallRow | None:
        """What is known of a call; see ``Checkpointer.load_call``."""
        check_names(thread_id, key)
        with self._held() as threads:
            return threads.get(thread_id, _Thread()).calls.get(key)

    def calls(self, thread_id: str) -> list[CallRow]:
        """What is known of all calls of a thread; see ``Checkpointer.calls``."""
        check_names(thread_id)
        with self._held() as threads:
            return list(threads.get(thread_id, _Thread()).calls.values())

    def threads(self) -> list[str]:
        """The threads there are; see ``Checkpointer.threads``."""
        with self._held() as threads:
            return sorted(name for name, thread in threads.items() if thread.spaces or thread.calls)

    def delete_thread(self, thread_id: str) -> None:
        """Forget a thread; see ``Checkpointer.delete_thread``."""
        check_names(thread_id)
        with self._held() as threads:
            threads.pop(thread_id, None)

    def prune(self, thread_id: str | None = None, *, keep: int | None = None, older_than: float | None = None) -> int:
        """Forget old checkpoints; see ``Checkpointer.prune``."""
        if thread_id is not None:
            check_names(thread_id)
        rule = Retention.of(keep=keep, older_than=older_than)
        with self._held() as threads:
            chosen = [thread for name, thread in threads.items() if thread_id is None or name == thread_id]
            return sum(thread.prune(rule) for thread in chosen)

    def close(self) -> None:
        """Forget everything; it can then no longer be used. Closing twice does nothing."""
        with self._lock:
            self._is_closed = True
            self._threads = {}

    async def in_background(self, call: Callable[[], T]) -> T:
        """Run a method at once: none takes long."""
        return call()

    @contextmanager
    def _held(self) -> Generator[dict[str, _Thread], None, None]:
        with self._lock:
            if self._is_closed:
                raise StoreError(problem="The saver is closed", remedy="Make a new one, and close it when all is done.")
            yield self._threads

    def _space(self, thread_id: str, namespace: str) -> _Space:
        """What there is; empty where there is nothing."""
        return self._threads.get(thread_id, _Thread()).spaces.get(namespace) or _Space()


def _own(row: CheckpointRow) -> CheckpointRow:
    """The row with a mapping that nobody else can change."""
    return replace(row, channels=dict(row.channels))


def _place_of(row: WriteRow) -> _Place:
    return row.task, row.kind, row.number


def _texts(space: _Space, row: CheckpointRow, key: str, version: int) -> tuple[str, ...]:
    texts: list[str] = []
    at: int | None = version
    while at is not None:
        change = space.versions.get((key, at))
        if change is None:
            raise CheckpointError(
                problem=f"version {at} of key {key!r} was never put",
                remedy="Put every version that a checkpoint names, with it or before it.",
                thread_id=row.thread_id,
                where=f"checkpoint {row.id!r}",
            )
        texts.append(change.text)
        at = change.previous
    return tuple(reversed(texts))
