"""The import contracts of pyproject.toml hold."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))


def test_import_contracts_hold() -> None:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache"]

    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stdout + result.stderr


def attribute_calls(path: Path, name: str) -> Iterator[str]:
    """Where a method of that name is called; the linter cannot ban what it has no import for."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name:
            yield f"{path.relative_to(ROOT)}:{node.lineno}"


@pytest.mark.parametrize("name", ["run_in_executor", "set_default_executor", "run_until_complete"])
def test_event_loops_are_driven_in_one_package_only(name: str) -> None:
    outside = [path for path in SOURCES if "concurrency" not in path.parts]

    assert [place for path in outside for place in attribute_calls(path, name)] == []


def imports_of(path: Path) -> set[str]:
    """The names of all modules that a file imports, wherever it does."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT / "src").as_posix())
def test_no_module_imports_another_packages_private_module(path: Path) -> None:
    own = path.parent.relative_to(ROOT / "src").as_posix().replace("/", ".")

    private = [name for name in imports_of(path) if "._" in name and name.startswith("surehand")]

    assert [name for name in private if not name.startswith(own)] == []


def test_the_package_imports_what_it_declares() -> None:
    declared = {"pydantic", "pydantic_core", "docstring_parser"} | {
        "anthropic",
        "google",
        "httpx",
        "jsonschema_rs",
        "langchain",
        "langchain_core",
        "langgraph",
        "mcp",
        "openai",
        "opentelemetry",
        "psycopg",
        "psycopg_pool",
        "resvg_py",
        "rich",
        "typer",
    }
    carried = {
        "anyio",
        "click",
        "httpx2",
        "langsmith",
        "typing_extensions",
    }  # what pydantic, the SDKs and typer show in their own interfaces

    tops = {name.split(".")[0] for path in SOURCES for name in imports_of(path) if name}

    assert tops - declared - carried - {"surehand"} - sys.stdlib_module_names == set()


def test_importing_surehand_imports_no_optional_package() -> None:
    optional = ["anthropic", "google", "httpx", "jsonschema_rs", "langchain", "langchain_core", "langgraph", "mcp"]
    optional += ["numpy", "openai", "opentelemetry", "pandas", "rich", "typer"]
    load = "import sys; from surehand import *; import surehand.testing"
    probe = f"{load}; print([name for name in {optional!r} if name in sys.modules])"

    result = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)

    assert result.stdout.strip() == "[]"


def files_with_mocks() -> Iterator[str]:
    """Test files that import a mocking library."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        if imports_of(path) & {"mock", "unittest.mock"}:
            yield path.relative_to(ROOT).as_posix()


def test_no_test_uses_mocks() -> None:
    as_data = {"tests/unit/calls/results/test_render.py"}  # a mock as a tool's result

    assert set(files_with_mocks()) - as_data == set()


def test_no_modules_import_one_another_in_a_circle() -> None:
    """Imports for type checkers count: a circle of knowledge is one, whenever it is imported."""
    graph = grimp.build_graph("surehand")

    TopologicalSorter({module: graph.find_modules_directly_imported_by(module) for module in graph.modules}).prepare()
    assert len(graph.modules) > 100
