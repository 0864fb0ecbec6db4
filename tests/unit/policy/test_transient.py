"""Which failures pass by themselves: real clients against a server that fails, and exceptions made by hand."""

from __future__ import annotations

import asyncio
import errno
import http.client
import socket
import sqlite3
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Generator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import aiohttp
import anthropic
import httpx
import openai
import pytest
import requests
import urllib3

from support.fault_server import closed_port, fault_server
from surehand.errors import InvalidArguments, ModelError, ModelRetry, ToolException
from surehand.policy import is_ambiguous, is_lasting, is_transient, retry_after_of


def patience(url: str) -> float:
    """Seconds until a client gives up: soon only where nothing ever comes."""
    return 0.2 if "hang" in url else 20.0


Client = Callable[[str], object]


def by_httpx(url: str) -> object:
    return httpx.get(url, timeout=patience(url)).raise_for_status()


async def _by_httpx_async(url: str) -> object:
    async with httpx.AsyncClient(timeout=patience(url)) as client:
        return (await client.get(url)).raise_for_status()


def by_httpx_async(url: str) -> object:
    return asyncio.run(_by_httpx_async(url))


def by_requests(url: str) -> object:
    response = requests.get(url, timeout=patience(url))
    response.raise_for_status()
    return response


def by_urllib(url: str) -> object:
    try:
        with urllib.request.urlopen(url, timeout=patience(url)) as response:
            return response.read()
    except urllib.error.HTTPError as error:
        error.close()  # it is the response as well
        raise


def by_urllib3(url: str) -> object:
    with urllib3.PoolManager(retries=False, timeout=patience(url)) as pool:
        response = pool.request("GET", url)
        if response.status >= 400:  # it raises no errors for statuses itself
            answer: Any = SimpleNamespace(status_code=response.status, headers=response.headers)
            raise requests.HTTPError(response=answer)
        return response.data


async def _by_aiohttp(url: str) -> object:
    limit = aiohttp.ClientTimeout(total=40, sock_read=patience(url))
    async with aiohttp.ClientSession(timeout=limit) as session, session.get(url, raise_for_status=True) as response:
        return await response.read()


def by_aiohttp(url: str) -> object:
    return asyncio.run(_by_aiohttp(url))


def by_openai(url: str) -> object:
    with openai.OpenAI(base_url=url, api_key="k", max_retries=0, timeout=patience(url)) as client:
        return client.chat.completions.create(model="m", messages=[{"role": "user", "content": "?"}])


def by_anthropic(url: str) -> object:
    with anthropic.Anthropic(base_url=url, api_key="k", max_retries=0, timeout=patience(url)) as client:
        return client.messages.create(model="m", max_tokens=1, messages=[{"role": "user", "content": "?"}])


CLIENTS: list[Client] = [
    by_httpx,
    by_httpx_async,
    by_requests,
    by_urllib,
    by_urllib3,
    by_aiohttp,
    by_openai,
    by_anthropic,
]
each_client = pytest.mark.parametrize("ask", CLIENTS, ids=[client.__name__ for client in CLIENTS])


@pytest.fixture(scope="module")
def servers() -> Generator[SimpleNamespace, None, None]:
    with ExitStack() as stack:
        yield SimpleNamespace(
            plain=stack.enter_context(fault_server(headers={"Retry-After": "7"})),
            tls=stack.enter_context(fault_server(is_tls=True)),
        )


def raised_by(ask: Client, url: str) -> Exception:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - every client has exceptions of its own
        ask(url)
    return caught.value


def told(error: BaseException) -> str:
    """Both words about an exception: does it pass, may it have happened."""
    if is_lasting(error):
        assert not is_transient(error)
        return "lasts"
    if not is_transient(error):
        return "unknown"
    return "passes, in doubt" if is_ambiguous(error) else "passes"


# -- real clients ----------------------------------------------------------------------------------------------------


@each_client
@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 503, 529])
def test_a_server_that_says_not_now_passes(ask: Client, status: int, servers: SimpleNamespace) -> None:
    error = raised_by(ask, f"{servers.plain}/status/{status}")
    assert told(error) == "passes"
    assert retry_after_of(error) == 7


