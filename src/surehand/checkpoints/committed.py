"""A checkpointer whose operations run on a committer; what SQLite and PostgreSQL have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Generic, TypeVar

from surehand.checkpoints.committer import Committer
from surehand.checkpoints.protocol import Checkpointer
from surehand.checkpoints.records import CallRow, ChannelRow, CheckpointRow, LoadedCheckpoint, WriteRow

__all__ = ["CommittedSaver", "Statements"]

C = TypeVar("C")


class Statements(ABC, Generic[C]):
    """The methods of a ``Checkpointer`` as operations: functions of a connection that is in a transaction.

    Each does what the method of that name promises, and may be run more than once. Values were checked (see
    ``surehand.checkpoints.checks``): they can be stored, and make sense.
    """

    @abstractmethod
    def put(
        self, connection: C, row: CheckpointRow, changes: Sequence[ChannelRow], after: str | None, drop: Sequence[str]
    ) -> None:
        """``Checkpointer.put``."""

    @abstractmethod
    def put_writes(
        self,
        connection: C,
        thread_id: str,
        namespace: str,
        checkpoint_id: str,
        writes: Sequence[WriteRow],
        is_claim: bool,  # noqa: FBT001 - operations are called by CommittedSaver alone
    ) -> None:
        """``Checkpointer.put_writes``."""

    @abstractmethod
    def load(
        self, connection: C, thread_id: str, namespace: str, checkpoint_id: str | None
    ) -> LoadedCheckpoint | None:
        """``Checkpointer.load``."""

    @abstractmethod
    def history(
        self, connection: C, thread_id: str, namespace: str, before: int | None, limit: int | None
    ) -> list[CheckpointRow]:
        """``Checkpointer.history``; ``newest`` is a history of one."""

    @abstractmethod
    def save_call(self, connection: C, thread_id: str, row: CallRow, after: int | None) -> bool:
        """``Checkpointer.save_call``."""

    @abstractmethod
    def load_call(self, connection: C, thread_id: str, key: str) -> CallRow | None:
        """``Checkpointer.load_call``."""

    @abstractmethod
    def calls(self, connection: C, thread_id: str) -> list[CallRow]:
        """``Checkpointer.calls``."""

    @abstractmethod
    def threads(self, connection: C) -> list[str]:
        """``Checkpointer.threads``."""

    @abstractmethod
    def delete_thread(self, connection: C, thread_id: str) -> None:
        """``Checkpointer.delete_thread``."""

    @abstractmethod
    def prune(self, connection: C, thread_id: str | None, keep: int, created_before: float | None) -> int:
        """``Checkpointer.prune``.

        Args:
            connection: The connection.
            thread_id: Of this thread; None for all.
            keep: How many of the newest of each namespace stay in any case: 1 or more.
            created_before: Only those that were created earlier, in seconds since the epoch; None for any age.
        """


class CommittedSaver(Checkpointer, Generic[C]):
    """A checkpointer of statements that run on a committer.

    A subclass that changes a method changes its awaited twin as well: neither calls the other.

    Args:
        committer: Runs them.
        statements: What is run.
    """

    def __init__(self, committer: Committer[C], statements: Statements[C]) -> None:
        self._committer = committer
        self._statements = statements
