"""One thread commits for many: in groups, each operation whole, whatever becomes of the others."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from surehand import StoreError
from surehand.checkpoints.committing import Committer, Database

Operation: TypeAlias = Callable[[sqlite3.Connection], object]


class Numbers(Database[sqlite3.Connection]):
    """A file with a table of numbers; a negative number is found out by the commit."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.connects = self.commits = self.closes = 0
        self.refusals: list[Exception] = []
        """What connecting raises, one after the other."""
        self.cannot_write = False
        self.losses = 0
        """How many transactions more lose the connection: before their commit, or in it."""
        self.is_lost_in_commit = False
        self._has_lost = False

    def connect(self) -> sqlite3.Connection:
        if self.refusals:
            raise self.refusals.pop(0)
        self.connects += 1
        self._has_lost = False
        connection = sqlite3.connect(self.path, isolation_level=None)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("CREATE TABLE IF NOT EXISTS signs (sign INTEGER PRIMARY KEY)")
        connection.execute("INSERT OR IGNORE INTO signs VALUES (1)")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS numbers (number INTEGER PRIMARY KEY, "
            "sign INTEGER REFERENCES signs DEFERRABLE INITIALLY DEFERRED)"
        )
        return connection

    def begin(self, connection: sqlite3.Connection, *, writes: bool) -> None:
        if writes and self.cannot_write:
            raise sqlite3.OperationalError("attempt to write a readonly database")
        if self.losses and not self.is_lost_in_commit:
            self.losses -= 1
            self.lose()
        connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")

    def commit(self, connection: sqlite3.Connection) -> None:
        connection.execute("COMMIT")
        self.commits += 1
        if self.losses:
            self.losses -= 1
            self.lose()

    def lose(self) -> None:
        self._has_lost = True
        raise ConnectionError("gone")

    def roll_back(self, connection: sqlite3.Connection) -> None:
        if connection.in_transaction:
            connection.execute("ROLLBACK")

    def close(self, connection: sqlite3.Connection) -> None:
        self.closes += 1
        connection.close()

    def is_lost(self, connection: sqlite3.Connection) -> bool:
        return self._has_lost

    def told(self, error: Exception) -> Exception:
        if isinstance(error, sqlite3.Error | ConnectionError):
            return StoreError(problem=f"It said {error}", remedy="Look")
        return error


@pytest.fixture
def numbers(tmp_path: Path) -> Numbers:
    return Numbers(tmp_path / "numbers.db")


@pytest.fixture
def committer(numbers: Numbers) -> Iterator[Committer[sqlite3.Connection]]:
    committer = Committer(numbers, name="The numbers")
    yield committer
    committer.close()


def add(*values: int) -> Operation:
    def operation(connection: sqlite3.Connection) -> int:
        for value in values:
            connection.execute("INSERT INTO numbers VALUES (?, ?)", (value, 1 if value >= 0 else 9))
        return sum(values)

    return operation


def held(connection: sqlite3.Connection) -> list[int]:
    return [value for (value,) in connection.execute("SELECT number FROM numbers ORDER BY number")]


def stored(numbers: Numbers) -> list[int]:
    """What another connection sees."""
    connection = sqlite3.connect(numbers.path)
    try:
        return held(connection)
    finally:
        connection.close()


def add_and_raise(error: BaseException, value: int = 1_000) -> Operation:
    def operation(connection: sqlite3.Connection) -> None:
        add(value)(connection)
        raise error

    return operation


def outcomes_of_group(
    committer: Committer[sqlite3.Connection], operations: list[Operation], *, readers: tuple[int, ...] = ()
) -> list[object]:
    """What came of operations that were asked for while the thread was busy; errors as they were raised."""
    entered, gate = threading.Event(), threading.Event()
    results: list[object] = [None] * len(operations)

    def hold(_: sqlite3.Connection) -> None:
        entered.set()
        assert gate.wait(10)

    def run(index: int, operation: Operation) -> None:
        try:
            results[index] = committer.run(operation, writes=index not in readers)
        except BaseException as error:  # noqa: BLE001 - also what ends programs
            results[index] = error

    holder = threading.Thread(target=committer.run, args=(hold,), kwargs={"writes": False})
    holder.start()
    assert entered.wait(10)
    threads: list[threading.Thread] = []
    for index, operation in enumerate(operations):
        threads.append(threading.Thread(target=run, args=(index, operation)))
        threads[-1].start()
        while committer._queue.qsize() <= index:  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
            pass
    gate.set()
    for thread in (holder, *threads):
        thread.join(10)
        assert not thread.is_alive()
    return results


