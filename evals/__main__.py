"""``python -m evals``: run what has not been run yet, and print the tables.

Runs are kept: whoever stops this and starts it again goes on where it stopped. What a run depends on (task, prompt,
model, versions, our sources) decides whether it has to be made anew.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from pathlib import Path

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


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m evals", description="Tool layers, tried with a weak model.")
    parser.add_argument("--framework", action="append", choices=CONTENDERS, help="only this one; may be repeated")
    parser.add_argument("--task", action="append", choices=TASKS, metavar="TASK", help="only this one; may be repeated")
    parser.add_argument("--style", choices=("guided", "plain"), default="guided", help="see evals/prompting.py")
    parser.add_argument("--model", type=Path, default=os.environ.get("SUREHAND_LOCAL_MODEL"), help="a GGUF file")
    parser.add_argument("--again", action="store_true", help="also make the runs anew that have been made")
    parser.add_argument("--print", action="store_true", dest="only_print", help="run nothing, print what there is")
    parser.add_argument("--write", action="store_true", help=f"write the tables into {PAGE.name}")
    return parser.parse_args()


def main() -> int:
    logging.basicConfig(level=logging.WARNING)
    chosen = options()
    if chosen.model is None:
        print("No model: name a GGUF file with --model or SUREHAND_LOCAL_MODEL (scripts/fetch_test_model.py gets one).")
        return 2
    contenders = [CONTENDERS[name] for name in chosen.framework or CONTENDERS]
    tasks = [TASKS[name] for name in chosen.task or TASKS]
    model = model_name(chosen.model)
    shelf = Shelf(FOLDER / "runs.jsonl")
    if not chosen.only_print:
        to_come = [
            (contender, task)
            for task in tasks
            for contender in contenders
            if chosen.again or shelf.find(fingerprint(contender, task, chosen.style, model)) is None
        ]
        run_all(to_come, shelf=shelf, style=chosen.style, path=chosen.model)
    kept = shelf.all()
    found = {
        (contender.name, task.name): record
        for contender in contenders
        for task in tasks
        if (record := kept.get(fingerprint(contender, task, chosen.style, model))) is not None
    }
    tables = report(Results(tasks=tasks, style=chosen.style, records=found))
    print(tables)
    if chosen.write:
        PAGE.write_text(written_into(PAGE.read_text(encoding="utf-8"), tables), encoding="utf-8")
    return 0


def run_all(to_come: list[tuple[Contender, Task]], *, shelf: Shelf, style: Style, path: Path) -> None:
    """Make the runs, one after the other, and keep each as soon as it is there."""
    if not to_come:
        return
    desk = Desk(LocalBrain(path), style)
    with served(desk) as url:
        bench = Bench(desk=desk, url=url, style=style, model=model_name(path), transcripts=FOLDER / "transcripts")
        for number, (contender, task) in enumerate(to_come, start=1):
            record = bench.run(contender, task)
            shelf.add(record)
            print(f"[{number}/{len(to_come)}] {line_of(record, task)}", file=sys.stderr, flush=True)


def line_of(record: Record, task: Task) -> str:
    word = judged(task, record).word
    times = f"{record.requests} requests, {record.seconds:.0f} s"
    return f"{task.name:<20} {record.contender:<15} {word:<14} {times}  {record.error or record.answer!r}"


if __name__ == "__main__":
    sys.exit(main())
