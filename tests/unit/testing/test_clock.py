"""A clock whose hours take milliseconds."""

from __future__ import annotations

import asyncio
import threading
import time
from contextvars import ContextVar
from pathlib import Path

import pytest

from support.programs import run_python
from surehand.errors import OptionError
from surehand.testing import FakeClock

REAL_SECONDS = 30.0
"""More than any of these tests may take; a wait that were real would take longer."""
variable: ContextVar[str] = ContextVar("variable", default="unset")


@pytest.fixture(autouse=True)
def _no_real_time() -> object:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < REAL_SECONDS


def _nothing() -> None:
    """Do nothing."""


def test_a_long_sleep_takes_no_real_time() -> None:
    clock = FakeClock()

    asyncio.run(clock.sleep(3600))

    assert clock.now() == 3600
    assert clock.sleeps == [3600]


def test_a_thread_may_wait_for_the_clock_too() -> None:
    clock = FakeClock()

    clock.block(3600)

    assert clock.now() == 3600


def test_blocking_waits_for_no_loop_even_inside_one() -> None:
    clock = FakeClock()

    async def main() -> None:
        clock.block(60)

    asyncio.run(main())
    assert clock.now() == 60


def test_sleepers_wake_in_the_order_of_their_times() -> None:
    clock = FakeClock()
    woken: list[tuple[str, float]] = []

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((name, clock.now()))

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            for name, seconds in (("late", 60.0), ("early", 1.0), ("middle", 30.0)):
                tasks.create_task(sleeper(name, seconds))

    asyncio.run(main())
    assert woken == [("early", 1.0), ("middle", 30.0), ("late", 60.0)]


def test_no_jump_while_something_happens() -> None:
    clock = FakeClock()

    async def main() -> float:
        timer = clock.call_later(10, _nothing)
        ends = time.monotonic() + 0.05
        while time.monotonic() < ends:  # noqa: ASYNC110 - a loop that is busy
            await asyncio.sleep(0)
        timer.cancel()
        return clock.now()

    assert asyncio.run(main()) == 0


def test_no_jump_while_a_thread_computes() -> None:
    clock = FakeClock()
    clock.call_later(10, _nothing)

    ends = time.monotonic() + 0.05
    while time.monotonic() < ends:
        sum(range(100))

    assert clock.now() == 0


def test_a_body_that_burns_its_core_keeps_the_clock_for_a_while_only() -> None:
    clock = FakeClock(autojump=0.001)
    rung = threading.Event()
    clock.call_later(10, rung.set)

    while not rung.is_set():
        pass

    assert clock.now() == 10


def test_the_threads_that_wait_meanwhile_do_not_draw_that_out() -> None:
    go_on = threading.Event()
    waiting = [threading.Thread(target=go_on.wait) for _ in range(100)]
    for thread in waiting:
        thread.start()
    try:
        clock = FakeClock(autojump=0.001)
        rung = threading.Event()
        clock.call_later(10, rung.set)
        began = time.process_time()
        while not rung.is_set():
            pass
    finally:
        go_on.set()
        for thread in waiting:
            thread.join()

    assert time.process_time() - began < 10


def test_a_timer_that_was_called_off_does_not_ring_and_moves_nothing() -> None:
    clock = FakeClock()
    rung: list[str] = []
    clock.call_later(5, lambda: rung.append("called off")).cancel()
    asyncio.run(clock.sleep(1))

    assert clock.now() == 1
    assert rung == []


