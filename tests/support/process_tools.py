"""Tools that tests run in processes of their own; apart from the plain functions, whose module is quick to import."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from typing import Annotated, Any

from surehand import InjectedState, InjectedStore, InjectedToolArg, ToolContext, ToolException, tool

__all__ = ["double", "dying", "flaky", "hanging", "reaching", "seeing", "slow_items", "storing"]


@tool
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


@tool(isolation="process")
def seeing(
    word: str,
    context: ToolContext,
    topic: Annotated[str, InjectedState("topic")],
    deps: Annotated[Any, InjectedToolArg],
) -> dict[str, Any]:
    """Tell what the body sees of its call."""
    context.progress(f"seeing {word}")
    context.heartbeat()
    return {
        "pid": os.getpid(),
        "call_id": context.call_id,
        "tool_name": context.tool_name,
        "key": context.idempotency_key,
        "left": 0 if context.deadline is None else context.deadline - time.monotonic(),
        "state": type(context.state).__name__,
        "topic": topic,
        "deps": deps,
    }


@tool(isolation="process")
def storing(store: Annotated[Any, InjectedStore()]) -> str:
    """Want a store."""
    return repr(store)


@tool(isolation="process")
def reaching(context: ToolContext) -> str:
    """Want a store when it is too late."""
    return str(context.store.get(("notes",), "a"))


@tool(isolation="process")
async def flaky(context: ToolContext) -> str:
    """Fail once."""
    if context.attempt == 1:
        raise ToolException("busy", retryable=True, retry_after=0.01)
    return f"attempt {context.attempt}"


@tool(isolation="process")
def dying() -> None:
    """Crash."""
    os.kill(os.getpid(), signal.SIGKILL)


@tool(isolation="process", timeout=0.3)
def hanging(context: ToolContext) -> None:
    """Ignore what can be ignored and never end."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    context.progress(os.getpid())
    while True:
        pass


@tool(isolation="process", idle_timeout=0.3)
def slow_items() -> Iterator[str]:
    """Yield two items, and then nothing for long."""
    yield "first"
    yield "second"
    time.sleep(30)
