"""A clock for tests: an hour on it passes in milliseconds.

Nothing waits for real. When all that is left to do is to wait, the clock jumps to the earliest moment somebody waits
for. The hard part is to know that: a loop can be asked whether it has work, but a synchronous body runs on a thread,
and Python does not say whether a thread computes or hangs. So the clock looks at the process from outside, over some
milliseconds: was the clock used, was processor time used, was the look itself on time, did the system give any thread
the word? Only if nothing of that is so, all others wait. What it cannot see is that a wait is real: for a network, a
file, another process, ``time.sleep``. Linux alone tells of its threads; a busy machine of another make may show calm
where a thread only lacks a core.
"""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple

from surehand.concurrency import Timer, has_running_loop, wake
from surehand.policy import seconds as checked_seconds
from surehand.policy import seconds_or_none

__all__ = ["FakeClock"]

_PATIENCE: Final = 200
"""After how many times ``autojump`` a clock jumps although something seems to happen: a hung body may burn its core."""
_BUSY_SHARE: Final = 0.3
"""The share of a time that a process at rest does not spend computing."""
_DEAD_WEIGHT: Final = 64
"""How many timers that were called off may be kept before they are cleared away."""
_NEVER: Final = float("inf")
_THREADS: Final = "/proc/self/task"
_READY: Final = (b"R", b"D")
"""The states of a thread that runs, could run, or waits for its memory."""
_SLACK_SECONDS: Final = 0.002
"""How late a look may be before it tells that the machine is too busy to judge by."""