def test_what_returned_is_committed(committer: Committer[sqlite3.Connection], numbers: Numbers) -> None:
    assert committer.run(add(1, 2)) == 3
    assert stored(numbers) == [1, 2]


def test_operations_that_wait_are_committed_together(
    committer: Committer[sqlite3.Connection], numbers: Numbers
) -> None:
    committer.run(held, writes=False)
    before = numbers.commits
    assert outcomes_of_group(committer, [add(value) for value in range(100)]) == list(range(100))
    assert numbers.commits - before == 2  # that of the one that kept them waiting, and theirs
    assert stored(numbers) == list(range(100))


def test_a_group_is_bounded(committer: Committer[sqlite3.Connection], numbers: Numbers) -> None:
    before = numbers.commits
    outcomes_of_group(committer, [add(value) for value in range(300)])
    assert numbers.commits - before == 3
    assert len(stored(numbers)) == 300


def test_operations_take_place_in_the_order_in_which_they_were_asked_for(
    committer: Committer[sqlite3.Connection],
) -> None:
    assert outcomes_of_group(committer, [add(1), held, add(2), held]) == [1, [1], 2, [1, 2]]


@pytest.mark.parametrize("position", [0, 1, 50, 99])
def test_one_that_fails_takes_no_other_with_it(
    committer: Committer[sqlite3.Connection], numbers: Numbers, position: int
) -> None:
    operations: list[Operation] = [add(value) for value in range(100)]
    operations[position] = add_and_raise(ValueError("mine"))
    results = outcomes_of_group(committer, operations)
    assert isinstance(results[position], ValueError)
    others = [value for value in range(100) if value != position]
    assert [results[index] for index in others] == others
    assert stored(numbers) == others


def test_many_that_fail_are_told_their_own_failures(committer: Committer[sqlite3.Connection], numbers: Numbers) -> None:
    operations = [add(value) if value % 3 else add_and_raise(KeyError(value)) for value in range(60)]
    results = outcomes_of_group(committer, operations)
    assert [str(results[index]) for index in range(0, 60, 3)] == [str(index) for index in range(0, 60, 3)]
    assert stored(numbers) == [value for value in range(60) if value % 3]


def test_what_fails_in_the_database_is_told_as_a_store_error(committer: Committer[sqlite3.Connection]) -> None:
    committer.run(add(1))
    with pytest.raises(StoreError, match="UNIQUE constraint failed") as caught:
        committer.run(add(1))
    assert isinstance(caught.value.__cause__, sqlite3.IntegrityError)


@pytest.mark.parametrize("position", [0, 1, 6, 9])
def test_one_that_the_commit_refuses_takes_no_other_with_it(
    committer: Committer[sqlite3.Connection], numbers: Numbers, position: int
) -> None:
    operations = [add(value) for value in range(10)]
    operations[position] = add(-1)
    results = outcomes_of_group(committer, operations)
    assert "FOREIGN KEY constraint failed" in str(results[position])
    assert stored(numbers) == [value for value in range(10) if value != position]


def test_an_exception_that_ends_programs_ends_the_operation_alone(
    committer: Committer[sqlite3.Connection], numbers: Numbers
) -> None:
    with pytest.raises(SystemExit):
        committer.run(add_and_raise(SystemExit(3)))
    assert committer.run(add(1)) == 1
    assert stored(numbers) == [1]


