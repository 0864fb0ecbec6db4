"""The retries that the calls of a turn may make together."""

from __future__ import annotations

from threading import Thread

from surehand.calls.budget import RetryBudget


def test_a_budget_gives_as_many_as_it_has() -> None:
    budget = RetryBudget(2)
    assert [budget.take() for _ in range(4)] == [True, True, False, False]


def test_threads_share_it_without_taking_one_too_many() -> None:
    budget, taken = RetryBudget(1_000), list[bool]()
    threads = [Thread(target=lambda: taken.extend(budget.take() for _ in range(500))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert taken.count(True) == 1_000
