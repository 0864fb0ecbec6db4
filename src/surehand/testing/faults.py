"""Faults to put into tools: what happens to them in production, at will, in a test.

    from surehand.testing import faults

    node = ToolNode([faults.hang().on(search), faults.flaky(2).on(pay)], clock=FakeClock())

A tool with a fault has the name, the schema and the options of the tool itself, so that everything else is as in
production. Each fault counts the calls of each tool on its own; retries count as calls, and a tool with a process of
its own begins anew in each.
"""

from __future__ import annotations

import asyncio
import copy
import itertools
import os
import random
import re
import signal
import threading
import time
import weakref
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, update_wrapper
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar, get_args

from surehand.errors import OptionError, ToolException
from surehand.policy import count, count_or_none
from surehand.policy import seconds as checked_seconds
from surehand.spec import Body
from surehand.testing.clock import FakeClock
from surehand.tools import BaseTool, as_tools

__all__ = [
    "GO_ON",
    "Fault",
    "Garbage",
    "Hang",
    "chaos",
    "die",
    "flaky",
    "garbage",
    "hang",
    "huge",
    "raises",
    "slow",
]

_T = TypeVar("_T", bound=BaseTool)

GO_ON: Final = object()
"""What a fault comes to that lets the call go on to the tool's own body."""

Strike: TypeAlias = Callable[[int], Any]
"""Called with the number of the call, from 1: raises, returns the result in place of the body's, or returns GO_ON."""
AsyncStrike: TypeAlias = Callable[[int], Awaitable[Any]]

Garbage: TypeAlias = Literal["surrogate", "nan", "cycle", "bytes", "unprintable", "class", "none"]
"""A result that is hard to send: text with half a character, NaN, a list that holds itself, bytes, an object whose
``repr`` fails, a class where its instance was meant, None."""


class Fault:
    """Something that goes wrong in a tool's body.

    Args:
        strike: What a call comes to; on a thread for synchronous tools.
        astrike: The same for asynchronous tools; None for a fault that does not wait.

    Example:
        odd = Fault(lambda number: "out of order" if number % 2 else GO_ON)
        ToolNode([odd.on(search)])
    """

    def __init__(self, strike: Strike, astrike: AsyncStrike | None = None) -> None:
        self.act = _Act(strike, astrike)
        """What it does to a call."""

    def check(self, tool: BaseTool) -> None:
        """Refuse a tool that the fault must not be put into; the most can take any."""

    def on(self, tool: _T) -> _T:
        """A copy of the tool with this fault; the tool itself stays whole."""
        numbers = itertools.count(1)
        act = self.act
        return _struck(tool, (self,), lambda _: (act, next(numbers)))


class _Act(NamedTuple):
    """What a fault does, without the fault: bodies that hang must not keep it."""

    strike: Strike
    astrike: AsyncStrike | None


_Draw: TypeAlias = Callable[[Callable[[], str]], tuple[_Act, int]]
"""What strikes a call, and the number that it is told; given a function that tells the arguments as text."""


def _struck(tool: _T, faults: tuple[Fault, ...], draw: _Draw) -> _T:
    """A copy of the tool with whatever is drawn for each call in front of its body."""
    if not isinstance(tool, BaseTool):  # pyright: ignore[reportUnnecessaryIsInstance] - tests are not always typed
        raise OptionError(option="tool", value=tool, expected="a tool", remedy="Make one of a function with @tool.")
    for fault in faults:
        fault.check(tool)
    struck = copy.copy(tool)
    struck.__dict__["_spec"] = replace(tool.spec, body=_broken(tool.spec.body, draw))
    # Faults end when nobody holds them any more, so the tools do.
    struck.__dict__["_faults"] = (*struck.__dict__.get("_faults", ()), *faults)
    return struck


def _broken(body: Body, draw: _Draw) -> Body:
    function = body.function
    injected = frozenset(injection.parameter for injection in body.injections)

    def broken(*args: Any, **kwargs: Any) -> Any:
        act, number = draw(partial(_as_text, injected, args, kwargs))
        result = act.strike(number)
        return function(*args, **kwargs) if result is GO_ON else result

    async def abroken(*args: Any, **kwargs: Any) -> Any:
        act, number = draw(partial(_as_text, injected, args, kwargs))
        result = act.strike(number) if act.astrike is None else await act.astrike(number)
        return await function(*args, **kwargs) if result is GO_ON else result

    # A process of its own finds a body by its name: that of the function, where the broken tool stands in its place.
    named = update_wrapper(abroken if body.is_async else broken, function, updated=())
    return replace(body, function=named)


