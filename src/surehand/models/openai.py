"""OpenAI's chat completions and Responses, and every server that speaks one of them: DeepSeek, Ollama, vLLM, Groq, xAI.

Which of the two is spoken is a matter of a module each; here is what they share.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator, Hashable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, Literal

from surehand.dialects.chat_stream import DONE
from surehand.dialects.refusals import read_refusal
from surehand.errors import MissingExtraError, OptionError
from surehand.messages import AIMessage, AIMessageChunk
from surehand.models.base import BaseChatModel, ModelRequest, refuse_options
from surehand.models.client_options import check_client
from surehand.models.clients import LoopClients
from surehand.models.connection import Connection
from surehand.models.failures import Address, as_model_errors, checked_json, missing_key
from surehand.models.nudge import Nudge
from surehand.models.openai_chat import Api, ChatApi
from surehand.models.openai_responses import ResponsesApi
from surehand.models.replies import pieces_of, unbroken
from surehand.models.said import TextCalls
from surehand.policy import count_or_none

if TYPE_CHECKING:
    from openai import APIError, AsyncOpenAI

__all__ = ["DEEPSEEK", "OLLAMA", "OPENAI", "ChatOpenAI", "Endpoint"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a provider's chat completions are, and where its key comes from."""

    name: str
    key_variable: str
    """The environment variable of the key."""
    url_variable: str
    """The environment variable of the address."""
    url: str
    """The address when nothing else names one."""
    key: str | None = None
    """The key when nothing else names one; None where one is needed."""
    max_tokens_field: str = "max_tokens"
    """What the provider calls the limit of a reply's length; OpenAI renamed it, and most others did not follow."""
    sends_back: tuple[str, ...] = ()
    """What the provider sends beside the content of a reply and wants to see again in the next request."""

    def address(self, given: str | None) -> str:
        """The address to use: the given one, the environment's, or the usual one."""
        return given or os.environ.get(self.url_variable) or self.url

    def sent_back(self, given: str | None) -> tuple[str, ...]:
        """What is sent back: elsewhere than at the provider's own address also the signatures of Gemini's calls."""
        return self.sends_back if self.address(given) == self.url else (*self.sends_back, "extra_content")

    def limit_field(self, given: str | None) -> str:
        """What the server calls the limit of a reply's length: the provider's word, elsewhere the one all know."""
        return self.max_tokens_field if self.address(given) == self.url else "max_tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class _OllamaEndpoint(Endpoint):
    """Ollama's own variable names a host, with or without a scheme and a port, and no path."""

    def address(self, given: str | None) -> str:
        host = os.environ.get(self.url_variable, "").strip().rstrip("/")
        if given or not host:
            return given or self.url
        scheme, separator, rest = host.rpartition("://")
        rest = rest.replace("0.0.0.0", "127.0.0.1")  # noqa: S104 - what a server listens on is no address to call
        has_port = rest.rpartition(":")[2].isdigit()
        port = "" if has_port or scheme == "https" else ":11434"
        return f"{scheme or 'http'}://{rest}{port}/v1" if separator or rest else self.url


OPENAI: Final = Endpoint(
    name="OpenAI",
    key_variable="OPENAI_API_KEY",
    url_variable="OPENAI_BASE_URL",
    url="https://api.openai.com/v1",
    max_tokens_field="max_completion_tokens",
)
DEEPSEEK: Final = Endpoint(
    name="DeepSeek",
    key_variable="DEEPSEEK_API_KEY",
    url_variable="DEEPSEEK_BASE_URL",
    url="https://api.deepseek.com",
    sends_back=("reasoning_content",),  # while it thinks with tools, it refuses a history without its thoughts
)
OLLAMA: Final = _OllamaEndpoint(
    name="Ollama",
    key_variable="OLLAMA_API_KEY",
    url_variable="OLLAMA_HOST",
    url="http://localhost:11434/v1",
    key="ollama",
)


async def _close(client: AsyncOpenAI) -> None:
    await client.close()


_clients: Final[LoopClients[AsyncOpenAI]] = LoopClients(_close)


