"""The methods of a checkpointer in SQL; those that write do so under the lock of the thread."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from psycopg.rows import TupleRow

from surehand.checkpoints.checks import MAX_NUMBER, already_there, check_follows, check_inside
from surehand.checkpoints.committed import Place, Statements
from surehand.checkpoints.found import Found, Link, channels_text
from surehand.checkpoints.pruning import Retention, is_inside_step, needed_versions
from surehand.checkpoints.records import CallRow, ChannelRow, CheckpointRow, LoadedCheckpoint, WriteRow
from surehand.errors import CheckpointConflict
from surehand.integrations.postgres.session import Query, Session

__all__ = ["PostgresStatements"]

_NEWEST: Query = """
    SELECT id, number FROM checkpoints WHERE thread_id = %s AND namespace = %s ORDER BY number DESC LIMIT 1
"""
_ADD_CHECKPOINT: Query = """
    INSERT INTO checkpoints (thread_id, namespace, id, number, parent, body, created_at, channels)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING
"""
_ADD_VERSION: Query = """
    INSERT INTO versions (thread_id, namespace, key, version, previous, text)
    VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING
"""
_ADD_WRITE: Query = """
    INSERT INTO writes (thread_id, namespace, checkpoint_id, task, kind, number, text)
    VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING
