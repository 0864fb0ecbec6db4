"""Google's Gemini models."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Hashable, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

from surehand.dialects import gemini
from surehand.errors import MissingExtraError, ModelError, OptionError
from surehand.messages import AIMessage, AIMessageChunk
from surehand.models.base import BaseChatModel, ModelRequest, refuse_options
from surehand.models.client_options import check_client
from surehand.models.clients import LoopClients
from surehand.models.connection import Connection
from surehand.models.failures import (
    MAX_MESSAGE,
    Address,
    as_model_errors,
    bad_reply,
    checked_json,
    late_reply,
    missing_key,
)
from surehand.models.nudge import Nudge
from surehand.models.replies import pieces_of, unbroken
from surehand.models.said import TextCalls
from surehand.policy import count_or_none
from surehand.shapes import mapping_of
from surehand.wording import clipped

if TYPE_CHECKING:
    from google.genai import Client

__all__ = ["ChatGoogle"]

T = TypeVar("T")

_OURS: Final = frozenset({"contents", "model", "systemInstruction", "system_instruction", "tool_choice", "tools"})
"""Fields of a request that follow from how the model is built and called."""
_OF_REQUEST: Final = frozenset({"cachedContent", "labels", "safetySettings", "serviceTier", "store", "toolConfig"})
"""Options that are fields of the request itself; all others belong to its ``generationConfig``."""
_VARIABLES: Final = (
    "GOOGLE_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_GENAI_USE_VERTEXAI",
    "GOOGLE_GENAI_USE_ENTERPRISE",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_CLOUD_LOCATION",
    "GOOGLE_GEMINI_BASE_URL",
    "GOOGLE_VERTEX_BASE_URL",
)
_CALLING: Final = "functionCallingConfig"
_CHOICES: Final = {"auto": "AUTO", "required": "ANY", "none": "NONE"}
_GENERATION: Final = re.compile(r"gemini-(\d+)")
_FIRST_TO_SIGN: Final = 3
"""The generation of Gemini that insists on signed calls, and takes files in the answers to them."""
_URL: Final = "https://generativelanguage.googleapis.com"


async def _close(client: Client) -> None:
    await client.aio.aclose()
    client.close()


_clients: Final[LoopClients[Client]] = LoopClients(_close)


class ChatGoogle(BaseChatModel):
    """A Gemini model behind Google's generateContent.

    Example:
        model = ChatGoogle("gemini-3-flash-preview", max_tokens=1024)
        model.bind_tools([add]).invoke("What is 2 + 3?").tool_calls

    ``GOOGLE_API_KEY`` or ``GEMINI_API_KEY`` is read when the model is first called, and so is the ``google-genai``
    package imported (``pip install 'surehand[google]'``). Vertex AI is reached with the SDK's own arguments:
    ``client_options={"vertexai": True, "project": "…", "location": "global"}``.

    Args:
        model: The model's name, as the provider spells it.
        api_key: The key; None leaves it to the SDK's own sources, the environment first.
        base_url: The address of the API, without its version; None leaves it to the SDK.
        temperature: None leaves it to the provider.
        max_tokens: The most tokens of a reply, thoughts included; None leaves it to the provider.
        timeout: Seconds to wait for the provider: for an answer, all tries together, and in a stream for each next part
            of it; None for no limit.
        max_retries: How often a request is sent again after a broken connection, a rate limit or a server's failure.
        nudge: See ``BaseChatModel``.
        text_calls: See ``BaseChatModel``.
        client_options: Further arguments of ``google.genai.Client``, such as ``vertexai`` or ``http_options``.
        options: Further fields of each request, in the API's own names: those of its ``generationConfig``, such as
            ``topP`` or ``thinkingConfig``, and ``safetySettings``, ``cachedContent``, ``labels`` or ``toolConfig``.

    Raises:
        OptionError: An option asks for several replies, or stands for what the model itself decides.
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
        client_options: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(nudge=nudge, text_calls=text_calls, options=options)
        check_client(model, temperature=temperature, timeout=timeout, max_retries=max_retries, base_url=base_url)
        self.model = model
        self._api_key = api_key
        self._base_url = base_url
        self._temperature = temperature
        self._max_tokens = count_or_none("max_tokens", max_tokens)
        self._connection = Connection(
            timeout=timeout, max_retries=max_retries, client_options=dict(client_options or {})
        )

    async def aclose(self) -> None:
        """Close the connections of the running loop; it does so by itself when it ends."""
        await _clients.aclose(self._key())

    async def _answer(self, request: ModelRequest) -> AIMessage:
        body = self._body(request)
        async with self._asking() as client:
            # Not by the SDK's own methods: they drop what they have no class for, and refuse to send it back.
            path = self._path(client, "generateContent")
            sent = await self._in_time(client._api_client.async_request("post", path, body))  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
            reply = checked_json(json.loads(sent.body or "{}"), self._address, reason="text that is no JSON object")
        if not (reply.get("candidates") or reply.get("promptFeedback")):
            raise bad_reply(self._address(), reply.get("error", reply), "a reply without candidates")
        return unbroken(gemini.read_reply(reply), self._address)

    async def _pieces(self, request: ModelRequest) -> AsyncGenerator[AIMessageChunk, None]:
        body = self._body(request)
        async with self._asking() as client:
            chunks = self._chunks(client, body)
            async with aclosing(pieces_of(chunks, gemini.ContentStream(), self._address)) as pieces:
                async for piece in pieces:
                    yield piece

    async def _chunks(self, client: Client, body: dict[str, Any]) -> AsyncGenerator[object, None]:
        path = self._path(client, "streamGenerateContent?alt=sse")
        sent = client._api_client.async_request_streamed("post", path, body)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        chunks: AsyncIterator[Any] = aiter(await self._in_time(sent))
        try:
            while (chunk := await self._in_time(anext(chunks, None))) is not None:
                yield checked_json(json.loads(chunk.body), self._address, reason="a chunk that is no object")
        finally:
            await _closed(chunks)

    async def _in_time(self, answer: Awaitable[T]) -> T:
        """What the provider answers, if it does so in time.

        The SDK's own limit holds for a whole stream, with one of the HTTP libraries that it may use, and is told to the
        provider; this one holds for each part.
        """
        limit = asyncio.timeout(self._connection.timeout)
        try:
            async with limit:
                return await answer
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise late_reply(self._address()) from error

    def _checked_options(self, options: dict[str, Any]) -> dict[str, Any]:
        """The options, unless they ask for several answers or for what the model itself decides."""
        for name in ("candidateCount", "candidate_count"):
            if options.get(name, 1) != 1:
                raise OptionError(
                    option=name,
                    value=options[name],
                    expected="1",
                    remedy="One message is one answer: ask several times.",
                )
        refuse_options(options, _OURS)
        return options

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        is_newer = _is_of_newer_kind(self.model)
        system, contents = gemini.write_messages(
            request.messages, names=request.wire_names, sign_calls=is_newer, with_media=is_newer
        )
        options = {name: value for name, value in request.options.items() if name in _OF_REQUEST}
        own = {
            "contents": contents,
            "systemInstruction": system,
            "tools": [{"functionDeclarations": [tool.to_gemini() for tool in request.tools]}] if request.tools else (),
            "generationConfig": self._config(request.options),
        }
        given = dict(mapping_of(options.pop("toolConfig", None)))
        chosen = {**_written_choice(request), **mapping_of(given.pop(_CALLING, None))}
        if chosen and request.tools:  # the provider refuses it where it is offered none
            given[_CALLING] = chosen
        return {name: value for name, value in (own | {"toolConfig": given}).items() if value} | options

    def _config(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options that belong to the ``generationConfig``, those of the model among them."""
        others = {name: value for name, value in options.items() if name not in {*_OF_REQUEST, "generationConfig"}}
        own = {"temperature": self._temperature, "maxOutputTokens": self._max_tokens}
        config = {**own, **mapping_of(options.get("generationConfig")), **others}
        return {name: value for name, value in config.items() if value is not None}

    def _path(self, client: Client, method: str) -> str:
        """The path of a method of the model; a name with a slash is a path itself, such as a tuned model's."""
        kind = "publishers/google/models" if client.vertexai else "models"
        return f"{self.model if '/' in self.model else f'{kind}/{self.model}'}:{method}"

    def _key(self) -> Hashable:
        """What tells two clients apart, what the SDK finds in the environment included."""
        found = tuple(os.environ.get(name) for name in _VARIABLES)
        return self._connection.key(self._api_key, self._base_url, found)

    def _address(self) -> Address:
        url = self._base_url or os.environ.get("GOOGLE_GEMINI_BASE_URL") or _URL
        return Address(model=self.model, provider="Google", key_variable="GOOGLE_API_KEY", url=url)

    def _made(self) -> Client:
        from google.genai import Client  # noqa: PLC0415 - an extra, needed by calls only

        given = dict(self._connection.client_options)
        own = {"base_url": self._base_url, "retry_options": {"attempts": self._connection.max_retries + 1}}
        http: dict[str, Any] = {**own, **dict(given.pop("http_options", None) or {})}
        http = {name: value for name, value in http.items() if value is not None}
        arguments: dict[str, Any] = {"api_key": self._api_key, **given, "http_options": http}
        try:
            return Client(**arguments)
        except ValueError as error:  # how the SDK refuses what it was given, or did not find
            is_without_key = not (self._api_key or given or any(os.environ.get(name) for name in _VARIABLES[:4]))
            raise (missing_key(self._address()) if is_without_key else self._refused(error)) from error

    def _refused(self, error: ValueError) -> ModelError:
        return ModelError(
            model=self.model,
            problem=f"the SDK refuses its options: {clipped(str(error), MAX_MESSAGE)}",
            remedy="Correct client_options=… or the environment; see google.genai.Client.",
        )

    @asynccontextmanager
    async def _asking(self) -> AsyncGenerator[Client, None]:
        """The running loop's client; what goes wrong while it is used leaves as a ModelError."""
        try:
            from google.auth.exceptions import GoogleAuthError  # noqa: PLC0415 - an extra, needed by calls only
            from google.genai import errors  # noqa: PLC0415 - the same
        except ImportError as error:
            raise MissingExtraError(feature="ChatGoogle", package="google-genai", extra="google") from error
        with as_model_errors((errors.APIError, errors.UnknownApiResponseError, GoogleAuthError), self._address):
            yield await _clients.get(self._key(), self._made)


def _is_of_newer_kind(model: str) -> bool:
    """Whether the model signs its calls; a name without a number stands for the newest of its kind."""
    generation = _GENERATION.search(model)
    if generation is not None:
        return int(generation[1]) >= _FIRST_TO_SIGN
    return "gemma" not in model


async def _closed(chunks: AsyncIterator[Any]) -> None:
    """Close a stream, so that its connection is given back now."""
    close = getattr(chunks, "aclose", None)
    if close is not None:
        await close()


def _written_choice(request: ModelRequest) -> dict[str, Any]:
    """The fields of ``functionCallingConfig`` that say it; none where it is left open."""
    choice = request.tool_choice
    if choice is None:
        return {}
    if isinstance(choice, Mapping):
        return dict(mapping_of(choice.get(_CALLING)) or choice)
    if choice in request.tool_names:
        return {"mode": "ANY", "allowedFunctionNames": [request.wire_names.get(choice, choice)]}
    return {"mode": _CHOICES[choice]}
