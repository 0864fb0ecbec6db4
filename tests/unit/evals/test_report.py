"""The tables, and their place in the documentation."""

from __future__ import annotations

from dataclasses import replace

import pytest
from evals.answers import says
from evals.records import Record
from evals.report import BEGIN, END, PAGE, Results, report, written_into
from evals.task import Task

TASKS = [
    Task(name=name, stress=f"about {name}", request="Go.", tools=lambda _: [], answer=says("yes"))
    for name in ("one", "two")
]
RUN = Record(
    contender="surehand",
    task="one",
    style="guided",
    model="tiny-4",
    fingerprint="f",
    versions={"surehand": "0.1.0"},
    at="2027-01-01T00:00:00+00:00",
    end="answer",
    error=None,
    answer="yes",
    effects=(),
    requests=3,
    calls=2,
    seconds=5.0,
    model_seconds=4.5,
)


def results(*records: Record) -> Results:
    found = {(record.contender, record.task): record for record in records}
    return Results(tasks=TASKS, style="guided", records=found)


def test_a_report_sums_up_each_framework() -> None:
    text = report(results(RUN, replace(RUN, task="two", answer="no", requests=5)))

    assert "| Surehand `create_agent` | 1 of 2 | 0 | 0 | 0 | 0 | 4.0 | 2.0 | 0.5 |" in text.splitlines()


def test_a_report_says_for_each_task_how_it_went() -> None:
    crashed = replace(RUN, contender="langchain", end="crash", answer=None)

    lines = report(results(RUN, crashed)).splitlines()

    assert "| task | what it stresses | surehand | langchain |" in lines
    assert "| one | about one | solved | crash |" in lines
    assert "| two | about two |  |  |" in lines


def test_a_report_says_what_it_was_measured_on() -> None:
    text = report(results(RUN))

    assert "Measured: 2027-01-01\n" in text
    assert "### Prompt style: guided" in text
    assert "Model: tiny-4\n" in text
    assert "surehand 0.1.0" in text


def test_a_report_of_nothing_says_so() -> None:
    assert "No run has been made yet." in report(results())


def test_tables_are_put_between_the_marks() -> None:
    page = written_into(f"Before.\n{BEGIN}\nold\n{END}\nAfter.\n", "new")

    assert page == f"Before.\n{BEGIN}\n\nnew\n\n{END}\nAfter.\n"
    assert written_into(page, "new") == page


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="no place for results"):
        written_into("Nothing here.", "new")


def test_the_page_of_the_documentation_has_a_place_for_the_tables() -> None:
    assert written_into(PAGE.read_text(encoding="utf-8"), "new")
