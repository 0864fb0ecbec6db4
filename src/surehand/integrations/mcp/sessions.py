"""One life of a connection to a server: from the start of its process to the end of the last pipe.

A session belongs to one task, which opens it, waits until it is over, and closes it: the SDK's scopes cannot be left by
another task than the one that entered them. Calls come from other tasks of the same loop.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Final, Protocol, TypeAlias

from mcp import Client, MCPError
from mcp.types import Implementation, ToolListChangedNotification
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from surehand.errors import ToolServerError
from surehand.integrations.mcp.launches import Launch, StdioLaunch
from surehand.integrations.mcp.links import LastWords, linked
from surehand.integrations.mcp.starts import StartFailure, failure_of
from surehand.integrations.mcp.taps import Exchange, Tap, exchange_now
from surehand.shapes import is_object, items_of, leaf_errors
from surehand.wording import one_line

__all__ = ["Callbacks", "Progress", "Session", "Settings"]

logger = logging.getLogger("surehand.mcp")

_MAX_PAGES: Final = 1_000
"""How many pages a list of tools may have: one without an end must not hold up a start."""

Callbacks: TypeAlias = Mapping[str, Callable[..., Awaitable[Any]]]
"""What a server may ask its client for: the SDK's keyword -> the host's function."""


class Progress(Protocol):
    """Told how far a call is."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """As the protocol's notification has it; None where the server does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What holds for every session with a server."""

    name: str
    """What the server is called."""
    launch: Launch
    start_timeout: float
    """Seconds until it has to be ready."""
    callbacks: Callbacks


