"""Sets of tools under one prefix, so that those of two servers do not meet under one name."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from surehand.errors import ToolDefinitionError
from surehand.policy import text
from surehand.spec import check_tool_name, export_names
from surehand.tools.base import BaseTool
from surehand.tools.collect import as_tools

__all__ = ["prefixed"]


def prefixed(prefix: str, tools: Iterable[Any]) -> list[BaseTool]:
    """Copies of the tools whose names begin with a prefix: ``search`` becomes ``github_search``.

    They are offered, called, answered, logged and given options under the new name, and are otherwise the same; the
    tools that were given keep theirs.

    Args:
        prefix: What the names begin with; an ``_`` stands between.
        tools: Whatever ``ToolNode`` takes.

    Raises:
        ToolDefinitionError: A name would be too long, or two tools would have one name, perhaps only on the wire.

    Example:
        ToolNode([*prefixed("github", github_tools), *prefixed("jira", jira_tools)])
    """
    text("prefix", prefix)
    renamed = [_renamed(tool, check_tool_name(f"{prefix}_{tool.spec.name}")) for tool in as_tools(tools)]
    names = [tool.spec.name for tool in renamed]
    for name in names:
        if names.count(name) > 1:
            raise ToolDefinitionError(
                tool=name, problem="two tools have this name", remedy="Rename one of them, or leave it out."
            )
    export_names(names)
    return renamed


def _renamed(tool: BaseTool, name: str) -> BaseTool:
    changed = copy.copy(tool)
    changed.__dict__["_spec"] = replace(tool.spec, name=name)
    changed.name = name
    return changed
