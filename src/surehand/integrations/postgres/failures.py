"""What psycopg raises, told in our words.

libpq names hosts, users and databases in its messages, and sometimes quotes what it could not read of a conninfo, in
which a password may stand; a server quotes values. None of that is repeated: an error of ours may end up in a log or
before a model. The original is its cause.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import psycopg
from psycopg import errors
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from surehand.errors import CheckpointError, StoreError

__all__ = ["is_passing", "told"]


@dataclass(frozen=True, slots=True)
class _Words:
    """Why something failed, and what to do about it."""

    why: str
    remedy: str
    is_passing: bool = False
    """Whether it is worth trying again."""


_UNREACHABLE: Final = "Look whether the server runs, and whether conninfo names the right host and port."
_CONNECTING: Final = {
    r"password authentication failed|no password supplied": _Words(
        "the password was not accepted", "Correct the user or the password in conninfo."
    ),
    r'database ".*" does not exist': _Words("there is no such database", "Create it, or correct its name in conninfo."),
    r'role ".*" does not exist|(?:Peer|Ident) authentication failed|no pg_hba\.conf entry': _Words(
        "the server does not admit this user", "Correct the user in conninfo, or admit it in the server's pg_hba.conf."
    ),
    r"certificate|SSL|GSSAPI|invalid .* value": _Words(
        "client and server did not agree on how to connect", "Correct the options in conninfo, such as sslmode."
    ),
    r"too many clients|connection slots|too many connections": _Words(
        "the server has no connection left", "Open fewer, or raise its max_connections.", is_passing=True
    ),
    r"starting up|shutting down|recovery": _Words(
        "the server is starting or stopping", "Try again when it is up.", is_passing=True
    ),
    r"resolve host|translate host|[Nn]ame or service not known|getaddrinfo|nodename": _Words(
        "its host is not known", "Correct the host in conninfo.", is_passing=True
    ),
    r"closed the connection|connection is lost|terminating connection|consuming input": _Words(
        "the connection was lost", "Try again; it is made anew.", is_passing=True
    ),
    r"timeout expired": _Words("it did not answer in time", _UNREACHABLE, is_passing=True),
    r"Connection refused|No such file": _Words("nobody listens at its address", _UNREACHABLE, is_passing=True),
}
"""Patterns of what libpq says; it has no codes for this. A server that speaks another language is told in general."""
_UNKNOWN: Final = _Words("the connection failed", "The cause of this error says more.", is_passing=True)

_RUNNING: Final[dict[type[psycopg.Error], _Words]] = {
    errors.ReadOnlySqlTransaction: _Words(
        "nothing can be written: the server, the database or the user is read-only", "Connect to one that may write."
    ),
    errors.InsufficientPrivilege: _Words(
        "the user may not do this",
        "Grant it what it needs: CREATE on the database for setup(), else USAGE on the schema and its tables.",
    ),
    errors.UndefinedTable: _Words("the tables are not there", "Make them: call setup(), as a user who may."),
    errors.InvalidSchemaName: _Words("the schema is not there", "Make it: call setup(), as a user who may."),
    errors.DiskFull: _Words("the server's disk is full", "Make room, and try again."),
    errors.QueryCanceled: _Words(
        "the server stopped a statement", "Raise statement_timeout, or look who cancelled it."
    ),
    errors.LockNotAvailable: _Words(
        "another program has been writing of the same thread for too long", "Try again, or raise timeout=."
    ),
    errors.IdleInTransactionSessionTimeout: _Words(
        "this program stood still in the middle of a transaction", "Try again; nothing of it holds."
    ),
    PoolTimeout: _Words("the pool gave no connection in time", "Look whether the server runs; make the pool larger."),
    PoolClosed: _Words("its pool is closed", "Close the pool after what uses it."),
    TooManyRequests: _Words("too many wait for the pool", "Make it larger, or its max_waiting."),
}
_DAMAGED: Final[dict[type[psycopg.Error], tuple[str, str]]] = {
    errors.ProgramLimitExceeded: (
        "a name or a text is too long for PostgreSQL",
        "Names of a row have about 2,600 bytes together; a text has 1 GB.",
    ),
    errors.UndefinedColumn: (
        "the tables are not those that a saver makes",
        "Give the saver a schema of its own: PostgresSaver(…, schema='…').",
    ),
    errors.DataError: ("a row is not one that a saver wrote", "Restore it from a backup, or delete the thread."),
}


def is_passing(error: psycopg.Error) -> bool:
    """Whether a connection that could not be had may be had in a moment."""
    if isinstance(error, PoolTimeout | PoolClosed | TooManyRequests):
        return False
    return _is_of_connection(error) and _of_connecting(error).is_passing


def told(error: Exception, name: str) -> Exception:
    """The error that a caller sees.

    Args:
        error: Whatever was raised; what is not psycopg's is returned as it is.
        name: Of the saver.
    """
    if not isinstance(error, psycopg.Error):
        return error
    for kind, (problem, remedy) in _DAMAGED.items():
        if isinstance(error, kind):
            return CheckpointError(problem=f"{name}: {problem}", remedy=remedy)
    words = next((words for kind, words in _RUNNING.items() if isinstance(error, kind)), None)
    if words is None:
        words = _of_connecting(error) if _is_of_connection(error) else _of_code(error)
    return StoreError(problem=f"{name} could not be used: {words.why}", remedy=words.remedy)


def _is_of_connection(error: psycopg.Error) -> bool:
    """Whether it is about the connection: what the server says of a statement has a code."""
    code = error.sqlstate
    return isinstance(error, psycopg.OperationalError) and (code is None or code.startswith(("08", "57P")))


def _of_connecting(error: psycopg.Error) -> _Words:
    text = str(error)
    return next((words for pattern, words in _CONNECTING.items() if re.search(pattern, text)), _UNKNOWN)


def _of_code(error: psycopg.Error) -> _Words:
    code = f", SQLSTATE {error.sqlstate}" if error.sqlstate else ""
    return _Words(
        f"PostgreSQL refused a statement ({type(error).__name__}{code})", "The cause of this error says more."
    )
