"""A whole agent run with a scripted model: one call, one answer; bare, and with middlewares around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks import peers
from benchmarks.calls import forecast, forecast_sync
from benchmarks.harness import Case, Contender
from surehand import AgentMiddleware, AIMessage, Message, create_agent, tool
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


class Hook(AgentMiddleware[Any]):
    """A step before each request that does nothing."""

    def __init__(self, number: int) -> None:
        self.name = f"hook {number}"

    async def before_model(self, state: Any, runtime: Any) -> None:
        """Do nothing."""


class Wrapper(AgentMiddleware[Any]):
    """A way around each request that does nothing."""

    def __init__(self, number: int) -> None:
        self.name = f"wrapper {number}"

    async def wrap_model_call(self, request: Any, handler: Any) -> Any:
        """Do nothing."""
        return await handler(request)


def again(run: Callable[[], object]) -> Callable[[], object]:
    """The run, again and again, so that the clock has something to measure."""
    return lambda: [run() for _ in range(RUNS)]


def cases() -> Iterator[Case]:
    """The cases of this module."""
    agent = create_agent(model("forecast_sync"), [tool(forecast_sync)])
    on_loop = create_agent(model("forecast"), [tool(forecast)])
    ours = again(lambda: agent.invoke({"messages": [("user", "Go.")]}))
    without_threads = again(lambda: on_loop.invoke({"messages": [("user", "Go.")]}))
    layered = {
        "5 hooks before the model": create_agent(
            model("forecast"), [tool(forecast)], middleware=[Hook(number) for number in range(5)]
        ),
        "5 wrappers around the model": create_agent(
            model("forecast"), [tool(forecast)], middleware=[Wrapper(number) for number in range(5)]
        ),
    }
    contenders = [
        Contender(name="surehand create_agent", run=ours, calls=RUNS),
        Contender(name="surehand create_agent, asynchronous tool", run=without_threads, calls=RUNS),
        *(
            Contender(name=f"the same, {name}", run=again(partial(one.invoke, {"messages": "Go."})), calls=RUNS)
            for name, one in layered.items()
        ),
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