@each_client
@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 410, 422])
def test_a_request_that_is_refused_for_what_it_is_lasts(ask: Client, status: int, servers: SimpleNamespace) -> None:
    assert told(raised_by(ask, f"{servers.plain}/status/{status}")) == "lasts"


@each_client
@pytest.mark.parametrize("what", ["hang", "drop", "status/502", "status/504"])
def test_a_request_that_was_lost_passes_and_may_have_happened(ask: Client, what: str, servers: SimpleNamespace) -> None:
    assert told(raised_by(ask, f"{servers.plain}/{what}")) == "passes, in doubt"


@pytest.mark.parametrize("ask", CLIENTS[:6], ids=[client.__name__ for client in CLIENTS[:6]])
def test_an_answer_that_breaks_off_passes_and_may_have_happened(ask: Client, servers: SimpleNamespace) -> None:
    assert told(raised_by(ask, f"{servers.plain}/cut")) == "passes, in doubt"


@each_client
def test_a_refused_connection_passes_and_nothing_happened(ask: Client) -> None:
    assert told(raised_by(ask, f"http://127.0.0.1:{closed_port()}/")) == "passes"


@each_client
def test_a_certificate_that_nobody_vouches_for_lasts(ask: Client, servers: SimpleNamespace) -> None:
    error = raised_by(ask, f"{servers.tls}/status/200")
    assert told(error) == "lasts"
    assert not is_ambiguous(error)


