"""What is particular to PostgreSQL; what all savers promise is in the contract that they share."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
import traceback
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from support.postgres import PASSWORD, PostgresServer
from support.programs import run_python
from surehand.checkpoints import CallRow, ChannelRow, Checkpointer, CheckpointRow, WriteRow
from surehand.checkpoints.codec import Codec
from surehand.errors import CheckpointConflict, CheckpointError, OptionError, StoreError
from surehand.integrations.postgres import PostgresSaver
from surehand.integrations.postgres.marks import Marks
from surehand.testing import check_checkpointer


@pytest.fixture
def schema(postgres: PostgresServer) -> str:
    return postgres.new_schema()


@pytest.fixture
def saver(postgres: PostgresServer, schema: str) -> Generator[PostgresSaver, None, None]:
    with PostgresSaver(postgres.conninfo(), schema=schema) as opened:
        yield opened


@pytest.fixture
def by_hand(postgres: PostgresServer, schema: str) -> Generator[psycopg.Connection[Any], None, None]:
    """A connection that finds the tables of the saver, for somebody who changes them by hand."""
    with postgres.connect(options=f"-c search_path={schema}") as connection:
        yield connection


def a_call(key: str = "k", version: int = 1, text: str = "{}") -> CallRow:
    return CallRow(key=key, version=version, state="running", text=text, changed_at=1.5)


def a_checkpoint(number: int, thread_id: str = "t") -> CheckpointRow:
    return CheckpointRow(
        thread_id=thread_id,
        namespace="",
        id=f"c{number}",
        number=number,
        parent=f"c{number - 1}" if number > 1 else None,
        body="{}",
        created_at=1.5,
        channels={"m": number},
    )


def put(saver: PostgresSaver, number: int, thread_id: str = "t", text: str = "[]") -> None:
    """Add the next checkpoint, which changes one key."""
    change = ChannelRow(key="m", version=number, previous=number - 1 or None, text=text)
    saver.put(a_checkpoint(number, thread_id), [change], after=f"c{number - 1}" if number > 1 else None)


def wait_until(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.timeout(300)
def test_it_keeps_what_all_savers_promise(postgres: PostgresServer) -> None:
    schemas: dict[Checkpointer, str] = {}

    def make(schema: str | None = None) -> PostgresSaver:
        schema = schema or postgres.new_schema()
        saver = PostgresSaver(postgres.conninfo(), schema=schema)
        schemas[saver] = schema
        return saver

    check_checkpointer(make, reopen=lambda saver: make(schemas[saver]))


@pytest.mark.timeout(300)
def test_it_keeps_what_all_savers_promise_on_a_pool(postgres: PostgresServer) -> None:
    with ConnectionPool(postgres.conninfo(), min_size=1, max_size=2, open=True) as pool:
        check_checkpointer(lambda: PostgresSaver(pool=pool, schema=postgres.new_schema()))


# What a host gives


def test_without_the_driver_the_extra_is_named(tmp_path: Path) -> None:
    program = """
import sys
sys.modules["psycopg"] = None
import surehand
assert "PostgresSaver" in dir(surehand)
try:
    surehand.PostgresSaver("")
except surehand.MissingExtraError as error:
    print(error)
