"""Why a server could not be started."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import httpx2
from mcp import MCPError
from mcp.types import CONNECTION_CLOSED, PARSE_ERROR

from surehand.calls.redaction.shapes import hide_secrets
from surehand.integrations.mcp.faults import UNREADABLE, Fault
from surehand.wording import one_line

__all__ = ["StartFailure", "failure_of"]

_MAX_WORDS: Final = 200
_LASTING: Final[tuple[tuple[type[BaseException], str], ...]] = (
    (FileNotFoundError, "could not be started: its command, or its working directory, was not found"),
    (PermissionError, "could not be started: its command may not be run"),
)


@dataclass(frozen=True, slots=True)
class StartFailure:
    """What became of a start."""

    problem: str
    """A clause without the server's name, and without anything that is secret."""
    is_passing: bool
    """Whether the next start may succeed."""


def failure_of(
    error: BaseException, fault: Fault | None, *, hidden: Callable[[str], str], is_over: bool, is_direct: bool
) -> StartFailure:
    """What an exception out of a start means.

    Args:
        error: The exception.
        fault: What was wrong with the last HTTP answer; None for nothing.
        hidden: Takes out of words of the server's the secrets that it was given.
        is_over: Whether the server's side has ended.
        is_direct: Whether every error of the protocol is one of the server's own.
    """

    def told(said: str) -> str:
        return one_line(hide_secrets(hidden(said)), _MAX_WORDS)

    for kind, words in _LASTING:
        if isinstance(error, kind):
            return StartFailure(words, is_passing=False)
    if fault is None and isinstance(error, MCPError) and not is_direct and error.code == PARSE_ERROR:
        fault = UNREADABLE
    if fault is not None:
        return StartFailure(f"could not be used: it {fault.told(told)}", fault.is_passing)
    if isinstance(error, MCPError) and not is_over:
        if not is_direct and error.code == CONNECTION_CLOSED:
            return StartFailure("broke off its answer before it was ready", is_passing=True)
        return StartFailure(f"refused the session: {told(error.message)}", is_passing=False)
    if isinstance(error, httpx2.TransportError):
        return StartFailure("could not be reached", is_passing=True)
    return StartFailure(
        "ended before it was ready" if is_over else f"could not be used ({type(error).__name__})", is_passing=True
    )