def test_where_nothing_can_be_written_something_is_read(
    committer: Committer[sqlite3.Connection], numbers: Numbers
) -> None:
    committer.run(add(5))
    numbers.cannot_write = True
    first, read, second = outcomes_of_group(committer, [add(1), held, add(2)], readers=(1,))
    assert read == [5]
    assert "readonly" in str(first)
    assert "readonly" in str(second)
    assert first is not second
    numbers.cannot_write = False
    assert committer.run(add(1)) == 1


def test_a_connection_that_cannot_be_made_is_told_to_all_and_tried_again_for_the_next(numbers: Numbers) -> None:
    numbers.refusals = [sqlite3.OperationalError("no way")]
    committer = Committer(numbers, name="The numbers")
    with pytest.raises(StoreError, match="no way"):
        committer.run(add(1))
    assert committer.run(add(1)) == 1
    committer.close()


def test_what_was_asked_for_on_a_lost_connection_is_run_on_a_new_one(
    committer: Committer[sqlite3.Connection], numbers: Numbers
) -> None:
    committer.run(add(1))
    numbers.losses = 1
    assert outcomes_of_group(committer, [add(2), add(3)]) == [2, 3]
    assert numbers.connects == 2
    assert stored(numbers) == [1, 2, 3]


def test_a_database_with_a_fault_of_its_own_keeps_nobody_waiting(numbers: Numbers) -> None:
    class Faulty(Numbers):
        def is_lost(self, connection: sqlite3.Connection) -> bool:
            raise RuntimeError("I do not know")

    committer = Committer(Faulty(numbers.path), name="The numbers")
    results = outcomes_of_group(committer, [add(1), add(-1), add(2)])
    assert [str(error) for error in results] == ["I do not know"] * 3
    assert committer.run(add(3)) == 3
    assert stored(numbers) == [3]
    committer.close()


def test_what_loses_every_connection_is_told_so(numbers: Numbers) -> None:
    committer = Committer(numbers, name="The numbers")

    results = outcomes_of_group(committer, [add(1), lambda _: numbers.lose(), add(2)])
    assert results[::2] == [1, 2]
    assert "It said gone" in str(results[1])
    assert stored(numbers) == [1, 2]
    committer.close()


def test_what_was_lost_in_its_commit_is_in_doubt_and_not_run_again(
    committer: Committer[sqlite3.Connection], numbers: Numbers
) -> None:
    committer.run(add(1))
    numbers.losses, numbers.is_lost_in_commit = 1, True
    with pytest.raises(StoreError, match="may hold or not"):
        committer.run(add(2))
    assert committer.run(held, writes=False) == [1, 2]


async def awaited(committer: Committer[sqlite3.Connection], *values: int) -> list[object]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(committer.arun(add(value))) for value in values]
    return [task.result() for task in tasks]


def test_many_may_await_at_a_time(committer: Committer[sqlite3.Connection], numbers: Numbers) -> None:
    assert asyncio.run(awaited(committer, *range(100))) == list(range(100))
    assert stored(numbers) == list(range(100))


def test_awaiting_takes_no_worker_thread(committer: Committer[sqlite3.Connection]) -> None:
    before = threading.active_count()
    asyncio.run(awaited(committer, *range(100)))
    assert threading.active_count() == before


