"""Whether the awaited methods do what the others do, side by side, on several loops, and when they are cancelled."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

from surehand.checkpoints import Checkpointer
from surehand.concurrency import run_sync
from surehand.errors import CheckpointConflict, CheckpointError, OptionError, StoreError
from surehand.testing.savers.scripts import (
    PATIENCE,
    ROUNDS,
    THREADS,
    Script,
    call,
    change,
    expect,
    expect_equal,
    expect_raises,
    side_by_side,
    texts_of,
    write,
    writes_of,
)

__all__ = ["CHECKS"]

_MANY: Final = 100


async def _awaited_checkpoints(saver: Checkpointer) -> None:
    script = Script(saver)
    first = script.row({"a": 1})
    await saver.aput(first, [change("a", 1, "1")], after=None)
    script.rows.append(first)
    second = script.row({"a": 2})
    await saver.aput(second, [change("a", 2, "2", previous=1)], after=first.id)
    await saver.aput_writes("thread", "", second.id, [write("b"), write("a")])
    loaded = await saver.aload("thread")
    expect_equal("aload() gives what load() gives", loaded, saver.load("thread"))
    expect_equal("aload() gives the texts", loaded and dict(loaded.channels), {"a": ("1", "2")})
    expect_equal("aload() gives the writes", loaded and loaded.writes, (write("a"), write("b")))
    older = await saver.aload("thread", "", first.id)
    expect_equal("aload() finds a checkpoint by its id", older and older.row, first)
    expect_equal("aload() of an unknown checkpoint gives None", await saver.aload("thread", "inside"), None)
    expect_equal("anewest() gives the newest", await saver.anewest("thread"), second)
    expect_equal("ahistory() gives all", await saver.ahistory("thread"), [second, first])
    expect_equal("ahistory() gives a part", await saver.ahistory("thread", before=2, limit=1), [first])


async def _awaited_calls(saver: Checkpointer) -> None:
    expect_equal("asave_call() of a new call says True", await saver.asave_call("thread", call("k"), after=None), True)
    expect_equal(
        "asave_call() of a known one says False", await saver.asave_call("thread", call("k"), after=None), False
    )
    done = call("k", 2, "done")
    expect_equal("asave_call() after it says True", await saver.asave_call("thread", done, after=1), True)
    expect_equal("aload_call() gives the row", await saver.aload_call("thread", "k"), done)
    expect_equal("acalls() gives all", await saver.acalls("thread"), [done])
    expect_equal("athreads() gives all", await saver.athreads(), ["thread"])


async def _awaited_forgetting(saver: Checkpointer) -> None:
    Script(saver).steps(4)
    Script(saver, "other").steps(4)
    expect_equal("aprune(thread, keep=) says how many", await saver.aprune("thread", keep=3), 1)
    expect_equal("aprune(older_than=) heeds it", await saver.aprune(older_than=10**10), 0)
    expect_equal("aprune() forgets in all threads", await saver.aprune(), 2 + 3)
    await saver.adelete_thread("other")
    expect_equal("adelete_thread() forgets it", await saver.athreads(), ["thread"])


async def _awaited_refusals(saver: Checkpointer) -> None:
    first, second = Script(saver).steps(2)
    late = Script(saver).row()
    await _refused("a conflict", CheckpointConflict, saver.aput(late, [], after=first.id))
    await _refused("a number that is not the next", CheckpointError, saver.aput(late, [], after=second.id))
    await saver.aput_writes("thread", "", second.id, [write("", "run")], is_claim=True)
    again = saver.aput_writes("thread", "", second.id, [write("", "run")], is_claim=True)
    await _refused("a claim of what is claimed", CheckpointConflict, again)
    await _refused("a text that is none", CheckpointError, saver.asave_call("thread", call("a\0"), after=None))
    await _refused("keep=0", OptionError, saver.aprune(keep=0))
    expect_equal("what was refused does not hold", await saver.anewest("thread"), second)


async def _awaited_side_by_side(saver: Checkpointer) -> None:
    async with asyncio.TaskGroup() as group:
        saved = [group.create_task(saver.asave_call("thread", call(f"k{n}"), after=None)) for n in range(_MANY)]
        raced = [
            group.create_task(saver.asave_call("thread", call("race", text=f"{n}"), after=None)) for n in range(_MANY)
        ]
        claimed = Script(saver, "claims").steps(1)[0].id
        claims = [group.create_task(_has_claimed(saver, claimed)) for _ in range(_MANY)]
    expect_equal("asave_call() side by side says True to each", Counter(task.result() for task in saved)[True], _MANY)
    expect_equal("of those that save one call, one is told True", Counter(task.result() for task in raced)[True], 1)
    expect_equal("of those that claim one row, one succeeds", Counter(task.result() for task in claims)[True], 1)
    expect_equal("all calls are there", len(await saver.acalls("thread")), _MANY + 1)


async def _cancelled(saver: Checkpointer) -> None:
    script = Script(saver)
    script.steps(1)
    for round_ in range(4 * ROUNDS):
        number = len(script.rows) + 1
        row = script.row({"messages": number})
        changes = [change("messages", number, f'"{number}"', previous=number - 1)]
        async with asyncio.TaskGroup() as group:
            beside = group.create_task(saver.asave_call("thread", call(f"k{round_}"), after=None))
            task = group.create_task(saver.aput(row, changes, after=script.newest_id))
            for _ in range(round_ % ROUNDS):  # sooner or later in its course
                await asyncio.sleep(0)
            task.cancel()
        expect_equal("who is beside one that is cancelled gets its answer", beside.result(), True)
        newest = await saver.anewest("thread")
        expect("a cancelled aput() holds, or does not", newest in (row, script.rows[-1]))
        if newest == row:
            script.rows.append(row)
        whole = tuple(f'"{number}"' for number in range(1, len(script.rows) + 1))
        expect_equal("and is whole", texts_of(saver)["messages"], whole)


def _awaited_methods_do_what_the_others_do(saver: Checkpointer) -> None:
    for number, check in enumerate((_awaited_calls, _awaited_checkpoints, _awaited_refusals, _awaited_forgetting)):
        run_sync(partial(check, saver))
        for thread in saver.threads():
            saver.delete_thread(thread)
        expect_equal(f"nothing is left of check {number}", saver.threads(), [])


def _many_may_await_at_a_time(saver: Checkpointer) -> None:
    run_sync(partial(_awaited_side_by_side, saver))


def _a_cancelled_await_leaves_it_whole(saver: Checkpointer) -> None:
    run_sync(partial(_cancelled, saver))


def _several_loops_may_await_at_a_time(saver: Checkpointer) -> None:
    (first,) = Script(saver).steps(1)

    async def work(loop: int) -> None:
        for number in range(ROUNDS):
            await saver.asave_call("thread", call(f"{loop}.{number}"), after=None)
            await saver.aput_writes("thread", "", first.id, [write(f"{loop}", number=number)])
            expect("anewest() finds it on each loop", await saver.anewest("thread") == first)

    side_by_side([partial(_run_to_its_end, partial(work, loop)) for loop in range(THREADS)])
    expect_equal("what several loops wrote is there", len(saver.calls("thread")), THREADS * ROUNDS)
    expect_equal("all of it", len(writes_of(saver, first.id)), THREADS * ROUNDS)


def _a_loop_that_ends_takes_nothing_with_it(saver: Checkpointer) -> None:
    for number in range(ROUNDS):
        side_by_side([partial(_run_to_its_end, partial(_saved_and_left, saver, number))])
    saver.save_call("thread", call("last"), after=None)
    keys = [row.key for row in saver.calls("thread")]
    expect("what was awaited is there", {f"k{number}" for number in range(ROUNDS)} <= set(keys))
    expect_equal("and what came after", keys[-1], "last")


def _run_to_its_end(make: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run it on a loop of this thread, which is closed then; one that hangs is a broken promise."""

    async def run() -> None:
        async with asyncio.timeout(PATIENCE):
            await make()

    with asyncio.Runner() as runner:
        runner.run(run())


