"""Daemon threads for synchronous bodies."""

from __future__ import annotations

import asyncio
import os
import threading
from contextvars import ContextVar

import pytest

from support.liveness import soon
from surehand.concurrency import Job, Workers, WorkersExhausted, run_in_thread, run_in_time, served_here

variable: ContextVar[str] = ContextVar("variable", default="unset")


def _job(run: object, done: threading.Event | None = None) -> Job[object]:
    return Job(run, deliver=lambda _: done.set() if done else None)  # type: ignore[arg-type]


def _hang(workers: Workers, release: threading.Event) -> Job[object]:
    """A job that is running for certain, and ends when ``release`` is set."""
    started = threading.Event()

    def body() -> str:
        started.set()
        release.wait(30)
        return "late"

    job = _job(body)
    workers.start(job)
    assert started.wait(5)
    return job


def _run(workers: Workers, run: object) -> Job[object]:
    done = threading.Event()
    job = _job(run, done)
    workers.start(job)
    assert done.wait(5)
    return job


def test_a_job_runs_on_another_thread_and_keeps_its_result() -> None:
    job = _run(Workers(), threading.get_ident)

    assert job.result != threading.get_ident()
    assert job.error is None


def test_a_jobs_exception_is_kept_whatever_it_is() -> None:
    def stop() -> None:
        raise StopIteration

    assert isinstance(_run(Workers(), stop).error, StopIteration)


def test_an_idle_thread_is_used_again() -> None:
    workers = Workers()

    idents = {_run(workers, threading.get_ident).result for _ in range(5)}
    assert len(idents) <= 2


def test_no_more_than_the_limit_work_at_a_time_and_all_get_their_turn() -> None:
    workers = Workers(max_working=3)
    running = 0
    peak = 0
    lock = threading.Lock()
    done = threading.Semaphore(0)

    def body() -> None:
        nonlocal running, peak
        with lock:
            running += 1
            peak = max(peak, running)
        threading.Event().wait(0.01)
        with lock:
            running -= 1

    for _ in range(12):
        workers.start(Job(body, deliver=lambda _: done.release()))
    for _ in range(12):
        assert done.acquire(timeout=5)
    assert peak <= 3


def test_given_up_bodies_do_not_hold_up_the_others() -> None:
    workers = Workers(max_working=1)
    release = threading.Event()
    workers.abandon(_hang(workers, release))

    assert _run(workers, lambda: "next").result == "next"
    assert workers.abandoned == 1
    release.set()


def test_a_given_up_bodys_late_end_is_reported_and_counted_off() -> None:
    workers = Workers()
    release, reported = threading.Event(), threading.Event()
    late: list[Job[object]] = []
    hung = _hang(workers, release)

    def report(job: Job[object]) -> None:
        late.append(job)
        reported.set()

    workers.abandon(hung, on_late=report)
    release.set()

    assert reported.wait(5)
    assert late[0].result == "late"
    assert workers.abandoned == 0


def test_a_body_that_never_started_is_simply_dropped() -> None:
    workers = Workers(max_working=1)
    release = threading.Event()
    _hang(workers, release)
    ran = threading.Event()
    waiting = _job(ran.set)
    workers.start(waiting)
    workers.abandon(waiting)
    release.set()

    assert _run(workers, lambda: 1).result == 1
    assert not ran.is_set()


def test_too_many_given_up_bodies_refuse_new_ones() -> None:
    workers = Workers(max_abandoned=2)
    release = threading.Event()
    for _ in range(2):
        workers.abandon(_hang(workers, release))

    with pytest.raises(WorkersExhausted):
        workers.start(_job(release.wait))
    release.set()


def test_too_many_given_up_bodies_refuse_those_too_that_wait_for_a_thread() -> None:
    workers = Workers(max_working=1, max_abandoned=1)
    release, done, started = threading.Event(), threading.Event(), threading.Event()
    hung = _hang(workers, release)
    ran: list[str] = []
    waiting = _job(lambda: ran.append("ran"), done)
    waiting.on_start = started.set
    workers.start(waiting)
    workers.abandon(hung)

    assert done.is_set()
    assert started.is_set()
    with pytest.raises(WorkersExhausted):
        waiting.outcome()
    release.set()
    assert ran == []


def test_threads_end_when_there_is_nothing_to_do() -> None:
    workers = Workers(idle_seconds=0.01)
    thread: list[threading.Thread] = []
    _run(workers, lambda: thread.append(threading.current_thread()))

    thread[0].join(5)
    assert not thread[0].is_alive()
    assert _run(workers, lambda: "again").result == "again"