STANDING_STILL = """
import os, subprocess, sys, time
from surehand import AIMessage, ToolNode, tool
from surehand.testing import FakeClock

@tool(timeout=10)
def work() -> str:
    "Compute for a moment."
    ends = time.process_time() + 0.2
    while time.process_time() < ends:
        pass
    return "done"

STOP = '''
import os, signal, sys, time
while os.getppid() == int(sys.argv[1]):
    os.kill(int(sys.argv[1]), signal.SIGSTOP)
    time.sleep(0.2)
    os.kill(int(sys.argv[1]), signal.SIGCONT)
    time.sleep(0.01)
'''
stopping = subprocess.Popen([sys.executable, "-c", STOP, str(os.getpid())])
turn = AIMessage(tool_calls=[{"id": "1", "name": "work", "args": {}}])
print(ToolNode([work], clock=FakeClock()).invoke([turn])[0].text)
stopping.kill()
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="a process cannot be made to stand still everywhere")
def test_the_clock_does_not_jump_while_the_machine_keeps_the_program_from_running(tmp_path: Path) -> None:
    done = run_python("-c", STANDING_STILL, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_calling_off_a_timer_that_is_on_its_way_to_its_loop_still_counts() -> None:
    clock = FakeClock(autojump=None)
    rung: list[str] = []

    async def main() -> None:
        timer = clock.call_later(1, lambda: rung.append("rung"))
        clock.advance(1)
        timer.cancel()
        await asyncio.sleep(0.01)

    asyncio.run(main())
    assert rung == []


def test_without_autojump_only_advance_moves_the_clock() -> None:
    clock = FakeClock(autojump=None)
    rung: list[float] = []

    def ring() -> None:
        rung.append(clock.now())

    for seconds in (3, 1, 2):
        clock.call_later(seconds, ring)
    clock.advance(2.5)

    assert rung == [1, 2]
    assert clock.now() == 2.5


def test_a_timer_set_by_a_timer_is_due_in_the_same_advance() -> None:
    clock = FakeClock(autojump=None)
    rung: list[float] = []
    clock.call_later(1, lambda: clock.call_later(1, lambda: rung.append(clock.now())))

    clock.advance(5)
    assert rung == [2]


def test_advance_wakes_a_loop_of_another_thread() -> None:
    clock = FakeClock(autojump=None)
    sleeps, woken = threading.Event(), threading.Event()

    async def main() -> None:
        asyncio.get_running_loop().call_soon(sleeps.set)
        await clock.sleep(10)
        woken.set()

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    assert sleeps.wait(20)
    clock.advance(10)
    assert woken.wait(20)
    thread.join()


def test_a_function_of_a_loop_is_called_in_it_and_in_the_callers_context() -> None:
    clock = FakeClock()

    async def main() -> tuple[int, str]:
        seen: asyncio.Future[tuple[int, str]] = asyncio.get_running_loop().create_future()
        variable.set("caller")
        clock.call_later(1, lambda: seen.set_result((threading.get_ident(), variable.get())))
        return await seen

    assert asyncio.run(main()) == (threading.get_ident(), "caller")


def test_what_is_due_at_once_does_not_wait_for_the_clock_to_move() -> None:
    clock = FakeClock(autojump=None)

    asyncio.run(clock.sleep(0))

    assert clock.now() == 0


def test_one_clock_serves_loops_on_several_threads() -> None:
    clock = FakeClock()
    woken: list[float] = []

    def use(seconds: float) -> None:
        asyncio.run(clock.sleep(seconds))
        woken.append(seconds)

    threads = [threading.Thread(target=use, args=(seconds,)) for seconds in (300.0, 100.0, 200.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(woken) == [100, 200, 300]
    assert clock.now() >= 300


def test_a_cancelled_sleeper_leaves_no_timer() -> None:
    clock = FakeClock(autojump=None)

    async def main() -> None:
        sleeper = asyncio.ensure_future(clock.sleep(10))
        await asyncio.sleep(0)
        sleeper.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sleeper

    asyncio.run(main())
    assert repr(clock) == "FakeClock(now=0, pending=0)"


def test_a_loop_that_has_ended_holds_up_no_jump() -> None:
    clock = FakeClock()

    async def leave_behind() -> None:
        clock.call_later(1, _nothing)

    asyncio.run(leave_behind())
    asyncio.run(clock.sleep(5))
    assert clock.now() == 5


def test_timers_that_were_called_off_take_no_room() -> None:
    clock = FakeClock(autojump=None)
    for _ in range(10_000):
        clock.call_later(300, _nothing).cancel()

    assert len(vars(clock)["_order"]) < 200


def test_ten_thousand_timers_ring_in_no_time() -> None:
    clock = FakeClock(autojump=None)
    rung: list[float] = []
    for number in range(10_000):
        clock.call_later(10_000 - number, lambda: rung.append(clock.now()))
    clock.advance(10_000)

    assert rung == sorted(rung)
    assert len(rung) == 10_000


@pytest.mark.parametrize("autojump", [0, -1, float("inf"), "soon"])
def test_a_senseless_autojump_is_refused(autojump: object) -> None:
    with pytest.raises(OptionError, match="autojump"):
        FakeClock(autojump=autojump)  # type: ignore[arg-type]


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_the_clock_never_goes_back(seconds: float) -> None:
    with pytest.raises(OptionError, match="seconds"):
        FakeClock().advance(seconds)
