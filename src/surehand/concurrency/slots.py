"""Places to run in: so many at a time, whoever asks, from whatever loop or thread.

The locks of asyncio belong to one loop, and those of ``threading`` block it; a node is used from several loops at once.
Taking several semaphores one after the other deadlocks as soon as two callers take them in different orders, and holds
the places that it has while it waits for the next. Here all places of a call are one request: it is granted whole.

Who has to wait gets a ticket, and at every key the earliest ticket is served first. A request goes through its keys in
one order that holds for all, the narrowest first, and what it has come to on the way is kept for it: no cycle can
arise, nobody starves, and who waits for a lock on one file does not stand in the way of those who need nothing but a
place in the node. To grant by looking at all who wait would be simpler, and quadratic: ten thousand calls may wait.

Places also come back from where no lock may be waited for: the garbage collector ends a lost coroutine in the midst of
anything, also while this thread holds the lock. So what comes back is put down first, in a deque, and passed on by
whoever gets the lock without waiting; who holds it looks once more after letting go.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import os
import threading
from collections import deque
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol, Self
from weakref import WeakSet

from surehand.concurrency.doors import has_running_loop
from surehand.concurrency.workers import served_here

__all__ = ["Held", "Slots"]


class Slots:
    """Places under keys, shared by everybody who asks for them; a key exists while somebody holds it or waits for it.

    Safe to use from any number of threads and loops at once. In a thread without a running loop, waiting blocks it.

    Example:
        async with slots.hold({"group:db": 4, "file:/etc/hosts": 1}):
            ...  # at most four of the group are here, and nobody else with that file
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken: dict[Hashable, int] = {}
        self._lines: dict[Hashable, _Line] = {}
        """The keys of those who wait; each of their keys, not only the one they wait at."""
        self._returned: deque[Held] = deque()
        self._numbers = count()
        _all.add(self)

    def hold(self, places: Mapping[Any, int]) -> Held:
        """Ask for one place of every key; entering the answer takes them all, or waits until it can.

        Args:
            places: How many may hold the key at a time, by key. It is read again when the places are given back.

        Raises:
            ValueError: A capacity is below 1: when entered.
        """
        return Held(self, places)

    def __len__(self) -> int:
        """How many keys somebody holds or waits for."""
        with self._lock:
            return len(self._taken.keys() | self._lines.keys())

    def take_nowait(self, held: Held) -> bool:
        """Take the places if all are free and nobody waits for one of them."""
        taken, lines = self._taken, self._lines
        with self._lock:
            for key, capacity in held.places.items():
                if key in lines or taken.get(key, 0) >= capacity:
                    break
            else:
                for key in held.places:
                    taken[key] = taken.get(key, 0) + 1
                held.is_held = True
        if self._returned:
            self._settle()
        return held.is_held

    async def wait_for(self, held: Held) -> None:
        """Stand in line for the places and return with all of them.

        Raises:
            ValueError: A capacity is below 1, so that the wait would not end.
        """
        for key, capacity in held.places.items():
            if capacity < 1:
                raise ValueError(f"{key!r} has {capacity!r} places, expected at least 1: nobody could ever hold it.")
        bell: _Bell = _LoopBell() if has_running_loop() else _ThreadBell()
        with self._lock:
            self._line_up(held, bell)
        self._settle()
        if held.waiter is None:
            return
        try:
            await bell.wait()
        except BaseException:  # cancelled, or Ctrl-C; places that came in the same moment go back too
            self.give_back(held)
            raise

    def give_back(self, held: Held) -> None:
        """Give back what is held or what is waited for; nothing happens where it is neither. Never waits."""
        self._returned.append(held)
        self._settle()

    def forget(self) -> None:
        """Forget everybody: after a fork, those who held and waited are in the other process."""
        self._lock = threading.Lock()
        self._taken.clear()
        self._lines.clear()
        self._returned.clear()

    def _settle(self) -> None:
        """Pass on what was returned, unless another is at it, who then looks again after us."""
        while self._returned and self._lock.acquire(blocking=False):
            try:
                served = self._pass_on()
            finally:
                self._lock.release()
            for waiter in served:
                try:
                    waiter.bell.ring()
                except RuntimeError:  # its loop was closed meanwhile: nobody will come for the places
                    self.give_back(waiter.held)

    def _pass_on(self) -> list[_Waiter]:
        """Take the returned places back; those who have all of theirs through it."""
        lines = self._lines
        served: list[_Waiter] = []
        while self._returned:
            held = self._returned.popleft()
            if held.is_held:
                held.is_held = False
                for key in held.places:
                    self._untake(key)
                    if key in lines:
                        served += self._serve(key)
            elif held.waiter is not None:
                served += self._withdraw(held.waiter)
        return served

    def _untake(self, key: Hashable) -> None:
        left = self._taken.get(key, 1) - 1
        if left:
            self._taken[key] = left
        else:
            self._taken.pop(key, None)

    def _withdraw(self, waiter: _Waiter) -> list[_Waiter]:
        """Take out one who waits, with what was kept for it; those who have all their places through it."""
        waiter.held.waiter = None
        waiter.next_step.line.leave(waiter)
        self._unpin(waiter)
        for step in waiter.way[: waiter.reached]:
            self._untake(step.key)
        return [done for step in waiter.way[: waiter.reached + 1] for done in self._serve(step.key)]

    def _serve(self, key: Hashable) -> list[_Waiter]:
        """Let those go on who wait at a key, as far as its places go; those who then have all their places."""
        done: list[_Waiter] = []
        line = self._lines.get(key)
        while line is not None and (first := line.first()) and self._taken.get(key, 0) < first.next_step.capacity:
            heapq.heappop(line.waiting)
            if self._go_on(first):
                done.append(first)
        return done

    def _line_up(self, held: Held, bell: _Bell) -> None:
        lines: dict[Hashable, _Line] = {}
        for key, capacity in held.places.items():
            line = self._lines.get(key)
            if line is None:
                line = self._lines[key] = _Line(rank=(capacity, next(self._numbers)))
            line.involved += 1
            lines[key] = line
        way = [_Step(key, capacity, lines[key]) for key, capacity in held.places.items()]
        way.sort(key=lambda step: step.line.rank)
        held.waiter = _Waiter(next(self._numbers), held, bell, way)
        self._go_on(held.waiter)

    def _go_on(self, waiter: _Waiter) -> bool:
        """Take the places on a waiter's way until one is not to be had; whether it has come to the end."""
        for step in waiter.way[waiter.reached :]:
            first = step.line.first()
            if self._taken.get(step.key, 0) >= step.capacity or (first and first.ticket < waiter.ticket):
                heapq.heappush(step.line.waiting, (waiter.ticket, waiter))
                return False
            self._taken[step.key] = self._taken.get(step.key, 0) + 1
            waiter.reached += 1
        waiter.held.is_held = True
        waiter.held.waiter = None
        self._unpin(waiter)
        return True

    def _unpin(self, waiter: _Waiter) -> None:
        for step in waiter.way:
            step.line.involved -= 1
            if not step.line.involved:
                del self._lines[step.key]