async def _saved_and_left(saver: Checkpointer, number: int) -> None:
    await saver.asave_call("thread", call(f"k{number}"), after=None)
    left = asyncio.get_running_loop().create_task(saver.asave_call("thread", call(f"left{number}"), after=None))
    await asyncio.sleep(0)
    left.cancel()


def _leaving_an_async_with_closes(saver: Checkpointer) -> None:
    async def enter() -> None:
        async with saver as entered:
            expect("async with gives the saver itself", entered is saver)
            await saver.asave_call("thread", call("k"), after=None)
        await saver.aclose()
        await _refused("a closed saver", StoreError, saver.aload("thread"))

    run_sync(enter)
    expect_raises("a saver is closed when its async with is left", StoreError, saver.threads)


async def _refused(name: str, kind: type[Exception], waiting: Coroutine[Any, Any, object]) -> None:
    try:
        got = await waiting
    except kind:
        return
    raise AssertionError(f"{name} is refused when it is awaited: expected {kind.__name__}, got {got!r}.")


async def _has_claimed(saver: Checkpointer, checkpoint_id: str) -> bool:
    try:
        await saver.aput_writes("claims", "", checkpoint_id, [write("", "run")], is_claim=True)
    except CheckpointConflict:
        return False
    return True


CHECKS: Final[tuple[Callable[[Checkpointer], None], ...]] = (
    _awaited_methods_do_what_the_others_do,
    _many_may_await_at_a_time,
    _a_cancelled_await_leaves_it_whole,
    _several_loops_may_await_at_a_time,
    _a_loop_that_ends_takes_nothing_with_it,
    _leaving_an_async_with_closes,
)
