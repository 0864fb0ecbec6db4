"""What the exceptions of common clients say about a request: would it be the same again, and may it have happened.

No client is imported to know its exceptions. They are told by the package that a class of theirs comes from and by the
class's name, by the status of a server's answer, or by the code that a protocol defines. All of it is somebody else's
code: an attribute may raise, lie or be of any type, so that each is read with care and counts only where it is of the
type that is expected.
"""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from functools import partial
from typing import Any, Final, NamedTuple, TypeGuard

from surehand.errors import ModelError, RemoteError, SurehandError

__all__ = ["Ending", "Sign", "attribute", "called", "chain_of", "entry", "sign_of", "status_of"]


class Ending(IntEnum):
    """What became of a request that failed; of what several exceptions say about one request, the highest holds."""

    PASSES = 1
    """It was turned away for now."""
    UNSURE = 2
    """It was lost on the way, and may have been carried out."""
    UNSENT = 3
    """It was lost before it reached the server."""
    LASTS = 4
    """It would fail again."""


class Sign(NamedTuple):
    """What one exception says."""

    ending: Ending
    is_answer: bool = False
    """Whether the other side said so itself: then nothing that lies behind the exception says more."""


def sign_of(error: BaseException) -> Sign | None:
    """What an exception itself says about its request; None for nothing."""
    kind = type(error)
    if issubclass(kind, SurehandError) and not issubclass(kind, ModelError | RemoteError):
        says_so = attribute(error, "retryable") is True or attribute(error, "retry_after") is not None
        return Sign(Ending.PASSES if says_so else Ending.LASTS, is_answer=True)
    answer = _by_protocol(error) or _by_status(error)
    if answer is not None:
        return Sign(answer, is_answer=True)
    ending = _by_system(error) or _by_class(kind)
    return None if ending is None else Sign(ending)


# -- reading foreign objects -----------------------------------------------------------------------------------------


def attribute(source: object, name: str) -> Any:
    """An attribute; None where there is none, or where it cannot be read."""
    try:
        value = getattr(source, name, None)
        isinstance(value, str)  # a proxy may raise when it is asked for its class: now rather than later
        return value
    except Exception:  # noqa: BLE001 - the code of a foreign object, which is only asked for a hint
        return None


def called(method: object, *arguments: object) -> Any:
    """What a method returns; None where it is none, or raises."""
    try:
        return method(*arguments) if callable(method) else None
    except Exception:  # noqa: BLE001 - as above
        return None


def entry(source: object, key: str) -> Any:
    """What a mapping holds under a key; None for anything that is no mapping."""
    return called(attribute(source, "get"), key) if issubclass(type(source), Mapping) else None


def _package_of(kind: type) -> str:
    """The top-level package that a class comes from."""
    module = attribute(kind, "__module__")
    return module.partition(".")[0] if isinstance(module, str) else ""


# -- what lies behind an exception -----------------------------------------------------------------------------------

_MAX_LINKS: Final = 16
_MAX_ARGUMENTS: Final = 4


def chain_of(error: BaseException) -> Iterator[BaseException]:
    """The exception and what it was made of, the nearest first; bounded.

    That is its ``__cause__``, and where a client keeps the exception it translates elsewhere, what it keeps. What was
    merely being handled when the exception was raised (``__context__``) counts for clients only: they raise while they
    handle what they translate, whereas a program's own handler may fail for a reason of its own.
    """
    waiting: list[Any] = [error]
    seen: set[int] = set()
    while waiting and len(seen) < _MAX_LINKS:
        link = waiting.pop(0)
        if issubclass(type(link), BaseException) and id(link) not in seen:
            seen.add(id(link))
            yield link
            waiting += _behind(link)


def _behind(link: BaseException) -> list[Any]:
    cause = _plainly(link, "__cause__")
    if _package_of(type(link)) not in _TRANSLATING:
        return [cause]
    handled = _plainly(link, "__context__") if cause is None else cause
    return [handled, attribute(link, "reason"), *_plainly(link, "args")[:_MAX_ARGUMENTS]]


def _plainly(error: BaseException, name: str) -> Any:
    """An attribute that all exceptions have, whatever a subclass makes of it."""
    return vars(BaseException)[name].__get__(error)


# -- the answer of a server ------------------------------------------------------------------------------------------

_TIMED_OUT: Final = 408
_PASSING_STATUSES: Final = frozenset({_TIMED_OUT, 409, 425, 429})
_UNSURE_STATUSES: Final = frozenset({502, 504, 524})
"""A gateway lost, or stopped waiting for, the server behind it: it may have done what it was asked."""
_FIRST_ERROR: Final = 400
_FIRST_SERVER_ERROR: Final = 500
_LAST_STATUS: Final = 599


def _by_status(error: BaseException) -> Ending | None:
    status = status_of(error)
    if status is None:
        return None
    if status in _UNSURE_STATUSES:
        return Ending.UNSURE
    return Ending.PASSES if status in _PASSING_STATUSES or status >= _FIRST_SERVER_ERROR else Ending.LASTS


