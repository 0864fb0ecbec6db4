"""From ``MODULE[:NAME]`` on the command line to tools."""

from __future__ import annotations

import difflib
import importlib
import inspect
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from surehand import BaseTool, Tool
from surehand.cli._errors import CommandError
from surehand.foreign import as_own_tool, is_langchain

__all__ = ["Target", "load_one_tool", "load_tools"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What stands before and after the colon of ``MODULE:NAME``."""

    module: str
    """A dotted name, or the path of a Python file."""
    name: str | None = None
    """A tool's name, or the variable that holds a tool, a function or a list of them; None for all tools."""

    @classmethod
    def read(cls, text: str) -> Target:
        """Split at the last colon, unless what follows is no name (a drive letter's colon is followed by a path)."""
        module, colon, name = text.rpartition(":")
        if colon and module and "/" not in name and "\\" not in name:
            return cls(module=module, name=name or None)
        return cls(module=text)


def load_tools(text: str) -> list[BaseTool]:
    """The tools that ``MODULE[:NAME]`` names, in the order of the module.

    Raises:
        CommandError: There is no such module or name, the module cannot be imported, or it holds no tools.
    """
    target = Target.read(text)
    module = _load_module(target.module)
    tools = _tools_in(module)
    if target.name is not None:
        return _named(target, module, tools)
    if not tools:
        raise CommandError(
            problem=f"{target.module!r} holds no tools",
            remedy=f"Expected variables made by @tool, or a function named as in {target.module}:NAME.",
        )
    return tools


def load_one_tool(text: str) -> BaseTool:
    """The one tool that ``MODULE[:TOOL]`` names.

    Raises:
        CommandError: As ``load_tools``, or there are several tools and none was named.
    """
    tools = load_tools(text)
    if len(tools) > 1:
        names = ", ".join(tool.name for tool in tools)
        raise CommandError(
            problem=f"{text!r} holds {len(tools)} tools",
            remedy=f"Name one, as in {Target.read(text).module}:NAME: {names}.",
        )
    return tools[0]


def _load_module(name: str) -> ModuleType:
    is_file = _is_file(name)
    _put_on_path(Path(name).resolve().parent if is_file else Path.cwd())
    try:
        return _run_file(Path(name)) if is_file else importlib.import_module(name)
    except (Exception, SystemExit) as error:  # the module is the user's code and may raise anything
        if isinstance(error, ModuleNotFoundError) and _is_within(name, error.name):
            raise CommandError(
                problem=f"There is no module {name!r}",
                remedy=f"Give a module that can be imported from {str(Path.cwd())!r}, or the path of a Python file.",
            ) from error
        raise CommandError(
            problem=f"{name!r} cannot be imported: {type(error).__name__}: {error}".rstrip(": ."),
            remedy="Correct the module, and keep what it runs under `if __name__ == '__main__'`.",
        ) from error


def _is_file(name: str) -> bool:
    """Whether the name is a Python file's path; False for a module's dotted name.

    Raises:
        CommandError: It is neither.
    """
    path = Path(name)
    if path.suffix == ".py":
        if path.is_file():
            return True
        raise CommandError(problem=f"There is no file {name!r}", remedy="Give the path of a Python file that exists.")
    if not path.exists() and all(part.isidentifier() for part in name.split(".")):
        return False
    if path.is_dir() and name.isidentifier():
        return False  # a package in the working directory
    raise CommandError(
        problem=f"{name!r} is neither a module nor a Python file",
        remedy="Give a dotted name such as shop.tools, or a path that ends in .py.",
    )


def _is_within(name: str, missing: str | None) -> bool:
    """Whether it is the named module itself that is missing, or a package on the way to it."""
    return missing is not None and f"{name}.".startswith(f"{missing}.")


def _put_on_path(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _run_file(path: Path) -> ModuleType:
    is_taken = path.stem in sys.modules or path.stem in sys.stdlib_module_names
    name = f"{path.stem}_py" if is_taken else path.stem  # a file json.py must not take the place of json
    loader = SourceFileLoader(name, str(path.resolve()))
    module = ModuleType(name)
    module.__file__ = loader.path
    sys.modules[name] = module  # annotations of its tools are looked up there
    loader.exec_module(module)
    return module


def _tools_in(module: ModuleType) -> list[BaseTool]:
    found: dict[int, BaseTool] = {}
    for value in _variables(module).values():
        candidates = cast("Iterable[Any]", value) if isinstance(value, list | tuple) else (value,)
        found.update({id(each): tool for each in candidates if (tool := _tool_in(each)) is not None})
    return list(found.values())


def _tool_in(value: object) -> BaseTool | None:
    """The value where it is a tool, ours or LangChain's; None for anything else."""
    if isinstance(value, BaseTool):
        return value
    if is_langchain(value, "langchain_core.tools.") and hasattr(value, "args_schema"):
        return cast("BaseTool", as_own_tool(value))
    return None


def _named(target: Target, module: ModuleType, tools: list[BaseTool]) -> list[BaseTool]:
    by_name = [tool for tool in tools if tool.name == target.name]
    if by_name:
        return by_name
    value = _variables(module).get(target.name or "")
    made = _made_from(value)
    if made:
        return made
    known = [tool.name for tool in tools]
    near = difflib.get_close_matches(target.name or "", known, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else f"Its tools are: {', '.join(known) or 'none'}."
    raise CommandError(problem=f"{target.module!r} has no tool {target.name!r}", remedy=hint)


def _made_from(value: object) -> list[BaseTool]:
    """The tools in a variable: a tool, a tool class, a function or a list of these; none for anything else."""
    if (tool := _tool_in(value)) is not None:
        return [tool]
    if inspect.isclass(value) and issubclass(value, BaseTool):
        return [value()]
    if inspect.isroutine(value):
        return [Tool.from_function(value)]
    if isinstance(value, list | tuple):
        return [tool for item in cast("Iterable[object]", value) for tool in _made_from(item)]
    return []


def _variables(module: ModuleType) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", vars(module))
