"""``surehand demo`` as a user starts it: a program of its own, without a terminal."""

from __future__ import annotations

import json
import time
from subprocess import CompletedProcess

import pytest

from support.pages import ROOT
from support.programs import run_python


def demo(*options: str, **environ: str) -> CompletedProcess[str]:
    return run_python("-W", "error", "-m", "surehand.cli", "demo", *options, cwd=ROOT, environ=environ)


@pytest.fixture(scope="module")
def shown() -> str:
    """What a reader sees."""
    start = time.monotonic()
    ended = demo("--fast")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert time.monotonic() - start < 45
    return ended.stdout


@pytest.mark.parametrize(
    "title",
    [
        "1. A reply cut off by the output limit",
        "2. Broken JSON",
        "3. Wrong types",
        "4. A tool that does not exist",
        "5. A tool that hangs",
        "6. A tool that is busy twice",
        "7. A crash with a password and a key in its text",
        "8. Four calls at once",
        "9. A huge result",
        "The end of the conversation",
    ],
)
def test_every_scene_is_shown(shown: str, title: str) -> None:
    assert title in shown


def test_every_call_shows_what_was_sent_done_and_told(shown: str) -> None:
    assert [shown.count(f"\n  {label} ") for label in ("model sends", "Surehand", "model is told")] == [15, 15, 15]


def test_the_recording_is_marked_as_one(shown: str) -> None:
    assert "The model is a recording" in shown


def test_the_summary_says_that_every_promise_was_kept(shown: str) -> None:
    assert "15 calls, 15 answers, exactly one each" in shown
    assert "Every promise was kept." in " ".join(shown.split())


def test_the_output_fits_80_columns_and_has_no_colour(shown: str) -> None:
    assert max(len(line) for line in shown.splitlines()) <= 80
    assert "\x1b" not in shown


def test_no_secret_is_shown(shown: str) -> None:
    assert "Tr0ub4dor" not in shown
    assert "sk-live" not in shown


def test_a_terminal_without_unicode_is_no_obstacle() -> None:
    ended = demo("--fast", PYTHONUTF8="0", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert ended.returncode == 0
    assert ended.stdout.isascii()


def test_json_is_one_object_a_line() -> None:
    ended = demo("--json")
    kinds = [json.loads(line)["type"] for line in ended.stdout.splitlines()]
    assert ended.returncode == 0
    assert kinds == ["opening", *["scene"] * 10, "summary"]
