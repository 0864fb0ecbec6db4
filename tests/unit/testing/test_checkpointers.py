"""The check of checkpointers passes good ones, and finds what is wrong with others."""

from __future__ import annotations

import asyncio
import itertools
import struct
import time
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeVar

import pytest

from surehand import CheckpointConflict, CheckpointError, MemorySaver, SqliteSaver, StoreError
from surehand.checkpoints import CallRow, ChannelRow, Checkpointer, CheckpointRow, LoadedCheckpoint, WriteRow
from surehand.testing import check_checkpointer
from surehand.testing.savers import awaiting

T = TypeVar("T")


def test_the_saver_in_memory_keeps_all_promises() -> None:
    check_checkpointer(MemorySaver)


def test_the_saver_on_a_file_keeps_all_promises(tmp_path: Path) -> None:
    numbers = itertools.count()

    def make() -> SqliteSaver:
        return SqliteSaver(tmp_path / f"{next(numbers)}.db", synchronous="NORMAL")

    def reopen(saver: Checkpointer) -> SqliteSaver:
        assert isinstance(saver, SqliteSaver)
        return SqliteSaver(saver.path)

    check_checkpointer(make, reopen=reopen)


def test_the_saver_on_a_database_in_memory_keeps_all_promises() -> None:
    check_checkpointer(partial(SqliteSaver, ":memory:"))


class DeletesNothing(MemorySaver):
    def delete_thread(self, thread_id: str) -> None:
        pass


class KeepsCallsOfDeletedThreads(MemorySaver):
    def delete_thread(self, thread_id: str) -> None:
        calls = self.calls(thread_id)
        super().delete_thread(thread_id)
        for call in calls:
            self.save_call(thread_id, replace(call, version=1), after=None)


Inside: TypeAlias = tuple[str, str] | None


class ListensToNobody(MemorySaver):
    """Puts after whatever is the newest."""

    def put(
        self,
        row: CheckpointRow,
        changes: Sequence[ChannelRow],
        *,
        after: str | None,
        drop: Sequence[str] = (),
        inside: Inside = None,
    ) -> None:
        newest = self.newest(row.thread_id, row.namespace)
        super().put(row, changes, after=newest.id if newest else None, drop=drop, inside=inside)


class HeedsNoStepAround(MemorySaver):
    def put(
        self,
        row: CheckpointRow,
        changes: Sequence[ChannelRow],
        *,
        after: str | None,
        drop: Sequence[str] = (),
        inside: Inside = None,
    ) -> None:
        super().put(row, changes, after=after, drop=drop)


class DropsBeforeItLooks(MemorySaver):
    def put(
        self,
        row: CheckpointRow,
        changes: Sequence[ChannelRow],
        *,
        after: str | None,
        drop: Sequence[str] = (),
        inside: Inside = None,
    ) -> None:
        newest = self.newest(row.thread_id)
        if drop and row.namespace == "" and newest is not None:
            blank = replace(newest, id=f"{newest.id}x", number=newest.number + 1)
            super().put(blank, [], after=newest.id, drop=drop, inside=inside)
            self.prune(row.thread_id)
        super().put(row, changes, after=after, inside=inside)


class DropsNothing(MemorySaver):
    def put(
        self,
        row: CheckpointRow,
        changes: Sequence[ChannelRow],
        *,
        after: str | None,
        drop: Sequence[str] = (),
        inside: Inside = None,
    ) -> None:
        super().put(row, changes, after=after, inside=inside)


class DropsNeighbours(MemorySaver):
    def put(
        self,
        row: CheckpointRow,
        changes: Sequence[ChannelRow],
        *,
        after: str | None,
        drop: Sequence[str] = (),
        inside: Inside = None,
    ) -> None:
        super().put(row, changes, after=after, drop=[*drop, *(f"{name}0" for name in drop)], inside=inside)


