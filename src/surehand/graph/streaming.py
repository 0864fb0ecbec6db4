"""How a run is read as a stream: step by step, or while a step runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Generator
from contextlib import aclosing
from typing import Any, Protocol

from surehand.concurrency import borrowed_loop, finish_without_loop
from surehand.graph.engine import Run
from surehand.graph.live import Entry, Outbox
from surehand.graph.modes import Modes
from surehand.graph.outlet import Outlet, View, items_of, outlet_around
from surehand.graph.state import State

__all__ = ["Start", "astream_of", "stream_of"]


class Start(Protocol):
    """Makes the run, given where it puts what is to be read meanwhile; None where nobody reads such."""

    def __call__(self, outlet: Outlet | None, *, is_here: bool) -> Coroutine[Any, Any, Run]:
        """The run, once it is opened; nothing waits for an event loop where it is to stay here."""
        ...


def stream_of(start: Start, state: State, modes: Modes, view: View) -> Generator[Any, None, None]:
    """The items of a run, for synchronous callers; a step runs when its items are asked for.

    Args:
        start: Makes the run.
        state: The graph's state.
        modes: What the reader asks for.
        view: How the reader is to see the state.
    """
    # What happens within a step has to come out while it runs, so that something must run it meanwhile: a loop. The
    # other modes have nothing to say within a step, and their steps may stay in the caller's thread.
    return _pulled(start, modes, view) if modes.are_live else _stepwise(start, state, modes, view)


async def astream_of(start: Start, modes: Modes, view: View) -> AsyncGenerator[Any, None]:
    """``stream_of``, awaited."""
    async with aclosing(_live(start, modes, view)) as batches:
        async for batch in batches:
            for entry in batch:
                yield modes.shown(entry.mode, entry.item, entry.namespace)


async def _live(start: Start, modes: Modes, view: View) -> AsyncGenerator[list[Entry], None]:
    """The items of a run, in the order of time, as many at a time as there are."""
    box = Outbox()
    run = await start(Outlet(box, modes, view=view, around=outlet_around()), is_here=False)
    try:
        while not run.is_over:
            work = box.start(run.step())
            # A reader may stop between two items, which closes this generator here: no step goes on unattended.
            try:
                while batch := await box.take():
                    yield batch
                await work
            finally:
                await box.end()
    finally:
        box.close()


def _stepwise(start: Start, state: State, modes: Modes, view: View) -> Generator[Any, None, None]:
    run = finish_without_loop(start(None, is_here=True))
    while not run.is_over:
        for mode, item in items_of(run.step_here(), state, modes.names, view=view):
            yield modes.shown(mode, item)


def _pulled(start: Start, modes: Modes, view: View) -> Generator[Any, None, None]:
    """The items of a run that goes on on another thread; they may be taken from one thread after another."""
    with borrowed_loop() as loop:
        batches = _Batches(_live(start, modes, view))
        try:
            while batch := loop.run(batches.take):
                for entry in batch:
                    yield modes.shown(entry.mode, entry.item, entry.namespace)
        finally:
            if not loop.is_over:  # a stream that is left open to the end of the program is closed with its loop
                loop.run(batches.close)


class _Batches:
    """An asynchronous stream, taken by a caller that Ctrl-C may keep from waiting for what it asked for."""

    def __init__(self, batches: AsyncGenerator[list[Entry], None]) -> None:
        self._batches = batches
        self._turn = asyncio.Lock()
        """Held while the stream runs: it cannot be closed meanwhile."""

    async def take(self) -> list[Entry]:
        """The next ones; nothing at the end."""
        async with self._turn:
            return await anext(self._batches, list[Entry]())

    async def close(self) -> None:
        """End the stream."""
        async with self._turn:
            await self._batches.aclose()
