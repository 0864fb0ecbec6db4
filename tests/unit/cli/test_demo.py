from __future__ import annotations

import json
from typing import Any

import pytest

import surehand as package
from support.command import surehand


@pytest.fixture(scope="module")
def lines() -> list[dict[str, Any]]:
    """What the demo tells a program."""
    ended = surehand("demo", "--json")
    assert (ended.code, ended.err) == (0, "")
    return [json.loads(line) for line in ended.out.splitlines()]


def scene(lines: list[dict[str, Any]], title: str) -> list[dict[str, Any]]:
    """The calls of the scene with this title."""
    [found] = [line for line in lines if line.get("title") == title]
    calls: list[dict[str, Any]] = found["calls"]
    return calls


def test_the_demo_says_that_its_model_is_recorded(lines: list[dict[str, Any]]) -> None:
    assert lines[0] == {"type": "opening", "model": "recorded", "question": lines[0]["question"]}


def test_the_demo_has_ten_scenes_and_keeps_all_promises(lines: list[dict[str, Any]]) -> None:
    assert [line["passed"] for line in lines if line["type"] == "scene"] == [True] * 10
    assert lines[-1] == {"type": "summary", "calls": 15, "answers": 15, "passed": True, "problems": []}


def test_each_call_of_the_demo_has_its_own_id(lines: list[dict[str, Any]]) -> None:
    ids = [call["id"] for line in lines if line["type"] == "scene" for call in line["calls"]]
    assert len(set(ids)) == 15


@pytest.mark.parametrize(
    ("title", "kinds"),
    [
        ("A reply cut off by the output limit", ["truncated"]),
        ("Broken JSON", [None, "malformed"]),
        ("Wrong types", [None, "invalid_arguments"]),
        ("A tool that does not exist", ["unknown_tool"]),
        ("A tool that hangs", ["timeout"]),
        ("A tool that is busy twice", [None]),
        ("A crash with a password and a key in its text", ["exception"]),
        ("Four calls at once", [None] * 4),
        ("A huge result", [None]),
    ],
)
def test_the_calls_of_a_scene_end_as_they_must(
    lines: list[dict[str, Any]], title: str, kinds: list[str | None]
) -> None:
    assert [call["outcome"]["kind"] for call in scene(lines, title)] == kinds


def test_the_busy_tool_is_tried_three_times(lines: list[dict[str, Any]]) -> None:
    [call] = scene(lines, "A tool that is busy twice")
    assert call["outcome"]["attempts"] == 3


def test_the_hanging_tool_is_answered_in_time(lines: list[dict[str, Any]]) -> None:
    [call] = scene(lines, "A tool that hangs")
    assert 0.49 < call["outcome"]["duration_s"] < 20  # a loop's timers come a little early


def test_no_secret_is_told(lines: list[dict[str, Any]]) -> None:
    [call] = scene(lines, "A crash with a password and a key in its text")
    assert "PermissionError" in call["told"]
    assert "Tr0ub4dor" not in json.dumps(lines)
    assert "sk-live" not in json.dumps(lines)


def test_the_demo_exits_with_1_when_a_promise_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unchecked(package.AIMessage):
        """A reply whose cut-off mark is lost, as with a client that drops it."""

        @property
        def is_cut_off(self) -> bool:
            return False

    monkeypatch.setattr("surehand.cli._scenes.AIMessage", Unchecked)
    ended = surehand("demo", "--fast")
    assert ended.code == 1
    assert "NOT KEPT" in ended.out
