"""Starting the programs that are killed, killing them, and starting them again until they end."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Self

from support.kill_orders import POINTS, VISITS, Order, Point
from support.kill_verdict import complaints
from support.pages import ROOT

__all__ = ["Round", "Yard", "play", "play_in_time"]

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

    def start(self, order: Order) -> int:
        """Start a program; its process id."""
        return int(self._ask({"order": asdict(order)})["pid"])

    def wait(self, pid: int) -> int:
        """Wait for the end of a program: its exit code, or the number of the signal that killed it, below zero."""
        return int(self._ask({"wait": pid})["status"])

    def _ask(self, what: dict[str, Any]) -> dict[str, Any]:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        print(json.dumps(what), file=self._server.stdin, flush=True)
        answer: dict[str, Any] = json.loads(self._server.stdout.readline())
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.communicate(timeout=10)


@dataclass(slots=True, kw_only=True)
class Round:
    """A run that is killed and gone on with until it ends."""

    yard: Yard
    order: Order
    seed: str
    dead: list[int] = field(default_factory=list[int])
    """The processes that were killed."""

    def run(self, **changes: Any) -> bool:
        """Run the program until it ends, or is killed; whether it ended."""
        return self.ended(self.yard.start(replace(self.order, **changes)))

    def run_for(self, seconds: float) -> bool:
        """Run the program, and kill it after so many seconds; whether it ended before."""
        pid = self.yard.start(self.order)
        time.sleep(seconds)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        return self.ended(pid)

    def ended(self, pid: int) -> bool:
        """Wait for the end of a program; whether it came to it by itself."""
        status = self.yard.wait(pid)
        if status == KILLED:
            self.dead.append(pid)
            return False
        assert status == 0, f"The program failed with {status}. {self}\n{self.errors()}"
        return True

    def check(self, *, are_together: bool = False) -> None:
        """Check that the run was gone on with as it should be."""
        found = complaints(Path(self.order.ledger), dead=self.dead, are_together=are_together)
        assert not found, "\n".join([f"{self}", *found])

    def errors(self) -> str:
        """What the programs wrote to their standard error."""
        file = Path(f"{self.order.ledger}.errors")
        return file.read_text(encoding="utf-8") if file.exists() else ""

    def __str__(self) -> str:
        return f"Seed {self.seed!r}: {self.order.form} by the {self.order.door} door, ledger {self.order.ledger}."


def play(yard: Yard, order: Order, point: Point, seed: str) -> Round:
    """Kill a run at a point, at times that the seed says, and perhaps again elsewhere, until it ends."""
    chance = random.Random(seed)  # noqa: S311 - it has to be repeatable, and guards nothing
    now = Round(yard=yard, order=_drawn(order, chance), seed=seed)
    assert not now.run(point=point, visit=chance.randint(1, VISITS[point])), f"It was not killed. {now}"
    while not now.run(**_again(chance, len(now.dead))):
        pass
    now.check()
    return now


def _again(chance: random.Random, kills: int) -> dict[str, Any]:
    """Whether the next process is killed as well, and where."""
    if kills >= _MOST_KILLS or chance.random() < 0.5:
        return {"point": None}
    point = chance.choice(POINTS)
    return {"point": point, "visit": chance.randint(1, VISITS[point])}


def play_in_time(yard: Yard, order: Order, seed: str, *, takes: float) -> Round:
    """Kill a run at any time of the seconds that it takes, and perhaps again, until it ends."""
    chance = random.Random(seed)  # noqa: S311 - as above
    now = Round(yard=yard, order=_drawn(order, chance), seed=seed)
    is_over = False
    while not is_over:
        is_over = now.run() if len(now.dead) >= _MOST_KILLS else now.run_for(chance.uniform(0, takes))
    now.check()
    return now


def _drawn(order: Order, chance: random.Random) -> Order:
    return replace(
        order,
        form=chance.choice(["agent", "graph"]),
        door=chance.choice(["sync", "async"]),
        is_shared=chance.choice([False, True]),
        repeats_ids=chance.choice([False, True]),
    )
