"""What a tool node is told that needs more than one look: checked, and in the form that the calls take it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surehand.calls import ToolTable
from surehand.errors import OptionError
from surehand.policy import ToolOptions, are_exceptions, count, flag, mapping
from surehand.tools import tool_options

__all__ = ["fatal_types", "group_limits", "overriding", "stops_on_failure"]


def fatal_types(fatal: object) -> tuple[type[Exception], ...]:
    """The exception types that end a turn.

    Raises:
        OptionError: It is something else than types of exceptions.
    """
    if fatal == ():
        return ()
    if are_exceptions(fatal):
        return fatal if isinstance(fatal, tuple) else (fatal,)
    raise OptionError(option="fatal", value=fatal, expected="a subclass of Exception, or a tuple of them")


def stops_on_failure(stops: object, sequential: object) -> bool:
    """Whether the calls after a failed one are not run.

    Raises:
        OptionError: It is no bool, or nothing is after another.
    """
    if flag("stop_on_failure", stops) and not sequential:  # side by side, no call is after another
        raise OptionError(option="stop_on_failure", value=stops, expected="sequential=True beside it")
    return bool(stops)


def group_limits(groups: Mapping[str, int] | None, table: ToolTable | None) -> dict[str, int]:
    """How many calls of each group may run at a time.

    Args:
        groups: As it was given.
        table: The tools, each of whose groups has to have a limit; None where they are computed for each turn.

    Raises:
        OptionError: A limit is none, or a group lacks its limit or its tools.
    """
    given = {name: count(f"groups[{name!r}]", limit) for name, limit in mapping("groups", groups).items()}
    if table is None:  # which groups there are shows when the tools are computed
        return given
    named = {tool.options.group for tool in table if isinstance(tool.options.group, str)}
    if given.keys() != named:
        raise OptionError(
            option="groups",
            value=groups,
            expected=f"a limit for each group that a tool names: {', '.join(sorted(named)) or 'there is none'}",
        )
    return given


def overriding(overrides: Mapping[str, ToolOptions | Mapping[str, Any]] | None) -> dict[str, ToolOptions]:
    """The options of single tools, by name.

    Raises:
        OptionError: They are no options, or cannot be meant.
    """
    return {
        name: given if isinstance(given, ToolOptions) else tool_options(mapping(f"overrides[{name!r}]", given))
        for name, given in mapping("overrides", overrides).items()
    }
