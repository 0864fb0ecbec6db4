"""A saver in memory; what it shares with all savers is tried by ``check_checkpointer``."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from surehand import CheckpointError, MemorySaver, StoreError
from surehand.testing.savers.scripts import Script, call, change


def test_awaited_methods_answer_at_once_and_take_no_thread() -> None:
    saver = MemorySaver()
    before = threading.active_count()
    waiting = saver.asave_call("t", call("k"), after=None)
    with pytest.raises(StopIteration) as ended:
        waiting.send(None)
    assert ended.value.value is True
    assert threading.active_count() == before


def test_a_subclass_that_changes_a_method_changes_its_awaited_twin() -> None:
    class Counting(MemorySaver):
        counted = 0

        def threads(self) -> list[str]:
            self.counted += 1
            return super().threads()

    saver = Counting()
    assert asyncio.run(saver.athreads()) == []
    assert saver.counted == 1


def test_what_was_never_put_is_an_error_that_says_what_to_do() -> None:
    saver = MemorySaver()
    script = Script(saver)
    saver.put(script.row({"plan": 1}), [], after=None)
    with pytest.raises(CheckpointError) as caught:
        saver.load("thread")
    assert str(caught.value) == (
        "thread 'thread', checkpoint '00000001-06': version 1 of key 'plan' was never put. "
        "Put every version that a checkpoint names, with it or before it."
    )


def test_a_refused_checkpoint_is_told_with_what_to_do() -> None:
    script = Script(MemorySaver())
    script.steps(1)
    with pytest.raises(CheckpointError, match=r"checkpoint '00000002-06': its number is 5 where 2 is the next\. Each"):
        script.put(number=5)
    with pytest.raises(
        CheckpointError, match=r"version 2 of key 'a' cannot be a change of version 2\. A change is one"
    ):
        script.put(change("a", 2, "", previous=2))
    with pytest.raises(CheckpointError, match=r"its body holds a NUL or half a surrogate pair .*written as UTF-8"):
        script.put(body="\ud800")


def test_a_closed_saver_keeps_nothing() -> None:
    saver = MemorySaver()
    Script(saver).steps(1)
    saver.close()
    with pytest.raises(StoreError, match=r"The saver is closed\. Make a new one"):
        saver.load("thread")


def test_runs_in_memory_need_no_database() -> None:
    program = "import sys; from surehand import MemorySaver; MemorySaver(); print('sqlite3' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=50)
    assert ended.stdout == "False\n"
