"""Which failures pass by themselves, what a server asks for before it is asked again, and what is in doubt.

These are the rules by which retries go without the author's word, so they are few and stand here:

- An answer counts by its status. 408, 409, 425, 429 and every 5xx pass; any other is the same next time.
- A connection that was refused, lost or too slow passes, whatever client says so.
- A certificate that TLS does not accept, and a host that nobody knows, last: neither is mended by a second of waiting.
  A resolver that says "try again" is another matter, and passes.
- An exception that says nothing counts as what it was raised *from*. What its raiser was merely handling is left out.
- A group passes where each of its exceptions does.
- A ``ToolException`` is its author's word, whatever is behind it.

Client libraries are recognised, never imported.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Final

from surehand.policy.client_errors import Ending, attribute, called, chain_of, entry, sign_of
from surehand.shapes import leaf_errors

__all__ = ["is_ambiguous", "is_lasting", "is_transient", "retry_after_of"]

_MAX_HEADER: Final = 100


def is_transient(error: BaseException) -> bool:
    """Whether the failure passes by itself, so that the same request may succeed a little later; never raises.

    It says nothing about whether another request is safe: see ``is_ambiguous``.
    """
    return all(ending not in (None, Ending.LASTS) for ending in map(_ending_of, leaf_errors(error)))


def is_lasting(error: BaseException) -> bool:
    """Whether the same request would fail again for certain: it was refused for what it is; never raises."""
    return any(_ending_of(leaf) is Ending.LASTS for leaf in leaf_errors(error))


def is_ambiguous(error: BaseException) -> bool:
    """Whether the request may have been carried out although it failed; never raises.

    So it is after a read timeout, a connection that broke after something was sent, and a gateway that stopped waiting.
    Where it cannot be told whether anything was sent, it may have been.
    """
    return any(_ending_of(leaf) is Ending.UNSURE for leaf in leaf_errors(error))


def retry_after_of(error: BaseException | None) -> float | None:
    """Seconds that the failed side asks to be left alone; None where it does not say; never raises.

    Read from an attribute ``retry_after``, or from the header ``Retry-After`` of a response (seconds or an HTTP date).
    Infinity means never. Of several exceptions in a group, the longest wish counts.
    """
    if error is None:
        return None
    wishes = [wish for leaf in leaf_errors(error) if (wish := _first_wish(leaf)) is not None]
    return max(wishes, default=None)


def _ending_of(error: BaseException) -> Ending | None:
    """What became of the request; None for an exception that has nothing to do with one, as far as anybody can tell."""
    if not issubclass(type(error), Exception):
        return None
    told: list[Ending] = []
    for sign in filter(None, map(sign_of, chain_of(error))):
        if sign.is_answer:
            return max(told, default=sign.ending)  # behind a lost connection it is the answer to an earlier request
        told.append(sign.ending)
    return max(told, default=None)


def _first_wish(error: BaseException) -> float | None:
    for link in chain_of(error):
        wish = _seconds(attribute(link, "retry_after"))
        if wish is None:
            wish = next((wish for headers in _headers(link) if (wish := _in_headers(headers)) is not None), None)
        if wish is not None:
            return wish
    return None


def _seconds(value: object) -> float | None:
    if isinstance(value, timedelta):
        value = value.total_seconds()
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else None


def _headers(error: BaseException) -> Iterator[Any]:
    response = attribute(error, "response")
    yield attribute(response, "headers")
    yield attribute(error, "headers")
    yield entry(entry(response, "ResponseMetadata"), "HTTPHeaders")


def _in_headers(headers: Any) -> float | None:
    milliseconds = _number(_header(headers, "retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1_000
    text = _header(headers, "retry-after")
    seconds = _number(text)
    return _until(text, _header(headers, "date")) if seconds is None else seconds


def _header(headers: Any, name: str) -> str:
    get = attribute(headers, "get")
    values = (called(get, spelling) for spelling in (name, name.title()))  # a plain dict knows one spelling
    return next((value.strip() for value in values if isinstance(value, str) and len(value) <= _MAX_HEADER), "")


def _number(text: str) -> float | None:
    is_number = text.isascii() and text.replace(".", "", 1).isdigit()
    return float(text) if is_number else None


def _until(text: str, sent: str) -> float | None:
    """Seconds from when an answer was sent, by the server's own clock where it says, until a date; never negative."""
    moment = _moment(text)
    if moment is None:
        return None
    return max(0.0, (moment - (_moment(sent) or datetime.now(UTC))).total_seconds())


def _moment(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
