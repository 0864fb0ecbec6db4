"""Processes that run the same turns at the same time, on one store: of each call, one process runs the body."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from support.pages import ROOT
from support.racing import CALLS

TURNS: Final = 20
RACERS: Final = 3

Racer = subprocess.Popen[str]


@contextmanager
def racers(folder: Path) -> Generator[list[Racer], None, None]:
    """Processes that wait for their first turn."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])}
    arguments = [str(folder / "calls.db"), str(folder / "ledger"), "t", str(TURNS)]
    command = [sys.executable, "-m", "support.racing", *arguments]
    started = [
        subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(RACERS)
    ]
    try:
        assert [heard(racer) for racer in started] == ["ready"] * RACERS
        yield started
    finally:
        for racer in started:
            racer.kill()
            racer.communicate()


def heard(racer: Racer) -> Any:
    """What it says next."""
    assert racer.stdout is not None
    return json.loads(racer.stdout.readline())


def start(racer: Racer) -> None:
    """Have it begin its next turn."""
    assert racer.stdin is not None
    racer.stdin.write("\n")
    racer.stdin.flush()


def test_of_several_processes_that_run_a_turn_one_runs_each_body(tmp_path: Path) -> None:
    told: dict[str, list[Any]] = {f"{turn}.{call}": [] for turn in range(TURNS) for call in range(CALLS)}
    with racers(tmp_path) as started:
        for turn in range(TURNS):
            for racer in started[turn % RACERS :] + started[: turn % RACERS]:
                start(racer)
            for racer in started:
                for call, answer in enumerate(heard(racer)):
                    told[f"{turn}.{call}"].append(answer)

    ledger = (tmp_path / "ledger").read_text().splitlines()
    assert Counter(line.partition(" by ")[0] for line in ledger) == dict.fromkeys(told, 1)
    assert len({line.partition(" by ")[2] for line in ledger}) > 1, "one process ran everything: that was no race"
    # Whoever comes while another process is at it cannot know whether that one is alive, and says so.
    for name, answers in told.items():
        assert [f"paid {name}", None] in answers
        assert {kind for _, kind in answers} <= {None, "unknown_outcome"}
