"""Runs a task in a child process, keeps to the limits, and notes what happened."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from evals.contenders import Contender
from evals.prompting import Style
from evals.records import End, Record, fingerprint, versions_of
from evals.server import Desk, RunLog
from evals.task import Task
from evals.world import read_effects

__all__ = ["MAX_SECONDS", "Bench"]

MAX_SECONDS: Final = 60.0
"""Seconds that a run may take beside what the model computes."""
_TICK: Final = 0.05
_ROOT: Final = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Where runs take place."""

    desk: Desk
    url: str
    style: Style
    model: str
    transcripts: Path
    """The folder for the conversations, to read why a run failed."""
    max_seconds: float = MAX_SECONDS

    def run(self, contender: Contender, task: Task) -> Record:
        """Run the task; never raises for what a framework does."""
        name = uuid.uuid4().hex
        log = self.desk.open(name)
        with tempfile.TemporaryDirectory() as folder:
            ledger, result = Path(folder) / "effects.jsonl", Path(folder) / "result.json"
            command = [contender.name, task.name, f"{self.url}/{name}", str(ledger), str(result)]
            start = time.monotonic()
            in_time = _watched([sys.executable, "-m", "evals.child", *command], log, self.max_seconds)
            seconds = time.monotonic() - start
            ended: dict[str, Any] = json.loads(result.read_text(encoding="utf-8")) if result.exists() else {}
            effects = tuple(read_effects(ledger))
        self._keep(contender, task, log, ended)
        return Record(
            contender=contender.name,
            task=task.name,
            style=self.style,
            model=self.model,
            fingerprint=fingerprint(contender, task, self.style, self.model),
            versions=versions_of(contender),
            at=datetime.now(tz=UTC).isoformat(timespec="seconds"),
            end=_end(ended, log, in_time=in_time),
            error=ended.get("error", "the process ended without a word" if in_time else None),
            answer=ended.get("answer"),
            effects=effects,
            requests=log.requests,
            calls=log.calls,
            seconds=round(seconds, 2),
            model_seconds=round(log.busy, 2),
        )

    def _keep(self, contender: Contender, task: Task, log: RunLog, ended: dict[str, Any]) -> None:
        self.transcripts.mkdir(parents=True, exist_ok=True)
        path = self.transcripts / f"{task.name}.{contender.name}.{self.style}.json"
        path.write_text(
            json.dumps({"messages": log.messages, "ended": ended}, ensure_ascii=False, indent=1), encoding="utf-8"
        )


def _watched(command: list[str], log: RunLog, max_seconds: float) -> bool:
    """Run the command to its end; False where it had to be killed."""
    start = time.monotonic()
    with subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        try:
            while child.poll() is None:
                if time.monotonic() - start - log.busy_until_now() > max_seconds:
                    return False
                time.sleep(_TICK)
        finally:
            child.kill()
    return True


def _end(ended: dict[str, Any], log: RunLog, *, in_time: bool) -> End:
    if not in_time:
        return "time"
    if log.is_exhausted:
        return "requests"
    return "answer" if ended.get("answer") is not None else "crash"
