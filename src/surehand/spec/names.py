"""The names of tools."""

from __future__ import annotations

import functools
import re
from typing import Any, Final

from surehand.errors import ToolDefinitionError, shown

__all__ = ["MAX_NAME_LENGTH", "check_tool_name", "name_of", "snake_case"]

MAX_NAME_LENGTH: Final = 64
"""The longest name that the providers take, in characters."""

_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def check_tool_name(name: object) -> str:
    """The name, if it can be a tool's.

    Names beyond letters, digits, ``_`` and ``-`` are fine here: the export gives them a form that providers take.

    Raises:
        ToolDefinitionError: The name is no text, empty, too long, has blanks at its ends or control characters.
    """
    if not isinstance(name, str):
        raise _refused(shown(name), f"its name is {shown(name)}, expected text")
    if (problem := _problem_of(name)) is not None:
        raise _refused(name[:MAX_NAME_LENGTH], problem)
    return name


def _refused(tool: str, problem: str) -> ToolDefinitionError:
    return ToolDefinitionError(
        tool=tool,
        problem=problem,
        remedy=f"Give it a name of 1 to {MAX_NAME_LENGTH} printable characters, such as 'get_weather'.",
    )


def _problem_of(name: str) -> str | None:
    if not name.strip():
        return "its name is empty"
    if name != name.strip():
        return f"its name {shown(name)} begins or ends with a blank"
    if not name.isprintable():
        return f"its name {shown(name)} holds a control character"
    if len(name) > MAX_NAME_LENGTH:
        return f"its name has {len(name)} characters"
    return None


def snake_case(name: str) -> str:
    """``SearchTheWeb`` as ``search_the_web``."""
    return _WORD_START.sub("_", name).lower()


def name_of(function: Any) -> str:
    """The name a callable goes by: its own, that of what a partial wraps, or its class in snake_case.

    Raises:
        ToolDefinitionError: The callable has no name that could be used, such as a lambda.
    """
    while isinstance(function, functools.partial | functools.partialmethod):
        function = function.func
    name = getattr(function, "__name__", None)
    if name is None:
        return check_tool_name(snake_case(type(function).__name__.strip("_")))
    if name == "<lambda>":
        raise ToolDefinitionError(
            tool="<lambda>", problem="a lambda has no name of its own", remedy="Give it one with name=."
        )
    return check_tool_name(name)