@each_client
@pytest.mark.parametrize(
    ("code", "verdict"), [(socket.EAI_NONAME, "lasts"), (socket.EAI_AGAIN, "passes")], ids=["no name", "try again"]
)
def test_an_unknown_host_lasts_and_a_resolver_that_is_down_passes(
    ask: Client, code: int, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def resolve(*args: object, **options: object) -> None:
        raise socket.gaierror(code, "resolver")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    assert told(raised_by(ask, "http://no.such.host/")) == verdict


def test_a_full_pool_passes_and_nothing_happened(servers: SimpleNamespace) -> None:
    async def ask() -> None:
        limits = httpx.Limits(max_connections=1)
        client = httpx.AsyncClient(limits=limits, timeout=httpx.Timeout(2, pool=0.05))
        async with client, asyncio.TaskGroup() as tasks:
            for _ in range(2):
                tasks.create_task(client.get(f"{servers.plain}/hang"))

    with pytest.raises(ExceptionGroup) as caught:
        asyncio.run(ask())
    assert told(caught.value) == "passes"


@pytest.mark.parametrize(
    ("kind", "verdict"), [("overloaded_error", "passes"), ("invalid_request_error", "unknown")], ids=str
)
def test_an_error_in_the_middle_of_a_stream_goes_by_its_kind(kind: str, verdict: str) -> None:
    frame = f'event: error\ndata: {{"type":"error","error":{{"type":"{kind}","message":"m"}}}}\n\n'
    with fault_server(headers={"content-type": "text/event-stream"}, body=frame.encode()) as url:
        client = anthropic.Anthropic(base_url=f"{url}/status/200", api_key="k", max_retries=0)
        with client, pytest.raises(anthropic.APIStatusError) as caught:
            list(client.messages.create(model="m", max_tokens=1, stream=True, messages=[]))
    assert told(caught.value) == verdict


def test_a_quota_that_is_used_up_does_not_pass() -> None:
    body = b'{"error": {"message": "no money", "type": "insufficient_quota", "code": "insufficient_quota"}}'
    with fault_server(body=body) as url:
        assert told(raised_by(by_openai, f"{url}/status/429")) == "lasts"


def test_a_database_that_is_locked_passes() -> None:
    with sqlite3.connect("file:locked?mode=memory&cache=shared", uri=True, timeout=0) as first:
        first.execute("create table t (n)")
        first.execute("begin immediate")
        second = sqlite3.connect("file:locked?mode=memory&cache=shared", uri=True, timeout=0)
        with pytest.raises(sqlite3.OperationalError) as caught:
            second.execute("insert into t values (1)")
        second.close()
    first.close()
    assert told(caught.value) == "passes"


def test_a_statement_that_is_wrong_is_none_of_our_business() -> None:
    with sqlite3.connect(":memory:") as connection, pytest.raises(sqlite3.OperationalError) as caught:
        connection.execute("selekt")
    connection.close()
    assert told(caught.value) == "unknown"


# -- clients by their looks ------------------------------------------------------------------------------------------


def looking_like(name: str, *, bases: tuple[type[BaseException], ...] = (Exception,), **fields: Any) -> Any:
    """An exception of a class that has a client's module and name: ``redis.exceptions.ConnectionError``."""
    module, _, cls = name.rpartition(".")
    error = type(cls, bases, {"__module__": module})("made by hand")
    for field, value in fields.items():
        setattr(error, field, value)
    return error


def of_aws(code: str, status: int) -> Any:
    meta = {"HTTPStatusCode": status, "HTTPHeaders": {"retry-after": "9"}}
    return looking_like("botocore.exceptions.ClientError", response={"Error": {"Code": code}, "ResponseMetadata": meta})


def of_grpc(status: str) -> Any:
    return looking_like("grpc._channel._InactiveRpcError", code=lambda: SimpleNamespace(name=status))


def of_google(status: str | None, code: int | None) -> Any:
    grpc_status = None if status is None else SimpleNamespace(name=status)
    return looking_like("google.api_core.exceptions.Any", code=code, grpc_status_code=grpc_status)


def of_psycopg(text: str) -> Any:
    cls = type("OperationalError", (Exception,), {"__module__": "psycopg"})
    return cls(text)


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (of_aws("ThrottlingException", 400), "passes"),
        (of_aws("AnyCode", 503), "passes"),
        (of_aws("AccessDenied", 403), "lasts"),
        (looking_like("botocore.exceptions.EndpointConnectionError"), "passes"),
        (looking_like("botocore.exceptions.ReadTimeoutError"), "passes, in doubt"),
        (looking_like("botocore.exceptions.NoCredentialsError"), "unknown"),
        (of_grpc("RESOURCE_EXHAUSTED"), "passes"),
        (of_grpc("ABORTED"), "passes"),
        (of_grpc("DEADLINE_EXCEEDED"), "passes, in doubt"),
        (of_grpc("UNAVAILABLE"), "passes, in doubt"),
        (of_grpc("NOT_FOUND"), "lasts"),
        (of_grpc("UNAUTHENTICATED"), "lasts"),
        (of_google("UNAVAILABLE", 503), "passes, in doubt"),
        (of_google("ALREADY_EXISTS", 409), "lasts"),
        (of_google(None, 429), "passes"),
        (of_google(None, None), "unknown"),
        (looking_like("psycopg.errors.DeadlockDetected", sqlstate="40P01"), "passes"),
        (looking_like("psycopg.errors.SerializationFailure", sqlstate="40001"), "passes"),
        (looking_like("psycopg2.errors.AdminShutdown", pgcode="57P01"), "passes"),
        (looking_like("asyncpg.exceptions.TooManyConnectionsError", sqlstate="53300"), "passes"),
        (looking_like("psycopg.errors.ConnectionFailure", sqlstate="08006"), "passes, in doubt"),
        (looking_like("psycopg.errors.UniqueViolation", sqlstate="23505"), "lasts"),
        (looking_like("psycopg.errors.InvalidPassword", sqlstate="28P01"), "lasts"),
        (of_psycopg("consuming input failed: server closed the connection unexpectedly"), "passes, in doubt"),
        (of_psycopg('connection failed: connection to server at "::1" failed: Connection refused'), "passes"),
        (of_psycopg("connection failed: FATAL:  password authentication failed"), "lasts"),
        (of_psycopg("failed to resolve host 'nowhere'"), "lasts"),
        (looking_like("psycopg_pool.PoolTimeout"), "passes"),
        (looking_like("redis.exceptions.ConnectionError"), "passes, in doubt"),
        (looking_like("redis.exceptions.TimeoutError"), "passes, in doubt"),
        (looking_like("redis.exceptions.BusyLoadingError"), "passes"),
        (looking_like("redis.exceptions.AuthenticationError"), "lasts"),
        (looking_like("redis.exceptions.ResponseError"), "unknown"),
        (looking_like("anthropic.RetryableError"), "passes"),
        (looking_like("anthropic.APIStatusError", body={"error": {"type": "overloaded_error"}}), "passes"),
        (looking_like("openai.APIError", body={"error": {"code": "insufficient_quota"}}), "lasts"),
        (looking_like("my.shop.PoolTimeout"), "unknown"),
    ],
)
def test_clients_are_known_by_the_looks_of_their_exceptions(error: Exception, verdict: str) -> None:
    assert told(error) == verdict


