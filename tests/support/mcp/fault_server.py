"""An MCP server over stdio that does what servers do when they go wrong. Run as a program:

    python fault_server.py [--log FILE] [--pages N] [--hostile] [--garbage] [--noise] [--stubborn]
                           [--instructions TEXT]
                           [--die-at-start | --hang-at-start | --die-if FILE]

It speaks the handshake of 2025-06-18 and knows no newer one. Each line that it reads goes to the log, after a line with
its process id. A call with a text that begins with ``raw:`` is answered by the rest of it, where ID is the request's.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from support.mcp.faulty_answers import DECLARED, HOSTILE, Failure, answer, declared


class Server:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.tools: list[Any] = list(DECLARED)
        if options.hostile:
            self.tools += HOSTILE
        self.lock = threading.Lock()
        self.log(str(os.getpid()))

    def log(self, line: str) -> None:
        if self.options.log is not None:
            with self.options.log.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")

    def write(self, message: dict[str, Any]) -> None:
        with self.lock:
            if self.options.garbage:
                sys.stdout.write('this is no JSON\n{"jsonrpc": 7}\n[]\n\n')
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            sys.stdout.flush()

    def serve(self) -> None:
        for line in sys.stdin:
            self.log(line.strip())
            message = json.loads(line)
            if "id" not in message or "method" not in message:  # a notification, or an answer to us
                continue
            if message.get("method") == "tools/call":
                threading.Thread(target=self.answer, args=(message,), daemon=True).start()
            else:
                self.answer(message)

    def answer(self, message: dict[str, Any]) -> None:
        params: dict[str, Any] = message.get("params") or {}
        arguments: dict[str, Any] = params.get("arguments") or {}
        text = str(arguments.get("text"))
        if text.startswith("raw:"):
            with self.lock:
                sys.stdout.buffer.write(text[4:].replace("ID", str(message["id"])).encode("latin-1") + b"\n")
                sys.stdout.flush()
            return
        try:
            result = self.result(message["method"], params)
        except Failure as failure:
            self.write({"id": message["id"], "error": {"code": failure.code, "message": str(failure)}})
        else:
            self.write({"id": message["id"], "result": result})
            if self.options.garbage:
                self.write({"id": message["id"], "result": result})

    def result(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        match method:
            case "initialize":
                capabilities = {"tools": {"listChanged": True}}
                info = {"name": "faults", "version": "1"}
                said = {} if self.options.instructions is None else {"instructions": self.options.instructions}
                return {"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": info, **said}
            case "tools/list":
                return self.page(int(params.get("cursor") or 0))
            case "tools/call":
                return self.called(params)
            case _:
                raise Failure(-32601, "Method not found")

    def page(self, start: int) -> dict[str, Any]:
        if not self.options.pages:
            return {"tools": self.tools}
        end = start + self.options.pages
        more = {"nextCursor": str(end)} if end < len(self.tools) else {}
        return {"tools": self.tools[start:end], **more}

    def called(self, params: dict[str, Any]) -> dict[str, Any]:
        name: str = params["name"]
        arguments: dict[str, Any] = params.get("arguments") or {}
        if name == "echo" and arguments["text"].startswith(("+", "-")):
            return self.change(arguments["text"])
        if name not in {tool["name"] for tool in self.tools if isinstance(tool, dict) and "name" in tool}:
            raise Failure(-32602, f"Unknown tool: {name}")
        meta: dict[str, Any] = params.get("_meta") or {}
        token = meta.get("progressToken")

        def progress(done: float) -> None:
            if token is not None:
                told: dict[str, Any] = {"progressToken": token, "progress": done, "message": f"step {done:g}"}
                self.write({"method": "notifications/progress", "params": told})

        return answer(name, arguments, progress)

    def change(self, text: str) -> dict[str, Any]:
        name = text[1:]
        self.tools = [tool for tool in self.tools if tool["name"] != name]
        if text[0] == "+":
            self.tools.append(declared(name))
        self.write({"method": "notifications/tools/list_changed"})
        return {"content": [{"type": "text", "text": "changed"}]}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--log", type=Path)
    parser.add_argument("--pages", type=int, default=0)
    parser.add_argument("--hostile", action="store_true")
    parser.add_argument("--garbage", action="store_true")
    parser.add_argument("--noise", action="store_true")
    parser.add_argument("--die-at-start", action="store_true")
    parser.add_argument("--die-if", type=Path)
    parser.add_argument("--hang-at-start", action="store_true")
    parser.add_argument("--stubborn", action="store_true")
    parser.add_argument("--instructions")
    options = parser.parse_args()
    if options.noise:
        sys.stderr.write("starting\nusing the key sk-ant-REDACTED in sense.\n" * 2_000)
    server = Server(options)
    if options.die_at_start or (options.die_if is not None and options.die_if.exists()):
        sys.stderr.write("there is no database, password=hunter2hunter2\n")
        sys.exit(1)
    if options.hang_at_start:
        time.sleep(60)
    if options.stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    server.serve()
    if options.stubborn:
        time.sleep(60)


if __name__ == "__main__":
    main()
