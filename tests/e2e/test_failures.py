"""What breaks around tools: connections, disks, memory, the user's patience. Every call is answered all the same."""

from __future__ import annotations

import asyncio
import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.programs import run_python
from surehand import AIMessage, HumanMessage, RetryPolicy, ToolNode, check_transcript, tool
from surehand.testing import FakeClock, faults


def turn(*names: str) -> AIMessage:
    return AIMessage(tool_calls=[{"id": f"c{number}", "name": name, "args": {}} for number, name in enumerate(names)])


@tool
def work() -> str:
    """Work."""
    return "done"


@tool
async def awork() -> str:
    """Work."""
    return "done"


# -- what a tool raises ----------------------------------------------------------------------------------------------


def recurse() -> Any:
    return recurse()


def fill_memory() -> Any:
    return [0] * (1 << 60)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (SystemExit(3), "exception"),
        (MemoryError(), "exception"),
        (RecursionError("too deep"), "exception"),
        (asyncio.CancelledError(), "cancelled"),
        (TimeoutError("the body's own"), "timeout"),
        (StopIteration(), "exception"),
        (BaseException("foreign"), "exception"),
        (BaseExceptionGroup("several", [SystemExit(3), MemoryError()]), "exception"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
@pytest.mark.parametrize("door", ["invoke", "ainvoke"])
def test_whatever_a_tool_raises_is_the_failure_of_its_call_alone(error: BaseException, kind: str, door: str) -> None:
    fault = faults.raises(error)
    node = ToolNode([fault.on(work), fault.on(awork), tool("whole")(work.func)], clock=FakeClock())
    message = turn("work", "whole", "awork", "whole")

    answers = node.invoke([message]) if door == "invoke" else asyncio.run(node.ainvoke([message]))
    assert [answer.outcome.kind for answer in answers] == [kind, None, kind, None]
    assert check_transcript([HumanMessage("go"), message, *answers]) == []


@pytest.mark.parametrize("body", [recurse, fill_memory])
def test_real_recursion_and_real_lack_of_memory_are_answered(body: Any) -> None:
    answers = ToolNode([tool("deep")(body), work]).invoke([turn("deep", "work")])

    assert [answer.outcome.kind for answer in answers] == ["exception", None]


def test_calls_are_answered_deep_in_a_stack_too() -> None:
    def deep(left: int) -> Any:
        return deep(left - 1) if left else ToolNode([work]).invoke([turn("work", "work")])

    assert [answer.content for answer in deep(500)] == ["done", "done"]


# -- lost connections ------------------------------------------------------------------------------------------------


@contextmanager
def service(*replies: bytes) -> Generator[int, None, None]:
    """A server on 127.0.0.1 that gives one connection after another its reply and closes it: its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            for reply in replies:
                connection, _ = server.accept()
                with connection:
                    connection.recv(65_536)
                    connection.sendall(reply)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        thread.join(5)


WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone"
CUT_OFF = b"HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\ndo"
NOTHING = b""


def fetch(port: int) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/")
        return connection.getresponse().read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize("reply", [NOTHING, CUT_OFF])
def test_a_lost_connection_is_the_failure_of_its_call(reply: bytes) -> None:
    with service(reply) as port:

        @tool
        def ask() -> str:
            """Ask the service."""
            return fetch(port)

        answers = ToolNode([ask, work]).invoke([turn("ask", "work")])

    assert [answer.status for answer in answers] == ["error", "success"]
    assert answers[0].outcome.attempts == 1


def test_a_lost_connection_is_tried_again_where_that_does_no_harm() -> None:
    with service(NOTHING, NOTHING, WHOLE) as port:

        @tool(read_only=True, retry=RetryPolicy(initial_interval=0.001))
        def ask() -> str:
            """Ask the service."""
            return fetch(port)

        (answer,) = ToolNode([ask]).invoke([turn("ask")])

    assert (answer.content, answer.outcome.attempts) == ("done", 3)


def test_a_service_that_never_answers_is_timed_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        @tool(timeout=0.1)
        async def ask() -> str:
            """Ask the service."""
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                return (await reader.read()).decode()
            finally:
                writer.close()

        (answer,) = ToolNode([ask]).invoke([turn("ask")])

    assert answer.outcome.kind == "timeout"


# -- a full disk -----------------------------------------------------------------------------------------------------

FULL_DISK = """
import asyncio, json, resource, sys
from dataclasses import asdict
from surehand import AIMessage, ToolNode, tool

LIMIT = 2_000

class FileJournal:
    def __init__(self, path):
        self.file = open(path, "ab", buffering=0)

    async def recall(self, key):
        return None

    async def begin(self, key, after):
        self.write({"begun": asdict(key)})
        return True

    async def finish(self, key, answer, command=None, *, was_raised=False):
        self.write({"answered": asdict(key)})

    async def wait(self, key):
        self.write({"asked": asdict(key)})

    def write(self, entry):
        line = json.dumps(entry).encode() + b"\\n"
        written = self.file.write(line)
        if written < len(line):
            raise OSError(28, "No space left on device")

ran = []

@tool
async def pay(to: str) -> str:
    "Pay."
    ran.append(to)
    return f"paid {to}"

resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))
node = ToolNode([pay], journal=FileJournal(sys.argv[1]))
calls = [{"id": f"c{n}", "name": "pay", "args": {"to": str(n)}} for n in range(30)]
answers = []
for call in calls:
    answers += node.invoke([AIMessage(id="m", tool_calls=[call])])
