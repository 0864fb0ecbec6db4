"""What the tools of a task can do to the world, and how it is recorded."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

__all__ = ["FOR_EVER", "Effect", "Function", "Idiom", "Offer", "PlainIdiom", "World", "as_offers", "read_effects"]

FOR_EVER: Final = 600.0
"""Seconds that a tool hangs; longer than any run may take."""

Effect: TypeAlias = tuple[Any, ...]
"""A verb and its details, as JSON gives them back: lists for tuples."""

Function: TypeAlias = Callable[..., Any]


class Idiom(Protocol):
    """How the author of a tool speaks to the model, in the words of the framework at hand."""

    def refusal(self, text: str) -> Exception:
        """The exception whose text is meant for the model."""
        ...

    def busy(self, text: str) -> Exception:
        """The exception that says: nothing happened, and the same call may work in a moment."""
        ...


class PlainIdiom:
    """For a framework without words of its own."""

    def refusal(self, text: str) -> Exception:
        """The exception whose text is meant for the model."""
        return RuntimeError(text)

    def busy(self, text: str) -> Exception:
        """The exception that says: nothing happened, and the same call may work in a moment."""
        return RuntimeError(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A function as a tool, with the one thing that cannot be said in its signature."""

    function: Function
    timeout: float | None = None
    """Seconds it may take, for frameworks that have a place to say so; None says nothing."""


@dataclass(slots=True)
class World:
    """What one run acts on: effects are written down at once, so that they are known even if the run has to be killed.

    Args:
        ledger: The file that effects are appended to.
        idiom: How tools speak to the model.
    """

    ledger: Path
    idiom: Idiom = field(default_factory=PlainIdiom)
    _counts: Counter[str] = field(default_factory=Counter[str])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def did(self, verb: str, *details: Any) -> None:
        """Record an effect."""
        line = json.dumps([verb, *details], ensure_ascii=False)
        with self._lock, self.ledger.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def times(self, name: str) -> int:
        """How often this was asked so far, this time included."""
        with self._lock:
            self._counts[name] += 1
            return self._counts[name]

    def hang(self) -> None:
        """Block this thread for longer than the run may take."""
        time.sleep(FOR_EVER)

    async def hang_async(self) -> None:
        """Wait for longer than the run may take."""
        await asyncio.sleep(FOR_EVER)


def as_offers(tools: list[Function | Offer]) -> list[Offer]:
    """Functions and offers as offers."""
    return [tool if isinstance(tool, Offer) else Offer(function=tool) for tool in tools]


def read_effects(ledger: Path) -> list[Effect]:
    """The effects that were recorded, in the order they happened."""
    if not ledger.exists():
        return []
    return [tuple(json.loads(line)) for line in ledger.read_text(encoding="utf-8").splitlines()]