class KeepsWhatItIsHanded(MemorySaver):
    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[tuple[str, str, str], CheckpointRow] = {}

    def put(
        self,
        row: CheckpointRow,
        changes: Sequence[ChannelRow],
        *,
        after: str | None,
        drop: Sequence[str] = (),
        inside: Inside = None,
    ) -> None:
        super().put(row, changes, after=after, drop=drop, inside=inside)
        self.rows[row.thread_id, row.namespace, row.id] = row

    def history(
        self, thread_id: str, namespace: str = "", *, before: int | None = None, limit: int | None = None
    ) -> list[CheckpointRow]:
        found = super().history(thread_id, namespace, before=before, limit=limit)
        return [self.rows[thread_id, namespace, row.id] for row in found]

    def load(self, thread_id: str, namespace: str = "", checkpoint_id: str | None = None) -> LoadedCheckpoint | None:
        loaded = super().load(thread_id, namespace, checkpoint_id)
        if loaded is None:
            return None
        row = self.rows[thread_id, namespace, loaded.row.id]
        return replace(loaded, channels={key: loaded.channels.get(key, ()) for key in row.channels})


class GrantsEveryClaim(MemorySaver):
    def put_writes(
        self, thread_id: str, namespace: str, checkpoint_id: str, writes: Sequence[WriteRow], *, is_claim: bool = False
    ) -> None:
        super().put_writes(thread_id, namespace, checkpoint_id, writes)


class WritesHalfOfAClaim(MemorySaver):
    def put_writes(
        self, thread_id: str, namespace: str, checkpoint_id: str, writes: Sequence[WriteRow], *, is_claim: bool = False
    ) -> None:
        for write in writes:
            super().put_writes(thread_id, namespace, checkpoint_id, [write], is_claim=is_claim)


class WritesIntoTheVoid(MemorySaver):
    def put_writes(
        self, thread_id: str, namespace: str, checkpoint_id: str, writes: Sequence[WriteRow], *, is_claim: bool = False
    ) -> None:
        if is_claim or self.load(thread_id, namespace, checkpoint_id):
            super().put_writes(thread_id, namespace, checkpoint_id, writes, is_claim=is_claim)


class ReplacesNoWrite(MemorySaver):
    def put_writes(
        self, thread_id: str, namespace: str, checkpoint_id: str, writes: Sequence[WriteRow], *, is_claim: bool = False
    ) -> None:
        try:
            super().put_writes(thread_id, namespace, checkpoint_id, writes, is_claim=True)
        except CheckpointConflict:
            if is_claim or not self.load(thread_id, namespace, checkpoint_id):
                raise


class LoadsTheNewestAlways(MemorySaver):
    def load(self, thread_id: str, namespace: str = "", checkpoint_id: str | None = None) -> LoadedCheckpoint | None:
        return super().load(thread_id, namespace)


class LoadsChainsBackwards(MemorySaver):
    def load(self, thread_id: str, namespace: str = "", checkpoint_id: str | None = None) -> LoadedCheckpoint | None:
        loaded = super().load(thread_id, namespace, checkpoint_id)
        return loaded and replace(loaded, channels={key: texts[::-1] for key, texts in loaded.channels.items()})


class LoadsAHundredTexts(MemorySaver):
    def load(self, thread_id: str, namespace: str = "", checkpoint_id: str | None = None) -> LoadedCheckpoint | None:
        loaded = super().load(thread_id, namespace, checkpoint_id)
        return loaded and replace(loaded, channels={key: texts[-100:] for key, texts in loaded.channels.items()})


class LoadsWritesAsTheyCame(MemorySaver):
    def load(self, thread_id: str, namespace: str = "", checkpoint_id: str | None = None) -> LoadedCheckpoint | None:
        loaded = super().load(thread_id, namespace, checkpoint_id)
        return loaded and replace(loaded, writes=loaded.writes[::-1])


class PassesOverMissingVersions(MemorySaver):
    def load(self, thread_id: str, namespace: str = "", checkpoint_id: str | None = None) -> LoadedCheckpoint | None:
        try:
            return super().load(thread_id, namespace, checkpoint_id)
        except CheckpointError:
            return None


class ListsTheOldestFirst(MemorySaver):
    def history(
        self, thread_id: str, namespace: str = "", *, before: int | None = None, limit: int | None = None
    ) -> list[CheckpointRow]:
        return super().history(thread_id, namespace, before=before, limit=limit)[::-1]


class ListsOneTooMany(MemorySaver):
    def history(
        self, thread_id: str, namespace: str = "", *, before: int | None = None, limit: int | None = None
    ) -> list[CheckpointRow]:
        return super().history(thread_id, namespace, before=None if before is None else before + 1, limit=limit)


class TakesNoLimitForNone(MemorySaver):
    def history(
        self, thread_id: str, namespace: str = "", *, before: int | None = None, limit: int | None = None
    ) -> list[CheckpointRow]:
        return super().history(thread_id, namespace, before=before, limit=limit or None)


