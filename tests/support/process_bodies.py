"""Functions that tests run in processes of their own; those must find them in a module."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

from surehand import ToolContext, ToolException, interrupt
from surehand.concurrency.child import send_heartbeat, send_progress


def echo(*args: Any, **kwargs: Any) -> Any:
    return args, kwargs


async def echo_async(value: Any) -> Any:
    await asyncio.sleep(0)
    return value


async def handing_back(value: Any) -> Any:
    return echo_async(value)


class Holder:
    """Functions of a class are found by its name."""

    @staticmethod
    def triple(number: int) -> int:
        return 3 * number

    def method(self) -> None: ...


def counting(last: int) -> Iterator[int]:
    yield from range(last)


def counting_to(last: int) -> Iterator[int]:
    yield from range(last)
    return f"up to {last}"  # type: ignore[return-value]  # what it says when it ends


async def counting_async(last: int) -> AsyncIterator[int]:
    for number in range(last):
        yield number


def without_end() -> Iterator[int]:
    number = 0
    while True:
        yield number
        number += 1


def reporting() -> str:
    send_heartbeat()
    send_progress({"done": 1})
    return "ready"


class Refused(Exception):
    """An exception that does not survive pickling: its constructor wants more than its text."""

    def __init__(self, *, status_code: int) -> None:
        super().__init__(f"refused with {status_code}")
        self.status_code = status_code
        self.lock = threading.Lock()


def raising(what: str) -> None:
    if what == "author":
        raise ToolException("busy", retryable=True, retry_after=2)
    if what == "refused":
        raise Refused(status_code=503)
    if what == "exit":
        raise SystemExit(3)
    if what == "Ctrl-C":
        raise KeyboardInterrupt
    if what == "several":
        raise BaseExceptionGroup("several", [ValueError("no"), GeneratorExit()])
    try:
        raise ConnectionResetError("lost")
    except ConnectionResetError as error:
        raise LookupError("not found") from error


def dying(how: str) -> None:
    if how == "exit":
        os._exit(7)
    os.kill(os.getpid(), getattr(signal, how))
    time.sleep(5)


def dying_beside_a_fork(*, is_apart: bool) -> None:
    """Dies while a copy of it, which holds on to all that was open, lives on; tells who that is."""
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        if is_apart:
            os.setsid()
        os.write(tell, b"1")
        time.sleep(60)
        os._exit(0)
    os.read(told, 1)
    send_progress(pid)
    os._exit(7)


def unpicklable() -> Any:
    return threading.Lock()


def hanging() -> None:
    """Ignores what can be ignored, starts a process, tells who they are, and never ends."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    send_progress([os.getpid(), grandchild.pid])
    while True:
        pass


def printing() -> None:
    print("to stdout")  # noqa: T201 - what the test looks for
    print("to stderr", file=sys.stderr)  # noqa: T201 - the same
    os.write(1, b"raw\n")


def leaving_threads() -> str:
    """Ends while a thread that is no daemon hangs."""
    threading.Thread(target=time.sleep, args=(300,)).start()
    return "done"


def ask_apart() -> str:
    """Ask."""
    return str(interrupt("Sure?"))


def ask_apart_by_context(ctx: ToolContext) -> str:
    """Ask by the context."""
    return str(ctx.interrupt("Sure?"))
