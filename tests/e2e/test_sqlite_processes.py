"""A SQLite file and its processes: several at a time, those that stand still, die, fork, or lose the file."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from support.programs import run_python
from surehand import SqliteSaver, StoreError
from surehand.testing.savers.scripts import Script, call

HEAD = """
import asyncio, gc, os, resource, sys, threading, time
from surehand import SqliteSaver, StoreError, CheckpointConflict
from surehand.testing.savers.scripts import Script, call, change, write

path = sys.argv[1]

def told(act):
    try:
        return act()
    except StoreError as error:
        return f"{type(error).__name__}: {error}"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


def run(path: Path, program: str, *arguments: str) -> list[str]:
    """The lines that a program prints; it ends well, and without a word of complaint."""
    ended = run_python("-W", "error", "-c", HEAD + program, str(path), *arguments, cwd=path.parent)
    assert ended.stderr == ""
    assert ended.returncode == 0
    return ended.stdout.splitlines()


@contextmanager
def started(path: Path, program: str, *arguments: str) -> Generator[subprocess.Popen[str], None, None]:
    """A program that runs beside this one, and is killed at the end."""
    command = [sys.executable, "-c", HEAD + program, str(path), *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


HOLD = """
saver = SqliteSaver(path)
saver.save_call("t", call("k"), after=None)
print("open", flush=True)
sys.stdin.read()
"""


# One process writes at a time


HOLD_LOCK = """
saver = SqliteSaver(path)
saver.save_call("t", call("k"), after=None)
def act(connection):
    connection.execute("UPDATE surehand_calls SET text = 'committed'")
    print("inside", flush=True)
    sys.stdin.readline()
saver._committer.run(act)
print("committed", flush=True)
sys.stdin.readline()
"""


def test_a_process_that_is_killed_in_a_commit_keeps_nobody_waiting(path: Path) -> None:
    with SqliteSaver(path, timeout=0) as saver, started(path, HOLD_LOCK) as holder:
        assert line_of(holder) == "inside"
        with pytest.raises(StoreError, match="is in use by another process, which has had the lock"):
            saver.save_call("t", call("a"), after=None)
        assert saver.calls("t") == [call("k")]
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        assert saver.save_call("t", call("a"), after=None)
        assert saver.calls("t") == [call("k"), call("a")]


@pytest.mark.skipif(sys.platform == "win32", reason="no process can be made to stand still")
def test_a_process_that_stands_still_in_a_commit_is_told_to_others_who_go_on_after_it(path: Path) -> None:
    with SqliteSaver(path, timeout=0.1) as saver, started(path, HOLD_LOCK) as holder:
        assert line_of(holder) == "inside"
        holder.send_signal(signal.SIGSTOP)
        begun = time.monotonic()
        with pytest.raises(StoreError, match=r"runs.db-lock' for 0.1 seconds. Look for a process that stands still"):
            saver.save_call("t", call("a"), after=None)
        assert 0.1 <= time.monotonic() - begun < 20
        assert saver.calls("t") == [call("k")]
        holder.send_signal(signal.SIGCONT)
        assert holder.stdin is not None
        holder.stdin.write("\n")
        holder.stdin.flush()
        assert line_of(holder) == "committed"
        assert saver.save_call("t", call("a"), after=None)
        assert saver.calls("t") == [call("k", text="committed"), call("a")]


@pytest.mark.skipif(sys.platform == "win32", reason="no process can be made to stand still")
def test_a_saver_may_be_closed_while_another_process_stands_still(path: Path) -> None:
    saver = SqliteSaver(path, timeout=0.1)
    with started(path, HOLD_LOCK) as holder:
        assert line_of(holder) == "inside"
        holder.send_signal(signal.SIGSTOP)
        saver.close()
    with SqliteSaver(path) as again:
        assert again.calls("t") == [call("k")]


def test_a_killed_process_lets_the_file_go_at_once(path: Path) -> None:
    with started(path, HOLD) as holder:
        assert line_of(holder) == "open"
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        with SqliteSaver(path, timeout=0) as saver:
            assert saver.calls("t") == [call("k")]


TURNS = """
for number in range(5):
    with SqliteSaver(path, timeout=30) as saver:
        saver.save_call(sys.argv[2], call(f"{number}"), after=None)
print("done")
"""


def test_processes_that_open_one_new_file_at_a_time_take_turns(path: Path) -> None:
    programs = [started(path, TURNS, f"p{number}") for number in range(4)]
    running = [program.__enter__() for program in programs]
    assert [line_of(process) for process in running] == ["done"] * 4
    for program in programs:
        program.__exit__(None, None, None)
    with SqliteSaver(path) as saver:
        assert {name: len(saver.calls(name)) for name in saver.threads()} == {f"p{number}": 5 for number in range(4)}


# Death


WRITE_ON = """
saver = SqliteSaver(path)
script = Script(saver, sys.argv[2])
for number in range(1, 100_000):
    saver.save_call(script.thread_id, call(f"{number}"), after=None)
    script.put(change("messages", number, f'"{number}"', previous=number - 1 or None))
    print(number, flush=True)
"""


@pytest.mark.parametrize("delay", [0.0, 0.01, 0.03, 0.1])
def test_what_was_acknowledged_outlives_a_kill(path: Path, delay: float) -> None:
    with started(path, WRITE_ON, "t") as writer:
        assert line_of(writer) == "1"
        time.sleep(delay)
        writer.send_signal(signal.SIGKILL)
        assert writer.stdout is not None
        acknowledged = int((["1", *re.findall(r"(\d+)\n", writer.stdout.read())])[-1])
    with SqliteSaver(path) as saver:
        loaded = saver.load("t")
        assert loaded is not None
        assert loaded.row.number in {acknowledged, acknowledged + 1}
        assert loaded.channels["messages"] == tuple(f'"{number}"' for number in range(1, loaded.row.number + 1))
        assert len(saver.calls("t")) in {acknowledged, acknowledged + 1}


@pytest.mark.slow
def test_a_file_outlives_twenty_kills_at_any_moment(path: Path) -> None:
    for number in range(20):
        with started(path, WRITE_ON, f"t{number}") as writer:
            time.sleep(0.1 + number * 0.02)
            writer.send_signal(signal.SIGKILL)
            assert writer.stdout is not None
            acknowledged = int((["0", *re.findall(r"(\d+)\n", writer.stdout.read())])[-1])
        with SqliteSaver(path) as saver:
            assert acknowledged <= len(saver.history(f"t{number}")) <= acknowledged + 1


ENDS = {
    "returns": "",
    "is told to": "sys.exit(0)",
    "falls": "os._exit(0)",
    "is collected": "del saver; gc.collect()",
    "leaves threads at work": """
threading.Thread(target=lambda: [saver.newest("t") for _ in iter(int, 1)], daemon=True).start()
time.sleep(0.05)
""",
    "leaves an await": """
async def main():
    task = asyncio.ensure_future(saver.asave_call("t", call("late"), after=None))
    await asyncio.sleep(0)
asyncio.run(main())
""",
}


@pytest.mark.parametrize("end", ENDS)
def test_a_program_ends_without_closing_and_loses_nothing(path: Path, end: str) -> None:
    begun = time.monotonic()
    opened = """
saver = SqliteSaver(path)
saver.save_call("t", call("a"), after=None)
asyncio.run(saver.asave_call("t", call("b"), after=None))
"""
    assert run(path, opened + ENDS[end]) == []
    assert time.monotonic() - begun < 40
    with SqliteSaver(path) as saver:
        assert saver.calls("t")[:2] == [call("a"), call("b")]


def test_a_program_that_ends_leaves_one_file_in_order(path: Path) -> None:
    run(path, "saver = SqliteSaver(path); Script(saver).steps(3)")
    assert [file.name for file in path.parent.iterdir()] == ["runs.db"]


def test_code_that_runs_at_the_end_may_still_use_the_saver(path: Path) -> None:
    program = """
import atexit
atexit.register(lambda: print(saver.save_call("t", call("last"), after=None)))
saver = SqliteSaver(path)
saver.save_call("t", call("first"), after=None)
"""
    before_the_import = f"import atexit\natexit.register(lambda: print(saver.threads()))\n{HEAD}{program}"
    ended = run_python("-W", "error", "-c", before_the_import, str(path), cwd=path.parent)
    assert (ended.stdout, ended.stderr) == ("True\n['t']\n", "")
    with SqliteSaver(path) as saver:
        assert [row.key for row in saver.calls("t")] == ["first", "last"]


# Forks


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_is_told_that_it_cannot_use_the_saver(path: Path) -> None:
    program = """
saver = SqliteSaver(path)
saver.save_call("t", call("parent"), after=None)
child = os.fork()
if not child:
    print(told(lambda: saver.save_call("t", call("child"), after=None)))
    print(told(lambda: asyncio.run(saver.acalls("t"))))
    print(told(lambda: SqliteSaver(path)))
    with SqliteSaver(path + "2") as other:
        print(other.save_call("t", call("child"), after=None))
    saver.close()
    sys.exit(0)
os.waitpid(child, 0)
saver.save_call("t", call("after"), after=None)
print([row.key for row in saver.calls("t")])
"""
    used, awaited, opened, other, parent = run(path, program)
    for line in (used, awaited):
        assert re.match(
            r"StoreError: The saver of '.*' was opened in process \d+, of which this one is a fork\. ", line
        )
    assert "was open when this process was forked off, and SQLite's locks do not outlive a fork" in opened
    assert (other, parent) == ("True", "['parent', 'after']")
    with SqliteSaver(path) as saver:
        assert [row.key for row in saver.calls("t")] == ["parent", "after"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_that_lives_on_does_not_keep_the_file_from_others(path: Path) -> None:
    program = """
saver = SqliteSaver(path)
saver.save_call("t", call("k"), after=None)
child = os.fork()
if not child:
    os.close(0), os.close(1), os.close(2)
    time.sleep(30)
    os._exit(0)
print(child, flush=True)
os._exit(0)
"""
    with started(path, program) as parent:
        child = int(line_of(parent))
        parent.wait()
        try:
            with SqliteSaver(path, timeout=0) as saver:
                assert saver.calls("t") == [call("k")]
        finally:
            os.kill(child, signal.SIGKILL)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_in_the_middle_of_a_commit_does_not_keep_the_lock(path: Path) -> None:
    program = """
saver = SqliteSaver(path)
def act(connection):
    if not os.fork():
        print(os.getpid(), flush=True)  # said by the child: what a fork has to close is closed by then
        os.close(0), os.close(1), os.close(2)
        time.sleep(30)
    os._exit(0)
saver._committer.run(act)
"""
    with started(path, program) as parent:
        child = int(line_of(parent))
        parent.wait()
        try:
            with SqliteSaver(path, timeout=0) as saver:
                assert saver.save_call("t", call("k"), after=None)
        finally:
            os.kill(child, signal.SIGKILL)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_file_that_was_closed_before_the_fork_may_be_opened_in_it(path: Path) -> None:
    program = """
with SqliteSaver(path) as saver:
    saver.save_call("t", call("parent"), after=None)
child = os.fork()
if not child:
    with SqliteSaver(path) as saver:
        saver.save_call("t", call("child"), after=None)
    sys.exit(0)
os.waitpid(child, 0)
with SqliteSaver(path) as saver:
    print([row.key for row in saver.calls("t")])
"""
    assert run(path, program) == ["['parent', 'child']"]


# Several processes that share a file


SHARE = """
with SqliteSaver(path) as saver:
    print("ready", flush=True)
    sys.stdin.readline()
    won = [saver.save_call("race", call(f"{number}", text=sys.argv[2]), after=None) for number in range(25)]
    script = Script(saver, sys.argv[2])
    script.steps(10)
    print(sum(won), len(saver.history(sys.argv[2])), flush=True)
"""


def test_processes_share_a_file(path: Path) -> None:
    programs = [started(path, SHARE, f"p{number}") for number in range(3)]
    running = [program.__enter__() for program in programs]
    assert [line_of(process) for process in running] == ["ready"] * 3
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [line_of(process).split() for process in running]
    for program in programs:
        program.__exit__(None, None, None)
    assert sum(int(won) for won, _ in told) == 25
    assert [steps for _, steps in told] == ["10"] * 3
    with SqliteSaver(path) as saver:
        assert saver.threads() == ["p0", "p1", "p2", "race"]
        assert len(saver.calls("race")) == 25


RACE = """
with SqliteSaver(path) as saver:
    print("ready", flush=True)
    sys.stdin.readline()
    lost = 0
    for number in range(1, 51):
        row = Script(saver, "race").row(id=f"{number:08}-{sys.argv[2]}", number=number)
        newest = saver.newest("race")
        if newest is not None and newest.number >= number:
            newest = saver.history("race", before=number)[0] if number > 1 else None
        try:
            saver.put(row, [], after=newest and newest.id)
        except CheckpointConflict:
            lost += 1
        while saver.newest("race").number < number:
            pass
    print(lost, flush=True)
"""


def go(running: list[subprocess.Popen[str]]) -> None:
    assert [line_of(process) for process in running] == ["ready"] * len(running)
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()


def test_of_two_processes_that_put_one_number_one_is_told_of_the_conflict(path: Path) -> None:
    with started(path, RACE, "a") as first, started(path, RACE, "b") as second:
        go([first, second])
        assert int(line_of(first)) + int(line_of(second)) == 50
    with SqliteSaver(path) as saver:
        assert [row.number for row in saver.history("race")] == list(range(50, 0, -1))


BUSY = """
with SqliteSaver(path) as saver:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(200):
        saver.save_call(sys.argv[2], call(f"{number}", text="x" * 2_000), after=None)
    print("done", flush=True)
"""


def test_four_processes_with_two_hundred_commits_each_damage_nothing(path: Path) -> None:
    """Enough for the log to be moved into the file, and begun anew, several times; somebody reads all the while."""
    with ExitStack() as stack:
        running = [stack.enter_context(started(path, BUSY, f"p{number}")) for number in range(4)]
        go(running)
        reader = stack.enter_context(closing(sqlite3.connect(path, timeout=0)))
        seen = [0]
        while seen[-1] < 800:
            seen.append(*reader.execute("SELECT count(*) FROM surehand_calls").fetchone())
        assert seen == sorted(seen)
        assert [line_of(process) for process in running] == ["done"] * 4
    with closing(sqlite3.connect(path)) as reader:
        assert reader.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with SqliteSaver(path) as saver:
        for number in range(4):
            assert {row.key for row in saver.calls(f"p{number}")} == set(map(str, range(200)))
    assert [file.name for file in path.parent.iterdir()] == ["runs.db"]


# A file that cannot be used for a while


def test_a_file_that_may_not_be_written_is_told_and_used_when_it_may(path: Path) -> None:
    program = """
import stat, tempfile
folder = tempfile.mkdtemp(dir="/tmp" if os.path.isdir("/tmp") else None)
os.chmod(folder, 0o755)
file = os.path.join(folder, "runs.db")
with SqliteSaver(file) as saver:
    saver.save_call("t", call("a"), after=None)
os.chmod(file, 0o444)
os.chmod(folder, 0o555)
is_root = os.geteuid() == 0
if is_root:
    os.seteuid(65534)
print(told(lambda: SqliteSaver(file)))
if is_root:
    os.seteuid(0)
os.chmod(folder, 0o755)
os.chmod(file, 0o644)
with SqliteSaver(file) as saver:
    print(saver.save_call("t", call("b"), after=None))
os.unlink(file)
os.rmdir(folder)
"""
    refused, allowed = run(path, program)
    assert re.match(r"StoreError: '.*runs.db' cannot be (written|opened).*Give this user the right", refused)
    assert allowed == "True"


def test_a_disk_that_takes_no_more_is_told_and_used_when_it_does(path: Path) -> None:
    program = """
saver = SqliteSaver(path)
script = Script(saver)
script.steps(3)
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, most))
print(told(lambda: script.put(change("big", 4, "x" * 200_000))))
print(len(saver.history("thread")), saver.load("thread").channels["messages"])
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
script.put(change("big", 4, "x" * 200_000))
print(len(saver.history("thread")))
saver.close()
"""
    refused, held, later = run(path, program)
    assert re.match(r"StoreError: '.*runs.db' (could not be read or written|does not fit) .*Nothing of this", refused)
    assert held == """3 ('"1"', '"2"', '"3"')"""
    assert later == "4"


def test_only_who_uses_sqlite_pays_for_it() -> None:
    program = """
import sys
from surehand import MemorySaver, Checkpointer
print("sqlite3" in sys.modules)
from surehand import SqliteSaver
print("sqlite3" in sys.modules)
"""
    ended = run_python("-c", program, cwd=Path.cwd())
    assert ended.stdout.split() == ["False", "True"]


def test_a_spawned_process_goes_on_with_a_thread(path: Path) -> None:
    with SqliteSaver(path) as saver:
        script = Script(saver)
        script.steps(2)
    program = """
saver = SqliteSaver(path)
row = saver.newest("thread")
script = Script(saver)
script.rows = saver.history("thread")[::-1]
script.steps(1)
print(row.number, saver.load("thread").channels["messages"])
"""
    assert run(path, program) == ["""2 ('"1"', '"2"', '"3"')"""]
