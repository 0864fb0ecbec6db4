"""How a model behind OpenAI's Responses is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from surehand.dialects import openai_responses
from surehand.dialects.streams import ReplyStream
from surehand.messages import AIMessage
from surehand.models.base import ModelRequest
from surehand.models.failures import Address, bad_reply, failed_reply
from surehand.models.openai_chat import without_tools
from surehand.shapes import items_of

__all__ = ["ResponsesApi"]

_FAILED: Final = frozenset({"failed", "cancelled"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponsesApi:
    """OpenAI's Responses.

    The whole conversation is sent each time; what the provider keeps is never relied on.
    """

    model: str
    temperature: float | None
    max_tokens: int | None

    path: ClassVar[str] = "/responses"
    own_fields: ClassVar[frozenset[str]] = frozenset(
        {"input", "instructions", "messages", "model", "stream", "tool_choice"}
    )

    def check_options(self, options: Mapping[str, Any]) -> None:
        """All are the provider's."""

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """The request; tools among the options are the provider's own, beside those that are bound."""
        options = dict(request.options)
        instructions, items = openai_responses.write_messages(
            request.messages, names=request.wire_names, is_stored=options.get("store") is not False
        )
        bound = [tool.to_openai(api="responses") for tool in request.tools]
        own = {
            "model": self.model,
            "instructions": instructions,
            "input": items,
            "temperature": self.temperature,
            "max_output_tokens": self.max_tokens,
            "tools": [*bound, *items_of(options.pop("tools", ()))] or None,
            "tool_choice": _written_choice(request),
        }
        options = options if own["tools"] else without_tools(options)
        return {**{name: value for name, value in own.items() if value is not None}, **options}

    def streamed(self, body: dict[str, Any]) -> dict[str, Any]:
        """The request for a reply in pieces."""
        return {**body, "stream": True}

    def read(self, reply: dict[str, Any], address: Callable[[], Address]) -> AIMessage:
        """The reply; a ModelError where it is none, or failed."""
        if reply.get("status") in _FAILED:
            raise failed_reply(address(), reply.get("error"))
        if not isinstance(reply.get("output"), list):
            raise bad_reply(address(), reply.get("error", reply), "a reply without output")
        return openai_responses.read_reply({**reply, "object": "response"})

    def stream(self) -> ReplyStream:
        """What reads a reply in pieces."""
        return openai_responses.ResponseStream()


def _written_choice(request: ModelRequest) -> str | Mapping[str, Any] | None:
    choice = request.tool_choice
    if isinstance(choice, str) and choice in request.tool_names:
        return {"type": "function", "name": request.wire_names.get(choice, choice)}
    return choice
