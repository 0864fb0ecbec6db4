"""One loopback server in OpenAI's form for all frameworks; it counts what each run asks."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, cast

from evals.engine import Brain
from evals.prompting import Payload, Style, prompt_for

__all__ = ["MAX_REQUESTS", "Desk", "RunLog", "served"]

MAX_REQUESTS: Final = 12
"""How often a run may ask the model; a run that needs more has lost its way."""
_SUFFIX: Final = "/v1/chat/completions"


@dataclass(slots=True)
class RunLog:
    """What the server saw of one run."""

    requests: int = 0
    calls: int = 0
    """How many tool calls the model made."""
    busy: float = 0.0
    """Seconds the model computed."""
    since: float | None = None
    """When the request that is being answered came in."""
    is_exhausted: bool = False
    """Whether the run asked more often than it may."""
    messages: list[Any] = field(default_factory=list[Any])
    """The conversation as it was last sent, and the reply."""

    def busy_until_now(self) -> float:
        """Seconds the model has computed, the request at hand included."""
        since = self.since
        return self.busy + (time.monotonic() - since if since is not None else 0.0)


class Desk:
    """Takes requests, asks the brain, keeps a log for each run."""

    def __init__(self, brain: Brain, style: Style) -> None:
        self._brain = brain
        self._style: Style = style
        self._logs: dict[str, RunLog] = {}
        self._lock = threading.Lock()

    def open(self, run: str) -> RunLog:
        """The log of a new run."""
        with self._lock:
            self._logs[run] = RunLog()
            return self._logs[run]

    def answer(self, run: str, body: Payload) -> tuple[int, Payload]:
        """Status and body of the answer to a request."""
        log = self._logs.get(run)
        if log is None:
            return 404, _error(f"There is no run {run!r}.")
        if body.get("stream"):
            return 400, _error("This server does not stream.")
        if log.requests >= MAX_REQUESTS:
            log.is_exhausted = True
            return 400, _error(f"The run has asked {MAX_REQUESTS} times and may not ask again.")
        log.requests += 1
        return self._asked(log, body)

    def _asked(self, log: RunLog, body: Payload) -> tuple[int, Payload]:
        log.since = time.monotonic()
        try:
            reply = self._brain.answer(prompt_for(body, self._style), is_first=log.requests == 1)
        finally:
            log.busy, log.since = log.busy_until_now(), None
        if "error" in reply:
            return 400, reply
        message = cast("Payload", reply["choices"][0]["message"])
        log.calls += len(message.get("tool_calls") or ())
        log.messages = [*body.get("messages", ()), message]
        model = body.get("model", "local")
        return 200, {"id": "reply", "object": "chat.completion", "created": 0, "model": model, **reply}


def _error(text: str) -> Payload:
    return {"error": {"message": text, "type": "invalid_request_error", "code": None}}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, desk: Desk) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.desk = desk


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body leave together

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", "0"))
        body = cast("Payload", json.loads(self.rfile.read(length) or b"{}"))
        desk = cast("_Server", self.server).desk
        if self.path.endswith(_SUFFIX):
            status, answer = desk.answer(self.path.removesuffix(_SUFFIX).strip("/"), body)
        else:
            status, answer = 404, _error(f"There is nothing at {self.path}.")
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""


@contextmanager
def served(desk: Desk) -> Generator[str, None, None]:
    """Serve the desk on a free port of this machine; the block gets the address."""
    server = _Server(desk)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
