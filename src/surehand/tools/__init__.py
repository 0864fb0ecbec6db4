"""The public face of tools: ``@tool``, ``BaseTool``, ``Tool`` and how they are declared to providers."""

from surehand.tools.options import OPTION_NAMES, CallOptions, OptionArguments, tool_options
from surehand.tools.tool import BaseTool, Tool, as_tools, tool

__all__ = ["OPTION_NAMES", "BaseTool", "CallOptions", "OptionArguments", "Tool", "as_tools", "tool", "tool_options"]
