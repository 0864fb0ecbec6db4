"""The public face of tools: ``@tool``, ``BaseTool``, ``Tool`` and how they are declared to providers."""

from surehand.tools.base import BaseTool
from surehand.tools.collect import as_tools
from surehand.tools.export import Adaptation, adaptations, export_names, original_names
from surehand.tools.function import Tool, tool
from surehand.tools.namespaces import prefixed
from surehand.tools.options import OPTION_NAMES, CallOptions, OptionArguments, tool_options
from surehand.tools.read_result import result_reader

__all__ = [
    "OPTION_NAMES",
    "Adaptation",
    "BaseTool",
    "CallOptions",
    "OptionArguments",
    "Tool",
    "adaptations",
    "as_tools",
    "export_names",
    "original_names",
    "prefixed",
    "result_reader",
    "tool",
    "tool_options",
]