begun = [json.loads(line)["begun"]["call_id"] for line in open(sys.argv[1]).read().split("\\n")[:-1] if "begun" in line]
print(json.dumps({"kinds": [str(a.outcome.kind) for a in answers], "ids": [a.tool_call_id for a in answers],
                  "texts": [a.content for a in answers], "ran": ran, "begun": begun}))
"""


def test_a_full_disk_under_the_journal_runs_nothing_that_was_not_recorded(tmp_path: Path) -> None:
    done = run_python("-c", FULL_DISK, str(tmp_path / "journal"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)

    assert seen["ids"] == [f"c{number}" for number in range(30)]
    assert 0 < len(seen["ran"]) < 30
    assert [f"c{number}" for number in seen["ran"]] == seen["begun"]
    assert seen["kinds"] == ["None"] * len(seen["ran"]) + ["internal"] * (30 - len(seen["ran"]))
    assert "Do not retry" in seen["texts"][-1]
    assert str(tmp_path) not in done.stdout


# -- Ctrl-C and the end of the process -------------------------------------------------------------------------------

INTERRUPTED = """
import asyncio, sys, threading, time
from surehand import AIMessage, ToolNode, tool

ready = threading.Barrier(3)

@tool
def on_thread() -> str:
    "Work on a thread."
    ready.wait()
    time.sleep(60)
    return "done"

@tool
async def on_loop() -> str:
    "Work on the loop."
    await asyncio.to_thread(ready.wait)
    try:
        await asyncio.sleep(60)
    finally:
        print("cleaned up", flush=True)
    return "done"

def report():
    ready.wait()
    time.sleep(0.05)
    print("running", flush=True)

threading.Thread(target=report, daemon=True).start()
calls = [{"id": "c0", "name": "on_thread", "args": {}}, {"id": "c1", "name": "on_loop", "args": {}}]
node = ToolNode([on_thread, on_loop])
message = AIMessage(tool_calls=calls)
try:
    node.invoke([message]) if sys.argv[1] == "invoke" else asyncio.run(node.ainvoke([message]))
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(130)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be sent Ctrl-C alone there")
@pytest.mark.parametrize("door", ["invoke", "ainvoke"])
def test_ctrl_c_in_the_middle_of_a_turn_ends_it_and_lets_tools_clean_up(door: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, door], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGINT)
        sent = time.monotonic()
        printed, errors = process.communicate(timeout=20)

    assert (process.returncode, printed) == (130, "cleaned up\ninterrupted\n"), errors
    assert time.monotonic() - sent < 15
