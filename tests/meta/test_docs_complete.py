"""The documentation says everything there is to say, and nothing that is not so."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import surehand
from surehand import (
    CachePolicy,
    Checkpointer,
    CompiledGraph,
    PostgresSaver,
    SqliteSaver,
    StateGraph,
    interrupt,
)
from surehand.agent import ProviderStrategy, ToolStrategy
from surehand.errors import SurehandError
from surehand.events import Event
from surehand.outcomes import FailureKind

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
REQUIRED = [
    f"{letter}{number}"
    for letter, numbers in {
        "V": range(1, 8),
        "T": range(1, 9),
        "N": range(1, 16),
        "F": range(1, 5),
        "G": range(1, 6),
        "A": range(1, 5),
        "P": range(1, 9),
    }.items()
    for number in numbers
]


def descendants(cls: type[SurehandError]) -> Iterator[type[SurehandError]]:
    """The class and all classes below it."""
    yield cls
    yield from chain.from_iterable(descendants(child) for child in cls.__subclasses__())


def error_classes() -> list[type[SurehandError]]:
    """Every public error class of the package."""
    for module in pkgutil.walk_packages(surehand.__path__, "surehand."):
        if ".cli" not in module.name and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    ours = [cls for cls in descendants(SurehandError) if cls.__module__.startswith("surehand.")]
    return [cls for cls in ours if not cls.__name__.startswith("_")]


def section(page: str, heading: str) -> str:
    """The text under a heading of the second level; empty without one."""
    match = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    return match[1] if match else ""


@pytest.mark.parametrize("cls", error_classes(), ids=lambda cls: cls.__name__)
def test_every_error_class_is_explained_under_its_code(cls: type[SurehandError]) -> None:
    page = (DOCS / "errors.md").read_text(encoding="utf-8")

    assert f"`{cls.__name__}`" in section(page, cls.code)


def test_no_two_error_classes_share_a_code() -> None:
    codes = [cls.code for cls in error_classes()]

    assert len(codes) == len(set(codes))


def test_every_section_of_the_errors_page_belongs_to_an_error() -> None:
    page = (DOCS / "errors.md").read_text(encoding="utf-8")

    assert set(re.findall(r"^## (\w+)$", page, re.MULTILINE)) == {cls.code for cls in error_classes()}


def test_the_tree_on_the_errors_page_has_every_error_there_is() -> None:
    tree = (DOCS / "errors.md").read_text(encoding="utf-8").split("```")[1]

    assert [cls.__name__ for cls in error_classes() if f"{cls.__name__} " not in f"{tree} ".replace("\n", " ")] == []


@pytest.mark.parametrize("event", Event.__subclasses__(), ids=lambda event: event.__name__)
def test_every_event_is_in_the_reference_with_its_fields(event: type[Event]) -> None:
    page = (DOCS / "reference/index.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| `{event.__name__}` \|.*$", page, re.MULTILINE)

    own = {field.name for field in fields(event)} - {field.name for field in fields(Event)}
    assert [name for name in own if f"`{name}`" not in row] == []


@pytest.mark.parametrize("kind", FailureKind)
def test_every_failure_kind_is_explained(kind: FailureKind) -> None:
    assert f"`{kind}`" in (DOCS / "how-to/errors.md").read_text(encoding="utf-8")


def test_every_public_name_is_in_the_reference() -> None:
    pages = "\n".join((DOCS / name).read_text(encoding="utf-8") for name in ("reference/index.md", "errors.md"))

    assert [name for name in surehand.__all__ if not re.search(rf"`{re.escape(name)}\b", pages)] == []


OPTIONS: dict[str, tuple[Callable[..., Any], set[str]]] = {
    "add_node": (StateGraph.add_node, {"self", "node", "action", "retry_policy", "cache_policy"}),
    "compile": (StateGraph.compile, {"self"}),
    "stream": (CompiledGraph.stream, {"self", "input", "config"}),
    "CachePolicy": (CachePolicy, set()),
    "SqliteSaver": (SqliteSaver, set()),
    "PostgresSaver": (PostgresSaver, set()),
    "prune": (Checkpointer.prune, {"self"}),
    "interrupt": (interrupt, {"value"}),
    "ToolStrategy": (ToolStrategy, set()),
    "ProviderStrategy": (ProviderStrategy, set()),
}
"""By the heading on the page: whose options they are, and what is explained elsewhere."""


@pytest.mark.parametrize("name", OPTIONS)
def test_options_of_graphs_and_checkpointers_are_those_that_there_are(name: str) -> None:
    page = (DOCS / "reference/graph-options.md").read_text(encoding="utf-8")
    taker, elsewhere = OPTIONS[name]
    listed = re.findall(r"^\| `(\w+)` \|", section(page, f"`{name}`"), re.MULTILINE)

    assert listed == [option for option in inspect.signature(taker).parameters if option not in elsewhere]


def test_every_requirement_has_a_row() -> None:
    page = (DOCS / "requirements.md").read_text(encoding="utf-8")

    assert re.findall(r"^\| ([A-Z]\d+) \|", page, re.MULTILINE) == REQUIRED


def test_every_requirement_is_proved_by_a_test() -> None:
    page = (DOCS / "requirements.md").read_text(encoding="utf-8")

    assert re.findall(r"^\| ([A-Z]\d+) \|.*\| later \|$", page, re.MULTILINE) == []


def test_every_behaviour_has_one_row() -> None:
    page = (DOCS / "behaviours.md").read_text(encoding="utf-8")

    ids = re.findall(r"^\| ([A-Z]+-\d\d) \| \[[^]]+\]\(https://[^)]+\) \|", page, re.MULTILINE)

    assert (len(ids), len(set(ids))) == (139, 139)


def test_proofs_in_the_documentation_are_those_of_the_tests() -> None:
    command = [sys.executable, str(ROOT / "scripts/proofs.py"), "--check"]

    result = subprocess.run(command, capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("path", sorted((DOCS / "decisions").glob("0*.md")), ids=lambda path: path.stem)
def test_decisions_are_short_and_say_what_they_cost(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert len(text.splitlines()) <= 40
    assert [part for part in ("**Context.**", "**Options.**", "**Choice.**", "**Cost.**") if part not in text] == []


def headings(path: Path) -> list[str]:
    """The recipes that ``make help`` lists."""
    return re.findall(r"^([a-z-]+):.*?## ", path.read_text(encoding="utf-8"), re.MULTILINE)


def test_every_recipe_explains_itself() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)

    assert phony is not None
    assert set(phony[1].split()) == set(headings(ROOT / "Makefile"))


def test_every_test_is_typed() -> None:
    untyped = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and node.returns is None
    ]

    assert untyped == []
