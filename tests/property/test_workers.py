"""Whatever bodies do on worker threads: the counts are true, no job is lost or run twice, none waits beside room."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from support.liveness import soon
from surehand.concurrency import Job, Workers, WorkersExhausted
from surehand.concurrency.workers import Counts

LONG = 1_000
"""Seconds, for what does not come while a test runs."""


@dataclass(eq=False)
class Body:
    """A body that does what it is told, and what was seen of it."""

    workers: Workers
    orders: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    order: str = ""
    is_away: bool = False
    runs: int = 0
    starts: int = 0
    delivered: int = 0
    late: int = 0
    threads: set[threading.Thread] = field(default_factory=set[threading.Thread])

    def __post_init__(self) -> None:
        self.job: Job[None] = Job(self.run, deliver=lambda _: self.count("delivered"))
        self.job.on_start = lambda: self.count("starts")

    def tell(self, order: str) -> None:
        """Have it wait for others ("leave"), work on ("return") or end ("end")."""
        self.order = order
        self.orders.release()

    def run(self) -> None:
        """The body itself."""
        self.runs += 1
        self.threads.add(threading.current_thread())
        while self._told() != "end":
            with self.workers.waiting():
                self.is_away = True
                if self._told() == "end":
                    return
            self.is_away = False

    def _told(self) -> str:
        self.orders.acquire()
        return self.order

    def count(self, what: str) -> None:
        """Say that something of it was heard."""
        setattr(self, what, getattr(self, what) + 1)


class Model:
    """What the workers should do, with every body slow at once or none ever."""

    def __init__(self, max_working: int, max_abandoned: int, *, is_slow: bool) -> None:
        self.max_working = max_working
        self.max_abandoned = max_abandoned
        self.is_slow = is_slow
        self.waiting: list[Body] = []
        self.working: list[Body] = []
        self.slow: list[Body] = []
        self.away: list[Body] = []
        self.abandoned: list[Body] = []

    def remove(self, body: Body) -> None:
        """Take a body out of its place."""
        for place in (self.waiting, self.working, self.slow, self.away, self.abandoned):
            if body in place:
                place.remove(body)

    def settle(self) -> list[Body]:
        """Fill the places; the bodies that are refused."""
        if len(self.abandoned) >= self.max_abandoned:
            refused, self.waiting = self.waiting, []
            return refused
        while self.waiting:
            while len(self.working) >= self.max_working and self._may_leave():
                self.slow.append(self.working.pop(0))
            at_work = len(self.working) + len(self.slow) + len(self.abandoned)
            if len(self.working) >= self.max_working or at_work >= self.max_working + self.max_abandoned:
                return []
            self.working.append(self.waiting.pop(0))
        return []

    def _may_leave(self) -> bool:
        return self.is_slow and len(self.slow) + len(self.abandoned) < self.max_abandoned


class WorkersMachine(RuleBasedStateMachine):
    """Jobs come, wait for others, end and are given up, in any order, and after each step all is as in the model."""

    @initialize(
        max_working=st.integers(1, 3),
        max_abandoned=st.integers(1, 4),
        slow_seconds=st.sampled_from([0, 0.03, LONG]),
    )
    def begin(self, max_working: int, max_abandoned: int, slow_seconds: float) -> None:
        self.model = Model(max_working, max_abandoned, is_slow=slow_seconds < LONG)
        self.workers = Workers(
            max_working=max_working, max_abandoned=max_abandoned, slow_seconds=slow_seconds, idle_seconds=1
        )
        self.bodies: list[Body] = []
        self.waited: set[Body] = set()
        self.expected: dict[Body, str] = {}
        """How the bodies have ended that have."""

    @rule()
    def start(self) -> None:
        body = Body(self.workers)
        if len(self.model.abandoned) >= self.model.max_abandoned:
            with pytest.raises(WorkersExhausted):
                self.workers.start(body.job)
            return
        self.bodies.append(body)
        if not self.workers.start(body.job):
            self.waited.add(body)
        self.model.waiting.append(body)
        self._settle()

    @precondition(lambda self: bool(self._at_work()))
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        self._end(data.draw(st.sampled_from(self._at_work())))

    @precondition(lambda self: bool(self.model.working or self.model.slow))
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        body = data.draw(st.sampled_from(self.model.working + self.model.slow))
        self.model.remove(body)
        self.model.away.append(body)
        body.tell("leave")
        assert soon(lambda: body.is_away, within=30)
        self._settle()

    @precondition(lambda self: any(body.is_away for body in self._at_work()))
    @rule(data=st.data())
    def come_back(self, data: st.DataObject) -> None:
        body = data.draw(st.sampled_from([body for body in self._at_work() if body.is_away]))
        if body in self.model.away:
            self.model.remove(body)
            self.model.working.append(body)
        body.tell("return")
        assert soon(lambda: not body.is_away, within=30)
        self._settle()

    @precondition(lambda self: bool(self.bodies))
    @rule(data=st.data(), times=st.integers(1, 2))
    def abandon(self, data: st.DataObject, times: int) -> None:
        body = data.draw(st.sampled_from(self.bodies))
        for _ in range(times):
            self.workers.abandon(body.job, on_late=lambda _: body.count("late"))
        if self.expected.get(body) in {"delivered", "refused"}:
            self.expected[body] = f"{self.expected[body]} and late"
        elif body in self.model.waiting:
            self.expected[body] = "dropped"
            self.model.remove(body)
        elif body not in self.expected and body not in self.model.abandoned:
            self.model.remove(body)
            self.model.abandoned.append(body)
        self._settle()

    @invariant()
    def the_counts_are_the_truth(self) -> None:
        if not hasattr(self, "model"):
            return
        model = self.model
        truth = [len(place) for place in (model.waiting, model.working, model.slow, model.abandoned)]
        soon(lambda: list(self.workers.counts)[:4] == truth, within=30)
        assert list(self.workers.counts)[:4] == truth
        for body in self.bodies:
            assert soon(lambda: self._is_as_expected(body), within=30), (vars(body), self.expected.get(body))  # noqa: B023

    @invariant()
    def there_is_one_thread_for_each_body_and_none_too_many_without(self) -> None:
        if not hasattr(self, "model"):
            return
        assert soon(lambda: self._threads() == len(self._at_work()) + self.workers.counts.idle, within=30)
        counts = self.workers.counts
        assert not counts.idle or counts.idle + counts.working <= self.model.max_working

    def teardown(self) -> None:
        if not hasattr(self, "model"):
            return
        while self._at_work():
            self._end(self._at_work()[0])
        self.the_counts_are_the_truth()
        self.there_is_one_thread_for_each_body_and_none_too_many_without()
        assert self.workers.counts._replace(idle=0) == Counts(0, 0, 0, 0, 0)

    def _end(self, body: Body) -> None:
        self.expected[body] = "late" if body in self.model.abandoned else "delivered"
        self.model.remove(body)
        body.tell("end")
        self._settle()

    def _at_work(self) -> list[Body]:
        model = self.model
        return model.working + model.slow + model.away + model.abandoned

    def _settle(self) -> None:
        for refused in self.model.settle():
            self.expected[refused] = "refused"

    def _threads(self) -> int:
        return sum(thread.is_alive() for thread in {thread for body in self.bodies for thread in body.threads})

    def _is_as_expected(self, body: Body) -> bool:
        expected = self.expected.get(body, "")
        is_refused = expected.startswith("refused")
        has_run = body in self._at_work() or expected in {"delivered", "late", "delivered and late"}
        return (
            body.runs == has_run
            and body.starts == (body in self.waited and (has_run or is_refused))
            and body.delivered == (expected.startswith("delivered") or is_refused)
            and body.late == expected.endswith("late")
            and isinstance(body.job.error, WorkersExhausted) == is_refused
        )


WorkersMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30)
test_whatever_happens_the_counts_are_the_truth = WorkersMachine.TestCase


class Crowd:
    """Many threads that start jobs and give some of them up, all at once."""

    JOBS = 200

    def __init__(self, seed: int, callers: int, *, is_nested: bool) -> None:
        self.seed = seed
        self.is_nested = is_nested
        slow_seconds = random.Random(seed).choice([0.001, 0.01, LONG])
        self.workers = Workers(max_working=4, slow_seconds=slow_seconds, idle_seconds=0.5)
        self.ran: Counter[int] = Counter()
        self.delivered: Counter[int] = Counter()
        self.late: Counter[int] = Counter()
        self.given_up: set[int] = set()
        self.lock = threading.Lock()
        self.callers = [threading.Thread(target=self._call, args=(number * self.JOBS,)) for number in range(callers)]

    def run(self) -> list[Counts]:
        """Let all of them begin and wait until they have done; the counts meanwhile."""
        seen: list[Counts] = []
        for caller in self.callers:
            caller.start()
        while any(caller.is_alive() for caller in self.callers):
            seen.append(self.workers.counts)
            time.sleep(0.001)
        return seen

    def _call(self, first: int) -> None:
        chance = random.Random(f"{self.seed} {first}")
        for number in range(first, first + self.JOBS):
            body = partial(self._body, number, chance.choice([0, 0, 0.001, 0.02]))
            job: Job[None] = Job(body, deliver=partial(self._count, self.delivered, number))
            self.workers.start(job)
            if chance.random() < 0.1:
                time.sleep(chance.choice([0, 0.002]))
                self.given_up.add(number)
                for _ in range(chance.choice([1, 2])):
                    self.workers.abandon(job, on_late=partial(self._count, self.late, number))

    def _body(self, number: int, pause: float) -> None:
        self._count(self.ran, number)
        time.sleep(pause)
        if self.is_nested and number % 2:
            ended = threading.Event()
            self.workers.start(Job(lambda: None, deliver=lambda _: ended.set()))
            with self.workers.waiting():
                assert ended.wait(30)

    def _count(self, what: Counter[int], number: int, _: Job[None] | None = None) -> None:
        with self.lock:
            what[number] += 1


@pytest.mark.parametrize("is_nested", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_many_threads_at_once_lose_no_job_and_run_none_twice(seed: int, *, is_nested: bool) -> None:
    crowd = Crowd(seed, callers=8, is_nested=is_nested)
    seen = crowd.run()
    workers, jobs = crowd.workers, set(range(8 * crowd.JOBS))

    assert soon(lambda: workers.counts._replace(idle=0) == Counts(0, 0, 0, 0, 0), within=60), workers.counts
    assert soon(lambda: workers.counts.idle == 0, within=30)
    # A body that ends in the moment in which it is given up is told to both.
    assert {number for counted in (crowd.ran, crowd.delivered, crowd.late) for number in counted.values()} == {1}
    assert set(crowd.delivered) | set(crowd.late) == set(crowd.ran)
    assert jobs - set(crowd.delivered) <= crowd.given_up
    if not is_nested:  # bodies that have begun do not wait for their places
        assert max(counts.working for counts in seen) <= 4
