"""Our tools, served to any MCP client: the doors."""

from __future__ import annotations

import importlib
import ipaddress
from collections.abc import Iterable
from typing import Any, Final

from surehand.concurrency import run_sync
from surehand.errors import MissingExtraError, OptionError
from surehand.nodes import ToolSetFunction

__all__ = ["aserve_mcp", "serve_mcp"]

_ADDRESS: Final = "an address of this machine, such as '127.0.0.1:8000'"
_LAST_PORT: Final = 65_535


def serve_mcp(
    tools: Iterable[Any] | ToolSetFunction,
    *,
    name: str = "surehand",
    instructions: str | None = None,
    http: str | None = None,
    **options: Any,
) -> None:
    """Serve tools until the client leaves, or the program is told to end; see ``aserve_mcp``."""
    run_sync(lambda: aserve_mcp(tools, name=name, instructions=instructions, http=http, **options))


async def aserve_mcp(
    tools: Iterable[Any] | ToolSetFunction,
    *,
    name: str = "surehand",
    instructions: str | None = None,
    http: str | None = None,
    **options: Any,
) -> None:
    """Serve tools over MCP until the client leaves, or the program is told to end (SIGTERM).

    Every call goes through a ``ToolNode``: validation, retries, timeouts, limits and redaction are those of any call.
    A tool that needs an approval asks the client's human where the client can, and is denied where it cannot.

    Over standard input and output, which the protocol then has to itself: what tools print goes to standard error.

    Args:
        tools: Whatever ``ToolNode`` takes: a list, or a function that gives the tools of the moment.
        name: What the server calls itself.
        instructions: What a client may tell its model about these tools; None for nothing.
        http: ``HOST:PORT`` for streamable HTTP under ``/mcp`` instead. The host has to be this machine, because nobody
            is asked who he is.
        **options: As on ``ToolNode``.

    Raises:
        MissingExtraError: The ``mcp`` extra is not installed.
        OptionError: An option has a value that cannot be meant.

    Example:
        serve_mcp([search, book], name="shop", timeout=10)
    """
    address = None if http is None else _address(http)
    service = _services().Service(tools, name=name, instructions=instructions, options=options)
    if address is None:
        await service.serve_pipes()
    else:
        await service.serve_http(*address)


def _services() -> Any:
    try:
        importlib.import_module("mcp")
    except ImportError as error:
        raise MissingExtraError(feature="Serving tools over MCP", package="mcp", extra="mcp") from error
    return importlib.import_module("surehand.integrations.mcp.services")


def _address(given: object) -> tuple[str, int]:
    host, _, port = given.rpartition(":") if isinstance(given, str) else ("", "", "")
    if not port.isdecimal() or int(port) > _LAST_PORT or not _is_local(host.strip("[]")):
        raise OptionError(
            option="http",
            value=given,
            expected=_ADDRESS,
            remedy="To be reached from elsewhere, put a proxy before it that knows who may call.",
        )
    return host.strip("[]"), int(port)


def _is_local(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
