"""The one door from synchronous code into the asynchronous implementation.

With no event loop in the calling thread, the coroutine runs on a loop that this thread keeps, so that a program of
many small calls does not pay for a new loop each time. Inside a running loop (a notebook, a callback of a web server)
it runs on a background loop of that thread with the caller's context variables, while the caller's own loop is blocked:
a warning says so once. Callers that shared one background loop could wait for one another on it for ever.

``asyncio.run`` makes and closes a loop for every call, which costs more than the call of a small tool, and refuses to
run inside another loop. To patch asyncio so that loops nest is no way: it changes the host's loop for everybody.
What is left to get right is who ends the loops. Both kinds end with the thread that they work for, and a child process,
which inherits their file descriptors, forgets them without closing.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import contextvars
import os
import select
import selectors
import sys
import threading
import time
import warnings
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future, wait
from contextvars import ContextVar
from typing import Any, Final, TypeVar, cast
from weakref import WeakSet

from surehand.callables import caller_frames
from surehand.concurrency.workers import served_here

__all__ = [
    "BackgroundLoop",
    "Loan",
    "blocked_loops",
    "borrowed_loop",
    "entered_by_sync_door",
    "finish_without_loop",
    "hand_over",
    "has_running_loop",
    "is_behind_door",
    "is_cancelled_from_outside",
    "is_door_closing",
    "run_sync",
    "run_without_loop",
]

T = TypeVar("T")

_CLOSING_SECONDS: Final = 0.5
"""How long background loops may take to stop at the end of the program."""
_LOOK_SECONDS: Final = 0.1
"""How often a blocked caller looks whether it was cancelled."""


def run_sync(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine to its end from synchronous code and return what it returns.

    Args:
        make: Called without arguments, in the loop's thread and the caller's context, to make the coroutine.

    Raises:
        BaseException: Whatever the coroutine raises, the same object; KeyboardInterrupt always gets through.
    """
    served = served_here()
    if served is None:
        return _run_sync(make)
    with served.waiting():  # this thread is a worker, and what it waits for may need one too
        return _run_sync(make)


