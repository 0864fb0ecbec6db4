"""A checkpointer whose operations run on a committer; what SQLite and PostgreSQL have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from surehand.checkpoints.checks import check_call, check_names, check_page, check_put, check_writes
from surehand.checkpoints.committing import Committer
from surehand.checkpoints.protocol import Checkpointer
from surehand.checkpoints.pruning import Retention
from surehand.checkpoints.records import CallRow, ChannelRow, CheckpointRow, LoadedCheckpoint, WriteRow
from surehand.errors import StoreError

__all__ = ["CommittedSaver", "Place", "Statements"]

C = TypeVar("C")
T = TypeVar("T")
Operation: TypeAlias = Callable[[C], T]


class Place(NamedTuple):
    """A namespace of a thread."""

    thread_id: str
    namespace: str = ""


class Statements(ABC, Generic[C]):
    """The methods of a ``Checkpointer`` as operations: functions of a connection that is in a transaction.

    Each does what the method of that name promises, and may be run more than once. Values were checked (see
    ``surehand.checkpoints.checks``): they can be stored, and make sense.
    """

    @abstractmethod
    def put(
        self,
        connection: C,
        *,
        row: CheckpointRow,
        changes: Sequence[ChannelRow],
        after: str | None,
        drop: Sequence[str],
        inside: tuple[str, str] | None,
    ) -> None:
        """``Checkpointer.put``.

        Args:
            connection: The connection.
            row: The checkpoint.
            changes: The versions that it brings.
            after: The id of the newest one.
            drop: The namespaces to forget.
            inside: The namespace and the id of the checkpoint that has to be the newest there.
        """

    @abstractmethod
    def put_writes(
        self, connection: C, *, place: Place, checkpoint_id: str, writes: Sequence[WriteRow], is_claim: bool
    ) -> None:
        """``Checkpointer.put_writes``."""

    @abstractmethod
    def load(self, connection: C, *, place: Place, checkpoint_id: str | None) -> LoadedCheckpoint | None:
        """``Checkpointer.load``."""

    @abstractmethod
    def history(self, connection: C, *, place: Place, before: int | None, limit: int | None) -> list[CheckpointRow]:
        """``Checkpointer.history``; ``newest`` is a history of one."""

    @abstractmethod
    def save_call(self, connection: C, *, thread_id: str, row: CallRow, after: int | None) -> bool:
        """``Checkpointer.save_call``."""

    @abstractmethod
    def load_call(self, connection: C, *, thread_id: str, key: str) -> CallRow | None:
        """``Checkpointer.load_call``."""

    @abstractmethod
    def calls(self, connection: C, *, thread_id: str) -> list[CallRow]:
        """``Checkpointer.calls``."""

    @abstractmethod
    def threads(self, connection: C) -> list[str]:
        """``Checkpointer.threads``."""

    @abstractmethod
    def delete_thread(self, connection: C, *, thread_id: str) -> None:
        """``Checkpointer.delete_thread``."""

    @abstractmethod
    def prune(self, connection: C, *, thread_id: str | None, rule: Retention) -> int:
        """``Checkpointer.prune``."""


class CommittedSaver(Checkpointer, Generic[C]):
    """A checkpointer of statements that run on a committer; values are checked before they are handed over.

    A subclass that changes a method changes its awaited twin as well: neither calls the other.

    Args:
        committer: Runs them; closed with the saver.
        statements: What is run.
        name: Of what is stored where, for messages: ``The saver of 'runs.db'``.
    """

    def __init__(self, committer: Committer[C], statements: Statements[C], *, name: str) -> None:
        self._committer = committer
        self._statements = statements
        self._name = name
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
        self._run(self._putting(row, changes, after, drop, inside))

    async def aput(
        self,
        row: CheckpointRow,
        changes: Sequence[ChannelRow],
        *,
        after: str | None,
        drop: Sequence[str] = (),
        inside: tuple[str, str] | None = None,
    ) -> None:
        """``put``, awaited."""
        await self._arun(self._putting(row, changes, after, drop, inside))

    def _putting(
        self,
        row: CheckpointRow,
        changes: Sequence[ChannelRow],
        after: str | None,
        drop: Sequence[str],
        inside: tuple[str, str] | None,
    ) -> Operation[C, None]:
        check_put(row, changes, after, drop, inside)
        put = partial(self._statements.put, row=row, changes=tuple(changes), after=after, drop=tuple(drop))
        return partial(put, inside=inside)

    def put_writes(
        self, thread_id: str, namespace: str, checkpoint_id: str, writes: Sequence[WriteRow], *, is_claim: bool = False
    ) -> None:
        """Add to what became known after a checkpoint; see ``Checkpointer.put_writes``."""
        self._run(self._putting_writes(thread_id, namespace, checkpoint_id, writes, is_claim=is_claim))

    async def aput_writes(
        self, thread_id: str, namespace: str, checkpoint_id: str, writes: Sequence[WriteRow], *, is_claim: bool = False
    ) -> None:
        """``put_writes``, awaited."""
        await self._arun(self._putting_writes(thread_id, namespace, checkpoint_id, writes, is_claim=is_claim))

    def _putting_writes(
        self, thread_id: str, namespace: str, checkpoint_id: str, writes: Sequence[WriteRow], *, is_claim: bool
    ) -> Operation[C, None]:
        check_writes(thread_id, namespace, checkpoint_id, writes)
        place = Place(thread_id, namespace)
        return partial(
            self._statements.put_writes,
            place=place,
            checkpoint_id=checkpoint_id,
            writes=tuple(writes),
            is_claim=is_claim,
        )

    def load(self, thread_id: str, namespace: str = "", checkpoint_id: str | None = None) -> LoadedCheckpoint | None:
        """A checkpoint; see ``Checkpointer.load``."""
        return self._run(self._loading(thread_id, namespace, checkpoint_id), writes=False)

    async def aload(
        self, thread_id: str, namespace: str = "", checkpoint_id: str | None = None
    ) -> LoadedCheckpoint | None:
        """``load``, awaited."""
        return await self._arun(self._loading(thread_id, namespace, checkpoint_id), writes=False)

    def _loading(
        self, thread_id: str, namespace: str, checkpoint_id: str | None
    ) -> Operation[C, LoadedCheckpoint | None]:
        check_names(thread_id, namespace, checkpoint_id)
        return partial(self._statements.load, place=Place(thread_id, namespace), checkpoint_id=checkpoint_id)

    def newest(self, thread_id: str, namespace: str = "") -> CheckpointRow | None:
        """The newest checkpoint without its texts; see ``Checkpointer.newest``."""
        return next(iter(self.history(thread_id, namespace, limit=1)), None)

    async def anewest(self, thread_id: str, namespace: str = "") -> CheckpointRow | None:
        """``newest``, awaited."""
        return next(iter(await self.ahistory(thread_id, namespace, limit=1)), None)

    def history(
        self, thread_id: str, namespace: str = "", *, before: int | None = None, limit: int | None = None
    ) -> list[CheckpointRow]:
        """Checkpoints, the newest first; see ``Checkpointer.history``."""
        return self._run(self._listing(thread_id, namespace, before, limit), writes=False)

    async def ahistory(
        self, thread_id: str, namespace: str = "", *, before: int | None = None, limit: int | None = None
    ) -> list[CheckpointRow]:
        """``history``, awaited."""
        return await self._arun(self._listing(thread_id, namespace, before, limit), writes=False)

    def _listing(
        self, thread_id: str, namespace: str, before: int | None, limit: int | None
    ) -> Operation[C, list[CheckpointRow]]:
        check_names(thread_id, namespace)
        check_page(before, limit)
        return partial(self._statements.history, place=Place(thread_id, namespace), before=before, limit=limit)

    def save_call(self, thread_id: str, row: CallRow, *, after: int | None) -> bool:
        """Write what is known of a call; see ``Checkpointer.save_call``."""
        return self._run(self._saving_call(thread_id, row, after))

    async def asave_call(self, thread_id: str, row: CallRow, *, after: int | None) -> bool:
        """``save_call``, awaited."""
        return await self._arun(self._saving_call(thread_id, row, after))

    def _saving_call(self, thread_id: str, row: CallRow, after: int | None) -> Operation[C, bool]:
        check_call(thread_id, row, after)
        return partial(self._statements.save_call, thread_id=thread_id, row=row, after=after)

    def load_call(self, thread_id: str, key: str) -> CallRow | None:
        """What is known of a call; see ``Checkpointer.load_call``."""
        return self._run(self._loading_call(thread_id, key), writes=False)

    async def aload_call(self, thread_id: str, key: str) -> CallRow | None:
        """``load_call``, awaited."""
        return await self._arun(self._loading_call(thread_id, key), writes=False)

    def _loading_call(self, thread_id: str, key: str) -> Operation[C, CallRow | None]:
        check_names(thread_id, key)
        return partial(self._statements.load_call, thread_id=thread_id, key=key)

    def calls(self, thread_id: str) -> list[CallRow]:
        """What is known of all calls of a thread; see ``Checkpointer.calls``."""
        return self._run(self._listing_calls(thread_id), writes=False)

    async def acalls(self, thread_id: str) -> list[CallRow]:
        """``calls``, awaited."""
        return await self._arun(self._listing_calls(thread_id), writes=False)

    def _listing_calls(self, thread_id: str) -> Operation[C, list[CallRow]]:
        check_names(thread_id)
        return partial(self._statements.calls, thread_id=thread_id)

    def threads(self) -> list[str]:
        """The threads there are; see ``Checkpointer.threads``."""
        return self._run(self._statements.threads, writes=False)

    async def athreads(self) -> list[str]:
        """``threads``, awaited."""
        return await self._arun(self._statements.threads, writes=False)

    def delete_thread(self, thread_id: str) -> None:
        """Forget a thread; see ``Checkpointer.delete_thread``."""
        self._run(self._deleting(thread_id))

    async def adelete_thread(self, thread_id: str) -> None:
        """``delete_thread``, awaited."""
        await self._arun(self._deleting(thread_id))

    def _deleting(self, thread_id: str) -> Operation[C, None]:
        check_names(thread_id)
        return partial(self._statements.delete_thread, thread_id=thread_id)

    def prune(self, thread_id: str | None = None, *, keep: int | None = None, older_than: float | None = None) -> int:
        """Forget old checkpoints; see ``Checkpointer.prune``."""
        return self._run(self._pruning(thread_id, keep, older_than))

    async def aprune(
        self, thread_id: str | None = None, *, keep: int | None = None, older_than: float | None = None
    ) -> int:
        """``prune``, awaited."""
        return await self._arun(self._pruning(thread_id, keep, older_than))

    def _pruning(self, thread_id: str | None, keep: int | None, older_than: float | None) -> Operation[C, int]:
        if thread_id is not None:
            check_names(thread_id)
        return partial(self._statements.prune, thread_id=thread_id, rule=Retention.of(keep=keep, older_than=older_than))

    def close(self) -> None:
        """Let go of the database; it can then no longer be used. Closing twice does nothing."""
        self._is_closed = True
        self._committer.close()

    def _run(self, operation: Operation[C, T], *, writes: bool = True) -> T:
        self._check_open()
        return self._committer.run(operation, writes=writes)

    async def _arun(self, operation: Operation[C, T], *, writes: bool = True) -> T:
        self._check_open()
        return await self._committer.arun(operation, writes=writes)

    def _check_open(self) -> None:
        if self._is_closed:  # the committer may be another saver's as well
            raise StoreError(problem=f"{self._name} is closed", remedy="Open it anew, and close it when all is done.")
