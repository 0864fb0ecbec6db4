"""SDK clients, one per event loop, closed with it.

A client's connections belong to the loop they were opened in. A model does not: the same one is asked from the sync
door's kept loop, from an application's loop, from several threads. So clients are looked up by the running loop.

Closing is the harder half. Nobody tells a library that a loop is about to end, except through one door: asyncio closes
the asynchronous generators of a loop before it closes the loop. Each client is therefore held by a generator that was
started in its loop and that closes the client when it is closed itself.

Clients are shared by all models of one configuration: a program that builds a model per request keeps its connections.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["LoopClients"]

C = TypeVar("C")


class LoopClients(Generic[C]):
    """The open clients of one SDK.

    Args:
        close: Closes a client; awaited in the client's loop.
    """

    def __init__(self, close: Callable[[C], Awaitable[None]]) -> None:
        self._close = close
        self._open: dict[tuple[asyncio.AbstractEventLoop, Hashable], tuple[C, AsyncGenerator[None, None]]] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many clients are open."""
        return len(self._open)

    async def get(self, key: Hashable, make: Callable[[], C]) -> C:
        """The running loop's client of this configuration; made on the first use."""
        place = (asyncio.get_running_loop(), key)
        with self._lock:
            held = self._open.get(place)
        if held is None:
            self._forget_dead_loops()
            # No await between the look and the entry: another task of this loop cannot come in between, and other loops
            # have other places. So the lock is held for the dictionary only, never while a client is made.
            client = make()
            lifetime = self._lifetime(place, client)
            with self._lock:
                self._open[place] = (client, lifetime)
            await anext(lifetime)  # started here, so that this loop closes it
            return client
        return held[0]

    async def aclose(self, key: Hashable) -> None:
        """Close the running loop's client of this configuration, if there is one."""
        with self._lock:
            held = self._open.get((asyncio.get_running_loop(), key))
        if held is not None:
            await held[1].aclose()

    async def _lifetime(
        self, place: tuple[asyncio.AbstractEventLoop, Hashable], client: C
    ) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            with self._lock:
                self._open.pop(place, None)
            await self._close(client)

    def _forget_dead_loops(self) -> None:
        """Loops that were closed without closing their generators leave entries behind."""
        with self._lock:
            for place in [place for place in self._open if place[0].is_closed()]:
                del self._open[place]  # its sockets died with the loop: there is nothing left to await a close in
