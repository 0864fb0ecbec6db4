"""Chat models that answer what a test says."""

from __future__ import annotations

import inspect
import threading
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from functools import reduce
from operator import add
from typing import Any, TypeAlias, TypeGuard, cast

from surehand.errors import InputError, OptionError, ScriptExhausted
from surehand.messages import AIMessage, AIMessageChunk, Message
from surehand.models import BaseChatModel, ModelRequest

__all__ = ["FunctionModel", "Reply", "ScriptedModel", "SentRequest"]

Pieces: TypeAlias = Sequence[AIMessageChunk | BaseException]
"""A reply as it is streamed, piece by piece; an exception among them is raised in its place."""

Reply: TypeAlias = AIMessage | str | Pieces | BaseException
"""One entry of a script: a message, text as shorthand for a message with that content, the pieces of a streamed one, or
an exception to raise."""


class SentRequest(list[Message]):
    """The messages of one request, as a model received them, with what was offered beside them."""

    def __init__(self, request: ModelRequest) -> None:
        super().__init__(request.messages)
        self.tool_names: tuple[str, ...] = tuple(tool.spec.name for tool in request.tools)
        """The names of the tools that were offered, in order."""
        self.tool_choice: str | Mapping[str, Any] | None = request.tool_choice
        self.options: Mapping[str, Any] = request.options

    @property
    def messages(self) -> list[Message]:
        """The messages as a plain list."""
        return list(self)


class _Script:
    """The replies and how far they have come; shared by a model and its bound copies."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self.replies = tuple(replies)
        self.requests: list[SentRequest] = []
        self._lock = threading.Lock()

    @property
    def is_at_pieces(self) -> bool:
        """Whether the next reply is one that comes in pieces."""
        position = len(self.requests)
        return position < len(self.replies) and _are_pieces(self.replies[position])

    def next(self, request: SentRequest) -> Reply:
        with self._lock:  # a model may be asked by several agents at once; what each gets is then anybody's guess
            position = len(self.requests)
            self.requests.append(request)
        if position >= len(self.replies):
            raise ScriptExhausted(replies=len(self.replies))
        return self.replies[position]


class ScriptedModel(BaseChatModel):
    """A model that gives the replies of its script, one per request, in order.

    Example:
        model = ScriptedModel([AIMessage(tool_calls=[{"id": "1", "name": "add", "args": {"a": 2, "b": 3}}]), "5"])
        create_agent(model, [add]).invoke({"messages": "What is 2 + 3?"})
        model.assert_complete()

    Copies made by ``bind_tools`` share the script and its cursor, so that it does not matter which one is asked.

    Args:
        replies: Messages; texts as shorthand for messages; lists of ``AIMessageChunk``, for replies that are streamed
            in pieces; exceptions, which are raised, also among pieces.
        options: What ``BaseChatModel`` takes, such as ``text_calls`` and ``nudge``.

    Raises:
        OptionError: An entry is none of these.
    """

    def __init__(self, replies: Sequence[Reply], **options: Any) -> None:
        super().__init__(**options)
        if isinstance(replies, str) or not isinstance(replies, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] - hosts may not type-check
            raise OptionError(option="replies", value=replies, expected="a list of AIMessages, texts or exceptions")
        replies = tuple(replies)
        for reply in replies:
            if not (isinstance(reply, AIMessage | str | BaseException) or _are_pieces(reply)):
                expected = "AIMessages, texts, lists of AIMessageChunks or exceptions"
                raise OptionError(option="replies", value=reply, expected=expected)
        self._script = _Script(replies)

    @property
    def requests(self) -> list[SentRequest]:
        """What the model was sent so far, in order: each is the list of messages, with the tools that were offered."""
        return self._script.requests

    def assert_complete(self) -> None:
        """Check that every reply was used.

        Raises:
            AssertionError: Some replies are left.
        """
        asked, replies = len(self._script.requests), len(self._script.replies)
        if asked < replies:
            raise AssertionError(f"The script has {replies} replies and was asked for {asked} of them.")

    async def _answer(self, request: ModelRequest) -> AIMessage:
        reply = self._script.next(SentRequest(request))
        if isinstance(reply, AIMessage):
            return reply
        return AIMessage(reply) if isinstance(reply, str) else _sum_of(list(_told(reply)))

    def _has_pieces(self) -> bool:
        return self._script.is_at_pieces

    async def _pieces(self, request: ModelRequest) -> AsyncGenerator[AIMessageChunk, None]:
        if not self._has_pieces():
            async for whole in super()._pieces(request):
                yield whole
            return
        for piece in _told(self._script.next(SentRequest(request))):
            yield piece


class FunctionModel(BaseChatModel):
    """A model whose reply a function computes from the messages; for tests that depend on the history.

    Args:
        function: Takes the messages of a request; returns the reply, or text as shorthand; may be asynchronous. A
            generator, asynchronous or not, yields the pieces of a reply that is streamed.
        options: What ``BaseChatModel`` takes, such as ``text_calls`` and ``nudge``.
    """

    def __init__(
        self,
        function: Callable[
            [list[Message]],
            AIMessage | str | Awaitable[AIMessage | str] | Iterable[AIMessageChunk] | AsyncIterable[AIMessageChunk],
        ],
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._function: Callable[[list[Message]], Any] = function
        self._yields = inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)

    def _has_pieces(self) -> bool:
        return self._yields

    async def _pieces(self, request: ModelRequest) -> AsyncGenerator[AIMessageChunk, None]:
        pieces = self._function(list(request.messages)) if self._has_pieces() else super()._pieces(request)
        if isinstance(pieces, Iterable):
            for piece in cast("Iterable[AIMessageChunk]", pieces):
                yield piece
            return
        async with aclosing(pieces):
            async for piece in pieces:
                yield piece

    async def _answer(self, request: ModelRequest) -> AIMessage:
        if self._has_pieces():
            return _sum_of([piece async for piece in self._pieces(request)])
        reply = self._function(list(request.messages))
        if inspect.isawaitable(reply):
            reply = await reply
        if isinstance(reply, str):
            return AIMessage(reply)
        if not isinstance(reply, AIMessage):
            raise InputError(
                problem="The function of a FunctionModel returned no reply", value=reply, remedy="Return an AIMessage."
            )
        return reply


def _are_pieces(reply: object) -> TypeGuard[Pieces]:
    """Whether a reply is a list of pieces."""
    if not isinstance(reply, list | tuple) or not reply:
        return False
    return all(isinstance(part, AIMessageChunk | BaseException) for part in cast("Sequence[object]", reply))


def _told(reply: Reply) -> Iterator[AIMessageChunk]:
    """The pieces of a reply that has some; an exception is raised in its place."""
    for part in reply if _are_pieces(reply) else [cast("BaseException", reply)]:
        if isinstance(part, BaseException):
            raise part
        yield part


def _sum_of(pieces: Sequence[AIMessageChunk]) -> AIMessage:
    """The whole reply."""
    return reduce(add, pieces).to_message() if pieces else AIMessage()
