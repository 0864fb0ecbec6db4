"""Paired, repeated timing of contenders that do the same work."""

from __future__ import annotations

import gc
import json
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median, quantiles

RESULTS = Path(__file__).resolve().parent / "results"
PACKAGES = ("surehand", "pydantic", "langgraph", "langgraph-prebuilt", "langchain-core", "langchain")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """One way of doing the work of a case."""

    name: str
    run: Callable[[], object]
    calls: int = 1
    """How many calls one run makes; times are given per call."""
    times_itself: bool = False
    """Whether a run returns its own time in seconds, as one in another process has to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Work that several contenders do; ``ours`` is the name of the one that the others are compared with."""

    title: str
    ours: str
    contenders: tuple[Contender, ...]
    rounds: int = 30
    goal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What was measured for one contender, in microseconds per call."""

    case: str
    name: str
    median_us: float
    q1_us: float
    q3_us: float
    times_ours: float
    """The median of the rounds' own ratios to our time."""


def timed(contender: Contender) -> float:
    """Seconds per call of one run, without a garbage collection in the middle."""
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter()
        result = contender.run()
        elapsed = time.perf_counter() - start
    finally:
        gc.enable()
    return (float(str(result)) if contender.times_itself else elapsed) / contender.calls


def measure(case: Case) -> list[Row]:
    """Run all contenders in turns; each round begins with another one."""
    for contender in case.contenders:
        contender.run()
    rounds: list[dict[str, float]] = []
    for number in range(case.rounds):
        turn = number % len(case.contenders)
        order = case.contenders[turn:] + case.contenders[:turn]
        rounds.append({contender.name: timed(contender) for contender in order})
    return [row_of(case, contender.name, rounds) for contender in case.contenders]


def row_of(case: Case, name: str, rounds: list[dict[str, float]]) -> Row:
    """Medians and quartiles of one contender."""
    times = [1e6 * times[name] for times in rounds]
    q1, middle, q3 = quantiles(times, n=4)
    ratio = median(times[name] / times[case.ours] for times in rounds)
    return Row(case=case.title, name=name, median_us=middle, q1_us=q1, q3_us=q3, times_ours=ratio)


def table(case: Case, rows: Iterable[Row]) -> Iterator[str]:
    """The lines to print."""
    yield f"\n{case.title}"
    yield f"  {'':<44}{'median':>11}{'q1 – q3':>22}{'x ours':>9}"
    for row in rows:
        span = f"{row.q1_us:,.1f} – {row.q3_us:,.1f}"
        yield f"  {row.name:<44}{row.median_us:>8,.1f} µs{span:>22}{row.times_ours:>9.2f}"
    if case.goal:
        yield f"  Goal: {case.goal}"


def environment() -> dict[str, str]:
    """What the numbers were measured on."""
    facts = {"python": platform.python_version(), "machine": platform.machine(), "system": platform.system()}
    for package in PACKAGES:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            continue
    return facts


def save(rows: Iterable[Row]) -> Path:
    """Write the results as JSON beside this file; the folder is not under version control."""
    RESULTS.mkdir(exist_ok=True)
    now = datetime.now(tz=UTC)
    path = RESULTS / f"{now:%Y%m%d-%H%M%S}.json"
    facts = {"at": now.isoformat(), "argv": sys.argv[1:], "environment": environment()}
    measured = [{name: getattr(row, name) for name in Row.__slots__} for row in rows]
    path.write_text(json.dumps({**facts, "rows": measured}, indent=1), encoding="utf-8")
    return path
