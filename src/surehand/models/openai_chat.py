"""How a model behind OpenAI's chat completions is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from surehand.dialects import openai_chat
from surehand.dialects.chat_choices import choice_of
from surehand.dialects.streams import ReplyStream
from surehand.errors import OptionError
from surehand.messages import AIMessage
from surehand.models.base import ModelRequest
from surehand.models.failures import Address, bad_reply
from surehand.shapes import mapping_of

__all__ = ["Api", "ChatApi", "without_tools"]


class Api(Protocol):
    """One of the ways in which OpenAI's models are asked."""

    path: ClassVar[str]
    """Where requests go, below the address."""
    own_fields: ClassVar[frozenset[str]]
    """Fields of a request that follow from how the model is built and called."""

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Refuse options that ask for something that one reply cannot be."""
        ...

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """The request."""
        ...

    def streamed(self, body: dict[str, Any]) -> dict[str, Any]:
        """The request for a reply in pieces."""
        ...

    def read(self, reply: dict[str, Any], address: Callable[[], Address]) -> AIMessage:
        """The reply; a ModelError where it is none."""
        ...

    def stream(self) -> ReplyStream:
        """What reads a reply in pieces."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatApi:
    """Chat completions."""

    model: str
    temperature: float | None
    max_tokens: int | None
    limit_field: Callable[[], str]
    """What the server calls the limit of a reply's length."""
    sends_back: Callable[[], tuple[str, ...]]
    """What the server sends beside the content of a reply and wants to see again in the next request."""
    asks_usage: bool
    """Whether a stream is asked to end with the tokens it took."""

    path: ClassVar[str] = "/chat/completions"
    own_fields: ClassVar[frozenset[str]] = frozenset({"messages", "model", "stream", "tool_choice", "tools"})

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Refuse several answers."""
        if options.get("n", 1) != 1:
            raise OptionError(
                option="n", value=options["n"], expected="1", remedy="One message is one answer: ask several times."
            )

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """The request."""
        own = {
            "model": self.model,
            "messages": openai_chat.write_messages(
                request.messages, names=request.wire_names, extra_fields=self.sends_back()
            ),
            "temperature": self.temperature,
            self.limit_field(): self.max_tokens,
            "tools": [tool.to_openai() for tool in request.tools] or None,
            "tool_choice": _written_choice(request),
        }
        options = request.options if request.tools else without_tools(request.options)
        return {**{name: value for name, value in own.items() if value is not None}, **options}

    def streamed(self, body: dict[str, Any]) -> dict[str, Any]:
        """The request for a reply in pieces; without the question a stream says nothing of its tokens."""
        asked = {"stream_options": {"include_usage": True}} if self.asks_usage else {}
        return {**asked, **body, "stream": True}

    def read(self, reply: dict[str, Any], address: Callable[[], Address]) -> AIMessage:
        """The reply; a ModelError where it is none."""
        if not mapping_of(choice_of(reply, 0).get("message")):
            raise bad_reply(address(), reply.get("error", reply), "a reply without choices")
        return openai_chat.read_reply(reply)

    def stream(self) -> ReplyStream:
        """What reads a reply in pieces."""
        return openai_chat.ChatStream()


def without_tools(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that say nothing of tools: the provider refuses the others where it is offered none."""
    return {name: value for name, value in options.items() if name != "parallel_tool_calls"}


def _written_choice(request: ModelRequest) -> str | Mapping[str, Any] | None:
    choice = request.tool_choice
    if isinstance(choice, str) and choice in request.tool_names:
        return {"type": "function", "function": {"name": request.wire_names.get(choice, choice)}}
    return choice