"""
    done = run_python("-c", program, cwd=tmp_path)
    assert "pip install 'surehand[postgres]'" in done.stdout, done.stderr


def test_to_name_the_saver_imports_no_driver(tmp_path: Path) -> None:
    program = "import sys; from surehand import PostgresSaver; print('psycopg' in sys.modules)"
    assert run_python("-c", program, cwd=tmp_path).stdout == "False\n"


@pytest.mark.parametrize(
    "conninfo",
    [
        PASSWORD,
        f"host=db password={PASSWORD} oops",
        f"postgresql://user:x@host/db?secret={PASSWORD}",
        f"pasword={PASSWORD}",
        f"password={PASSWORD}\0",
        PASSWORD.encode(),
        7,
    ],
)
def test_a_conninfo_that_is_none_is_refused_without_being_repeated(conninfo: Any) -> None:
    with pytest.raises(OptionError, match="conninfo=Ellipsis is not usable: expected a text such as") as caught:
        PostgresSaver(conninfo)
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "either conninfo= or pool="),
        ({"conninfo": "", "pool": 1}, "either conninfo= or pool="),
        ({"pool": "postgresql://"}, "a psycopg_pool.ConnectionPool"),
        ({"conninfo": "", "schema": ""}, "a name of 1 to 63 bytes"),
        ({"conninfo": "", "schema": "é" * 32}, "a name of 1 to 63 bytes"),
        ({"conninfo": "", "schema": "pg_runs"}, "does not begin with 'pg_'"),
        ({"conninfo": "", "schema": "a\0b"}, "a name of 1 to 63 bytes"),
        ({"conninfo": "", "schema": "\ud800"}, "a name of 1 to 63 bytes"),
        ({"conninfo": "", "timeout": -1}, "seconds from 0 to a day"),
        ({"conninfo": "", "timeout": float("nan")}, "seconds from 0 to a day"),
        ({"conninfo": "", "timeout": None}, "seconds from 0 to a day"),
    ],
)
def test_an_option_that_cannot_be_meant_is_refused(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(OptionError, match=expected):
        PostgresSaver(**options)


def test_a_pool_of_asyncio_is_refused(postgres: PostgresServer) -> None:
    pool = AsyncConnectionPool(postgres.conninfo(), open=False)
    with pytest.raises(OptionError, match="not the async one"):
        PostgresSaver(pool=pool)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] - the mistake


# Tables


def test_setup_makes_the_tables_and_may_be_repeated(
    saver: PostgresSaver, by_hand: psycopg.Connection[Any], schema: str
) -> None:
    saver.setup()
    saver.setup()
    asyncio.run(saver.asetup())
    found = by_hand.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (schema,)).fetchall()
    assert {name for (name,) in found} == {"layout", "checkpoints", "versions", "writes", "calls", "marks"}


def test_many_savers_that_start_at_once_make_one_set_of_tables(postgres: PostgresServer, schema: str) -> None:
    start = threading.Barrier(8)

    def begin(number: int) -> bool:
        with PostgresSaver(postgres.conninfo(), schema=schema) as saver:
            start.wait()
            return saver.save_call("t", a_call(str(number)), after=None)

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(begin, range(8)))


@pytest.mark.parametrize("name", ['we"ird', "%s {} \\", "Ünïcode", "select"])
def test_a_schema_may_have_any_name(postgres: PostgresServer, name: str) -> None:
    with PostgresSaver(postgres.conninfo(), schema=name) as saver:
        put(saver, 1)
        assert saver.threads() == ["t"]


def test_savers_of_two_schemas_know_nothing_of_each_other(postgres: PostgresServer, saver: PostgresSaver) -> None:
    put(saver, 1)
    with PostgresSaver(postgres.conninfo(), schema=postgres.new_schema()) as other:
        assert other.threads() == []


def test_tables_that_were_dropped_are_told_and_made_again_by_setup(
    saver: PostgresSaver, by_hand: psycopg.Connection[Any], schema: str
) -> None:
    put(saver, 1)
    by_hand.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))
    with pytest.raises(StoreError, match=r"the tables are not there\. Make them: call setup\(\)"):
        saver.threads()
    saver.setup()
    put(saver, 1)


def test_tables_of_a_later_version_are_left_alone(
    postgres: PostgresServer, saver: PostgresSaver, by_hand: psycopg.Connection[Any], schema: str
) -> None:
    put(saver, 1)
    by_hand.execute("UPDATE layout SET version = 2")
    with (
        PostgresSaver(postgres.conninfo(), schema=schema) as later,
        pytest.raises(CheckpointError, match="are of version 2; this version of Surehand reads version 1"),
    ):
        put(later, 2)


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TABLE checkpoints (thread_id text, checkpoint jsonb)",
        "CREATE TABLE layout (version integer)",
        "CREATE TABLE calls (at timestamptz); CREATE TABLE layout (version text)",
    ],
)
def test_tables_of_something_else_are_left_alone(postgres: PostgresServer, schema: str, change: str) -> None:
    with postgres.connect() as connection:
        connection.execute(f"CREATE SCHEMA {schema}; SET search_path = {schema}; {change}".encode())
    with (
        PostgresSaver(postgres.conninfo(), schema=schema) as saver,
        pytest.raises(CheckpointError, match=r"Give the saver a schema of its own|are of version none"),
    ):
        put(saver, 1)


def test_a_schema_that_holds_other_tables_may_be_shared(postgres: PostgresServer, schema: str) -> None:
    with postgres.connect() as connection:
        connection.execute(f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.customers (id int)".encode())
    with PostgresSaver(postgres.conninfo(), schema=schema) as saver:
        put(saver, 1)


def test_a_database_of_another_encoding_is_refused(postgres: PostgresServer) -> None:
    with postgres.connect() as connection:
        connection.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    with (
        PostgresSaver(postgres.conninfo(dbname="latin")) as saver,
        pytest.raises(CheckpointError, match="the database has the encoding LATIN1"),
    ):
        saver.setup()


# Texts


@pytest.mark.parametrize("value", ["nul \0", "half \ud800", "marks \x01\\u0000", "'; DROP TABLE calls; --%s", "🦀"])
def test_whatever_a_model_writes_comes_back_as_the_codec_writes_it(saver: PostgresSaver, value: str) -> None:
    codec = Codec()
    put(saver, 1, text=codec.dumps({value: [value]}, where="key 'm'"))
    loaded = saver.load("t")
    assert loaded is not None
    assert codec.loads(loaded.channels["m"][0], where="key 'm'") == {value: [value]}


@pytest.mark.parametrize("name", ["nul \0", "half \ud800"])
def test_a_name_that_no_saver_stores_is_refused(saver: PostgresSaver, name: str) -> None:
    with pytest.raises(CheckpointError, match="NUL or half a surrogate pair"):
        put(saver, 1, thread_id=name)


def test_fifty_megabytes_go_in_and_come_out(saver: PostgresSaver) -> None:
    text = f'"{os.urandom(25_000_000).hex()}"'
    put(saver, 1, text=text)
    loaded = saver.load("t")
    assert loaded is not None
    assert loaded.channels["m"] == (text,)


def test_a_name_that_is_too_long_for_an_index_is_told(saver: PostgresSaver) -> None:
    with pytest.raises(CheckpointError, match="too long for PostgreSQL"):
        saver.save_call("t", a_call(os.urandom(5_000).hex()), after=None)
    put(saver, 1)


def test_names_are_compared_by_their_characters_alone(saver: PostgresSaver) -> None:
    names = ["b", "A", "a ", "a", "ä", "a\u0308", "Z", "\U0001f980", "\uffff"]
    for name in names:
        put(saver, 1, thread_id=name)
    assert saver.threads() == sorted(names)


# Rows that somebody changed


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE checkpoints SET channels = 'no JSON'",
        "UPDATE checkpoints SET channels = '[1]'",
        'UPDATE checkpoints SET channels = \'{"m": "1"}\'',
        "UPDATE checkpoints SET channels = '{\"m\": 1e400}'",
        "UPDATE checkpoints SET channels = '{\"m\": 99}'",
        "UPDATE checkpoints SET channels = repeat('[', 1000000)",
        "UPDATE checkpoints SET created_at = 'NaN'",
        "UPDATE checkpoints SET created_at = 'Infinity'",
        "UPDATE checkpoints SET number = -number",
        "DELETE FROM versions WHERE version = 2",
        "UPDATE versions SET previous = version",
        "UPDATE versions SET previous = 3 WHERE version = 1",
        "UPDATE versions SET previous = -1 WHERE version = 1",
        "INSERT INTO writes VALUES ('t', '', 'c3', 'a', 'k', -1, '')",
        "ALTER TABLE checkpoints DROP COLUMN body",
        "ALTER TABLE versions ALTER COLUMN text TYPE integer USING 1",
        "ALTER TABLE checkpoints ALTER COLUMN channels TYPE jsonb USING channels::jsonb",
        "ALTER TABLE checkpoints ALTER COLUMN created_at TYPE text",
    ],
)
def test_rows_that_no_saver_wrote_are_an_error(
    saver: PostgresSaver, by_hand: psycopg.Connection[Any], change: Any
) -> None:
    for number in (1, 2, 3):
        put(saver, number)
    by_hand.execute(change)
    with pytest.raises(CheckpointError) as caught:
        saver.load("t")
    assert caught.value.remedy


def test_a_call_in_a_state_that_there_is_not_is_an_error(
    saver: PostgresSaver, by_hand: psycopg.Connection[Any]
) -> None:
    saver.save_call("t", a_call(), after=None)
    by_hand.execute("UPDATE calls SET state = '__import__(''os'')'")
    with pytest.raises(CheckpointError, match="its state is"):
        saver.calls("t")


def test_a_row_that_is_damaged_hinders_nobody_who_asks_at_the_same_time(
    saver: PostgresSaver, by_hand: psycopg.Connection[Any]
) -> None:
    put(saver, 1)
    by_hand.execute("UPDATE checkpoints SET channels = ''")

    async def ask_both() -> list[Any]:
        asked = [saver.aload("t"), saver.asave_call("t", a_call(), after=None), saver.aload("other")]
        return list(await asyncio.gather(*asked, return_exceptions=True))

    damaged, is_saved, nothing = asyncio.run(ask_both())
    assert isinstance(damaged, CheckpointError)
    assert (is_saved, nothing) == (True, None)


# Writers side by side


def test_of_many_that_put_one_number_one_wins(postgres: PostgresServer, schema: str) -> None:
    savers = [PostgresSaver(postgres.conninfo(), schema=schema) for _ in range(4)]
    savers[0].setup()

    def race(saver: PostgresSaver) -> bool:
        try:
            put(saver, 1)
        except CheckpointConflict:
            return False
        return True

    with ThreadPoolExecutor(4) as threads:
        assert sorted(threads.map(race, savers)) == [False, False, False, True]
    for saver in savers:
        saver.close()


@contextmanager
def locked(connection: psycopg.Connection[Any], table: str) -> Generator[None, None, None]:
    """Make whoever writes into a table wait."""
    with connection.transaction():
        connection.execute(f"LOCK TABLE {table} IN EXCLUSIVE MODE".encode())
        yield


def waiting(connection: psycopg.Connection[Any]) -> int:
    """How many savers' connections wait for a lock."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'surehand' AND wait_event_type = 'Lock'"
    return int(connection.execute(query).fetchall()[0][0])