class ChatOpenAI(BaseChatModel):
    """A model behind OpenAI's chat completions or Responses, or a server that speaks one of them.

    A reply that the server made and then refused, because a call in it was broken, is read from its error; what it
    was refused for stands in ``response_metadata["recovered"]``.

    Example:
        model = ChatOpenAI(model="qwen3.5:9b", api_key="ollama", base_url="http://localhost:11434/v1", temperature=0)
        model.bind_tools([add]).invoke("What is 2 + 3?").tool_calls

    The key and the address are read from the environment when the model is first called, and so is the ``openai``
    package imported (``pip install 'surehand[openai]'``).

    Args:
        model: The model's name, as the provider spells it.
        api_key: The key; None reads the endpoint's environment variable.
        base_url: The address of the API, version included; None reads the environment, then takes the usual one.
        temperature: None leaves it to the provider.
        max_tokens: The most tokens of a reply; None leaves it to the provider.
        timeout: Seconds to wait for the provider: to connect, and for each next part of an answer; None for no limit.
        max_retries: How often a request is sent again after a broken connection, a rate limit or a server's failure.
        nudge: See ``BaseChatModel``.
        text_calls: See ``BaseChatModel``.
        endpoint: Which variables and addresses hold; OpenAI's by default.
        api: ``chat`` for chat completions, ``responses`` for OpenAI's Responses.
        stream_usage: Whether a stream is asked to end with the tokens it took; some servers refuse the question.
        client_options: Further arguments of ``openai.AsyncOpenAI``, such as ``organization`` or ``default_headers``.
        options: Further fields of each request, such as ``top_p``, ``seed`` or ``response_format``; for Responses
            ``store``, ``include`` or ``reasoning``, and as ``tools`` those that the provider runs itself.

    Raises:
        OptionError: An option asks for something that one reply cannot be, such as ``n=2``.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        timeout: float | None = 120.0,
        max_retries: int = 2,
        nudge: bool | Nudge | None = None,
        text_calls: TextCalls = False,
        endpoint: Endpoint = OPENAI,
        api: Literal["chat", "responses"] = "chat",
        stream_usage: bool = True,
        client_options: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        check_client(model, temperature=temperature, timeout=timeout, max_retries=max_retries, base_url=base_url)
        limit = count_or_none("max_tokens", max_tokens)
        if api == "responses":
            self._api: Api = ResponsesApi(model=model, temperature=temperature, max_tokens=limit)
        elif api == "chat":
            self._api = ChatApi(
                model=model,
                temperature=temperature,
                max_tokens=limit,
                limit_field=partial(endpoint.limit_field, base_url),
                sends_back=partial(endpoint.sent_back, base_url),
                asks_usage=stream_usage,
            )
        else:
            raise OptionError(option="api", value=api, expected="'chat' or 'responses'")
        super().__init__(nudge=nudge, text_calls=text_calls, options=options)
        self.model = model
        self._api_key = api_key
        self._base_url = base_url
        self._connection = Connection(
            timeout=timeout, max_retries=max_retries, client_options=dict(client_options or {})
        )
        self._endpoint = endpoint

    async def aclose(self) -> None:
        """Close the connections of the running loop; it does so by itself when it ends."""
        await _clients.aclose(self._key())

    async def _answer(self, request: ModelRequest) -> AIMessage:
        async with self._asking() as client:
            from openai import APIError  # noqa: PLC0415 - an extra, which is there by now

            try:
                payload = await client.post(self._api.path, cast_to=object, body=self._api.body(request))
            except APIError as error:
                return _recovered(error, request)
        reply = checked_json(payload, self._address, reason="text that is no JSON object")
        return unbroken(self._api.read(reply, self._address), self._address)

    async def _pieces(self, request: ModelRequest) -> AsyncGenerator[AIMessageChunk, None]:
        has_pieces = False
        async with self._asking() as client:
            from openai import APIError  # noqa: PLC0415 - an extra, which is there by now

            frames = self._frames(client, request)
            try:
                async with aclosing(pieces_of(frames, self._api.stream(), self._address)) as pieces:
                    async for piece in pieces:
                        has_pieces = True
                        yield piece
            except APIError as error:
                # What was told of a call before it was refused is void.
                yield AIMessageChunk.of(_recovered(error, request)).replace(is_restart=has_pieces)

    async def _frames(self, client: AsyncOpenAI, request: ModelRequest) -> AsyncGenerator[object, None]:
        """The frames of a reply, with the last one, which the SDK keeps to itself."""
        body, kind, is_empty = self._api.streamed(self._api.body(request)), _frames_kind(), True
        frames = await client.post(self._api.path, cast_to=object, body=body, stream=True, stream_cls=kind)
        async with frames:
            async for frame in frames:
                is_empty = False
                yield checked_json(frame, self._address, reason="a frame that is no object")
        if frames.ends and not is_empty:
            yield DONE

    def _checked_options(self, options: dict[str, Any]) -> dict[str, Any]:
        """The options, unless they ask for several answers or for what the model itself decides."""
        self._api.check_options(options)
        refuse_options(options, self._api.own_fields)
        return options

    def _key(self) -> Hashable:
        """What tells two clients apart."""
        url = self._endpoint.address(self._base_url)
        return self._connection.key(self._found_key(), url)

    def _found_key(self) -> str | None:
        return self._api_key or os.environ.get(self._endpoint.key_variable) or self._endpoint.key

    def _address(self) -> Address:
        return Address(
            model=self.model,
            provider=self._endpoint.name,
            key_variable=self._endpoint.key_variable,
            url=self._endpoint.address(self._base_url),
        )

    def _made(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI  # noqa: PLC0415 - an extra, needed by calls only

        return AsyncOpenAI(
            api_key=self._found_key(),
            base_url=self._endpoint.address(self._base_url),
            **self._connection.arguments(),
        )

    @asynccontextmanager
    async def _asking(self) -> AsyncGenerator[AsyncOpenAI, None]:
        """The running loop's client; what goes wrong while it is used leaves as a ModelError."""
        try:
            from openai import OpenAIError  # noqa: PLC0415 - an extra, needed by calls only
        except ImportError as error:
            raise MissingExtraError(feature="ChatOpenAI", package="openai", extra="openai") from error
        if self._found_key() is None:
            raise missing_key(self._address())
        with as_model_errors(OpenAIError, self._address):
            yield await _clients.get(self._key(), self._made)


@cache
def _frames_kind() -> type[Any]:
    """The SDK's stream, which knows after its last frame whether the server had said that it is the last."""
    from openai import AsyncStream  # noqa: PLC0415 - an extra, which is there by now

    class Frames(AsyncStream[object]):
        def __init__(self, **arguments: Any) -> None:
            self.ends: list[str] = []  # a list, as SDKs of this family may read from a copy of their stream
            super().__init__(**arguments)

        async def _iter_events(self) -> AsyncIterator[Any]:
            async for event in super()._iter_events():
                if event.data.startswith(DONE):
                    self.ends.append(DONE)
                yield event

    return Frames


def _recovered(error: APIError, request: ModelRequest) -> AIMessage:
    """The reply that the server made and refused, where it tells it.

    Raises:
        APIError: The same, where it holds no reply, or no tool was to be called.
    """
    names = [request.wire_names.get(name, name) for name in request.tool_names]
    is_meant = bool(names) and request.tool_choice != "none"
    reply = read_refusal(error.body, names) if is_meant else None
    if reply is None:
        raise error
    return reply
