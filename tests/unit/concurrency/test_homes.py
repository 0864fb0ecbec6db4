"""A loop that many use, from any thread and any loop."""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import CancelledError

import pytest

from surehand.concurrency import Home


async def here() -> str:
    await asyncio.sleep(0)
    return threading.current_thread().name


def test_what_threads_and_loops_hand_in_runs_in_one_place() -> None:
    home = Home()
    names = {home.run(here), asyncio.run(home.arun(here)), home.begin(here).result(5)}
    assert len(names) == 1
    assert names != {threading.current_thread().name}
    home.stop()


def test_the_exception_comes_out_as_it_is() -> None:
    home, error = Home(), ValueError("no")

    async def fail() -> None:
        raise error

    with pytest.raises(ValueError, match="no") as caught:
        asyncio.run(home.arun(fail))
    assert caught.value is error
    home.stop()


def test_a_caller_that_is_cancelled_cancels_what_he_waits_for() -> None:
    home, begun, cancelled = Home(), threading.Event(), threading.Event()

    async def hang() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async def main() -> None:
        task = asyncio.create_task(home.arun(hang))
        await asyncio.to_thread(begun.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert cancelled.wait(5)
    home.stop()


def test_nobody_waits_for_what_a_stopped_home_was_doing() -> None:
    home = Home()
    hanging = home.begin(lambda: asyncio.sleep(60))
    home.begin(here).result(5)
    home.stop()
    with pytest.raises((CancelledError, asyncio.CancelledError)):
        hanging.result(5)
    assert home.is_gone


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_has_no_home() -> None:
    home = Home()
    home.run(here)
    child = os.fork()
    if not child:
        os._exit(0 if home.is_gone else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not home.is_gone
    home.stop()
