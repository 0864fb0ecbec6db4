"""Answers over HTTP that are none of a server of tools: what they are, and what became of the request."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

import httpx2

from surehand.policy import retry_after_of
from surehand.shapes import mapping_of
from surehand.wording import one_line

__all__ = ["UNREADABLE", "Fault", "fault_of", "unreadable"]

_JSON: Final = "application/json"
_EVENTS: Final = "text/event-stream"
_MAX_WORD: Final = 100
_UNHEARD: Final = frozenset({401, 403, 404, 405, 406, 407, 410, 411, 413, 414, 415, 421, 426, 429, 431, 451})
"""Statuses by which a request is turned away before anything is run for it."""
_PASSING: Final = frozenset({408, 409, 425, 429})
"""Statuses below 500 after which the same request may succeed; all from 500 on are such."""
_MEANT: Final = {
    401: "it does not accept the credentials that it is given, or asks for some",
    403: "it does not allow this with the credentials that it is given",
    404: "there is nothing of the kind under its address",
    413: "the request is larger than it takes",
    429: "it is asked too often",
}
"""What is to be done is another thing for each of these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Why an answer cannot be used."""

    words: str
    """What the server did, as a clause without its name, and without anything that is secret."""
    is_unheard: bool = False
    """Whether it is sure that nothing was run for the request."""
    is_passing: bool = False
    """Whether the same request may succeed a little later."""
    retry_after: float | None = None
    """Seconds that it asks to be left alone; None where it does not say."""
    said: str | None = None
    """The message of the protocol's error that came with it, as the server wrote it; None for none."""

    def told(self, hidden: Callable[[str], str]) -> str:
        """The words, and what the server said, without what must not be told."""
        return self.words if self.said is None else f"{self.words}: {hidden(self.said)}"


UNREADABLE: Final = Fault(words="sent what cannot be read as an answer")
"""The answer to a request that the server took."""


def unreadable(body: bytes) -> Fault:
    """The fault of a body that holds no answer to the request, though perhaps an error."""
    return replace(UNREADABLE, said=_said(body))


async def fault_of(response: httpx2.Response) -> Fault | None:
    """What is wrong with the answer to a request, as its status and headers say; None where it may be right.

    Raises:
        TransportError: The connection was lost in the middle of it.
    """
    status = response.status_code
    if response.is_error:
        return Fault(
            words=_status_words(status),
            is_unheard=status in _UNHEARD,
            is_passing=status in _PASSING or response.is_server_error,
            retry_after=_wish(response),
            said=_said(await response.aread()) if _kind(response) == _JSON else None,
        )
    if response.is_redirect:
        return Fault(words=f"sends its clients on {_destination(response)}, which is not followed", is_unheard=True)
    if status in (HTTPStatus.ACCEPTED, HTTPStatus.NO_CONTENT):
        return Fault(words=f"took the request, and will not answer it (HTTP status {status})")
    kind = _kind(response)
    if kind in (_JSON, _EVENTS):
        return None
    return Fault(words=f"answered with {one_line(kind, _MAX_WORD) or 'something'}, and not as servers of tools do")


def _said(body: bytes) -> str | None:
    try:
        message = mapping_of(mapping_of(json.loads(body)).get("error")).get("message")
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, str) else None


def _kind(response: httpx2.Response) -> str:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


def _status_words(status: int) -> str:
    meant = _MEANT.get(status) or _phrase(status)
    return f"answered with the HTTP status {status}" + (f" ({meant})" if meant else "")


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _destination(response: httpx2.Response) -> str:
    """Where a redirect leads: its host alone, for all else of an address may be secret."""
    try:
        host = urlsplit(response.headers["location"]).hostname
    except ValueError:
        host = None
    return f"to {one_line(host, _MAX_WORD)}" if host and host != response.request.url.host else "to another address"


def _wish(response: httpx2.Response) -> float | None:
    return retry_after_of(httpx2.HTTPStatusError("", request=response.request, response=response))
