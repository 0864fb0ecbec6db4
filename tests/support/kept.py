"""A node of tools in a graph that is kept, run through either door."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from support.turns import turn
from surehand import END, START, HumanMessage, Interrupt, MessagesState, StateGraph, ToolMessage, ToolNode
from surehand.checkpoints import Checkpointer
from surehand.checkpoints.memory import MemorySaver

__all__ = ["THREAD", "Door", "answers_in", "by_both_doors", "kept", "questions_in", "turn_of"]

THREAD: Any = {"configurable": {"thread_id": "t"}}

Door = Callable[[Any, Any], dict[str, Any]]
"""Runs a graph with an input in the thread ``t``."""


def _sync(graph: Any, given: Any) -> dict[str, Any]:
    state: dict[str, Any] = graph.invoke(given, THREAD)
    return state


def _async(graph: Any, given: Any) -> dict[str, Any]:
    state: dict[str, Any] = asyncio.run(graph.ainvoke(given, THREAD))
    return state


by_both_doors = pytest.mark.parametrize("run", [_sync, _async], ids=["sync", "async"])


def kept(*tools: Any, saver: Checkpointer | None = None, retry: Any = None, **options: Any) -> Any:
    """A graph of one node with these tools, kept in memory if nothing else is said."""
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode(list(tools), **options), retry=retry)
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    return graph.compile(checkpointer=MemorySaver() if saver is None else saver)


def turn_of(*calls: str | tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """The input of a graph: a turn with these calls, whose ids are c0, c1, …"""
    return {"messages": [HumanMessage("go"), turn(*calls)]}


def questions_in(state: dict[str, Any]) -> list[Interrupt]:
    """What the run waits for."""
    return list(state.get("__interrupt__", ()))


def answers_in(state: dict[str, Any]) -> list[ToolMessage]:
    """The answers of the calls."""
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]
