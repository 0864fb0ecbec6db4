"""The connection to a server, whatever becomes of its sessions; all of it runs on one loop.

A lost session is replaced by one new one, whoever needs it first, and everybody else waits for the same. The call that
was under way is sent once more only where the server cannot have it: it was not sent, or the server did not look at it.
Otherwise nobody here knows whether it happened. That is said, and the retry policy of the tool decides, which knows
whether the tool may run twice.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextvars import Context
from typing import Any, Final

from mcp import MCPError
from mcp.types import CONNECTION_CLOSED, INVALID_PARAMS, METHOD_NOT_FOUND, PARSE_ERROR

from surehand.errors import ModelRetry, ToolServerError
from surehand.integrations.mcp.faults import UNREADABLE, Fault
from surehand.integrations.mcp.sessions import Progress, Session, Settings
from surehand.integrations.mcp.taps import Exchange
from surehand.wording import clipped

__all__ = ["Connection", "Settings"]

_STEADY_SECONDS: Final = 10.0
"""A session that lasted as long as this is no sign of a server that keeps dying."""
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 30.0
_PATIENCE: Final = 2.0
"""How long a call waits for a server that is left alone, before it is told so."""
_MAX_WORDS: Final = 2_000


class Connection:
    """A server that can be called as long as ``live`` runs.

    Args:
        settings: How it is reached.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._session: Session | None = None
        self._sessions: set[Session] = set()
        """Those that have not ended, of which the newest is used."""
        self._closing = asyncio.Event()
        self._listing = asyncio.Lock()
        self._tasks = asyncio.TaskGroup()
        self._began = asyncio.Event()
        self._failures = 0
        """How many sessions in a row did not last."""
        self._counted: Session | None = None
        self._free_at = 0.0
        """When the next session may begin."""
        self.entries: list[Mapping[str, Any]] | None = None
        """The tools as last declared; None before. May be read from any thread, and is never changed."""
        self.is_stale = True
        """Whether the server may have other tools by now."""

    @property
    def instructions(self) -> str | None:
        """What the server said about its use when the newest session began; None for nothing. From any thread."""
        session = self._session
        return None if session is None else session.instructions

    async def live(self) -> None:
        """Run until it is closed, and until what belongs to it has ended."""
        async with self._tasks:
            self._began.set()
            await self._closing.wait()
            for session in self._sessions:
                session.stop()

    async def close(self) -> None:
        """Have it end."""
        self._closing.set()

    async def declared(self) -> list[Mapping[str, Any]]:
        """The tools, as the server declares them now.

        Raises:
            ToolServerError: It cannot be reached, or cannot say.
        """
        for _ in range(2):
            session = await self._ready()
            try:
                return await self._renewed(session)
            except MCPError as error:
                if not session.is_over and error.code != CONNECTION_CLOSED:
                    raise self._refusal(error, Exchange()) from error
                session.retire()
        raise self._unsteady()

    async def _renewed(self, session: Session) -> list[Mapping[str, Any]]:
        async with self._listing:  # one request, whoever asks meanwhile
            if self.is_stale or self.entries is None:
                self.is_stale = False  # what changes from now on makes it stale again
                try:
                    self.entries = session.taken() or await session.listed()
                except BaseException:
                    self.is_stale = True
                    raise
            return self.entries

    async def call(self, name: str, arguments: dict[str, Any], progress: Progress) -> Mapping[str, Any]:
        """The result of a call, as it came.

        Raises:
            ToolServerError: The server cannot be reached, or refused the request.
            ModelRetry: It refused the arguments.
            ConnectionError: The connection was lost, and nobody knows whether it happened.
        """
        fault: Fault | None = None
        for _ in range(2):
            session, exchange = await self._ready(), Exchange(is_call=True)
            try:
                return await session.call(name, arguments, progress, exchange)
            except MCPError as error:
                if not _is_lost(error, session, exchange):
                    raise await self._told(error, name, exchange) from error
                if exchange.is_out and not exchange.is_refused:
                    raise ConnectionError(
                        f"The connection to the tool server {self._settings.name!r} was lost before it answered"
                    ) from error
                session.retire()
                fault = exchange.fault
        raise self._unsteady(fault)

    async def _ready(self) -> Session:
        """A session that can be used: the one there is, or a new one, the same for everybody.

        Raises:
            ToolServerError: There is none to be had.
        """
        await self._began.wait()
        while True:
            if self._closing.is_set():
                raise ToolServerError(server=self._settings.name, problem="was closed", remedy="Nothing was executed.")
            session = self._session
            if session is not None and not session.is_over:
                await session.ready()
                return session
            if session is not None:
                self._count(session)
            pause = self._free_at - time.monotonic()
            if pause > _PATIENCE:
                raise self._left_alone(pause)
            if pause > 0:
                await asyncio.sleep(pause)
            elif self._session is session:
                self._session = self._begin()

    def _begin(self) -> Session:
        self.is_stale = True
        session = Session(self._settings, self._changed)
        self._sessions.add(session)
        # In a context of its own: it outlives the call that needs it first, and belongs to none.
        keeping = self._tasks.create_task(session.keep(), context=Context())
        keeping.add_done_callback(lambda _: self._sessions.discard(session))
        return session

    def _changed(self) -> None:
        self.is_stale = True

    def _count(self, session: Session) -> None:
        """Learn from the end of a session, once."""
        lasted = session.lasted
        if self._counted is session or lasted is None:
            return
        self._counted = session
        is_steady = not session.problem and lasted >= _STEADY_SECONDS
        self._failures = 0 if is_steady else self._failures + 1
        # A first loss is made good at once.
        pause = 0.0 if self._failures < 2 else min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** (self._failures - 2))  # noqa: PLR2004
        self._free_at = time.monotonic() + pause

    def _left_alone(self, pause: float) -> ToolServerError:
        problem = (self._session.problem if self._session is not None else "") or "keeps ending"
        return ToolServerError(
            server=self._settings.name,
            problem=problem,
            remedy="It is left alone for a while. Nothing was executed.",
            retryable=self._session is None or self._session.is_passing,
            retry_after=pause,
        )

    def _unsteady(self, fault: Fault | None = None) -> ToolServerError:
        problem = "did not take the request, nor did it after a new start"
        return ToolServerError(
            server=self._settings.name,
            problem=problem if fault is None else f"{problem}: it {fault.told(self._hidden)}",
            remedy="Nothing was executed.",
            retryable=True,
        )

    async def _told(self, error: MCPError, name: str, exchange: Exchange) -> Exception:
        """What an error of the protocol means, in words to act on."""
        if exchange.is_begun or error.code not in (INVALID_PARAMS, METHOD_NOT_FOUND):
            return self._refusal(error, exchange)
        self.is_stale = True
        if name not in {entry["name"] for entry in await self.declared()}:
            return ToolServerError(
                server=self._settings.name,
                problem=f"does not have the tool {name!r} any more",
                remedy="Nothing was executed. Go on without it.",
            )
        if error.code == INVALID_PARAMS:
            return ModelRetry(
                f"The tool server {self._settings.name!r} refused the arguments: {self._hidden(error.message)}"
            )
        return self._refusal(error, exchange)

    def _refusal(self, error: MCPError, exchange: Exchange) -> ToolServerError:
        fault = exchange.fault or self._unreadable(error, exchange)
        # Of an answer over HTTP that it cannot read, the SDK makes an error with a code of those for bad requests.
        is_safe = error.code == METHOD_NOT_FOUND or (error.code == PARSE_ERROR and not exchange.is_taken)
        if fault is None:
            problem = f"answered with the error {error.code}: {self._hidden(error.message)}"
        else:
            is_safe = fault.is_unheard or (is_safe and fault.said is not None)
            problem = fault.told(self._hidden)
        return ToolServerError(
            server=self._settings.name,
            problem=problem.rstrip(". "),
            remedy="Nothing was executed." if is_safe and not exchange.is_begun else "It may have happened in part.",
            retryable=fault is not None and fault.is_passing,
            retry_after=None if fault is None else fault.retry_after,
        )

    def _unreadable(self, error: MCPError, exchange: Exchange) -> Fault | None:
        """The fault that the SDK found in what came; the words of its parser hold what was sent."""
        is_sdks = error.code == PARSE_ERROR and exchange.is_taken
        return UNREADABLE if is_sdks else None

    def _hidden(self, said: str) -> str:
        return clipped(self._settings.launch.hidden(said), _MAX_WORDS)


def _is_lost(error: MCPError, session: Session, exchange: Exchange) -> bool:
    """Whether the connection was lost, rather than the request answered with an error."""
    if exchange.is_refused or exchange.is_lost:
        return True
    # Servers use the same code for errors of their own.
    is_own = exchange.is_answered and (session.is_direct or exchange.is_whole)
    return error.code == CONNECTION_CLOSED and not is_own