class Held:
    """One place of each of some keys, between entering and leaving, or until ``release``. Entered once."""

    __slots__ = ("_slots", "is_held", "places", "waiter")

    def __init__(self, slots: Slots, places: Mapping[Any, int]) -> None:
        self._slots = slots
        self.places = places
        self.is_held = False
        """Whether the places are taken, by this request."""
        self.waiter: _Waiter | None = None
        """Where it stands in line; None for one that does not wait."""

    async def __aenter__(self) -> Self:
        if not self._slots.take_nowait(self):
            await self._slots.wait_for(self)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.is_held:
            self._slots.give_back(self)

    async def take(self) -> None:
        """Enter: take all the places as soon as they are to be had, and keep them until ``release``."""
        if not self._slots.take_nowait(self):
            await self._slots.wait_for(self)

    def release(self) -> None:
        """Give the places back, if they have not been yet; from any thread, and without waiting."""
        if self.is_held:
            self._slots.give_back(self)


class _Bell(Protocol):
    """How one who waits is told."""

    async def wait(self) -> None: ...

    def ring(self) -> None:
        """Tell, from any thread, once.

        Raises:
            RuntimeError: Nobody can be told any more.
        """
        ...


class _LoopBell:
    """For one who waits in a loop: another thread has to wake the loop up, a task of the same loop does not."""

    __slots__ = ("_loop", "_rung")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._rung: asyncio.Future[None] = self._loop.create_future()

    async def wait(self) -> None:
        await self._rung

    def ring(self) -> None:
        if has_running_loop() and asyncio.get_running_loop() is self._loop:
            self._ring_here()
        else:
            self._loop.call_soon_threadsafe(self._ring_here)

    def _ring_here(self) -> None:
        if not self._rung.done():  # cancelled in the same moment: the waiter gives its places back
            self._rung.set_result(None)


class _ThreadBell:
    """For one who waits without a loop, which blocks the thread."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    async def wait(self) -> None:
        served = served_here()
        with served.waiting() if served is not None else contextlib.nullcontext():
            self._lock.acquire()

    def ring(self) -> None:
        self._lock.release()


@dataclass(slots=True, eq=False)
class _Waiter:
    """A request that has to wait, and how far it has come."""

    ticket: int
    held: Held
    bell: _Bell
    way: list[_Step]
    """Its keys in the order that holds for all."""
    reached: int = 0
    """How many places on its way it has."""
    is_gone: bool = False

    @property
    def next_step(self) -> _Step:
        """What it waits for."""
        return self.way[self.reached]


@dataclass(slots=True, eq=False)
class _Step:
    """One key on a way."""

    key: Hashable
    capacity: int
    line: _Line


@dataclass(slots=True, eq=False)
class _Line:
    """Those who wait at one key, the earliest first.

    The rank is settled with the first who waits and holds until nobody does who needs the key: callers who name
    different capacities for one key must not go through their keys in different orders.
    """

    rank: tuple[int, int]
    involved: int = 0
    """How many waiters have the key on their way, wherever they stand."""
    waiting: list[tuple[int, _Waiter]] = field(default_factory=list["tuple[int, _Waiter]"])
    """A heap, in which those who left stay for a while."""
    gone: int = 0

    def first(self) -> _Waiter | None:
        """The earliest of those who still wait."""
        while self.waiting and self.waiting[0][1].is_gone:
            heapq.heappop(self.waiting)
            self.gone -= 1
        return self.waiting[0][1] if self.waiting else None

    def leave(self, waiter: _Waiter) -> None:
        """Take one out who stands here."""
        waiter.is_gone = True
        self.gone += 1
        if 2 * self.gone > len(self.waiting):
            self.waiting = [entry for entry in self.waiting if not entry[1].is_gone]
            heapq.heapify(self.waiting)
            self.gone = 0


_all: WeakSet[Slots] = WeakSet()


def _forget_after_fork() -> None:
    for slots in list(_all):
        slots.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
