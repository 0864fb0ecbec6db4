"""A server on 127.0.0.1 that fails in the ways servers fail, by the path it is asked for.

/status/503      answers with that status and the headers it was given
/hang            reads the request and never answers
/drop            reads the request and closes the connection
/cut             breaks off in the middle of the answer
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

__all__ = ["closed_port", "fault_server"]

CERTIFICATE = Path(__file__).parents[1] / "data/tls/self_signed.pem"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.headers = headers
        self.body = body
        self.is_over = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: clients are meant to break off."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        server = self.server
        assert isinstance(server, _Server)
        self.rfile.read(int(self.headers.get("content-length", "0")))
        self.close_connection = True
        what = self.path.split("/")
        if "hang" in what:
            server.is_over.wait(5)
        elif "cut" in what:
            self._answer(200, b"half of", length=1_000)
        elif "drop" not in what:
            self._answer(int(what[what.index("status") + 1]), server.body)

    def do_GET(self) -> None:
        self.do_POST()

    def _answer(self, status: int, body: bytes, length: int | None = None) -> None:
        server = self.server
        assert isinstance(server, _Server)
        self.send_response(status)
        for name, value in server.headers.items():
            self.send_header(name, value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""


@contextmanager
def fault_server(
    *, headers: Mapping[str, str] | None = None, body: bytes = b"{}", is_tls: bool = False
) -> Generator[str, None, None]:
    """Serve; gives the URL of the server, without a path.

    Args:
        headers: Go with every answer.
        body: Of every answer with a status.
        is_tls: Whether to speak TLS, under a certificate that nobody vouches for.
    """
    server = _Server(headers or {}, body)
    if is_tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http{'s' if is_tls else ''}://127.0.0.1:{server.server_address[1]}"
    finally:
        server.is_over.set()
        server.shutdown()
        server.server_close()
        thread.join()


def closed_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port