def test_threads_are_daemons() -> None:
    assert _run(Workers(), lambda: threading.current_thread().daemon).result is True


def test_awaiting_a_thread_carries_the_context_and_the_exception() -> None:
    variable.set("outer")
    error = ValueError("mine")

    def fail() -> None:
        raise error

    async def main() -> str:
        with pytest.raises(ValueError, match="mine") as caught:
            await run_in_thread(fail)
        assert caught.value is error
        return await run_in_thread(variable.get)

    assert asyncio.run(main()) == "outer"


def test_the_loop_goes_on_while_a_body_blocks() -> None:
    release = threading.Event()

    async def main() -> bool:
        body = asyncio.ensure_future(run_in_thread(lambda: release.wait(30)))
        await asyncio.sleep(0.01)
        release.set()
        return await body

    assert asyncio.run(main()) is True


def test_cancelling_the_waiter_leaves_the_program_free_to_end() -> None:
    release = threading.Event()

    async def main() -> None:
        body = asyncio.ensure_future(run_in_thread(lambda: release.wait(30)))
        await asyncio.sleep(0.01)
        body.cancel()
        with pytest.raises(asyncio.CancelledError):
            await body

    asyncio.run(main())
    assert not release.is_set()
    release.set()


def test_a_job_learns_of_its_start_only_if_it_had_to_wait_for_a_thread() -> None:
    workers = Workers(max_working=1)
    release = threading.Event()
    started: list[str] = []
    first = _hang(workers, release)
    first.on_start = lambda: started.append("first")
    done = threading.Event()
    second = _job(lambda: started.append("body"), done)
    second.on_start = lambda: started.append("second")

    assert workers.start(second) is False
    release.set()
    assert done.wait(5)
    assert started == ["second", "body"]


def test_without_a_new_thread_from_the_system_work_waits_for_those_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = Workers(max_working=2)
    release, done = threading.Event(), threading.Event()
    _hang(workers, release)
    monkeypatch.setattr(threading.Thread, "start", _no_thread)

    assert workers.start(_job(lambda: "done", done)) is False
    release.set()
    assert done.wait(5)


def test_without_any_thread_from_the_system_a_job_is_refused_and_never_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = Workers()
    ran: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", _no_thread)
        with pytest.raises(WorkersExhausted):
            workers.start(_job(lambda: ran.append("refused")))

    _run(workers, lambda: ran.append("next"))
    assert ran == ["next"]