class LetsTheLastCallWin(MemorySaver):
    def save_call(self, thread_id: str, row: CallRow, *, after: int | None) -> bool:
        if super().save_call(thread_id, row, after=after):
            return True
        known = self.load_call(thread_id, row.key)
        if known is not None:
            super().save_call(thread_id, replace(row, version=known.version + 1), after=known.version)
        return False


class TellsEveryCallTrue(MemorySaver):
    def save_call(self, thread_id: str, row: CallRow, *, after: int | None) -> bool:
        super().save_call(thread_id, row, after=after)
        return True


class LooksAndThenWrites(MemorySaver):
    def save_call(self, thread_id: str, row: CallRow, *, after: int | None) -> bool:
        known = self.load_call(thread_id, row.key)
        if (known and known.version) != after:
            return False
        time.sleep(0.002)
        super().save_call(thread_id, row, after=after)
        return True


class ListsCallsByKey(MemorySaver):
    def calls(self, thread_id: str) -> list[CallRow]:
        return sorted(super().calls(thread_id), key=lambda row: row.key)


class ForgetsThreadsOfCalls(MemorySaver):
    def threads(self) -> list[str]:
        return [name for name in super().threads() if self.history(name)]


class SortsThreadsWithoutCase(MemorySaver):
    def threads(self) -> list[str]:
        return sorted(super().threads(), key=str.casefold)


class TakesThreadsWithoutCase(MemorySaver):
    def save_call(self, thread_id: str, row: CallRow, *, after: int | None) -> bool:
        return super().save_call(thread_id.lower(), row, after=after)

    def load_call(self, thread_id: str, key: str) -> CallRow | None:
        return super().load_call(thread_id.lower(), key)


class PrunesOneTooMany(MemorySaver):
    def prune(self, thread_id: str | None = None, *, keep: int | None = None, older_than: float | None = None) -> int:
        fewer = keep - 1 if keep and keep > 1 else keep
        return super().prune(thread_id, keep=fewer, older_than=older_than)


class PrunesByNumberAlone(MemorySaver):
    def prune(self, thread_id: str | None = None, *, keep: int | None = None, older_than: float | None = None) -> int:
        return super().prune(thread_id, keep=keep)


class PrunesAllThreads(MemorySaver):
    def prune(self, thread_id: str | None = None, *, keep: int | None = None, older_than: float | None = None) -> int:
        return super().prune(keep=keep, older_than=older_than)


class PrunesCalls(MemorySaver):
    def prune(self, thread_id: str | None = None, *, keep: int | None = None, older_than: float | None = None) -> int:
        count = super().prune(thread_id, keep=keep, older_than=older_than)
        for thread in self.threads() if count else []:
            self._threads[thread].calls.clear()
        return count


class PrunesVersionsInUse(MemorySaver):
    def prune(self, thread_id: str | None = None, *, keep: int | None = None, older_than: float | None = None) -> int:
        count = super().prune(thread_id, keep=keep, older_than=older_than)
        for thread in self._threads.values():
            for space in thread.spaces.values():
                named = {link for row in space.steps.values() for link in row.channels.items()}
                kept = {
                    link: replace(change, previous=None) for link, change in space.versions.items() if link in named
                }
                space.versions = kept
        return count


class PrunesNothingInside(MemorySaver):
    def prune(self, thread_id: str | None = None, *, keep: int | None = None, older_than: float | None = None) -> int:
        inner = {
            name: {space: held for space, held in thread.spaces.items() if space}
            for name, thread in self._threads.items()
        }
        count = super().prune(thread_id, keep=keep, older_than=older_than)
        for name, spaces in inner.items():
            self._threads[name].spaces.update(spaces)
        return count


class ComposesCharacters(MemorySaver):
    def save_call(self, thread_id: str, row: CallRow, *, after: int | None) -> bool:
        return super().save_call(thread_id, replace(row, text=unicodedata.normalize("NFC", row.text)), after=after)


class CutsLongTexts(MemorySaver):
    def put(
        self,
        row: CheckpointRow,
        changes: Sequence[ChannelRow],
        *,
        after: str | None,
        drop: Sequence[str] = (),
        inside: Inside = None,
    ) -> None:
        cut = [replace(change, text=change.text[:65_535]) for change in changes]
        super().put(row, cut, after=after, drop=drop, inside=inside)


