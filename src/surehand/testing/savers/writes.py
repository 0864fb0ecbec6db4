"""Whether what became known after a checkpoint is kept with it, and claims are granted once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final

from surehand.checkpoints import Checkpointer, WriteRow
from surehand.errors import CheckpointConflict
from surehand.testing.savers.scripts import (
    ROUNDS,
    THREADS,
    Script,
    expect_equal,
    expect_raises,
    side_by_side,
    write,
    writes_of,
)

__all__ = ["CHECKS"]


def _writes_belong_to_their_checkpoint(saver: Checkpointer) -> None:
    first, second = Script(saver).steps(2)
    Script(saver, namespace="inside").steps(1)
    rows = [write("b"), write("a", "question", 1), write("a", "question"), write("a", "answer")]
    saver.put_writes("thread", "", first.id, rows[:2])
    saver.put_writes("thread", "", first.id, rows[2:])
    expect_equal(
        "writes are given in the order of task, kind and number",
        writes_of(saver, first.id),
        (rows[3], rows[2], rows[1], rows[0]),
    )
    expect_equal("another checkpoint has none of them", writes_of(saver, second.id), ())
    inside = saver.load("thread", "inside")
    expect_equal("another namespace has none of them", inside and inside.writes, ())
    saver.put_writes("thread", "", first.id, [write("b", text='"new"')])
    expect_equal("a row of the same task, kind and number is replaced", writes_of(saver, first.id)[3].text, '"new"')
    expect_equal("and no other", len(writes_of(saver, first.id)), 4)


def _writes_need_their_checkpoint(saver: Checkpointer) -> None:
    (first,) = Script(saver).steps(1)
    for place in (("thread", "", "gone"), ("thread", "inside", first.id), ("other", "", first.id)):
        put = partial(saver.put_writes, *place, [write("a")])
        expect_raises(f"put_writes() to {place}, which is not there, is refused", CheckpointConflict, put)
    expect_equal("what was refused made no thread", saver.threads(), ["thread"])


def _a_claim_is_granted_once(saver: Checkpointer) -> None:
    (first,) = Script(saver).steps(1)
    claim = partial(saver.put_writes, "thread", "", first.id, is_claim=True)
    claim([write("", "run")])
    refused = partial(claim, [write("id", "answer"), write("", "run", text='"mine"')])
    expect_raises("a claim of a row that is there is refused", CheckpointConflict, refused)
    expect_equal("no row of a refused claim holds", writes_of(saver, first.id), (write("", "run"),))
    claim([write("", "run", 1)])
    expect_equal("another number may be claimed", len(writes_of(saver, first.id)), 2)
    for round_ in range(ROUNDS):
        row = write("", "race", round_)
        won = side_by_side([partial(_has_claimed, saver, first.id, row)] * THREADS)
        expect_equal("of many that claim one row, one succeeds", Counter(won)[True], 1)


def _has_claimed(saver: Checkpointer, checkpoint_id: str, row: WriteRow) -> bool:
    try:
        saver.put_writes("thread", "", checkpoint_id, [row], is_claim=True)
    except CheckpointConflict:
        return False
    return True


CHECKS: Final[tuple[Callable[[Checkpointer], None], ...]] = (
    _writes_belong_to_their_checkpoint,
    _writes_need_their_checkpoint,
    _a_claim_is_granted_once,
)
