"""From argument text to tool message: a turn of many async calls, and one sync call at the sync door."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from pydantic import BaseModel

from benchmarks import peers
from benchmarks.harness import Case, Contender
from surehand import AIMessage, ToolNode, tool

TURN = 500
SINGLE = 50
"""How often the single call is made in one run, so that the clock has something to measure."""
ARGUMENTS = '{"city": "Oslo", "days": 3}'


class Forecast(BaseModel):
    """The arguments, for the floor."""

    city: str
    days: int


async def forecast(city: str, days: int) -> dict[str, Any]:
    """Forecast the weather of a city.

    Args:
        city: The city's name.
        days: How many days.
    """
    return {"city": city, "days": days}


def forecast_sync(city: str, days: int) -> dict[str, Any]:
    """Forecast the weather of a city.

    Args:
        city: The city's name.
        days: How many days.
    """
    return {"city": city, "days": days}


def raw_calls(name: str, count: int) -> list[tuple[str, str, str]]:
    """The calls as they come from a provider: id, name, argument text."""
    return [(f"call_{number}", name, ARGUMENTS) for number in range(count)]


def our_message(calls: list[tuple[str, str, str]]) -> AIMessage:
    """Our message of raw calls; argument text is read when it is built."""
    return AIMessage(tool_calls=[{"id": id, "name": name, "args": args} for id, name, args in calls])


async def floor_turn(calls: list[tuple[str, str, str]]) -> list[str]:
    """The least that any program has to do: read, validate, run in a task of its own with a time limit, write."""

    async def one(args: str) -> str:
        values = Forecast.model_validate(json.loads(args))
        async with asyncio.timeout(300):
            result = await forecast(values.city, values.days)
        return json.dumps(result)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(args)) for _, _, args in calls]
    return [task.result() for task in tasks]


def in_loop(runner: asyncio.Runner, make: Callable[[], Awaitable[object]]) -> Callable[[], object]:
    """A run that awaits in a loop kept for all contenders."""

    async def body() -> object:
        return await make()

    return lambda: runner.run(body())


def turn_case(runner: asyncio.Runner) -> Case:
    """Many async calls in one turn."""
    calls = raw_calls("forecast", TURN)
    node = ToolNode([tool(forecast)])
    contenders = [
        Contender(name="the floor", run=in_loop(runner, lambda: floor_turn(calls)), calls=TURN),
        Contender(
            name="surehand ToolNode", run=in_loop(runner, lambda: node.ainvoke([our_message(calls)])), calls=TURN
        ),
    ]
    if peers.is_there():
        theirs = peers.turn(forecast, calls)
        contenders.append(Contender(name="langgraph ToolNode", run=in_loop(runner, theirs), calls=TURN))
    return Case(
        title=f"{TURN} async no-op calls in one turn, per call",
        ours="surehand ToolNode",
        contenders=tuple(contenders),
        rounds=20,
        goal="at most 30 µs and 3 x the floor; at least 5 x faster than LangGraph",
    )


def floor_single(calls: list[tuple[str, str, str]]) -> list[str]:
    """Read, validate, run, write: without a time limit, a task or a loop."""
    results: list[str] = []
    for _, _, args in calls:
        values = Forecast.model_validate(json.loads(args))
        results.append(json.dumps(forecast_sync(values.city, values.days)))
    return results


def one_by_one(node: ToolNode, calls: list[tuple[str, str, str]]) -> Callable[[], object]:
    """Each call as a turn of its own, through the sync door."""
    return lambda: [node.invoke([our_message([call])]) for call in calls]


def single_case() -> Case:
    """One sync call at the sync door, again and again."""
    calls = raw_calls("forecast_sync", SINGLE)
    contenders = [
        Contender(name="the floor (no loop, no limit)", run=lambda: floor_single(calls), calls=SINGLE),
        Contender(
            name="surehand ToolNode, timeout=None",
            run=one_by_one(ToolNode([tool(forecast_sync)], timeout=None), calls),
            calls=SINGLE,
        ),
        Contender(
            name="surehand ToolNode, timeout armed",
            run=one_by_one(ToolNode([tool(forecast_sync)]), calls),
            calls=SINGLE,
        ),
    ]
    if peers.is_there():
        contenders.append(
            Contender(name="langgraph ToolNode", run=peers.one_by_one(forecast_sync, calls), calls=SINGLE)
        )
    return Case(
        title="one sync tool, one call, sync door",
        ours="surehand ToolNode, timeout armed",
        contenders=tuple(contenders),
        goal="at most 60 µs without a timeout, 150 µs with one",
    )


def cases(runner: asyncio.Runner) -> Iterator[Case]:
    """The cases of this module."""
    yield turn_case(runner)
    yield single_case()
