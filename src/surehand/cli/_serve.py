"""What ``surehand serve-mcp`` does: the tools of a module, for any MCP client."""

from __future__ import annotations

import sys
from contextlib import nullcontext, redirect_stdout

from surehand import serve_mcp
from surehand.cli._modules import load_tools

__all__ = ["serve"]


def serve(module: str, *, name: str | None, http: str | None) -> None:
    """Serve the tools that ``MODULE[:NAME]`` names until the client leaves."""
    # What the module prints while it is imported must not get into the protocol.
    with redirect_stdout(sys.stderr) if http is None else nullcontext():
        tools = load_tools(module)
    if http is not None:
        print(f"http://{http}/mcp", file=sys.stderr)
    serve_mcp(tools, name=name or module.rpartition("/")[2].removesuffix(".py"), http=http)
