"""Streams of random runs: what is told adds up to what was reached, through either door."""

from __future__ import annotations

import asyncio
import operator
import threading
from functools import reduce
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from surehand import START, AIMessage, AIMessageChunk, MessagesState, StateGraph
from surehand.graph.live import Entry, Outbox
from surehand.messages import ToolCallChunk
from surehand.testing import ScriptedModel

texts = st.text(max_size=5)


@st.composite
def fragments(draw: st.DrawFn) -> list[ToolCallChunk]:
    """Pieces of the arguments of one call, or nothing."""
    if draw(st.booleans()):
        return []
    index = draw(st.integers(0, 2))
    return [
        {
            "type": "tool_call_chunk",
            "index": index,
            "id": f"c{index}",
            "name": f"tool{index}",
            "args": draw(st.sampled_from(['{"a": 1}', "{", "}", "", '{"a"'])),
        }
    ]


@st.composite
def replies(draw: st.DrawFn) -> list[AIMessageChunk]:
    """A reply in pieces, with restarts in between."""
    made = [
        AIMessageChunk(
            draw(texts), tool_call_chunks=draw(fragments()), is_restart=draw(st.sampled_from([False] * 5 + [True]))
        )
        for _ in range(draw(st.integers(0, 6)))
    ]
    return [*made, AIMessageChunk(response_metadata={"finish_reason": draw(st.sampled_from(["stop", "tool_calls"]))})]


def taken(pieces: list[AIMessageChunk], door: str) -> list[Any]:
    model = ScriptedModel([pieces])
    graph = StateGraph(MessagesState).add_node("model", model).add_edge(START, "model").compile()
    if door == "sync":
        return list(graph.stream("hi", stream_mode=["messages", "values"]))

    async def main() -> list[Any]:
        return [item async for item in graph.astream("hi", stream_mode=["messages", "values"])]

    return asyncio.run(main())


def shown(message: AIMessage) -> tuple[Any, ...]:
    """What a message says; a call that repeats the id of another one gets a new id in each sum."""
    calls = [(call["name"], call["args"]) for call in message.tool_calls]
    return message.id, message.content, calls, message.response_metadata


@given(pieces=replies())
def test_the_pieces_that_are_told_add_up_to_the_message_that_is_kept(pieces: list[AIMessageChunk]) -> None:
    for door in ("sync", "async"):
        items = taken(pieces, door)
        told = [item[0] for mode, item in items if mode == "messages"]
        assert [piece.text for piece in told] == [piece.text for piece in pieces]
        assert shown(reduce(operator.add, told).to_message()) == shown(items[-1][1]["messages"][-1])


def put(box: Outbox, name: str, number: int) -> None:
    for each in range(number):
        box.put(Entry("custom", (), (name, each)), may_drop=True)


async def aput(box: Outbox, name: str, number: int) -> None:
    for each in range(number):
        box.put(Entry("messages", (), (name, each)))
        await box.room()


async def put_together(box: Outbox, threads: list[int], awaiting: list[int]) -> None:
    """Put items from threads and from coroutines at a time."""
    started = [threading.Thread(target=put, args=(box, f"t{n}", number)) for n, number in enumerate(threads)]
    for thread in started:
        thread.start()
    async with asyncio.TaskGroup() as tasks:
        for n, number in enumerate(awaiting):
            tasks.create_task(aput(box, f"a{n}", number))
    for thread in started:
        await asyncio.to_thread(thread.join)


@given(
    size=st.integers(1, 20),
    threads=st.lists(st.integers(0, 60), max_size=3),
    awaiting=st.lists(st.integers(0, 60), max_size=3),
    pauses=st.lists(st.booleans(), min_size=1, max_size=10),
)
def test_nothing_is_missing_of_what_can_wait_and_each_comes_in_its_order(
    size: int, threads: list[int], awaiting: list[int], pauses: list[bool]
) -> None:
    async def main() -> list[tuple[str, int]]:
        box, items = Outbox(size), list[tuple[str, int]]()
        work = box.start(put_together(box, threads, awaiting))
        while batch := await box.take():
            items += [entry.item for entry in batch]
            await asyncio.sleep(0 if pauses[len(items) % len(pauses)] else 0.0001)
        await work
        return items

    items = asyncio.run(main())
    numbers = {f"t{n}": number for n, number in enumerate(threads)}
    numbers |= {f"a{n}": number for n, number in enumerate(awaiting)}
    for name, number in numbers.items():
        assert [each for who, each in items if who == name] == list(range(number))
    assert len(items) == sum(numbers.values())
