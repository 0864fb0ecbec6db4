"""The door from synchronous code into the asynchronous implementation."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar

import pytest

from surehand import AIMessage, ToolMessage, ToolNode, tool
from surehand.concurrency import blocked_loops, borrowed_loop, doors, entered_by_sync_door, run_sync

variable: ContextVar[str] = ContextVar("variable", default="unset")


async def _value() -> str:
    await asyncio.sleep(0)
    return variable.get()


async def _thread() -> int:
    return threading.get_ident()


def _inside_a_loop() -> str:
    async def main() -> str:
        return run_sync(_value)

    return asyncio.run(main())


def test_without_a_loop_the_coroutine_runs_in_the_calling_thread() -> None:
    assert run_sync(_thread) == threading.get_ident()


def test_the_result_comes_back_and_the_callers_context_is_seen() -> None:
    variable.set("caller")

    assert run_sync(_value) == "caller"


def test_changes_of_context_do_not_come_back() -> None:
    variable.set("before")

    async def change() -> None:
        variable.set("inside")

    run_sync(change)
    assert variable.get() == "before"


@pytest.mark.filterwarnings("ignore:A synchronous call was made:RuntimeWarning")
def test_inside_a_running_loop_the_context_is_carried_to_the_background_loop() -> None:
    variable.set("notebook")

    assert _inside_a_loop() == "notebook"


def test_a_blocked_loop_is_warned_of_once() -> None:
    program = (
        "import asyncio\nfrom surehand.concurrency import run_sync\n"
        "async def inner(): return 1\n"
        "async def outer(): return run_sync(inner) + run_sync(inner)\n"
        "print(asyncio.run(outer()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", program], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout == "2\n"
    assert done.stderr.count("inside a running event loop") == 1


@pytest.mark.filterwarnings("ignore:A synchronous call was made:RuntimeWarning")
def test_doors_nest_to_any_depth() -> None:
    async def nested(depth: int) -> int:
        return depth if depth == 0 else 1 + run_sync(lambda: nested(depth - 1))

    assert run_sync(lambda: nested(4)) == 4


def test_the_coroutines_exception_comes_out_as_the_same_object() -> None:
    error = ValueError("mine")

    async def fail() -> None:
        raise error

    with pytest.raises(ValueError, match="mine") as caught:
        run_sync(fail)
    assert caught.value is error


def test_the_loop_is_kept_between_calls_of_one_thread() -> None:
    async def loop() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    assert run_sync(loop) is run_sync(loop)


def test_every_thread_has_a_loop_of_its_own() -> None:
    barrier = threading.Barrier(4)

    def use() -> int:
        barrier.wait()
        return run_sync(_thread)

    with ThreadPoolExecutor(4) as pool:
        uses = [pool.submit(use) for _ in range(4)]
    assert len({each.result() for each in uses}) == 4


def test_a_threads_loop_is_closed_when_the_thread_ends() -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    async def remember() -> None:
        loops.append(asyncio.get_running_loop())

    thread = threading.Thread(target=lambda: run_sync(remember))
    thread.start()
    thread.join()
    assert loops[0].is_closed()


def test_keyboard_interrupt_gets_through_and_the_next_call_works() -> None:
    async def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_sync(interrupt)
    assert run_sync(_thread) == threading.get_ident()


def test_code_can_tell_which_door_it_was_reached_through() -> None:
    async def through() -> bool:
        return entered_by_sync_door()

    assert run_sync(through) is True
    assert asyncio.run(through()) is False


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_makes_a_loop_of_its_own() -> None:
    run_sync(_thread)
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if run_sync(_value) == variable.get() else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert run_sync(_thread) == threading.get_ident()


_FORKS = """
import asyncio, os, threading
from surehand.concurrency.doors import run_sync

async def woken_from_a_thread():
    loop = asyncio.get_running_loop()
    woken = loop.create_future()
    threading.Timer(0.01, lambda: loop.call_soon_threadsafe(woken.set_result, None)).start()
    await woken

async def inside_a_loop():
    run_sync(woken_from_a_thread)

def work():
    enter()
    has_loop.set()
    forked.wait()
    enter()

enter = {"kept": lambda: run_sync(woken_from_a_thread), "background": lambda: asyncio.run(inside_a_loop())}[WHICH]
has_loop, forked = threading.Event(), threading.Event()
thread = threading.Thread(target=work, daemon=True)
thread.start()
has_loop.wait()
if (child := os.fork()) == 0:
    END