"""
_SET_WRITE: Query = """
    INSERT INTO writes (thread_id, namespace, checkpoint_id, task, kind, number, text)
    VALUES (%s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (thread_id, namespace, checkpoint_id, task, kind, number) DO UPDATE SET text = EXCLUDED.text
"""
_IS_THERE: Query = "SELECT 1 FROM checkpoints WHERE thread_id = %s AND namespace = %s AND id = %s"
_CHECKPOINTS: Query = """
    SELECT id, number, parent, body, created_at, channels FROM checkpoints
    WHERE thread_id = %s AND namespace = %s AND number <= %s ORDER BY number DESC LIMIT %s
"""
_CHECKPOINT: Query = """
    SELECT id, number, parent, body, created_at, channels FROM checkpoints
    WHERE thread_id = %s AND namespace = %s AND id = %s
"""
_CHAINS: Query = """
    WITH RECURSIVE chain AS (
        SELECT v.thread_id, v.namespace, v.key, v.version, v.previous, v.text
        FROM unnest(%s::text[], %s::bigint[]) AS named (key, version)
        JOIN versions AS v ON (v.thread_id, v.namespace, v.key, v.version) = (%s, %s, named.key, named.version)
        UNION ALL
        SELECT v.thread_id, v.namespace, v.key, v.version, v.previous, v.text
        FROM chain
        JOIN versions AS v ON (v.thread_id, v.namespace, v.key, v.version)
            = (chain.thread_id, chain.namespace, chain.key, chain.previous)
        WHERE chain.previous < chain.version  -- so that it ends, whatever somebody wrote into the table
    )
    SELECT key, version, previous, text FROM chain ORDER BY key, version DESC
"""
_WRITES: Query = """
    SELECT task, kind, number, text FROM writes WHERE thread_id = %s AND namespace = %s AND checkpoint_id = %s
"""
_ADD_CALL: Query = """
    INSERT INTO calls (thread_id, key, version, state, text, changed_at) VALUES (%s, %s, %s, %s, %s, %s)
    ON CONFLICT DO NOTHING
"""
_SET_CALL: Query = """
    UPDATE calls SET version = %s, state = %s, text = %s, changed_at = %s
    WHERE thread_id = %s AND key = %s AND version = %s
"""
_CALL: Query = "SELECT key, version, state, text, changed_at FROM calls WHERE thread_id = %s AND key = %s"
_CALLS: Query = "SELECT key, version, state, text, changed_at FROM calls WHERE thread_id = %s ORDER BY begun"
_THREADS: Query = "SELECT thread_id FROM checkpoints UNION SELECT thread_id FROM calls"
_DELETE_THREAD: tuple[Query, ...] = (
    "DELETE FROM checkpoints WHERE thread_id = %s",
    "DELETE FROM versions WHERE thread_id = %s",
    "DELETE FROM writes WHERE thread_id = %s",
    "DELETE FROM calls WHERE thread_id = %s",
)
_DELETE_NAMESPACES: tuple[Query, ...] = (
    "DELETE FROM checkpoints WHERE thread_id = %s AND (namespace = %s OR starts_with(namespace, %s))",
    "DELETE FROM versions WHERE thread_id = %s AND (namespace = %s OR starts_with(namespace, %s))",
    "DELETE FROM writes WHERE thread_id = %s AND (namespace = %s OR starts_with(namespace, %s))",
)
_TO_PRUNE: Query = """
    SELECT DISTINCT thread_id
    FROM (
        SELECT thread_id, created_at,
            row_number() OVER (PARTITION BY thread_id, namespace ORDER BY number DESC) AS place
        FROM checkpoints
    ) AS placed
    WHERE place > %s AND (%s::float8 IS NULL OR created_at < %s)
"""
_STEPS: Query = "SELECT namespace, id, created_at, channels FROM checkpoints WHERE thread_id = %s ORDER BY number DESC"
_DELETE_STEPS: tuple[Query, ...] = (
    "DELETE FROM checkpoints WHERE thread_id = %s AND namespace = %s AND id = ANY(%s)",
    "DELETE FROM writes WHERE thread_id = %s AND namespace = %s AND checkpoint_id = ANY(%s)",
)
_DELETE_INSIDE: tuple[Query, ...] = (
    "DELETE FROM checkpoints WHERE thread_id = %s AND namespace = ANY(%s)",
    "DELETE FROM versions WHERE thread_id = %s AND namespace = ANY(%s)",
    "DELETE FROM writes WHERE thread_id = %s AND namespace = ANY(%s)",
)
_VERSIONS: Query = "SELECT key, version, previous FROM versions WHERE thread_id = %s AND namespace = %s"
_DELETE_VERSIONS: Query = """
    DELETE FROM versions WHERE thread_id = %s AND namespace = %s
    AND (key, version) IN (SELECT * FROM unnest(%s::text[], %s::bigint[]))
"""


class _Step(NamedTuple):
    """A checkpoint as pruning sees it."""

    id: str
    created_at: float
    channels: Mapping[str, int]


class PostgresStatements(Statements[Session]):
    """What a ``PostgresSaver`` runs."""

    def put(
        self,
        connection: Session,
        *,
        row: CheckpointRow,
        changes: Sequence[ChannelRow],
        after: str | None,
        drop: Sequence[str],
        inside: tuple[str, str] | None,
    ) -> None:
        """``Checkpointer.put``."""
        place = Place(row.thread_id, row.namespace)
        connection.hold(place.thread_id)
        check_follows(row, after=after, newest=_newest(connection, place))
        if inside is not None:
            check_inside(row, inside, _newest(connection, Place(row.thread_id, inside[0])))
        channels = channels_text(row.channels)
        values = (*place, row.id, row.number, row.parent, row.body, row.created_at, channels)
        rows = [(*place, change.key, change.version, change.previous, change.text) for change in changes]
        if not connection.run(_ADD_CHECKPOINT, values).rowcount or connection.run_many(_ADD_VERSION, rows) < len(rows):
            raise already_there(row)
        for namespace in drop:
            _delete_namespaces(connection, place.thread_id, namespace)

    def put_writes(
        self, connection: Session, *, place: Place, checkpoint_id: str, writes: Sequence[WriteRow], is_claim: bool
    ) -> None:
        """``Checkpointer.put_writes``."""
        connection.hold(place.thread_id)
        of = (*place, checkpoint_id)
        is_there = connection.run(_IS_THERE, of).fetchone() is not None
        rows = [(*of, write.task, write.kind, write.number, write.text) for write in writes]
        if not is_there or connection.run_many(_ADD_WRITE if is_claim else _SET_WRITE, rows) < len(rows):
            raise CheckpointConflict(thread_id=place.thread_id, where=f"checkpoint {checkpoint_id!r}")

    def load(self, connection: Session, *, place: Place, checkpoint_id: str | None) -> LoadedCheckpoint | None:
        """``Checkpointer.load``."""
        _keep_still(connection, place.thread_id)
        if checkpoint_id is None:
            row = next(iter(self.history(connection, place=place, before=None, limit=1)), None)
        else:
            row = next(_checkpoints(place, connection.run(_CHECKPOINT, (*place, checkpoint_id))), None)
        if row is None:
            return None
        names, versions = list(row.channels), list(row.channels.values())
        chains: dict[str, list[Link]] = defaultdict(list)
        for key, *link in connection.run(_CHAINS, (names, versions, *place)):
            chains[key].append(Link(*link))
        writes = connection.run(_WRITES, (*place, row.id)).fetchall()
        return Found(*place).loaded(row, chains, writes)

    def history(
        self, connection: Session, *, place: Place, before: int | None, limit: int | None
    ) -> list[CheckpointRow]:
        """``Checkpointer.history``."""
        newest = MAX_NUMBER if before is None else before - 1
        return list(_checkpoints(place, connection.run(_CHECKPOINTS, (*place, newest, limit))))

    def save_call(self, connection: Session, *, thread_id: str, row: CallRow, after: int | None) -> bool:
        """``Checkpointer.save_call``."""
        connection.hold(thread_id)
        values = (row.version, row.state, row.text, row.changed_at)
        if after is None:
            return connection.run(_ADD_CALL, (thread_id, row.key, *values)).rowcount == 1
        return connection.run(_SET_CALL, (*values, thread_id, row.key, after)).rowcount == 1

    def load_call(self, connection: Session, *, thread_id: str, key: str) -> CallRow | None:
        """``Checkpointer.load_call``."""
        return next(_calls(thread_id, connection.run(_CALL, (thread_id, key))), None)

    def calls(self, connection: Session, *, thread_id: str) -> list[CallRow]:
        """``Checkpointer.calls``."""
        return list(_calls(thread_id, connection.run(_CALLS, (thread_id,))))

    def threads(self, connection: Session) -> list[str]:
        """``Checkpointer.threads``."""
        return sorted(thread_id for (thread_id,) in connection.run(_THREADS))

    def delete_thread(self, connection: Session, *, thread_id: str) -> None:
        """``Checkpointer.delete_thread``."""
        connection.hold(thread_id)
        for query in _DELETE_THREAD:
            connection.run(query, (thread_id,))

    def prune(self, connection: Session, *, thread_id: str | None, rule: Retention) -> int:
        """``Checkpointer.prune``."""
        if thread_id is not None:
            thread_ids = [thread_id]
        else:
            rows = connection.run(_TO_PRUNE, (rule.keep, rule.created_before, rule.created_before))
            thread_ids = [name for (name,) in rows]
        connection.hold(*thread_ids)
        return sum(_prune(connection, name, rule) for name in thread_ids)


def _keep_still(session: Session, thread_id: str) -> None:
    """See to it that the next statements see the same: a transaction that may write sees what others commit."""
    if session.writer is not None:
        session.hold(thread_id)


def _checkpoints(place: Place, rows: Iterable[TupleRow]) -> Iterator[CheckpointRow]:
    found = Found(*place)
    for id_, number, parent, body, created_at, channels in rows:
        yield found.checkpoint(
            id=id_, number=number, parent=parent, body=body, created_at=created_at, channels=channels
        )


def _calls(thread_id: str, rows: Iterable[TupleRow]) -> Iterator[CallRow]:
    found = Found(thread_id)
    for key, version, state, text, changed_at in rows:
        yield found.call(key=key, version=version, state=state, text=text, changed_at=changed_at)


def _newest(session: Session, place: Place) -> tuple[str, int] | None:
    """The id and the number of the newest checkpoint of a namespace."""
    row = session.run(_NEWEST, place).fetchone()
    if row is None:
        return None
    found = Found(*place)
    return found.name(row[0]), found.number(*row)


def _delete_namespaces(session: Session, thread_id: str, namespace: str) -> None:
    """Delete a namespace with all below it."""
    for query in _DELETE_NAMESPACES:
        session.run(query, (thread_id, namespace, f"{namespace}/"))


def _prune(session: Session, thread_id: str, rule: Retention) -> int:
    """Forget old checkpoints of a thread, namespace by namespace, the outer ones first; says how many."""
    steps = _steps(session, thread_id)
    forgotten = 0
    for namespace in sorted(steps, key=len):
        if namespace not in steps:  # it went with a step of an outer one
            continue
        gone = set(rule.forgotten([(step.id, step.created_at) for step in steps[namespace]]))
        if not gone:
            continue
        inside = [other for other in steps if is_inside_step(other, namespace, gone)]
        forgotten += len(gone) + sum(len(steps.pop(other)) for other in inside)
        for query in _DELETE_STEPS:
            session.run(query, (thread_id, namespace, list(gone)))
        for query in _DELETE_INSIDE:
            session.run(query, (thread_id, inside))
        _forget_versions(session, Place(thread_id, namespace), [s for s in steps[namespace] if s.id not in gone])
    return forgotten


def _steps(session: Session, thread_id: str) -> dict[str, list[_Step]]:
    """The checkpoints of each namespace of a thread, the newest first."""
    steps: dict[str, list[_Step]] = defaultdict(list)
    for namespace, id_, created_at, channels in session.run(_STEPS, (thread_id,)):
        found = Found(thread_id, namespace)
        steps[namespace].append(_Step(found.name(id_), found.seconds(id_, created_at), found.channels(id_, channels)))
    return steps


def _forget_versions(session: Session, place: Place, remaining: Iterable[_Step]) -> None:
    """Forget the versions that no remaining checkpoint needs."""
    previous = {(key, version): previous for key, version, previous in session.run(_VERSIONS, place)}
    unneeded = previous.keys() - needed_versions([step.channels for step in remaining], previous)
    keys, versions = [key for key, _ in unneeded], [version for _, version in unneeded]
    session.run(_DELETE_VERSIONS, (*place, keys, versions))
