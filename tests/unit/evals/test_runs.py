"""A run in a process of its own, with a model that follows a script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from evals.contenders import CONTENDERS
from evals.judge import judged
from evals.records import Record
from evals.runs import Bench
from evals.server import MAX_REQUESTS, Desk, served
from evals.tasks import TASKS

from support.scripted_brain import ScriptedBrain, call

pytestmark = pytest.mark.slow

NEEDED = {
    "surehand": ["openai"],
    "langchain": ["langchain", "langchain_openai"],
    "langchain-told": ["langchain", "langchain_openai"],
    "pydantic-ai": ["pydantic_ai", "openai"],
}
ALL = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(
            not all(find_spec(package) for package in packages), reason=f"needs {', '.join(packages)}"
        ),
    )
    for name, packages in NEEDED.items()
]


def run(
    contender: str, task: str, replies: Sequence[str | Mapping[str, Any]], folder: Path, *, max_seconds: float = 200
) -> Record:
    desk = Desk(ScriptedBrain(replies), "guided")
    with served(desk) as url:
        bench = Bench(desk=desk, url=url, style="guided", model="script", transcripts=folder, max_seconds=max_seconds)
        return bench.run(CONTENDERS[contender], TASKS[task])


@pytest.mark.parametrize("contender", ALL)
def test_every_framework_can_solve_a_task(contender: str, tmp_path: Path) -> None:
    record = run(contender, "enum_case", [call("set_priority", ticket=12, priority="high"), "Done."], tmp_path)

    assert record.error is None
    assert record.answer == "Done."
    assert (record.requests, record.calls) == (2, 1)
    assert judged(TASKS["enum_case"], record).is_solved


@pytest.mark.parametrize("contender", ALL)
def test_every_framework_runs_async_tools(contender: str, tmp_path: Path) -> None:
    record = run(contender, "async_tool", [call("get_quote", symbol="ACME"), "It costs 88.40."], tmp_path)

    assert judged(TASKS["async_tool"], record).is_solved


@pytest.mark.parametrize("contender", ["langchain", "pydantic-ai"])
def test_an_exception_that_comes_out_is_a_crash(contender: str, tmp_path: Path) -> None:
    if not all(find_spec(package) for package in NEEDED[contender]):
        pytest.skip(f"needs {contender}")

    record = run(contender, "misspelt_city", [call("get_weather", city="Pekin"), "21"], tmp_path)

    assert record.end == "crash"
    assert "Unknown city" in str(record.error)


def test_effects_are_known_though_the_run_was_stopped(tmp_path: Path) -> None:
    replies = [call("turn_on_lamp", room="study"), call("no_such_tool")]

    record = run("surehand", "two_acts", replies, tmp_path)

    assert ("lamp", "study") in record.effects
    assert record.requests <= MAX_REQUESTS


def test_a_run_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    record = run("surehand", "enum_case", ["Done."], tmp_path, max_seconds=0.2)

    assert record.end == "time"
    assert record.answer is None


def test_the_conversation_is_kept_for_reading(tmp_path: Path) -> None:
    run("surehand", "enum_case", ["I cannot."], tmp_path)

    (path,) = tmp_path.glob("*.json")
    assert path.name == "enum_case.surehand.guided.json"
    assert "I cannot." in path.read_text(encoding="utf-8")