def _no_thread(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_a_job_that_ended_while_it_was_given_up_is_not_counted_as_running() -> None:
    workers = Workers()
    job = _run(workers, lambda: "just in time")

    workers.abandon(job)

    assert workers.abandoned == 0


def test_the_late_end_of_a_job_that_ended_while_it_was_given_up_is_told() -> None:
    workers = Workers()
    job = _run(workers, lambda: "just in time")
    late: list[Job[object]] = []

    workers.abandon(job, on_late=late.append)

    assert [ended.result for ended in late] == ["just in time"]


def test_a_caller_without_a_loop_waits_for_a_body_as_long_as_it_may_take() -> None:
    job = Job(threading.get_ident, deliver=lambda _: None)

    assert run_in_time(job, 5, on_late=lambda _: None)
    assert job.result != threading.get_ident()


def test_a_body_that_takes_longer_is_given_up_and_its_end_reported() -> None:
    release, reported = threading.Event(), threading.Event()
    job = Job(lambda: release.wait(30) and "late", deliver=lambda _: None)

    assert not run_in_time(job, 0.02, on_late=lambda _: reported.set())
    release.set()
    assert reported.wait(5)
    assert job.result == "late"


def test_many_callers_without_loops_wait_their_turn_and_the_clock_starts_with_the_body() -> None:
    done: list[bool] = []

    def call() -> None:
        job = Job(lambda: threading.Event().wait(0.01), deliver=lambda _: None)
        done.append(run_in_time(job, 5, on_late=lambda _: None))

    callers = [threading.Thread(target=call) for _ in range(100)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert done == [True] * 100


def test_a_body_that_is_given_up_while_it_waits_for_others_makes_no_room_for_one_too_many() -> None:
    workers, release, waits, begun = Workers(max_working=1), threading.Event(), threading.Event(), threading.Event()

    def body() -> None:
        with workers.waiting(), workers.waiting():  # a synchronous door inside of another
            waits.set()
            release.wait(30)

    outer = _job(body)
    workers.start(outer)
    assert waits.wait(5)
    workers.abandon(outer)
    hanging = _hang(workers, release)
    workers.start(_job(begun.set))
    assert not begun.wait(0.05)
    workers.abandon(hanging)
    assert begun.wait(5)
    release.set()


def _counts(workers: Workers, **expected: int) -> None:
    """Wait until the counts are these; those that are not named are 0."""
    wanted = {name: expected.get(name, 0) for name in ("waiting", "working", "slow", "abandoned", "idle")}
    soon(lambda: workers.counts._asdict() == wanted, within=20)
    assert workers.counts._asdict() == wanted


def test_a_body_that_is_slow_leaves_its_place_to_those_that_wait() -> None:
    workers, release, done = Workers(max_working=2, slow_seconds=0.05), threading.Event(), threading.Event()
    for _ in range(2):
        _hang(workers, release)
    waiting = [_hang_later(workers, release) for _ in range(3)]
    workers.start(_job(lambda: None, done))

    assert done.wait(5)  # though no further job came in after it
    assert all(begun.is_set() for begun in waiting)
    release.set()


def test_a_slow_body_keeps_its_place_while_nobody_waits() -> None:
    workers, release = Workers(max_working=2, slow_seconds=0), threading.Event()
    for _ in range(2):
        _hang(workers, release)
    _counts(workers, working=2)

    assert workers.start(_job(lambda: release.wait(30)))
    _counts(workers, working=2, slow=1)
    release.set()
    _counts(workers, idle=2)


def test_a_body_that_is_not_slow_yet_keeps_its_place() -> None:
    workers, release = Workers(max_working=1, slow_seconds=1_000), threading.Event()
    _hang(workers, release)
    begun = _hang_later(workers, release)

    assert not begun.wait(0.05)
    _counts(workers, working=1, waiting=1)
    release.set()
    assert begun.wait(5)


def test_the_body_that_had_its_place_for_longest_leaves_it_first() -> None:
    workers, first, second, third = Workers(max_working=2, slow_seconds=0), *(threading.Event() for _ in range(3))
    _hang(workers, first)
    _hang(workers, second)
    _hang(workers, third)
    _counts(workers, working=2, slow=1)
    first.set()
    _counts(workers, working=2)  # and its thread is none too many
    second.set()
    third.set()
    _counts(workers, idle=2)


def test_no_more_bodies_leave_their_places_than_may_be_given_up() -> None:
    workers, first, others = (
        Workers(max_working=1, max_abandoned=2, slow_seconds=0),
        threading.Event(),
        threading.Event(),
    )

    def hear(_: Job[object]) -> None:
        others.wait(30)

    workers.abandon(_hang(workers, first), on_late=hear)
    for _ in range(2):
        _hang(workers, others)
    begun = _hang_later(workers, others)
    assert not begun.wait(0.05)
    _counts(workers, abandoned=1, slow=1, working=1, waiting=1)

    first.set()
    assert begun.wait(5)  # though whoever hears of the late end takes time
    _counts(workers, slow=2, working=1)
    others.set()


def test_given_up_and_slow_bodies_together_leave_room_for_no_more_threads_than_may_exist() -> None:
    workers, release = Workers(max_working=2, max_abandoned=2, slow_seconds=0), threading.Event()
    jobs = [_hang(workers, release) for _ in range(4)]
    _counts(workers, slow=2, working=2)
    workers.abandon(jobs[3])
    begun = _hang_later(workers, release)  # one works, and four threads are there
    assert not begun.wait(0.05)
    _counts(workers, slow=2, working=1, abandoned=1, waiting=1)
    release.set()
    assert begun.wait(5)


def test_a_slow_body_that_is_given_up_is_counted_once() -> None:
    workers, release = Workers(max_working=1, slow_seconds=0), threading.Event()
    slow = _hang(workers, release)
    _hang(workers, release)
    workers.abandon(slow)

    _counts(workers, working=1, abandoned=1)
    release.set()
    _counts(workers, idle=1)


def test_a_slow_body_that_waits_for_others_counts_in_no_place_and_works_on_afterwards() -> None:
    workers, wait, go_on, release = Workers(max_working=1, slow_seconds=0), *(threading.Event() for _ in range(3))

    def body() -> None:
        wait.wait(30)
        with workers.waiting():
            go_on.wait(30)
        release.wait(30)

    workers.start(_job(body))
    _hang(workers, release)
    _counts(workers, slow=1, working=1)
    wait.set()
    _counts(workers, working=1)
    go_on.set()
    _counts(workers, working=2)  # a body that has begun does not wait for its place
    release.set()
    _counts(workers, idle=1)


def test_no_more_work_than_may_however_many_threads_were_needed_meanwhile() -> None:
    workers, inner, go_on, release = Workers(max_working=2), *(threading.Event() for _ in range(3))
    returned = threading.Semaphore(0)

    def outer() -> None:
        with workers.waiting():
            go_on.wait(30)
        returned.release()
        release.wait(30)

    for _ in range(2):
        workers.start(_job(outer))
    _counts(workers)
    for _ in range(2):
        _hang(workers, inner)
    inner.set()
    _counts(workers, idle=2)
    go_on.set()
    for _ in range(2):
        assert returned.acquire(timeout=5)
    _counts(workers, working=2)
    begun = _hang_later(workers, release)
    assert not begun.wait(0.05)
    release.set()
    assert begun.wait(5)


def test_giving_a_job_up_twice_counts_it_once() -> None:
    workers, release, reported = Workers(max_working=1), threading.Event(), threading.Event()
    late: list[str] = []
    job = _hang(workers, release)

    def report(_: Job[object]) -> None:
        late.append("first")
        reported.set()

    workers.abandon(job, on_late=report)
    workers.abandon(job, on_late=lambda _: late.append("second"))
    _counts(workers, abandoned=1)
    release.set()
    assert reported.wait(5)
    _counts(workers, idle=1)
    workers.abandon(job, on_late=lambda _: late.append("third"))
    assert late == ["first"]


def test_the_late_end_of_a_job_that_ended_is_told_once() -> None:
    workers = Workers()
    job = _run(workers, lambda: "just in time")
    late: list[str] = []

    workers.abandon(job, on_late=lambda _: late.append("first"))
    workers.abandon(job, on_late=lambda _: late.append("second"))
    assert late == ["first"]


def test_giving_a_job_up_twice_that_never_began_counts_it_in_no_place() -> None:
    workers, release = Workers(max_working=1), threading.Event()
    _hang(workers, release)
    waiting = _job(lambda: None)
    workers.start(waiting)
    for _ in range(2):
        workers.abandon(waiting)
        workers.abandon(_job(lambda: None))  # and one that was never handed in

    _counts(workers, working=1)
    release.set()
    _counts(workers, idle=1)


def test_giving_up_a_job_that_was_refused_counts_it_in_no_place() -> None:
    workers, release = Workers(max_working=1, max_abandoned=1), threading.Event()
    hung, refused = _hang(workers, release), _job(lambda: None)
    refused.deliver = workers.abandon
    workers.start(refused)
    workers.abandon(hung)

    _counts(workers, abandoned=1)
    release.set()


def test_a_thread_whose_body_was_given_up_takes_other_work_once_that_has_ended() -> None:
    workers, release = Workers(), threading.Event()
    threads: list[int] = []

    def body() -> None:
        threads.append(threading.get_ident())
        release.wait(30)

    job = _job(body)
    workers.start(job)
    assert soon(lambda: bool(threads), within=20)
    workers.abandon(job)
    release.set()
    _counts(workers, idle=1)
    assert [_run(workers, threading.get_ident).result] == threads


def test_work_that_found_no_thread_is_begun_once_the_system_gives_one(monkeypatch: pytest.MonkeyPatch) -> None:
    workers, release, done = Workers(max_working=2, slow_seconds=0.05), threading.Event(), threading.Event()
    _hang(workers, release)
    start = threading.Thread.start

    def no_worker(thread: threading.Thread) -> None:
        if "_serve" in repr(vars(thread).get("_target")):
            _no_thread(thread)
        start(thread)

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_worker)
        assert workers.start(_job(lambda: None, done)) is False
    assert done.wait(5)
    release.set()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system makes no copies of processes")
def test_a_copy_of_the_process_is_served_by_none_of_its_threads() -> None:
    def copied() -> int:
        if (child := os.fork()) == 0:
            os._exit(0 if served_here() is None else 1)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert _run(Workers(), copied).result == 0


def _hang_later(workers: Workers, release: threading.Event) -> threading.Event:
    """Start a job that finds no thread; what it returns is set when it has begun."""
    begun = threading.Event()

    def body() -> None:
        begun.set()
        release.wait(30)

    assert workers.start(_job(body)) is False
    return begun