def test_an_operation_whose_await_was_cancelled_takes_place(
    committer: Committer[sqlite3.Connection], numbers: Numbers
) -> None:
    gate = threading.Event()

    def wait_and_add(connection: sqlite3.Connection) -> None:
        assert gate.wait(10)
        add(1)(connection)

    async def main() -> object:
        task = asyncio.create_task(committer.arun(wait_and_add))
        beside = asyncio.create_task(committer.arun(add(2)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gate.set()
        return await beside

    assert asyncio.run(main()) == 2
    assert stored(numbers) == [1, 2]


def test_a_loop_that_is_closed_before_its_answer_harms_nobody(
    committer: Committer[sqlite3.Connection], numbers: Numbers
) -> None:
    gate = threading.Event()

    def wait(_: sqlite3.Connection) -> None:
        assert gate.wait(10)

    loop = asyncio.new_event_loop()
    task = loop.create_task(committer.arun(wait))
    loop.run_until_complete(asyncio.sleep(0))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(task)
    loop.close()
    gate.set()
    assert committer.run(add(1)) == 1
    assert stored(numbers) == [1]


def test_several_loops_and_threads_may_ask_at_a_time(
    committer: Committer[sqlite3.Connection], numbers: Numbers
) -> None:
    def on_a_loop(base: int) -> None:
        asyncio.run(awaited(committer, *range(base, base + 20)))

    def on_a_thread(base: int) -> None:
        for value in range(base, base + 20):
            committer.run(add(value))

    threads = [
        threading.Thread(target=on_a_loop if index % 2 else on_a_thread, args=(index * 20,)) for index in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert stored(numbers) == list(range(160))


def test_closing_runs_what_was_asked_for_and_ends_the_thread(numbers: Numbers) -> None:
    committer = Committer(numbers, name="The numbers")

    async def ask() -> None:
        tasks = [asyncio.create_task(committer.arun(add(value))) for value in range(10)]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()

    asyncio.run(ask())
    committer.close()
    committer.close()
    assert stored(numbers) == list(range(10))
    assert numbers.closes == 1
    assert not [thread for thread in threading.enumerate() if thread.name == "surehand-committer"]


def test_a_closed_one_says_so(numbers: Numbers) -> None:
    committer = Committer(numbers, name="The numbers")
    committer.close()
    with pytest.raises(StoreError, match=r"The numbers is closed\. Open it anew"):
        committer.run(add(1))
    with pytest.raises(StoreError, match="The numbers is closed"):
        asyncio.run(committer.arun(add(1)))


@pytest.mark.parametrize("_round", range(20))
def test_who_asks_while_it_is_closed_gets_an_answer_or_is_told(numbers: Numbers, _round: int) -> None:
    committer = Committer(numbers, name="The numbers")
    told: list[object] = []

    def ask(value: int) -> None:
        try:
            told.append(committer.run(add(value)))
        except StoreError as error:
            told.append(error)

    threads = [threading.Thread(target=ask, args=(value,)) for value in range(8)]
    closers = [threading.Thread(target=committer.close) for _ in range(2)]
    mixed = [*threads[:4], *closers, *threads[4:]]
    for thread in mixed:
        thread.start()
    for thread in mixed:
        thread.join(10)
        assert not thread.is_alive()
    assert len(told) == 8
    assert sorted(value for value in told if isinstance(value, int)) == stored_or_nothing(numbers)


def stored_or_nothing(numbers: Numbers) -> list[int]:
    return stored(numbers) if numbers.connects else []


def test_a_rest_closes_the_connection_until_something_is_asked_for(
    committer: Committer[sqlite3.Connection], numbers: Numbers
) -> None:
    committer.run(add(1))
    committer.rest(10)
    assert numbers.closes == 1
    assert committer.run(held, writes=False) == [1]
    assert numbers.connects == 2


def test_what_lives_in_its_connection_takes_no_rest(committer: Committer[sqlite3.Connection], numbers: Numbers) -> None:
    numbers.outlives_connection = False
    committer.run(add(1))
    committer.rest(10)
    assert numbers.closes == 0


def test_one_that_is_forsaken_ends_when_nobody_wants_it(numbers: Numbers) -> None:
    committer = Committer(numbers, name="The numbers")
    committer.forsake(lambda: True)
    assert committer.run(add(1)) == 1
    committer.forsake(lambda: False)
    committer.close()
    with pytest.raises(StoreError, match="is closed"):
        committer.run(add(2))
    assert numbers.closes == 1


def test_its_own_thread_cannot_wait_for_it(committer: Committer[sqlite3.Connection]) -> None:
    with pytest.raises(StoreError, match="its own thread"):
        committer.run(lambda _: committer.run(held))


def test_a_thread_that_waits_keeps_nothing_alive(committer: Committer[sqlite3.Connection]) -> None:
    class Result:
        pass

    result: object = committer.run(lambda _: Result())
    gone = weakref.ref(result)
    del result
    gc.collect()
    assert gone() is None
