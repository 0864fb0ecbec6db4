"""What runs in a process of its own: it finds a function, runs it, and sends what becomes of it to its parent.

The parent writes one request to the child's standard input and then keeps it open: its end is the end of the parent,
and of the child with all that it has started. What the child has to tell leaves by the standard output it was born
with; everything that is printed goes where the parent's own output goes.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import pickle
import signal
import struct
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from io import IOBase
from types import ModuleType
from typing import Any, BinaryIO, Final, NamedTuple, NoReturn

from surehand.concurrency.contexts import settled
from surehand.concurrency.targets import MAIN, ProcessTarget, find_target
from surehand.errors import shown
from surehand.policy import retry_after_of, status_of

__all__ = ["LENGTH", "MAIN_AGAIN", "end_if_loading", "main", "send_heartbeat", "send_progress"]

LENGTH: Final = struct.Struct("!Q")
"""Stands before every message: its length in bytes."""
MAIN_AGAIN: Final = "__mp_main__"
"""The name under which a child runs its parent's script, as ``multiprocessing`` calls it: not the name that a script
waits for before it does something."""
_DIE_WITH_PARENT: Final = 1
"""The option of Linux's ``prctl`` that asks for a signal when the parent dies."""
_MAX_CAUSES: Final = 8
_LATE_START: Final = (
    "to find it, its process runs the script, and the script started a call of a tool that has a process of its own"
)


class _Line:
    """The way to the parent; safe to use from several threads."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def send(self, *message: Any) -> None:
        """Send a message of plain values."""
        frame = pickle.dumps(message)
        try:
            with self._lock:
                self._stream.write(LENGTH.pack(len(frame)))
                self._stream.write(frame)
                self._stream.flush()
        except OSError:  # nobody listens any more
            _end(1)


_line: _Line | None = None
_is_loading: bool = False


def send_progress(value: Any) -> None:
    """Tell the parent how far the function is; outside a child this does nothing.

    Raises:
        TypeError: The value cannot leave the process.
    """
    if _line is not None:
        _line.send("progress", _packed(value, "The progress"))


def send_heartbeat() -> None:
    """Tell the parent that the function is alive; outside a child this does nothing."""
    if _line is not None:
        _line.send("heartbeat")


def end_if_loading() -> None:
    """End a child that starts children before it has found its function: without end, each would start another."""
    if _is_loading and _line is not None:
        _line.send("unfit", _LATE_START)
        _end(1)


def main(head: Mapping[str, Any]) -> NoReturn:
    """Serve the one request that the process was made for.

    Args:
        head: ``stdout`` (a descriptor of the parent's standard output, or None), ``argv``, ``main`` (module name and
            path of the parent's main module, or None where it is not needed), ``target`` and ``request`` (pickled
            arguments).
    """
    global _line  # noqa: PLW0603 - a process serves one request
    _line = _Line(os.fdopen(_taken_over(head["stdout"]), "wb"))
    _die_with_parent()
    sys.argv = head["argv"]
    try:
        function, args, kwargs = _prepared(head)
    except BaseException as error:  # noqa: BLE001 - the host's module, which may do anything while it is imported
        _line.send("unfit", f"its process could not find it ({type(error).__name__}: {error})".rstrip(": "))
        _end(1)
    _line.send("started")
    try:
        _run(_line, function, args, kwargs)
    except BaseException as error:  # noqa: BLE001 - the tool's own code; the parent decides what its end means
        _line.send("error", *_described(error))
    _end(0)


def _end(code: int) -> NoReturn:
    """End at once: threads and exit handlers that the function left behind must not keep its process alive."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(code)


# -- standard streams, and the end of the parent ---------------------------------------------------------------------


def _taken_over(stdout: int | None) -> int:
    """The descriptor of the line; prints go to the parent's standard output, or to standard error without one."""
    line = os.dup(1)
    os.dup2(2 if stdout is None else stdout, 1)
    if stdout is not None:
        os.close(stdout)
    with suppress(Exception):
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # a text file, as Python made it
    return line


def _die_with_parent() -> None:
    """See to it that this process ends when its parent does."""
    parent = os.dup(0)
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - the descriptor is what is wanted
        os.dup2(nothing.fileno(), 0)
    # The system's own signal is the surer of the two: code that never lets go of the interpreter stops every thread.
    if sys.platform == "linux":
        with suppress(Exception):
            import ctypes  # noqa: PLC0415 - only a child needs it

            ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    threading.Thread(target=_watch, args=(parent,), name="surehand-parent", daemon=True).start()


