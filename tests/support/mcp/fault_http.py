"""An MCP server over streamable HTTP, in a thread of the test, that loses sessions, connections and answers."""

from __future__ import annotations

import json
import socket
import threading
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.mcp.faulty_answers import DECLARED, Failure, answer

__all__ = ["FaultyHttp", "Reply", "faulty_http"]


@dataclass(frozen=True)
class Reply:
    """An answer, whatever was asked."""

    status: int = 200
    kind: str = "text/html"
    body: str = ""
    """Of which ID is the number of the request."""
    headers: dict[str, str] = field(default_factory=dict[str, str])


class FaultyHttp:
    """What the server does next, and what it has seen."""

    def __init__(self) -> None:
        self.sessions: set[str] = set()
        self.began = 0
        """How many sessions have begun."""
        self.calls: list[str] = []
        """The names of the tools that were called."""
        self.headers: dict[str, str] = {}
        """Those of the last request."""
        self.status_for_lost = 404
        self.status: int | None = None
        """Answered to everything; None for what is right."""
        self.replies: dict[str, Reply] = {}
        """Method -> what its requests are answered with, carried out or not."""
        self.hangs_up: str | None = None
        """Where the connection is cut: 'before' the call is carried out, 'after' that, or 'in the middle' of its answer
        where it is one to ``echo``; None for nowhere."""
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def forget(self) -> None:
        """Lose all sessions, as a restart does."""
        self.sessions.clear()

    def result(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        match method:
            case "initialize":
                info = {"name": "faults", "version": "1"}
                return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
            case "tools/list":
                return {"tools": DECLARED}
            case "tools/call":
                self.calls.append(params["name"])
                return answer(params["name"], params.get("arguments") or {}, lambda _: None)
            case _:
                raise Failure(-32601, "Method not found")


class _Handler(BaseHTTPRequestHandler):
    faults: FaultyHttp
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the library's own
        """Say nothing."""

    def do_GET(self) -> None:
        self.reply(405)

    def do_DELETE(self) -> None:
        self.faults.sessions.discard(self.headers.get("mcp-session-id", ""))
        self.reply(200)

    def do_POST(self) -> None:
        faults = self.faults
        faults.headers = dict(self.headers)
        message: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method: str = message["method"]
        session = self.headers.get("mcp-session-id")
        if faults.status is not None:
            self.reply(faults.status)
        elif session is not None and session not in faults.sessions:
            self.reply(faults.status_for_lost, text="No valid session ID provided")
        elif "id" not in message:
            self.reply(202)
        elif method == "tools/call" and faults.hangs_up == "before":
            self.hang_up()
        else:
            self.answer(message, method)

    def answer(self, message: dict[str, Any], method: str) -> None:
        faults = self.faults
        try:
            told: dict[str, Any] = {"result": faults.result(method, message.get("params") or {})}
        except Failure as failure:
            told = {"error": {"code": failure.code, "message": str(failure)}}
        if method == "tools/call" and faults.hangs_up == "after":
            self.hang_up()
            return
        if message.get("params", {}).get("name") == "echo" and faults.hangs_up == "in the middle":
            self.reply(200, json.dumps({"jsonrpc": "2.0", "id": message["id"]})[:-1], {"content-length": "1000"})
            self.hang_up()
            return
        if (given := faults.replies.get(method)) is not None:
            body = given.body.replace("ID", str(message["id"]))
            self.reply(given.status, body, {"content-type": given.kind, **given.headers})
            return
        headers: dict[str, str] = {}
        if method == "initialize":
            session = uuid.uuid4().hex
            faults.sessions.add(session)
            faults.began += 1
            headers["mcp-session-id"] = session
        self.reply(200, json.dumps({"jsonrpc": "2.0", "id": message["id"], **told}), headers)

    def hang_up(self) -> None:
        self.faults.hangs_up = None
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def reply(self, status: int, text: str = "", headers: dict[str, str] | None = None) -> None:
        body = text.encode()
        kind = "application/json" if text.startswith("{") else "text/plain"
        self.send_response(status)
        for name, value in {
            "content-type": kind,
            "content-length": str(len(body)),
            "connection": "close",
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def faulty_http() -> Generator[FaultyHttp]:
    """The server, until the block ends."""
    faults = FaultyHttp()
    handler = type("Handler", (_Handler,), {"faults": faults})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        faults.port = server.server_address[1]
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        serving.start()
        try:
            yield faults
        finally:
            server.shutdown()
            serving.join(5)