class Session:
    """One life of a connection; ``keep`` is the task that it belongs to.

    Args:
        settings: How the server is reached.
        on_change: Called when the server says that its tools have changed.
    """

    def __init__(self, settings: Settings, on_change: Callable[[], None]) -> None:
        self._settings = settings
        self._on_change = on_change
        self._tap = Tap(self.end, is_direct=isinstance(settings.launch, StdioLaunch))
        self._last_words = LastWords(settings.name, settings.launch)
        self._settled = asyncio.Event()
        self._ending = asyncio.Event()
        self._starting: asyncio.Timeout | None = None
        self._client: Client | None = None
        self.instructions: str | None = None
        """What the server says about its use; None for nothing, and before it is ready."""
        self.problem = ""
        """Why it could not be started, as a clause; empty where it could."""
        self.is_passing = True
        """Whether the next start may succeed where this one did not."""
        self._said = ""
        """What it had written to its standard error by then."""
        self._calls = 0
        """How many are under way."""
        self._is_retired = False
        self._is_stopped = False
        self._first: list[Mapping[str, Any]] = []
        self._began = time.monotonic()
        self.lasted: float | None = None
        """Seconds from its beginning to its end; None before."""

    @property
    def is_over(self) -> bool:
        """Whether nothing is to be sent any more."""
        return self._is_retired or self._ending.is_set()

    @property
    def is_direct(self) -> bool:
        """Whether every answer that is heard is one of the server's own."""
        return self._tap.is_direct

    def end(self) -> None:
        """Have it closed: nobody is on the other side any more, or nobody needs it here."""
        if self.lasted is None:
            self.lasted = time.monotonic() - self._began
        self._ending.set()

    def stop(self) -> None:
        """Have it closed, also in the middle of a start: nobody waits for that any more."""
        self.end()
        if self._starting is not None and not self._settled.is_set() and not self._starting.expired():
            self._is_stopped = True
            self._starting.reschedule(0)

    def retire(self) -> None:
        """Take no more calls, and end when those that are under way have ended."""
        self._is_retired = True
        if not self._calls:
            self.end()

    def taken(self) -> list[Mapping[str, Any]]:
        """The tools as the server declared them when it was ready; once, and nothing where they have changed since."""
        entries, self._first = self._first, []
        return entries

    async def ready(self) -> None:
        """Wait until it can be used.

        Raises:
            ToolServerError: It could not be started.
        """
        await self._settled.wait()
        if self.problem:
            fault = self._tap.fault
            error = ToolServerError(
                server=self._settings.name,
                problem=self.problem,
                remedy="Nothing was executed.",
                retryable=self.is_passing,
                retry_after=None if fault is None else fault.retry_after,
            )
            if self._said:  # as a note: the developer's traceback has it, and no message to a model
                error.add_note(f"The end of its standard error:\n{self._said}")
            raise error

    async def keep(self) -> None:
        """Open it, wait for its end, close it; whatever becomes of it is told by its fields."""
        try:
            await self._kept()
        except Exception as error:  # whatever a server can do to the SDK ends here
            if not self._settled.is_set():
                self._fail(error)
            else:
                logger.debug("%s: the session broke", one_line(self._settings.name), exc_info=error)
        finally:
            self.end()
            self._settled.set()

    async def _kept(self) -> None:
        settings = self._settings
        async with asyncio.timeout(settings.start_timeout) as limit, AsyncExitStack() as stack:
            self._starting = limit
            client = await stack.enter_async_context(
                Client(
                    linked(settings.launch, self._tap, self._last_words),
                    client_info=Implementation(name="surehand", version=version("surehand")),
                    message_handler=self._heard,
                    cache=None,
                    **settings.callbacks,  # type: ignore[arg-type]  # the SDK's keywords, each with its own type
                )
            )
            self._client = client
            self.instructions = client.instructions or None
            self._first = await self.listed()
            if self.is_over:  # it died between its last answer and now
                raise ConnectionError
            limit.reschedule(None)
            self._settled.set()
            await self._until_over(client)

    async def _until_over(self, client: Client) -> None:
        capabilities = client.server_capabilities.tools
        is_announcing = capabilities is not None and capabilities.list_changed
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or not is_announcing:
            await self._ending.wait()
            return
        async with asyncio.TaskGroup() as group:
            listening = group.create_task(self._listen(client))
            await self._ending.wait()
            listening.cancel()

    async def _listen(self, client: Client) -> None:
        """Hear of changes as newer revisions of the protocol tell them: to those who ask."""
        try:
            async with client.listen(tools_list_changed=True) as changes:
                self._changed()  # what changed before anybody listened
                async for _ in changes:
                    self._changed()
        except (MCPError, RuntimeError, TimeoutError) as error:
            logger.debug("%s: nothing is heard of changes", one_line(self._settings.name), exc_info=error)

    async def _heard(self, message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._changed()

    def _changed(self) -> None:
        self._first = []
        self._on_change()

    async def listed(self) -> list[Mapping[str, Any]]:
        """The tools, as the server declares them now.

        Raises:
            MCPError: It cannot say.
        """
        entries: list[Mapping[str, Any]] = []
        seen: set[str] = set()
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            exchange = Exchange()
            token = exchange_now.set(exchange)
            try:
                page = await self._connected.list_tools(cursor=cursor)
            finally:
                exchange_now.reset(token)
            declared = items_of(exchange.result.get("tools"))
            entries += [entry for entry in declared if is_object(entry) and isinstance(entry.get("name"), str)]
            if len(entries) < len(declared):
                logger.debug("%s: some of its tools have no name", one_line(self._settings.name))
            cursor = page.next_cursor
            if cursor is None:
                return entries
            if cursor in seen:
                break
            seen.add(cursor)
        logger.warning("%s: its list of tools has no end; %s were read", one_line(self._settings.name), len(entries))
        return entries

    async def call(self, name: str, arguments: dict[str, Any], tell: Progress, exchange: Exchange) -> Mapping[str, Any]:
        """The result of a call, as it came.

        Raises:
            MCPError: The server refused the request, or the connection was lost; the exchange knows more.
        """

        async def told(progress: float, total: float | None, message: str | None) -> None:
            exchange.is_begun = True
            await tell(progress, total, message)

        self._calls += 1
        token = exchange_now.set(exchange)
        try:
            await self._connected.call_tool(name, arguments, progress_callback=told)
        finally:
            exchange_now.reset(token)
            self._calls -= 1
            if self._is_retired and not self._calls:
                self.end()
        return exchange.result

    @property
    def _connected(self) -> Client:
        if self._client is None:
            raise ConnectionError("The session has not begun.")
        return self._client

    def _fail(self, error: Exception) -> None:
        why = self._failure(leaf_errors(error)[0])
        self.problem, self.is_passing = why.problem, why.is_passing
        said = self._said = self._last_words.told()
        logger.warning(
            "the tool server %s %s%s",
            one_line(self._settings.name),
            self.problem,
            f"; the end of its standard error:\n{said}" if said else "",
        )
        logger.debug("%s: the start failed", one_line(self._settings.name), exc_info=error)

    def _failure(self, error: BaseException) -> StartFailure:
        if self._is_stopped:
            return StartFailure("was closed before it was ready", is_passing=True)
        if isinstance(error, TimeoutError):
            return StartFailure(f"was not ready within {self._settings.start_timeout:g} seconds", is_passing=True)
        return failure_of(
            error, self._tap.fault, hidden=self._settings.launch.hidden, is_over=self.is_over, is_direct=self.is_direct
        )
