"""Anthropic's messages."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Hashable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from surehand.dialects import anthropic_messages
from surehand.errors import MissingExtraError
from surehand.messages import AIMessage, AIMessageChunk
from surehand.models.base import BaseChatModel, ModelRequest, refuse_options
from surehand.models.client_options import check_client
from surehand.models.clients import LoopClients
from surehand.models.connection import Connection
from surehand.models.failures import Address, as_model_errors, bad_reply, checked_json, missing_key
from surehand.models.nudge import Nudge
from surehand.models.replies import pieces_of, unbroken
from surehand.models.said import TextCalls
from surehand.policy import count
from surehand.shapes import items_of, mapping_of

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

__all__ = ["ChatAnthropic"]

DEFAULT_MAX_TOKENS: Final = 8192
"""The API demands a limit; every current model can write this much, and calls are not cut off early."""
_OURS: Final = frozenset({"messages", "model", "stream", "system", "tool_choice", "tools"})
"""Fields of a request that follow from how the model is built and called."""
_VARIABLES: Final = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL")
_CHOICES: Final = {"auto": "auto", "required": "any", "none": "none"}


async def _close(client: AsyncAnthropic) -> None:
    await client.close()


_clients: Final[LoopClients[AsyncAnthropic]] = LoopClients(_close)


class ChatAnthropic(BaseChatModel):
    """A Claude model behind Anthropic's messages.

    Example:
        model = ChatAnthropic("claude-sonnet-4-5", max_tokens=1024)
        model.bind_tools([add]).invoke("What is 2 + 3?").tool_calls

    ``ANTHROPIC_API_KEY`` and ``ANTHROPIC_BASE_URL`` are read when the model is first called, and so is the
    ``anthropic`` package imported (``pip install 'surehand[anthropic]'``).

    Args:
        model: The model's name, as the provider spells it.
        api_key: The key; None leaves it to the SDK's own sources, the environment first.
        base_url: The address of the API; None leaves it to the SDK.
        temperature: None leaves it to the provider.
        max_tokens: The most tokens of a reply.
        timeout: Seconds to wait for the provider: to connect, and for each next part of an answer; None for no limit.
        max_retries: How often a request is sent again after a broken connection, a rate limit or a server's failure.
        nudge: See ``BaseChatModel``.
        text_calls: See ``BaseChatModel``.
        client_options: Further arguments of ``anthropic.AsyncAnthropic``, such as ``default_headers``.
        options: Further fields of each request, such as ``top_p`` or ``thinking``.

    Raises:
        OptionError: An option stands for what the model itself decides, such as ``stream``.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        temperature: float | None = None,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        timeout: float | None = 120.0,
        max_retries: int = 2,
        nudge: bool | Nudge | None = None,
        text_calls: TextCalls = False,
        client_options: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(nudge=nudge, text_calls=text_calls, options=options)
        check_client(model, temperature=temperature, timeout=timeout, max_retries=max_retries, base_url=base_url)
        self.model = model
        self._api_key = api_key
        self._base_url = base_url
        self._temperature = temperature
        self._max_tokens = count("max_tokens", max_tokens)
        self._connection = Connection(
            timeout=timeout, max_retries=max_retries, client_options=dict(client_options or {})
        )

    async def aclose(self) -> None:
        """Close the connections of the running loop; it does so by itself when it ends."""
        await _clients.aclose(self._key())

    async def _answer(self, request: ModelRequest) -> AIMessage:
        body = self._body(request)
        async with self._asking() as client:
            payload = await client.post("/v1/messages", cast_to=object, body=body)
            address = partial(self._address, client)
        reply = checked_json(payload, address, reason="text that is no JSON object")
        if "content" not in reply:
            raise bad_reply(address(), reply.get("error", reply), "a reply without content")
        return unbroken(anthropic_messages.read_reply(reply), address)

    async def _pieces(self, request: ModelRequest) -> AsyncGenerator[AIMessageChunk, None]:
        body = {**self._body(request), "stream": True}
        async with self._asking() as client:
            address = partial(self._address, client)
            events = _events(client, body, address)
            async with aclosing(pieces_of(events, anthropic_messages.MessageStream(), address)) as pieces:
                async for piece in pieces:
                    yield piece

    def _checked_options(self, options: dict[str, Any]) -> dict[str, Any]:
        """The options, unless they stand for what the model itself decides."""
        refuse_options(options, _OURS)
        return options

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        system, messages = anthropic_messages.write_messages(request.messages, names=request.wire_names)
        options = dict(request.options)
        own = {
            "model": self.model,
            "max_tokens": self._max_tokens,
            "system": system,
            "messages": messages,
            "temperature": self._temperature,
            "tools": [tool.to_anthropic() for tool in request.tools] or _called_before(messages) or None,
            "tool_choice": _written_choice(request, parallel=options.pop("parallel_tool_calls", None)),
        }
        if own["tools"] and not request.tools:
            own["tool_choice"] = {"type": "none"}
        return {**{name: value for name, value in own.items() if value is not None}, **options}

    def _key(self) -> Hashable:
        """What tells two clients apart, what the SDK finds in the environment included."""
        found = tuple(os.environ.get(name) for name in _VARIABLES)
        return self._connection.key(self._api_key, self._base_url, found)

    def _address(self, client: AsyncAnthropic | None = None) -> Address:
        url = self._base_url or (str(client.base_url) if client is not None else "https://api.anthropic.com")
        return Address(model=self.model, provider="Anthropic", key_variable="ANTHROPIC_API_KEY", url=url)

    def _made(self) -> AsyncAnthropic:
        from anthropic import AsyncAnthropic  # noqa: PLC0415 - an extra, needed by calls only

        client = AsyncAnthropic(
            api_key=self._api_key,
            base_url=self._base_url,
            **self._connection.arguments(),
        )
        if not any(getattr(client, source, None) for source in ("api_key", "auth_token", "credentials")):
            raise missing_key(self._address(client))
        return client

    @asynccontextmanager
    async def _asking(self) -> AsyncGenerator[AsyncAnthropic, None]:
        """The running loop's client; what goes wrong while it is used leaves as a ModelError."""
        try:
            from anthropic import AnthropicError  # noqa: PLC0415 - an extra, needed by calls only
        except ImportError as error:
            raise MissingExtraError(feature="ChatAnthropic", package="anthropic", extra="anthropic") from error
        client: AsyncAnthropic | None = None
        with as_model_errors(AnthropicError, lambda: self._address(client)):
            client = await _clients.get(self._key(), self._made)
            yield client


