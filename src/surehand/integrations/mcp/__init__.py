"""MCP, from both sides: the tools of any server for a node, and our own tools for any client.

This package imports without the SDK, so that it can be looked at anywhere; what needs it is imported when a server is
started.
"""

from surehand.integrations.mcp.options import McpOptions
from surehand.integrations.mcp.servers import McpServer
from surehand.integrations.mcp.serving import aserve_mcp, serve_mcp
from surehand.integrations.mcp.several import McpServers

__all__ = ["McpOptions", "McpServer", "McpServers", "aserve_mcp", "serve_mcp"]
