"""Programs that are killed with SIGKILL in the middle of a run, and started again.

The program is ``support.kill_program``: thirty calls in six turns, with effects in a ledger of their own. What has to
hold when it has ended is in ``support.kill_verdict``. A round is repeated by its seed, which a failure names.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Generator
from itertools import count
from pathlib import Path
from typing import Final

import pytest

from support.kill_orders import POINTS, Order, Point, Store
from support.kill_yard import Yard, play, play_in_time
from support.postgres import PostgresServer, postgres_server

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL, and no fork")

STORES: Final[tuple[Store, ...]] = ("sqlite", "postgres")
_TAKES: Final = 0.3
"""About the seconds that an undisturbed run takes."""
_numbers = count(1)


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


def order_for(store: Store, folder: Path, request: pytest.FixtureRequest) -> Order:
    """An order for a thread of its own."""
    name = f"thread-{next(_numbers)}"
    place = str(folder / f"{name}.db") if store == "sqlite" else request.getfixturevalue("database")
    return Order(store=store, place=place, ledger=str(folder / f"{name}.ledger"), thread_id=name)


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("store", STORES)
def test_a_run_that_is_killed_at_a_point_goes_on_without_doing_anything_twice(
    store: Store, point: Point, yard: Yard, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    for number in range(3):
        play(yard, order_for(store, tmp_path, request), point, f"{store}, {point}, {number}")


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("store", STORES)
def test_so_do_twenty_at_each_point(
    store: Store, point: Point, yard: Yard, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    for _ in range(20):
        play(yard, order_for(store, tmp_path, request), point, secrets.token_hex(8))


@pytest.mark.parametrize("store", STORES)
def test_a_run_that_is_killed_at_any_time_goes_on_without_doing_anything_twice(
    store: Store, yard: Yard, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    for number in range(3):
        play_in_time(yard, order_for(store, tmp_path, request), f"{store}, {number}", takes=_TAKES)


@pytest.mark.slow
@pytest.mark.parametrize("store", STORES)
def test_so_do_forty_that_are_killed_at_any_time(
    store: Store, yard: Yard, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    for _ in range(40):
        play_in_time(yard, order_for(store, tmp_path, request), secrets.token_hex(8), takes=_TAKES)
