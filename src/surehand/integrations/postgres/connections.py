"""Where connections come from: one of the saver's own, or a pool of the host's."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from math import ceil
from typing import Any, Final, TypeAlias, cast

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool

from surehand.errors import OptionError

__all__ = ["Borrowed", "Connection", "Own", "Source", "checked_conninfo", "checked_pool"]

Connection: TypeAlias = psycopg.Connection[Any]

_DEFAULTS: Final[dict[str, Any]] = {
    "fallback_application_name": "surehand",
    # A machine that vanishes says no goodbye; without these, a statement waits for it for two hours.
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""What stands for an option that conninfo does not name."""
_CONNECT_SECONDS: Final = 10
"""How long one address may take to answer at most, where neither conninfo nor the environment says it."""


class Source(ABC):
    """Lends a connection for a transaction at a time; the connection commits each statement unless it is told."""

    @abstractmethod
    def lend(self, timeout: float) -> Connection:
        """A connection, which may have been lost since it was used last; waits for one for ``timeout`` seconds."""

    @abstractmethod
    def take_back(self, connection: Connection) -> None:
        """Take a connection back: outside of a transaction, or lost."""

    @abstractmethod
    def close(self) -> None:
        """Let go of all that is its own."""


class Own(Source):
    """One connection, which stays open.

    Args:
        conninfo: As ``checked_conninfo`` returns it.
    """

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._connection: Connection | None = None

    def lend(self, timeout: float) -> Connection:
        """The connection, opened where there is none."""
        if self._connection is None:
            self._connection = psycopg.connect(self._conninfo, autocommit=True)
        return self._connection

    def take_back(self, connection: Connection) -> None:
        """Keep it open, unless it is lost."""
        if connection.closed:
            self.close()

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


class Borrowed(Source):
    """Connections of a pool of the host's, which get back as they were."""

    def __init__(self, pool: ConnectionPool[Any]) -> None:
        self._pool = pool
        self._autocommit = False

    def lend(self, timeout: float) -> Connection:
        """A connection of the pool, set to commit each statement."""
        connection: Connection = self._pool.getconn(timeout)
        self._autocommit = connection.autocommit
        try:
            connection.autocommit = True
        except psycopg.Error:  # it was lost, or is in a transaction
            connection.close()
        return connection

    def take_back(self, connection: Connection) -> None:
        """Give it back to the pool as it was."""
        is_lost = connection.closed
        if not is_lost:
            connection.autocommit = self._autocommit
        self._pool.putconn(connection)
        if is_lost:  # where one is lost, mostly all are: they would be tried one after the other
            self._pool.check()

    def close(self) -> None:
        """Leave the pool as it is."""


def checked_conninfo(conninfo: object, timeout: float) -> str:
    """What to connect with, where the host gave a conninfo.

    Args:
        conninfo: What it gave.
        timeout: How many seconds it waits for a connection.

    Raises:
        OptionError: It is none.
    """
    try:
        # libpq reads a text up to a NUL.
        given = conninfo_to_dict(conninfo) if isinstance(conninfo, str) and "\0" not in conninfo else None
    except (psycopg.Error, ValueError):
        given = None
    if given is None:
        # Neither the value nor psycopg's message is repeated, not even as the cause: they may hold a password.
        raise OptionError(
            option="conninfo",
            value=...,
            expected="a text such as 'postgresql://user@host/database' or 'host=… user=… dbname=…'",
            remedy="In an address, write special characters of a password as %40 and the like.",
        )
    defaults = dict(_DEFAULTS)
    if "PGCONNECT_TIMEOUT" not in os.environ:
        defaults["connect_timeout"] = max(min(ceil(timeout), _CONNECT_SECONDS), 1)
    return make_conninfo("", **{**defaults, **given, "client_encoding": "utf8"})


def checked_pool(pool: object) -> ConnectionPool[Any]:
    """A pool that the host gave.

    Raises:
        OptionError: It is none.
    """
    if not isinstance(pool, ConnectionPool):
        raise OptionError(
            option="pool", value=pool, expected="a psycopg_pool.ConnectionPool, which is not the async one"
        )
    return cast("ConnectionPool[Any]", pool)  # type: ignore[redundant-cast]  # what pyright infers has no parameter
