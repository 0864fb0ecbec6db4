from __future__ import annotations

import asyncio

from surehand.models.clients import LoopClients


class Client:
    """Remembers whether it was closed, and in which loop it lives."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.is_closed = False

    async def close(self) -> None:
        assert asyncio.get_running_loop() is self.loop
        self.is_closed = True


async def _close(client: Client) -> None:
    await client.close()


def test_one_loop_has_one_client_for_one_configuration() -> None:
    clients = LoopClients(_close)

    async def use() -> list[Client]:
        return [await clients.get("key", Client), await clients.get("key", Client), await clients.get("other", Client)]

    first, second, third = asyncio.run(use())
    assert first is second
    assert third is not first


def test_a_client_is_closed_in_its_loop_when_the_loop_ends() -> None:
    clients = LoopClients(_close)
    client = asyncio.run(clients.get("key", Client))
    assert client.is_closed


def test_each_loop_has_a_client_of_its_own() -> None:
    clients = LoopClients(_close)
    assert asyncio.run(clients.get("key", Client)) is not asyncio.run(clients.get("key", Client))


def test_a_client_can_be_closed_before_its_loop_ends() -> None:
    clients = LoopClients(_close)

    async def use() -> tuple[Client, Client]:
        first = await clients.get("key", Client)
        await clients.aclose("key")
        await clients.aclose("key")
        return first, await clients.get("key", Client)

    first, second = asyncio.run(use())
    assert first.is_closed
    assert second is not first


def test_loops_that_were_torn_down_without_care_are_forgotten() -> None:
    clients = LoopClients(_close)
    loop = asyncio.new_event_loop()
    loop.run_until_complete(clients.get("key", Client))
    loop.close()
    asyncio.run(clients.get("key", Client))
    assert len(clients) == 0
