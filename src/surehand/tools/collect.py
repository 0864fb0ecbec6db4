"""Tools from whatever can be one."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from surehand.errors import OptionError, ToolDefinitionError, shown
from surehand.foreign import as_own_tool, is_langchain
from surehand.shapes import is_object
from surehand.tools.base import BaseTool
from surehand.tools.function import Tool

__all__ = ["as_tools"]


def as_tools(objects: Iterable[Any]) -> list[BaseTool]:
    """Tools from whatever can be one: tools, callables, model classes, declarations in a provider's form.

    A model class or a bare declaration becomes a tool that answers with its validated arguments.

    Raises:
        ToolDefinitionError: Something among the objects cannot be a tool.
    """
    if isinstance(objects, str | Mapping) or not hasattr(objects, "__iter__"):
        raise OptionError(option="tools", value=objects, expected="a list of tools")
    return [_as_tool(item) for item in objects]


def _as_tool(item: Any) -> BaseTool:
    if isinstance(item, BaseTool):
        return item
    if isinstance(item, type) and issubclass(item, BaseTool):
        raise ToolDefinitionError(
            tool=item.__name__, problem="a tool class was given instead of a tool", remedy=f"Pass {item.__name__}()."
        )
    if isinstance(item, type):
        doc = inspect.cleandoc(item.__doc__ or "")
        return Tool.from_function(_echo, name=item.__name__, description=doc, args_schema=item)
    if is_langchain(item, "langchain_core.tools."):
        found: BaseTool = as_own_tool(item)
        return found
    if is_object(item):
        return _declared(item)
    if callable(getattr(item, "tools", None)):  # a server of tools; being callable, it would pass for a function
        raise ToolDefinitionError(
            tool=shown(item),
            problem="it holds tools and is none itself",
            remedy="Pass it alone, in place of the list, or the tools that it gives: *server.tools().",
        )
    if callable(item):
        return Tool.from_function(item)
    raise ToolDefinitionError(
        tool=shown(item), problem="it is no tool", remedy="Pass a tool, a function, a model class or a declaration."
    )


def _declared(declaration: Mapping[str, Any]) -> BaseTool:
    """A declaration in the form of OpenAI, Anthropic or MCP."""
    inner: Mapping[str, Any] = declaration.get("function", declaration)
    schema = next((inner[key] for key in ("parameters", "input_schema", "inputSchema") if key in inner), None)
    name = inner.get("name")
    if not isinstance(name, str) or not is_object(schema):
        raise ToolDefinitionError(
            tool=shown(name), problem="a declaration needs a name and a schema", remedy="Pass name and parameters."
        )
    return Tool.from_json_schema(name, schema, _echo, description=str(inner.get("description") or ""))


def _echo(**arguments: Any) -> dict[str, Any]:
    return arguments
