"""The tables: what they are, how they are made, and whether those that are found are ours.

Names and keys are compared by their bytes (``COLLATE "C"``), whatever the language of the database: what is another
text for Python is another key. There are no foreign keys: each operation removes what depends on what it removes,
under the lock of its thread (see ``Session.hold``).
"""

from __future__ import annotations

from typing import Final

from psycopg import sql

from surehand.errors import CheckpointError
from surehand.integrations.postgres.session import Session

__all__ = ["are_there", "make_tables"]

_VERSION: Final = 1
"""Of the tables."""
_NAME: Final = ("text", 'COLLATE "C" NOT NULL')
_TEXT: Final = ("text", "NOT NULL")
_NUMBER: Final = ("bigint", "NOT NULL")
_SECONDS: Final = ("double precision", "NOT NULL")
_TABLES: Final = {
    "layout": {"version": ("integer", "NOT NULL")},
    "checkpoints": {
        "thread_id": _NAME,
        "namespace": _NAME,
        "number": _NUMBER,
        "id": _NAME,
        "parent": ("text", ""),
        "body": _TEXT,
        "created_at": _SECONDS,
        "channels": _TEXT,
    },
    "versions": {
        "thread_id": _NAME,
        "namespace": _NAME,
        "key": _NAME,
        "version": _NUMBER,
        "previous": ("bigint", ""),
        "text": _TEXT,
    },
    "writes": {
        "thread_id": _NAME,
        "namespace": _NAME,
        "checkpoint_id": _NAME,
        "task": _NAME,
        "kind": _NAME,
        "number": _NUMBER,
        "text": _TEXT,
    },
    "calls": {
        "thread_id": _NAME,
        "key": _NAME,
        "version": _NUMBER,
        "state": _TEXT,
        "text": _TEXT,
        "changed_at": _SECONDS,
        "begun": ("bigint", "NOT NULL GENERATED ALWAYS AS IDENTITY"),
    },
    "marks": {"saver": _NAME, "number": _NUMBER, "made_at": ("timestamp with time zone", "NOT NULL")},
}
_KEYS: Final = {
    "layout": "UNIQUE (version)",
    "checkpoints": "PRIMARY KEY (thread_id, namespace, number), UNIQUE (thread_id, namespace, id)",
    "versions": "PRIMARY KEY (thread_id, namespace, key, version)",
    "writes": "PRIMARY KEY (thread_id, namespace, checkpoint_id, task, kind, number)",
    "calls": "PRIMARY KEY (thread_id, key)",
    "marks": "PRIMARY KEY (saver)",
}
_FIND: Final = """
    SELECT c.relname, a.attname, pg_catalog.format_type(a.atttypid, NULL)
    FROM pg_catalog.pg_namespace AS n
    JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid
    JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE n.nspname = %s AND c.relname = ANY(%s)
"""


def are_there(session: Session, schema: str) -> bool:
    """Whether the tables have been made.

    Raises:
        CheckpointError: There are tables of these names that are not ours, or are those of a later version.
    """
    found = {tuple(row) for row in session.run(_FIND, (schema, list(_TABLES)))}
    if not found:
        return False
    if ("layout", "version", "integer") in found:
        _check_version(session, schema)
    wanted = {(table, column, type_) for table, columns in _TABLES.items() for column, (type_, _) in columns.items()}
    if wanted - found:
        table, column, type_ = min(wanted - found)
        raise CheckpointError(
            problem=f"The schema {schema!r} has tables that a saver did not make: "
            f"{table!r} has no column {column!r} of type {type_}, or is not there",
            remedy="Give the saver a schema of its own: PostgresSaver(…, schema='…').",
        )
    return True


def _check_version(session: Session, schema: str) -> None:
    versions = [version for (version,) in session.run("SELECT version FROM layout")]
    if versions != [_VERSION]:
        raise CheckpointError(
            problem=f"The tables in the schema {schema!r} are of version {', '.join(map(str, versions)) or 'none'}; "
            f"this version of Surehand reads version {_VERSION}",
            remedy="Use the version of Surehand that wrote them, or another schema.",
        )


def make_tables(session: Session, schema: str) -> None:
    """Make the tables, unless somebody else has; within a transaction that may write."""
    session.hold_layout()
    if are_there(session, schema):
        return
    # Where a schema is there, nobody needs the right to make one.
    if not session.run("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = %s", (schema,)).fetchall():
        session.run(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
    for table, columns in _TABLES.items():
        lines = [f"{name} {type_} {rule}" for name, (type_, rule) in columns.items()]
        session.run(f"CREATE TABLE {table} ({', '.join(lines)}, {_KEYS[table]})".encode())
    session.run("INSERT INTO layout VALUES (%s)", (_VERSION,))