os.waitpid(child, 0)
forked.set()
enter()
thread.join(5)
os._exit(thread.is_alive())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("which", ["kept", "background"])
@pytest.mark.parametrize("end", ["os._exit(0)", "raise SystemExit(0)"])
def test_a_forked_child_that_ends_leaves_the_loops_of_all_threads_in_its_parent_alone(end: str, which: str) -> None:
    program = _FORKS.replace("END", end).replace("WHICH", repr(which))
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", program], timeout=20, check=False).returncode == 0


@pytest.mark.filterwarnings("ignore:A synchronous call was made:RuntimeWarning")
@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_what_ends_a_loop_comes_out_of_the_background_loop_which_serves_on(error: BaseException) -> None:
    async def leave() -> None:
        async def fail() -> None:
            raise error

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(fail())

    async def main() -> str:
        with pytest.raises(type(error)) as caught:
            run_sync(leave)
        assert caught.value is error
        return run_sync(_value)

    assert asyncio.run(main()) == variable.get()


def test_who_blocks_a_loop_is_shown_his_own_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surehand.concurrency.doors._has_warned", False)

    async def main() -> list[str]:
        return [run_sync(_value), run_sync(_value)]

    with pytest.warns(RuntimeWarning, match="Await the asynchronous twin") as told:
        asyncio.run(main())
    assert [warning.filename for warning in told] == [__file__]


async def _stopping() -> str:
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0)
    return "went on"


def test_who_stops_the_loop_behind_the_door_stops_nothing() -> None:
    assert [run_sync(_stopping), run_sync(_stopping), run_sync(_value)] == ["went on", "went on", variable.get()]


@pytest.mark.timeout(100)
@pytest.mark.filterwarnings("ignore:A synchronous call was made:RuntimeWarning")
def test_who_stops_a_background_loop_leaves_nobody_waiting_for_it() -> None:
    async def main() -> list[str]:
        return [run_sync(_stopping), run_sync(_stopping), run_sync(_value)]

    assert asyncio.run(main()) == ["went on", "went on", variable.get()]


def test_a_runtime_error_of_the_coroutine_comes_out_once() -> None:
    error, runs = RuntimeError("its own"), list[int]()

    async def fail() -> None:
        runs.append(1)
        raise error

    with pytest.raises(RuntimeError) as caught:
        run_sync(fail)
    assert (caught.value, runs) == (error, [1])


def test_keyboard_interrupt_gets_through_whatever_cleaning_up_raises() -> None:
    async def clumsy() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError("cleaning up failed")

    async def main() -> None:
        async def interrupt() -> None:
            raise KeyboardInterrupt

        task = asyncio.ensure_future(interrupt())
        await clumsy()
        await task

    with pytest.raises(KeyboardInterrupt):
        run_sync(main)


def test_the_program_ends_though_something_blocks_the_background_loop() -> None:
    program = """
import asyncio, threading, time, warnings
from surehand.concurrency import run_sync
warnings.simplefilter("ignore")
async def block():
    time.sleep(60)
def enter():
    async def main():
        run_sync(block)
    asyncio.run(main())
threading.Thread(target=enter, daemon=True).start()
time.sleep(0.1)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=20)


def test_a_daemon_thread_that_is_still_inside_leaves_nothing_to_read_at_the_end_of_the_program() -> None:
    program = """
import asyncio, threading, time
from surehand.concurrency import run_sync
threading.Thread(target=lambda: run_sync(lambda: asyncio.sleep(60)), daemon=True).start()
time.sleep(0.1)
"""
    ended = subprocess.run([sys.executable, "-c", program], check=True, timeout=20, capture_output=True, text=True)
    assert ended.stderr == ""


def test_keyboard_interrupt_reaches_a_blocked_caller_inside_asyncio_run() -> None:
    program = """
