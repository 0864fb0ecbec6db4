"""What operations run on: the connection of a transaction, and the locks that keep writers apart.

Whoever writes of a thread holds its lock until the transaction ends, so that what it has read there is still so when
it commits: ``READ COMMITTED`` then suffices, and no transaction fails because of another. Locks are numbers (advisory
locks) rather than rows: there is nothing to make, to clean up, or to be damaged by hand.

A transaction holds operations of many threads, and those of another process hold the same ones in another order. So
that they never wait for one another in a circle, a transaction waits for its first lock only; where another one is
taken, it gives up, and the operation that asked for it begins the next transaction.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any, Final, LiteralString, NamedTuple, TypeAlias

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow, tuple_row

from surehand.errors import StoreError
from surehand.integrations.postgres.connections import Connection, Source
from surehand.integrations.postgres.marks import Marks

__all__ = ["Query", "Session", "Writer"]

Query: TypeAlias = LiteralString | bytes | sql.SQL | sql.Composed


class Writer(NamedTuple):
    """What the server knows a transaction by."""

    backend: int
    began_at: str


_PLACES: Final = 1_024
"""How many locks there are for all threads: a server has room for some thousand."""
_OF_LAYOUT: Final = -1


class Session:
    """One transaction after the other, each on a connection that is lent for it.

    Args:
        source: Lends the connections.
        schema: Of the tables; the locks of other schemas are others.
    """

    def __init__(self, source: Source, schema: str) -> None:
        self.source = source
        self.marks = Marks()
        self.writer: Writer | None = None
        """Of the newest transaction; None for one that only reads."""
        self._schema = schema
        self._held: set[int] = set()
        self._connection: Connection | None = None
        self._cursor: psycopg.Cursor[TupleRow] | None = None

    @property
    def connected(self) -> Connection:
        """The connection of the transaction under way."""
        if self._connection is None:
            raise psycopg.InterfaceError("there is no transaction")
        return self._connection

    @property
    def is_entered(self) -> bool:
        """Whether it has a connection."""
        return self._connection is not None

    @property
    def is_lost(self) -> bool:
        """Whether it has one that is of no use any more."""
        return self._connection is not None and self._connection.closed

    def enter(self, begin: Query, timeout: float) -> None:
        """Begin a transaction.

        Args:
            begin: Statements, the last of which gives one row that begins with what a ``Writer`` is made of.
            timeout: How many seconds to wait for a connection.
        """
        self._held, self.writer = set(), None
        self._connection = self.source.lend(timeout)
        # Not by the connection's own methods: a pool's connections may be set to take queries and give rows otherwise.
        self._cursor = psycopg.Cursor(self._connection, row_factory=tuple_row)
        self._cursor.execute(begin, prepare=False)
        while self._cursor.nextset():
            pass
        row = self._cursor.fetchone()
        self.writer = None if row is None or row[0] is None else Writer(row[0], row[1])

    def commit(self) -> None:
        """Commit, with a mark where the transaction may have written, and let go of the connection."""
        if self.writer is None:
            self.end("COMMIT")
        else:
            self.end(self.marks.commit())
            self.marks.note_commit()

    def end(self, how: Query) -> None:
        """End the transaction, and let go of its connection.

        Args:
            how: Statements, the last of which is COMMIT or ROLLBACK.
        """
        cursor = self._entered().execute(how, prepare=False)
        while cursor.nextset():
            pass
        # The server rolls back, without an error, what has failed before.
        if cursor.statusmessage == "ROLLBACK" and how != "ROLLBACK":
            raise psycopg.InternalError("COMMIT was answered with ROLLBACK")
        self.leave()

    def leave(self) -> None:
        """Let go of the connection, which is in no transaction or lost."""
        connection, self._connection, self._cursor = self._connection, None, None
        if connection is not None:
            self.source.take_back(connection)

    def run(self, query: Query, values: Sequence[Any] = ()) -> psycopg.Cursor[TupleRow]:
        """Run one statement; what it gives has to be fetched before the next one."""
        return self._entered().execute(query, values or None)

    def run_many(self, query: Query, rows: Iterable[Sequence[Any]]) -> int:
        """Run a statement for each row; gives how many rows it changed in all."""
        cursor = self._entered()
        cursor.executemany(query, rows)
        return cursor.rowcount

    def _entered(self) -> psycopg.Cursor[TupleRow]:
        if self._cursor is None:
            raise psycopg.InterfaceError("there is no transaction")
        return self._cursor

    def hold(self, *thread_ids: str) -> None:
        """Keep everybody else from writing of these threads until the transaction ends.

        Raises:
            StoreError: Somebody else holds one of them, and this is not the first operation of the transaction.
        """
        places = {_number(thread_id, self._schema) % _PLACES for thread_id in thread_ids}
        is_first = not self._held
        for place in sorted(places - self._held):
            self._hold(place, is_first=is_first)

    def hold_layout(self) -> None:
        """Keep everybody else from making the tables until the transaction ends."""
        self._hold(_OF_LAYOUT, is_first=True)

    def _hold(self, place: int, *, is_first: bool) -> None:
        lock = (_number("surehand", self._schema), place)
        if is_first:
            self.run("SELECT pg_catalog.pg_advisory_xact_lock(%s::int4, %s::int4)", lock)
        else:
            row = self.run("SELECT pg_catalog.pg_try_advisory_xact_lock(%s::int4, %s::int4)", lock).fetchone()
            if row != (True,):
                raise StoreError(problem="Another program writes of the same thread", remedy="Try it again.")
        self._held.add(place)


def _number(*names: str) -> int:
    """A number of four bytes for some names; the same in every process."""
    digest = blake2b("\0".join(names).encode("utf-8", "surrogatepass"), digest_size=4).digest()
    (number,) = struct.unpack(">i", digest)
    return int(number)
