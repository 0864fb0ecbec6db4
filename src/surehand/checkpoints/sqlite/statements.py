"""The tables of a SQLite file, and what is done with them.

Names of threads and namespaces stand once, and other rows name them by number. Tables of texts keep their rowid: in a
tree without one, rows beyond a fraction of a page waste most of another. Pages are small for the same reason: what a
row wastes is up to half a page, and a row is one change of one key.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from surehand.checkpoints.checks import already_there, check_follows, check_inside
from surehand.checkpoints.committed import Place, Statements
from surehand.checkpoints.found import Found, Link, channels_text
from surehand.checkpoints.pruning import Retention, is_inside_step, needed_versions
from surehand.checkpoints.records import CallRow, ChannelRow, CheckpointRow, LoadedCheckpoint, WriteRow
from surehand.errors import CheckpointConflict

__all__ = ["SCHEMA_VERSION", "TABLES", "SqliteStatements"]

SCHEMA_VERSION: Final = 1
TABLES: Final = {
    "surehand_schema": "CREATE TABLE surehand_schema (version INTEGER NOT NULL)",
    "surehand_threads": "CREATE TABLE surehand_threads (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    "surehand_spaces": """CREATE TABLE surehand_spaces (
        id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, namespace TEXT NOT NULL, UNIQUE (thread, namespace))""",
    "surehand_checkpoints": """CREATE TABLE surehand_checkpoints (
        row INTEGER PRIMARY KEY, space INTEGER NOT NULL, number INTEGER NOT NULL, id TEXT NOT NULL, parent TEXT,
        created_at REAL NOT NULL, channels TEXT NOT NULL, body TEXT NOT NULL,
        UNIQUE (space, number), UNIQUE (space, id))""",
    "surehand_versions": """CREATE TABLE surehand_versions (
        row INTEGER PRIMARY KEY, space INTEGER NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, previous INTEGER,
        text TEXT NOT NULL, UNIQUE (space, key, version))""",
    "surehand_writes": """CREATE TABLE surehand_writes (
        row INTEGER PRIMARY KEY, checkpoint INTEGER NOT NULL, task TEXT NOT NULL, kind TEXT NOT NULL,
        number INTEGER NOT NULL, text TEXT NOT NULL, UNIQUE (checkpoint, task, kind, number))""",
    "surehand_calls": """CREATE TABLE surehand_calls (
        row INTEGER PRIMARY KEY, thread INTEGER NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL,
        state TEXT NOT NULL, changed_at REAL NOT NULL, text TEXT NOT NULL, UNIQUE (thread, key))""",
}
"""The tables, and the statements that make them; a file is known by having these very ones."""

_MAX_PAGES_RETURNED: Final = 50_000
"""How many free pages are given back to the system at a time: each has to be moved to the end of the file first."""
_CHECKPOINTS: Final = """
    SELECT s.id, c.row, c.id, c.number, c.parent, c.body, c.created_at, c.channels
    FROM surehand_threads t
    JOIN surehand_spaces s ON t.name = :thread_id AND s.thread = t.id AND s.namespace = :namespace
    JOIN surehand_checkpoints c ON c.space = s.id
"""
_CALLS: Final = """
    SELECT c.key, c.version, c.state, c.text, c.changed_at
    FROM surehand_threads t JOIN surehand_calls c ON c.thread = t.id WHERE t.name = :thread
"""
_INSERT_WRITE: Final = "INSERT INTO surehand_writes (checkpoint, task, kind, number, text) VALUES (?, ?, ?, ?, ?)"
_OR_REPLACE: Final = " ON CONFLICT (checkpoint, task, kind, number) DO UPDATE SET text = excluded.text"
_CHAIN: Final = """
    WITH RECURSIVE chain (version, previous, row) AS (
        SELECT version, previous, row FROM surehand_versions WHERE space = :space AND key = :key AND version = :version
        UNION ALL
        SELECT v.version, v.previous, v.row FROM chain c CROSS JOIN surehand_versions v
        WHERE v.space = :space AND v.key = :key AND v.version = c.previous AND c.previous < c.version
    )
    SELECT c.version, c.previous, v.text FROM chain c CROSS JOIN surehand_versions v ON v.row = c.row
    ORDER BY c.version DESC
