"""A saver on a SQLite file: what it opens, what it shares, and what it says of a file that was harmed."""

from __future__ import annotations

import gc
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from surehand import CheckpointConflict, CheckpointError, OptionError, SqliteSaver, StoreError
from surehand.checkpoints import CheckpointRow
from surehand.checkpoints.sqlite.lock import FileLock
from surehand.checkpoints.sqlite.statements import TABLES
from surehand.testing.savers.scripts import Script, call, change, texts_of, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def saver(path: Path) -> Iterator[SqliteSaver]:
    with SqliteSaver(path) as saver:
        yield saver


def committers() -> int:
    return sum(thread.name == "surehand-committer" for thread in threading.enumerate())


# What is opened


def test_a_file_is_made_and_opened_again(path: Path) -> None:
    with SqliteSaver(path) as saver:
        Script(saver).steps(2)
    with SqliteSaver(str(path)) as again:
        assert texts_of(again)["messages"] == ('"1"', '"2"')


def test_the_path_is_told_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with SqliteSaver("runs.db") as saver:
        assert saver.path == os.path.realpath(tmp_path / "runs.db")


@pytest.mark.parametrize("name", ["ü 😀?a=1&b#c%41.db", "a'b\"c", "file", ":memory", "-wal"])
def test_any_name_is_the_name_of_a_file(tmp_path: Path, name: str) -> None:
    with SqliteSaver(tmp_path / name) as saver:
        saver.save_call("t", call("k"), after=None)
    assert (tmp_path / name).is_file()
    with SqliteSaver(tmp_path / name) as again:
        assert again.calls("t") == [call("k")]


def test_databases_in_memory_are_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    with SqliteSaver(":memory:") as first, SqliteSaver(":memory:") as second:
        first.save_call("t", call("k"), after=None)
        assert second.threads() == []
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_counts_as_none(path: Path) -> None:
    path.touch()
    with SqliteSaver(path) as saver:
        saver.save_call("t", call("k"), after=None)
        assert saver.threads() == ["t"]


@pytest.mark.parametrize("value", ["", "file:runs.db", "a\0b", b"runs.db", 5, None])
def test_what_is_no_path_is_refused(value: Any) -> None:
    with pytest.raises(OptionError, match="path="):
        SqliteSaver(value)


@pytest.mark.parametrize(
    "options", [{"synchronous": "OFF"}, {"timeout": None}, {"timeout": -1}, {"timeout": "5"}, {"timeout": float("nan")}]
)
def test_unusable_options_are_refused(path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        SqliteSaver(path, **options)
    assert not path.exists()


def test_a_folder_that_does_not_exist_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"The folder of '.*none/runs.db' does not exist. Make it, or correct"):
        SqliteSaver(tmp_path / "none" / "runs.db")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is no file"):
        SqliteSaver(tmp_path)


def test_a_text_is_no_database(path: Path) -> None:
    path.write_text("Dear diary,\n" * 100, encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"runs.db' is no database .*Give another path"):
        SqliteSaver(path)
    assert path.read_text(encoding="utf-8") == "Dear diary,\n" * 100


@pytest.mark.parametrize("made", ["CREATE TABLE users (name)", "CREATE VIEW users AS SELECT 1"])
def test_another_programs_database_is_left_alone(path: Path, made: str) -> None:
    harm(path, made)
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match="another program's database: it has the table 'users'"):
        SqliteSaver(path)
    assert path.read_bytes() == before
    assert committers() == 0


def test_a_newer_file_is_left_alone(path: Path) -> None:
    SqliteSaver(path).close()
    harm(path, "UPDATE surehand_schema SET version = 7")
    before = path.read_bytes()
    with pytest.raises(
        CheckpointError, match="newer Surehand: its tables are of version 7 where this one knows version 1"
    ):
        SqliteSaver(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "harming",
    [
        "DELETE FROM surehand_schema",
        "INSERT INTO surehand_schema VALUES (1)",
        "UPDATE surehand_schema SET version = 'x'",
        "UPDATE surehand_schema SET version = x'00'",
        "UPDATE surehand_schema SET version = 0",
        "UPDATE surehand_schema SET version = 1.5",
    ],
)
def test_a_file_without_a_version_is_told(path: Path, harming: str) -> None:
    SqliteSaver(path).close()
    harm(path, harming)
    with pytest.raises(CheckpointError, match="does not say which version its tables are of"):
        SqliteSaver(path)


