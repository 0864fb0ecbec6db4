"""What is heard of a request on its way over HTTP."""

from __future__ import annotations

import re
from typing import Any, Final

import httpx2

from surehand.integrations.mcp.faults import fault_of, unreadable
from surehand.integrations.mcp.taps import Exchange, Tap, exchange_now

__all__ = ["HearingClient"]

_NO_SUCH_SESSION: Final = 404
_BAD_REQUEST: Final = 400
_BAD_GATEWAY: Final = 502
_SESSION_HEADER: Final = "mcp-session-id"
_UNSENT: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)


class HearingClient(httpx2.AsyncClient):
    """An HTTP client that notes for each exchange whether it reached the server, and whether it was let in."""

    tap: Tap

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send the request; an exchange that it belongs to learns of its fate.

        A call whose connection is lost gets an answer made up here: the exception would end the whole session, and
        with it the calls beside it.
        """
        exchange = exchange_now.get()
        if exchange is None:  # nobody waits for an answer to it
            return await super().send(request, **options)
        was_out, exchange.is_out = exchange.is_out, True
        self.tap.fault = None
        try:
            response = await super().send(request, **options)
            if request.method != "POST" or await self._is_usable(exchange, request, response):
                return response
        except httpx2.TransportError as error:
            exchange.is_out, exchange.is_lost = was_out or not isinstance(error, _UNSENT), True
            if not exchange.is_call:
                raise
        return httpx2.Response(_BAD_GATEWAY, request=request)

    async def _is_usable(self, exchange: Exchange, request: httpx2.Request, response: httpx2.Response) -> bool:
        """Whether the SDK can make something of the answer to a request; what is wrong with it is noted."""
        exchange.is_taken = response.is_success
        exchange.is_whole = "json" in response.headers.get("content-type", "")
        fault = await fault_of(response)
        is_for_another = fault is None and exchange.is_whole and not _holds(await response.aread(), exchange.number)
        if response.is_error:
            exchange.is_refused = await _is_about_session(request, response)
        self.tap.fault = exchange.fault = unreadable(await response.aread()) if is_for_another else fault
        return not is_for_another


def _holds(body: bytes, number: object) -> bool:
    """Whether an answer that is one piece is to the request of this number: nobody shall wait for another."""
    return re.search(rb'"id"\s*:\s*"?%s"?\s*[,}]' % re.escape(str(number).encode()), body) is not None


async def _is_about_session(request: httpx2.Request, response: httpx2.Response) -> bool:
    """Whether the server has no such session (any more); some say 404 as they should, others 400."""
    if _SESSION_HEADER not in request.headers:
        return False
    if response.status_code == _BAD_REQUEST:
        return b"session" in (await response.aread()).lower()
    return response.status_code == _NO_SUCH_SESSION
