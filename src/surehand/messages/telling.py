"""Telling what a model says to whoever reads the messages of the graph that it runs in."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any, Final, cast

from surehand.control import Publisher, current_runtime
from surehand.errors import InputError
from surehand.messages.ai import AIMessage, AIMessageChunk
from surehand.messages.reducer import with_id

__all__ = ["asked", "message_reader", "tell", "telling", "told"]


_END: Final = object()
"""Stands for the end of a stream, which a model cannot give."""
_is_told: ContextVar[bool] = ContextVar("surehand_is_told", default=False)
"""Whether whatever the running code says is told by whoever asked it: a model may pass on what another one says."""


def message_reader() -> Publisher | None:
    """What takes messages for the reader of the stream that this code runs in; None where nobody reads them."""
    runtime = current_runtime()
    return None if runtime is None or "messages" not in runtime.wanted or _is_told.get() else runtime.publish


async def asked(model: Any, ask: Callable[[Any, Any], Awaitable[Any]], input: Any, config: Any) -> Any:
    """A model's answer; told piece by piece where somebody reads messages and the model can stream.

    Args:
        model: A chat model; one with ``tells_pieces`` set tells them by itself.
        ask: Asks it for a whole answer.
        input: What it is to answer.
        config: The run's configuration.
    """
    reader = message_reader()
    stream = None if reader is None or getattr(model, "tells_pieces", False) else getattr(model, "astream", None)
    if reader is None or not callable(stream):
        return await ask(input, config)
    pieces: Any = stream(input, config)
    return await told(pieces, reader)


async def told(pieces: AsyncIterator[AIMessageChunk], reader: Publisher) -> AIMessage:
    """The reply that pieces make, each told as it comes; see ``telling``."""
    whole: AIMessageChunk | None = None
    async with aclosing(telling(pieces, reader)) as heard:
        async for piece in heard:
            whole = piece if whole is None else whole + piece
    return AIMessage() if whole is None else whole.to_message()


async def telling(pieces: AsyncIterator[AIMessageChunk], reader: Publisher) -> AsyncGenerator[AIMessageChunk, None]:
    """The pieces of a reply, each told as it comes; all have one id, which is the reply's."""
    id: str | None = None
    try:
        while (given := await _next(pieces)) is not _END:
            piece = _checked(given)
            id = id or piece.id or secrets.token_hex(16)
            heard = piece if piece.id == id else piece._with_id(id)  # pyright: ignore[reportPrivateUsage] # noqa: SLF001 - one family of modules
            reader("messages", heard)
            await reader.room()
            yield heard
    finally:
        await _close(pieces)  # now, and not when it is collected: a connection may be given back there


def tell(message: AIMessage, reader: Publisher) -> AIMessage:
    """Tell a reply that came as a whole, unless its pieces were told; the reply with the id that it is known by."""
    known = cast("AIMessage", with_id(message))
    reader("messages", known)
    return known


async def _next(pieces: AsyncIterator[object]) -> object:
    """What the model gives next; _END where that is all."""
    token = _is_told.set(True)
    try:
        return await anext(pieces, _END)
    finally:
        _is_told.reset(token)


def _checked(piece: object) -> AIMessageChunk:
    if isinstance(piece, AIMessageChunk):
        return piece
    raise InputError(
        problem="A model's stream gives what is no piece of a reply",
        value=piece,
        remedy="Yield surehand AIMessageChunks from astream.",
    )


async def _close(pieces: Any) -> None:
    close = getattr(pieces, "aclose", None)
    if close is not None:
        await close()