def test_who_waits_for_another_program_for_too_long_is_told(
    postgres: PostgresServer, by_hand: psycopg.Connection[Any], schema: str
) -> None:
    with PostgresSaver(postgres.conninfo(), schema=schema, timeout=0.1) as saver:
        put(saver, 1)
        with locked(by_hand, "calls"), pytest.raises(StoreError, match="another program has been writing"):
            saver.save_call("t", a_call(), after=None)
        assert saver.save_call("t", a_call(), after=None)


def test_groups_that_hold_the_same_threads_in_another_order_do_not_wait_in_a_circle(
    postgres: PostgresServer, schema: str
) -> None:
    names = [f"t{number}" for number in range(20)]
    savers = [PostgresSaver(postgres.conninfo(), schema=schema) for _ in range(2)]
    savers[0].setup()

    async def save_all(saver: PostgresSaver, thread_ids: list[str], key: str) -> list[bool]:
        return await asyncio.gather(*(saver.asave_call(name, a_call(key), after=None) for name in thread_ids))

    def run(number: int) -> bool:
        order = names if number else names[::-1]
        return all(all(asyncio.run(save_all(savers[number], order, f"{number}.{turn}"))) for turn in range(20))

    begun = time.monotonic()
    with ThreadPoolExecutor(2) as threads:
        assert all(threads.map(run, range(2)))
    assert time.monotonic() - begun < 30  # the server looks for circles after a second, each time
    for saver in savers:
        saver.close()


