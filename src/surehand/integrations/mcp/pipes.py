"""The standard input and output of a server: the protocol has them to itself."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from typing import Final, Self

__all__ = ["InputLines"]

_MOST_READ_AHEAD: Final = 100


class InputLines:
    """The lines of the standard input; whatever else reads it finds it empty.

    They are read on a daemon thread, because a read that waits for a client cannot be interrupted, and must not keep a
    program alive that was told to end.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue(_MOST_READ_AHEAD)
        own = os.dup(0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        threading.Thread(target=self._read, args=(own,), name="surehand-mcp-stdin", daemon=True).start()

    def _read(self, own: int) -> None:
        with contextlib.suppress(RuntimeError), os.fdopen(own, encoding="utf-8", errors="replace") as file:
            for line in file:
                self._hand_over(line)
            self._hand_over(None)

    def _hand_over(self, line: str | None) -> None:
        """Give a line to the loop, and wait until there is room; raises RuntimeError where the loop is closed."""
        putting = self._lines.put(line)
        try:
            asyncio.run_coroutine_threadsafe(putting, self._loop).result()
        except RuntimeError:
            putting.close()
            raise

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        line = await self._lines.get()
        if line is None:
            raise StopAsyncIteration
        return line
