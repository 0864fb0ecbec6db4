"""Whether a closed checkpointer says so, and what it kept outlives it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from surehand.checkpoints import Checkpointer
from surehand.errors import CheckpointConflict, StoreError
from surehand.testing.savers.scripts import (
    Script,
    call,
    expect,
    expect_equal,
    expect_raises,
    texts_of,
    write,
    writes_of,
)

__all__ = ["CHECKS", "what_was_put_outlives_the_saver"]


def _a_saver_that_is_closed_says_so(saver: Checkpointer) -> None:
    (first,) = Script(saver).steps(1)
    saver.close()
    saver.close()
    acts: dict[str, Callable[[], object]] = {
        "put": partial(saver.put, Script(saver).row(), [], after=None),
        "put_writes": partial(saver.put_writes, "thread", "", first.id, [write("a")]),
        "load": partial(saver.load, "thread"),
        "newest": partial(saver.newest, "thread"),
        "history": partial(saver.history, "thread"),
        "save_call": partial(saver.save_call, "thread", call("k"), after=None),
        "load_call": partial(saver.load_call, "thread", "k"),
        "calls": partial(saver.calls, "thread"),
        "threads": saver.threads,
        "delete_thread": partial(saver.delete_thread, "thread"),
        "prune": saver.prune,
    }
    for name, act in acts.items():
        expect_raises(f"{name}() of a closed saver is refused", StoreError, act)


def _leaving_a_with_closes(saver: Checkpointer) -> None:
    with saver as entered:
        expect("with gives the saver itself", entered is saver)
        Script(saver).steps(1)
    expect_raises("a saver is closed when its with is left", StoreError, saver.threads)


def what_was_put_outlives_the_saver(saver: Checkpointer, reopen: Callable[[Checkpointer], Checkpointer]) -> None:
    """Check what a saver holds that is opened on the storage of one that was closed."""
    script = Script(saver)
    rows = script.steps(3)
    saver.put_writes("thread", "", rows[2].id, [write("", "run")], is_claim=True)
    for key in ("b", "a"):
        saver.save_call("thread", call(key), after=None)
    saver.close()
    with reopen(saver) as opened:
        expect_equal("checkpoints outlive the saver", opened.history("thread"), rows[::-1])
        expect_equal("their texts do", texts_of(opened)["messages"], ('"1"', '"2"', '"3"'))
        expect_equal("their writes do", writes_of(opened, rows[2].id), (write("", "run"),))
        expect_equal("calls do, in their order", opened.calls("thread"), [call("b"), call("a")])
        expect_equal("a call is taken only once, also then", opened.save_call("thread", call("b"), after=None), False)
        claim = partial(opened.put_writes, "thread", "", rows[2].id, [write("", "run")], is_claim=True)
        expect_raises("a claim is granted only once, also then", CheckpointConflict, claim)
        put = partial(opened.put, script.row(), [], after=rows[0].id)
        expect_raises("a conflict is one, also then", CheckpointConflict, put)
        opened.put(script.row(), [], after=rows[2].id)
        opened.delete_thread("thread")
    with reopen(saver) as opened:
        expect_equal("what was forgotten stays so", opened.threads(), [])
        expect_equal("and calls do", opened.calls("thread"), [])


CHECKS: Final[tuple[Callable[[Checkpointer], None], ...]] = (
    _a_saver_that_is_closed_says_so,
    _leaving_a_with_closes,
)
