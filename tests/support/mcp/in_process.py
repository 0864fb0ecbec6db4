"""Our tools behind the SDK's server, with its client in the same process."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from mcp import Client
from mcp.types import CallToolResult, TextContent

from surehand.integrations.mcp.services import Service

__all__ = ["served", "text_of"]


@asynccontextmanager
async def served(tools: Any, *, mode: str = "auto", **options: Any) -> AsyncGenerator[Client]:
    """A client of our tools; ``mode`` is that of the SDK's client."""
    service = Service(tools, name="test", instructions="Be brief.", options=options)
    async with service.running(), Client(service.server, mode=mode) as client:
        yield client


def text_of(result: CallToolResult) -> str:
    """The texts of a result."""
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))
