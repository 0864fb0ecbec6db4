"""A checkpointer on a SQLite file."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from dataclasses import dataclass
from typing import Final, get_args

from surehand.checkpoints.committed import CommittedSaver
from surehand.checkpoints.committing import Committer
from surehand.checkpoints.sqlite.file import MEMORY, SqliteFile, Synchronous
from surehand.checkpoints.sqlite.statements import SqliteStatements
from surehand.errors import OptionError, StoreError

__all__ = ["SqliteSaver"]

_LONGEST_SECONDS: Final = 24 * 60 * 60


class SqliteSaver(CommittedSaver[sqlite3.Connection]):
    """Keeps runs in a SQLite file, which is made where there is none; needs nothing but Python.

    One thread commits what all threads and loops ask for, in groups; see ``docs/decisions/0018-one-writer-thread.md``.
    Savers of one path in one process share it. Other processes of the machine may use the file at the same time, and
    other programs, such as the ``sqlite3`` shell, may read it; they must not write it. Processes write one at a time:
    who writes has the lock of a file beside it, ``runs.db-lock``, until the commit or its own death. Whoever closes
    the database last removes that file; one that a killed process has left means nothing.

    The file must be on a disk of this machine, or one where ``flock`` works and processes share memory; most network
    file systems do not. An empty file counts as none: a process that is killed while it makes the file leaves one.

    A fork of the process cannot use the saver, nor open its file anew: SQLite's locks do not outlive a fork.

    Args:
        path: Of the file; ``":memory:"`` for a database that is gone when the saver is closed.
        synchronous: ``FULL``: what was stored survives a power failure. ``NORMAL`` is faster, and a power failure may
            take the last commits with it. The death of the process loses nothing either way.
        timeout: Seconds to wait while others write, before ``StoreError`` is raised.

    Raises:
        OptionError: An option is unusable, or another saver of this path was opened with other options.
        StoreError: The file cannot be opened or made, or another process has been writing for too long.
        CheckpointError: The file is no database, another program's, or a newer Surehand's.

    Example:
        with SqliteSaver("runs.db") as saver:
            graph = builder.compile(checkpointer=saver)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        synchronous: Synchronous = "FULL",
        timeout: float = 30.0,
    ) -> None:
        options = _Options(synchronous=synchronous, timeout=timeout)
        real_path = _real_path(path)
        options.check()
        self._lease = _lease(real_path, options)
        super().__init__(self._lease.committer, SqliteStatements(), name=self._lease.name)
        # Without a reference to the saver: it is for the moment in which nobody has one any more.
        self._let_go = weakref.finalize(self, self._lease.forsake)
        self._let_go.atexit = False
        try:
            self._committer.run(_nothing, writes=False)
        except BaseException:
            self.close()
            raise

    @property
    def path(self) -> str:
        """The path of the file, absolute and without symbolic links."""
        return self._lease.path

    def close(self) -> None:
        """Let go of the file; it can then no longer be used. Closing twice does nothing."""
        self._is_closed = True
        if self._let_go.detach() is not None and self._lease.leave():
            self._committer.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """How a file is opened."""

    synchronous: Synchronous
    timeout: float

    def __str__(self) -> str:
        return f"synchronous={self.synchronous!r}, timeout={self.timeout}"

    def check(self) -> None:
        if self.synchronous not in get_args(Synchronous):
            raise OptionError(option="synchronous", value=self.synchronous, expected="'FULL' or 'NORMAL'")
        if not _is_span(self.timeout):
            raise OptionError(option="timeout", value=self.timeout, expected="seconds from 0 to a day")


def _is_span(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _LONGEST_SECONDS


def _real_path(path: object) -> str:
    """The path by which savers know that they mean one file."""
    if not isinstance(path, str | os.PathLike) or not (text := os.fspath(path)) or not isinstance(text, str):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        raise OptionError(option="path", value=path, expected="the path of a file, or ':memory:'")
    if text == MEMORY:
        return MEMORY
    if "\0" in text or text.startswith("file:"):
        raise OptionError(option="path", value=path, expected="the path of a file, not a URI")
    return os.path.realpath(text)


def _nothing(_: sqlite3.Connection) -> None:
    """To open the file is all that is asked for."""


class _Lease:
    """What the savers of one path share: a committer, and the count of those that use it."""

    def __init__(self, path: str, options: _Options) -> None:
        self.path = path
        self.options = options
        self.name = f"The saver of {path!r}"
        self.holders = 0
        file = SqliteFile(path, synchronous=options.synchronous, timeout=options.timeout)
        self.committer = Committer(file, name=self.name)

    def leave(self) -> bool:
        """Count a saver out; True for the last one, which then closes the committer."""
        with _lock:
            self.holders -= 1
            if self.holders:
                return False
            if _leases.get(self.path) is self:
                del _leases[self.path]
            return True

    def forsake(self) -> None:
        """Count a saver out that was not closed; called by the garbage collector, so that no lock may be waited for."""
        self.committer.forsake(lambda: not self.leave())


_lock = threading.Lock()
_leases: dict[str, _Lease] = {}
_inherited: set[str] = set()
"""Files that were open when this process was forked; SQLite believes that it holds their locks, and does not."""


def _lease(path: str, options: _Options) -> _Lease:
    with _lock:
        if path in _inherited:
            raise StoreError(
                problem=f"{path!r} was open when this process was forked off, and SQLite's locks do not outlive a fork",
                remedy="Close the saver before the fork; or start processes by 'spawn' or 'forkserver'.",
            )
        lease = _leases.get(path) if path != MEMORY else None
        if lease is None:
            lease = _Lease(path, options)
            if path != MEMORY:
                _leases[path] = lease
        elif lease.options != options:
            raise OptionError(
                option="path",
                value=path,
                expected=f"the options of the saver that has the file open ({lease.options})",
                remedy="Open it alike, or close the other saver first.",
            )
        lease.holders += 1
        return lease


def _forget_after_fork() -> None:
    """A child process has none of its parent's locks, and a lock of ours may have been held by another thread."""
    global _lock  # noqa: PLW0603 - one per process, remade after a fork
    _lock = threading.Lock()
    _inherited.update(_leases)
    _leases.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
