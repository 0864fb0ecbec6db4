"""What the programs that are killed are told to do, and the ledger in which they say what they did."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, count
from pathlib import Path
from typing import Any, Final, Literal

__all__ = [
    "KINDS",
    "POINTS",
    "TURNS",
    "VISITS",
    "Form",
    "Ledger",
    "Order",
    "Point",
    "Store",
    "entries",
    "kind_of",
    "turn_of",
]

Store = Literal["sqlite", "postgres"]
Form = Literal["agent", "graph", "node", "tool"]
"""An agent; the graph that it is, made by hand; an agent as a node of another graph; or as a tool of another agent."""
Point = Literal[
    "before intent", "after intent", "after running", "mid-effect", "before done", "after done", "between checkpoints"
]

TURNS: Final = (1, 6, 4, 8, 2, 9)
"""How many calls the model makes in each turn."""
KINDS: Final = ("charge", "send", "bounce", "put", "aput", "look", "peek", "book", "transfer")
"""What the calls are, one after another."""
POINTS: Final[tuple[Point, ...]] = (
    "before intent",
    "after intent",
    "after running",
    "mid-effect",
    "before done",
    "after done",
    "between checkpoints",
)
"""Where a program can be killed: before and after its model's turn is kept, which says what is intended; when a call is
noted to be running; in its body, before and after the effect; before and after its answer is noted; before and after
any other checkpoint is kept."""
VISITS: Final[dict[Point, int]] = {
    "before intent": len(TURNS) + 1,
    "after intent": len(TURNS) + 1,
    "after running": sum(TURNS),
    "mid-effect": 2 * sum(TURNS),
    "before done": sum(TURNS),
    "after done": sum(TURNS),
    "between checkpoints": 2 * len(TURNS) + 2,
}
"""How often a run that nobody disturbs comes by each point, at the least."""


def kind_of(n: int) -> str:
    """What the call of a number is, from 1."""
    return KINDS[n % len(KINDS)]


def turn_of(n: int) -> int:
    """In which turn the model makes the call of a number, from 1."""
    return next(turn for turn, last in enumerate(accumulate(TURNS), 1) if n <= last)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to run, and where to die."""

    store: Store
    place: str
    """The file, or how to reach the server."""
    ledger: str
    thread_id: str
    timeout: float = 5.0
    """Seconds to wait for the file."""
    form: Form = "agent"
    door: Literal["sync", "async"] = "async"
    repeats_ids: bool = False
    """Whether the ids of calls begin anew in each turn, as some providers' do."""
    asks: bool = False
    """Whether some of the calls have to be approved; whoever runs the program approves of all."""
    point: Point | None = None
    """Where to die; None for nowhere."""
    visit: int = 1
    """At which time of coming by."""


class Ledger:
    """What happens, line by line; and the end, at the point that was ordered.

    What was written outlives the process. The lines of several processes are in the order of what happened.
    """

    def __init__(self, order: Order) -> None:
        self._path = Path(order.ledger)
        self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._point = order.point
        self._visit = order.visit
        self._visits = count(1)

    def write(self, mark: str, *, is_forced: bool = False, **facts: Any) -> None:
        """Append a line, and where it stands for an effect elsewhere, have it outlive the machine too."""
        os.write(self._file, (json.dumps({"mark": mark, "pid": os.getpid(), **facts}) + "\n").encode())
        if is_forced:
            os.fsync(self._file)

    def pass_by(self, point: Point) -> None:
        """Die here, if it is here and now."""
        if point == self._point and next(self._visits) == self._visit:
            self.write("killed", point=point)
            os.kill(os.getpid(), signal.SIGKILL)

    def has(self, mark: str, key: str) -> bool:
        """Whether a line says so of a call, whichever process wrote it."""
        return any(entry["mark"] == mark and entry["key"] == key for entry in entries(self._path))


def entries(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a ledger, in their order."""
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)