def test_a_run_that_is_loaded_while_others_write_is_of_one_moment(postgres: PostgresServer, schema: str) -> None:
    with (
        PostgresSaver(postgres.conninfo(), schema=schema) as writer,
        PostgresSaver(postgres.conninfo(), schema=schema) as reader,
    ):
        put(writer, 1)

        def write() -> None:
            for number in range(2, 150):
                put(writer, number)
                writer.prune("t", keep=1)

        with ThreadPoolExecutor(1) as threads:
            written = threads.submit(write)
            while not written.done():
                assert reader.load("t") is not None
            written.result()


@pytest.mark.parametrize("before", [0, 1])
def test_a_commit_that_arrives_when_it_was_given_up_does_not_hold(
    postgres: PostgresServer, saver: PostgresSaver, by_hand: psycopg.Connection[Any], schema: str, before: int
) -> None:
    saver.setup()
    marks = Marks()
    with postgres.connect(options=f"-c search_path={schema}") as late:
        for _ in range(before):
            late.execute(marks.commit())
            marks.note_commit()
        late.execute("BEGIN; INSERT INTO calls VALUES ('t', 'k', 1, 'running', '', 1.5)")
        by_hand.execute(marks.prevent())
        with pytest.raises(psycopg.errors.DivisionByZero):
            late.execute(marks.commit())
    (number,) = by_hand.execute(marks.found()).fetchall()[0]
    assert marks.settle(number) is False
    assert saver.calls("t") == []


