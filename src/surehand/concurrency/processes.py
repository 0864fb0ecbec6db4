"""A function in a process of its own, which can really be ended.

Threads cannot be killed; a process can, with everything it has started. The price is a new interpreter for each call,
and that arguments and results are pickled on their way.

``multiprocessing`` would do much of this. What speaks against it: it runs the program's main script in every child,
also where the function is elsewhere, it is refused to daemonic workers, it keeps a process of its own beside them, and
its children outlive a parent that is killed. A bare child with one pipe in and one out costs as much (both spend their
time in starting Python and importing the tool's module) and is ours to end. A server that forks children which have
imported everything already would cut that time; that is what would change our mind.

Each child has a thread that attends to it from its start to its end: writes the request, reads the messages, reaps. So
no loop has to be able to watch processes, a child whose loop is gone is still reaped, and the system's "die with your
parent", which Linux ties to the thread that started the child, has the right thread.

Context variables of the caller stay behind: they are objects without a name that another process could find them by.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from io import BufferedReader, RawIOBase
from typing import Any, BinaryIO, Final, cast

from typing_extensions import Buffer

from surehand.concurrency.child import LENGTH, end_if_loading
from surehand.concurrency.contexts import wake
from surehand.concurrency.parcels import main_module, packed_request, rebuilt, unpickled
from surehand.concurrency.slots import Slots
from surehand.concurrency.targets import ProcessTarget
from surehand.concurrency.workers import WorkersExhausted
from surehand.errors import ProcessDied, ToolDefinitionError

__all__ = ["run_in_process"]

MAX_PROCESSES: Final = max(8, 2 * (os.cpu_count() or 1))
"""How many functions may be in processes at a time; more wait. A process costs tens of megabytes."""
START_SECONDS: Final = 60.0
"""How long a child may take until its function is found: nothing else bounds the import of a module that hangs."""
REAP_SECONDS: Final = 2.0
"""How long a cancelled caller waits for a child that was killed: the system may be slow to end it."""
EXIT_SECONDS: Final = 1.0
"""How long a child may take to end after its last message."""
MAX_UNHEARD: Final = 256
"""How many messages of a child may wait for the loop; a child that tells more waits."""
_POLL_SECONDS: Final = (0.0005, 0.02)
"""How often to look whether a child has ended: at first, and at most."""
_LOOK_SECONDS: Final = 0.1
_BOOT: Final = """\
import pickle, sys
head = pickle.load(sys.stdin.buffer)
sys.path[:] = head.pop("path")
from surehand.concurrency.child import main
main(head)
"""

Message = tuple[Any, ...]

_slots: Final = Slots()


async def run_in_process(
    target: ProcessTarget,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    on_start: Callable[[], None] | None = None,
    on_message: Callable[[Message], None] | None = None,
    max_items: int | None = None,
) -> Any:
    """Run a function in a process of its own and return what it returns.

    A coroutine is run to its end there. Of a generator, synchronous or not, the items are sent as they come; what it
    returns is the result, or where it returns nothing, the list of its items. Cancelling kills the process with
    everything it has started, and waits until it is gone. Standard output and error are the caller's own.

    Args:
        target: The function.
        args: Its positional arguments; they and what follows are pickled.
        kwargs: Its arguments by name.
        on_start: Called on the loop when the function is about to be called: the interpreter is up, its module
            imported.
        on_message: Called on the loop with ``("progress", value)``, ``("heartbeat",)`` and ``("item", value)``, in the
            order they are sent.
        max_items: A generator that has sent more items is ended, and an iterator over them returned; None for no limit.

    Raises:
        BaseException: What the function raises: an equal exception of the same class, or a RemoteError where it cannot
            be pickled. What it was raised from comes with it, and its traceback as a note.
        ProcessDied: The process ended by itself, or was killed by somebody else.
        ToolDefinitionError: An argument cannot be pickled, or the process cannot find the function.
        WorkersExhausted: The system gives no further thread.
    """
    end_if_loading()
    request, has_main = packed_request(target, args, dict(kwargs or {}))
    head = {
        "path": sys.path,
        "argv": getattr(sys, "argv", []),  # a program that embeds Python may have none
        "main": main_module() if has_main else None,
        "target": asdict(target),
        "request": request,
    }
    async with _slots.hold({"process": MAX_PROCESSES}):
        attendant = _Attendant(target, head, on_start=on_start, on_message=on_message, max_items=max_items)
        return await attendant.outcome()


class _Attendant:
    """One child, and the thread that attends to it."""

    def __init__(
        self,
        target: ProcessTarget,
        head: dict[str, Any],
        *,
        on_start: Callable[[], None] | None,
        on_message: Callable[[Message], None] | None,
        max_items: int | None,
    ) -> None:
        self._target = target
        self._head = head
        self._on_start = on_start
        self._on_message = on_message
        self._max_items = max_items
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_killed = False
        self._is_reaped = False
        self._room = threading.Semaphore(MAX_UNHEARD)
        self._patience: asyncio.TimerHandle | None = None
        self._items: list[Any] = []
        self._result: Any = None
        self._error: BaseException | None = None

    async def outcome(self) -> Any:
        """What the function came to."""
        try:
            threading.Thread(target=self._attend, name="surehand-process", daemon=True).start()
        except RuntimeError as error:
            raise WorkersExhausted from error
        self._patience = self._loop.call_later(START_SECONDS, self._give_up)
        try:
            await self._ended
        except asyncio.CancelledError:
            self.kill()
            await asyncio.wait([self._ended], timeout=REAP_SECONDS)
            raise
        finally:
            self._patience.cancel()
            self.kill()
        if self._error is not None:
            raise self._error
        return self._result

    def kill(self) -> None:
        """End the child with everything it has started; nothing happens once it is gone."""
        with self._lock:
            self._is_killed = True
            if self._process is not None and not self._is_reaped:
                _kill(self._process)

    def _give_up(self) -> None:
        """End a child that does not find its function."""
        self._end_with("unfit", f"its process was not ready within {START_SECONDS:g} seconds")
        self.kill()

    def _begin(self) -> None:
        """The function is about to be called."""
        if self._patience is not None:
            self._patience.cancel()
        if self._on_start is not None:
            self._on_start()

    # -- on the thread

    def _attend(self) -> None:
        try:
            self._serve()
        except BaseException as error:  # noqa: BLE001 - whoever waits must be woken, and hears of it
            self._error = error
        self._tell(partial(wake, self._ended))

    def _serve(self) -> None:
        process = self._start()
        stdin, stdout = cast("BinaryIO", process.stdin), self._line_of(process)
        has_answered = False
        try:
            with contextlib.suppress(BrokenPipeError):  # it is dead already, which the reading will tell
                pickle.dump(self._head, stdin)
                stdin.flush()
            has_answered = self._listen(stdout)
        finally:
            self._reap(process, is_leaving=has_answered)
            stdout.close()
            with contextlib.suppress(BrokenPipeError):
                stdin.close()
        if not has_answered and self._error is None:
            self._error = ProcessDied(tool=self._target.tool, exit_code=process.returncode)

    def _line_of(self, process: subprocess.Popen[bytes]) -> BinaryIO:
        """Where the child is heard, to its end."""
        line = cast("BufferedReader", process.stdout)
        if not hasattr(select, "poll"):
            return line
        return BufferedReader(_UntilDeath(line.detach(), partial(self._has_died, process)))

    def _has_died(self, process: subprocess.Popen[bytes]) -> bool:
        with self._lock:
            if not self._is_reaped and hasattr(os, "waitid"):
                # It is left to be reaped: until then, its group can be told from any other.
                with contextlib.suppress(ChildProcessError):  # the host reaps whatever ends
                    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
            self._is_reaped = process.poll() is not None
            return self._is_reaped

    def _start(self) -> subprocess.Popen[bytes]:
        stdout = self._head["stdout"] = _own_stdout()
        try:
            with self._lock:
                if self._is_killed:
                    raise asyncio.CancelledError
                self._process = _started(stdout)
            return self._process
        finally:
            if stdout is not None:
                os.close(stdout)

    def _listen(self, stream: BinaryIO) -> bool:
        """Hear the child out; False where it ended without an answer."""
        while (frame := _frame(stream)) is not None:
            kind, *rest = cast("Message", pickle.loads(frame))  # noqa: S301 - from our own child
            match kind:
                case "started":
                    self._pass_on(self._begin)
                case "heartbeat":
                    self._hand_on(("heartbeat",))
                case "progress":
                    self._hand_on(("progress", unpickled(rest[0])))
                case "item":
                    if not self._take(unpickled(rest[0])):
                        return True
                case _:
                    self._end_with(kind, *rest)
                    return True
        return False

    def _take(self, item: Any) -> bool:
        """Take an item of a generator; False where it is one too many."""
        self._items.append(item)
        self._hand_on(("item", item))
        if self._max_items is None or len(self._items) <= self._max_items:
            return True
        self._result = iter(self._items)
        self.kill()
        return False

    def _end_with(self, kind: str, *rest: Any) -> None:
        if kind == "result":
            packed, is_sent = rest
            value = unpickled(packed)
            self._result = self._items if is_sent and value is None else value
        elif kind == "error":
            self._error = rebuilt(*rest)
        else:
            problem = f"it could not be run in a process of its own: {rest[0]}"
            remedy = 'See that its module can be imported, and that a script works under `if __name__ == "__main__":`.'
            self._error = ToolDefinitionError(tool=self._target.tool, problem=problem, remedy=remedy)

    def _reap(self, process: subprocess.Popen[bytes], *, is_leaving: bool) -> None:
        """Wait for the end of the child, and hasten it where there is nothing to wait for."""
        patience = time.monotonic() + (EXIT_SECONDS if is_leaving else 0.0)
        pause, longest = _POLL_SECONDS
        while True:
            self._has_died(process)
            with self._lock:
                if time.monotonic() >= patience and not self._is_reaped:
                    _kill(process)
                if process.poll() is not None:
                    self._is_reaped = True
                    return
            time.sleep(pause)
            pause = min(2 * pause, longest)

    def _hand_on(self, message: Message) -> None:
        if self._on_message is not None:
            self._pass_on(partial(self._on_message, message))

    def _pass_on(self, act: Callable[[], None]) -> None:
        """Have the loop do something, in order; wait while it has too much to do."""
        while not self._room.acquire(timeout=_LOOK_SECONDS):
            if self._is_killed:
                return
        if not self._tell(partial(self._heard, act)):
            self.kill()  # nobody waits any longer

    def _heard(self, act: Callable[[], None]) -> None:
        self._room.release()
        try:
            if not self._is_killed:
                act()
        except BaseException as error:  # noqa: BLE001 - the host's own listener; what it raises is not the loop's affair
            self._error = error
            self.kill()

    def _tell(self, act: Callable[[], object]) -> bool:
        try:
            self._loop.call_soon_threadsafe(act)
        except RuntimeError:  # the loop was closed meanwhile
            return False
        return True


class _UntilDeath(RawIOBase):
    """What a process writes to a pipe, as long as it lives: a copy that it has made of itself may hold the pipe open.

    Args:
        pipe: The end to read from.
        has_died: Whether the process has; what it wrote before is in the pipe then.
    """

    def __init__(self, pipe: RawIOBase, has_died: Callable[[], bool]) -> None:
        self._pipe = pipe
        self._has_died = has_died
        self._poll = select.poll()
        self._poll.register(pipe.fileno(), select.POLLIN)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer, /) -> int | None:
        while not self._poll.poll(_LOOK_SECONDS * 1_000):
            if self._has_died() and not self._poll.poll(0):
                return 0
        return self._pipe.readinto(buffer)

    def close(self) -> None:
        self._pipe.close()
        super().close()


def _frame(stream: BinaryIO) -> bytes | None:
    """The next message of a child; None at the end, also where it ends in the middle of one."""
    length = stream.read(LENGTH.size)
    if len(length) < LENGTH.size:
        return None
    (size,) = LENGTH.unpack(length)
    frame = stream.read(size)
    return frame if len(frame) == size else None


def _own_stdout() -> int | None:
    """A descriptor by which a child finds our standard output; None where there is none, or none can be handed on."""
    if sys.platform == "win32":
        return None
    try:
        return os.dup(1)
    except OSError:
        return None


def _started(stdout: int | None) -> subprocess.Popen[bytes]:
    """A new interpreter.

    A group of its own keeps Ctrl-C away from it, so that it ends when its caller says so, and takes what it has started
    along.
    """
    flags = cast("list[str]", getattr(subprocess, "_args_from_interpreter_flags")())  # noqa: B009 - -X, -W and their like are handed on in no other way
    return subprocess.Popen(  # noqa: S603 - our own interpreter
        [sys.executable, *flags, "-c", _BOOT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=() if stdout is None else (stdout,),
        process_group=None if sys.platform == "win32" else 0,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # what Windows has in its place
    )


def _kill(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):  # as some systems say of one that has just ended
        os.killpg(process.pid, signal.SIGKILL)
