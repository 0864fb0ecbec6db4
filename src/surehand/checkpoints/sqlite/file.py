"""A SQLite file and the one connection to it.

By default the file belongs to this process for as long as it is open: the connection is in SQLite's exclusive mode,
whose lock the system takes away when the process ends, however it ends. SQLite before 3.51.3 (3.50.7 and 3.44.6 have
the correction, too) can damage a file in write-ahead mode when two connections write and clean up at the same moment
(https://sqlite.org/wal.html#walresetbug), and Python comes with such versions; with one connection it cannot happen.
A file that several processes share is in write-ahead mode where SQLite is new enough, and otherwise keeps a rollback
journal, which has no such fault and commits more slowly.

A file that was deleted or moved away does not keep its writers from writing: what they commit is lost with the file.
So each commit looks whether the file is where it was before anybody is told that it holds.
"""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, TypeAlias

from surehand.checkpoints.committing import Database
from surehand.checkpoints.sqlite.statements import SCHEMA_VERSION, TABLES
from surehand.errors import CheckpointError, StoreError, shown

__all__ = ["MEMORY", "SqliteFile", "Synchronous", "has_wal_reset_bug"]

MEMORY: Final = ":memory:"
"""Instead of a path: a database in memory, which is gone with its saver."""
Synchronous: TypeAlias = Literal["FULL", "NORMAL"]
"""``FULL``: a commit survives a power failure; ``NORMAL``: the death of the process, and perhaps not of the machine."""

_PAGE_BYTES: Final = 1024
_PAGES_IN_LOG: Final = 4_000
"""After how many pages SQLite moves the write-ahead log into the file."""
_RETRY_SECONDS: Final = 0.05
"""The longest time between two attempts to open a file that another process holds."""

_USABLE: Final = "The saver goes on as soon as it can."
_BUSY_ALONE: Final = (
    "A file belongs to one process at a time: close the saver of the other one, or open it with shared=True in all."
)
_BUSY_SHARED: Final = "Look for what holds it, such as a process that was opened without shared=True; or wait longer."
_TOLD: Final[dict[str, tuple[str, str, type[StoreError]]]] = {
    "SQLITE_BUSY": ("is in use by another process", _BUSY_ALONE, StoreError),
    "SQLITE_LOCKED": ("is in use by another connection", _BUSY_ALONE, StoreError),
    "SQLITE_READONLY": (
        "cannot be written",
        f"Give this user the right to write the file and its folder. {_USABLE}",
        StoreError,
    ),
    "SQLITE_CANTOPEN": (
        "cannot be opened",
        f"Give this user the right to read and write the file and its folder. {_USABLE}",
        StoreError,
    ),
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
"""What is said of SQLite's errors, by the beginning of their names, and what to do."""

_CAN_ASK_FOR_EFFECTIVE: Final = os.access in os.supports_effective_ids
_Identity: TypeAlias = tuple[int, int] | None
"""Device and number of a file; None where there is none."""


def has_wal_reset_bug(version: tuple[int, ...] = sqlite3.sqlite_version_info) -> bool:
    """Whether a version of SQLite may damage a file in write-ahead mode that two connections use."""
    return not (version >= (3, 51, 3) or (3, 50, 7) <= version < (3, 51) or (3, 44, 6) <= version < (3, 45))


class SqliteFile(Database[sqlite3.Connection]):
    """How a committer reaches a SQLite file.

    Args:
        path: An absolute path without symbolic links, or ``MEMORY``.
        synchronous: How safe a commit is.
        is_shared: Whether other processes may use the file, too.
        timeout: Seconds to wait for others to let it go.
    """

    def __init__(self, path: str, *, synchronous: Synchronous, is_shared: bool, timeout: float) -> None:
        self.path = path
        self.outlives_connection = path != MEMORY
        self._synchronous = synchronous
        self._is_shared = is_shared
        self._timeout = timeout
        self._journal = "TRUNCATE" if is_shared and has_wal_reset_bug() else "WAL"
        self._file: _Identity = None
        """Of the file that was opened first: another one in its place is another's."""
        self._log: _Identity = None
        """Of the write-ahead log that belongs to the connection."""

    def connect(self) -> sqlite3.Connection:
        """Open the file, or make it; waits where another process holds it."""
        until = time.monotonic() + self._timeout
        while True:
            try:
                return self._connect_once()
            except sqlite3.OperationalError as error:
                # In exclusive mode a connection that waits keeps what it has; two would wait for each other.
                if not _is_busy(error) or time.monotonic() >= until:
                    raise
            time.sleep(random.uniform(_RETRY_SECONDS / 10, _RETRY_SECONDS))  # noqa: S311 - guards nothing

    def begin(self, connection: sqlite3.Connection, *, writes: bool) -> None:
        """Begin, with the lock of a writer where it writes; a reader does not find out later that it has to wait."""
        self._check_in_place()
        self._begin(connection, writes=writes)
        while self._journal != "WAL" and _value(connection, "PRAGMA journal_mode") == "wal":
            # A process to which the file belonged alone was here meanwhile.
            self.roll_back(connection)
            self._set_journal(connection)
            self._begin(connection, writes=writes)

    def _begin(self, connection: sqlite3.Connection, *, writes: bool) -> None:
        connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
        if not writes:
            connection.execute("SELECT version FROM surehand_schema").fetchall()

    def commit(self, connection: sqlite3.Connection) -> None:
        """Commit; fails where the file is no longer where it was."""
        connection.execute("COMMIT")
        self._check_in_place()

    def roll_back(self, connection: sqlite3.Connection) -> None:
        """Undo; SQLite may have done so itself."""
        if connection.in_transaction:
            connection.execute("ROLLBACK")

    def close(self, connection: sqlite3.Connection) -> None:
        """Let go of the file; SQLite moves the write-ahead log into it."""
        self._log = None
        connection.close()

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
        if known == "SQLITE_BUSY":
            remedy = _BUSY_SHARED if self._is_shared else _BUSY_ALONE
        return kind(problem=f"{self.path!r} {problem} ({name}: {error})", remedy=remedy)

    # Opening

    def _connect_once(self) -> sqlite3.Connection:
        is_new = self._check_path()
        mode = "rwc" if is_new else "rw"
        address = MEMORY if self.path == MEMORY else f"{Path(self.path).as_uri()}?mode={mode}"
        connection = sqlite3.connect(address, timeout=0, isolation_level=None, uri=self.path != MEMORY)
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
        if not self._is_shared:  # before anything is read: SQLite then needs no memory that processes share
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        is_empty = self._check_tables(connection)
        for pragma, value in self._pragmas():
            connection.execute(f"PRAGMA {pragma} = {value}")
        self._set_journal(connection)
        if is_empty:
            self._make_tables(connection)
        connection.execute(f"PRAGMA busy_timeout = {int(self._timeout * 1_000)}")
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
        journal = _value(connection, f"PRAGMA journal_mode = {self._journal}")
        if journal != self._journal.lower():
            raise StoreError(
                problem=f"{self.path!r} keeps its journal in the mode {journal!r}; {self._journal} was asked for",
                remedy="Put the file on a local disk, and let all that use it open it alike.",
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
        if self._journal != "WAL":
            return True
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


def _is_busy(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def _value(connection: sqlite3.Connection, query: str) -> object:
    return connection.execute(query).fetchone()[0]


def _text(raw: bytes) -> str | bytes:
    """A text of the database; the bytes themselves where they are none, for whoever checks what was found."""
    with suppress(UnicodeDecodeError):
        return raw.decode()
    return raw
