"""The shop of tests/data/openapi/pets.json on 127.0.0.1. It remembers what it was sent, and answers in every manner."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from support.data import committed_data

__all__ = ["PNG", "PetServer", "Sent", "pet_server", "pets_document"]

PNG = b"\x89PNG\r\n\x1a\n"


def pets_document() -> dict[str, Any]:
    """The document."""
    text = (committed_data() / "openapi" / "pets.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


@dataclass
class Sent:
    """One request as it came."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes


@dataclass
class PetServer:
    """What the server was sent, and what it answers where a test says so."""

    url: str
    sent: list[Sent] = field(default_factory=list[Sent])
    answers: list[tuple[int, dict[str, str], bytes]] = field(default_factory=list[tuple[int, dict[str, str], bytes]])
    """Status, headers and body of the next answers; where there is none left, the path decides."""

    @property
    def last(self) -> Sent:
        """The newest request."""
        return self.sent[-1]


@contextmanager
def pet_server() -> Generator[PetServer, None, None]:
    """Serve the shop."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            parts = urlsplit(self.path)
            headers = {name.lower(): value for name, value in self.headers.items()}
            shop.sent.append(Sent(self.command, parts.path, parts.query, headers, body))
            status, extra, answer = shop.answers.pop(0) if shop.answers else _answer(shop.last)
            self.send_response(status)
            for name, value in extra.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            """Say nothing."""

    for method in ("GET", "HEAD", "POST", "PUT", "DELETE"):
        setattr(Handler, f"do_{method}", Handler.serve)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    shop = PetServer(url=f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield shop
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def _answer(sent: Sent) -> tuple[int, dict[str, str], bytes]:
    as_json = {"content-type": "application/json"}
    if sent.path.endswith("/photo") and sent.method == "GET":
        return 200, {"content-type": "image/png"}, PNG
    if sent.method == "DELETE":
        return 204, {}, b""
    if "/status/" in sent.path:
        code = int(sent.path.rsplit("/", 1)[1])
        return code, as_json, json.dumps({"error": {"message": f"It is {code}."}}).encode()
    told = {"method": sent.method, "path": sent.path, "query": sent.query, "headers": sent.headers}
    return 200, as_json, json.dumps(told).encode()