def _as_text(injected: frozenset[str], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """The arguments in words that are the same in every process."""
    named = sorted((name, repr(value)) for name, value in kwargs.items() if name not in injected)
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr((args, named)))


def raises(error: BaseException | type[BaseException], *, times: int | None = None) -> Fault:
    """A body that raises.

    Args:
        error: What it raises: the same object each time, or a new one of the class.
        times: How many calls it raises in before it works; None for all.
    """
    last = count_or_none("times", times) or float("inf")

    def strike(number: int) -> Any:
        if number <= last:
            # One object that is raised often would otherwise carry every place it was raised at.
            raise error.with_traceback(None) if isinstance(error, BaseException) else error
        return GO_ON

    return Fault(strike)


def flaky(failures: int, error: BaseException | type[BaseException] | None = None) -> Fault:
    """A body that fails so many times, then works.

    Args:
        failures: How many calls fail.
        error: What they raise; None for a ToolException that says that nothing happened, so that any tool is retried.
    """
    return raises(error or ToolException("Busy just now.", retryable=True), times=failures)


class Hang(Fault):
    """A body that hangs until it is released, or until nobody holds its tools any more: until the test ends."""

    def __init__(self, *, ignores: int = 0) -> None:
        gate = _Gate(ignores)
        super().__init__(gate.block, gate.wait)
        self._gate = gate
        weakref.finalize(self, gate.forsake).atexit = False

    def release(self) -> None:
        """Let all bodies that hang go on, and those that come later through."""
        self._gate.open()


def hang(*, ignores: int = 0) -> Hang:
    """A body that hangs.

    A synchronous one blocks its thread, an asynchronous one awaits for ever. The thread is let go when the test drops
    the tool; what the body would have done does not happen then.

    Args:
        ignores: How many cancellations an asynchronous body swallows before it gives in. ``asyncio.run`` waits for one
            that never does.
    """
    return Hang(ignores=ignores)


class _Gate:
    """Where bodies hang."""

    def __init__(self, ignores: int) -> None:
        self._ignores = ignores
        self._opened = threading.Event()
        self._is_forsaken = False
        self._wake: set[Callable[[], object]] = set()

    def open(self) -> None:
        self._opened.set()
        for wake in tuple(self._wake):
            wake()

    def forsake(self) -> None:
        """Let the threads end, and nothing else happen."""
        self._is_forsaken = not self._opened.is_set()
        self._opened.set()

    def block(self, _: int) -> Any:
        self._opened.wait()
        if self._is_forsaken:
            raise TimeoutError("The body hung until the test was over.")
        return GO_ON

    async def wait(self, _: int) -> Any:
        for _ in range(self._ignores):
            try:
                return await self._released()
            except asyncio.CancelledError:  # as a body does that catches everything
                continue
        return await self._released()

    async def _released(self) -> Any:
        loop, released = asyncio.get_running_loop(), asyncio.Event()
        wake = partial(loop.call_soon_threadsafe, released.set)
        self._wake.add(wake)
        try:
            if not self._opened.is_set():
                await released.wait()
        finally:
            self._wake.discard(wake)
        return GO_ON


def slow(seconds: float, *, clock: FakeClock | None = None) -> Fault:
    """A body that waits before it does its work.

    Args:
        seconds: How long it waits.
        clock: The clock it waits by, the node's own; None for real time.
    """
    seconds = checked_seconds("seconds", seconds)

    def strike(_: int) -> Any:
        (time.sleep if clock is None else clock.block)(seconds)
        return GO_ON

    async def astrike(_: int) -> Any:
        await (asyncio.sleep if clock is None else clock.sleep)(seconds)
        return GO_ON

    return Fault(strike, astrike)


def huge(size: int) -> Fault:
    """A body that returns a text of so many characters."""
    count("size", size)
    return Fault(lambda _: "x" * size)


def garbage(*kinds: Garbage) -> Fault:
    """A body that returns what is hard to send.

    Args:
        kinds: What it returns, one after the other, over and over; none named means all of them.

    Raises:
        OptionError: A kind is unknown.
    """
    for kind in kinds:
        if kind not in _GARBAGE:
            raise OptionError(option="kinds", value=kind, expected=f"some of {', '.join(_GARBAGE)}")
    chosen = kinds or get_args(Garbage)
    return Fault(lambda number: _GARBAGE[chosen[(number - 1) % len(chosen)]]())