def _watch(parent: int) -> None:
    os.read(parent, 1)  # nothing ever comes: it returns at the end
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)  # the group is ours, and holds what the function has started
    os._exit(1)


# -- finding the function --------------------------------------------------------------------------------------------


def _prepared(head: Mapping[str, Any]) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    global _is_loading  # noqa: PLW0603 - true for this one moment
    _is_loading = True
    if head["main"] is not None:
        _load_main(*head["main"])
    function = find_target(ProcessTarget(**head["target"]))
    _is_loading = False
    args, kwargs = pickle.loads(head["request"])  # noqa: S301 - from our own parent
    return function, args, kwargs


def _load_main(name: str | None, path: str | None) -> None:
    """Run the parent's script again, under another name, for what it defines."""
    import runpy  # noqa: PLC0415 - only a child needs it

    if name is not None:
        found = runpy.run_module(name, run_name=MAIN_AGAIN, alter_sys=True)
    else:
        found = runpy.run_path(path or "", run_name=MAIN_AGAIN)
    module = ModuleType(MAIN_AGAIN)
    module.__dict__.update(found)
    sys.modules[MAIN] = sys.modules[MAIN_AGAIN] = module


# -- running it ------------------------------------------------------------------------------------------------------


class _Sent(NamedTuple):
    """A value whose items are sent already."""

    returned: Any = None
    """What a generator returned beside them."""


def _run(line: _Line, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    value: Any = function(*args, **kwargs)
    if inspect.isawaitable(value) or _has(value, "__aiter__"):
        value = asyncio.run(_awaited(line, value))
    if _has(value, "__next__") and not isinstance(value, IOBase):
        value = _Sent(_gone_through(line, value))
    if isinstance(value, _Sent):
        line.send("result", _packed(value.returned, "The result"), True)
    else:
        line.send("result", _packed(value, "The result"), False)


def _has(value: object, method: str) -> bool:
    return hasattr(type(value), method)


async def _awaited(line: _Line, value: Any) -> Any:
    value = await settled(value)
    if not _has(value, "__aiter__"):
        return value
    async for item in value:
        _send_item(line, item)
    return _Sent()


def _gone_through(line: _Line, items: Iterator[Any]) -> Any:
    """Send the items; what a generator returns is its result."""
    while True:
        try:
            item = next(items)
        except StopIteration as end:
            return end.value
        _send_item(line, item)


def _send_item(line: _Line, item: Any) -> None:
    line.send("item", _packed(item, "An item of the result"))


def _packed(value: Any, what: str) -> bytes:
    try:
        return pickle.dumps(value)
    except Exception as error:
        raise TypeError(f"{what}, {shown(value)}, cannot leave its process ({error}).") from error


# -- what went wrong -------------------------------------------------------------------------------------------------


def _described(error: BaseException) -> tuple[list[dict[str, Any]], str]:
    """An exception with what it was raised from, for the parent to rebuild, and its traceback as text."""
    chain: list[dict[str, Any]] = []
    link: BaseException | None = error
    while link is not None and len(chain) < _MAX_CAUSES:
        chain.append(_link(link))
        link = link.__cause__
    return chain, _traceback(error)


def _traceback(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(error))
    except BaseException:  # noqa: BLE001 - the exception's own code, which may also want to end the process
        return ""


def _link(error: BaseException) -> dict[str, Any]:
    return {
        "pickled": _if_it_survives(error),
        "classes": [(base.__module__, base.__name__) for base in type(error).__mro__ if base.__module__ != "builtins"],
        "message": _message(error),
        "fields": _plain_fields(error),
    }


def _if_it_survives(error: BaseException) -> bytes | None:
    """The exception, pickled, where it comes out of that as it went in."""
    try:
        pickled = pickle.dumps(error)
        return pickled if type(pickle.loads(pickled)) is type(error) else None  # noqa: S301 - our own
    except BaseException:  # noqa: BLE001 - the exception's own code: its constructor wants what pickling does not keep
        return None


def _message(error: BaseException) -> str:
    try:
        return str.__str__(str(error))
    except BaseException:  # noqa: BLE001 - the exception's own code, which may also want to end the process
        return ""


def _plain_fields(error: BaseException) -> dict[str, Any]:
    """What clients' exceptions say in plain values, with the status and the wish of a response they hold."""
    fields = {
        name: value for name, value in getattr(error, "__dict__", {}).items() if type(value) in (str, int, float, bool)
    }
    told = {"status_code": status_of(error), "retry_after": retry_after_of(error)}
    return fields | {name: value for name, value in told.items() if value is not None}
