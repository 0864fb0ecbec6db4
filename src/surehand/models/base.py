"""What all chat models share: one asynchronous path from messages in any form to one AI message.

An adapter says how a request is put to its provider and how the reply is read, and nothing else: coercion of the
input, transcripts that providers accept, tools, the nudge, calls written as text and the synchronous doors are here.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from surehand.concurrency import run_sync
from surehand.control import Publisher, RunConfig
from surehand.errors import OptionError, ToolDefinitionError
from surehand.messages import (
    AIMessage,
    AIMessageChunk,
    Message,
    convert_to_messages,
    message_reader,
    repair_transcript,
    tell,
    telling,
    told,
)
from surehand.models.nudge import Nudge, as_nudge
from surehand.models.protocol import ModelInput, ToolChoice
from surehand.models.said import Said, TextCalls, forms_of
from surehand.tools import BaseTool, as_tools, export_names, original_names

__all__ = ["BaseChatModel", "ModelRequest", "refuse_options"]

_MODES = ("auto", "none", "required")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One request, ready to be written in a provider's form."""

    messages: list[Message]
    """Complete for every provider: each call is answered, each answer has its call."""
    tools: tuple[BaseTool, ...] = ()
    tool_choice: str | Mapping[str, Any] | None = None
    """``auto``, ``none``, ``required``, a tool's name, the provider's own object, or None."""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further fields of the request, in the provider's own names."""
    wire_names: Mapping[str, str] = field(default_factory=dict[str, str])
    """Tool name -> the name it is offered by, for the tools whose own name no provider takes."""

    @property
    def tool_names(self) -> frozenset[str]:
        """The names of the tools that are offered."""
        return frozenset(tool.spec.name for tool in self.tools)


