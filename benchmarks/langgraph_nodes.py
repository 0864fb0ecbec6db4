"""LangGraph's node of tools and ours for LangGraph, with the same LangChain tool; and ours with a tool of ours."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks import peers
from benchmarks.calls import forecast, forecast_sync, in_loop, raw_calls
from benchmarks.harness import Case, Contender
from surehand import tool

COUNTS = (1, 10, 200)
THEIRS = "langgraph ToolNode, LangChain tool"
OURS = "surehand ToolNode, LangChain tool"
COMPAT = "the same, compat='langgraph'"
OWN = "surehand ToolNode, own tool"


def cases(runner: asyncio.Runner) -> Iterator[Case]:
    """The cases of this module; none where the peers are not installed."""
    if not peers.is_there():
        return
    for function in (forecast_sync, forecast):
        for is_in_graph in (False, True):
            for count in COUNTS:
                yield _case(runner, function, count=count, is_in_graph=is_in_graph)
    yield _case(runner, forecast_sync, count=1, is_in_graph=False, older=50)


def _case(
    runner: asyncio.Runner, function: Callable[..., Any], *, count: int, is_in_graph: bool, older: int = 0
) -> Case:
    """One turn of so many calls, after so many older turns."""
    is_async = inspect.iscoroutinefunction(function)
    door = "async" if is_async else "sync"
    place = "in a LangGraph graph" if is_in_graph else "by itself"
    before = f", {older} turns before" if older else ""
    calls = raw_calls(function.__name__, count)
    contenders: list[Contender] = []
    for name, node in _nodes(function).items():
        turn = peers.graph_turn if is_in_graph else peers.node_turn
        run: Any = turn(node, function.__name__, calls, older=older, is_async=is_async)
        contenders.append(Contender(name=name, run=in_loop(runner, run) if is_async else run, calls=count))
    return Case(
        title=f"{count} {door} no-op call(s) in one turn, node {place}{before}, per call",
        ours=OURS,
        contenders=tuple(contenders),
        goal="not slower than LangGraph's",
    )


def _nodes(function: Callable[..., Any]) -> dict[str, Any]:
    from surehand.integrations.langchain import ToolNode  # noqa: PLC0415 - needs an optional peer

    foreign = peers.langchain_tool(function)
    return {
        THEIRS: peers.node(function),
        OURS: ToolNode([foreign]),
        COMPAT: ToolNode([foreign], compat="langgraph"),
        OWN: ToolNode([tool(function)]),
    }
