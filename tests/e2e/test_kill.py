"""Programs that are killed with SIGKILL in the middle of a run, and started again.

The program is ``support.kill_program``: thirty calls in six turns, with effects in a ledger of their own. What has to
hold when it has ended is in ``support.kill_verdict``. A round is repeated by its seed, which a failure names.
"""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Callable, Generator
from itertools import count
from pathlib import Path
from typing import Final

import pytest

from support.kill_orders import POINTS, Order, Point, Store
from support.kill_yard import Yard, play, play_crash, play_frozen, play_in_time, play_together
from support.postgres import PostgresServer, postgres_server

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL, and no fork")

STORES: Final[tuple[Store, ...]] = ("sqlite", "postgres")
Orders = Callable[[Store], Order]

_numbers = count(1)

at_each_point = pytest.mark.parametrize("point", POINTS)
on_each_store = pytest.mark.parametrize("store", STORES)


@pytest.fixture(scope="module")
def yard() -> Generator[Yard, None, None]:
    with Yard() as made:
        yield made


@pytest.fixture(scope="module")
def server() -> Generator[PostgresServer, None, None]:
    with postgres_server() as started:
        yield started


@pytest.fixture(scope="module")
def database(server: PostgresServer) -> str:
    return server.make_database()


@pytest.fixture
def orders(tmp_path: Path, request: pytest.FixtureRequest) -> Orders:
    """Makes orders, each for a thread of its own."""

    def made(store: Store) -> Order:
        name = f"thread-{next(_numbers)}"
        place = str(tmp_path / f"{name}.db") if store == "sqlite" else request.getfixturevalue("database")
        return Order(store=store, place=place, ledger=str(tmp_path / f"{name}.ledger"), thread_id=name)

    return made


@pytest.fixture(scope="module")
def takes(yard: Yard, tmp_path_factory: pytest.TempPathFactory) -> float:
    """Seconds that a run takes here that nobody disturbs."""
    place = tmp_path_factory.mktemp("takes")
    begun = time.monotonic()
    pid = yard.start(Order(store="sqlite", place=str(place / "db"), ledger=str(place / "ledger"), thread_id="t"))
    assert yard.wait(pid) == 0
    return time.monotonic() - begun


@on_each_store
@at_each_point
def test_killed_at_a_point_a_run_goes_on_and_does_nothing_twice(
    store: Store, point: Point, yard: Yard, orders: Orders
) -> None:
    for number in range(3):
        play(yard, orders(store), point, f"{store}, {point}, {number}")


@pytest.mark.slow
@pytest.mark.timeout(1_200)
@on_each_store
@at_each_point
def test_so_do_twenty_at_each_point(store: Store, point: Point, yard: Yard, orders: Orders) -> None:
    for _ in range(20):
        play(yard, orders(store), point, secrets.token_hex(8))


@on_each_store
def test_killed_at_any_time_a_run_goes_on_and_does_nothing_twice(
    store: Store, yard: Yard, orders: Orders, takes: float
) -> None:
    for number in range(3):
        play_in_time(yard, orders(store), f"{store}, {number}", takes=takes)


@pytest.mark.slow
@pytest.mark.timeout(1_200)
@on_each_store
def test_so_do_forty_that_are_killed_at_any_time(store: Store, yard: Yard, orders: Orders, takes: float) -> None:
    for _ in range(40):
        play_in_time(yard, orders(store), secrets.token_hex(8), takes=takes)


@on_each_store
def test_of_two_processes_that_go_on_with_one_thread_one_wins_and_nothing_happens_twice(
    store: Store, yard: Yard, orders: Orders, takes: float
) -> None:
    for number in range(3):
        play_together(yard, orders(store), f"{store}, {number}", takes=takes)


@pytest.mark.slow
@pytest.mark.timeout(1_200)
@on_each_store
def test_so_do_forty_pairs_of_processes(store: Store, yard: Yard, orders: Orders, takes: float) -> None:
    for _ in range(40):
        play_together(yard, orders(store), secrets.token_hex(8), takes=takes)


@on_each_store
def test_a_process_that_wakes_up_when_another_has_gone_on_with_its_run_does_nothing_twice(
    store: Store, yard: Yard, orders: Orders, takes: float
) -> None:
    for number in range(2):
        play_frozen(yard, orders(store), f"{store}, {number}", takes=takes)


@pytest.mark.slow
@pytest.mark.timeout(1_200)
@on_each_store
def test_so_do_forty_that_wake_up(store: Store, yard: Yard, orders: Orders, takes: float) -> None:
    for _ in range(40):
        play_frozen(yard, orders(store), secrets.token_hex(8), takes=takes)


def test_a_run_whose_server_crashes_goes_on_and_does_nothing_twice(
    server: PostgresServer, yard: Yard, orders: Orders, takes: float
) -> None:
    for number in range(3):
        play_crash(yard, orders("postgres"), f"{number}", takes=takes, crash=server.restart)
