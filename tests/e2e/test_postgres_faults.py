"""PostgreSQL that is down, goes away, lets nobody in or loses its answers; and many programs that use it at a time."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg_pool import ConnectionPool

from support.liveness import soon
from support.pages import ROOT
from support.postgres import PASSWORD, PostgresServer, postgres_server
from support.postgres_proxy import Cut, PostgresProxy, postgres_proxy
from surehand.checkpoints import CallRow, ChannelRow, CheckpointRow, WriteRow
from surehand.errors import CheckpointConflict, StoreError
from surehand.integrations.postgres import PostgresSaver


@pytest.fixture(scope="module")
def server() -> Generator[PostgresServer, None, None]:
    """A server that these tests may stop, as long as they start it again."""
    with postgres_server() as started:
        yield started


@pytest.fixture
def schema(server: PostgresServer) -> str:
    return server.new_schema()


@pytest.fixture
def saver(server: PostgresServer, schema: str) -> Generator[PostgresSaver, None, None]:
    with PostgresSaver(server.conninfo(), schema=schema) as opened:
        opened.setup()
        yield opened


def a_call(key: str, version: int = 1) -> CallRow:
    return CallRow(key=key, version=version, state="running", text="{}", changed_at=1.5)


def a_checkpoint(number: int) -> CheckpointRow:
    before = f"c{number - 1}" if number > 1 else None
    return CheckpointRow(
        thread_id="t",
        namespace="",
        id=f"c{number}",
        number=number,
        parent=before,
        body="{}",
        created_at=1.5,
        channels={"m": number},
    )


def put(saver: PostgresSaver, number: int) -> None:
    row = a_checkpoint(number)
    saver.put(row, [ChannelRow(key="m", version=number, previous=number - 1 or None, text="[]")], after=row.parent)


def keys(saver: PostgresSaver) -> list[str]:
    return [call.key for call in saver.calls("t")]


@contextmanager
def told(match: str, *secrets: str) -> Generator[None, None, None]:
    """Expect a StoreError of these words, without the password and the address."""
    with pytest.raises(StoreError, match=match) as caught:
        yield
    assert caught.value.remedy
    assert [
        secret for secret in (PASSWORD, "owner", "surehand-pg-", "host=", *secrets) if secret in str(caught.value)
    ] == []


# It cannot be reached, or lets nobody in


def test_a_server_that_is_down_is_told_and_used_when_it_is_up(server: PostgresServer, schema: str) -> None:
    with PostgresSaver(server.conninfo(), schema=schema, timeout=0.1) as saver:
        server.stop()
        try:
            with told("could not be used: nobody listens at its address. Look whether the server runs"):
                saver.threads()
        finally:
            server.start()
        assert saver.threads() == []


def test_a_server_that_comes_up_in_time_is_waited_for(server: PostgresServer, schema: str) -> None:
    with PostgresSaver(server.conninfo(), schema=schema) as saver, ThreadPoolExecutor(1) as threads:
        server.stop()
        found = threads.submit(saver.threads)
        server.start()
        assert found.result() == []


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"password": "not it"}, "the password was not accepted. Correct the user or the password"),
        ({"password": None}, "the password was not accepted"),
        ({"user": "stranger"}, "the password was not accepted"),
        ({"dbname": "no_such_place"}, "there is no such database. Create it"),
        ({"sslmode": "verify-full", "host": "127.0.0.1", "port": 1}, "nobody listens at its address"),
        ({"host": "/no/such/folder"}, "nobody listens at its address"),
        ({"host": "no.such.host.invalid"}, "its host is not known"),
        ({"sslmode": "none_such"}, "client and server did not agree on how to connect"),
        ({"options": "-c no.such-thing"}, "the connection failed"),
    ],
)
def test_who_is_not_let_in_is_told_why(server: PostgresServer, wrong: dict[str, Any], why: str) -> None:
    secrets = [str(value) for value in wrong.values() if len(str(value)) > 4]
    with (
        PostgresSaver(server.conninfo(**wrong), timeout=0.1) as saver,
        told(f"The saver of PostgreSQL's schema 'surehand' could not be used: {why}", *secrets),
    ):
        saver.threads()


def test_what_will_not_pass_by_itself_is_not_waited_for(server: PostgresServer) -> None:
    begun = time.monotonic()
    with PostgresSaver(server.conninfo(password="wrong"), timeout=100) as saver, told("the password was not accepted"):
        saver.threads()
    assert time.monotonic() - begun < 40


def test_a_user_who_may_only_read_reads(server: PostgresServer, saver: PostgresSaver, schema: str) -> None:
    put(saver, 1)
    with server.connect() as connection:
        connection.execute(f"""
            CREATE ROLE reader_of_{schema} LOGIN PASSWORD '{PASSWORD}';
            GRANT USAGE ON SCHEMA {schema} TO reader_of_{schema};
            GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader_of_{schema}
        """.encode())  # fmt: skip
    with PostgresSaver(server.conninfo(user=f"reader_of_{schema}"), schema=schema) as reader:
        assert reader.newest("t") == a_checkpoint(1)
        with told("the user may not do this. Grant it what it needs"):
            put(reader, 2)


def test_the_rights_that_the_documentation_grants_are_enough(
    server: PostgresServer, saver: PostgresSaver, schema: str
) -> None:
    page = (ROOT / "docs/how-to/postgres.md").read_text(encoding="utf-8")
    grants = (
        page.split("```sql\n")[1].split("```")[0].replace("surehand", schema).replace(" app;", f" app_of_{schema};")
    )
    with server.connect() as connection:
        connection.execute(f"CREATE ROLE app_of_{schema} LOGIN PASSWORD '{PASSWORD}'; {grants}".encode())
    with PostgresSaver(server.conninfo(user=f"app_of_{schema}"), schema=schema) as app:
        put(app, 1)
        put(app, 2)
        app.put_writes("t", "", "c2", [WriteRow(task="a", kind="k", number=0, text="")])
        assert app.save_call("t", a_call("k"), after=None)
        assert app.prune("t") == 1
        app.delete_thread("t")


def test_a_user_who_may_make_no_schema_is_told_what_to_grant(server: PostgresServer, schema: str) -> None:
    with server.connect() as connection:
        connection.execute(f"CREATE ROLE guest_of_{schema} LOGIN PASSWORD '{PASSWORD}'".encode())
    with (
        PostgresSaver(server.conninfo(user=f"guest_of_{schema}"), schema=schema) as saver,
        told(r"the user may not do this. Grant it what it needs: CREATE on the database for setup\(\)"),
    ):
        saver.setup()


def test_a_database_that_is_read_only_is_told(server: PostgresServer, saver: PostgresSaver, schema: str) -> None:
    put(saver, 1)
    conninfo = server.conninfo(options="-c default_transaction_read_only=on")
    with PostgresSaver(conninfo, schema=schema) as reader:
        assert reader.newest("t") == a_checkpoint(1)
        with told("nothing can be written: the server, the database or the user is read-only"):
            put(reader, 2)


def test_a_standby_is_read_and_written_as_soon_as_it_is_promoted(server: PostgresServer, saver: PostgresSaver) -> None:
    put(saver, 1)
    with server.as_standby():
        assert saver.newest("t") == a_checkpoint(1)
        begun = time.monotonic()
        with told("nothing can be written: the server, the database or the user is read-only"):
            put(saver, 2)
        assert time.monotonic() - begun < 25
    put(saver, 2)


def test_a_statement_that_the_server_stops_is_told(server: PostgresServer, saver: PostgresSaver, schema: str) -> None:
    conninfo = server.conninfo(options="-c statement_timeout=50")
    with (
        PostgresSaver(conninfo, schema=schema) as hurried,
        server.connect() as other,
        other.transaction(),
    ):
        other.execute(f"LOCK TABLE {schema}.calls IN EXCLUSIVE MODE".encode())
        with told("the server stopped a statement. Raise statement_timeout"):
            hurried.save_call("t", a_call("k"), after=None)


# It goes away


def test_a_saver_outlives_a_crash_of_its_server(server: PostgresServer, saver: PostgresSaver) -> None:
    put(saver, 1)
    server.restart()
    assert saver.newest("t") == a_checkpoint(1)
    server.restart()
    put(saver, 2)


def test_a_pool_of_dead_connections_is_no_hindrance(server: PostgresServer, schema: str) -> None:
    with ConnectionPool(server.conninfo(), min_size=5, open=True) as pool:
        pool.wait()
        with PostgresSaver(pool=pool, schema=schema) as saver:
            put(saver, 1)
            server.restart()
            put(saver, 2)
            assert len(saver.history("t")) == 2


def backend_of(connection: psycopg.Connection[Any]) -> int | None:
    """The saver's connection, once it waits for a lock."""
    found = connection.execute("SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'").fetchall()
    return found[0][0] if found else None


