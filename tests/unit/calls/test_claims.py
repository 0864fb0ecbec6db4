"""What the runs of a process have in hand, seen from other threads and loops."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time

import pytest

from surehand.calls.claims import Claim, WorkingOn, claimed, is_own


def test_a_claim_is_seen_until_it_is_released() -> None:
    claim = Claim()
    assert claimed("k") is None
    claim.take("k")
    assert claimed("k") is claim
    claim.release()
    claim.release()
    assert claimed("k") is None


def test_of_two_claims_one_is_seen_as_long_as_either_is_there() -> None:
    first, second = Claim(), Claim()
    first.take("k")
    second.take("k")
    first.release()
    assert claimed("k") is second
    second.release()
    assert claimed("k") is None


def test_a_claim_may_be_taken_again() -> None:
    claim = Claim()
    for _ in range(2):
        claim.take("k")
        claim.release()
    claim.release()
    assert claimed("k") is None


def test_whoever_waits_is_woken_from_any_thread() -> None:
    claim = Claim()
    claim.take("k")

    def release() -> None:
        time.sleep(0.01)
        claim.release()

    async def main() -> None:
        threading.Thread(target=release).start()
        async with asyncio.timeout(5), asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(claim.over())
        await claim.over()  # over already

    asyncio.run(main())


def test_a_waiter_that_is_cancelled_is_forgotten() -> None:
    claim = Claim()
    claim.take("k")

    async def main() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(claim.over(), 0.01)

    asyncio.run(main())
    claim.release()  # its loop is closed


def test_what_a_body_runs_knows_the_calls_that_it_is_part_of() -> None:
    assert not is_own("a")
    with WorkingOn("a"), WorkingOn("b"):
        assert (is_own("a"), is_own("b"), is_own("c")) == (True, True, False)
    assert not is_own("a")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
def test_a_forked_child_has_none_of_its_parents_claims() -> None:
    claim = Claim()
    claim.take("k")
    child = os.fork()
    if child == 0:
        os._exit(0 if claimed("k") is None else 1)
    claim.release()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
