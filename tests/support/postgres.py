"""A PostgreSQL server of the tests' own: made in a temporary folder, reached by a socket in it, gone afterwards.

A shell stands by and waits for the end of the test process, however that ends: it then stops the server and removes
the folder. The server keeps no time-saving settings: ``fsync`` and ``synchronous_commit`` are on, as in production.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import IO, Any, Final, Literal

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

__all__ = ["PASSWORD", "PostgresServer", "postgres_server", "require_postgres"]

PASSWORD: Final = "do-not-tell-0451"
"""Of the one user of the server; no message may hold it."""
_UNPRIVILEGED: Final = ("postgres", "nobody")
"""Whom the server runs as where the tests run as root, which PostgreSQL refuses."""
_WHEN_LEFT_ALONE: Final = 'cat >/dev/null; "$1/pg_ctl" -D "$2/data" -m immediate -w stop >/dev/null 2>&1; rm -rf "$2"'
"""``cat`` ends when the test process does: it holds the only other end of the pipe."""


def _binaries() -> Path | None:
    """Where the programs of the newest PostgreSQL are that is installed; Debian puts them on no path."""
    found = shutil.which("initdb")
    if found is not None and shutil.which("pg_ctl", path=str(Path(found).parent)):
        return Path(found).parent
    places = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(places, key=lambda place: float(place.parent.name), default=None)


def require_postgres() -> Path:
    """Where PostgreSQL's programs are; without them the test is skipped, but where a change is judged it fails."""
    found = _binaries()
    if found is not None:
        return found
    reason = "PostgreSQL is not installed: there is no initdb (on Debian: apt-get install postgresql)"
    if "CI" in os.environ:
        pytest.fail(reason)
    pytest.skip(reason)


class PostgresServer:
    """A server that can be stopped and started again; it keeps what was committed."""

    def __init__(self, folder: Path, binaries: Path) -> None:
        self._folder = folder
        self._binaries = binaries
        self._names = count(1)

    @property
    def socket_folder(self) -> Path:
        """Where the server's socket is: what PostgreSQL takes for a host."""
        return self._folder

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        settings = f"-c listen_addresses='' -c unix_socket_directories='{self._folder}'"
        if sys.platform == "linux":  # after a crash one call instead of one for each file, which takes a second or two
            settings += " -c recovery_init_sync_method=syncfs"
        self._control("-l", str(self._folder / "log"), "-o", settings, "start")

    def stop(self, mode: Literal["fast", "immediate"] = "immediate") -> None:
        """Stop it; ``immediate`` is how it ends in a crash."""
        self._control("-m", mode, "stop")

    def restart(self) -> None:
        """Crash it, and start it again."""
        self.stop()
        self.start()

    @contextmanager
    def as_standby(self) -> Generator[None, None, None]:
        """Make it one that follows another, and may only be read; in the end it is promoted."""
        self.stop("fast")
        (self._folder / "data/standby.signal").touch()
        self.start()
        yield
        self._control("promote")

    def conninfo(self, **changes: Any) -> str:
        """How to reach it, as its owner."""
        place = {"host": str(self._folder), "user": "owner", "password": PASSWORD, "dbname": "postgres"}
        return make_conninfo(**{**place, **changes})

    def connect(self, **changes: Any) -> psycopg.Connection[Any]:
        """A connection of the tests' own, which commits each statement."""
        return psycopg.connect(self.conninfo(**changes), autocommit=True)

    def make_database(self) -> str:
        """Make an empty database; gives its conninfo."""
        name = f"db{next(self._names)}"
        with self.connect() as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self.conninfo(dbname=name)

    def new_schema(self) -> str:
        """A name that no other test has."""
        return f"runs_{next(self._names)}"

    def _control(self, *arguments: str) -> None:
        data = str(self._folder / "data")
        _run_unprivileged([str(self._binaries / "pg_ctl"), "-D", data, "-w", "-t", "30", *arguments])


def _run_unprivileged(command: Sequence[str]) -> None:
    """Run a command as somebody whom PostgreSQL accepts."""
    # Its output goes to a file: a server inherits what it is given, and would keep a pipe open for ever.
    with tempfile.TemporaryFile() as output:
        code = _start_unprivileged(command, stdin=subprocess.DEVNULL, output=output).wait()
        output.seek(0)
        assert code == 0, output.read().decode(errors="replace")


def _start_unprivileged(
    command: Sequence[str], *, stdin: int, output: IO[bytes] | None = None
) -> subprocess.Popen[bytes]:
    user = _user()
    return subprocess.Popen(
        command,
        stdin=stdin,
        stdout=output,
        stderr=output,
        cwd="/",
        start_new_session=True,  # Ctrl-C is for the tests; what they leave behind is stopped all the same
        user=None if user is None else user.pw_uid,
        group=None if user is None else user.pw_gid,
        extra_groups=None if user is None else [],
    )


def _user() -> pwd.struct_passwd | None:
    """Whom the server has to run as; None for whoever runs the tests."""
    if os.geteuid() != 0:
        return None
    users = {user.pw_name: user for user in pwd.getpwall()}
    return next(users[name] for name in _UNPRIVILEGED if name in users)


@contextmanager
def postgres_server() -> Generator[PostgresServer, None, None]:
    """Make a server and run it for a while."""
    binaries = require_postgres()
    folder = Path(tempfile.mkdtemp(prefix="surehand-pg-"))
    user = _user()
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)
    command = ["/bin/sh", "-c", _WHEN_LEFT_ALONE, "sh", str(binaries), str(folder)]
    watch = _start_unprivileged(command, stdin=subprocess.PIPE)
    try:
        _make_cluster(folder, binaries)
        server = PostgresServer(folder, binaries)
        server.start()
        yield server
    finally:
        assert watch.stdin is not None
        watch.stdin.close()
        watch.wait()


def _make_cluster(folder: Path, binaries: Path) -> None:
    password = folder / "password"
    password.write_text(PASSWORD, encoding="utf-8")
    password.chmod(0o644)
    command = [str(binaries / "initdb"), "-D", str(folder / "data"), "-U", "owner", "--pwfile", str(password)]
    _run_unprivileged([*command, "--auth=scram-sha-256", "--no-sync", "--encoding=UTF8", "--locale=C"])
