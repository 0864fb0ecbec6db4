"""The tasks are what they say they are."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from evals.contenders.surehand_agent import idiom
from evals.task import Task
from evals.tasks import TASKS
from evals.tasks.results import LONG
from evals.world import World, as_offers, read_effects

from surehand import tool


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(ledger=tmp_path / "effects.jsonl", idiom=idiom())


@pytest.mark.parametrize("task", TASKS.values(), ids=list(TASKS))
def test_each_task_has_tools_that_can_be_offered(task: Task, world: World) -> None:
    offers = as_offers(task.tools(world))

    assert offers
    for offer in offers:
        assert inspect.getdoc(offer.function)
        assert tool(offer.function).spec.name == offer.function.__name__
    assert read_effects(world.ledger) == []


def test_no_answer_is_right_before_it_is_given() -> None:
    assert [task.name for task in TASKS.values() if task.answer("")] == []


def test_no_answer_stands_in_its_request() -> None:
    judged_by_answer = [task for task in TASKS.values() if not task.effects]

    assert [task.name for task in judged_by_answer if task.answer(task.request)] == []


@pytest.mark.parametrize("name", ["long_head", "long_middle", "long_tail"])
def test_long_results_are_long(name: str, world: World) -> None:
    (offer,) = as_offers(TASKS[name].tools(world))

    assert LONG <= len(offer.function()) <= LONG + 200
