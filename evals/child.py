"""One run in a process of its own: ``python -m evals.child CONTENDER TASK URL LEDGER RESULT``.

A process of its own, because some tools hang for ever and some frameworks then never come back.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import time
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path

from evals.contenders import CONTENDERS, runner_of
from evals.tasks import TASKS
from evals.world import World, as_offers

__all__ = ["Ended", "run_here"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a run ended."""

    answer: str | None
    """The final answer; None where there is none."""
    error: str | None
    """The exception that came out of the framework, in one line."""
    seconds: float
    trace: str = ""


def run_here(contender: str, task: str, url: str, ledger: Path) -> Ended:
    """Run the task in this process."""
    runner = runner_of(CONTENDERS[contender])
    chosen = TASKS[task]
    world = World(ledger=ledger, idiom=runner.idiom())
    offers = as_offers(chosen.tools(world))
    loop = asyncio.new_event_loop()  # never closed: that would wait for threads that hang, and the answer is there
    start = time.monotonic()
    try:
        answer = loop.run_until_complete(runner.run(offers, chosen.request, url))
    except BaseException as error:  # noqa: BLE001 - whatever comes out is what is looked for
        line = f"{type(error).__name__}: {error}".partition("\n")[0]
        return Ended(answer=None, error=line, seconds=time.monotonic() - start, trace=traceback.format_exc())
    return Ended(answer=answer, error=None, seconds=time.monotonic() - start)


def main() -> None:
    """Run, write the result, and leave without waiting for threads that hang."""
    logging.disable(logging.ERROR)
    contender, task, url, ledger, result = sys.argv[1:]
    ended = run_here(contender, task, url, Path(ledger))
    part = Path(f"{result}.part")
    part.write_text(json.dumps(asdict(ended), ensure_ascii=False), encoding="utf-8")
    part.replace(result)
    os._exit(0)


if __name__ == "__main__":
    main()
