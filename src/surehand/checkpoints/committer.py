"""One thread that owns a connection to a database, and commits what others ask for in groups.

A commit waits for the disk or for a server, which takes longer than all the rest. While one is on its way, operations
pile up; all of them go into the next transaction, so that a hundred parallel calls cost few commits more than one.
Drivers are spared threads that share a connection, callers on a loop are spared a worker thread each, and a cancelled
caller leaves nothing half done: its operation was handed over, and takes place before all that are asked for later.

An operation is a function of the connection that may be run again: whatever it does beside the database, such as
raising a conflict, follows from what it reads there. That is what takes the place of savepoints, which would cost two
round trips each. Where one fails, all is rolled back; those before it are committed without it, it is tried once more
as the first of a transaction, where its failure is its own, and those after it go on. Where the commit itself fails,
halves are tried, until those that can be kept are.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import copy
import os
import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, cast
from weakref import WeakSet

from surehand.errors import StoreError

__all__ = ["Committer", "Database"]

C = TypeVar("C")
T = TypeVar("T")


class Database(ABC, Generic[C]):
    """What a committer has to know of a database; all of it is called on the committer's thread only.

    Methods may raise the driver's own exceptions; ``told`` says what becomes of them.
    """

    @abstractmethod
    def connect(self) -> C:
        """Open a connection, ready for use: with its tables, outside of a transaction.

        Called for the first operation, and again for the next one whenever the connection was lost.
        """

    @abstractmethod
    def begin(self, connection: C, *, writes: bool) -> None:
        """Begin a transaction.

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

        A lost one is closed, and what was asked for is run once more on a new one; unless it was lost in ``commit``:
        then nobody knows whether it holds, and whoever waits is told so.
        """

    @abstractmethod
    def told(self, error: Exception) -> Exception:
        """The exception that whoever waits is to see: a ``StoreError`` for an exception of the driver."""


class Committer(Generic[C]):
    """Runs operations on its thread and commits them in groups; usable from any thread and loop.

    Args:
        database: How to reach the database. The connection is opened when it is first needed.
        name: Of what is stored where, for messages: ``the saver of 'runs.db'``.
    """

    def __init__(self, database: Database[C], *, name: str) -> None: ...

    def run(self, operation: Callable[[C], T], *, writes: bool = True) -> T:
        """Run an operation in a transaction, and return what it returned once it is committed.

        Args:
            operation: May be run more than once; see the module.
            writes: Whether it writes. Those that only read also work where nothing can be written.

        Raises:
            StoreError: It could not be committed; or the committer is closed, or belongs to another process.
            Exception: Whatever the operation raises; nothing of it holds then.
        """
        raise NotImplementedError

    async def arun(self, operation: Callable[[C], T], *, writes: bool = True) -> T:
        """``run``, awaited, without a thread of its own. Where the wait is cancelled, the operation takes place."""
        raise NotImplementedError

    def close(self) -> None:
        """Run what was asked for so far, close the connection and end the thread; twice does nothing."""

    async def aclose(self) -> None:
        """``close``, awaited."""
