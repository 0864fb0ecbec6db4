"""Functions by name: which of them another process finds, and where it looks."""

from __future__ import annotations

import functools
import operator
import sys
import types
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support import process_bodies, process_tools
from surehand import BaseTool, tool
from surehand.concurrency import ProcessTarget, process_target
from surehand.concurrency.targets import find_target
from surehand.errors import ToolDefinitionError


def plain(number: int) -> int:
    return number


def renamed() -> Callable[..., Any]:
    """A function whose name means another one by now."""

    def other() -> None: ...

    other.__qualname__ = "plain"
    return other


class Search(BaseTool):
    """A tool as a class."""

    def _run(self, query: str) -> str:
        return query


def local() -> Callable[..., Any]:
    def inner() -> None: ...

    return inner


@pytest.mark.parametrize(
    "function", [plain, process_bodies.echo, process_bodies.Holder.triple, process_tools.double.func]
)
def test_a_function_of_a_module_is_found_by_its_name(function: Callable[..., Any]) -> None:
    assert find_target(process_target(function)) is function


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (local(), "'local.inner' is defined inside another function"),
        (lambda: None, "a lambda has no name"),
        (process_bodies.Holder().method, "'Holder.method' is bound to an object"),
        (Search().spec.body.function, "'Search._run' is bound to an object"),
        (functools.partial(plain, 1), "an object without a name"),
        (operator.itemgetter(0), "an object without a name"),
        (renamed(), "has something else, or nothing, under 'plain'"),
    ],
)
def test_what_another_process_could_not_find_is_refused_in_words(function: Callable[..., Any], problem: str) -> None:
    with pytest.raises(ToolDefinitionError) as caught:
        process_target(function, tool="t")
    assert str(caught.value).startswith("Tool 't': it cannot run in a process of its own: ")
    assert problem in str(caught.value)
    assert "isolation='process'" in str(caught.value)


def test_a_session_without_a_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    session = types.ModuleType("__main__")
    exec("def f(): ...", session.__dict__)
    monkeypatch.setitem(sys.modules, "__main__", session)
    with pytest.raises(ToolDefinitionError, match="interactive session"):
        process_target(session.f)


def test_a_program_without_an_interpreter_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(ToolDefinitionError, match="interpreter"):
        process_target(plain)


def test_a_module_that_is_not_found_by_name_is_loaded_from_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "hidden.py"
    file.write_text("def f():\n    return 'found'\n", encoding="utf-8")
    for name in ("no.such.package.hidden", "json"):  # a name that nobody knows, and one that is taken
        monkeypatch.setitem(sys.modules, name, sys.modules.get(name))
        if name != "json":
            monkeypatch.delitem(sys.modules, name)
        assert find_target(ProcessTarget(tool="t", module=name, qualname="f", file=str(file)))() == "found"


def test_a_module_that_lacks_a_package_says_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "needy.py").write_text("import no_such_package\n", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    target = ProcessTarget(tool="t", module="needy", qualname="f", file=str(tmp_path / "needy.py"))
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        find_target(target)
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        find_target(replace(target, module="nowhere", file=None))


def test_a_tool_of_the_same_name_stands_for_its_function() -> None:
    @tool
    def f() -> None:
        """Do nothing."""

    module = types.ModuleType("tools_of_a_test")
    module.f = f  # type: ignore[attr-defined]  # as a decorator at the top of a module leaves it
    f.func.__module__, f.func.__qualname__ = module.__name__, "f"
    sys.modules[module.__name__] = module
    try:
        assert find_target(process_target(f.func)) is f.func
    finally:
        del sys.modules[module.__name__]
