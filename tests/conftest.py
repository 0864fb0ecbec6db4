"""How all tests run, and the server that some of them share."""

from __future__ import annotations

import os
from collections.abc import Generator
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


@pytest.fixture(scope="session")
def postgres() -> Generator[PostgresServer, None, None]:
    """A PostgreSQL server for all tests that leave it running; started for the first of them."""
    from support.postgres import postgres_server  # noqa: PLC0415 - most runs need no driver

    with postgres_server() as server:
        yield server