def test_what_was_asked_for_is_done_again_where_its_connection_was_ended(
    server: PostgresServer, saver: PostgresSaver, schema: str
) -> None:
    with ThreadPoolExecutor(1) as threads, server.connect() as holder, server.connect() as admin:
        with holder.transaction():
            holder.execute(f"LOCK TABLE {schema}.calls IN EXCLUSIVE MODE".encode())
            saving = threads.submit(saver.save_call, "t", a_call("k"), after=None)
            while (backend := backend_of(admin)) is None:
                time.sleep(0.01)
            admin.execute("SELECT pg_terminate_backend(%s)", (backend,))
        assert saving.result()
    assert keys(saver) == ["k"]


def test_nothing_that_was_promised_is_lost_in_crashes(
    server: PostgresServer, saver: PostgresSaver, schema: str
) -> None:
    is_over = threading.Event()
    all_saved: list[list[str]] = []

    def save(thread: int) -> list[str]:
        saved: list[str] = []
        all_saved.append(saved)
        with PostgresSaver(server.conninfo(), schema=schema) as own:
            while not is_over.is_set():
                key = f"{thread}.{len(saved)}"
                try:
                    assert (saver, own)[thread % 2].save_call("t", a_call(key), after=None)
                except StoreError:  # two crashes in a row
                    if saver.load_call("t", key) is None:
                        continue
                saved.append(key)
        return saved

    def has_saved(number: int) -> bool:
        return sum(map(len, all_saved)) >= number

    with ThreadPoolExecutor(4) as threads:
        saving = [threads.submit(save, thread) for thread in range(4)]
        try:
            for crash in range(1, 6):
                assert soon(partial(has_saved, 6 * crash), within=30)
                if crash < 5:
                    server.restart()
        finally:
            is_over.set()
        promised = [key for future in saving for key in future.result()]
    assert sorted(keys(saver)) == sorted(promised)


