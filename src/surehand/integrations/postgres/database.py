"""How a committer uses PostgreSQL: what begins and ends a transaction, and what became of one that was cut off."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

import psycopg
from psycopg import sql

from surehand.checkpoints.committing import Database
from surehand.errors import CheckpointError
from surehand.integrations.postgres.connections import Source
from surehand.integrations.postgres.failures import is_passing, told
from surehand.integrations.postgres.layout import are_there, make_tables
from surehand.integrations.postgres.marks import Marks
from surehand.integrations.postgres.session import Session, Writer

__all__ = ["Postgres"]

_IDLE_SECONDS: Final = 10
"""How long this program may stand still in a transaction, with locks that others wait for; it then begins again."""
_DISMISS: Final = """
    SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity
    WHERE pid = %s AND extract(epoch FROM xact_start)::text = %s
"""
"""Ends a transaction that waits for its next statement, on a line that nobody will ever use again."""
_FIRST_PAUSE: Final = 0.02
_LONGEST_PAUSE: Final = 0.5


class Postgres(Database[Session]):
    """A database with a schema of tables for runs.

    Args:
        open_source: Makes the source of connections; called on the committer's thread.
        schema: The schema of the tables; made with them where it is missing.
        timeout: How many seconds to wait for a connection, and for others who write of the same thread.
        name: Of the saver, for messages.
    """

    def __init__(self, open_source: Callable[[], Source], *, schema: str, timeout: float, name: str) -> None:
        self._open_source = open_source
        self._schema = schema
        self._timeout = timeout
        self._name = name
        settings = {
            "search_path": f"{sql.Identifier(schema).as_string()}, pg_temp",  # so that one text serves every schema
            "lock_timeout": f"{max(int(timeout * 1_000), 1)}ms",
            "idle_in_transaction_session_timeout": f"{_IDLE_SECONDS}s",
        }
        self._reading = sql.SQL("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT NULL, NULL, {}").format(
            _local(settings)
        )
        self._writing = sql.SQL(
            "BEGIN ISOLATION LEVEL READ COMMITTED;"
            " SELECT pg_catalog.pg_backend_pid(), extract(epoch FROM now())::text, {},"
            " CASE WHEN pg_catalog.current_setting('synchronous_commit') = 'off' THEN {} END"
        ).format(_local(settings), _local({"synchronous_commit": "on"}))

    def connect(self) -> Session:
        """Find a server that answers, and the tables; make those that are missing."""
        session = Session(self._open_source(), self._schema)
        try:
            try:
                self._find_tables(session)
            except psycopg.Error:
                if not session.is_lost:
                    raise
                self.roll_back(session)
                self._find_tables(session)
        except BaseException:
            with suppress(psycopg.Error):  # what went wrong first is what counts
                self.close(session)
            raise
        return session

    def _find_tables(self, session: Session) -> None:
        self.begin(session, writes=False)
        _check_server(session, self._name)
        has_tables = are_there(session, self._schema)
        self.commit(session)
        if not has_tables:
            self.begin(session, writes=True)
            make_tables(session, self._schema)
            self.commit(session)

    def begin(self, connection: Session, *, writes: bool) -> None:
        """Begin, on a connection that answers; waits where there is none for the moment."""
        until = time.monotonic() + self._timeout
        pause = 0.0
        while True:
            try:
                connection.enter(self._writing if writes else self._reading, max(until - time.monotonic(), 0))
                return
            except psycopg.Error as error:
                is_lost = self.is_lost(connection)
                self.roll_back(connection)
                is_too_late = pause > 0 and time.monotonic() + pause > until  # one that was lost long ago is no delay
                if is_too_late or not (is_lost or is_passing(error)):
                    raise
            time.sleep(pause)
            pause = min(max(pause * 2, _FIRST_PAUSE), _LONGEST_PAUSE)

    def commit(self, connection: Session) -> None:
        """Commit, and give the connection back."""
        connection.commit()

    def roll_back(self, connection: Session) -> None:
        """Undo, and give the connection back."""
        if connection.is_lost:
            connection.leave()
        elif connection.is_entered:
            connection.end("ROLLBACK")

    def close(self, connection: Session) -> None:
        """Close what is its own."""
        try:
            self.roll_back(connection)
        finally:
            connection.source.close()

    def is_lost(self, connection: Session) -> bool:
        """Whether the connection broke."""
        return connection.is_lost

    def told(self, error: Exception) -> Exception:
        """A StoreError that says why, without the words of others."""
        return told(error, self._name)

    def holds(self, connection: Session) -> bool | None:
        """Find out, on a new connection, whether the transaction holds, and see to it that this does not change."""
        writer = connection.writer
        if writer is None:
            return True  # it has only read
        connection.leave()
        until = time.monotonic() + self._timeout
        while True:
            with suppress(psycopg.Error):  # that was not answered either
                return self._fate(connection, writer)
            if time.monotonic() > until:
                connection.marks = Marks()
                return None
            time.sleep(_FIRST_PAUSE)

    def _fate(self, session: Session, writer: Writer) -> bool | None:
        self.begin(session, writes=True)
        try:
            session.run(session.marks.prevent())
            row = session.run(session.marks.found()).fetchone()
            session.run(_DISMISS, writer)
            session.end("COMMIT")
        finally:
            self.roll_back(session)
        fate = session.marks.settle(None if row is None else row[0])
        if fate is None:
            session.marks = Marks()
        return fate


def _local(settings: Mapping[str, str]) -> sql.Composed:
    """Settings for the rest of the transaction."""
    calls = [sql.SQL("pg_catalog.set_config({}, {}, true)").format(name, value) for name, value in settings.items()]
    return sql.SQL(", ").join(calls)


def _check_server(session: Session, name: str) -> None:
    info = session.connected.info
    encoding = info.parameter_status("server_encoding")
    if encoding != "UTF8" or info.encoding != "utf-8":
        raise CheckpointError(
            problem=f"{name}: the database has the encoding {encoding} and the connection {info.encoding}",
            remedy="Both have to be UTF8: CREATE DATABASE … ENCODING 'UTF8', client_encoding=utf8.",
        )
