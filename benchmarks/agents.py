"""A whole agent run with a scripted model: one call, one answer."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import peers
from benchmarks.calls import forecast_sync
from benchmarks.harness import Case, Contender
from surehand import AIMessage, Message, create_agent, tool
from surehand.testing import FunctionModel

ARGS = {"city": "Oslo", "days": 3}


def reply(messages: list[Message]) -> AIMessage:
    """A call at first, then the end."""
    if messages[-1].type == "tool":
        return AIMessage("Done.")
    return AIMessage(tool_calls=[{"id": "c1", "name": "forecast_sync", "args": ARGS}])


def cases() -> Iterator[Case]:
    """The cases of this module."""
    ours = create_agent(FunctionModel(reply), [tool(forecast_sync)])
    contenders = [Contender(name="surehand create_agent", run=lambda: ours.invoke({"messages": [("user", "Go.")]}))]
    theirs = peers.agent(forecast_sync, "forecast_sync", ARGS) if peers.is_there() else None
    if theirs is not None:
        contenders.append(Contender(name="langchain create_agent", run=theirs))
    yield Case(
        title="an agent run with one call, scripted model, sync door",
        ours="surehand create_agent",
        contenders=tuple(contenders),
        rounds=60,
        goal="at most 200 µs",
    )
