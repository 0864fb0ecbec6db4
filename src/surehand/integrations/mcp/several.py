"""Tools of several servers, and of the program itself, as one set."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

from surehand.concurrency import run_sync
from surehand.errors import OptionError, ToolDefinitionError, ToolServerError
from surehand.integrations.mcp.servers import McpServer
from surehand.tools import BaseTool, as_tools
from surehand.wording import one_line

__all__ = ["McpServers"]

logger = logging.getLogger("surehand.mcp")


class McpServers:
    """Several servers, which start side by side, and tools of the program's own.

    Args:
        sources: Servers, and whatever can be a tool.

    Raises:
        OptionError: There is no source.
        ToolDefinitionError: Something is no tool.

    Example:
        with McpServers(McpServer.stdio("mcp-server-git"), McpServer.http(url, prefix="wiki"), add) as tools:
            node = ToolNode(tools)
    """

    def __init__(self, *sources: Any) -> None:
        if not sources:
            raise OptionError(option="sources", value=sources, expected="at least one server or tool")
        self._servers = [source for source in sources if isinstance(source, McpServer)]
        self._sources: list[McpServer | list[BaseTool]] = [
            source if isinstance(source, McpServer) else as_tools([source]) for source in sources
        ]

    def tools(self) -> list[BaseTool]:
        """The tools of all; see ``atools``."""
        return run_sync(self.atools)

    async def atools(self) -> list[BaseTool]:
        """The tools of all, in the order of the sources.

        Raises:
            ToolServerError: A server cannot be reached.
            ToolDefinitionError: Two tools share a name.
        """
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(_settled(server.atools())) for server in self._servers]
        return self._joined([_got(task.result()) for task in asked])

    async def __call__(self, request: object = None) -> list[BaseTool]:
        """The tools of a turn. A server that could not be reached yet has none; the others go on without it."""
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(_settled(server(request))) for server in self._servers]
        found = [task.result() for task in asked]
        for server, result in zip(self._servers, found, strict=True):
            if isinstance(result, ToolServerError):
                logger.error("a turn goes on without the tools of %s", one_line(server.name), exc_info=result)
        return self._joined([[] if isinstance(result, ToolServerError) else _got(result) for result in found])

    def _joined(self, of_servers: list[list[Any]]) -> list[BaseTool]:
        waiting = iter(of_servers)
        owners: dict[str, str] = {}
        joined: list[BaseTool] = []
        for source in self._sources:
            owner = repr(source) if isinstance(source, McpServer) else "the program"
            tools: Iterable[BaseTool] = next(waiting) if isinstance(source, McpServer) else source
            for tool in tools:
                if (other := owners.setdefault(tool.spec.name, owner)) != owner:
                    raise ToolDefinitionError(
                        tool=tool.spec.name,
                        problem=f"{other} and {owner} both have a tool of this name",
                        remedy="Give one of the servers a prefix, or leave the tool out with exclude.",
                    )
                joined.append(tool)
        return joined

    def close(self) -> None:
        """End all servers."""
        run_sync(self.aclose)

    async def aclose(self) -> None:
        """End all servers, side by side."""
        async with asyncio.TaskGroup() as group:
            for server in self._servers:
                group.create_task(server.aclose())

    def __enter__(self) -> Self:
        return run_sync(self.__aenter__)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        try:
            async with asyncio.TaskGroup() as group:
                begun = [group.create_task(_settled(server.__aenter__())) for server in self._servers]
            for task in begun:
                _got(task.result())
            self._joined([await server.atools() for server in self._servers])
        except BaseException:
            await self.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()


async def _settled(asked: Any) -> Any:
    """What is asked for, or the exception: one server that fails must not end the start of the others."""
    try:
        return await asked
    except Exception as error:  # noqa: BLE001 - raised again by whoever reads it
        return error


def _got(result: Any) -> Any:
    if isinstance(result, BaseException):
        raise result
    return result