def test_what_a_client_was_handling_says_what_it_means() -> None:
    def refused(cause: Exception) -> Exception:
        try:
            try:
                raise cause
            except OSError:
                raise looking_like("redis.exceptions.ConnectionError") from None
        except Exception as error:  # noqa: BLE001 - the one just raised
            return error

    assert told(refused(ConnectionRefusedError())) == "passes"
    assert told(refused(socket.gaierror(socket.EAI_NONAME, "x"))) == "lasts"


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (TimeoutError(), "passes, in doubt"),
        (ConnectionResetError(), "passes, in doubt"),
        (BrokenPipeError(), "passes, in doubt"),
        (ConnectionRefusedError(), "passes"),
        (OSError(errno.ENETUNREACH, "no route"), "passes"),
        (FileNotFoundError(errno.ENOENT, "no file"), "unknown"),
        (asyncio.IncompleteReadError(b"", 5), "passes, in doubt"),
        (http.client.IncompleteRead(b""), "passes, in doubt"),
        (http.client.RemoteDisconnected(""), "passes, in doubt"),
        (ssl.SSLEOFError(), "passes, in doubt"),
        (ssl.SSLCertVerificationError(), "lasts"),
        (ssl.SSLError("wrong version number"), "lasts"),
        (urllib.error.URLError(TimeoutError()), "passes, in doubt"),
        (urllib.error.URLError("unknown url type"), "unknown"),
        (ValueError("no"), "unknown"),
        (SystemExit(503), "unknown"),
        (KeyboardInterrupt(), "unknown"),
        (asyncio.CancelledError(), "unknown"),
    ],
)
def test_what_the_system_raises(error: BaseException, verdict: str) -> None:
    assert told(error) == verdict


# -- wrappers, groups, authors ---------------------------------------------------------------------------------------


def caused(error: Exception, cause: BaseException | None) -> Exception:
    error.__cause__ = cause
    return error


def test_a_wrapper_counts_as_what_it_was_raised_from() -> None:
    assert told(caused(RuntimeError("lookup failed"), TimeoutError())) == "passes, in doubt"
    assert told(caused(RuntimeError("a"), caused(RuntimeError("b"), ConnectionRefusedError()))) == "passes"
    assert told(caused(RuntimeError("lookup failed"), of_google(None, 404))) == "lasts"


def test_what_was_merely_being_handled_does_not_count() -> None:
    error = KeyError("a mistake in the handler")
    error.__context__ = TimeoutError()
    assert told(error) == "unknown"


def test_the_answer_to_an_earlier_request_does_not_count() -> None:
    assert told(caused(TimeoutError(), of_google(None, 404))) == "passes, in doubt"


def test_a_circle_of_causes_ends() -> None:
    first, second = RuntimeError("a"), RuntimeError("b")
    first.__cause__, second.__cause__ = second, first
    assert told(first) == "unknown"


def test_a_group_passes_where_all_of_it_does() -> None:
    assert told(ExceptionGroup("g", [ConnectionRefusedError(), ExceptionGroup("h", [of_aws("x", 500)])])) == "passes"
    assert told(ExceptionGroup("g", [ConnectionRefusedError(), ValueError()])) == "unknown"
    assert told(BaseExceptionGroup("g", [TimeoutError(), KeyboardInterrupt()])) == "unknown"
    assert is_ambiguous(ExceptionGroup("g", [ValueError(), TimeoutError()]))


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (ToolException("no"), "lasts"),
        (ToolException("busy", retryable=True), "passes"),
        (ModelRetry("another one"), "lasts"),
        (InvalidArguments(tool="t", complaints=[]), "lasts"),
        (ModelError(model="m", problem="p", remedy="r"), "passes, in doubt"),
    ],
)
def test_an_author_s_word_counts_and_not_what_is_behind_it(error: Exception, verdict: str) -> None:
    assert told(caused(error, TimeoutError())) == verdict