def status_of(error: BaseException) -> int | None:
    """The HTTP status of an answer that is an error; None for any other status, and for none."""
    response = attribute(error, "response")
    told = (
        attribute(error, "status_code"),
        attribute(error, "status"),
        attribute(error, "code"),
        attribute(response, "status_code"),
        attribute(response, "status"),
        entry(entry(response, "ResponseMetadata"), "HTTPStatusCode"),
    )
    return next((int(status) for status in told if _is_status(status)), None)


def _is_status(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and _FIRST_ERROR <= value <= _LAST_STATUS


# -- codes that a protocol defines -----------------------------------------------------------------------------------

_GRPC: Final[Mapping[str, Ending]] = {
    "ABORTED": Ending.PASSES,
    "DEADLINE_EXCEEDED": Ending.UNSURE,
    "INTERNAL": Ending.PASSES,
    "RESOURCE_EXHAUSTED": Ending.PASSES,
    "UNAVAILABLE": Ending.UNSURE,
}
_AWS_PASSING: Final = frozenset(
    {
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "InternalError",
        "InternalFailure",
        "LimitExceededException",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "RequestTimeout",
        "RequestTimeoutException",
        "ServiceUnavailable",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "ThrottledException",
        "TooManyRequestsException",
        "TransactionInProgressException",
    }
)
"""Codes of Amazon's services for "not now"; many of them come with the status 400."""
_SQL_PASSING: Final = ("08", "53", "40001", "40P01", "55P03", "57P01", "57P02", "57P03")
"""SQLSTATEs, or their first characters: lost connections, full servers, serialization, deadlock, lock, shutdown."""
_SQL_UNSURE: Final = ("08000", "08003", "08006", "08007")
_LIBPQ_LASTING: Final = ("FATAL:", "could not translate host name", "failed to resolve host")
_LIBPQ_UNSENT: Final = ("connection failed:", "connection to server at", "could not connect to server")
_SQLITE_PASSING: Final = ("SQLITE_BUSY", "SQLITE_LOCKED")
_MODEL_PASSING: Final = frozenset(
    {"api_error", "overloaded_error", "rate_limit_error", "server_error", "timeout_error"}
)
_MODEL_LASTING: Final = frozenset({"insufficient_quota"})


def _by_protocol(error: BaseException) -> Ending | None:
    packages = {_package_of(kind) for kind in type(error).__mro__}
    for package in packages & _PROTOCOLS.keys():
        if (ending := _PROTOCOLS[package](error)) is not None:
            return ending
    return None


def _of_grpc(error: BaseException) -> Ending | None:
    return _of_grpc_status(called(attribute(error, "code")))


def _of_google(error: BaseException) -> Ending | None:
    return _of_grpc_status(attribute(error, "grpc_status_code"))


def _of_grpc_status(status: object) -> Ending | None:
    name = attribute(status, "name")
    return _GRPC.get(name, Ending.LASTS) if isinstance(name, str) else None


def _of_aws(error: BaseException) -> Ending | None:
    code = entry(entry(attribute(error, "response"), "Error"), "Code")
    return Ending.PASSES if isinstance(code, str) and code in _AWS_PASSING else None


def _of_postgres(error: BaseException) -> Ending | None:
    state = attribute(error, "sqlstate") or attribute(error, "pgcode")
    if not isinstance(state, str):
        return _of_libpq(str(called(str, error) or "")[:2_000])
    if state in _SQL_UNSURE:
        return Ending.UNSURE
    return Ending.PASSES if state.startswith(_SQL_PASSING) else Ending.LASTS


def _of_libpq(text: str) -> Ending | None:
    # What goes wrong while a connection is made has no SQLSTATE, not even a wrong password: only the words tell.
    if any(words in text for words in _LIBPQ_LASTING):
        return Ending.LASTS
    return Ending.UNSENT if text.startswith(_LIBPQ_UNSENT) else None


def _of_sqlite(error: BaseException) -> Ending | None:
    name = attribute(error, "sqlite_errorname")
    return Ending.PASSES if isinstance(name, str) and name.startswith(_SQLITE_PASSING) else None


def _of_model(error: BaseException) -> Ending | None:
    # In the middle of a stream the status is long sent, and is 200; and without money a 429 does not pass.
    told = entry(attribute(error, "body"), "error")  # SDKs that are older say it there alone
    found = [read(name) for name in ("type", "code") for read in (partial(attribute, error), partial(entry, told))]
    words = {word for word in found if isinstance(word, str)}
    if words & _MODEL_LASTING:
        return Ending.LASTS
    return Ending.PASSES if words & _MODEL_PASSING and status_of(error) is None else None


_PROTOCOLS: Final[Mapping[str, Callable[[BaseException], Ending | None]]] = {
    "anthropic": _of_model,
    "asyncpg": _of_postgres,
    "botocore": _of_aws,
    "google": _of_google,
    "grpc": _of_grpc,
    "openai": _of_model,
    "psycopg": _of_postgres,
    "psycopg2": _of_postgres,
    "sqlite3": _of_sqlite,
}


# -- the system and the clients --------------------------------------------------------------------------------------

_UNREACHABLE: Final = frozenset(
    {errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENETDOWN, errno.ENETRESET, errno.ENETUNREACH}
)


def _by_system(error: BaseException) -> Ending | None:
    """What sockets, TLS and the resolver say."""
    kind = type(error)
    if issubclass(kind, socket.gaierror):
        return Ending.UNSENT if attribute(error, "errno") == socket.EAI_AGAIN else Ending.LASTS
    if issubclass(kind, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return Ending.UNSURE
    if issubclass(kind, ssl.SSLError):
        return Ending.LASTS
    is_unreachable = issubclass(kind, OSError) and attribute(error, "errno") in _UNREACHABLE
    return Ending.UNSENT if is_unreachable else None


def _by_class(kind: type) -> Ending | None:
    for base in kind.__mro__:
        ending = _CLIENTS.get(_package_of(base), _NOTHING).get(base.__name__)
        if ending is not None:
            return ending
    return None


_NOTHING: Final[Mapping[str, Ending]] = {}
_HTTPX: Final[Mapping[str, Ending]] = {
    "ConnectError": Ending.UNSENT,
    "ConnectTimeout": Ending.UNSENT,
    "NetworkError": Ending.UNSURE,
    "PoolTimeout": Ending.UNSENT,
    "RemoteProtocolError": Ending.UNSURE,
    "TimeoutException": Ending.UNSURE,
}
_MODELS: Final[Mapping[str, Ending]] = {"APIConnectionError": Ending.UNSURE, "RetryableError": Ending.PASSES}
_POSTGRES: Final[Mapping[str, Ending]] = {"ConnectionTimeout": Ending.UNSENT, "OperationalError": Ending.UNSURE}
_REDIS: Final[Mapping[str, Ending]] = {
    "AuthenticationError": Ending.LASTS,
    "AuthorizationError": Ending.LASTS,
    "BusyLoadingError": Ending.PASSES,
    "ClusterDownError": Ending.PASSES,
    "ConnectionError": Ending.UNSURE,
    "MasterDownError": Ending.PASSES,
    "MaxConnectionsError": Ending.UNSENT,
    "TimeoutError": Ending.UNSURE,
    "TryAgainError": Ending.PASSES,
}
_CLIENTS: Final[Mapping[str, Mapping[str, Ending]]] = {
    "aiohttp": {
        "ClientConnectionError": Ending.UNSURE,
        "ClientConnectorError": Ending.UNSENT,
        "ClientPayloadError": Ending.UNSURE,
        "ConnectionTimeoutError": Ending.UNSENT,
        "ServerFingerprintMismatch": Ending.LASTS,
    },
    "anthropic": _MODELS,
    "asyncio": {"IncompleteReadError": Ending.UNSURE},
    "botocore": {
        "ConnectTimeoutError": Ending.UNSENT,
        "ConnectionClosedError": Ending.UNSURE,
        "EndpointConnectionError": Ending.UNSENT,
        "IncompleteReadError": Ending.UNSURE,
        "ReadTimeoutError": Ending.UNSURE,
        "ResponseStreamingError": Ending.UNSURE,
    },
    "builtins": {
        "ConnectionError": Ending.UNSURE,
        "ConnectionRefusedError": Ending.UNSENT,
        "TimeoutError": Ending.UNSURE,
    },
    "http": {"IncompleteRead": Ending.UNSURE},
    "httpcore": _HTTPX,
    "httpcore2": _HTTPX,
    "httpx": _HTTPX,
    "httpx2": _HTTPX,
    "openai": _MODELS,
    "psycopg": _POSTGRES,
    "psycopg2": _POSTGRES,
    "psycopg_pool": {"PoolTimeout": Ending.UNSENT, "TooManyRequests": Ending.UNSENT},
    "redis": _REDIS,
    "requests": {
        "ChunkedEncodingError": Ending.UNSURE,
        "ConnectTimeout": Ending.UNSENT,
        "ConnectionError": Ending.UNSURE,
        "Timeout": Ending.UNSURE,
    },
    "urllib3": {
        "ConnectTimeoutError": Ending.UNSENT,
        "NewConnectionError": Ending.UNSENT,
        "ProtocolError": Ending.UNSURE,
        "TimeoutError": Ending.UNSURE,
    },
    "valkey": _REDIS,
}
"""Package, name of a class (or of one it is derived from), and what became of the request."""
_TRANSLATING: Final = frozenset({*_CLIENTS, "urllib"}) - {"builtins"}
"""Packages whose exceptions stand for others, which they keep."""
