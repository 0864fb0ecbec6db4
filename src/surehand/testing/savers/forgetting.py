"""Whether what is to be forgotten is, and nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from surehand.checkpoints import Checkpointer
from surehand.errors import CheckpointConflict, CheckpointError, OptionError
from surehand.testing.savers.scripts import (
    Script,
    call,
    change,
    expect,
    expect_equal,
    expect_raises,
    texts_of,
    write,
    writes_of,
)

__all__ = ["CHECKS"]


def _threads_are_listed_by_name(saver: Checkpointer) -> None:
    for name in ("b", "B", "é", "a b", "a", "😀", "\uffee"):
        Script(saver, name).steps(1)
    saver.save_call("only calls", call("k"), after=None)
    Script(saver, "only inside", "inside").steps(1)
    expected = sorted(["b", "B", "é", "a b", "a", "😀", "\uffee", "only calls", "only inside"])
    expect_equal("threads() gives each thread once, by the code points of its name", saver.threads(), expected)


def _a_thread_is_forgotten_whole(saver: Checkpointer) -> None:
    for thread in ("thread", "other"):
        script = Script(saver, thread)
        script.steps(2)
        saver.put_writes(thread, "", script.rows[0].id, [write("a")])
        Script(saver, thread, "inside").steps(1)
        saver.save_call(thread, call("k"), after=None)
    saver.delete_thread("thread")
    expect_equal("delete_thread() forgets checkpoints", (saver.load("thread"), saver.newest("thread")), (None, None))
    expect_equal("and those of inner namespaces", saver.history("thread", "inside"), [])
    expect_equal("and calls", saver.calls("thread"), [])
    expect_equal("delete_thread() leaves the others", saver.threads(), ["other"])
    other = (len(saver.history("other")), len(saver.history("other", "inside")), saver.calls("other"))
    expect_equal("and all of theirs", other, (2, 1, [call("k")]))
    again = Script(saver, "thread")
    again.put(change("messages", 1, "new"))
    expect_equal("a forgotten thread may begin anew", texts_of(saver), {"messages": ("new",)})
    expect_equal("without the writes it had", writes_of(saver, again.rows[0].id), ())
    expect_equal("and without its calls", saver.save_call("thread", call("k"), after=None), True)


def _dropped_namespaces_are_forgotten(saver: Checkpointer) -> None:
    spaces = ("1:0", "1:0/1:1", "1:0/1:1/2:0", "1:00", "1:0a", "1:1", "1")
    for space in spaces:
        Script(saver, "thread", space).steps(1)
        Script(saver, "other", space).steps(1)
    Script(saver).put(drop=["1:0", "nowhere"])
    left = [space for space in spaces if saver.newest("thread", space) is not None]
    expect_equal("put(drop=['1:0']) forgets '1:0' and what is below it", left, ["1:00", "1:0a", "1:1", "1"])
    others = [space for space in spaces if saver.newest("other", space) is not None]
    expect_equal("and nothing of another thread", others, list(spaces))
    again = Script(saver, "thread", "1:0")
    again.put(change("messages", 1, "new"))
    expect_equal("a dropped namespace may begin anew", saver.history("thread", "1:0"), again.rows)
    for namespace, drop in (("inside", "inside"), ("inside/9:9", "inside"), ("inside", "")):
        put = partial(saver.put, Script(saver, "thread", namespace).row(), [], after=None, drop=[drop])
        expect_raises(f"a checkpoint of {namespace!r} cannot drop {drop!r}", CheckpointError, put)


def _the_newest_stay(saver: Checkpointer) -> None:
    script = Script(saver)
    rows = script.steps(6)
    saver.put_writes("thread", "", rows[5].id, [write("a")])
    saver.save_call("thread", call("k"), after=None)
    Script(saver, "other").steps(6)
    expect_equal("prune(thread, keep=2) says how many it forgot", saver.prune("thread", keep=2), 4)
    expect_equal("prune(keep=2) keeps the two newest", saver.history("thread"), [rows[5], rows[4]])
    expect_equal("those remain whole", texts_of(saver)["messages"], tuple(f'"{number}"' for number in range(1, 7)))
    expect_equal("those remain whole, each", len(texts_of(saver, rows[4].id)["messages"]), 5)
    expect_equal("their writes stay", writes_of(saver, rows[5].id), (write("a"),))
    expect_equal("a forgotten checkpoint is not loaded", saver.load("thread", "", rows[3].id), None)
    late = partial(saver.put_writes, "thread", "", rows[0].id, [write("a")])
    expect_raises("nothing is written to a forgotten checkpoint", CheckpointConflict, late)
    expect_equal("calls stay", saver.calls("thread"), [call("k")])
    expect_equal("prune(thread) leaves other threads", len(saver.history("other")), 6)
    expect_equal("prune() of all threads forgets in each", saver.prune(keep=1), 1 + 5)
    expect_equal("prune() once more forgets nothing", saver.prune(), 0)
    script.put(change("messages", 7, '"7"', previous=6))
    expect_equal("a pruned thread goes on", len(texts_of(saver)["messages"]), 7)


def _only_the_old_go(saver: Checkpointer) -> None:
    now = time.time()  # noqa: TID251 - a time of day, as in a checkpoint
    script = Script(saver)
    for age in (5_000.0, 4_000.0, 300.0, 200.0, 100.0):
        script.steps(1, created_at=now - age)
    expect_equal("prune(older_than=10000) forgets nothing younger", saver.prune(older_than=10_000), 0)
    expect_equal(
        "prune(keep=4, older_than=1000): what is to stay by either stays", saver.prune(keep=4, older_than=1_000), 1
    )
    expect_equal("prune(older_than=1000) forgets the older ones", saver.prune("thread", older_than=1_000.5), 1)
    left = [row.number for row in saver.history("thread")]
    expect_equal("and no other", left, [5, 4, 3])
    expect_equal("the newest stays, however old", saver.prune(older_than=0), 2)
    expect_equal("and is whole", len(texts_of(saver)["messages"]), 5)
    for options in ({"keep": 0}, {"keep": -1}, {"keep": 1.5}, {"older_than": -1}, {"older_than": float("nan")}):
        expect_raises(f"prune({options}) is refused", OptionError, partial(_prune, saver, **options))


def _what_forks_need_stays(saver: Checkpointer) -> None:
    script = Script(saver)
    rows = script.steps(4)
    fork = script.row({"messages": 5}, parent=rows[0].id)
    saver.put(fork, [change("messages", 5, "fork", previous=1)], after=rows[3].id)
    script.rows.append(fork)
    saver.prune("thread", keep=2)
    expect_equal("a fork remains whole", texts_of(saver)["messages"], ('"1"', "fork"))
    expect_equal("what it was forked beside remains, too", len(texts_of(saver, rows[3].id)["messages"]), 4)
    saver.prune("thread", keep=1)
    expect_equal("also when the other branch is gone", texts_of(saver)["messages"], ('"1"', "fork"))


def _what_ran_inside_goes_with_its_step(saver: Checkpointer) -> None:
    outer = Script(saver)
    old, new = outer.steps(2)
    inner = Script(saver, "thread", f"{old.id}:0")
    (inner_old, *_) = inner.steps(2)
    Script(saver, "thread", f"{old.id}:0/{inner_old.id}:1").steps(2)
    Script(saver, "thread", f"{new.id}:0").steps(2)
    Script(saver, "thread", f"{old.id}1:0").steps(1)
    Script(saver, "other", f"{old.id}:0").steps(1)
    expect_equal("prune() counts what it forgets in inner namespaces", saver.prune("thread", keep=1), 1 + 2 + 2 + 1)
    left = {
        space: len(saver.history("thread", space))
        for space in (f"{old.id}:0", f"{old.id}:0/{inner_old.id}:1", f"{new.id}:0", f"{old.id}1:0")
    }
    expected = {f"{old.id}:0": 0, f"{old.id}:0/{inner_old.id}:1": 0, f"{new.id}:0": 1, f"{old.id}1:0": 1}
    expect_equal("what ran inside of a forgotten step is forgotten, and nothing else", left, expected)
    expect("another thread's stays", saver.newest("other", f"{old.id}:0"))


def _inner_namespaces_are_pruned_by_themselves(saver: Checkpointer) -> None:
    (step,) = Script(saver).steps(1)
    inner = Script(saver, "thread", f"{step.id}:0")
    (inner_old, _, inner_new) = inner.steps(3)
    Script(saver, "thread", f"{step.id}:0/{inner_old.id}:0").steps(1)
    Script(saver, "thread", f"{step.id}:0/{inner_new.id}:0").steps(1)
    expect_equal("prune() forgets in inner namespaces, and below them", saver.prune(keep=1), 2 + 1)
    expect_equal("the newest of each namespace stays", saver.history("thread", f"{step.id}:0"), [inner_new])
    expect("and what ran inside of its step", saver.newest("thread", f"{step.id}:0/{inner_new.id}:0"))


def _prune(saver: Checkpointer, **options: Any) -> object:
    return saver.prune(**options)


CHECKS: Final[tuple[Callable[[Checkpointer], None], ...]] = (
    _threads_are_listed_by_name,
    _a_thread_is_forgotten_whole,
    _dropped_namespaces_are_forgotten,
    _the_newest_stay,
    _only_the_old_go,
    _what_forks_need_stays,
    _what_ran_inside_goes_with_its_step,
    _inner_namespaces_are_pruned_by_themselves,
)
