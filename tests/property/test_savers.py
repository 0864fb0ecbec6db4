"""Savers against each other, whatever is asked of them; and against rows that anybody may have changed."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from surehand import CheckpointConflict, CheckpointError, MemorySaver, SqliteSaver, StoreError
from surehand.checkpoints import ChannelRow, Checkpointer, CheckpointRow
from surehand.testing.savers.scripts import EPOCH, Script, call, change, write

THREADS = ("t", "T", "é")
KEYS = ("a", "b")
threads = st.sampled_from(THREADS)
keys = st.sampled_from(KEYS)
small = st.integers(min_value=0, max_value=3)


def told(act: Callable[[], object]) -> object:
    """What it returned, or what kind of error it was told by."""
    try:
        return act()
    except (CheckpointConflict, CheckpointError, StoreError) as error:
        return type(error)


class SaversAgree(RuleBasedStateMachine):
    """What is asked of one is asked of the other: both answer alike, and both hold the same."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "runs.db"
        self.memory = MemorySaver()
        self.sqlite = SqliteSaver(self.path, synchronous="NORMAL")
        self.count = 0

    def teardown(self) -> None:
        self.sqlite.close()
        self.folder.cleanup()

    def both(self, ask: Callable[[Checkpointer], object]) -> object:
        expected = told(lambda: ask(self.memory))
        assert told(lambda: ask(self.sqlite)) == expected
        return expected

    def spaces(self, thread: str) -> list[str]:
        """The namespaces there may be: that of the graph, and those inside of its newest steps, two deep."""
        outer = [row.id for row in self.memory.history(thread, limit=2)]
        inner = [f"{id_}:{number}" for id_ in outer for number in range(2)]
        deeper = [f"{space}/{row.id}:0" for space in inner for row in self.memory.history(thread, space, limit=1)]
        return ["", *inner, *deeper]

    @rule(thread=threads, space=small, data=st.data(), stale=st.booleans(), skip=small, drop=st.booleans())
    def put(self, thread: str, space: int, data: st.DataObject, *, stale: bool, skip: int, drop: bool) -> None:
        spaces = self.spaces(thread)
        namespace = spaces[space % len(spaces)]
        history = self.memory.history(thread, namespace, limit=5)
        parent = data.draw(st.sampled_from(history)) if history else None
        number = (history[0].number if history else 0) + 1 + (skip == 3)
        self.count += 1
        changes = [self.change(key, number, parent, data) for key in KEYS if data.draw(st.booleans())]
        channels = {**(parent.channels if parent else {}), **{row.key: row.version for row in changes}}
        row = CheckpointRow(
            thread_id=thread,
            namespace=namespace,
            id=f"{number:04d}-{self.count:04d}",
            number=number,
            parent=parent.id if parent else None,
            body=f"{self.count}",
            created_at=EPOCH + self.count,
            channels=channels,
        )
        after = None if stale or not history else history[0].id
        dropped = [name for name in spaces[1:] if drop and not f"{namespace}/".startswith(f"{name}/")]
        self.both(lambda saver: saver.put(row, changes, after=after, drop=dropped))

    def change(self, key: str, number: int, parent: CheckpointRow | None, data: st.DataObject) -> ChannelRow:
        known = parent.channels.get(key) if parent else None
        previous = known if data.draw(st.booleans()) else None
        return change(key, number, f"{key}{number}", previous=previous)

    @rule(thread=threads, which=small, task=keys, number=small, is_claim=st.booleans())
    def put_writes(self, thread: str, which: int, task: str, number: int, *, is_claim: bool) -> None:
        history = self.memory.history(thread)
        id_ = history[which % len(history)].id if history else "gone"
        rows = [write(task, number=number, text=f"{self.count}"), write("", "run", number)]
        self.both(lambda saver: saver.put_writes(thread, "", id_, rows, is_claim=is_claim))

    @rule(thread=threads, key=keys, known=st.booleans(), off=st.sampled_from([0, 0, 0, 1]))
    def save_call(self, thread: str, key: str, off: int, *, known: bool) -> None:
        row = self.memory.load_call(thread, key)
        after = row.version + off if row is not None and known else None
        self.both(lambda saver: saver.save_call(thread, call(key, (after or 0) + 1, "done"), after=after))

    @rule(thread=st.one_of(st.none(), threads), keep=st.one_of(st.none(), st.integers(1, 3)))
    def prune(self, thread: str | None, keep: int | None) -> None:
        self.both(lambda saver: saver.prune(thread, keep=keep))

    @rule(thread=threads)
    def delete_thread(self, thread: str) -> None:
        self.both(lambda saver: saver.delete_thread(thread))

    @rule()
    def reopen(self) -> None:
        self.sqlite.close()
        self.sqlite = SqliteSaver(self.path, synchronous="NORMAL")

    @invariant()
    def hold_the_same(self) -> None:
        self.both(lambda saver: saver.threads())
        for thread in THREADS:
            self.both(lambda saver, thread=thread: saver.calls(thread))  # type: ignore[misc]
            for space in self.spaces(thread):
                rows = self.memory.history(thread, space)
                assert self.sqlite.history(thread, space) == rows
                for row in rows:
                    loaded = self.memory.load(thread, space, row.id)
                    assert loaded is not None
                    assert self.sqlite.load(thread, space, row.id) == loaded


