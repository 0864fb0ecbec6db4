"""Whether a checkpointer gives back what it was given."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from surehand.checkpoints import Checkpointer
from surehand.errors import OptionError
from surehand.testing.savers.scripts import Script, change, expect_equal, expect_raises, row_of, texts_of

__all__ = ["CHECKS"]


def _an_empty_saver_holds_nothing(saver: Checkpointer) -> None:
    expect_equal("load() of an unknown thread gives None", saver.load("nobody"), None)
    expect_equal("load() of an unknown checkpoint gives None", saver.load("nobody", "", "1"), None)
    expect_equal("newest() of an unknown thread gives None", saver.newest("nobody"), None)
    expect_equal("history() of an unknown thread is empty", saver.history("nobody"), [])
    expect_equal("load_call() of an unknown call gives None", saver.load_call("nobody", "key"), None)
    expect_equal("calls() of an unknown thread is empty", saver.calls("nobody"), [])
    expect_equal("delete_thread() of an unknown thread does nothing", saver.delete_thread("nobody"), None)
    expect_equal("prune() forgets nothing where there is nothing", saver.prune(keep=1), 0)
    expect_equal("threads() is empty in a new saver; reading makes no thread", saver.threads(), [])


def _a_checkpoint_comes_back_as_it_was_put(saver: Checkpointer) -> None:
    script = Script(saver)
    row = script.put(change("messages", 1, '["hi"]'), change("plan", 1, "null"))
    loaded = saver.load("thread")
    if loaded is None:
        raise AssertionError("load() gives the newest checkpoint: got None.")
    expect_equal("load() gives the row as it was put", loaded.row, row)
    expect_equal(
        "load() gives the texts of each key", dict(loaded.channels), {"messages": ('["hi"]',), "plan": ("null",)}
    )
    expect_equal("load() gives no writes where there are none", loaded.writes, ())
    expect_equal("newest() gives the row as it was put", saver.newest("thread"), row)
    expect_equal("a checkpoint of another namespace is not found", saver.load("thread", "inside"), None)
    expect_equal("a checkpoint of another thread is not found", saver.load("thread2"), None)
    bare = script.put(keep=["messages"])
    expect_equal("a key that a checkpoint does not name is not loaded", texts_of(saver), {"messages": ('["hi"]',)})
    expect_equal("load() without an id gives the newest one", saver.newest("thread"), bare)


def _chains_lead_back_to_where_they_began(saver: Checkpointer) -> None:
    script = Script(saver)
    script.put(change("a", 1, "a1"), change("b", 1, "b1"))
    script.put(change("a", 2, "a2", previous=1))
    script.put(change("a", 3, "a3", previous=2), change("b", 3, "b3", previous=1))
    expect_equal(
        "load() gives the texts of a chain of versions, the oldest first",
        texts_of(saver),
        {"a": ("a1", "a2", "a3"), "b": ("b1", "b3")},
    )
    script.put(change("a", 4, "a4"))
    expect_equal("a chain ends at a version that begins anew", texts_of(saver), {"a": ("a4",), "b": ("b1", "b3")})
    expect_equal(
        "an older checkpoint is loaded with its own versions",
        texts_of(saver, script.rows[1].id),
        {"a": ("a1", "a2"), "b": ("b1",)},
    )


def _long_chains_are_loaded_whole(saver: Checkpointer) -> None:
    Script(saver).steps(300)
    texts = texts_of(saver)["messages"]
    expect_equal("load() gives all texts of a chain of 300", texts, tuple(f'"{number}"' for number in range(1, 301)))


def _forks_share_what_was_before(saver: Checkpointer) -> None:
    script = Script(saver)
    first, second, third = script.steps(3)
    fork = script.row({"messages": 4}, parent=first.id)
    saver.put(fork, [change("messages", 4, "fork", previous=1)], after=third.id)
    expect_equal("a fork's chain leads back over what it was forked from", texts_of(saver)["messages"], ('"1"', "fork"))
    expect_equal("load() gives the parent of a fork", row_of(saver, fork.id).parent, first.id)
    expect_equal("the other branch is loaded as before", texts_of(saver, third.id)["messages"], ('"1"', '"2"', '"3"'))
    expect_equal(
        "history() has both branches, by number",
        [row.id for row in saver.history("thread")],
        [fork.id, third.id, second.id, first.id],
    )


def _history_is_given_in_pages(saver: Checkpointer) -> None:
    rows = Script(saver).steps(12)
    rows.reverse()
    Script(saver, namespace="inside").steps(1)
    expect_equal("history() gives all rows, the newest first", saver.history("thread"), rows)
    expect_equal("history(limit=3) gives the three newest", saver.history("thread", limit=3), rows[:3])
    expect_equal("history(before=4) gives those below 4", saver.history("thread", before=4), rows[9:])
    expect_equal("history(before=, limit=) does both", saver.history("thread", before=9, limit=2), rows[4:6])
    expect_equal("history(limit=0) is empty", saver.history("thread", limit=0), [])
    expect_equal("history(before=1) is empty", saver.history("thread", before=1), [])
    for options in ({"limit": -1}, {"before": -1}, {"limit": 1.5}):
        expect_raises(f"history({options}) is refused", OptionError, partial(_history, saver, **options))


def _what_is_handed_in_and_out_is_not_shared(saver: Checkpointer) -> None:
    script = Script(saver)
    channels, changes = {"a": 1}, [change("a", 1, "1")]
    saver.put(script.row(channels), changes, after=None)
    channels["b"] = 5
    changes.clear()
    newest = saver.newest("thread")
    expect_equal("what is done to a mapping after put() changes nothing", texts_of(saver), {"a": ("1",)})
    if newest is not None and isinstance(newest.channels, dict):
        newest.channels["c"] = 7
    expect_equal("what is done to a row that was read changes nothing", texts_of(saver), {"a": ("1",)})


def _history(saver: Checkpointer, **options: Any) -> object:
    return saver.history("thread", **options)


CHECKS: Final[tuple[Callable[[Checkpointer], None], ...]] = (
    _an_empty_saver_holds_nothing,
    _a_checkpoint_comes_back_as_it_was_put,
    _chains_lead_back_to_where_they_began,
    _long_chains_are_loaded_whole,
    _forks_share_what_was_before,
    _history_is_given_in_pages,
    _what_is_handed_in_and_out_is_not_shared,
)
