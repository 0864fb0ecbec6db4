"""A server of tools, as a program uses it: from any thread and any loop, in any number of nodes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from weakref import finalize

from typing_extensions import Unpack

from surehand.errors import ToolServerError
from surehand.integrations.mcp.declared import Toolbox
from surehand.integrations.mcp.launches import HttpLaunch, Launch, StdioLaunch
from surehand.integrations.mcp.lives import Life, sdk_side
from surehand.integrations.mcp.options import McpOptions, callbacks_of, choice_of
from surehand.integrations.mcp.results import result_of
from surehand.policy import seconds, text
from surehand.spec import ToolContext
from surehand.tools import Tool

__all__ = ["McpServer"]

_START_SECONDS: Final = 30.0


class McpServer:
    """A server that speaks MCP, and its tools. Made by ``McpServer.stdio`` or ``McpServer.http``.

    It is started by its first use, or by ``with`` and ``async with``, and ended by the end of those, by ``close``, or
    with the program. Its session lives on a thread of its own, so that threads, event loops and nodes may share it.
    A session that is lost is made anew by the call that needs it.

    Give a node ``server`` itself, and the node follows the server's list of tools; ``server.tools()`` is the list of
    this moment.

    Args:
        launch: How it is reached.
        name: What it is called in messages and logs; None for its command's or its host's name.
        prefix: Stands before the names of its tools, with an ``_`` between.
        include: The names of the tools to take, as the server has them; patterns such as ``get_*``. None for all.
        exclude: The names of tools to leave out, likewise.
        trust_hints: Whether the server's word is taken that a tool is ``read_only`` or ``idempotent``, so that a call
            which may have happened is made again. ``destructiveHint`` is taken in any case.
        timeout: Seconds that a call may take; None for no limit. Left out, the node's default holds.
        start_timeout: Seconds until the server has to be ready.
        options: Options of single tools, by their names as the server has them; they win over hints.
        roots: Folders or ``file:`` addresses to tell a server that asks for the roots it may work in.
        sampling: The SDK's ``sampling_callback``; without it the server is refused.
        elicitation: The SDK's ``elicitation_callback``; without it the server is refused.

    Raises:
        MissingExtraError: The ``mcp`` extra is not installed.
        OptionError: An option has a value that cannot be meant.

    Example:
        with McpServer.stdio("uvx", ["mcp-server-git"], prefix="git") as git:
            agent = create_agent("openai:gpt-5", ToolNode(git))
    """

    def __init__(self, launch: Launch, **options: Unpack[McpOptions]) -> None:
        self._launch = launch
        self.name = text("name", options.get("name") or launch.default_name)
        self._start_timeout = seconds("start_timeout", options.get("start_timeout", _START_SECONDS))
        self._callbacks = callbacks_of(options)
        self._toolbox = Toolbox(choice_of(self.name, options), self._run)
        self._lock = threading.Lock()
        self._life: Life | None = None
        self._is_closed = False
        self._sdk_side = sdk_side()

    @classmethod
    def stdio(
        cls,
        command: str | Path,
        args: Iterable[str | Path] = (),
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        **options: Unpack[McpOptions],
    ) -> Self:
        """A server that is a program: it is started, and spoken to over its standard input and output.

        Args:
            command: The program.
            args: Its arguments.
            env: Variables that it gets besides HOME, PATH and the like; nothing else of ours is handed on.
            cwd: Its working directory; None for ours.
            **options: As on ``McpServer``.
        """
        return cls(StdioLaunch.of(command, args, env, cwd), **options)

    @classmethod
    def http(cls, url: str, *, headers: Mapping[str, str] | None = None, **options: Unpack[McpOptions]) -> Self:
        """A server under an address, which speaks streamable HTTP.

        Args:
            url: The address.
            headers: Sent with every request, such as ``{"Authorization": "Bearer …"}``.
            **options: As on ``McpServer``.
        """
        return cls(HttpLaunch.of(url, headers), **options)

    @property
    def instructions(self) -> str | None:
        """What the server says about the use of its tools; None where it says nothing, or has not been started.

        It goes nowhere by itself: it is a stranger's text, and to put it into a prompt is to trust him.
        """
        life = self._life
        return None if life is None else life.connection.instructions

    def tools(self) -> list[Tool]:
        """The server's tools; see ``atools``."""
        if (known := self._known()) is not None:
            return known
        life = self._begun()
        return life.home.run(lambda: self._found(life))

    async def atools(self) -> list[Tool]:
        """The server's tools, as it has them now.

        Raises:
            ToolServerError: The server cannot be reached.
            OptionError: There are options for a tool that it does not have.
        """
        if (known := self._known()) is not None:
            return known
        life = self._begun()
        return await life.home.arun(lambda: self._found(life))

    async def __call__(self, request: object = None) -> list[Tool]:
        """The tools of a turn. A server that cannot be reached keeps those it had: their calls are answered."""
        try:
            return await self.atools()
        except ToolServerError:
            if self._life is None or (had := self._toolbox.had) is None:
                raise
            return had

    def close(self) -> None:
        """End the server, or its session, and wait until it has ended; does nothing where it has not begun."""
        if (life := self._ended()) is not None:
            life.ended.exception()

    async def aclose(self) -> None:
        """End the server, or its session, and wait until it has ended; does nothing where it has not begun."""
        if (life := self._ended()) is not None:
            await asyncio.shield(asyncio.wrap_future(life.ended))

    def __enter__(self) -> Self:
        self._is_closed = False
        try:
            self.tools()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        self._is_closed = False
        try:
            await self.atools()
        except BaseException:
            await self.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"McpServer({self.name})"

    def _known(self) -> list[Tool] | None:
        """The tools, where they are known and nothing says that they have changed."""
        life = self._life
        if life is None or life.is_over or life.connection.is_stale:
            return None
        return self._toolbox.known(life.connection.entries)

    async def _found(self, life: Life) -> list[Tool]:
        # Read where the session lives: thousands of schemas take seconds, which are not the caller's loop's to wait.
        return self._toolbox.tools(await life.connection.declared())

    def _begun(self) -> Life:
        """Where the session lives; begun where it has not, also anew in a forked child."""
        with self._lock:
            if self._is_closed:
                raise ToolServerError(server=self.name, problem="was closed", remedy="Nothing was executed.")
            if self._life is None or self._life.is_over:
                settings = self._sdk_side.Settings(
                    name=self.name, launch=self._launch, start_timeout=self._start_timeout, callbacks=self._callbacks
                )
                self._life = Life(self._sdk_side.Connection(settings))
                finalize(self, self._life.ask_to_end).atexit = False
            return self._life

    def _ended(self) -> Life | None:
        """The life that was asked to end; None where there is none."""
        with self._lock:
            self._is_closed = True
            life, self._life = self._life, None
        if life is None or life.is_over:
            return None
        life.ask_to_end()
        return life

    async def _run(self, name: str, arguments: dict[str, Any], context: ToolContext) -> Any:
        """Call a tool of the server; its progress is told where the call is made."""
        life = self._begun()
        caller = asyncio.get_running_loop()

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            told = {"progress": progress, "total": total, "message": message}
            known = {key: value for key, value in told.items() if value is not None}
            if not caller.is_closed():
                caller.call_soon_threadsafe(context.progress, known)

        async def call() -> Mapping[str, Any]:
            return await life.connection.call(name, arguments, tell)

        return result_of(await life.home.arun(call), self._launch.hidden)
