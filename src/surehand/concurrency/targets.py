"""Functions by name: what another process has to know to find the same function."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from surehand.errors import ToolDefinitionError

__all__ = ["MAIN", "ProcessTarget", "find_target", "process_target"]

MAIN: Final = "__main__"
_REMEDY: Final = "Define it as a function at the top level of a module, or leave isolation='process' out."


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessTarget:
    """Where a function is to be found."""

    tool: str
    """What to call it in messages."""
    module: str
    qualname: str
    """The function's path inside its module, or that of the tool that was made of it."""
    file: str | None = None
    """The module's file, for modules that are not found by their name; None where it has none."""


def process_target(function: Callable[..., Any], *, tool: str | None = None) -> ProcessTarget:
    """Where another process finds the function.

    Args:
        function: A function at the top level of a module or class. The attribute of its name may be the function itself
            or a tool that was made of it.
        tool: What to call it in messages; None for its own name.

    Raises:
        ToolDefinitionError: Another process could not find it.
    """
    name = tool or str(getattr(function, "__name__", None) or type(function).__name__)
    problem = _problem_of(function)
    if problem is not None:
        raise ToolDefinitionError(
            tool=name, problem=f"it cannot run in a process of its own: {problem}", remedy=_REMEDY
        )
    file = getattr(sys.modules[function.__module__], "__file__", None)
    return ProcessTarget(tool=name, module=function.__module__, qualname=function.__qualname__, file=file)


def _problem_of(function: Any) -> str | None:  # noqa: PLR0911 - one line a reason
    module, qualname = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not sys.executable or getattr(sys, "frozen", False):
        return "this program does not know the Python interpreter that runs it"
    if not isinstance(module, str) or not isinstance(qualname, str) or module not in sys.modules:
        return "it is an object without a name in a module"
    if "<lambda>" in qualname:
        return "a lambda has no name by which it is found"
    if "<locals>" in qualname:
        return f"{qualname.replace('.<locals>', '')!r} is defined inside another function"
    if getattr(function, "__self__", None) is not None:
        return f"{qualname!r} is bound to an object, which would stay behind"
    if module == MAIN and not has_main_file():
        return "it is defined in an interactive session, which has no file"
    if _found_in(sys.modules[module], qualname) is not function:
        return f"the module {module!r} has something else, or nothing, under {qualname!r}"
    return None


def has_main_file() -> bool:
    """Whether the main module of this program can be loaded again by another process."""
    main = sys.modules.get(MAIN)
    file = getattr(main, "__file__", None)
    return getattr(main, "__spec__", None) is not None or (isinstance(file, str) and Path(file).is_file())


def find_target(target: ProcessTarget) -> Callable[..., Any]:
    """The function that a target names.

    Raises:
        ImportError: Its module cannot be imported.
        AttributeError: Its module has nothing of that name.
    """
    function: Callable[..., Any] = _inner(_attribute(_module_of(target), target.qualname))
    return function


def _module_of(target: ProcessTarget) -> ModuleType:
    if target.module == MAIN:
        return sys.modules[MAIN]
    try:
        module = importlib.import_module(target.module)
    except ModuleNotFoundError as error:
        if target.file is None or not target.module.startswith(error.name or ""):
            raise
        return _loaded(target.module, target.file)
    # Some programs load modules by file, under names that mean something else, or nothing, to the import system.
    is_other = target.file is not None and getattr(module, "__file__", None) != target.file
    return _loaded(target.module, target.file) if is_other and target.file else module


def _loaded(name: str, file: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no module", name=name, path=file)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _found_in(module: ModuleType, qualname: str) -> Any:
    try:
        return _inner(_attribute(module, qualname))
    except AttributeError:
        return None


def _attribute(module: ModuleType, qualname: str) -> Any:
    return reduce(getattr, qualname.split("."), module)


def _inner(found: Any) -> Any:
    """The function that a tool stands for; anything else as it is."""
    return getattr(getattr(getattr(found, "spec", None), "body", None), "function", found)
