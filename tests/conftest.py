"""How all tests run, and the server that some of them share."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator
from compileall import compile_dir
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from support.postgres import PostgresServer

# no deadline, also for making examples: a busy machine is no failure; the same examples every time where a change is
# judged by them
settings.register_profile(
    "surehand",
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("surehand")


def pytest_sessionstart() -> None:
    """Compile the package once where Python keeps nothing that it compiled: every program of a test would do so."""
    package = find_spec("surehand")
    if sys.dont_write_bytecode and package is not None:
        for folder in package.submodule_search_locations or ():
            compile_dir(folder, quiet=2)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give slow tests time, also on a slow machine; each of them may set its own."""
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(600))


def pytest_collection_finish() -> None:
    """Leave thousands of tests out of every search for garbage: nothing of them is any, and each test starts some."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def postgres() -> Generator[PostgresServer, None, None]:
    """A PostgreSQL server for all tests that leave it running; started for the first of them."""
    from support.postgres import postgres_server  # noqa: PLC0415 - most runs need no driver

    with postgres_server() as server:
        yield server