def test_a_file_that_was_cut_off_is_told(path: Path) -> None:
    with SqliteSaver(path) as saver:
        Script(saver).steps(50)
    path.write_bytes(path.read_bytes()[:5_000])
    with pytest.raises(CheckpointError, match="is damaged"), SqliteSaver(path) as again:
        again.load("thread")


def test_pages_that_were_overwritten_are_told(path: Path) -> None:
    with SqliteSaver(path) as saver:
        Script(saver).steps(50)
    content = bytearray(path.read_bytes())
    content[12_000:] = b"\xff" * (len(content) - 12_000)
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="is damaged"), SqliteSaver(path) as again:
        again.load("thread")


# Who shares it


def test_savers_of_one_file_share_one_thread(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.db").symlink_to(path)
    with SqliteSaver(path) as first, SqliteSaver("runs.db") as second, SqliteSaver("link.db") as third:
        assert committers() == 1
        first.save_call("t", call("k"), after=None)
        assert second.save_call("t", call("k"), after=None) is False
        assert third.calls("t") == [call("k")]


def test_a_saver_that_is_closed_leaves_the_others_open(path: Path) -> None:
    first, second = SqliteSaver(path), SqliteSaver(path)
    first.close()
    first.close()
    with pytest.raises(StoreError, match=r"The saver of '.*runs.db' is closed. Open it anew"):
        first.threads()
    assert second.threads() == []
    second.close()
    assert committers() == 0


def test_savers_of_one_file_have_the_same_options(path: Path, saver: SqliteSaver) -> None:
    with pytest.raises(OptionError, match="expected the options of the saver that has the file open"):
        SqliteSaver(path, synchronous="NORMAL")
    assert saver.threads() == []


def test_a_saver_that_nobody_holds_lets_the_file_go(path: Path) -> None:
    kept, dropped = SqliteSaver(path), SqliteSaver(path)
    dropped.save_call("t", call("k"), after=None)
    del dropped
    gc.collect()
    assert kept.calls("t") == [call("k")]
    del kept
    gc.collect()
    SqliteSaver(path, synchronous="NORMAL").close()
    until = time.monotonic() + 10
    while committers() and time.monotonic() < until:
        time.sleep(0.001)
    assert committers() == 0


def test_many_may_open_and_close_one_file_at_a_time(path: Path) -> None:
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for round_ in range(10):
                with SqliteSaver(path) as saver:
                    saver.save_call(f"t{number}", call(f"{round_}"), after=None)
        except BaseException as error:  # noqa: BLE001 - asserted below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert errors == []
    with SqliteSaver(path) as saver:
        assert [len(saver.calls(f"t{number}")) for number in range(6)] == [10] * 6


def test_a_file_that_another_connection_writes_is_told_and_written_when_it_is_free(path: Path) -> None:
    with SqliteSaver(path, timeout=0.05) as saver, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"runs.db' is in use by another process .*a program that writes the file"):
            saver.save_call("t", call("k"), after=None)
        assert saver.threads() == []
        other.execute("ROLLBACK")
        assert saver.save_call("t", call("k"), after=None)


def test_other_programs_read_the_file_while_it_is_open(path: Path, saver: SqliteSaver) -> None:
    with closing(sqlite3.connect(path, timeout=0)) as reader:
        for number in range(20):
            assert reader.execute("SELECT count(*) FROM surehand_calls").fetchone() == (number,)
            saver.save_call("t", call(f"{number}"), after=None)
        assert reader.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert reader.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    saver.save_call("t", call("last"), after=None)


def test_a_reader_that_stays_on_what_it_sees_keeps_nobody_from_writing(path: Path, saver: SqliteSaver) -> None:
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM surehand_calls").fetchone() == (0,)
        saver.save_call("t", call("k"), after=None)
        assert reader.execute("SELECT count(*) FROM surehand_calls").fetchone() == (0,)


