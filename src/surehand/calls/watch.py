"""The time that an attempt may take, and the signs of life that a running body gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from surehand.concurrency import Clock, Timer

__all__ = ["Alarm", "OutOfTime", "Signs", "Watch"]

_NEVER: Final = float("inf")
_CLOSE_ENOUGH: Final = 0.001
"""A timer may ring this many seconds early, by the coarseness of clocks."""


class OutOfTime(Exception):
    """A body was given up, or stopped, because its time was over."""

    def __init__(self, seconds: float, *, is_idle: bool, is_still_running: bool) -> None:
        super().__init__(f"out of time after {seconds:g} seconds")
        self.seconds = seconds
        """The limit that was reached."""
        self.is_idle = is_idle
        """Whether it was the limit for the time without a sign of life."""
        self.is_still_running = is_still_running


class Signs:
    """What a running body lets know: that it is alive, and what it has produced so far.

    Bodies on threads give signs while the loop reads them: each is one assignment or one append, and needs no lock.
    """

    __slots__ = ("_now", "_report", "begun", "items", "last")

    def __init__(self, now: Callable[[], float], report: Callable[[Any], None]) -> None:
        self._now = now
        self._report = report
        self.items: list[Any] = []
        """What a generator has yielded."""
        self.last = -_NEVER
        """When the body last gave a sign, on the clock."""
        self.begun: float | None = None
        """When the body began, on the clock; None while it waits for a thread or a process."""

    def begin(self) -> None:
        """Say that the body begins now."""
        self.begun = self._now()

    def beat(self) -> None:
        """Say that the body is alive."""
        self.last = self._now()

    def progress(self, value: Any) -> None:
        """Tell whoever listens how far the body is."""
        self.beat()
        self._report(value)

    def silence(self) -> None:
        """Report nothing any more: the call is answered, whatever its body goes on to say."""
        self._report = _ignore

    def item(self, value: Any) -> None:
        """Take what a generator has yielded: a part of the result, and progress."""
        self.items.append(value)
        self.progress(value)


class Alarm:
    """One timer for all the bodies of a turn: most of them end long before their time, and a timer each costs more.

    So it is not called off when a body ends, and another one may be about to start, but when it is put away.
    """

    __slots__ = ("_clock", "_due", "_moment", "_timer")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._due: dict[Watch, float] = {}
        self._moment = _NEVER
        """When the timer rings, on the clock."""
        self._timer: Timer | None = None

    def set(self, watch: Watch, moment: float, now: float) -> None:
        """Have the watch ring at that moment."""
        self._due[watch] = moment
        if moment < self._moment:
            self._arm(moment, now)

    def clear(self, watch: Watch) -> None:
        """Have it ring no more."""
        self._due.pop(watch, None)

    def put_away(self) -> None:
        """Call the timer off, unless a body is left that nobody waits for and that may yet end."""
        if not self._due and self._timer is not None:
            self._timer.cancel()
            self._timer, self._moment = None, _NEVER

    def _arm(self, moment: float, now: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._moment = moment
        self._timer = self._clock.call_later(max(moment - now, 0.0), self._ring)

    def _ring(self) -> None:
        now = self._clock.now()
        self._timer, self._moment = None, _NEVER
        over = [watch for watch, moment in self._due.items() if moment - now <= _CLOSE_ENOUGH]
        for watch in over:
            del self._due[watch]
        if self._due:
            self._arm(min(self._due.values()), now)
        for watch in over:
            watch.ring(now)


class Watch:
    """Calls a function on the loop when a body's time is over: in all, or without a sign of life."""

    __slots__ = ("_alarm", "_clock", "_due", "_expire", "_grace", "_idle", "_limit", "_signs", "is_expired", "is_idle")

    def __init__(self, alarm: Alarm, clock: Clock, signs: Signs, *, limit: float | None, idle: float | None) -> None:
        self._alarm = alarm
        self._clock = clock
        self._signs = signs
        self._limit = _NEVER if limit is None else limit
        self._idle = _NEVER if idle is None else idle
        self._due = _NEVER
        self._grace: Timer | None = None
        self._expire: Callable[[], object] = _do_nothing
        self.is_expired = False
        self.is_idle = False
        """Whether the body gave no sign of life for too long."""

    def start(self) -> None:
        """Begin to count, on the running loop: the body starts now."""
        now = self._clock.now()
        self._due = now + self._limit
        self._signs.last = now
        self._set(now)

    def tells(self, expire: Callable[[], object]) -> None:
        """What to call when time is over."""
        self._expire = expire

    def stop(self) -> None:
        """Count no longer."""
        self._alarm.clear(self)
        if self._grace is not None:
            self._grace.cancel()

    def later(self, seconds: float, act: Callable[[], object]) -> None:
        """Call a function later, unless the watch is stopped before."""
        self._grace = self._clock.call_later(seconds, act)

    def out_of_time(self, *, is_still_running: bool) -> OutOfTime:
        """The exception that says so."""
        seconds = self._idle if self.is_idle else self._limit
        return OutOfTime(seconds, is_idle=self.is_idle, is_still_running=is_still_running)

    def ring(self, now: float) -> None:
        """Take note that a moment has come: time is over, unless the body gave a sign of life meanwhile."""
        if self._moment() - now > _CLOSE_ENOUGH:
            self._set(now)
            return
        self.is_idle = self._due - now > _CLOSE_ENOUGH
        self.is_expired = True
        self._expire()

    def _moment(self) -> float:
        return min(self._due, self._signs.last + self._idle)

    def _set(self, now: float) -> None:
        moment = self._moment()
        if moment < _NEVER:
            self._alarm.set(self, moment, now)


def _ignore(_: Any) -> None:
    """Report nothing."""


def _do_nothing() -> None:
    """Nobody has said yet what to do."""
