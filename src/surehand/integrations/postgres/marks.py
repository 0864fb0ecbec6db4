"""How to find out whether a commit holds that was never answered.

Each saver has a row in the table ``marks``, and each of its transactions puts the next number there together with its
COMMIT. So what stands there says which one was the last that holds. Where the answer to a commit was lost, the saver
puts the negative number in its place, on a new connection. One of the two comes first: either the number is there, and
the transaction holds; or the negative one is, and the transaction can never hold any more, not even if the server hears
of it later, because a mark is only made on top of the one that it knows.

PostgreSQL can be asked for the fate of a transaction by its id, too (``pg_xact_status``). But ids are not written down
until a transaction has changed something: a server that crashes may give the same one to another transaction, whose
commit would then be taken for ours.
"""

from __future__ import annotations

from typing import Final
from uuid import uuid4

from psycopg import sql

__all__ = ["Marks"]

_COMMIT: Final = sql.SQL(
    """
    INSERT INTO marks (saver, number, made_at) VALUES ({saver}, {number}, now())
    ON CONFLICT (saver) DO UPDATE SET number = {number} / (marks.number = {known})::int, made_at = now();
    COMMIT
""".strip()
)
"""The division is one by zero where another mark is there than the one that is known: then nothing is committed."""
_PREVENT: Final = sql.SQL("""
    INSERT INTO marks (saver, number, made_at) VALUES ({saver}, -{number}, now())
    ON CONFLICT (saver) DO UPDATE SET number = -{number}, made_at = now() WHERE marks.number = {known}
""")
_FOUND: Final = sql.SQL("SELECT number FROM marks WHERE saver = {saver}")
_FORGET: Final = sql.SQL("""
    DELETE FROM marks WHERE saver IN (
        SELECT saver FROM marks WHERE made_at < now() - interval '30 days' FOR UPDATE SKIP LOCKED
    );
""")
"""Of savers that are gone; one that is not makes its row anew."""


class Marks:
    """The marks of one saver's transactions, one after the other."""

    def __init__(self) -> None:
        self._saver = uuid4().hex
        self._known = 0

    def commit(self) -> sql.Composed:
        """Statements that mark the transaction under way and commit it."""
        statements = self._filled(_COMMIT)
        return statements if self._known else _FORGET + statements

    def prevent(self) -> sql.Composed:
        """A statement that keeps the transaction from being committed, unless it is."""
        return self._filled(_PREVENT)

    def found(self) -> sql.Composed:
        """A query for the mark that is there."""
        return self._filled(_FOUND)

    def note_commit(self) -> None:
        """Note that the transaction was committed."""
        self._known = self._next

    def settle(self, number: int | None) -> bool | None:
        """Say whether the transaction holds, by the mark that is there; None where that is another one altogether."""
        fate = {self._next: True, -self._next: False}.get(number or 0)
        if fate is not None and number is not None:
            self._known = number
        return fate

    @property
    def _next(self) -> int:
        return abs(self._known) + 1

    def _filled(self, statement: sql.SQL) -> sql.Composed:
        return statement.format(saver=self._saver, number=self._next, known=self._known)