async def _events(
    client: AsyncAnthropic, body: dict[str, Any], address: Callable[[], Address]
) -> AsyncGenerator[object, None]:
    from anthropic import AsyncStream  # noqa: PLC0415 - an extra, which is there by now

    events = await client.post("/v1/messages", cast_to=object, body=body, stream=True, stream_cls=AsyncStream[object])
    async with events:
        async for event in events:
            yield checked_json(event, address, reason="an event that is no object")


def _called_before(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The tools that a conversation has calls of, by name alone: without them the provider refuses the conversation."""
    blocks = [block for message in messages for block in items_of(message["content"])]
    names = dict.fromkeys(block["name"] for block in blocks if mapping_of(block).get("type") == "tool_use")
    return [{"name": name, "input_schema": {"type": "object"}} for name in names]


def _written_choice(request: ModelRequest, *, parallel: bool | None) -> dict[str, Any] | None:
    choice = request.tool_choice
    if isinstance(choice, Mapping):
        return dict(choice)
    written: dict[str, Any] | None = None
    if choice is not None:
        is_name = choice in request.tool_names
        written = (
            {"type": "tool", "name": request.wire_names.get(choice, choice)} if is_name else {"type": _CHOICES[choice]}
        )
    if parallel is False and request.tools:
        written = {**(written or {"type": "auto"}), "disable_parallel_tool_use": True}
    return written