import asyncio, os, signal, threading, warnings
from surehand.concurrency import run_sync
warnings.simplefilter("ignore")
async def main():
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    run_sync(lambda: asyncio.sleep(60))
try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted", run_sync(lambda: asyncio.sleep(0, "and usable")))
"""
    ended = subprocess.run([sys.executable, "-c", program], check=True, timeout=20, capture_output=True, text=True)
    assert ended.stdout == "interrupted and usable\n"


def test_callers_in_loops_of_their_own_do_not_wait_for_one_another() -> None:
    @tool(concurrency=1, timeout=5)
    async def database() -> str:
        """Ask the database, which takes one question at a time."""
        await asyncio.sleep(0.05)
        return "rows"

    inner = ToolNode([database])

    @tool(timeout=5)
    async def ask() -> str:
        """Ask through a synchronous door, on the loop."""
        await asyncio.sleep(0.01)
        answers: list[ToolMessage] = inner.invoke([_call("database")])
        return str(answers[0].content)

    outer = ToolNode([ask])
    found: list[str] = []

    def caller(node: ToolNode, name: str) -> None:
        async def handler() -> None:
            found.append(str(node.invoke([_call(name)])[0].content))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            asyncio.run(handler())

    threads = [
        threading.Thread(target=caller, args=args, daemon=True) for args in ((inner, "database"), (outer, "ask"))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert found == ["rows", "rows"]


def test_the_background_loop_of_a_thread_ends_with_it() -> None:
    def serving() -> int:
        return sum(thread.name == "surehand-loop" for thread in threading.enumerate())

    async def handler() -> int:
        return run_sync(_one)

    def work() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            asyncio.run(handler())

    before = serving()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    until = time.monotonic() + 5
    while serving() > before and time.monotonic() < until:
        time.sleep(0.01)
    assert serving() <= before


def test_a_borrowed_loop_goes_on_between_two_calls() -> None:
    ticks: list[int] = []

    async def tick() -> None:
        while True:
            ticks.append(1)
            await asyncio.sleep(0)

    async def start() -> asyncio.Task[None]:
        return asyncio.ensure_future(tick())

    async def end() -> None:
        running.cancel()
        await asyncio.wait([running])

    with borrowed_loop() as loop:
        running = loop.run(start)
        before = len(ticks)
        until = time.monotonic() + 5
        while len(ticks) == before and time.monotonic() < until:
            time.sleep(0.001)
        loop.run(end)
    assert len(ticks) > before


def test_a_borrowed_loop_may_be_used_from_any_thread_and_is_kept_for_the_next() -> None:
    with borrowed_loop() as loop, ThreadPoolExecutor(3) as pool:
        threads = {pool.submit(loop.run, _thread).result() for _ in range(3)}
    with borrowed_loop() as other:
        assert {other.run(_thread)} == threads


def test_loops_that_are_borrowed_at_a_time_are_different_ones() -> None:
    with borrowed_loop() as one, borrowed_loop() as other:
        assert one.run(_thread) != other.run(_thread)


def test_work_on_a_borrowed_loop_sees_the_context_of_its_caller_and_gives_back_what_it_raises() -> None:
    async def fail() -> None:
        raise LookupError(variable.get())

    variable.set("here")
    with borrowed_loop() as loop, pytest.raises(LookupError, match="here"):
        loop.run(fail)


def test_code_behind_the_door_knows_which_loops_it_holds_up() -> None:
    async def blocked() -> bool:
        around = asyncio.get_running_loop()

        async def inside() -> bool:
            return around in blocked_loops() and asyncio.get_running_loop() not in blocked_loops()

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return run_sync(inside) and not blocked_loops()

    assert asyncio.run(blocked())
    assert blocked_loops() == ()


async def _one() -> int:
    return 1


def _call(name: str) -> AIMessage:
    return AIMessage(tool_calls=[{"id": "c", "name": name, "args": {}}])


def test_a_background_loop_that_is_stopped_twice_ends_quietly(capfd: pytest.CaptureFixture[str]) -> None:
    with borrowed_loop() as loan:
        background = loan._background  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - what stops it is private
        loan.run(_value)

        def stop_twice() -> None:
            background.stop()
            background.stop()

        background.loop.call_soon_threadsafe(stop_twice)
        background.join(5)
    assert capfd.readouterr().err == ""
    assert background.loop.is_closed()


def test_a_kept_loop_may_be_collected_where_another_loop_runs() -> None:
    kept: list[object] = []

    def work() -> None:
        run_sync(_value)
        kept.append(vars(doors._threads)["kept"])  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - nobody else holds it

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    loop: asyncio.AbstractEventLoop = vars(kept[0])["loop"]

    async def collect() -> None:
        kept.clear()
        gc.collect()

    asyncio.run(collect())
    assert loop.is_closed()
