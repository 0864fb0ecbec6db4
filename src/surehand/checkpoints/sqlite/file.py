"""A SQLite file and the one connection to it.

Several processes may have the file open, and other programs may read it meanwhile. SQLite before 3.51.3 (3.50.7 and
3.44.6 have the correction, too) can damage a file in write-ahead mode when two connections write, or move the log into
the file, at the same moment (https://sqlite.org/wal.html#walresetbug), and Python comes with such versions. So whoever
opens the file, writes, or closes it has a lock meanwhile that one process at a time gets; the log is moved by commits,
and so under the lock as well. Newer versions need no such lock for safety. They get it all the same, for all who have
the file open must do alike, whatever their SQLite.

A file that was deleted or moved away does not keep its writers from writing: what they commit is lost with the file.
So each commit looks whether the file is where it was before anybody is told that it holds.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, TypeAlias

from surehand.checkpoints.committing import Database
from surehand.checkpoints.sqlite.lock import FileLock
from surehand.checkpoints.sqlite.statements import SCHEMA_VERSION, TABLES
from surehand.errors import CheckpointError, StoreError, shown

__all__ = ["MEMORY", "SqliteFile", "Synchronous"]

MEMORY: Final = ":memory:"
"""Instead of a path: a database in memory, which is gone with its saver."""
Synchronous: TypeAlias = Literal["FULL", "NORMAL"]
"""``FULL``: a commit survives a power failure; ``NORMAL``: the death of the process, and perhaps not of the machine."""

_PAGE_BYTES: Final = 1024
_PAGES_IN_LOG: Final = 4_000
"""After how many pages SQLite moves the write-ahead log into the file."""
_CLOSING_SECONDS: Final = 2.0
"""How long closing waits for others at the most."""

_USABLE: Final = "The saver goes on as soon as it can."
_BUSY: Final = f"Look for a process that stands still, or a program that writes the file; or wait longer. {_USABLE}"
_CANNOT_OPEN: Final = (
    "cannot be opened",
    f"Give this user the right to read and write the file and its folder. {_USABLE}",
    StoreError,
)
_TOLD: Final[dict[str, tuple[str, str, type[StoreError]]]] = {
    "SQLITE_BUSY": ("is in use by another process", _BUSY, StoreError),
    "SQLITE_LOCKED": ("is in use by another connection", _BUSY, StoreError),
    "SQLITE_READONLY": (
        "cannot be written",
        f"Give this user the right to write the file and its folder. {_USABLE}",
        StoreError,
    ),
    "SQLITE_CANTOPEN": _CANNOT_OPEN,
    "PermissionError": _CANNOT_OPEN,
    "SQLITE_FULL": ("does not fit on the disk", f"Make room; nothing of this was written. {_USABLE}", StoreError),
    "SQLITE_IOERR": (
        "could not be read or written",
        f"Look after the disk: is it full, or gone? Nothing of this was written. {_USABLE}",
        StoreError,
    ),
    "SQLITE_TOOBIG": ("does not take a text of this size", "Store less at a time.", StoreError),
    "SQLITE_NOTADB": (
        "is no database",
        "Give another path; a file that does not exist is made.",
        CheckpointError,
    ),
    "SQLITE_CORRUPT": (
        "is damaged",
        "Restore it from a backup, or save what can be read with the command '.recover' of sqlite3.",
        CheckpointError,
    ),
    "SQLITE_ERROR": (
        "does not have the tables as Surehand made them",
        "Restore it from a backup, or give another path.",
        CheckpointError,
    ),
    "": ("could not be used", f"Look after the file and its folder. {_USABLE}", StoreError),
}
"""What is said of errors of SQLite and of the lock, by the beginning of their names, and what to do."""

_CAN_ASK_FOR_EFFECTIVE: Final = os.access in os.supports_effective_ids
_Identity: TypeAlias = tuple[int, int] | None
"""Device and number of a file; None where there is none."""


class SqliteFile(Database[sqlite3.Connection]):
    """How a committer reaches a SQLite file.

    Args:
        path: An absolute path without symbolic links, or ``MEMORY``.
        synchronous: How safe a commit is.
        timeout: Seconds to wait for others who write.
    """

    def __init__(self, path: str, *, synchronous: Synchronous, timeout: float) -> None:
        self.path = path
        self.outlives_connection = path != MEMORY
        self._synchronous = synchronous
        self._timeout = timeout
        self._lock = None if path == MEMORY else FileLock(f"{path}-lock", beside=path)
        self._file: _Identity = None
        """Of the file that was opened first: another one in its place is another's."""
        self._log: _Identity = None
        """Of the write-ahead log that belongs to the connection."""

    def connect(self) -> sqlite3.Connection:
        """Open the file, or make it."""
        is_new = self._check_path()
        self._acquire()
        try:
            connection = self._connected(is_new=is_new)
        except BaseException:
            self._close_lock()
            raise
        self._release()
        return connection

    def begin(self, connection: sqlite3.Connection, *, writes: bool) -> None:
        """Begin, with the lock of a writer where it writes; a reader does not find out later that it has to wait."""
        self._check_in_place()
        if writes:
            self._acquire()
            connection.execute("BEGIN IMMEDIATE")
        else:
            connection.execute("BEGIN")
            connection.execute("SELECT version FROM surehand_schema").fetchall()

    def commit(self, connection: sqlite3.Connection) -> None:
        """Commit; fails where the file is no longer where it was."""
        connection.execute("COMMIT")
        self._release()
        self._check_in_place()

    def roll_back(self, connection: sqlite3.Connection) -> None:
        """Undo; SQLite may have done so itself."""
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        self._release()

    def close(self, connection: sqlite3.Connection) -> None:
        """Let go of the file; SQLite moves the write-ahead log into it where nobody else has it open."""
        self._log = None
        # Without the lock, too: SQLite moves the log only where it gets the whole file for itself, so that nobody who
        # has it open is disturbed. To wait a little spares two that close at a time from leaving it to each other.
        with suppress(OSError):
            if self._lock is not None:
                self._lock.acquire(min(self._timeout, _CLOSING_SECONDS))
        try:
            connection.close()
        finally:
            self._close_lock()

    def is_lost(self, connection: sqlite3.Connection) -> bool:
        """Whether the file that is open is no longer the one of its name."""
        return not self._is_in_place()

    def told(self, error: Exception) -> Exception:
        """A StoreError that says what happened to the file, and what to do."""
        if not isinstance(error, sqlite3.Error | sqlite3.Warning | OSError | OverflowError):
            return error
        name = getattr(error, "sqlite_errorname", "") or type(error).__name__
        known = next((known for known in _TOLD if name.startswith(known)), "")
        problem, remedy, kind = _TOLD[known]
        return kind(problem=f"{self.path!r} {problem} ({name}: {error})", remedy=remedy)

    # Who may write

    def _acquire(self) -> None:
        if self._lock is not None and not self._lock.acquire(self._timeout):
            raise StoreError(
                problem=f"{self.path!r} is in use by another process, which has had the lock {self._lock.path!r} for "
                f"{self._timeout:g} seconds",
                remedy=_BUSY,
            )

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()

    def _close_lock(self) -> None:
        """Close the lock's file; where SQLite has removed its log, nobody else uses the database, and the lock goes."""
        if self._lock is not None:
            self._lock.close(removes=_identity_of(f"{self.path}-wal") is None)

    # Opening

    def _connected(self, *, is_new: bool) -> sqlite3.Connection:
        mode = "rwc" if is_new else "rw"
        address = MEMORY if self.path == MEMORY else f"{Path(self.path).as_uri()}?mode={mode}"
        connection = sqlite3.connect(address, timeout=self._timeout, isolation_level=None, uri=self.path != MEMORY)
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check_path(self) -> bool:
        """Whether the file may be made; raises where what is there is none, or another one than before."""
        if self.path == MEMORY:
            return True
        found = _identity_of(self.path)
        if self._file is not None and found != self._file:
            raise self._moved(found)
        if not Path(self.path).parent.is_dir():
            raise StoreError(
                problem=f"The folder of {self.path!r} does not exist", remedy="Make it, or correct the path."
            )
        if found is not None and not Path(self.path).is_file():
            raise StoreError(problem=f"{self.path!r} is no file", remedy="Give the path of a file.")
        # SQLite opens such a file all the same, and fails when it asks for the lock of one that writes. The file must
        # not be opened here to find out: to close it would take all locks of this process with it.
        if found is not None and not os.access(self.path, os.W_OK, effective_ids=_CAN_ASK_FOR_EFFECTIVE):
            problem, remedy, kind = _TOLD["SQLITE_READONLY"]
            raise kind(problem=f"{self.path!r} {problem}", remedy=remedy)
        return found is None

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.text_factory = _text
        is_empty = self._check_tables(connection)
        for pragma, value in self._pragmas():
            connection.execute(f"PRAGMA {pragma} = {value}")
        self._set_journal(connection)
        if is_empty:
            self._make_tables(connection)
        if self.path != MEMORY:
            self._file = _identity_of(self.path)

    def _pragmas(self) -> Iterator[tuple[str, object]]:
        yield "trusted_schema", "OFF"  # a file of unknown origin runs nothing
        yield "cell_size_check", "ON"
        yield "page_size", _PAGE_BYTES  # this and the next are heeded by an empty file alone
        yield "auto_vacuum", "INCREMENTAL"
        yield "cache_size", -16_000  # in kB; the pages of a conversation of some MB stay at hand
        yield "wal_autocheckpoint", _PAGES_IN_LOG
        yield "synchronous", self._synchronous
        yield "fullfsync", "ON" if self._synchronous == "FULL" else "OFF"  # macOS keeps what fsync wrote in the drive
        yield "secure_delete", "ON"  # what is forgotten does not stay in free pages

    def _set_journal(self, connection: sqlite3.Connection) -> None:
        if self.path == MEMORY:
            return
        journal = _value(connection, "PRAGMA journal_mode = WAL")
        if journal != "wal":
            raise StoreError(
                problem=f"{self.path!r} keeps its journal in the mode {journal!r}; WAL was asked for",
                remedy="Put the file on a local disk.",
            )

    def _make_tables(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        if self._check_tables(connection):  # nobody else did so meanwhile
            for statement in TABLES.values():
                connection.execute(statement)
            connection.execute("INSERT INTO surehand_schema VALUES (?)", (SCHEMA_VERSION,))
        connection.execute("COMMIT")

    def _check_tables(self, connection: sqlite3.Connection) -> bool:
        """Whether there are no tables at all; raises where they are not ours."""
        query = "SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'view')"
        found = dict(connection.execute(query).fetchall())
        if not found:
            return True
        if "surehand_schema" not in found:
            raise CheckpointError(
                problem=f"{self.path!r} is another program's database: it has the table {shown(min(map(str, found)))} "
                "and not those of Surehand",
                remedy="Give another path; a file that does not exist is made.",
            )
        versions = connection.execute("SELECT version FROM surehand_schema LIMIT 2").fetchall()
        if versions != [(SCHEMA_VERSION,)]:
            raise _unknown_schema(self.path, versions)
        changed = [name for name, sql in TABLES.items() if found.get(name) != sql]
        if changed:  # without its indices, a table of many rows would take for ever
            problem, remedy, kind = _TOLD["SQLITE_ERROR"]
            raise kind(problem=f"{self.path!r} {problem} ({', '.join(changed)})", remedy=remedy)
        return False

    # Whether the file is still there

    def _check_in_place(self) -> None:
        if not self._is_in_place():
            raise self._moved(_identity_of(self.path))

    def _is_in_place(self) -> bool:
        if self.path == MEMORY:
            return True
        if _identity_of(self.path) != self._file:
            return False
        log = _identity_of(f"{self.path}-wal")
        self._log = self._log or log
        return log == self._log

    def _moved(self, found: _Identity) -> StoreError:
        if found is None:
            return StoreError(
                problem=f"{self.path!r} was deleted or moved away while it was in use",
                remedy="Put it back, and the saver goes on; or close the saver and open it anew, for a new file.",
            )
        if found == self._file:
            return StoreError(
                problem=f"{self.path + '-wal'!r} was deleted or moved away while it was in use",
                remedy="Leave it where it is: it belongs to the database. What was committed before is safe.",
            )
        return StoreError(
            problem=f"{self.path!r} was replaced by another file while it was in use",
            remedy="Put the first one back; or close the saver, delete the file's '-wal', and open it anew.",
        )


def _unknown_schema(path: str, versions: list[tuple[object]]) -> CheckpointError:
    version = versions[0][0] if len(versions) == 1 else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        return CheckpointError(
            problem=f"{path!r} was written by a newer Surehand: its tables are of version {version} where this one "
            f"knows version {SCHEMA_VERSION}",
            remedy="Install that one, or give another path.",
        )
    return CheckpointError(
        problem=f"{path!r} does not say which version its tables are of: expected {SCHEMA_VERSION}, got {version!r}",
        remedy="Restore it from a backup, or give another path.",
    )


def _identity_of(path: str) -> _Identity:
    try:
        found = os.stat(path)  # noqa: PTH116 - twice for each commit
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _value(connection: sqlite3.Connection, query: str) -> object:
    return connection.execute(query).fetchone()[0]


def _text(raw: bytes) -> str | bytes:
    """A text of the database; the bytes themselves where they are none, for whoever checks what was found."""
    with suppress(UnicodeDecodeError):
        return raw.decode()
    return raw
