"""Programs whose functions run in processes of their own: scripts, and what becomes of the processes at their end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.liveness import is_alive, soon
from support.programs import run_python

HEAD = """
import asyncio, os, sys, time
from dataclasses import dataclass
from surehand.concurrency import process_target, run_in_process

@dataclass
class Point:
    x: int

def move(point, by):
    return Point(point.x + by)

def hang(path):
    with open(path, "w") as note:
        note.write(f"{os.getpid()} ")
    while True:
        pass

def run(function, *args):
    return asyncio.run(run_in_process(process_target(function), args))

print(f"loading {__name__}")
"""
GUARDED = HEAD + "if __name__ == '__main__':\n    print(run(move, Point(3), 4))\n"
UNGUARDED = HEAD + "print(run(move, Point(3), 4))\n"
HANGING = HEAD + "if __name__ == '__main__':\n    run(hang, sys.argv[1])\n"


def written(folder: Path, text: str) -> str:
    file = folder / "program.py"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_a_script_may_keep_its_functions_and_classes_to_itself(tmp_path: Path) -> None:
    ended = run_python("-W", "error", written(tmp_path, GUARDED), cwd=tmp_path)
    assert ended.stdout.splitlines() == ["loading __main__", "loading __mp_main__", "Point(x=7)"], ended.stderr


def test_a_module_that_is_run_as_a_script_may_too(tmp_path: Path) -> None:
    written(tmp_path, GUARDED)
    ended = run_python("-m", "program", cwd=tmp_path)
    assert ended.stdout.splitlines()[-1] == "Point(x=7)", ended.stderr


def test_a_script_that_would_start_itself_without_end_is_refused(tmp_path: Path) -> None:
    ended = run_python(written(tmp_path, UNGUARDED), cwd=tmp_path)
    assert ended.returncode == 1
    assert "ToolDefinitionError: Tool 'move': it could not be run in a process of its own" in ended.stderr
    assert '`if __name__ == "__main__":`' in ended.stderr
    assert ended.stdout.splitlines() == ["loading __main__", "loading __mp_main__"]


@pytest.mark.skipif(sys.platform == "win32", reason="signals are not what they are elsewhere")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT], ids=["killed", "Ctrl-C"])
def test_a_process_ends_with_its_program_however_that_ends(end: signal.Signals, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    program = subprocess.Popen(
        [sys.executable, written(tmp_path, HANGING), str(note)], stderr=subprocess.PIPE, start_new_session=True
    )
    with program:
        assert soon(lambda: note.exists() and note.read_text(encoding="utf-8").endswith(" "), within=20)
        pid = int(note.read_text(encoding="utf-8"))
        os.killpg(program.pid, end)  # as a terminal sends Ctrl-C to everything in front of it
        program.wait(20)
        assert soon(lambda: not is_alive(pid), within=20)
    if end is signal.SIGINT:
        assert program.returncode == -signal.SIGINT