def _run_sync(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    if not has_running_loop():
        return _run_kept(make)
    _warn_once()
    return _background_loop().run(make)


_is_sync: ContextVar[bool] = ContextVar("surehand_is_sync", default=False)


def entered_by_sync_door() -> bool:
    """Whether the running code was reached through the synchronous door."""
    return _is_sync.get()


class _Door:
    """The synchronous door of a thread that has no loop running: nobody else can cancel the task behind it."""

    __slots__ = ("is_closing", "task")

    def __init__(self) -> None:
        self.task: asyncio.Task[Any] | None = None
        self.is_closing = False


_door: ContextVar[_Door | None] = ContextVar("surehand_door", default=None)


def is_behind_door() -> bool:
    """Whether this is a task that nobody but its synchronous door can cancel.

    It matters because ``task.cancelling()`` does not say so: before Python 3.13, a task group that fails leaves its
    task marked as cancelled.
    """
    door = _door.get()
    return door is not None and door.task is asyncio.current_task()


def is_door_closing() -> bool:
    """Whether the door has cancelled the task behind it: Ctrl-C was pressed."""
    door = _door.get()
    return door is not None and door.is_closing


_blocked: ContextVar[tuple[asyncio.AbstractEventLoop, ...]] = ContextVar("surehand_blocked", default=())


def blocked_loops() -> tuple[asyncio.AbstractEventLoop, ...]:
    """The event loops that stand still until the running code ends: there is no use in waiting for them."""
    return _blocked.get()


async def _started(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    _is_sync.set(True)
    return await make()


def has_running_loop() -> bool:
    """Whether an event loop is running in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def is_cancelled_from_outside() -> bool:
    """Whether somebody cancelled this task, rather than what runs in it having raised CancelledError by itself."""
    task = asyncio.current_task() if has_running_loop() else None
    return task is not None and task.cancelling() > 0


def run_without_loop(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine that never waits, in this thread and without any loop, and in a copy of the context.

    What runs in it may start loops of its own, as synchronous code may.

    Raises:
        RuntimeError: The coroutine waits for something after all.
    """

    def drive() -> T:
        _is_sync.set(True)
        return finish_without_loop(make())

    return contextvars.copy_context().run(drive)


def finish_without_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits to its end, in this thread, this context and without any loop.

    Raises:
        RuntimeError: The coroutine waits for something after all.
    """
    try:
        coroutine.send(None)
    except StopIteration as end:
        return cast("T", end.value)
    coroutine.close()
    raise RuntimeError(f"{coroutine!r} waited, where nothing may wait: there is no event loop to wake it.")


def _run_kept(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run on the loop that this thread keeps (asyncio.Runner does the same for three times the cost)."""
    loop = _kept_loop()
    # The caller's own context must not learn that it is behind the door: other work in it is not.
    context = contextvars.copy_context()
    context.run(_is_sync.set, True)
    door = _Door()
    context.run(_door.set, door)
    door.task = task = loop.create_task(make(), context=context)
    try:
        return _completed(loop, task)
    except BaseException:
        if not task.done():  # Ctrl-C between two steps: the work is cancelled and awaited before it goes on up
            door.is_closing = True
            task.cancel()
            with contextlib.suppress(Exception, asyncio.CancelledError):  # whatever cleaning up raises, Ctrl-C wins
                loop.run_until_complete(task)
        raise


def _completed(loop: asyncio.AbstractEventLoop, task: asyncio.Task[T]) -> T:
    """What the task comes to, also where it stops the loop that it runs on: that one is ours."""
    while True:
        try:
            return loop.run_until_complete(task)
        except RuntimeError:
            if task.done() or loop.is_closed():
                raise


class _Kept:
    """A loop that is closed when nothing holds it any more: when its thread ends."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._process = os.getpid()

    def __del__(self) -> None:
        # A thread's local values die with it, which is the one notice that a library gets of a thread's end. A forked
        # child sees the end of all other threads, before any hook of its own runs.
        if os.getpid() != self._process:
            _inherited.append(self.loop)
        # A daemon thread may be at work in it when the interpreter ends.
        elif not self.loop.is_closed() and not self.loop.is_running():
            if not has_running_loop():  # the collector may come by in any thread
                self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.close()


class _KeptBackground:
    """A background loop that is stopped when nothing holds it any more: when the thread that it works for ends."""

    def __init__(self) -> None:
        self.background = BackgroundLoop()

    def __del__(self) -> None:
        self.background.stop()


_threads = threading.local()
_has_warned = False
_inherited: list[asyncio.AbstractEventLoop] = []
"""A parent's loops, kept in the child so that they are never closed there while they can reach into the parent's."""


def _kept_loop() -> asyncio.AbstractEventLoop:
    kept: _Kept | None = getattr(_threads, "kept", None)
    if kept is None or kept.loop.is_closed():
        kept = _threads.kept = _Kept()
    return kept.loop


def _background_loop() -> BackgroundLoop:
    """The background loop of this thread: callers that shared one could wait for one another on it."""
    kept: _KeptBackground | None = getattr(_threads, "background", None)
    if kept is None:
        kept = _threads.background = _KeptBackground()
    return kept.background


def _warn_once() -> None:
    """Say that a loop is blocked, and show the line of the host's that does so."""
    global _has_warned  # noqa: PLW0603 - said once a process; two threads that say it at once do no harm
    if not _has_warned:
        _has_warned = True
        caller = next(caller_frames())
        warnings.warn_explicit(
            "A synchronous call was made inside a running event loop, which is blocked until it ends. "
            "Await the asynchronous twin instead (ainvoke, astream, arun_tool_calls).",
            RuntimeWarning,
            caller.f_code.co_filename,
            caller.f_lineno,
            module=caller.f_globals.get("__name__"),
        )


class BackgroundLoop:
    """An event loop on a daemon thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.is_stopping = False
        self._thread = threading.Thread(target=self._serve, name="surehand-loop", daemon=True)
        self._thread.start()
        _backgrounds.add(self)

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        while not self.is_stopping:
            self._serve_until_stopped()
        with contextlib.suppress(RuntimeError):  # stopped a second time: by the end of its thread, and of the program
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()

    def _serve_until_stopped(self) -> None:
        """Serve until somebody stops the loop, a tool of the host's perhaps, or a task ends it by its exception."""
        with contextlib.suppress(KeyboardInterrupt, SystemExit):  # on its way to the task's caller too
            self.loop.run_forever()

    def run(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run the coroutine here, in the caller's context, while the caller waits."""
        result: Future[T] = Future()
        context = contextvars.copy_context()
        if has_running_loop():
            context.run(_blocked.set, (*_blocked.get(), asyncio.get_running_loop()))
        tasks: list[asyncio.Task[T]] = []

        def start() -> None:
            task = self.loop.create_task(_started(make), context=context)
            tasks.append(task)
            task.add_done_callback(lambda done: hand_over(done, result))

        # The task is made in the loop's own thread: loops are not safe to touch from others, but for this one method.
        self.loop.call_soon_threadsafe(start)
        try:
            return _waited_for(result)
        except BaseException:
            # Either the coroutine raised, or Ctrl-C struck this thread while it waited.
            if not result.done():  # nothing may go on unattended
                self.loop.call_soon_threadsafe(lambda: [task.cancel() for task in tasks])
            raise

    def stop(self) -> None:
        """Have the loop and its thread end as soon as nothing blocks them."""
        self.is_stopping = True
        with contextlib.suppress(RuntimeError):  # it is closed already
            self.loop.call_soon_threadsafe(self.loop.stop)

    def join(self, seconds: float) -> None:
        """Wait for its thread, but not for one that something blocks: it is a daemon."""
        self._thread.join(seconds)


_backgrounds: WeakSet[BackgroundLoop] = WeakSet()
_idle: list[BackgroundLoop] = []
"""Background loops that belong to no thread, and wait for somebody to borrow them."""
_MOST_IDLE: Final = 8


class Loan:
    """A background loop for as long as it is borrowed; from one thread after another, whichever they are."""

    def __init__(self, background: BackgroundLoop) -> None:
        self._background = background

    @property
    def is_over(self) -> bool:
        """Whether the program ends, and nothing can be run there any more."""
        return self._background.is_stopping

    def run(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine there to its end, as ``run_sync`` does; what it leaves running goes on there meanwhile."""
        if has_running_loop():
            _warn_once()
        served = served_here()
        with served.waiting() if served is not None else contextlib.nullcontext():
            return self._background.run(make)


@contextlib.contextmanager
def borrowed_loop() -> Generator[Loan, None, None]:
    """An event loop on a thread of its own, for work that goes on between the calls of whoever waits for it.

    The loop is kept for the next borrower, and so are the connections that belong to it.
    """
    try:
        background = _idle.pop()
    except IndexError:
        background = BackgroundLoop()
    try:
        yield Loan(background)
    finally:
        if len(_idle) < _MOST_IDLE and not background.is_stopping:
            _idle.append(background)
        else:
            background.stop()


def _waited_for(result: Future[T]) -> T:
    """The result; a caller that is cancelled meanwhile, as ``asyncio.run`` does on Ctrl-C, waits no longer."""
    if not has_running_loop():
        return result.result()
    caller = asyncio.current_task()
    before = 0 if caller is None else caller.cancelling()
    while not wait([result], timeout=_LOOK_SECONDS).done:
        if caller is not None and caller.cancelling() > before:
            raise asyncio.CancelledError
    return result.result()


def hand_over(task: asyncio.Task[T], result: Future[T]) -> None:
    """Give a task's end to whoever waits for it in another thread, unless he has stopped waiting."""
    if not result.set_running_or_notify_cancel():
        return
    if task.cancelled():
        result.set_exception(asyncio.CancelledError())
    elif (error := task.exception()) is not None:
        result.set_exception(error)
    else:
        result.set_result(task.result())


def _close_at_exit() -> None:
    _threads.__dict__.clear()
    _idle.clear()
    left = list(_backgrounds)
    for background in left:
        background.stop()
    until = time.monotonic() + _CLOSING_SECONDS
    for background in left:
        background.join(max(0.0, until - time.monotonic()))


def _forget_after_fork() -> None:
    """A child process shares its parent's selectors: it must make loops of its own."""
    global _threads, _backgrounds
    _inherited.extend(background.loop for background in _backgrounds)
    _threads, _backgrounds = threading.local(), WeakSet[BackgroundLoop]()  # its loops come to the inherited ones
    _idle.clear()
    for loop in _inherited:
        _cut_off(loop)


def _cut_off(loop: asyncio.AbstractEventLoop) -> None:
    """Give a parent's loop an epoll of the child's own.

    To close a loop is to take its file descriptors out of its epoll. The parent and the child have one and the same, so
    that the parent's loop would hear of nothing any more. Whoever keeps a loop from being closed in the child still
    loses to the end of the interpreter, which closes what is left.
    """
    selector = getattr(loop, "_selector", None)
    if sys.platform == "linux" and isinstance(selector, selectors.EpollSelector):  # a kqueue is not inherited
        with select.epoll() as own:
            os.dup2(own.fileno(), selector.fileno())


atexit.register(_close_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