def test_a_reader_that_is_there_longer_than_the_saver_loses_nothing(path: Path) -> None:
    with closing(sqlite3.connect(path, timeout=0)) as reader:
        with SqliteSaver(path) as saver:
            saver.save_call("t", call("k"), after=None)
            assert reader.execute("SELECT count(*) FROM surehand_calls").fetchone() == (1,)
        assert reader.execute("SELECT count(*) FROM surehand_calls").fetchone() == (1,)
    with SqliteSaver(path) as saver:
        assert saver.calls("t") == [call("k")]


def test_a_file_in_another_journal_mode_is_brought_to_the_fast_one(path: Path) -> None:
    SqliteSaver(path).close()
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("PRAGMA journal_mode = TRUNCATE").fetchone() == ("truncate",)
    with SqliteSaver(path) as saver:
        assert on_its_connection(saver, "PRAGMA journal_mode") == ("wal",)


# The lock


def lock_of(path: Path) -> FileLock:
    return FileLock(f"{path}-lock", beside=str(path))


def test_a_lock_that_somebody_has_is_waited_for_and_told(path: Path) -> None:
    with SqliteSaver(path, timeout=0.05) as saver:
        lock = lock_of(path)
        assert lock.acquire(0)
        told = r"runs.db' is in use by another process, which has had the lock '.*runs.db-lock' for 0.05 seconds"
        with pytest.raises(StoreError, match=told):
            saver.save_call("t", call("k"), after=None)
        assert saver.threads() == []
        lock.release()
        assert saver.save_call("t", call("k"), after=None)
        lock.close()


def test_a_file_is_opened_under_the_lock_only(path: Path) -> None:
    lock = lock_of(path)
    assert lock.acquire(0)
    with pytest.raises(StoreError, match="is in use by another process"):
        SqliteSaver(path, timeout=0.05)
    assert not path.exists()
    lock.close()
    SqliteSaver(path, timeout=0.05).close()


def test_the_lock_is_free_between_commits_whatever_becomes_of_them(path: Path, saver: SqliteSaver) -> None:
    lock = lock_of(path)
    script = Script(saver)
    script.steps(1)
    with pytest.raises(CheckpointConflict):
        saver.put(script.row(), [], after=None)
    with pytest.raises(CheckpointError, match="no such table"):
        on_its_connection(saver, "SELECT * FROM nowhere")
    assert lock.acquire(0)
    assert saver.threads() == ["thread"]
    lock.close()


def test_one_has_the_lock_at_a_time(path: Path) -> None:
    first, second = lock_of(path), lock_of(path)
    assert first.acquire(0)
    assert first.acquire(0)
    assert not second.acquire(0)
    first.release()
    first.release()
    assert second.acquire(0)
    assert not first.acquire(0.01)
    second.close()
    assert first.acquire(0)
    first.close(removes=True)
    assert list(path.parent.iterdir()) == []


def test_a_lock_whose_file_was_removed_is_none(path: Path) -> None:
    first, late = lock_of(path), lock_of(path)
    assert first.acquire(0)
    assert not late.acquire(0)  # it has opened the file
    first.close(removes=True)
    third = lock_of(path)
    assert third.acquire(0)
    assert not late.acquire(0)
    third.close(removes=True)
    assert late.acquire(0)
    late.close()


def test_who_has_no_lock_removes_nothing(path: Path) -> None:
    first, second = lock_of(path), lock_of(path)
    assert first.acquire(0)
    assert not second.acquire(0)
    second.close(removes=True)
    assert path.with_name("runs.db-lock").exists()
    first.close()


def test_threads_that_lock_and_remove_are_alone(path: Path) -> None:
    inside: list[int] = []
    most: list[int] = []

    def work(number: int) -> None:
        for round_ in range(50):
            lock = lock_of(path)
            assert lock.acquire(20)
            inside.append(number)
            most.append(len(inside))
            inside.remove(number)
            lock.close(removes=round_ % 2 == 0)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert most == [1] * 200


