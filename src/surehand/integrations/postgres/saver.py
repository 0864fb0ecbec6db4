"""The saver: what a host gives, and what it gets."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from surehand.checkpoints.committed import CommittedSaver
from surehand.checkpoints.committing import Committer
from surehand.errors import MissingExtraError, OptionError

if TYPE_CHECKING:
    from psycopg_pool import ConnectionPool

    from surehand.integrations.postgres.connections import Source
    from surehand.integrations.postgres.session import Session  # noqa: F401 - the saver's base is of it

__all__ = ["PostgresSaver"]

_MAX_NAME: Final = 63
"""Bytes of a name in PostgreSQL, which cuts longer ones."""
_LONGEST_SECONDS: Final = 24 * 60 * 60


class PostgresSaver(CommittedSaver["Session"]):
    """Keeps runs in a PostgreSQL database, for any number of programs at a time. Needs the extra ``postgres``.

    One thread commits what all threads and loops of this process ask for, in groups, over one connection; see
    ``docs/decisions/0018-one-writer-thread.md``. It connects when it is first asked for something, and makes its tables
    where there are none. A lost connection is made anew, and what was not committed is done again; where the answer to
    a commit was lost, the server is asked what became of it.

    A fork of the process cannot use the saver; it opens one of its own.

    Args:
        conninfo: Where the database is, as libpq takes it: ``postgresql://user@host/database``, or
            ``host=… dbname=… user=…``. What it leaves out, such as the password, comes from libpq's environment
            variables and files.
        pool: Of the host, instead of ``conninfo``: a connection is taken for each transaction. It is not closed.
        schema: The schema of the tables, which are nobody else's.
        timeout: Seconds to wait for a connection while the server cannot be reached, and for other programs that write
            of the same thread.

    Raises:
        OptionError: An option is unusable. A password is not repeated.
        MissingExtraError: psycopg is not installed.

    Example:
        with PostgresSaver("postgresql://app@db.example/app") as saver:
            graph = builder.compile(checkpointer=saver)
    """

    def __init__(
        self,
        conninfo: str | None = None,
        *,
        pool: ConnectionPool[Any] | None = None,
        schema: str = "surehand",
        timeout: float = 30.0,
    ) -> None:
        _check_schema(schema)
        _check_timeout(timeout)
        open_source = _source(conninfo, pool, timeout)
        from surehand.integrations.postgres.database import Postgres  # noqa: PLC0415 - it needs an optional package
        from surehand.integrations.postgres.layout import make_tables  # noqa: PLC0415 - as above
        from surehand.integrations.postgres.statements import PostgresStatements  # noqa: PLC0415 - as above

        name = f"The saver of PostgreSQL's schema {schema!r}"
        committer = Committer(Postgres(open_source, schema=schema, timeout=timeout, name=name), name=name)
        super().__init__(committer, PostgresStatements(), name=name)
        self._make_tables = partial(make_tables, schema=schema)
        # Without a reference to the saver: it is for the moment in which nobody has one any more.
        self._let_go = weakref.finalize(self, committer.forsake, bool)
        self._let_go.atexit = False

    def setup(self) -> None:
        """Make the schema and the tables where they are missing; otherwise the first use of the saver does."""
        self._run(self._make_tables)

    async def asetup(self) -> None:
        """``setup``, awaited."""
        await self._arun(self._make_tables)

    def close(self) -> None:
        """Close its connection, not a pool that it was given; it can then no longer be used."""
        self._let_go.detach()
        super().close()


def _source(conninfo: object, pool: object, timeout: float) -> Callable[[], Source]:
    """What makes the source of connections."""
    try:
        from surehand.integrations.postgres.connections import (  # noqa: PLC0415 - it needs an optional package
            Borrowed,
            Own,
            checked_conninfo,
            checked_pool,
        )
    except ImportError as error:
        raise MissingExtraError(feature="PostgresSaver", package="psycopg", extra="postgres") from error
    if (conninfo is None) == (pool is None):
        raise OptionError(
            option="pool", value=pool, expected="either conninfo= or pool=", remedy='conninfo="" is libpq\'s default.'
        )
    return partial(Own, checked_conninfo(conninfo, timeout)) if pool is None else partial(Borrowed, checked_pool(pool))


def _check_schema(schema: object) -> None:
    if not isinstance(schema, str) or not 1 <= _bytes_of(schema) <= _MAX_NAME or schema.startswith("pg_"):
        raise OptionError(
            option="schema", value=schema, expected=f"a name of 1 to {_MAX_NAME} bytes that does not begin with 'pg_'"
        )


def _bytes_of(name: str) -> int:
    """How many bytes a name has; 0 where it is none for PostgreSQL."""
    try:
        return 0 if "\0" in name else len(name.encode())
    except UnicodeEncodeError:
        return 0


def _check_timeout(timeout: object) -> None:
    if not isinstance(timeout, int | float) or isinstance(timeout, bool) or not 0 <= timeout <= _LONGEST_SECONDS:
        raise OptionError(option="timeout", value=timeout, expected="seconds from 0 to a day")
