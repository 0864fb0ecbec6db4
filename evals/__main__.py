"""``python -m evals``: run what has not been run yet, and print the tables.

Runs are kept: whoever stops this and starts it again goes on where it stopped. What a run depends on (task, prompt,
model, versions, our sources) decides whether it has to be made anew.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evals.contenders import CONTENDERS, Contender
from evals.engine import LocalBrain
from evals.judge import judged
from evals.prompting import Style
from evals.records import FOLDER, Record, Shelf, fingerprint, model_name
from evals.report import PAGE, Results, report, written_into
from evals.runs import Bench
from evals.server import Desk, served
from evals.task import Task
from evals.tasks import TASKS

STYLES: Final[tuple[Style, ...]] = ("guided", "plain")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m evals", description="Tool layers, tried with a weak model.")
    parser.add_argument("--framework", action="append", choices=CONTENDERS, help="only this one; may be repeated")
    parser.add_argument("--task", action="append", choices=TASKS, metavar="TASK", help="only this one; may be repeated")
    parser.add_argument("--style", action="append", choices=STYLES, help="only this one; see evals/prompting.py")
    parser.add_argument("--model", type=Path, default=os.environ.get("SUREHAND_LOCAL_MODEL"), help="a GGUF file")
    parser.add_argument("--again", action="store_true", help="also make the runs anew that have been made")
    parser.add_argument("--print", action="store_true", dest="only_print", help="run nothing, print what there is")
    parser.add_argument("--write", action="store_true", help=f"write the tables of all frameworks into {PAGE.name}")
    return parser.parse_args()


def main() -> int:
    logging.basicConfig(level=logging.WARNING)
    chosen = options()
    if chosen.model is None:
        print("No model: name a GGUF file with --model or SUREHAND_LOCAL_MODEL (scripts/fetch_test_model.py gets one).")
        return 2
    model = Path(chosen.model)
    plan = [
        Run(contender=CONTENDERS[contender], task=TASKS[task], style=style)
        for style in STYLES
        if style in (chosen.style or STYLES)
        for task in chosen.task or TASKS
        for contender in chosen.framework or CONTENDERS
    ]
    shelf = Shelf(FOLDER / "runs.jsonl")
    if not chosen.only_print:
        kept = {} if chosen.again else shelf.all()
        make([run for run in plan if run.fingerprint(model) not in kept], shelf=shelf, model=model)
    tables = tables_of(plan, shelf, model)
    print(tables)
    if chosen.write and not (chosen.framework or chosen.task or chosen.style):
        PAGE.write_text(written_into(PAGE.read_text(encoding="utf-8"), tables), encoding="utf-8")
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run that is wanted."""

    contender: Contender
    task: Task
    style: Style

    def fingerprint(self, model: Path) -> str:
        """What it depends on."""
        return fingerprint(self.contender, self.task, self.style, model_name(model))


def make(to_come: list[Run], *, shelf: Shelf, model: Path) -> None:
    """Make the runs, one after the other, and keep each as soon as it is there."""
    if not to_come:
        return
    brain = LocalBrain(model)
    for style in STYLES:
        runs = [run for run in to_come if run.style == style]
        desk = Desk(brain, style)
        with served(desk) as url:
            bench = Bench(desk=desk, url=url, style=style, model=model_name(model), transcripts=FOLDER / "transcripts")
            for run in runs:
                record = bench.run(run.contender, run.task)
                shelf.add(record)
                print(line_of(record, run.task), file=sys.stderr, flush=True)


def tables_of(plan: list[Run], shelf: Shelf, model: Path) -> str:
    """The tables of each style."""
    kept = shelf.all()
    tables: list[str] = []
    for style in STYLES:
        runs = [run for run in plan if run.style == style]
        found = {
            (run.contender.name, run.task.name): record
            for run in runs
            if (record := kept.get(run.fingerprint(model))) is not None
        }
        if not runs:
            continue
        tasks = list({run.task.name: run.task for run in runs}.values())
        tables.append(report(Results(tasks=tasks, style=style, records=found)))
    return "\n\n".join(tables)


def line_of(record: Record, task: Task) -> str:
    word = judged(task, record).word
    times = f"{record.requests} requests, {record.seconds:.0f} s"
    return (
        f"{record.style} {task.name:<20} {record.contender:<15} {word:<14} {times}  {record.error or record.answer!r}"
    )


if __name__ == "__main__":
    sys.exit(main())
