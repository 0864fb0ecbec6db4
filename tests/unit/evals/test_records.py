"""Runs are kept, and found again as long as nothing they depend on has changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from evals.contenders import CONTENDERS
from evals.records import Record, Shelf, fingerprint, model_name, versions_of
from evals.tasks import TASKS
from evals.world import World, read_effects

OURS, TASK = CONTENDERS["surehand"], TASKS["enum_case"]

RECORD = Record(
    contender="surehand",
    task="enum_case",
    style="guided",
    model="m",
    fingerprint="0123",
    versions={"surehand": "0.1.0"},
    at="2027-01-01T00:00:00+00:00",
    end="answer",
    error=None,
    answer="Готово 👋",
    effects=(("tag", 7, ["a"]),),
    requests=2,
    calls=1,
    seconds=3.0,
    model_seconds=2.0,
)


def test_a_record_is_found_as_it_was_kept(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "deep" / "runs.jsonl")
    shelf.add(RECORD)

    assert shelf.find("0123") == RECORD
    assert shelf.find("4567") is None


def test_a_later_record_replaces_an_earlier_one(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "runs.jsonl")
    shelf.add(RECORD)
    shelf.add(replace(RECORD, answer="other"))

    assert [record.answer for record in shelf.all().values()] == ["other"]


def test_a_shelf_without_a_file_is_empty(tmp_path: Path) -> None:
    assert Shelf(tmp_path / "runs.jsonl").all() == {}


def test_a_fingerprint_stands_for_what_a_run_depends_on() -> None:
    same = fingerprint(OURS, TASK, "guided", "m")

    assert same == fingerprint(OURS, TASK, "guided", "m")
    assert same != fingerprint(OURS, TASK, "plain", "m")
    assert same != fingerprint(OURS, TASK, "guided", "other")
    assert same != fingerprint(OURS, TASKS["enum_class"], "guided", "m")
    assert same != fingerprint(CONTENDERS["langchain"], TASK, "guided", "m")


def test_a_model_is_named_after_its_file(tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(b"1234")

    assert model_name(path) == "tiny-4"


def test_versions_are_those_that_are_installed() -> None:
    assert set(versions_of(OURS)) >= {"surehand", "pydantic"}


def test_effects_are_kept_in_the_order_they_happened(tmp_path: Path) -> None:
    world = World(ledger=tmp_path / "effects.jsonl")
    world.did("send", "Zoë", ["a", "b"])
    world.did("stop")

    assert read_effects(world.ledger) == [("send", "Zoë", ["a", "b"]), ("stop",)]


def test_where_nothing_happened_there_are_no_effects(tmp_path: Path) -> None:
    assert read_effects(tmp_path / "effects.jsonl") == []


def test_a_world_counts_how_often_it_is_asked(tmp_path: Path) -> None:
    world = World(ledger=tmp_path / "effects.jsonl")

    assert [world.times("a"), world.times("a"), world.times("b")] == [1, 2, 1]