SaversAgree.TestCase.settings = settings(
    max_examples=20, stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
test_savers_agree = SaversAgree.TestCase

COLUMNS = {
    "threads": ("name",),
    "spaces": ("thread", "namespace"),
    "checkpoints": ("space", "number", "id", "parent", "created_at", "channels", "body"),
    "versions": ("space", "key", "version", "previous", "text"),
    "writes": ("checkpoint", "task", "kind", "number", "text"),
    "calls": ("thread", "key", "version", "state", "changed_at", "text"),
}
PLACES = [(table, column) for table, columns in COLUMNS.items() for column in columns]
values: st.SearchStrategy[Any] = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-1, 5),
    st.floats(allow_nan=False),
    st.binary(max_size=5),
    st.text(alphabet=st.characters(codec="utf-8"), max_size=5),
    st.sampled_from(
        ["{}", "[]", '{"messages":2}', '{"messages":"1"}', '{"a":{}}', "null", "[" * 100_000, "9" * 10_000]
    ),
)


@cache
def written() -> bytes:
    """A file with some of everything."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.db"
        with SqliteSaver(path) as saver:
            write_some(saver)
        return path.read_bytes()


@settings(max_examples=80, deadline=None)
@given(harms=st.lists(st.tuples(st.sampled_from(PLACES), values, st.integers(1, 3)), min_size=1, max_size=4))
def test_rows_that_anybody_changed_are_read_or_told(harms: list[tuple[tuple[str, str], Any, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.db"
        path.write_bytes(written())
        connection = sqlite3.connect(path)
        for (table, column), value, row in harms:
            connection.execute(f"UPDATE OR IGNORE surehand_{table} SET {column} = ? WHERE rowid = ?", (value, row))
        connection.commit()
        connection.close()
        with SqliteSaver(path, synchronous="NORMAL") as saver:
            ask_everything(saver)


def write_some(saver: SqliteSaver) -> None:
    script = Script(saver)
    script.steps(3)
    saver.put_writes("thread", "", script.rows[2].id, [write("a"), write("b"), write("c")])
    Script(saver, "thread", f"{script.rows[0].id}:0").steps(2)
    for key in ("x", "y", "z"):
        saver.save_call("thread", call(key), after=None)


def ask_everything(saver: SqliteSaver) -> None:
    """Each method answers, or says what is wrong; no other exception, and no end without one."""
    ids = [f"{number:08d}-06" for number in range(1, 4)]
    script = Script(saver)
    script.rows = [script.row(number=number) for number in range(1, 4)]
    for thread in ("thread", "nobody"):
        told(lambda thread=thread: saver.newest(thread))  # type: ignore[misc]
        told(lambda thread=thread: saver.history(thread))  # type: ignore[misc]
        told(lambda thread=thread: saver.calls(thread))  # type: ignore[misc]
        for id_ in (None, *ids):
            told(lambda thread=thread, id_=id_: saver.load(thread, "", id_))  # type: ignore[misc]
    told(lambda: saver.load("thread", f"{ids[0]}:0"))
    told(saver.threads)
    told(lambda: saver.load_call("thread", "x"))
    told(lambda: saver.save_call("thread", call("x", 2), after=1))
    told(lambda: saver.put_writes("thread", "", ids[2], [write("a")]))
    told(lambda: saver.put(script.row(), [change("messages", 4, "4")], after=ids[2]))
    told(lambda: saver.prune("thread", keep=2, older_than=0))
    told(saver.prune)
    saver.delete_thread("thread")
    assert told(lambda: saver.load("thread")) is None
