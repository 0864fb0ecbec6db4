"""Servers for tests, and what is left of them."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from surehand import AIMessage, ToolMessage, ToolNode
from surehand.integrations.mcp import McpServer

__all__ = ["FAULTS", "Log", "answer_of", "call", "faulty", "is_alive", "until", "until_missed", "until_sent"]

FAULTS = Path(__file__).resolve().parent / "fault_server.py"


def faulty(*arguments: str | Path, **options: Any) -> McpServer:
    """The fault server, with arguments of its own."""
    options.setdefault("name", "faults")
    return McpServer.stdio(sys.executable, [str(FAULTS), *map(str, arguments)], **options)


def call(name: str, /, *, call_id: str = "1", **arguments: Any) -> dict[str, Any]:
    """One call of a model's."""
    return {"id": call_id, "name": name, "args": arguments}


def answer_of(node: ToolNode, name: str, /, **arguments: Any) -> ToolMessage:
    """The answer to one call."""
    answers: Sequence[ToolMessage] = node.invoke([AIMessage(tool_calls=[call(name, **arguments)])])
    return answers[0]


class Log:
    """What a fault server has noted."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def lines(self) -> list[str]:
        return self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []

    def pids(self) -> list[int]:
        """The processes, one for each start."""
        return [int(line) for line in self.lines() if line.isdigit()]

    def messages(self, method: str) -> list[dict[str, Any]]:
        found = [json.loads(line) for line in self.lines() if line.startswith("{")]
        return [message for message in found if message.get("method") == method]

    def kill(self) -> None:
        """End the newest process as hard as it goes."""
        os.kill(self.pids()[-1], signal.SIGKILL)


def is_alive(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def until(holds: Callable[[], bool], *, seconds: float = 30.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came to hold"
        time.sleep(0.01)


def until_missed(server: McpServer) -> None:
    """Wait until it was heard that the server has ended; a call that comes before may be in doubt."""
    until(lambda: bool(_session_of(server).is_over))


def until_sent(server: McpServer) -> None:
    """Wait until a request that was not answered yet has been written to the server."""
    underway = _held(_held(_session_of(server), "_tap"), "_open")
    until(lambda: any(exchange.is_out for exchange in list(underway.values())))


def _session_of(server: McpServer) -> Any:
    return _held(_held(server, "_life").connection, "_session")


def _held(holder: object, name: str) -> Any:
    return vars(holder)[name]
