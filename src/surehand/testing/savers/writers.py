"""Whether of several that write one checkpoint at a time one wins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from surehand.checkpoints import Checkpointer, CheckpointRow
from surehand.errors import CheckpointConflict, CheckpointError
from surehand.testing.savers.scripts import (
    ROUNDS,
    THREADS,
    Script,
    change,
    expect,
    expect_equal,
    expect_raises,
    side_by_side,
    texts_of,
)

__all__ = ["CHECKS"]


def _of_two_writers_one_is_refused(saver: Checkpointer) -> None:
    script = Script(saver)
    first, second = script.steps(2)
    Script(saver, namespace="inside").steps(1)
    late = script.row({"messages": 3}, id="00000003-late")
    changes = [change("messages", 3, "late", previous=2)]
    for after in (first.id, None, "00000009-nobody"):
        put = partial(saver.put, late, changes, after=after, drop=["inside"])
        expect_raises(f"put(after={after!r}) is refused where another is the newest", CheckpointConflict, put)
    other = replace(late, thread_id="other", number=1, channels={})
    expect_raises(
        "put(after=…) is refused where there is none", CheckpointConflict, partial(saver.put, other, [], after=first.id)
    )
    expect_equal("what was refused does not hold", saver.newest("thread"), second)
    expect("what was refused dropped nothing", saver.load("thread", "inside"))
    expect_equal("what was refused made no thread", saver.threads(), ["thread"])
    script.put(change("messages", 3, "mine", previous=2))
    expect_equal("its versions do not hold either", texts_of(saver)["messages"], ('"1"', '"2"', "mine"))


def _a_step_that_has_ended_is_not_begun_anew(saver: Checkpointer) -> None:
    script = Script(saver)
    first, second = script.steps(2)
    late = Script(saver, namespace="in it").row()
    for around in (("", first.id), ("", "00000009-nobody"), ("nowhere", second.id)):
        put = partial(saver.put, late, [], after=None, inside=around)
        expect_raises(f"put(inside={around!r}) is refused where another is the newest there", CheckpointConflict, put)
    expect_equal("what was refused does not hold", saver.load("thread", "in it"), None)
    expect_equal("what was refused made no namespace", saver.load("thread", "nowhere"), None)
    saver.put(late, [], after=None, inside=("", second.id))
    expect_equal("put(inside=…) holds while its step has not ended", saver.newest("thread", "in it"), late)


def _what_makes_no_sense_is_refused(saver: Checkpointer) -> None:
    script = Script(saver)
    first, second = script.steps(2)
    refused: dict[str, CheckpointRow] = {
        "a number that is not the next": script.row(number=4),
        "a number that is there": script.row(number=2),
        "an id that is there": script.row(id=first.id),
    }
    for name, row in refused.items():
        expect_raises(f"put() refuses {name}", CheckpointError, partial(saver.put, row, [], after=second.id))
    changes = {
        "a version that is there": [change("new", 3, "1"), change("messages", 2, "again", previous=1)],
        "one version twice": [change("new", 3, "1"), change("new", 3, "2")],
        "a change of a later version": [change("new", 3, "1", previous=4)],
        "a change of itself": [change("new", 3, "1", previous=3)],
    }
    for name, brought in changes.items():
        put = partial(saver.put, script.row({"new": 3}), brought, after=second.id)
        expect_raises(f"put() refuses {name}", CheckpointError, put)
    expect_equal("what was refused does not hold", saver.newest("thread"), second)
    expect_equal("no version of it holds", texts_of(saver)["messages"], ('"1"', '"2"'))
    script.put(change("new", 3, "now"))
    expect_equal("what was refused may be put right", texts_of(saver)["new"], ("now",))


def _of_many_writers_one_wins(saver: Checkpointer) -> None:
    script = Script(saver)
    script.steps(1)
    for _ in range(ROUNDS):
        rows = [script.row(id=f"{len(script.rows) + 1:08d}-{index}") for index in range(THREADS)]
        after = script.newest_id
        won = side_by_side([partial(_has_put, saver, row, after) for row in rows])
        expect_equal("of put() by many threads after one checkpoint, one succeeds", Counter(won)[True], 1)
        winner = rows[won.index(True)]
        expect_equal("the newest checkpoint is that of the winner", saver.newest("thread"), winner)
        script.rows.append(winner)
    expect_equal("each round added one checkpoint", len(saver.history("thread")), ROUNDS + 1)


def _has_put(saver: Checkpointer, row: CheckpointRow, after: str | None) -> bool:
    try:
        saver.put(row, [], after=after)
    except CheckpointConflict:
        return False
    return True


CHECKS: Final[tuple[Callable[[Checkpointer], None], ...]] = (
    _of_two_writers_one_is_refused,
    _a_step_that_has_ended_is_not_begun_anew,
    _what_makes_no_sense_is_refused,
    _of_many_writers_one_wins,
)