def test_a_commit_that_holds_cannot_be_given_up(saver: PostgresSaver, by_hand: psycopg.Connection[Any]) -> None:
    saver.setup()
    marks = Marks()
    for _ in range(2):
        by_hand.execute(marks.commit())
        by_hand.execute(marks.prevent())
        (number,) = by_hand.execute(marks.found()).fetchall()[0]
        assert marks.settle(number) is True


def test_marks_of_savers_that_are_long_gone_are_forgotten(
    postgres: PostgresServer, saver: PostgresSaver, by_hand: psycopg.Connection[Any], schema: str
) -> None:
    saver.setup()
    by_hand.execute("INSERT INTO marks VALUES ('old', 7, now() - interval '31 days'), ('new', 7, now())")
    with PostgresSaver(postgres.conninfo(), schema=schema) as other:
        put(other, 1)
    names = {name for (name,) in by_hand.execute("SELECT saver FROM marks")}
    assert names & {"old", "new"} == {"new"}


# Loops and threads


def test_loops_in_several_threads_share_a_saver(saver: PostgresSaver) -> None:
    async def save(thread: int) -> list[bool]:
        calls = (saver.asave_call("t", a_call(f"{thread}.{number}"), after=None) for number in range(25))
        return await asyncio.gather(*calls)

    def run(thread: int) -> bool:
        return all(asyncio.run(save(thread)))

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(run, range(4)))
    assert len(saver.calls("t")) == 100


def test_what_is_awaited_neither_blocks_the_loop_nor_takes_a_thread(
    saver: PostgresSaver, by_hand: psycopg.Connection[Any]
) -> None:
    saver.setup()

    async def main() -> set[threading.Thread]:
        before = set(threading.enumerate())
        saving = [asyncio.ensure_future(saver.asave_call("t", a_call(str(number)), after=None)) for number in range(50)]
        with locked(by_hand, "calls"):
            while not waiting(by_hand):  # noqa: ASYNC110 - it is a server that has to come so far
                await asyncio.sleep(0.01)
            assert not any(task.done() for task in saving)
            more = set(threading.enumerate()) - before
        assert all(await asyncio.gather(*saving))
        return more

    assert asyncio.run(main()) == set()