class RoundsTimes(MemorySaver):
    def put(
        self,
        row: CheckpointRow,
        changes: Sequence[ChannelRow],
        *,
        after: str | None,
        drop: Sequence[str] = (),
        inside: Inside = None,
    ) -> None:
        (single,) = struct.unpack("f", struct.pack("f", row.created_at))
        super().put(replace(row, created_at=single), changes, after=after, drop=drop, inside=inside)


class RoundsNumbers(MemorySaver):
    def put_writes(
        self, thread_id: str, namespace: str, checkpoint_id: str, writes: Sequence[WriteRow], *, is_claim: bool = False
    ) -> None:
        rounded = [
            replace(write, number=int(float(write.number))) if write.number < 2**60 else write for write in writes
        ]
        super().put_writes(thread_id, namespace, checkpoint_id, rounded, is_claim=is_claim)


class CutsAtNul(MemorySaver):
    def save_call(self, thread_id: str, row: CallRow, *, after: int | None) -> bool:
        return super().save_call(thread_id.partition("\0")[0], row, after=after)


class StaysOpen(MemorySaver):
    def close(self) -> None:
        pass


class ClosesOnce(MemorySaver):
    def close(self) -> None:
        self.threads()
        super().close()


class AwaitsNothing(MemorySaver):
    async def aput_writes(
        self, thread_id: str, namespace: str, checkpoint_id: str, writes: Sequence[WriteRow], *, is_claim: bool = False
    ) -> None:
        pass


class AwaitsWithoutOptions(MemorySaver):
    async def ahistory(
        self, thread_id: str, namespace: str = "", *, before: int | None = None, limit: int | None = None
    ) -> list[CheckpointRow]:
        return self.history(thread_id, namespace)


class HoldsHalfWhenCancelled(MemorySaver):
    async def aput(
        self,
        row: CheckpointRow,
        changes: Sequence[ChannelRow],
        *,
        after: str | None,
        drop: Sequence[str] = (),
        inside: Inside = None,
    ) -> None:
        await asyncio.sleep(0)
        self.put(row, [], after=after, drop=drop, inside=inside)
        await asyncio.sleep(0)
        space = self._threads[row.thread_id].spaces[row.namespace]
        space.versions.update({(change.key, change.version): change for change in changes})


BROKEN = [
    value
    for value in list(globals().values())
    if isinstance(value, type) and issubclass(value, MemorySaver) and value is not MemorySaver
]


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_a_saver_that_breaks_a_promise_is_found_out(broken: type[MemorySaver]) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - most break promises, some raise what comes of it
        check_checkpointer(broken)
    assert any(note.startswith("check_checkpointer: ") for note in caught.value.__notes__)


def test_a_finding_says_which_promise_was_broken() -> None:
    with pytest.raises(AssertionError) as caught:
        check_checkpointer(ListsOneTooMany)
    assert str(caught.value).startswith("history(before=4) gives those below 4: expected [CheckpointRow(")
    assert caught.value.__notes__ == ["check_checkpointer: history is given in pages"]


class BelongsToOneLoop(MemorySaver):
    def __init__(self) -> None:
        super().__init__()
        self.lock = asyncio.Lock()

    async def in_background(self, call: Callable[[], T]) -> T:
        async with self.lock:
            await asyncio.sleep(0.001)
            return call()


def test_a_saver_that_hangs_on_a_second_loop_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(awaiting, "PATIENCE", 0.3)
    with pytest.raises((TimeoutError, RuntimeError)) as caught:
        check_checkpointer(BelongsToOneLoop)
    assert caught.value.__notes__ == ["check_checkpointer: several loops may await at a time"]


def test_a_saver_that_forgets_at_its_end_is_found_out_by_opening_it_anew() -> None:
    with pytest.raises(AssertionError, match="checkpoints outlive the saver"):
        check_checkpointer(MemorySaver, reopen=lambda _: MemorySaver())


def test_every_saver_that_was_made_is_closed() -> None:
    made: list[MemorySaver] = []

    def make() -> MemorySaver:
        made.append(MemorySaver())
        return made[-1]

    check_checkpointer(make)
    assert len(made) > 30
    for saver in made:
        with pytest.raises(StoreError, match="is closed"):
            saver.threads()
