"""The thread's side of a committer: the connection, and what is done on it.

Where an operation fails, all is rolled back; those before it are committed without it, it is tried once more as the
first of a transaction, where its failure is its own, and those after it go on. Where the commit itself fails, halves
are tried, until those that can be kept are.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from surehand.checkpoints.committing.database import Database
from surehand.checkpoints.committing.operations import Operation, Waiter, wake
from surehand.errors import StoreError

__all__ = ["Transactions"]

C = TypeVar("C")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failure:
    """Why a transaction does not hold."""

    error: BaseException
    first: int = 0
    """How many of the operations may hold without the others; 0 where the first is to blame."""
    is_lost: bool = False
    """Whether all may hold on a new connection."""
    is_of: Literal["first", "writers", "all"] = "first"
    """Whom it concerns where there is nothing else to be tried."""


class Transactions(Generic[C]):
    """A connection that is opened when it is needed, and the transactions on it; used by one thread."""

    def __init__(self, database: Database[C]) -> None:
        self._database = database
        self._connection: C | None = None

    def settle(self, group: Sequence[Operation[C, Any]]) -> None:
        """Commit what can be committed, and wake everybody."""
        while group:
            settled = self._settle_some(group)
            wake(settled)
            group = _without(group, settled)

    def _settle_some(self, part: Sequence[Operation[C, Any]]) -> Sequence[Operation[C, Any]]:
        """Commit as many as can be, the first ones, or find out whose failure it is; returns those that are settled."""
        was_lost = False
        while (failure := self._transact(part)) is not None:
            if failure.is_lost and not was_lost:
                was_lost = True
            elif failure.first:
                part = part[: failure.first]
            else:
                return _blamed(part, failure)
        return part

    def close(self) -> None:
        """Let go of the connection, if there is one; the next transaction opens another."""
        if self._connection is not None:
            with contextlib.suppress(Exception):  # it is let go of in any case, and all that was promised is committed
                self._database.close(self._connection)
            self._connection = None

    def _transact(self, part: Sequence[Operation[C, Any]]) -> _Failure | None:
        try:
            if self._connection is None:
                self._connection = self._database.connect()
            return self._transact_on(self._connection, part)
        except BaseException as error:  # noqa: BLE001 - whatever it is, somebody waits for it
            self.close()
            return _Failure(error=self._told(error), is_of="all")

    def _transact_on(self, connection: C, part: Sequence[Operation[C, Any]]) -> _Failure | None:
        index = -1
        try:
            self._database.begin(connection, writes=any(task.writes for task in part))
            for index, task in enumerate(part):  # noqa: B007 - it is needed where one fails
                task.result = task.run(connection)
            index = len(part)
            self._database.commit(connection)
        except BaseException as error:  # noqa: BLE001 - whatever it is, somebody waits for it
            return self._undone(connection, error, index, len(part))
        return None

    def _undone(self, connection: C, error: BaseException, index: int, size: int) -> _Failure | None:
        """Roll back, and say what else can be tried: ``index`` is -1 for the begin, and the size for the commit."""
        if index == size and self._database.is_lost(connection):
            return self._cut_off(connection, error)
        is_lost = self._rolled_back(connection)
        told = self._told(error)
        if index < 0:
            return _Failure(error=told, is_lost=is_lost, is_of="writers")
        if index < size:
            return _Failure(error=told, is_lost=is_lost, first=index)
        if is_lost:
            return _Failure(error=_in_doubt(told), is_of="writers")
        return _Failure(error=told, first=size // 2)

    def _cut_off(self, connection: C, error: BaseException) -> _Failure | None:
        """Find out what became of a commit whose answer was lost; None where it holds."""
        try:
            holds = self._database.holds(connection)
        except Exception:  # noqa: BLE001 - who cannot be asked has not answered
            holds = None
        if self._database.is_lost(connection):  # it may have a new line by now
            self.close()
        told = self._told(error)
        if holds is None:
            return _Failure(error=_in_doubt(told), is_of="writers")
        return None if holds else _Failure(error=told, is_lost=True, is_of="writers")

    def _rolled_back(self, connection: C) -> bool:
        """Whether the connection was lost."""
        try:
            is_lost = self._database.is_lost(connection)
            self._database.roll_back(connection)
        except Exception:  # noqa: BLE001 - what cannot be rolled back is rolled back by closing
            is_lost = True
        if is_lost:
            self.close()
        return is_lost

    def _told(self, error: BaseException) -> BaseException:
        if not isinstance(error, Exception):
            return error
        told = self._database.told(error)
        if told is not error:
            told.__cause__ = error
        return told


def _blamed(part: Sequence[Operation[C, Any]], failure: _Failure) -> Sequence[Operation[C, Any]]:
    """Those that a failure settles, with their errors set."""
    if failure.is_of == "first":
        settled = part[:1]
    elif failure.is_of == "writers":  # where nothing can be written, something may still be read
        settled = [task for task in part if task.writes] or part
    else:
        settled = part
    for task in settled:
        task.error = failure.error if task is settled[0] else _copy_of(failure.error)
    return settled


def _without(group: Sequence[Operation[C, Any]], settled: Iterable[Waiter]) -> Sequence[Operation[C, Any]]:
    gone = frozenset(map(id, settled))
    return [task for task in group if id(task) not in gone]


def _copy_of(error: BaseException) -> BaseException:
    """The error for one more to raise: each that raises an exception adds to its traceback."""
    try:
        twin = copy.copy(error)
    except Exception:  # noqa: BLE001 - a class of others that cannot be copied
        return error
    twin.__cause__ = error.__cause__
    return twin


def _in_doubt(error: BaseException) -> StoreError:
    doubt = StoreError(
        problem=f"The connection was lost in a commit, so that what was to be written may hold or not ({error})",
        remedy="Read what is stored, and go on from there.",
    )
    doubt.__cause__ = error
    return doubt
