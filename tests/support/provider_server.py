"""A provider on 127.0.0.1: serves prepared replies and streams over real HTTP, and keeps what it was asked."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias, cast

__all__ = ["ProviderServer", "Served", "Stream", "provider_server"]

Payload: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Stream:
    """Server-sent events, one frame each; ``{"event": …, "data": …}`` names the event, data may be text."""

    frames: Sequence[Any]


@dataclass(frozen=True)
class Served:
    """An answer with all that HTTP allows."""

    body: Payload | Stream | str | bytes
    status: int = 200
    content_type: str | None = None
    is_cut_off: bool = False
    """Whether the connection breaks before the body ends."""


Answer: TypeAlias = Served | Payload | Stream | Callable[[dict[str, Any]], "Served | Payload | Stream"]


@dataclass
class ProviderServer:
    """What tests see of a running server."""

    url: str
    answers: Iterator[Answer]
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """The JSON bodies, in the order they came."""
    paths: list[str] = field(default_factory=list[str])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> Served:
        """Note a request and find its answer; the last answer is not repeated."""
        with self.lock:
            self.paths.append(path)
            self.headers.append(headers)
            self.requests.append(body)
            answer = next(self.answers, Served({"error": {"message": "no answer is left"}}, status=500))
        if callable(answer):
            answer = answer(body)
        return answer if isinstance(answer, Served) else Served(answer)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, answers: Iterable[Answer]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.provider = ProviderServer(url=f"http://127.0.0.1:{self.server_address[1]}", answers=iter(answers))
        self.connections: list[socket.socket] = []


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body leave together: apart, each reply waits for the other side's delayed ACK
    timeout = 5  # seconds an idle connection is kept, so that no thread outlives a test for long

    def setup(self) -> None:
        super().setup()
        self._ours().connections.append(self.connection)

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", "0"))
        body = json.loads(self.rfile.read(length) or b"{}")
        served = self._ours().provider.take(
            self.path, {key.lower(): value for key, value in self.headers.items()}, body
        )
        content_type, content = _written(served)
        self.send_response(served.status)
        self.send_header("content-type", served.content_type or content_type)
        self.send_header("content-length", str(len(content) + served.is_cut_off))
        self.end_headers()
        self.wfile.write(content)
        self.close_connection = self.close_connection or served.is_cut_off

    def do_GET(self) -> None:
        self.do_POST()

    def _ours(self) -> _Server:
        assert isinstance(self.server, _Server)
        return self.server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""


def _written(served: Served) -> tuple[str, bytes]:
    match served.body:
        case bytes() as content:
            return "application/octet-stream", content
        case str() as text:
            return "text/plain; charset=utf-8", text.encode()
        case Stream(frames):
            return "text/event-stream", "".join(_frame(frame) for frame in frames).encode()
        case payload:
            return "application/json", json.dumps(payload).encode()


def _frame(frame: Any) -> str:
    fields = _fields(frame)
    is_named = "data" in fields and set(fields) <= {"event", "data"}
    event, data = (fields.get("event"), fields["data"]) if is_named else (None, frame)
    text = data if isinstance(data, str) else json.dumps(data)
    name = event or _fields(data).get("type")
    return f"event: {name}\ndata: {text}\n\n" if name and text != "[DONE]" else f"data: {text}\n\n"


def _fields(value: object) -> Payload:
    return cast("Payload", value) if isinstance(value, Mapping) else {}


@contextmanager
def provider_server(answers: Iterable[Answer]) -> Generator[ProviderServer, None, None]:
    """Serve the answers, one per request, in order; the server is gone when the block ends."""
    server = _Server(answers)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server.provider
    finally:
        server.shutdown()
        server.server_close()
        for connection in server.connections:
            with suppress(OSError):  # the handler has closed it by itself
                connection.shutdown(socket.SHUT_RDWR)
        thread.join()
