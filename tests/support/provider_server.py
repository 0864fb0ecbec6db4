"""A provider on 127.0.0.1: serves prepared replies and streams over real HTTP, and keeps what it was asked."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

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
        if not isinstance(answer, Served | Stream | Mapping):
            answer = answer(body)
        return answer if isinstance(answer, Served) else Served(answer)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body leave together: apart, each reply waits for the other side's delayed ACK
    timeout = 5  # seconds an idle connection is kept, so that no thread outlives a test for long

    def setup(self) -> None:
        super().setup()
        self.server.connections.append(self.connection)  # type: ignore[attr-defined]

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", "0"))
        body = json.loads(self.rfile.read(length) or b"{}")
        provider: ProviderServer = self.server.provider  # type: ignore[attr-defined]
        served = provider.take(self.path, {key.lower(): value for key, value in self.headers.items()}, body)
        content_type, content = _written(served)
        self.send_response(served.status)
        self.send_header("content-type", served.content_type or content_type)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self) -> None:
        self.do_POST()

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
    is_named = isinstance(frame, Mapping) and "data" in frame and set(frame) <= {"event", "data"}
    event, data = (frame.get("event"), frame["data"]) if is_named else (None, frame)
    text = data if isinstance(data, str) else json.dumps(data)
    name = event or (data.get("type") if isinstance(data, Mapping) else None)
    return f"event: {name}\ndata: {text}\n\n" if name and text != "[DONE]" else f"data: {text}\n\n"


@contextmanager
def provider_server(answers: Iterable[Answer]) -> Iterator[ProviderServer]:
    """Serve the answers, one per request, in order; the server is gone when the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    provider = ProviderServer(url=f"http://127.0.0.1:{server.server_address[1]}", answers=iter(answers))
    server.provider = provider  # type: ignore[attr-defined]
    connections: list[socket.socket] = []
    server.connections = connections  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        for connection in connections:
            with suppress(OSError):  # the handler has closed it by itself
                connection.shutdown(socket.SHUT_RDWR)
        thread.join()