_FORK = """
import os, sys
from surehand import PostgresSaver, StoreError
from surehand.checkpoints import CallRow

def save(saver, key):
    return saver.save_call("t", CallRow(key=key, version=1, state="done", text="", changed_at=1.0), after=None)

saver = PostgresSaver(sys.argv[1], schema=sys.argv[2])
assert save(saver, "parent")
if (child := os.fork()) == 0:
    try:
        save(saver, "inherited")
    except StoreError as error:
        assert "of which this one is a fork" in str(error), error
        with PostgresSaver(sys.argv[1], schema=sys.argv[2]) as own:
            assert save(own, "child")
        del saver, error
        END
    os._exit(1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert save(saver, "parent again")
print([call.key for call in saver.calls("t")])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("end", ["os._exit(0)", "sys.exit()"])
def test_a_fork_opens_a_saver_of_its_own_and_leaves_that_of_its_parent_alone(
    postgres: PostgresServer, schema: str, end: str, tmp_path: Path
) -> None:
    program = _FORK.replace("END", end)
    done = run_python("-W", "error", "-W", "ignore:.*fork", "-c", program, postgres.conninfo(), schema, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("['parent', 'child', 'parent again']\n", "")


# The end


def connections(connection: psycopg.Connection[Any], schema: str) -> int:
    """How many connections use a schema's name as that of their program."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"
    return int(connection.execute(query, (schema,)).fetchall()[0][0])


def test_closing_gives_the_connection_back_and_may_be_repeated(
    postgres: PostgresServer, by_hand: psycopg.Connection[Any], schema: str
) -> None:
    saver = PostgresSaver(postgres.conninfo(application_name=schema), schema=schema)
    put(saver, 1)
    assert connections(by_hand, schema) == 1
    saver.close()
    saver.close()
    wait_until(lambda: connections(by_hand, schema) == 0)


def test_a_closed_saver_says_so(saver: PostgresSaver) -> None:
    saver.close()
    with pytest.raises(StoreError, match=r"The saver of PostgreSQL's schema 'runs_\d+' is closed"):
        saver.setup()


def test_a_saver_that_nobody_holds_any_more_gives_its_connection_back(
    postgres: PostgresServer, by_hand: psycopg.Connection[Any], schema: str
) -> None:
    saver = PostgresSaver(postgres.conninfo(application_name=schema), schema=schema)
    put(saver, 1)
    del saver
    gc.collect()
    wait_until(lambda: connections(by_hand, schema) == 0)


def test_a_program_ends_that_closed_nothing(postgres: PostgresServer, schema: str, tmp_path: Path) -> None:
    program = """
import sys
from surehand import PostgresSaver
saver = PostgresSaver(sys.argv[1], schema=sys.argv[2])
print(saver.threads())
"""
    done = run_python("-W", "error", "-c", program, postgres.conninfo(), schema, cwd=tmp_path)
    assert (done.stdout, done.stderr, done.returncode) == ("[]\n", "", 0)


# A pool of the host's


@contextmanager
def host_pool(postgres: PostgresServer, **options: Any) -> Generator[ConnectionPool[Any], None, None]:
    with ConnectionPool(postgres.conninfo(), min_size=1, max_size=2, open=True, **options) as pool:
        yield pool


def test_connections_of_a_pool_come_back_as_they_were(postgres: PostgresServer, schema: str) -> None:
    with host_pool(postgres, kwargs={"row_factory": dict_row, "cursor_factory": psycopg.RawCursor}) as pool:
        with PostgresSaver(pool=pool, schema=schema) as saver:
            put(saver, 1)
            assert saver.load("t") is not None
            with pool.connection() as connection:
                assert not connection.autocommit
                assert connection.execute("SHOW search_path").fetchone() == {"search_path": '"$user", public'}
        with pool.connection() as connection:  # which is still open
            assert connection.execute("SELECT $1::int AS n", (1,)).fetchone() == {"n": 1}