@pytest.mark.skipif(sys.platform == "win32", reason="it knows no such rights")
def test_the_lock_may_be_had_by_whoever_may_write_the_file(path: Path) -> None:
    path.touch()
    path.chmod(0o660)
    lock = lock_of(path)
    assert lock.acquire(0)
    assert path.with_name("runs.db-lock").stat().st_mode & 0o777 == 0o660
    lock.close()


def test_a_folder_in_place_of_the_lock_is_told(path: Path) -> None:
    path.with_name("runs.db-lock").mkdir()
    with pytest.raises(StoreError, match=r"runs.db' (could not be used|cannot be opened) .*runs.db-lock"):
        SqliteSaver(path)
    assert committers() == 0


# What happens to the file while it is open


def test_a_file_that_is_deleted_is_told_and_goes_on_when_it_is_back(path: Path, saver: SqliteSaver) -> None:
    saver.save_call("t", call("a"), after=None)
    aside = path.rename(path.with_name("aside.db"))
    log = path.with_name("runs.db-wal").rename(path.with_name("aside.log"))
    with pytest.raises(StoreError, match=r"was deleted or moved away while it was in use. Put it back"):
        saver.save_call("t", call("b"), after=None)
    with pytest.raises(StoreError, match="was deleted or moved away"):
        saver.calls("t")
    assert not path.exists()
    aside.rename(path)
    log.rename(path.with_name("runs.db-wal"))
    assert saver.calls("t") == [call("a")]
    assert saver.save_call("t", call("b"), after=None)


def test_a_file_that_is_replaced_is_told(path: Path, saver: SqliteSaver) -> None:
    saver.save_call("t", call("a"), after=None)
    path.unlink()
    path.write_bytes(b"")
    with pytest.raises(StoreError, match="was replaced by another file while it was in use"):
        saver.threads()
    assert path.read_bytes() == b""


def test_a_log_that_is_deleted_takes_nothing_with_it(path: Path, saver: SqliteSaver) -> None:
    saver.save_call("t", call("a"), after=None)
    path.with_name("runs.db-wal").unlink()
    assert saver.save_call("t", call("b"), after=None)
    assert saver.calls("t") == [call("a"), call("b")]


