"""What a chat model is: everything that can be bound to tools and asked with messages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from surehand.control import RunConfig
from surehand.messages import AIMessage, AIMessageChunk, Message

__all__ = ["ChatModel", "ForeignModel", "ModelInput", "ToolChoice"]

ModelInput: TypeAlias = str | Message | Sequence[Any] | Mapping[str, Any]
"""What a model takes: text, messages in any form that ``convert_to_messages`` knows, or a state with ``messages``."""

ToolChoice: TypeAlias = str | Mapping[str, Any] | None
"""``auto``, ``none``, ``required`` (or ``any``), a tool's name, or the provider's own object; None leaves it open."""


@runtime_checkable
class ChatModel(Protocol):
    """Answers messages with an AI message, and may ask for the tools that are bound to it."""

    def bind_tools(self, tools: Sequence[Any], *, tool_choice: ToolChoice = None, **options: Any) -> ChatModel:
        """A copy that offers these tools instead of those bound before; the original is untouched."""
        ...

    def invoke(self, input: ModelInput, config: RunConfig | None = None) -> AIMessage:
        """The model's answer."""
        ...

    async def ainvoke(self, input: ModelInput, config: RunConfig | None = None) -> AIMessage:
        """The model's answer."""
        ...

    def stream(self, input: ModelInput, config: RunConfig | None = None) -> Iterator[AIMessageChunk]:
        """The answer in pieces, as they arrive; their sum is the answer."""
        ...

    def astream(self, input: ModelInput, config: RunConfig | None = None) -> AsyncIterator[AIMessageChunk]:
        """The answer in pieces, as they arrive; their sum is the answer."""
        ...


class ForeignModel(Protocol):
    """A chat model of LangChain's, or one with something around it: what checkers can see of them all."""

    def bind(self, **options: Any) -> Any:
        """The same with options."""
        ...

    def ainvoke(self, input: Any, config: Any = None, /) -> Awaitable[Any]:
        """The model's answer, as a message of its own."""
        ...
