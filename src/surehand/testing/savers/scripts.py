"""What the checks of checkpointers are written with: rows in short, and assertions that say what was promised."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from surehand.checkpoints import CallRow, CallState, ChannelRow, Checkpointer, CheckpointRow, LoadedCheckpoint, WriteRow
from surehand.errors import shown

__all__ = [
    "EPOCH",
    "PATIENCE",
    "ROUNDS",
    "THREADS",
    "Script",
    "call",
    "change",
    "expect",
    "expect_equal",
    "expect_raises",
    "row_of",
    "side_by_side",
    "texts_of",
    "write",
    "writes_of",
]

E = TypeVar("E", bound=BaseException)

EPOCH: Final = 1_700_000_000.123456
"""When checkpoints of the checks were created, in 2023, with a fraction that has to come back exactly."""


THREADS: Final = 8
"""How many threads do something at a time."""
ROUNDS: Final = 5
"""How often they do."""
PATIENCE: Final = 30.0
"""Seconds after which what should long have ended counts as hung."""


def expect(promise: str, is_kept: object) -> None:
    """Raise AssertionError unless a promise is kept."""
    if not is_kept:
        raise AssertionError(f"{promise}.")


def expect_equal(promise: str, got: object, expected: object) -> None:
    """Raise AssertionError unless something is what was promised, of the same type."""
    if got != expected or type(got) is not type(expected):
        raise AssertionError(f"{promise}: expected {shown(expected, 400)}, got {shown(got, 400)}.")


def expect_raises(promise: str, kind: type[E], act: Callable[[], object]) -> E:
    """Raise AssertionError unless something raises the promised error; what else it raises goes on."""
    try:
        got = act()
    except kind as error:
        return error
    raise AssertionError(f"{promise}: expected {kind.__name__}, got {shown(got, 400)}.")


def change(key: str, version: int, text: str, *, previous: int | None = None) -> ChannelRow:
    """A version of a key."""
    return ChannelRow(key=key, version=version, previous=previous, text=text)


def write(task: str, kind: str = "update", number: int = 0, text: str = '"w"') -> WriteRow:
    """Something that became known after a checkpoint."""
    return WriteRow(task=task, kind=kind, number=number, text=text)


def call(key: str, version: int = 1, state: CallState = "running", text: str = "{}") -> CallRow:
    """What is known of a call."""
    return CallRow(key=key, version=version, state=state, text=text, changed_at=EPOCH + version)


class Script:
    """Writes checkpoints into one namespace of a thread, as a run does."""

    def __init__(self, saver: Checkpointer, thread_id: str = "thread", namespace: str = "") -> None:
        self.saver = saver
        self.thread_id = thread_id
        self.namespace = namespace
        self.rows: list[CheckpointRow] = []

    @property
    def newest_id(self) -> str | None:
        """The id of the checkpoint that was put last."""
        return self.rows[-1].id if self.rows else None

    def row(
        self,
        channels: Mapping[str, int] | None = None,
        *,
        number: int | None = None,
        id: str | None = None,
        parent: str | None = None,
        body: str | None = None,
        created_at: float | None = None,
    ) -> CheckpointRow:
        """The next checkpoint; what is given is taken instead."""
        next_number = len(self.rows) + 1
        number = next_number if number is None else number
        return CheckpointRow(
            thread_id=self.thread_id,
            namespace=self.namespace,
            id=f"{next_number:08d}-{len(self.thread_id):02d}" if id is None else id,
            number=number,
            parent=self.newest_id if parent is None else parent,
            body=f'{{"step":{next_number}}}' if body is None else body,
            created_at=EPOCH + number if created_at is None else created_at,
            channels=dict(channels or {}),
        )

    def put(
        self,
        *changes: ChannelRow,
        keep: Sequence[str] = (),
        drop: Sequence[str] = (),
        **row: Any,
    ) -> CheckpointRow:
        """Put the next checkpoint with the versions that it brings, and those of other keys as they were.

        Args:
            changes: The versions.
            keep: The keys that it still has; none named means all that the last one had.
            drop: Namespaces that go with it.
            row: What ``row`` takes.
        """
        made = self.row(self._channels(changes, keep), **row)
        self.saver.put(made, changes, after=self.newest_id, drop=drop)
        self.rows.append(made)
        return made

    def _channels(self, changes: Sequence[ChannelRow], keep: Sequence[str]) -> dict[str, int]:
        last: Mapping[str, int] = self.rows[-1].channels if self.rows else dict[str, int]()
        kept = {key: version for key, version in last.items() if not keep or key in keep}
        return kept | {change.key: change.version for change in changes}

    def steps(self, count: int, **row: Any) -> list[CheckpointRow]:
        """Put so many checkpoints, each of which changes the key ``messages``."""
        for _ in range(count):
            number = len(self.rows) + 1
            self.put(change("messages", number, f'"{number}"', previous=number - 1 or None), **row)
        return self.rows[-count:]


def _loaded(saver: Checkpointer, checkpoint_id: str | None) -> LoadedCheckpoint:
    loaded = saver.load("thread", "", checkpoint_id)
    if loaded is None:
        raise AssertionError(f"load() finds the checkpoint {checkpoint_id or 'that is the newest'}: got None.")
    return loaded


def texts_of(saver: Checkpointer, checkpoint_id: str | None = None) -> dict[str, tuple[str, ...]]:
    """The texts of each key of a checkpoint of the thread ``thread``."""
    return dict(_loaded(saver, checkpoint_id).channels)


def writes_of(saver: Checkpointer, checkpoint_id: str) -> tuple[WriteRow, ...]:
    """The writes of a checkpoint of the thread ``thread``."""
    return _loaded(saver, checkpoint_id).writes


def row_of(saver: Checkpointer, checkpoint_id: str) -> CheckpointRow:
    """The row of a checkpoint of the thread ``thread``."""
    return _loaded(saver, checkpoint_id).row


def side_by_side(acts: Sequence[Callable[[], Any]]) -> list[Any]:
    """What each returned, each on a thread of its own, all at once; what one raised is raised."""
    results: list[Any] = [None] * len(acts)
    errors: list[BaseException] = []
    start = threading.Barrier(len(acts))

    def run(index: int, act: Callable[[], Any]) -> None:
        try:
            start.wait(PATIENCE)
            results[index] = act()
        except BaseException as error:  # noqa: BLE001 - it is raised where the check is
            errors.append(error)

    threads = [threading.Thread(target=run, args=(index, act), daemon=True) for index, act in enumerate(acts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * PATIENCE)
        expect("methods that several threads call at a time return", not thread.is_alive())
    if errors:
        raise errors[0]
    return results
