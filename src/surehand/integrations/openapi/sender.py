"""Sends requests. The one module that knows the HTTP client."""

from __future__ import annotations

import ssl
from functools import cache
from http.cookiejar import DefaultCookiePolicy
from typing import Any, TypeAlias

from surehand.errors import MissingExtraError, ToolException
from surehand.integrations.openapi.answers import result_of
from surehand.integrations.openapi.credentials import Proof
from surehand.integrations.openapi.requests import Request
from surehand.models.clients import LoopClients

try:
    import httpx
except ImportError as error:
    raise MissingExtraError(feature="Tools from an OpenAPI document", package="httpx", extra="openapi") from error

__all__ = ["Client", "Sender"]

Client: TypeAlias = httpx.AsyncClient

_clients: LoopClients[Client] = LoopClients(Client.aclose)


class Sender:
    """Sends requests through the host's client, or through one of the running loop's."""

    def __init__(self, *, client: Client | None, timeout: float | None, max_bytes: int) -> None:
        self._client = client
        self._timeout = timeout
        self._max_bytes = max_bytes

    async def answer(self, request: Request, proof: Proof) -> Any:
        """The result of a request.

        Raises:
            RequestFailed: The server answered with an error.
            ToolException: The answer is too long.
            httpx.HTTPError: There was no answer; nothing in its text is secret.
        """
        client = self._client or await _clients.get(self._timeout, self._made)
        async with client.stream(
            request.method,
            request.url,
            headers={name.encode(): value for name, value in request.headers.items()},
            content=request.content,
            files=request.parts,
            follow_redirects=False,
        ) as response:
            body = bytearray()
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > self._max_bytes:
                    raise ToolException(f"The answer is longer than {self._max_bytes:,} bytes. Ask for less of it.")
        return result_of(response.status_code, response.headers, bytes(body), proof, method=request.method)

    def _made(self) -> httpx.AsyncClient:
        client = httpx.AsyncClient(timeout=self._timeout, verify=_tls())
        # A loop's tools share it: what a server sets for one caller must not go with the requests of another.
        client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=()))
        return client


@cache
def _tls() -> ssl.SSLContext:
    """One context for all clients: reading the certificates takes longer than a request."""
    return httpx.create_ssl_context()