# It loses an answer


@pytest.fixture
def line(server: PostgresServer, schema: str) -> Generator[tuple[PostgresProxy, PostgresSaver], None, None]:
    """A saver, and the line to its server."""
    with (
        postgres_proxy(server.socket_folder) as (proxy, folder),
        PostgresSaver(server.conninfo(host=str(folder)), schema=schema, timeout=5) as saver,
    ):
        saver.setup()
        put(saver, 1)
        put(saver, 2)
        yield proxy, saver


CUTS: list[Cut] = ["before", "after", "half"]


@pytest.mark.parametrize("cut", CUTS)
def test_a_call_whose_commit_was_cut_off_is_saved_once(cut: Cut, line: tuple[PostgresProxy, PostgresSaver]) -> None:
    proxy, saver = line
    proxy.cut = cut
    assert saver.save_call("t", a_call("k"), after=None)
    proxy.cut = cut
    assert saver.save_call("t", a_call("k", 2), after=1)
    assert saver.calls("t") == [a_call("k", 2)]
    assert proxy.cuts == 2


@pytest.mark.parametrize("cut", CUTS)
def test_a_checkpoint_whose_commit_was_cut_off_is_no_conflict(
    cut: Cut, line: tuple[PostgresProxy, PostgresSaver]
) -> None:
    proxy, saver = line
    proxy.cut = cut
    put(saver, 3)
    assert [row.number for row in saver.history("t")] == [3, 2, 1]
    assert proxy.cuts == 1


@pytest.mark.parametrize("cut", CUTS)
def test_a_claim_whose_commit_was_cut_off_is_its_own(cut: Cut, line: tuple[PostgresProxy, PostgresSaver]) -> None:
    proxy, saver = line
    claim = [WriteRow(task="", kind="claim", number=0, text="")]
    proxy.cut = cut
    saver.put_writes("t", "", "c2", claim, is_claim=True)
    with pytest.raises(CheckpointConflict):
        saver.put_writes("t", "", "c2", claim, is_claim=True)
    assert proxy.cuts == 1


@pytest.mark.parametrize("cut", CUTS)
def test_what_was_forgotten_is_counted_once_also_where_the_commit_was_cut_off(
    cut: Cut, line: tuple[PostgresProxy, PostgresSaver]
) -> None:
    proxy, saver = line
    proxy.cut = cut
    assert saver.prune("t") == 1
    assert proxy.cuts == 1


def test_one_conflict_is_told_where_the_commit_of_a_group_was_cut_off(
    line: tuple[PostgresProxy, PostgresSaver],
) -> None:
    proxy, saver = line
    proxy.cut = "after"
    with ThreadPoolExecutor(20) as threads:
        saving = [threads.submit(saver.save_call, "t", a_call("k"), after=None) for _ in range(20)]
    assert [future.result() for future in saving].count(True) == 1
    assert proxy.cuts == 1