def test_a_pool_is_used_for_a_transaction_at_a_time(postgres: PostgresServer, schema: str) -> None:
    with host_pool(postgres) as pool, PostgresSaver(pool=pool, schema=schema) as saver:
        put(saver, 1)
        with pool.connection(), pool.connection(timeout=1):
            pass


def test_a_pool_without_a_free_connection_is_told(postgres: PostgresServer, schema: str) -> None:
    with host_pool(postgres) as pool, PostgresSaver(pool=pool, schema=schema, timeout=0.1) as saver:
        put(saver, 1)
        with pool.connection(), pool.connection(), pytest.raises(StoreError, match="the pool gave no connection"):
            put(saver, 2)
        put(saver, 2)


def test_a_pool_that_was_closed_is_told(postgres: PostgresServer, schema: str) -> None:
    with host_pool(postgres) as pool:
        saver = PostgresSaver(pool=pool, schema=schema)
        put(saver, 1)
    with pytest.raises(StoreError, match="its pool is closed"):
        put(saver, 2)
    saver.close()


def test_temporary_tables_of_the_hosts_are_not_taken_for_ours(postgres: PostgresServer, schema: str) -> None:
    def shadow(connection: psycopg.Connection[Any]) -> None:
        connection.execute("CREATE TEMPORARY TABLE calls (nothing int)")
        connection.commit()

    with host_pool(postgres, configure=shadow) as pool, PostgresSaver(pool=pool, schema=schema) as saver:
        assert saver.save_call("t", a_call(), after=None)


@pytest.mark.parametrize("isolation", list(psycopg.IsolationLevel))
def test_the_isolation_that_a_host_prefers_does_not_matter(
    postgres: PostgresServer, schema: str, isolation: psycopg.IsolationLevel
) -> None:
    def prefer(connection: psycopg.Connection[Any]) -> None:
        connection.isolation_level = isolation

    with host_pool(postgres, configure=prefer) as pool, PostgresSaver(pool=pool, schema=schema) as saver:
        put(saver, 1)
        put(saver, 2)
        assert saver.newest("t") is not None


def test_a_commit_is_on_the_disk_also_where_the_hosts_need_not_be(
    postgres: PostgresServer, by_hand: psycopg.Connection[Any], schema: str
) -> None:
    conninfo = postgres.conninfo(options="-c synchronous_commit=off")
    with PostgresSaver(conninfo, schema=schema) as saver:
        saver.setup()
        by_hand.execute("""
            CREATE TABLE seen (value text);
            CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$;
            CREATE TRIGGER see BEFORE INSERT ON calls FOR EACH ROW EXECUTE FUNCTION see();
        """)
        saver.save_call("t", a_call(), after=None)
        assert by_hand.execute("SELECT value FROM seen").fetchall() == [("on",)]


# What is kept


def test_pruning_all_threads_counts_and_keeps_what_is_needed(
    saver: PostgresSaver, by_hand: psycopg.Connection[Any]
) -> None:
    for thread_id in ("a", "b"):
        for number in range(1, 6):
            put(saver, number, thread_id)
            saver.put_writes(thread_id, "", f"c{number}", [WriteRow(task="x", kind="k", number=0, text="")])
    assert saver.prune(keep=2) == 6
    assert by_hand.execute("SELECT count(*) FROM writes").fetchall() == [(4,)]
    assert by_hand.execute("SELECT count(*) FROM versions").fetchall() == [(10,)]  # a chain of changes stays whole


def test_a_thread_that_is_deleted_leaves_nothing(saver: PostgresSaver, by_hand: psycopg.Connection[Any]) -> None:
    put(saver, 1)
    saver.put_writes("t", "", "c1", [WriteRow(task="x", kind="k", number=0, text="")])
    saver.save_call("t", a_call(), after=None)
    saver.delete_thread("t")
    for table in ("checkpoints", "versions", "writes", "calls"):
        assert by_hand.execute(f"SELECT count(*) FROM {table}".encode()).fetchall() == [(0,)]
