"""The results as Markdown, and their place in the documentation."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Final

from evals.contenders import CONTENDERS, Contender
from evals.judge import Verdict, judged
from evals.prompting import Style
from evals.records import Record
from evals.task import Task

__all__ = ["BEGIN", "END", "PAGE", "Results", "report", "written_into"]

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "explanation" / "evaluation.md"
BEGIN: Final = "<!-- results: begin -->"
END: Final = "<!-- results: end -->"


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The runs of all contenders on some tasks, in one style of prompt."""

    tasks: Sequence[Task]
    style: Style
    records: Mapping[tuple[str, str], Record]
    """By contender and task; runs that are still to come are not among them."""

    def of(self, contender: Contender) -> list[tuple[Record, Verdict]]:
        """The runs of one contender, judged."""
        found = [(task, self.records.get((contender.name, task.name))) for task in self.tasks]
        return [(record, judged(task, record)) for task, record in found if record is not None]


def report(results: Results) -> str:
    """The tables, with what they were measured on."""
    title = f"### Prompt style: {results.style}"
    return "\n".join([title, "", *_head(results), "", *_summary(results), "", *_per_task(results)])


def written_into(page: str, tables: str) -> str:
    """The page with the tables between its marks.

    Raises:
        ValueError: The page has no marks.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"The page has no place for results; expected {BEGIN} and {END}.")
    return f"{before}{BEGIN}\n\n{tables}\n\n{END}{after}"


def _head(results: Results) -> Iterator[str]:
    records = list(results.records.values())
    if not records:
        yield "No run has been made yet."
        return
    versions: dict[str, str] = {}
    for record in records:
        versions |= record.versions
    days = sorted({record.at[:10] for record in records})
    yield f"- Measured: {' to '.join(dict.fromkeys((days[0], days[-1])))}"
    yield f"- Model: {', '.join(sorted({record.model for record in records}))}"
    yield f"- Machine: {os.cpu_count()} cores, {platform.machine()}, {platform.system()}"
    yield f"- Python {platform.python_version()}, {', '.join(f'{name} {number}' for name, number in versions.items())}"


def _summary(results: Results) -> Iterator[str]:
    columns = "solved", "wrong effect", "double effect", "crash", "no end", "requests", "calls", "seconds"
    yield f"| framework | {' | '.join(columns)} |"
    yield f"| --- |{' --: |' * len(columns)}"
    for contender in CONTENDERS.values():
        runs = results.of(contender)
        if runs:
            yield f"| {contender.title} | {' | '.join(_figures(runs))} |"


def _figures(runs: Sequence[tuple[Record, Verdict]]) -> Iterator[str]:
    verdicts = [verdict for _, verdict in runs]
    records = [record for record, _ in runs]
    yield f"{sum(verdict.is_solved for verdict in verdicts)} of {len(runs)}"
    yield str(sum(verdict.has_wrong_effect for verdict in verdicts))
    yield str(sum(verdict.has_double_effect for verdict in verdicts))
    yield str(sum(verdict.has_crashed for verdict in verdicts))
    yield str(sum(record.end in ("time", "requests") for record in records))
    yield f"{mean(record.requests for record in records):.1f}"
    yield f"{mean(record.calls for record in records):.1f}"
    yield f"{mean(record.seconds - record.model_seconds for record in records):.1f}"


def _per_task(results: Results) -> Iterator[str]:
    contenders = [contender for contender in CONTENDERS.values() if results.of(contender)]
    yield f"| task | what it stresses | {' | '.join(contender.name for contender in contenders)} |"
    yield f"| --- | --- |{' --- |' * len(contenders)}"
    for task in results.tasks:
        words = [_cell(task, results.records.get((contender.name, task.name))) for contender in contenders]
        yield f"| {task.name} | {task.stress} | {' | '.join(words)} |"


def _cell(task: Task, record: Record | None) -> str:
    return "" if record is None else judged(task, record).word