def test_a_folder_that_is_deleted_is_told(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    with SqliteSaver(tmp_path / "sub" / "runs.db") as saver:
        (tmp_path / "sub").rename(tmp_path / "other")
        with pytest.raises(StoreError, match="was deleted or moved away"):
            saver.save_call("t", call("a"), after=None)
        (tmp_path / "other").rename(tmp_path / "sub")
        assert saver.save_call("t", call("a"), after=None)


def on_its_connection(saver: SqliteSaver, query: str) -> Any:
    return saver._committer.run(lambda connection: connection.execute(query).fetchone())  # pyright: ignore[reportPrivateUsage] # noqa: SLF001


def test_a_disk_without_room_is_told_and_goes_on_when_there_is_some(saver: SqliteSaver) -> None:
    saver.save_call("t", call("a"), after=None)
    (pages,) = on_its_connection(saver, "PRAGMA page_count")
    on_its_connection(saver, f"PRAGMA max_page_count = {pages + 2}")
    script = Script(saver)
    with pytest.raises(StoreError, match=r"does not fit on the disk .*Make room; nothing of this was written"):
        script.put(change("messages", 1, "x" * 100_000))
    assert saver.newest("thread") is None
    assert saver.calls("t") == [call("a")]
    on_its_connection(saver, "PRAGMA max_page_count = 1000000")
    script.put(change("messages", 1, "x" * 100_000))
    assert texts_of(saver) == {"messages": ("x" * 100_000,)}


def test_a_text_that_is_too_large_is_told(saver: SqliteSaver) -> None:
    limit = sqlite3.SQLITE_LIMIT_LENGTH
    saver._committer.run(lambda connection: connection.setlimit(limit, 50_000))  # pyright: ignore[reportPrivateUsage] # noqa: SLF001
    with pytest.raises(StoreError, match="does not take a text of this size"):
        Script(saver).put(change("messages", 1, "x" * 100_000))
    Script(saver).put(change("messages", 1, "x" * 10_000))


# Rows that were changed by hand


def harm(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.fixture
def written(path: Path) -> Path:
    with SqliteSaver(path) as saver:
        script = Script(saver)
        script.steps(3)
        saver.put_writes("thread", "", script.rows[2].id, [write("a")])
        saver.save_call("thread", call("k"), after=None)
    return path


def checkpoint() -> CheckpointRow:
    return CheckpointRow(
        thread_id="thread", namespace="", id="4", number=4, parent=None, body="", created_at=1.0, channels={}
    )


CHECKPOINT = "UPDATE surehand_checkpoints SET {} WHERE number = 3"
VERSION = "UPDATE surehand_versions SET {} WHERE version = 3"
WRITE = "UPDATE surehand_writes SET {}"
CALL = "UPDATE surehand_calls SET {}"


@pytest.mark.parametrize(
    ("harming", "told"),
    [
        (CHECKPOINT.format("id = x'00ff'"), "the id is b'\\x00\\xff' instead of a text"),
        (CHECKPOINT.format("number = 'many'"), "the number is 'many' instead of a whole number"),
        (CHECKPOINT.format("number = 3.5"), "the number is 3.5 instead of a whole number"),
        ("UPDATE surehand_checkpoints SET number = -number", "the number is -1 instead of a whole number"),
        (CHECKPOINT.format("parent = x'ff'"), "the parent is b'\\xff' instead of a text"),
        (CHECKPOINT.format("body = x'ff'"), "the body is b'\\xff' instead of a text"),
        (CHECKPOINT.format("created_at = 'yesterday'"), "the created_at is 'yesterday' instead of seconds"),
        (CHECKPOINT.format("created_at = 9e999"), "the created_at is inf instead of seconds"),
        (CHECKPOINT.format("channels = 'messages'"), "its channels are no JSON"),
        (CHECKPOINT.format("channels = x'7b7d'"), "the channels is b'{}' instead of a text"),
        (CHECKPOINT.format("channels = '[]'"), "instead of a JSON object"),
        (CHECKPOINT.format('channels = \'{"a": "1"}\''), "the version of key 'a' is '1'"),
        (CHECKPOINT.format("channels = '{\"a\": true}'"), "the version of key 'a' is True"),
        (CHECKPOINT.format("channels = '{\"a\": 1.0}'"), "the version of key 'a' is 1.0"),
        (CHECKPOINT.format("channels = '{\"a\": 0}'"), "the version of key 'a' is 0"),
        (
            CHECKPOINT.format("channels = '{\"a\": 99999999999999999999}'"),
            "the version of key 'a' is 99999999999999999999",
        ),
        (CHECKPOINT.format(f"channels = '{{\"a\": {'9' * 5_000}}}'"), "its channels are no JSON"),
        (CHECKPOINT.format(f"channels = '{'[' * 200_000}'"), "its channels are no JSON"),
        (CHECKPOINT.format("channels = '{\"a\": NaN}'"), "the version of key 'a' is nan"),
        (CHECKPOINT.format("channels = '{\"messages\": 9}'"), "version 9 of key 'messages' is missing"),
        (VERSION.format("text = x'ff'"), "version 3 of key 'messages' is b'\\xff' instead of a text"),
        (VERSION.format("text = CAST(x'ff41' AS TEXT)"), "version 3 of key 'messages' is b'\\xffA' instead of a text"),
        (VERSION.format("previous = 'x'"), "previous version of version 3 of key 'messages' is 'x'"),
        (VERSION.format("previous = 3"), "version 3 of key 'messages' is a change of version 3"),
        (VERSION.format("previous = 77"), "version 3 of key 'messages' is a change of version 77"),
        (VERSION.format("previous = 0"), "previous version of version 3 of key 'messages' is 0"),
        (VERSION.format("previous = 1.5"), "previous version of version 3 of key 'messages' is 1.5"),
        (VERSION.format("key = 'other'"), "version 3 of key 'messages' is missing"),
        (VERSION.format("version = 'x'"), "version 3 of key 'messages' is missing"),
        ("DELETE FROM surehand_versions WHERE version = 1", "version 1 of key 'messages' is missing"),
        (
            "UPDATE surehand_versions SET previous = 3 WHERE version = 1",
            "version 1 of key 'messages' is a change of version 3",
        ),
        (WRITE.format("task = x'ff'"), "the task of a write is b'\\xff' instead of a text"),
        (WRITE.format("kind = x'ff'"), "the kind of a write is b'\\xff' instead of a text"),
        (WRITE.format("number = 'x'"), "the number of a write is 'x'"),
        (WRITE.format("text = x'ff'"), "the text of a write is b'\\xff' instead of a text"),
    ],
)
def test_a_checkpoint_that_was_changed_by_hand_is_told(written: Path, harming: str, told: str) -> None:
    harm(written, harming)
    with SqliteSaver(written) as saver:
        with pytest.raises(CheckpointError) as caught:
            saver.load("thread")
        assert told in str(caught.value)
        assert str(caught.value).startswith("thread 'thread', checkpoint ")
        assert "delete_thread()" in str(caught.value)
        saver.delete_thread("thread")
        assert saver.threads() == []


@pytest.mark.parametrize(
    ("table", "column"),
    [
        *(("surehand_checkpoints", name) for name in ("id", "body", "created_at", "channels")),
        ("surehand_versions", "text"),
        *(("surehand_writes", name) for name in ("task", "kind", "number", "text")),
    ],
)
def test_rows_without_a_value_are_told(written: Path, table: str, column: str) -> None:
    """Also where somebody took care that the table does not show it."""
    constraint = f"UPDATE sqlite_master SET sql = replace(sql, '{{}}', '{{}}') WHERE name = '{table}'"
    typed = TABLES[table].partition(f"{column} ")[2].partition(",")[0]
    strict, loose = f"{column} {typed}", f"{column} {typed.replace('NOT NULL', '')}"
    harm(written, "PRAGMA writable_schema = ON", constraint.format(strict, loose))
    harm(written, f"UPDATE {table} SET {column} = NULL")
    harm(written, "PRAGMA writable_schema = ON", constraint.format(loose, strict))
    with SqliteSaver(written) as saver, pytest.raises(CheckpointError, match="is None instead of"):
        saver.load("thread")


@pytest.mark.parametrize(
    "harming", ["state = 'lost'", "state = x'ff'", "text = x'ff'", "key = 'k', version = 0", "changed_at = 'x'"]
)
def test_a_call_that_was_changed_by_hand_is_told(written: Path, harming: str) -> None:
    harm(written, CALL.format(harming))
    with SqliteSaver(written) as saver:
        for read in (lambda: saver.load_call("thread", "k"), lambda: saver.calls("thread")):
            with pytest.raises(CheckpointError, match="thread 'thread', call 'k'"):
                read()
        assert saver.save_call("thread", call("k"), after=None) is False


@pytest.mark.parametrize(
    ("harming", "method", "arguments"),
    [
        (CHECKPOINT.format("number = 'many'"), "put", [checkpoint(), ()]),
        (CHECKPOINT.format("channels = '{'"), "prune", [None]),
        (CHECKPOINT.format("created_at = 'x'"), "prune", ["thread"]),
        ("UPDATE surehand_spaces SET namespace = x'ff'", "prune", [None]),
        (CHECKPOINT.format("body = x'ff'"), "history", ["thread"]),
        (CHECKPOINT.format("body = x'ff'"), "newest", ["thread"]),
        ("UPDATE surehand_threads SET name = x'ff'", "threads", []),
    ],
)
def test_every_method_suspects_what_it_reads(written: Path, harming: str, method: str, arguments: list[Any]) -> None:
    harm(written, harming)
    options = {"after": "00000003-06"} if method == "put" else {}
    with SqliteSaver(written) as saver, pytest.raises(CheckpointError, match=r"instead of|are no JSON"):
        getattr(saver, method)(*arguments, **options)


def test_pruning_that_fails_forgets_nothing(written: Path) -> None:
    harm(written, CHECKPOINT.format("channels = '{'"))
    with SqliteSaver(written) as saver:
        with pytest.raises(CheckpointError, match="its channels are no JSON"):
            saver.prune()
        assert len(saver.history("thread", before=3)) == 2


def test_a_loop_of_versions_ends(path: Path) -> None:
    with SqliteSaver(path, synchronous="NORMAL") as saver:
        Script(saver).steps(1_000)
    harm(path, "UPDATE surehand_versions SET previous = 1000 WHERE version = 1")
    with SqliteSaver(path) as saver, pytest.raises(CheckpointError, match="version 1 of key 'messages' is a change of"):
        saver.load("thread")


CHANGES = {
    "drop": ["DROP TABLE surehand_{}"],
    "column": ["ALTER TABLE surehand_{} ADD COLUMN more"],
    "index": [
        "CREATE TABLE loose AS SELECT * FROM surehand_{0}",
        "DROP TABLE surehand_{0}",
        "ALTER TABLE loose RENAME TO surehand_{0}",
    ],
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("table", ["checkpoints", "versions", "writes", "calls", "threads", "spaces"])
def test_tables_that_were_changed_are_told(written: Path, table: str, change: str) -> None:
    harm(written, *(statement.format(table) for statement in CHANGES[change]))
    with pytest.raises(CheckpointError, match=f"does not have the tables as Surehand made them .surehand_{table}"):
        SqliteSaver(written)


@pytest.mark.parametrize("table", ["checkpoints", "versions", "writes", "calls", "threads", "spaces"])
def test_tables_that_go_while_they_are_used_are_told(written: Path, table: str) -> None:
    with SqliteSaver(written) as saver:
        harm(written, f"DROP TABLE surehand_{table}")
        with pytest.raises(CheckpointError, match="does not have the tables as Surehand made them"):
            read_all(saver)


def read_all(saver: SqliteSaver) -> None:
    saver.load("thread")
    saver.calls("thread")
    saver.threads()


def test_a_trigger_in_a_file_calls_nothing_of_this_process(written: Path) -> None:
    harm(written, "CREATE TRIGGER evil AFTER INSERT ON surehand_calls BEGIN SELECT load_extension('evil'); END")
    with SqliteSaver(written) as saver, pytest.raises(StoreError):
        saver.save_call("thread", call("new"), after=None)


# How it is stored


def test_a_run_takes_hardly_more_room_than_its_texts(path: Path) -> None:
    with SqliteSaver(path, synchronous="NORMAL") as saver:
        script = Script(saver)
        for number in range(1, 201):
            script.put(change("messages", number, "x" * 10_240, previous=number - 1 or None))
    files = [file for file in path.parent.iterdir() if file.name.startswith("runs.db")]
    assert sum(file.stat().st_size for file in files) <= 1.06 * 200 * 10_240


def test_what_is_forgotten_gives_its_room_back_and_leaves_no_trace(path: Path) -> None:
    with SqliteSaver(path, synchronous="NORMAL") as saver:
        script = Script(saver)
        for number in range(1, 51):
            script.put(change("messages", number, f"secret {number} " * 1_000))
        saver.save_call("thread", call("k", text="secret call"), after=None)
        Script(saver, "other").steps(1)
    full = path.stat().st_size
    with SqliteSaver(path) as saver:
        saver.prune("thread", keep=5)
    assert path.stat().st_size < full / 5
    with SqliteSaver(path) as saver:
        saver.delete_thread("thread")
    assert path.stat().st_size < 40_000
    assert b"secret" not in path.read_bytes()


def test_a_closed_saver_leaves_one_file(path: Path) -> None:
    with SqliteSaver(path) as saver:
        Script(saver).steps(3)
    assert [file.name for file in path.parent.iterdir()] == ["runs.db"]


def test_what_waits_for_one_commit_is_committed_together(saver: SqliteSaver) -> None:
    """Also conflicts: of many writers of one checkpoint one wins, and takes no other operation with it."""
    script = Script(saver)
    rows = [script.row(id=f"00000001-{index}") for index in range(20)]
    told: list[object] = []

    def put(index: int) -> None:
        try:
            saver.put(rows[index], [], after=None)
        except CheckpointConflict as error:
            told.append(error)
        told.append(saver.save_call("thread", call(f"k{index}"), after=None))

    threads = [threading.Thread(target=put, args=(index,)) for index in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert told.count(True) == 20
    assert len(told) == 39
    assert len(saver.history("thread")) == 1
