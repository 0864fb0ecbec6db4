"""Starting the programs that are killed, killing them, and starting them again until they end."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, Final, Self, get_args

from support.kill_orders import POINTS, VISITS, Form, Order, Point, entries
from support.kill_verdict import complaints
from support.liveness import soon
from support.pages import ROOT

__all__ = ["Yard", "play", "play_crash", "play_frozen", "play_in_time", "play_together"]

KILLED: Final = -signal.SIGKILL
_MOST_KILLS: Final = 4
"""In one round; after that the program is left alone."""


class Yard:
    """Starts programs, each in a process of its own that is forked from one that has done its imports."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "support.kill_program"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT / "tests",
            text=True,
            encoding="utf-8",
        )
        self._numbers = count(1)
        self._running: set[int] = set()

    def start(self, order: Order) -> int:
        """Start a program; its process id."""
        pid = int(self._ask({"order": asdict(order)})["pid"])
        self._running.add(pid)
        return pid

    def wait(self, pid: int) -> int:
        """Wait for the end of a program: its exit code, or the number of the signal that killed it, below zero."""
        status = int(self._ask({"wait": pid})["status"])
        self._running.discard(pid)
        return status

    def _ask(self, what: dict[str, Any]) -> dict[str, Any]:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        number = next(self._numbers)
        print(json.dumps({**what, "number": number}), file=self._server.stdin, flush=True)
        answer: dict[str, Any] = {}
        while answer.get("number") != number:  # those before it are of tests that ran out of time and did not read them
            answer = json.loads(self._server.stdout.readline())
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for pid in self._running:  # those of a round that failed
            kill(pid)
        self._server.communicate(timeout=10)


@dataclass(slots=True, kw_only=True)
class Round:
    """A run that is killed and gone on with until it ends."""

    yard: Yard
    order: Order
    seed: str
    kills: int = 0

    def start(self, **changes: Any) -> int:
        """Start the program; its process id."""
        return self.yard.start(replace(self.order, **changes))

    def wait(self, pid: int) -> bool:
        """Wait for the end of a program; whether it came to it by itself."""
        status = self.yard.wait(pid)
        assert status in (0, KILLED), f"The program failed with {status}. {self}\n{self.errors()}"
        self.kills += status == KILLED
        return status == 0

    def run(self, **changes: Any) -> bool:
        """Run the program until it ends, or is killed; whether it ended."""
        return self.wait(self.start(**changes))

    def run_for(self, seconds: float) -> bool:
        """Run the program, and kill it after so many seconds; whether it ended before."""
        pid = self.start()
        time.sleep(seconds)
        kill(pid)
        return self.wait(pid)

    def check(self, *, are_together: bool = False) -> None:
        """Check that the run was gone on with as it should be."""
        found = complaints(Path(self.order.ledger), are_together=are_together)
        assert not found, "\n".join([f"{self}", *found])

    def says(self, mark: str) -> bool:
        """Whether the ledger has such a line."""
        ledger = Path(self.order.ledger)
        return ledger.exists() and any(entry["mark"] == mark for entry in entries(ledger))

    def errors(self) -> str:
        """What the programs wrote to their standard error."""
        file = Path(f"{self.order.ledger}.errors")
        return file.read_text(encoding="utf-8") if file.exists() else ""

    def __str__(self) -> str:
        return f"Seed {self.seed!r}: {self.order}."


def kill(pid: int) -> None:
    """Kill a process, unless it has ended."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def play(yard: Yard, order: Order, point: Point, seed: str) -> None:
    """Kill a run at a point, at times that the seed says, and perhaps again elsewhere, until it ends."""
    now, chance = _drawn(yard, order, seed)
    assert not now.run(point=point, visit=chance.randint(1, VISITS[point])), f"It was not killed. {now}"
    while not now.run(**_again(chance, now.kills)):
        pass
    now.check()


def _again(chance: random.Random, kills: int) -> dict[str, Any]:
    """Whether the next process is killed as well, and where."""
    if kills >= _MOST_KILLS or chance.random() < 0.5:
        return {"point": None}
    point = chance.choice(POINTS)
    return {"point": point, "visit": chance.randint(1, VISITS[point])}


def play_in_time(yard: Yard, order: Order, seed: str, *, takes: float) -> None:
    """Kill a run at any time of the seconds that it takes, and perhaps again, until it ends."""
    now, chance = _drawn(yard, order, seed)
    while not (now.run() if now.kills >= _MOST_KILLS else now.run_for(chance.uniform(0, takes))):
        pass
    now.check()


def play_together(yard: Yard, order: Order, seed: str, *, takes: float) -> None:
    """Have two processes go on with a run that was killed, at the same time; of some, one is killed as well."""
    now, chance = _drawn(yard, order, seed)
    now.run(point="mid-effect", visit=chance.randint(1, VISITS["mid-effect"]))
    first, second = now.start(), now.start()
    if chance.random() < 0.5:
        time.sleep(chance.uniform(0, takes))
        kill(first)
    now.wait(first)
    now.wait(second)
    assert now.kills > 1 or now.says("over"), f"Both lost. {now}"
    if not now.says("over"):
        now.run()
    now.check(are_together=True)


def play_frozen(yard: Yard, order: Order, seed: str, *, takes: float) -> None:
    """Have a process stand still while another one goes on with its run, and then wake up."""
    now, chance = _drawn(yard, replace(order, timeout=0.3), seed)
    first = now.start()
    assert soon(lambda: now.says("kept"), within=20), f"It did not begin. {now}"  # else it would give its input again
    time.sleep(chance.uniform(0, takes))
    os.kill(first, signal.SIGSTOP)
    now.run()
    os.kill(first, signal.SIGCONT)
    now.wait(first)
    if not now.says("over"):  # the second may have found a lock that the first one held in its sleep
        now.run()
    now.check(are_together=True)


def play_crash(yard: Yard, order: Order, seed: str, *, takes: float, crash: Callable[[], None]) -> None:
    """Have the database crash and come back while a run goes on."""
    now, chance = _drawn(yard, order, seed)
    pid = now.start()
    time.sleep(chance.uniform(0, takes))
    crash()
    now.wait(pid)
    if not now.says("over"):
        now.run()
    now.check()


def _drawn(yard: Yard, order: Order, seed: str) -> tuple[Round, random.Random]:
    """A round, and the chance that the rest of it is drawn by."""
    chance = random.Random(seed)
    form = chance.choice(get_args(Form))
    drawn = replace(
        order,
        form=form,
        asks=chance.choice([False, True]),
        door=chance.choice(["sync", "async"]),
        # What a model is sent has other ids then, and of an agent that is a tool nothing else is seen.
        repeats_ids=form != "tool" and chance.choice([False, True]),
    )
    return Round(yard=yard, order=drawn, seed=seed), chance