@pytest.mark.parametrize("cut", CUTS)
def test_a_commit_of_which_nobody_can_be_asked_is_in_doubt(server: PostgresServer, schema: str, cut: Cut) -> None:
    with (
        postgres_proxy(server.socket_folder) as (proxy, folder),
        PostgresSaver(server.conninfo(host=str(folder)), schema=schema, timeout=0.2) as saver,
    ):
        saver.setup()
        proxy.stays_down, proxy.cut = True, cut
        with told("The connection was lost in a commit, so that what was to be written may hold or not"):
            saver.save_call("t", a_call("k"), after=None)
        proxy.stays_down = False
        assert keys(saver) == (["k"] if cut == "after" else [])


# Many programs


_WRITER = """
import json, os, sys
from surehand import CheckpointConflict, PostgresSaver
from surehand.checkpoints import CallRow, ChannelRow, CheckpointRow

conninfo, schema, last = sys.argv[1], sys.argv[2], int(sys.argv[3])
me = str(os.getpid())
won = []
with PostgresSaver(conninfo, schema=schema) as saver:
    print("ready", flush=True)
    sys.stdin.readline()
    while (newest := saver.newest("t")) is None or newest.number < last:
        number, after = (1, None) if newest is None else (newest.number + 1, newest.id)
        row = CheckpointRow(
            thread_id="t", namespace="", id=f"{number:06}-{me}", number=number, parent=after, body=me, created_at=1.0,
            channels={"m": number},
        )
        change = ChannelRow(key="m", version=number, previous=number - 1 or None, text=me)
        try:
            saver.put(row, [change], after=after)
        except CheckpointConflict:
            continue
        won.append(number)
        call = CallRow(key=f"{number % 7}", version=number, state="done", text=me, changed_at=1.0)
        for thread_id in ("a", "b") if number % 2 else ("b", "a"):
            known = saver.load_call(thread_id, call.key)
            version = 1 if known is None else known.version + 1
            row = CallRow(key=call.key, version=version, state="done", text=me, changed_at=1.0)
            saver.save_call(thread_id, row, after=version - 1 or None)
        if number % 10 == 0:
            saver.prune("t", keep=100)
            saver.prune(keep=100)
            saver.delete_thread("c")
print(json.dumps(won))
"""


def start(program: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_of_programs_that_put_the_same_number_one_wins(
    server: PostgresServer, saver: PostgresSaver, schema: str
) -> None:
    programs = [start(_WRITER, server.conninfo(), schema, "100") for _ in range(3)]
    for program in programs:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
    ended = [program.communicate("go\n", timeout=40) for program in programs]
    assert [errors for _, errors in ended] == [""] * 3
    won = [number for printed, _ in ended for number in json.loads(printed)]
    assert sorted(won) == list(range(1, len(won) + 1))
    assert [row.number for row in saver.history("t")] == list(range(len(won), len(won) - len(saver.history("t")), -1))
    loaded = saver.load("t")
    assert loaded is not None
    assert list(loaded.channels["m"]) == [row.body for row in reversed(saver.history("t"))]


_KILLED = """
import sys
from surehand import PostgresSaver
from surehand.checkpoints import CallRow

saver = PostgresSaver(sys.argv[1], schema=sys.argv[2])
for number in range(100_000):
    saver.save_call("t", CallRow(key=f"{number}", version=1, state="done", text="", changed_at=1.0), after=None)
    print(number, flush=True)
"""


def test_what_a_killed_program_was_promised_is_there(server: PostgresServer, saver: PostgresSaver, schema: str) -> None:
    program = start(_KILLED, server.conninfo(), schema)
    assert program.stdout is not None
    for _ in range(200):
        program.stdout.readline()
    program.kill()
    promised = program.stdout.read()  # what was read ahead with the lines too, of which communicate knows nothing
    program.communicate()
    last = max(map(int, promised.split()), default=199)
    assert len(keys(saver)) - (last + 1) in (0, 1)  # the newest one may hold without having been told


_ABANDONED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from support.postgres import postgres_server

with postgres_server() as server:
    print(server.socket_folder, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_server_of_tests_that_are_killed_is_stopped_and_leaves_nothing(server: PostgresServer) -> None:
    program = start(_ABANDONED, str(ROOT / "tests"))
    printed, errors = program.communicate(timeout=30)
    assert errors == ""
    folder = Path(printed.strip())
    until = time.monotonic() + 20
    while folder.exists():
        assert time.monotonic() < until
        time.sleep(0.02)
    with pytest.raises(psycopg.OperationalError):
        server.connect(host=str(folder))
