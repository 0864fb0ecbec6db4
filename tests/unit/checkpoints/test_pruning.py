"""What is forgotten with old checkpoints, and what has to stay."""

from __future__ import annotations

import time

import pytest

from surehand import OptionError
from surehand.checkpoints.pruning import Retention, is_at_or_below, is_inside_step, needed_versions

NEWEST_FIRST = [("d", 40.0), ("c", 30.0), ("b", 20.0), ("a", 10.0)]


@pytest.mark.parametrize(
    ("keep", "created_before", "gone"),
    [
        (1, None, ["c", "b", "a"]),
        (3, None, ["a"]),
        (9, None, []),
        (1, 30.0, ["b", "a"]),
        (3, 30.0, ["a"]),
        (1, 10.0, []),
        (1, 99.0, ["c", "b", "a"]),
    ],
)
def test_what_is_to_stay_by_either_stays(keep: int, created_before: float | None, gone: list[str]) -> None:
    assert Retention(keep=keep, created_before=created_before).forgotten(NEWEST_FIRST) == gone


def test_the_newest_alone_stays_where_nothing_else_is_said() -> None:
    assert Retention.of(keep=None, older_than=None) == Retention(keep=1, created_before=None)


def test_an_age_counts_from_now() -> None:
    before = Retention.of(keep=2, older_than=100).created_before
    assert before == pytest.approx(time.time() - 100, abs=10)


@pytest.mark.parametrize(
    "options", [{"keep": 0}, {"keep": True}, {"keep": "2"}, {"older_than": -0.1}, {"older_than": "1"}]
)
def test_what_cannot_be_meant_is_refused(options: dict[str, int]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        Retention.of(**{"keep": None, "older_than": None, **options})


def test_below_a_namespace_is_what_its_path_leads_to() -> None:
    spaces = ["a", "a/b", "a/b/c", "ab", "a0", "", "b/a"]
    assert [space for space in spaces if is_at_or_below(space, "a")] == ["a", "a/b", "a/b/c"]


def test_inside_of_a_step_is_what_begins_with_its_id() -> None:
    spaces = ["", "1:0", "1:0/1:1", "2:0", "2:0/1:0", "11:0", "1", "1/2:0"]
    assert [space for space in spaces if is_inside_step(space, "", {"1"})] == ["1:0", "1:0/1:1"]
    assert [space for space in spaces if is_inside_step(space, "2:0", {"1", "7"})] == ["2:0/1:0"]


def test_versions_are_needed_as_far_as_chains_lead() -> None:
    previous = {("a", 1): None, ("a", 2): 1, ("a", 3): 2, ("a", 4): 2, ("b", 1): None, ("b", 2): None}
    assert needed_versions([{"a": 4, "b": 2}], previous) == {("a", 4), ("a", 2), ("a", 1), ("b", 2)}
    assert needed_versions([{"a": 3}, {"a": 4}], previous) == {("a", version) for version in range(1, 5)}


def test_loops_and_missing_versions_end_a_chain() -> None:
    assert needed_versions([{"a": 3, "z": 9}], {("a", 3): 2, ("a", 2): 3}) == {("a", 2), ("a", 3)}
