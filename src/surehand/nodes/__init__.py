"""The nodes: executing tool calls, validating them, and running plain functions."""

from surehand.nodes.function_node import FunctionNode
from surehand.nodes.hand_loop import arun_tool_calls, run_tool_calls
from surehand.nodes.tool_node import ToolNode, tools_condition
from surehand.nodes.tool_sets import ToolSetFunction, ToolSetRequest
from surehand.nodes.validation_node import FormatError, ValidationNode

__all__ = [
    "FormatError",
    "FunctionNode",
    "ToolNode",
    "ToolSetFunction",
    "ToolSetRequest",
    "ValidationNode",
    "arun_tool_calls",
    "run_tool_calls",
    "tools_condition",
]
