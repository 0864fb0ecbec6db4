"""Whether what is known of calls is written by one at a time, and kept in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final

from surehand.checkpoints import Checkpointer
from surehand.errors import CheckpointError
from surehand.testing.savers.scripts import ROUNDS, THREADS, call, expect_equal, expect_raises, side_by_side

__all__ = ["CHECKS"]


def _a_call_is_written_by_who_knows_its_row(saver: Checkpointer) -> None:
    begun, done = call("k"), call("k", 2, "done", '{"answer":1}')
    expect_equal("save_call(after=None) of a new call says True", saver.save_call("thread", begun, after=None), True)
    expect_equal("load_call() gives the row as it was saved", saver.load_call("thread", "k"), begun)
    again = saver.save_call("thread", call("k", text="again"), after=None)
    expect_equal("save_call(after=None) of a known call says False", again, False)
    expect_equal("and writes nothing", saver.load_call("thread", "k"), begun)
    expect_equal("save_call(after=1) says True", saver.save_call("thread", done, after=1), True)
    expect_equal("the new row takes the place of the old one", saver.load_call("thread", "k"), done)
    stale = saver.save_call("thread", call("k", 2, "failed"), after=1)
    expect_equal("save_call() after a row that is gone says False", stale, False)
    expect_equal("and writes nothing, too", saver.load_call("thread", "k"), done)
    early = saver.save_call("thread", call("new", 2), after=1)
    expect_equal("save_call(after=1) of an unknown call says False", early, False)
    expect_equal("and makes none", saver.load_call("thread", "new"), None)
    expect_equal("the same key of another thread is another call", saver.load_call("other", "k"), None)
    skip = partial(saver.save_call, "thread", call("k", 7), after=2)
    expect_raises("a version that does not come after the last is refused", CheckpointError, skip)


def _calls_are_given_as_they_were_begun(saver: Checkpointer) -> None:
    for key in ("z", "a", "m"):
        saver.save_call("thread", call(key), after=None)
    saver.save_call("thread", call("z", 2, "done"), after=1)
    saver.save_call("other", call("x"), after=None)
    expect_equal(
        "calls() gives all calls of a thread, in the order in which they were begun",
        saver.calls("thread"),
        [call("z", 2, "done"), call("a"), call("m")],
    )


def _of_many_that_write_a_call_one_wins(saver: Checkpointer) -> None:
    for version in range(1, ROUNDS + 1):
        rows = [call("k", version, text=f'"{index}"') for index in range(THREADS)]
        won = side_by_side([partial(saver.save_call, "thread", row, after=version - 1 or None) for row in rows])
        expect_equal("of many that write one version of a call, one is told True", Counter(won)[True], 1)
        expect_equal("its row is the one that holds", saver.load_call("thread", "k"), rows[won.index(True)])


def _many_calls_are_written_side_by_side(saver: Checkpointer) -> None:
    acts = [
        partial(saver.save_call, f"thread{index % 4}", call(f"key{number}"), after=None)
        for index in range(THREADS)
        for number in range(index * 10, index * 10 + 10)
    ]
    expect_equal("save_call() by many threads says True to each", Counter(side_by_side(acts))[True], len(acts))
    found = sum(len(saver.calls(f"thread{index}")) for index in range(4))
    expect_equal("all of their calls are there", found, len(acts))


CHECKS: Final[tuple[Callable[[Checkpointer], None], ...]] = (
    _a_call_is_written_by_who_knows_its_row,
    _calls_are_given_as_they_were_begun,
    _of_many_that_write_a_call_one_wins,
    _many_calls_are_written_side_by_side,
)
