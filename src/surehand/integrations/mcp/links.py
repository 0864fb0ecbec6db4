"""The two ways to a server, each as a transport of the SDK's with a tap in it."""

from __future__ import annotations

import inspect
import logging
import os
import threading
from collections import deque
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import IO, Any, Final, cast

import httpx2
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from surehand.calls.redaction.shapes import hide_secrets
from surehand.integrations.mcp.hearing import HearingClient
from surehand.integrations.mcp.launches import HttpLaunch, Launch, StdioLaunch
from surehand.integrations.mcp.taps import Tap
from surehand.wording import one_line

__all__ = ["LastWords", "linked"]

logger = logging.getLogger("surehand.mcp")

_KEPT_LINES: Final = 30
_MAX_LINE: Final = 500
_MAX_READ: Final = 65_536
_CONNECT_SECONDS: Final = 10.0
_HEARING_SECONDS: Final = 0.2
"""How long the last words of a process may take to be read."""
_HAS_LIMIT: Final = "max_sse_event_size" in inspect.signature(streamable_http_client).parameters
_OF_ANY_SIZE: Final[dict[str, Any]] = {"max_sse_event_size": None} if _HAS_LIMIT else {}
"""A result is as large as it is over every transport: one event of it has a limit of a megabyte in newer SDKs."""


class LastWords:
    """The end of what a server wrote to its standard error; each line is logged too, for those who debug.

    Args:
        name: What the server is called.
        launch: Holds secrets that must not stand in a log.
    """

    def __init__(self, name: str, launch: Launch) -> None:
        self._name = name
        self._hidden = launch.hidden
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._listener: threading.Thread | None = None

    def told(self) -> str:
        """The lines, once a process that has ended is heard out."""
        if self._listener is not None:
            self._listener.join(_HEARING_SECONDS)
        return "\n".join(self._lines)

    @contextmanager
    def file(self) -> Generator[IO[str]]:
        """A file for the process to write to."""
        reading, writing = os.pipe()
        self._listener = threading.Thread(target=self._listen, args=(reading,), name="surehand-mcp-stderr", daemon=True)
        self._listener.start()
        with os.fdopen(writing, "w") as file:
            yield file

    def _listen(self, reading: int) -> None:
        with os.fdopen(reading, "rb") as file:
            while line := file.readline(_MAX_READ):
                # Hidden before it is cut, for half a secret is not found. Paths stay: this is for the developer.
                heard = hide_secrets(self._hidden(line.decode(errors="replace").rstrip()))
                said = one_line(heard, _MAX_LINE)
                self._lines.append(said)
                logger.debug("%s: %s", one_line(self._name), said)


@asynccontextmanager
async def linked(launch: Launch, tap: Tap, last_words: LastWords) -> AsyncGenerator[Any]:
    """The streams to a server, which is started where it is a process of ours.

    Raises:
        OSError: The process cannot be started.
    """
    match launch:
        case StdioLaunch():
            with last_words.file() as file:
                async with stdio_client(_parameters(launch), errlog=cast("Any", file)) as streams:
                    file.close()  # the process has its own; when it ends, so does the listening
                    yield tap.wrapped(streams)
        case HttpLaunch():
            # How long a call may take is its tool's to say, and how long a start may take its server's.
            timeout = httpx2.Timeout(None, connect=_CONNECT_SECONDS)
            async with HearingClient(headers=dict(launch.headers), timeout=timeout) as client:
                client.tap = tap
                async with streamable_http_client(launch.url, http_client=client, **_OF_ANY_SIZE) as streams:
                    yield tap.wrapped(streams)


def _parameters(launch: StdioLaunch) -> StdioServerParameters:
    return StdioServerParameters(
        command=launch.command,
        args=list(launch.arguments),
        env=dict(launch.env),
        cwd=launch.cwd,
        encoding_error_handler="replace",  # one byte that is no UTF-8 would end all hearing, and nobody would know
    )
