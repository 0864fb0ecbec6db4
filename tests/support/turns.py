"""Turns of many calls, through both doors of a node, and what happens inside of their bodies."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest

from surehand import AIMessage, ToolNode

__all__ = ["Room", "Run", "by_both_doors", "run_async", "run_sync", "turn"]

Run = Callable[[ToolNode, list[Any]], list[Any]]


def run_sync(node: ToolNode, messages: list[Any]) -> list[Any]:
    """Through the synchronous door."""
    answers: list[Any] = node.invoke(messages)
    return answers


def run_async(node: ToolNode, messages: list[Any]) -> list[Any]:
    """Through the asynchronous door, in a loop of its own."""
    answers: list[Any] = asyncio.run(node.ainvoke(messages))
    return answers


by_both_doors = pytest.mark.parametrize("run", [run_sync, run_async], ids=["sync", "async"])


def turn(*calls: str | tuple[str, dict[str, Any]]) -> AIMessage:
    """A message with these calls, by name or by name and arguments; their ids are c0, c1, …"""
    named = [(call, dict[str, Any]()) if isinstance(call, str) else call for call in calls]
    return AIMessage(
        tool_calls=[{"id": f"c{number}", "name": name, "args": args} for number, (name, args) in enumerate(named)]
    )


class Room:
    """Where running bodies are counted, from whatever thread.

    Args:
        awaits: How many have to be inside at a time before anybody leaves who stays on a thread.
    """

    def __init__(self, *, awaits: int = 0) -> None:
        self._lock = threading.Lock()
        self._awaits = awaits
        self._are_together = threading.Event()
        self.inside = 0
        self.peak = 0
        """The most that were inside at a time."""
        self.order: list[object] = []
        """Who came, in order."""

    def stay(self) -> None:
        """Block the thread for a moment, and until enough others are there."""
        self._are_together.wait(20)
        time.sleep(0.002)

    @contextmanager
    def visit(self, name: object = None) -> Generator[None]:
        """Be inside."""
        with self._lock:
            self.inside += 1
            self.peak = max(self.peak, self.inside)
            self.order.append(name)
        if self.peak >= self._awaits:
            self._are_together.set()
        try:
            yield
        finally:
            with self._lock:
                self.inside -= 1
