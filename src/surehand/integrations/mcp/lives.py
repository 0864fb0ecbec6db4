"""From the start of a server to its end: where its session lives, and that it ends with the program at the latest."""

from __future__ import annotations

import atexit
import importlib
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from surehand.concurrency import Home
from surehand.errors import MissingExtraError

if TYPE_CHECKING:
    from surehand.integrations.mcp.connections import Connection

__all__ = ["Life", "sdk_side"]

_EXIT_SECONDS: Final = 8.0
"""How long servers may take to end at the end of the program; one that ignores the end of its input is killed first."""


def sdk_side() -> Any:
    """The module that needs the SDK.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        importlib.import_module("mcp")
    except ImportError as error:
        raise MissingExtraError(feature="An MCP server", package="mcp", extra="mcp") from error
    return importlib.import_module("surehand.integrations.mcp.connections")


class Life:
    """A connection on a loop of its own.

    Args:
        connection: It has not begun yet.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.home = Home()
        self.ended: Future[None] = self.home.begin(connection.live)
        """Done when all that belongs to it has ended."""
        home = self.home
        self.ended.add_done_callback(lambda _: home.stop())
        _lives.add(self)

    @property
    def is_over(self) -> bool:
        """Whether nothing can be asked of it any more; as in a forked child, whose parent has it."""
        return self.home.is_gone

    def ask_to_end(self) -> None:
        """Have it end, without waiting."""
        if not self.is_over:
            self.home.begin(self.connection.close)


_lives: WeakSet[Life] = WeakSet()


def _end_all() -> None:
    """End every server that is left; no process of theirs may outlive this one, and none may keep it alive."""
    lives = [life for life in _lives if not life.is_over]
    for life in lives:
        life.ask_to_end()
    until = time.monotonic() + _EXIT_SECONDS
    for life in lives:
        try:
            life.ended.exception(timeout=max(0.0, until - time.monotonic()))
        except TimeoutError:
            return


atexit.register(_end_all)
