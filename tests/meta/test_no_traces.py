"""What is in the repository is about the product alone: no path of a machine, no secret, no leftover."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = "tests/data/"
FORBIDDEN = {
    "a path of this machine": "|".join(rf"{re.escape(str(place))}\b" for place in (ROOT, ROOT.parent / "shared")),
    "a folder beside the checkout": r"\.\./shared\b",
    "an unfinished spot": r"\b(?:TODO|FIXME|XXX)\b|raise NotImplementedError",
    "a merge conflict": r"^(?:<{7} |>{7} )",
}
FORBIDDEN_OUTSIDE_TESTS = {
    "a home folder": r"(?<![\w.:/])/(?:home|Users|root)/\w",
    "a private key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
    "a local package index": r"file:///|--find-links",
}
ALLOWED = {"tests/meta/test_no_traces.py", "tests/support/data.py", ".ci/run"}


def tracked_files() -> list[str]:
    """The files under version control; all files of the source folders where there is no git."""
    result = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if result.returncode == 0:
        return [name for name in result.stdout.split("\0") if name and (ROOT / name).is_file()]
    return [path.relative_to(ROOT).as_posix() for folder in ("src", "tests") for path in (ROOT / folder).rglob("*.*")]


def own_texts() -> Iterator[tuple[str, str]]:
    """Each tracked text file of our own, with its text; recorded data is somebody else's."""
    for name in tracked_files():
        if not name.startswith(DATA) and name not in ALLOWED:
            try:
                yield name, (ROOT / name).read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue


def places(pattern: str, texts: Iterable[tuple[str, str]]) -> list[str]:
    """Where the pattern is found."""
    return [
        f"{name}:{text.count(chr(10), 0, match.start()) + 1} {match[0]}"
        for name, text in texts
        for match in re.finditer(pattern, text, re.MULTILINE)
    ]


@pytest.mark.parametrize("pattern", FORBIDDEN.values(), ids=list(FORBIDDEN))
def test_no_file_holds(pattern: str) -> None:
    assert places(pattern, own_texts()) == []


@pytest.mark.parametrize("pattern", FORBIDDEN_OUTSIDE_TESTS.values(), ids=list(FORBIDDEN_OUTSIDE_TESTS))
def test_no_file_but_a_test_holds(pattern: str) -> None:
    texts = [(name, text) for name, text in own_texts() if not name.startswith("tests/")]

    assert places(pattern, texts) == []


def test_lock_names_the_public_index_only() -> None:
    lock = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))

    sources = [package["source"] for package in lock["package"] if package["name"] != "surehand"]
    urls = re.findall(r'url = "(https?://[^/"]+)', (ROOT / "uv.lock").read_text(encoding="utf-8"))

    assert {source.get("registry") for source in sources} == {"https://pypi.org/simple"}
    assert set(urls) == {"https://files.pythonhosted.org"}


def test_lock_holds_what_the_project_asks_for() -> None:
    lock = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (locked,) = (package for package in lock["package"] if package["name"] == "surehand")

    asked = {
        (re.split(r"[\[<>=!~ ]", requirement)[0], extra)
        for extra, requirements in project["project"]["optional-dependencies"].items()
        for requirement in requirements
        if not requirement.startswith("surehand")
    }
    held = {
        (dependency["name"], extra)
        for extra, dependencies in locked["optional-dependencies"].items()
        for dependency in dependencies
    }

    assert asked <= held
    assert {re.split(r"[<>=!~ ]", name)[0] for name in project["project"]["dependencies"]} == {
        dependency["name"] for dependency in locked["dependencies"]
    }


def test_no_large_file_is_tracked() -> None:
    large = [name for name in tracked_files() if (ROOT / name).stat().st_size > 2_000_000]

    assert large == []