class FakeClock:
    """Time that passes only where a test waits: give it as ``clock=`` to a node, and no timeout takes real time.

    When timers are pending and nothing has happened for a few real milliseconds, the clock jumps to the earliest of
    them. The timeout of a tool that hangs for ever, on a thread or on a loop, ends so, and the wait before a retry. One
    clock may be used on several loops and threads at once.

    Real waits are not seen. For tools that wait for a network, a file or a process give a longer ``autojump``, or give
    None and move the clock by ``advance``.

    Args:
        autojump: Real seconds without anything happening after which the clock jumps; None never jumps. In a program
            that is never at rest it jumps after 200 times as long; what it waits for its turn on a busy machine does
            not count.

    Raises:
        OptionError: ``autojump`` is neither None nor a number of seconds above 0.

    Example:
        clock = FakeClock()
        ToolNode([faults.hang().on(search)], clock=clock).invoke(state)  # answered as a timeout, at once
        assert clock.now() == 300
    """

    def __init__(self, *, autojump: float | None = 0.005) -> None:
        self.sleeps: list[float] = []
        """How long each ``sleep`` was to last, in seconds, in order: the waits between attempts, for one."""
        self._autojump = seconds_or_none("autojump", autojump)
        self._lock = threading.RLock()  # what is collected while it is held may call timers off
        self._now = 0.0
        self._timers: dict[int, _FakeTimer] = {}
        self._order: list[tuple[float, int]] = []
        self._made = 0
        self._uses = 0
        self._underway: set[_FakeTimer] = set()
        self._watcher: threading.Thread | None = None

    def now(self) -> float:
        """Seconds since the clock was made, all of them made up."""
        with self._lock:
            self._uses += 1
            return self._now

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has moved on by so much."""
        self.sleeps.append(seconds)
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self.call_later(seconds, partial(wake, woken))
        try:
            await woken
        finally:
            timer.cancel()

    def block(self, seconds: float) -> None:
        """Wait as ``sleep`` does, in synchronous code: the body of a tool, for one. It blocks its thread."""
        woken = threading.Event()
        self._set(None, seconds, woken.set)
        woken.wait()

    def call_later(self, seconds: float, act: Callable[[], object]) -> Timer:
        """Have the running loop call a function later; without a loop, whichever thread moves the clock calls it."""
        return self._set(asyncio.get_running_loop() if has_running_loop() else None, seconds, act)

    def _set(self, loop: asyncio.AbstractEventLoop | None, seconds: float, act: Callable[[], object]) -> _FakeTimer:
        timer = _FakeTimer(loop, act, forget=self._forget, arrive=self._arrive)
        if seconds <= 0:
            timer.ring()
            return timer
        with self._lock:
            self._uses += 1
            self._made += 1
            timer.number = self._made
            self._timers[timer.number] = timer
            heapq.heappush(self._order, (self._now + seconds, timer.number))
            self._see_to_jumps()
        return timer

    def advance(self, seconds: float) -> None:
        """Move the clock on; what was to happen meanwhile happens in the order of its time. Any thread may do so.

        Functions of a loop are handed to it and run when it comes to them, which is after this call where the loop runs
        in the same thread.

        Raises:
            OptionError: ``seconds`` is no number above 0.
        """
        self._move_to(self.now() + checked_seconds("seconds", seconds))

    def _move_to(self, moment: float) -> None:
        while (timer := self._next_due(moment)) is not None:
            timer.ring()
        with self._lock:
            self._now = max(self._now, moment)

    def _next_due(self, until: float) -> _FakeTimer | None:
        """The earliest timer up to then, taken out, with the clock at its moment; None without one."""
        with self._lock:
            if self._earliest() > until:
                return None
            moment, number = heapq.heappop(self._order)
            self._now = max(self._now, moment)
            timer = self._timers.pop(number)
            self._underway.add(timer)
            return timer

    def _earliest(self) -> float:
        """When the next timer is due; infinity without one. Those that were called off are dropped here."""
        while self._order and self._order[0][1] not in self._timers:
            heapq.heappop(self._order)
        return self._order[0][0] if self._order else _NEVER

    def _forget(self, timer: _FakeTimer) -> None:
        """Drop a timer that was called off."""
        with self._lock:
            self._uses += 1
            self._timers.pop(timer.number, None)
            if len(self._order) > _DEAD_WEIGHT + 2 * len(self._timers):
                self._order = [entry for entry in self._order if entry[1] in self._timers]
                heapq.heapify(self._order)

    def _arrive(self, timer: _FakeTimer) -> None:
        """Note that a loop has come to what was due."""
        with self._lock:
            self._uses += 1
            self._underway.discard(timer)

    def _see_to_jumps(self) -> None:
        if self._autojump is not None and self._watcher is None:
            watch = partial(self._jump_while_pending, self._autojump)
            self._watcher = threading.Thread(target=watch, name="surehand-fake-clock", daemon=True)
            self._watcher.start()

    def _jump_while_pending(self, autojump: float) -> None:
        task = str(threading.get_native_id())
        _watchers.add(task)
        try:
            while self._has_pending():
                self._jump(seen=_calm_state(self._state, autojump))
        finally:
            _watchers.discard(task)

    def _has_pending(self) -> bool:
        with self._lock:
            if not self._timers:
                self._watcher = None
            return bool(self._timers)

    def _state(self) -> _State:
        with self._lock:
            self._underway = {timer for timer in self._underway if timer.has_running_loop()}
            return _State(self._uses, bool(self._underway))

    def _jump(self, *, seen: _State) -> None:
        """Go to the earliest timer, unless something has happened since this state was seen."""
        with self._lock:
            moment = self._earliest() if self._uses == seen.uses else _NEVER
        if moment < _NEVER:
            self._move_to(moment)

    def __repr__(self) -> str:
        return f"FakeClock(now={self._now:g}, pending={len(self._timers)})"


class _State(NamedTuple):
    uses: int
    """How often the clock was used so far."""
    is_handing: bool
    """Whether a loop that is running has yet to come to what is due."""


class _FakeTimer:
    """Something that happens at a moment of a fake clock, unless it is called off."""

    __slots__ = ("_act", "_arrive", "_context", "_forget", "_is_over", "_loop", "number")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop | None,
        act: Callable[[], object],
        *,
        forget: Callable[[_FakeTimer], None],
        arrive: Callable[[_FakeTimer], None],
    ) -> None:
        self.number = 0
        """How many timers were made before: of two of the same moment the elder comes first."""
        self._act = act
        self._forget = forget
        self._arrive = arrive
        self._loop = loop
        self._context = contextvars.copy_context()
        self._is_over = False

    def cancel(self) -> None:
        """Call it off; once it has happened this does nothing."""
        self._is_over = True
        self._forget(self)

    def has_running_loop(self) -> bool:
        """Whether it happens on a loop, and that loop is running."""
        return self._loop is not None and self._loop.is_running()

    def ring(self) -> None:
        """Let it happen, on its loop if it has one."""
        if self._loop is None:
            self._context.run(self._happen)
            return
        with suppress(RuntimeError):  # the loop was closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._reach_loop, context=self._context)

    def _reach_loop(self) -> None:
        self._arrive(self)
        self._happen()

    def _happen(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._act()


def _calm_state(state: Callable[[], _State], autojump: float) -> _State:
    """Wait, for real, until nothing has happened for a while; the state in which that was so."""
    patience, charged = autojump * _PATIENCE, time.process_time()
    while True:
        before, turns, computed, began = state(), _turns_of_threads(), time.process_time(), time.monotonic()
        time.sleep(autojump)
        took, computed = time.monotonic() - began, time.process_time() - computed
        was_on_time = took <= autojump + _SLACK_SECONDS
        was_at_rest = computed <= took * _BUSY_SHARE
        is_calm = was_at_rest and not before.is_handing and state() == before and _turns_of_threads() == turns
        if was_on_time and is_calm:
            return before
        # While the machine is too busy to let this program run, nothing of it can happen, and no patience is lost. The
        # look itself counts: beside a body that burns its core, to ask a hundred threads takes a second.
        spent = time.process_time() - charged
        charged += spent
        patience -= max(took, spent) if was_on_time or is_calm else spent
        if patience < 0:
            return state()


def _turns_of_threads() -> list[tuple[str, object]]:
    """How often the system has let each thread run; a thread that could run is like no other time.

    A system without ``/proc`` does not say.
    """
    try:
        tasks = os.listdir(_THREADS)  # noqa: PTH208 - names, perhaps a thousand
    except OSError:
        return []
    return [(task, _turns(task)) for task in tasks if task not in _watchers]


_watchers: set[str] = set()
"""The threads that look whether others do something; they are no sign of anything."""


def _turns(task: str) -> object:
    try:
        _, _, state = _file(task, "stat").rpartition(b") ")
        *_, turns = _file(task, "schedstat").split()
    except OSError:  # it has just ended, or this system does not count
        return None
    return object() if state[:1] in _READY else turns


def _file(task: str, name: str) -> bytes:
    with open(f"{_THREADS}/{task}/{name}", "rb") as file:  # noqa: PTH123 - a path object costs more than the file
        return file.read()
