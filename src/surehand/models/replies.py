"""Whether what came from a provider is a whole reply; what is none leaves as a ModelError, in pieces or not."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from surehand.dialects.streams import ReplyStream
from surehand.messages import AIMessage, AIMessageChunk, is_broken
from surehand.models.failures import Address, bad_reply, broken_reply

__all__ = ["pieces_of", "unbroken"]


def unbroken(reply: AIMessage, address: Callable[[], Address]) -> AIMessage:
    """The reply, or the piece of one, unless it says that the reply broke off.

    Raises:
        ModelError: It does.
    """
    if is_broken(reply.response_metadata):
        raise broken_reply(address(), reply)
    return reply


async def pieces_of(
    frames: AsyncGenerator[object, None], stream: ReplyStream, address: Callable[[], Address]
) -> AsyncGenerator[AIMessageChunk, None]:
    """The pieces of a reply that comes as frames.

    Raises:
        ModelError: There is no frame, one says that the reply failed, or the last came before the reply was complete.
    """
    is_empty = True
    async with aclosing(frames):
        async for frame in frames:
            is_empty = False
            piece = stream.feed(frame)
            if piece is not None:
                unbroken(piece, address)
                yield piece
    if is_empty:
        raise bad_reply(address(), "", "an empty stream")
    if not stream.is_finished:
        raise broken_reply(address(), stream.finish())