class BaseChatModel(ABC):
    """A chat model that can be asked, streamed and bound to tools.

    One model may be used from several threads and event loops at a time.

    Args:
        nudge: A sentence after the last tool result of each request (see ``Nudge``); True for the default sentences.
        text_calls: Whether a call that the model wrote as text is read as a call, or the names of the forms that are
            (see ``TextCallForm``). Only whole-message, marked or fenced calls of the tools that were offered count, and
            only when the reply has no calls of its own.
        options: Further fields of each request, in the provider's own names.
    """

    tells_pieces: ClassVar[bool] = True
    """Whether it tells its pieces by itself where somebody reads the messages of the graph around it."""

    def __init__(
        self,
        *,
        nudge: bool | Nudge | None = None,
        text_calls: TextCalls = False,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._nudge = as_nudge(nudge)
        self._text_forms = forms_of(text_calls)
        self._options = self._checked_options(dict(options or {}))
        self._tools: tuple[BaseTool, ...] = ()
        self._tool_choice: str | Mapping[str, Any] | None = None
        self._wire_names: dict[str, str] = {}

    @property
    def nudge(self) -> Nudge | None:
        """What is said after a tool's result; None says nothing."""
        return self._nudge

    @property
    def tools(self) -> tuple[BaseTool, ...]:
        """The tools that are bound."""
        return self._tools

    @property
    def tool_choice(self) -> str | Mapping[str, Any] | None:
        """The choice that was bound with the tools."""
        return self._tool_choice

    def bind_tools(self, tools: Sequence[Any], *, tool_choice: ToolChoice = None, **options: Any) -> Self:
        """A copy that offers these tools instead of those bound before; the original is untouched.

        Args:
            tools: Tools, functions, pydantic models, or definitions in a provider's shape.
            tool_choice: ``auto``, ``none``, ``required`` (or ``any``), a tool's name, or the provider's own object.
            options: Further fields of each request, in the provider's own names, such as ``parallel_tool_calls``.

        Raises:
            ToolDefinitionError: Something among the tools is none, or two have one name.
            OptionError: The choice is no mode and no bound tool.
        """
        bound = copy.copy(self)  # never a deep one: copies share what is loaded and who is connected
        bound._tools = _distinct(as_tools(tools))  # noqa: SLF001 - our own copy
        bound._wire_names = _wire_names(bound._tools)  # noqa: SLF001 - our own copy
        bound._tool_choice = _checked_choice(tool_choice, bound._tools)  # noqa: SLF001 - our own copy
        bound._options = {**self._options, **self._checked_options(options)}  # noqa: SLF001 - our own copy
        return bound

    def invoke(self, input: ModelInput, config: RunConfig | None = None) -> AIMessage:
        """The model's answer to text, messages in any form, or a state with ``messages``.

        Args:
            input: What the model is to answer.
            config: Taken so that a model can be a node; a model finds nothing in it that concerns it.

        Raises:
            InputError: The input cannot be read as messages.
            ModelError: The provider could not be asked, or its reply could not be read.
        """
        return run_sync(lambda: self.ainvoke(input, config))

    async def ainvoke(self, input: ModelInput, config: RunConfig | None = None) -> AIMessage:
        """The model's answer; see ``invoke``.

        In a graph whose ``messages`` somebody reads, the answer is streamed, and each piece told as it comes.
        """
        request = self._request(input)
        reader = message_reader()
        if reader is not None:
            return await self._told(request, reader)
        return self._read(await self._answer(request), request)

    async def _told(self, request: ModelRequest, reader: Publisher) -> AIMessage:
        """The answer, told while it comes to whoever reads the messages of the graph around."""
        if not self._has_pieces():
            return tell(self._read(await self._answer(request), request), reader)
        return await told(self._all_pieces(request), reader)

    def stream(self, input: ModelInput, config: RunConfig | None = None) -> Iterator[AIMessageChunk]:
        """The answer in pieces, as they arrive; their sum is the answer. Raises as ``invoke`` does."""
        pieces = self.astream(input, config)
        try:
            while (piece := run_sync(lambda: _next_of(pieces))) is not None:
                yield piece
        finally:
            run_sync(lambda: _close(pieces))

    async def astream(self, input: ModelInput, config: RunConfig | None = None) -> AsyncGenerator[AIMessageChunk, None]:
        """The answer in pieces, as they arrive; see ``stream``."""
        pieces, reader = self._all_pieces(self._request(input)), message_reader()
        async with aclosing(pieces if reader is None else telling(pieces, reader)) as heard:
            async for piece in heard:
                yield piece

    async def _all_pieces(self, request: ModelRequest) -> AsyncGenerator[AIMessageChunk, None]:
        """The reply in pieces; calls that it holds as text come as calls, at the end, and not as text."""
        said = self._said(request)
        async with aclosing(self._own_pieces(request)) as pieces:
            async for piece in pieces:
                heard = piece if said is None else said.hear(piece)
                if heard is not None:
                    yield heard
        rest = None if said is None else said.rest()
        if rest is not None:
            yield rest

    async def _own_pieces(self, request: ModelRequest) -> AsyncGenerator[AIMessageChunk, None]:
        """The reply in pieces, with the tools' own names."""
        # Closed now, and not when it is collected: the connection is given back there.
        async with aclosing(self._pieces(request)) as pieces:
            async for piece in pieces:
                yield _piece_with_own_names(piece, request)

    @abstractmethod
    async def _answer(self, request: ModelRequest) -> AIMessage:
        """The provider's reply to one request."""

    def _has_pieces(self) -> bool:
        """Whether the next reply comes in pieces; a model that cannot stream tells the whole of it at once."""
        return type(self)._pieces is not BaseChatModel._pieces  # noqa: SLF001 - whether it has some of its own

    async def _pieces(self, request: ModelRequest) -> AsyncGenerator[AIMessageChunk, None]:
        """The reply in pieces; a model that cannot stream has one."""
        yield AIMessageChunk.of(await self._answer(request))

    def _checked_options(self, options: dict[str, Any]) -> dict[str, Any]:
        """The options, if this kind of model can keep what they ask for."""
        return options

    def _request(self, input: ModelInput) -> ModelRequest:
        messages = repair_transcript(convert_to_messages(_messages_in(input)))
        return ModelRequest(
            messages=messages if self._nudge is None else self._nudge.apply(messages),
            tools=self._tools,
            tool_choice=self._tool_choice,
            options=self._options,
            wire_names=self._wire_names,
        )

    def _read(self, reply: AIMessage, request: ModelRequest) -> AIMessage:
        """The reply with the tools' own names, and with the calls that it holds as text."""
        said = self._said(request)
        own = _with_own_names(reply, request)
        return own if said is None else said.read(own)

    def _said(self, request: ModelRequest) -> Said | None:
        """What reads calls out of the text of a reply; None where that is not asked for."""
        if not self._text_forms or not request.tools:
            return None
        offered = {request.wire_names.get(name, name): name for name in request.tool_names}
        return Said(offered, self._text_forms)


def refuse_options(options: Mapping[str, Any], names: Collection[str]) -> None:
    """Refuse options that would stand in the place of what the model itself decides.

    Raises:
        OptionError: One of the names is among them.
    """
    for name in sorted(set(names) & options.keys()):
        raise OptionError(
            option=name,
            value=options[name],
            expected="to be left out",
            remedy="It follows from the model's name, the messages, bind_tools(…) and the method that is called.",
        )


def _messages_in(input: ModelInput) -> Any:
    """The messages of a state, or the input itself."""
    if isinstance(input, Mapping) and "messages" in input:
        return input["messages"]
    return input


def _distinct(tools: Sequence[BaseTool]) -> tuple[BaseTool, ...]:
    """The tools, if each can be told from the others by its name."""
    names = [tool.spec.name for tool in tools]
    for name in names:
        if names.count(name) > 1:
            raise ToolDefinitionError(
                tool=name, problem="two of the tools have this name", remedy="Give one of them another with name=…."
            )
    return tuple(tools)


def _checked_choice(choice: ToolChoice, tools: Sequence[BaseTool]) -> str | Mapping[str, Any] | None:
    if choice is None or isinstance(choice, Mapping):
        return choice
    names = [tool.spec.name for tool in tools]
    if choice == "any":
        return "required"
    if choice not in _MODES and choice not in names:
        expected = f"{', '.join(_MODES)} or the name of a bound tool ({', '.join(names) or 'there are none'})"
        raise OptionError(option="tool_choice", value=choice, expected=expected)
    return choice


def _wire_names(tools: Sequence[BaseTool]) -> dict[str, str]:
    names = export_names(tool.spec.name for tool in tools)
    return {name: wire for name, wire in names.items() if name != wire}


def _with_own_names(reply: AIMessage, request: ModelRequest) -> AIMessage:
    """The reply with the tools' own names in place of those they were offered by."""
    if not request.wire_names or not reply.tool_calls:
        return reply
    own = original_names(request.wire_names)
    calls = [{**call, "name": own.get(call["name"], call["name"])} for call in reply.tool_calls]
    return reply.replace(tool_calls=calls)


def _piece_with_own_names(piece: AIMessageChunk, request: ModelRequest) -> AIMessageChunk:
    if not request.wire_names or not piece.tool_call_chunks:
        return piece
    own = original_names(request.wire_names)
    chunks = [{**chunk, "name": own.get(chunk["name"] or "", chunk["name"])} for chunk in piece.tool_call_chunks]
    return piece.replace(tool_call_chunks=chunks)


async def _next_of(pieces: AsyncGenerator[AIMessageChunk, None]) -> AIMessageChunk | None:
    return await anext(pieces, None)


async def _close(pieces: AsyncGenerator[AIMessageChunk, None]) -> None:
    await pieces.aclose()
