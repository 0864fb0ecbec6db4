"""What a committer has to know of a database."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

__all__ = ["Database"]

C = TypeVar("C")


class Database(ABC, Generic[C]):
    """What a committer has to know of a database; all of it is called on the committer's thread only.

    Methods may raise the driver's own exceptions; ``told`` says what becomes of them.
    """

    outlives_connection: bool = True
    """Whether what is stored is still there when the connection is closed and opened again."""

    @abstractmethod
    def connect(self) -> C:
        """Open a connection, ready for use: with its tables, outside of a transaction.

        Called for the first operation, and again for the next one whenever the connection was lost.
        """

    @abstractmethod
    def begin(self, connection: C, *, writes: bool) -> None:
        """Begin a transaction, and take what locks it needs; where that fails, no operation is tried alone.

        Args:
            connection: The connection.
            writes: Whether it may write. Where it may, nobody else must be able to write what it has read until it ends
                (or the commit must fail).
        """

    @abstractmethod
    def commit(self, connection: C) -> None:
        """Commit; returns when it holds, whatever happens to this process or the machine."""

    @abstractmethod
    def roll_back(self, connection: C) -> None:
        """Undo what the transaction did; does nothing where there is none."""

    @abstractmethod
    def close(self, connection: C) -> None:
        """Let go of a connection, in whatever state it is."""

    @abstractmethod
    def is_lost(self, connection: C) -> bool:
        """Whether the connection, on which something has just failed, is of no use any more; must not raise.

        A lost one is closed, and what was asked for is run once more on a new one; where it was lost in ``commit``,
        that depends on what ``holds`` says.
        """

    def holds(self, connection: C) -> bool | None:
        """Whether the transaction holds whose ``commit`` lost the connection.

        None where nobody can know: then whoever waits is told that it may hold or not.
        """
        return None

    @abstractmethod
    def told(self, error: Exception) -> Exception:
        """The exception that whoever waits is to see, a ``StoreError`` for one of the driver; must not raise."""
