"""Which processes are alive, and what comes to be so."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

__all__ = ["children", "comes_true", "is_alive", "soon"]


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not reaped yet does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and stat.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z")


def children() -> set[int]:
    """The processes that this one has started, those that were not reaped included; none where nobody can tell."""
    found: set[int] = set()
    tasks = Path("/proc/self/task")
    for task in tasks.iterdir() if tasks.exists() else ():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            found |= {int(pid) for pid in (task / "children").read_text(encoding="utf-8").split()}
    return found


def soon(is_so: Callable[[], bool], *, within: float) -> bool:
    """Whether something comes to be so within so many seconds."""
    end = time.monotonic() + within
    while not (so := is_so()) and time.monotonic() < end:
        time.sleep(0.01)
    return so


async def comes_true(is_so: Callable[[], bool], *, within: float = 20) -> None:
    """Wait on a loop until something is so, which may happen there or on threads.

    Raises:
        TimeoutError: It is not so within so many seconds.
    """
    async with asyncio.timeout(within):
        while not is_so():  # noqa: ASYNC110 - nobody tells when it is so
            await asyncio.sleep(0.001)