def test_a_model_s_status_counts() -> None:
    error = ModelError(model="m", problem="p", remedy="r")
    error.status_code = 401
    assert told(error) == "lasts"


# -- hostile objects -------------------------------------------------------------------------------------------------


class _Hostile(Exception):
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __str__(self) -> str:
        raise RuntimeError("str")


class _Proxy:
    """As a proxy that is not bound to anything."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("unbound")


class _HostileMapping(dict[str, Any]):
    def get(self, *args: Any) -> Any:
        raise RuntimeError("get")


HOSTILE: dict[str, Callable[[], Exception]] = {  # made late: pytest itself asks a parameter for its class
    "attributes": _Hostile,
    "proxies": lambda: looking_like("x.Y", response=_Proxy(), headers=_Proxy(), code=_Proxy(), retry_after=_Proxy()),
    "mappings": lambda: looking_like("botocore.exceptions.ClientError", response=_HostileMapping()),
    "headers": lambda: looking_like("x.Y", response=SimpleNamespace(headers=_HostileMapping(), status_code="503")),
    "methods": lambda: looking_like("grpc.RpcError", code=lambda: 1 / 0),
    "words": lambda: looking_like("psycopg.Error", bases=(_Hostile,)),
    "numbers": lambda: looking_like("x.Y", status_code=True, status=0, code=-1),
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=list(HOSTILE))
def test_an_exception_that_breaks_when_it_is_read_is_only_unknown(make: Callable[[], Exception]) -> None:
    assert told(make()) == "unknown"
    assert retry_after_of(make()) is None


# -- Retry-After -----------------------------------------------------------------------------------------------------


def answered(headers: dict[str, str]) -> httpx.HTTPStatusError:
    request = httpx.Request("GET", "http://127.0.0.1/")
    return httpx.HTTPStatusError("x", request=request, response=httpx.Response(429, headers=headers, request=request))


MOMENT = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "120"}, 120),
        ({"Retry-After": " 1.5 "}, 1.5),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "9" * 80}, float("9" * 80)),
        ({"retry-after": "9" * 5_000}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": format_datetime(MOMENT + timedelta(hours=1)), "date": format_datetime(MOMENT)}, 3_600),
        ({"retry-after": format_datetime(MOMENT), "date": format_datetime(MOMENT + timedelta(hours=1))}, 0),
        ({}, None),
    ],
)
def test_a_header_says_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_of(answered(headers)) == seconds


def test_a_date_counts_from_now_where_the_answer_has_none() -> None:
    wish = retry_after_of(answered({"retry-after": format_datetime(datetime.now(UTC) + timedelta(seconds=100))}))
    assert wish is not None
    assert 50 < wish <= 100


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (ToolException("busy", retry_after=3), 3),
        (looking_like("x.Y", retry_after=timedelta(minutes=1)), 60),
        (looking_like("x.Y", retry_after=float("inf")), float("inf")),
        (looking_like("x.Y", retry_after=float("nan")), None),
        (looking_like("x.Y", retry_after="60"), None),
        (looking_like("x.Y", retry_after=True), None),
        (looking_like("x.Y", headers={"Retry-After": "8"}), 8),
        (of_aws("SlowDown", 503), 9),
        (caused(RuntimeError("x"), answered({"retry-after": "4"})), 4),
        (ExceptionGroup("g", [answered({"retry-after": "4"}), answered({"retry-after": "6"})]), 6),
        (ValueError(), None),
        (None, None),
    ],
)
def test_a_wish_is_found_wherever_clients_keep_it(error: Exception | None, seconds: float | None) -> None:
    assert retry_after_of(error) == seconds