"""
"""A chain, the newest first. Each version is lower than the one before, so that no loop goes on for ever."""


class _Step(NamedTuple):
    """A checkpoint as pruning sees it."""

    row: int
    id: str


class SqliteStatements(Statements[sqlite3.Connection]):
    """What is done with the tables; all rows that are read are suspected."""

    def put(
        self,
        connection: sqlite3.Connection,
        *,
        row: CheckpointRow,
        changes: Sequence[ChannelRow],
        after: str | None,
        drop: Sequence[str],
        inside: tuple[str, str] | None,
    ) -> None:
        """``Checkpointer.put``."""
        place = Place(row.thread_id, row.namespace)
        thread = _made_thread(connection, place.thread_id)
        space = _made_space(connection, thread, place.namespace)
        check_follows(row, after=after, newest=_newest(connection, place, space))
        if inside is not None:
            step = Place(row.thread_id, inside[0])
            check_inside(row, inside, _newest(connection, step, _made_space(connection, thread, step.namespace)))
        with _unique(row):
            connection.execute(
                "INSERT INTO surehand_checkpoints (space, number, id, parent, created_at, channels, body) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (space, row.number, row.id, row.parent, row.created_at, channels_text(row.channels), row.body),
            )
            connection.executemany(
                "INSERT INTO surehand_versions (space, key, version, previous, text) VALUES (?, ?, ?, ?, ?)",
                [(space, change.key, change.version, change.previous, change.text) for change in changes],
            )
        for name in drop:
            _forget_spaces(connection, _spaces_at_or_below(connection, thread, name))

    def put_writes(
        self,
        connection: sqlite3.Connection,
        *,
        place: Place,
        checkpoint_id: str,
        writes: Sequence[WriteRow],
        is_claim: bool,
    ) -> None:
        """``Checkpointer.put_writes``."""
        conflict = CheckpointConflict(thread_id=place.thread_id, where=f"checkpoint {checkpoint_id!r}")
        values = {**place._asdict(), "id": checkpoint_id}
        found = connection.execute(f"{_CHECKPOINTS} AND c.id = :id", values).fetchone()
        if found is None:
            raise conflict
        try:
            connection.executemany(
                _INSERT_WRITE if is_claim else _INSERT_WRITE + _OR_REPLACE,
                [(found[1], write.task, write.kind, write.number, write.text) for write in writes],
            )
        except sqlite3.IntegrityError as error:
            raise conflict from error

    def load(
        self, connection: sqlite3.Connection, *, place: Place, checkpoint_id: str | None
    ) -> LoadedCheckpoint | None:
        """``Checkpointer.load``."""
        which = "ORDER BY c.number DESC LIMIT 1" if checkpoint_id is None else "AND c.id = :id"
        values = {**place._asdict(), "id": checkpoint_id}
        found = connection.execute(f"{_CHECKPOINTS} {which}", values).fetchone()
        if found is None:
            return None
        here = Found(*place)
        space, number = found[:2]
        row = _checkpoint(here, found)
        chains = {
            key: [Link(*link) for link in connection.execute(_CHAIN, {"space": space, "key": key, "version": version})]
            for key, version in row.channels.items()
        }
        writes = connection.execute(
            "SELECT task, kind, number, text FROM surehand_writes WHERE checkpoint = ?", (number,)
        ).fetchall()
        return here.loaded(row, chains, writes)

    def history(
        self, connection: sqlite3.Connection, *, place: Place, before: int | None, limit: int | None
    ) -> list[CheckpointRow]:
        """``Checkpointer.history``."""
        which = "" if before is None else "AND c.number < :before"
        values = {**place._asdict(), "before": before, "limit": -1 if limit is None else limit}
        found = connection.execute(f"{_CHECKPOINTS} {which} ORDER BY c.number DESC LIMIT :limit", values)
        here = Found(*place)
        return [_checkpoint(here, columns) for columns in found]

    def save_call(self, connection: sqlite3.Connection, *, thread_id: str, row: CallRow, after: int | None) -> bool:
        """``Checkpointer.save_call``."""
        thread = _made_thread(connection, thread_id)
        values = (row.version, row.state, row.changed_at, row.text, thread, row.key)
        if after is None:
            done = connection.execute(
                "INSERT INTO surehand_calls (version, state, changed_at, text, thread, key) VALUES (?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (thread, key) DO NOTHING",
                values,
            )
        else:
            done = connection.execute(
                "UPDATE surehand_calls SET version = ?, state = ?, changed_at = ?, text = ? "
                "WHERE thread = ? AND key = ? AND version = ?",
                (*values, after),
            )
        return done.rowcount > 0

    def load_call(self, connection: sqlite3.Connection, *, thread_id: str, key: str) -> CallRow | None:
        """``Checkpointer.load_call``."""
        values = {"thread": thread_id, "key": key}
        found = connection.execute(f"{_CALLS} AND c.key = :key", values).fetchone()
        return None if found is None else _call(Found(thread_id), found)

    def calls(self, connection: sqlite3.Connection, *, thread_id: str) -> list[CallRow]:
        """``Checkpointer.calls``."""
        here = Found(thread_id)
        return [_call(here, found) for found in connection.execute(f"{_CALLS} ORDER BY c.row", {"thread": thread_id})]

    def threads(self, connection: sqlite3.Connection) -> list[str]:
        """``Checkpointer.threads``."""
        found = connection.execute(
            "SELECT name FROM surehand_threads t WHERE EXISTS (SELECT 1 FROM surehand_calls WHERE thread = t.id) "
            "OR EXISTS (SELECT 1 FROM surehand_spaces s JOIN surehand_checkpoints c ON c.space = s.id "
            "WHERE s.thread = t.id) ORDER BY name"
        )
        return [Found("").name(name) for (name,) in found]

    def delete_thread(self, connection: sqlite3.Connection, *, thread_id: str) -> None:
        """``Checkpointer.delete_thread``."""
        thread = _thread(connection, thread_id)
        if thread is None:
            return
        spaces = connection.execute("SELECT id FROM surehand_spaces WHERE thread = ?", (thread,)).fetchall()
        _forget_spaces(connection, [space for (space,) in spaces])
        connection.execute("DELETE FROM surehand_calls WHERE thread = ?", (thread,))
        connection.execute("DELETE FROM surehand_threads WHERE id = ?", (thread,))
        _return_pages(connection)

    def prune(self, connection: sqlite3.Connection, *, thread_id: str | None, rule: Retention) -> int:
        """``Checkpointer.prune``."""
        if thread_id is None:
            threads = connection.execute("SELECT id, name FROM surehand_threads").fetchall()
        else:
            threads = connection.execute(
                "SELECT id, name FROM surehand_threads WHERE name = ?", (thread_id,)
            ).fetchall()
        forgotten = sum(_prune_thread(connection, thread, Found("").name(name), rule) for thread, name in threads)
        if forgotten:
            _return_pages(connection)
        return forgotten


def _checkpoint(here: Found, columns: Sequence[Any]) -> CheckpointRow:
    _, _, id, number, parent, body, created_at, channels = columns
    return here.checkpoint(id=id, number=number, parent=parent, body=body, created_at=created_at, channels=channels)


def _call(here: Found, columns: Sequence[Any]) -> CallRow:
    key, version, state, text, changed_at = columns
    return here.call(key=key, version=version, state=state, text=text, changed_at=changed_at)


@contextmanager
def _unique(row: CheckpointRow) -> Generator[None, None, None]:
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise already_there(row) from error


def _thread(connection: sqlite3.Connection, thread_id: str) -> int | None:
    found = connection.execute("SELECT id FROM surehand_threads WHERE name = ?", (thread_id,)).fetchone()
    return None if found is None else found[0]


def _made_thread(connection: sqlite3.Connection, thread_id: str) -> int:
    thread = _thread(connection, thread_id)
    if thread is None:
        thread = connection.execute("INSERT INTO surehand_threads (name) VALUES (?)", (thread_id,)).lastrowid
    return thread or 0


def _made_space(connection: sqlite3.Connection, thread: int, namespace: str) -> int:
    place = (thread, namespace)
    found = connection.execute("SELECT id FROM surehand_spaces WHERE thread = ? AND namespace = ?", place).fetchone()
    if found is not None:
        return int(found[0])
    return connection.execute("INSERT INTO surehand_spaces (thread, namespace) VALUES (?, ?)", place).lastrowid or 0


def _newest(connection: sqlite3.Connection, place: Place, space: int) -> tuple[str, int] | None:
    found = connection.execute(
        "SELECT id, number FROM surehand_checkpoints WHERE space = ? ORDER BY number DESC LIMIT 1", (space,)
    ).fetchone()
    if found is None:
        return None
    here = Found(*place)
    return here.name(found[0]), here.number(*found)


def _spaces_at_or_below(connection: sqlite3.Connection, thread: int, namespace: str) -> list[int]:
    found = connection.execute(
        "SELECT id FROM surehand_spaces WHERE thread = ? AND (namespace = ? OR (namespace > ? AND namespace < ?))",
        (thread, namespace, f"{namespace}/", f"{namespace}0"),  # 0 is the character after /
    )
    return [space for (space,) in found]


def _forget_spaces(connection: sqlite3.Connection, spaces: Iterable[int]) -> None:
    values = [(space,) for space in spaces]
    connection.executemany(
        "DELETE FROM surehand_writes WHERE checkpoint IN (SELECT row FROM surehand_checkpoints WHERE space = ?)", values
    )
    connection.executemany("DELETE FROM surehand_versions WHERE space = ?", values)
    connection.executemany("DELETE FROM surehand_checkpoints WHERE space = ?", values)
    connection.executemany("DELETE FROM surehand_spaces WHERE id = ?", values)


def _prune_thread(connection: sqlite3.Connection, thread: int, name: str, rule: Retention) -> int:
    """Forget old checkpoints of a thread, namespace by namespace, the outer ones first; says how many."""
    found = connection.execute("SELECT id, namespace FROM surehand_spaces WHERE thread = ?", (thread,))
    spaces = {Found(name).name(namespace): space for space, namespace in found}
    forgotten = 0
    for namespace in sorted(spaces, key=len):
        if namespace not in spaces:  # it went with a step of an outer one
            continue
        space = spaces[namespace]
        steps = _forgotten_steps(connection, Found(name, namespace), space, rule)
        if not steps:
            continue
        ids = {step.id for step in steps}
        inside = [spaces.pop(other) for other in list(spaces) if is_inside_step(other, namespace, ids)]
        forgotten += len(steps) + sum(_count_of(connection, gone) for gone in inside)
        _forget_spaces(connection, inside)
        _forget_steps(connection, Found(name, namespace), space, steps)
    return forgotten


def _forgotten_steps(connection: sqlite3.Connection, here: Found, space: int, rule: Retention) -> list[_Step]:
    found = connection.execute(
        "SELECT row, id, created_at FROM surehand_checkpoints WHERE space = ? ORDER BY number DESC", (space,)
    )
    steps = [(_Step(row, here.name(id)), here.seconds(id, created_at)) for row, id, created_at in found]
    return rule.forgotten(steps)


def _count_of(connection: sqlite3.Connection, space: int) -> int:
    return int(connection.execute("SELECT count(*) FROM surehand_checkpoints WHERE space = ?", (space,)).fetchone()[0])


def _forget_steps(connection: sqlite3.Connection, here: Found, space: int, steps: Iterable[_Step]) -> None:
    """Forget checkpoints, and the versions that no remaining one needs."""
    rows = [(step.row,) for step in steps]
    connection.executemany("DELETE FROM surehand_writes WHERE checkpoint = ?", rows)
    connection.executemany("DELETE FROM surehand_checkpoints WHERE row = ?", rows)
    remaining = connection.execute("SELECT id, channels FROM surehand_checkpoints WHERE space = ?", (space,))
    roots = [here.channels(*columns) for columns in remaining]
    versions = connection.execute("SELECT row, key, version, previous FROM surehand_versions WHERE space = ?", (space,))
    links = {(key, version): (row, previous) for row, key, version, previous in versions}
    needed = needed_versions(roots, {link: previous for link, (_, previous) in links.items()})
    connection.executemany(
        "DELETE FROM surehand_versions WHERE row = ?",
        [(row,) for link, (row, _) in links.items() if link not in needed],
    )


def _return_pages(connection: sqlite3.Connection) -> None:
    """Give free pages back to the system, so that a file shrinks by what was forgotten."""
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    for _ in range(
        min(free, _MAX_PAGES_RETURNED)
    ):  # a statement without columns is taken one step further, not to its end
        connection.execute("PRAGMA incremental_vacuum")
