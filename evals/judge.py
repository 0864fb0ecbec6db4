"""Whether a run did what was asked: by what happened and by what was said, never by how."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from evals.records import Record
from evals.task import Task
from evals.world import Effect

__all__ = ["Verdict", "judged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What one run is worth."""

    is_solved: bool
    has_wrong_effect: bool
    """Something happened that was not asked for."""
    has_double_effect: bool
    """Something that was asked for happened too often."""
    has_crashed: bool
    word: str
    """The verdict in a word or two, for the table."""


def judged(task: Task, record: Record) -> Verdict:
    """The verdict on one run."""
    wanted, happened = _counted(task.effects), _counted(record.effects)
    wrong = any(effect not in wanted for effect in happened)
    double = any(happened[effect] > count for effect, count in wanted.items())
    missing = any(happened[effect] < count for effect, count in wanted.items())
    is_right = record.answer is not None and task.answer(record.answer)
    is_solved = record.end == "answer" and is_right and not (wrong or double or missing)
    return Verdict(
        is_solved=is_solved,
        has_wrong_effect=wrong,
        has_double_effect=double,
        has_crashed=record.end == "crash",
        word=_word(record, wrong=wrong, double=double, missing=missing, is_solved=is_solved),
    )


def _word(record: Record, *, wrong: bool, double: bool, missing: bool, is_solved: bool) -> str:
    """The worst that can be said of the run."""
    said = {
        "solved": is_solved,
        "wrong effect": wrong,
        "double effect": double,
        "crash": record.end == "crash",
        "no end": record.end in ("time", "requests"),
        "no effect": missing,
    }
    return next((word for word, holds in said.items() if holds), "wrong answer")


def _counted(effects: Iterable[Effect]) -> Counter[str]:
    """How often each effect happened; as text, for details may be lists."""
    return Counter(json.dumps(effect, ensure_ascii=False, sort_keys=True) for effect in effects)
