"""Runs are judged by what happened and what was said."""

from __future__ import annotations

from dataclasses import replace

from evals.answers import number
from evals.judge import judged
from evals.records import Record
from evals.task import Task

TASK = Task(
    name="refund",
    stress="effects",
    request="Refund 20 to both.",
    tools=lambda _: [],
    answer=number("20"),
    effects=(("refund", 1, 20), ("refund", 2, 20)),
)
GOOD = Record(
    contender="surehand",
    task="refund",
    style="plain",
    model="m",
    fingerprint="f",
    versions={},
    at="2027-01-01T00:00:00+00:00",
    end="answer",
    error=None,
    answer="Refunded 20.",
    effects=(("refund", 2, 20), ("refund", 1, 20)),
    requests=3,
    calls=2,
    seconds=5.0,
    model_seconds=4.0,
)


def test_all_effects_in_any_order_and_the_right_answer_solve_a_task() -> None:
    assert judged(TASK, GOOD).is_solved
    assert judged(TASK, GOOD).word == "solved"


def test_a_wrong_answer_does_not() -> None:
    verdict = judged(TASK, replace(GOOD, answer="Done."))

    assert not verdict.is_solved
    assert verdict.word == "wrong answer"


def test_an_effect_that_nobody_asked_for_is_wrong() -> None:
    verdict = judged(TASK, replace(GOOD, effects=(*GOOD.effects, ("refund", 3, 20))))

    assert verdict.has_wrong_effect
    assert not verdict.has_double_effect
    assert verdict.word == "wrong effect"


def test_an_effect_that_happened_too_often_is_double() -> None:
    verdict = judged(TASK, replace(GOOD, effects=(*GOOD.effects, ("refund", 1, 20))))

    assert verdict.has_double_effect
    assert not verdict.has_wrong_effect
    assert verdict.word == "double effect"


def test_an_effect_that_is_missing_leaves_the_task_unsolved() -> None:
    verdict = judged(TASK, replace(GOOD, effects=GOOD.effects[:1]))

    assert not verdict.is_solved
    assert verdict.word == "no effect"


def test_a_crash_is_a_crash_whatever_had_happened() -> None:
    verdict = judged(TASK, replace(GOOD, end="crash", answer=None, error="ValueError: no"))

    assert verdict.has_crashed
    assert verdict.word == "crash"


def test_a_run_that_had_to_be_stopped_is_no_crash() -> None:
    verdict = judged(TASK, replace(GOOD, end="time", answer=None))

    assert not verdict.has_crashed
    assert verdict.word == "no end"


def test_effects_that_hold_lists_are_compared() -> None:
    task = replace(TASK, effects=(("tag", 7, ["a", "b"]),))

    assert judged(task, replace(GOOD, effects=(("tag", 7, ["a", "b"]),))).is_solved