class _Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("this object has no words")


def _cycle() -> list[Any]:
    items: list[Any] = ["a list that holds itself"]
    items.append(items)
    return items


_GARBAGE: Final[Mapping[Garbage, Callable[[], Any]]] = {
    "surrogate": lambda: "half a character: \ud83d",
    "nan": lambda: {"price": float("nan"), "limit": float("inf")},
    "cycle": _cycle,
    "bytes": lambda: b"\x89PNG\x00\xff",
    "unprintable": _Unprintable,
    "class": lambda: Fault,
    "none": lambda: None,
}


class _Die(Fault):
    """The end of the process, for tools that have one of their own."""

    def __init__(self, how: Literal["exit", "kill"], *, force: bool) -> None:
        super().__init__(_exit if how == "exit" else _kill)
        self._force = force

    def check(self, tool: BaseTool) -> None:
        isolation = tool.spec.options.isolation
        if isolation != "process" and not self._force:
            raise OptionError(
                option="isolation",
                value=isolation,
                expected="'process' on a tool that is to die",
                remedy="It would end the whole program; give the tool isolation='process', or die force=True.",
            )


def die(how: Literal["exit", "kill"] = "kill", *, force: bool = False) -> Fault:
    """A body that ends its process at once, as a crash of native code or the system's memory killer does.

    A process finds a tool by its function's name in its module, so the broken tool has to stand there in its place:
    ``resize = faults.die().on(resize)``.

    Args:
        how: ``kill`` for SIGKILL, ``exit`` for ``os._exit``.
        force: Whether to take any tool, also one whose end is that of the whole program.

    Raises:
        OptionError: (from ``on``) The tool does not have ``isolation="process"``, and ``force`` is False.
    """
    return _Die(how, force=force)


def _exit(_: int) -> Any:
    os._exit(70)


def _kill(_: int) -> Any:
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


def chaos(
    tools: Iterable[Any], *, seed: int, rate: float = 0.2, faults: Sequence[Fault] | None = None
) -> list[BaseTool]:
    """The tools, with faults that strike some of their calls: for a whole node or agent.

    Whether a call is struck, and by what, follows from the seed, the tool's name, the arguments and how many times
    they came before, whatever else runs at the same time: the same seed gives the same run.

    Args:
        tools: Whatever a node takes.
        seed: Another number, another run.
        rate: The share of calls that are struck, from 0 to 1.
        faults: What may strike; None for exceptions, failures that may be retried, huge results and garbage.

    Raises:
        OptionError: ``rate`` is no share, or ``faults`` is empty.

    Example:
        @pytest.mark.parametrize("seed", range(20))
        def test_the_agent_gets_through(seed: int) -> None:
            agent = create_agent(model, chaos([search, pay], seed=seed))
    """
    if not 0 <= rate <= 1:
        raise OptionError(option="rate", value=rate, expected="a number from 0 to 1")
    chosen = _usual_faults() if faults is None else tuple(faults)
    if not chosen:
        raise OptionError(option="faults", value=faults, expected="at least one fault")
    return [_struck(tool, chosen, _lottery(f"{seed}/{tool.spec.name}", rate, chosen)) for tool in as_tools(tools)]


def _usual_faults() -> tuple[Fault, ...]:
    error = RuntimeError("chaos struck")
    return raises(error), flaky(1), huge(1_000_000), *map(garbage, get_args(Garbage))


def _lottery(seed: str, rate: float, faults: Sequence[Fault]) -> _Draw:
    acts = [fault.act for fault in faults]
    times: Counter[str] = Counter()
    lock = threading.Lock()

    def draw(as_text: Callable[[], str]) -> tuple[_Act, int]:
        arguments = as_text()
        with lock:
            times[arguments] += 1
            number = times[arguments]
        dice = random.Random(f"{seed}/{number}/{arguments}")  # noqa: S311 - guards nothing, and has to be repeatable
        return (dice.choice(acts) if dice.random() < rate else _NO_ACT), number

    return draw


def _go_on(_: int) -> Any:
    return GO_ON


_NO_ACT: Final = _Act(_go_on, None)
