"""A whole agent run with a scripted model: one call, one answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks import peers
from benchmarks.calls import forecast, forecast_sync
from benchmarks.harness import Case, Contender
from surehand import AIMessage, Message, create_agent, tool
from surehand.testing import FunctionModel

RUNS = 20
"""How many runs are timed together."""
ARGS = {"city": "Oslo", "days": 3}


def model(name: str) -> FunctionModel:
    """A call of the tool at first, then the end."""

    def reply(messages: list[Message]) -> AIMessage:
        if messages[-1].type == "tool":
            return AIMessage("Done.")
        return AIMessage(tool_calls=[{"id": "c1", "name": name, "args": ARGS}])

    return FunctionModel(reply)


def again(run: Callable[[], object]) -> Callable[[], object]:
    """The run, again and again, so that the clock has something to measure."""
    return lambda: [run() for _ in range(RUNS)]


def cases() -> Iterator[Case]:
    """The cases of this module."""
    agent = create_agent(model("forecast_sync"), [tool(forecast_sync)])
    on_loop = create_agent(model("forecast"), [tool(forecast)])
    ours = again(lambda: agent.invoke({"messages": [("user", "Go.")]}))
    without_threads = again(lambda: on_loop.invoke({"messages": [("user", "Go.")]}))
    contenders = [
        Contender(name="surehand create_agent", run=ours, calls=RUNS),
        Contender(name="surehand create_agent, asynchronous tool", run=without_threads, calls=RUNS),
    ]
    theirs = peers.agent(forecast_sync, "forecast_sync", ARGS) if peers.is_there() else None
    if theirs is not None:
        contenders.append(Contender(name="langchain create_agent", run=again(theirs), calls=RUNS))
    yield Case(
        title="an agent run with one call, scripted model, sync door",
        ours="surehand create_agent",
        contenders=tuple(contenders),
        rounds=20,
        goal="at most 200 µs",
    )
