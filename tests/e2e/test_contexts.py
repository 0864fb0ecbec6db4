"""Context variables: a tool sees its caller's, whatever it runs on; nobody sees what it sets."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import Any

import pytest

from surehand import AIMessage, MessagesState, RetryPolicy, StateGraph, ToolContext, ToolNode, create_agent, tool
from surehand.events import Event
from surehand.testing import ScriptedModel

user: contextvars.ContextVar[str] = contextvars.ContextVar("user", default="nobody")


def _turn(name: str, count: int = 1) -> AIMessage:
    return AIMessage(tool_calls=[{"id": f"c{n}", "name": name, "args": {"n": n}} for n in range(count)])


def _seen(n: int) -> str:
    """What the variable held; another value is set for whoever would see it."""
    found = user.get()
    user.set(f"set by {n}")
    return found


@tool
def sync_tool(n: int) -> str:
    """Read the variable on a thread."""
    return _seen(n)


@tool(timeout=None)
def inline_tool(n: int) -> str:
    """Read the variable in the caller's thread, where it is called alone."""
    return _seen(n)


@tool
async def async_tool(n: int) -> str:
    """Read the variable on the loop."""
    await asyncio.sleep(0)
    found = _seen(n)
    await asyncio.sleep(0)
    assert user.get() == f"set by {n}"
    return found


@tool
async def async_tool_in_threads(n: int) -> str:
    """Read the variable in a thread of asyncio's own."""
    return await asyncio.to_thread(_seen, n)


@tool
def tool_of_items(n: int) -> Any:
    """Read the variable while items are asked for."""
    yield _seen(n)


TOOLS = [sync_tool, inline_tool, async_tool, async_tool_in_threads]


def _by_sync_door(given: Any, count: int) -> list[str]:
    user.set("caller")
    answers = ToolNode([given]).invoke([_turn(given.name, count)])
    assert user.get() == "caller"
    return [answer.text for answer in answers]


def _by_async_door(given: Any, count: int) -> list[str]:
    async def main() -> list[str]:
        user.set("caller")
        answers = await ToolNode([given]).ainvoke([_turn(given.name, count)])
        assert user.get() == "caller"
        return [answer.text for answer in answers]

    return asyncio.run(main())


def _through_a_graph(given: Any, count: int) -> list[str]:
    user.set("caller")
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode([given]))
    graph.set_entry_point("tools")
    answers = graph.compile().invoke({"messages": [_turn(given.name, count)]})["messages"][1:]
    assert user.get() == "caller"
    return [answer.text for answer in answers]


def _through_an_agent(given: Any, count: int) -> list[str]:
    user.set("caller")
    agent = create_agent(ScriptedModel([_turn(given.name, count), AIMessage("done")]), [given])
    answers = agent.invoke({"messages": [("user", "go")]})["messages"][2:-1]
    assert user.get() == "caller"
    return [answer.text for answer in answers]


@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("given", TOOLS, ids=lambda given: str(given.name))
@pytest.mark.parametrize("way", [_by_sync_door, _by_async_door, _through_a_graph, _through_an_agent])
def test_every_tool_sees_its_callers_variables_and_sets_them_for_itself_alone(
    way: Callable[[Any, int], list[str]], given: Any, count: int
) -> None:
    assert contextvars.copy_context().run(way, given, count) == ["caller"] * count


@pytest.mark.parametrize("way", [_by_sync_door, _by_async_door])
def test_items_are_asked_for_in_the_context_of_their_call(way: Callable[[Any, int], list[str]]) -> None:
    assert contextvars.copy_context().run(way, tool_of_items, 3) == ['["caller"]'] * 3


def test_turns_that_run_at_the_same_time_do_not_mix() -> None:
    node = ToolNode([sync_tool, async_tool])

    async def ask(name: str, who: str) -> list[str]:
        user.set(who)
        return [answer.text for answer in await node.ainvoke([_turn(name, 3)])]

    async def main() -> list[list[str]]:
        async with asyncio.TaskGroup() as tasks:
            asked = [tasks.create_task(ask(name, f"{name} {n}")) for name in node.tools_by_name for n in range(20)]
        return [task.result() for task in asked]

    wanted = [[f"{name} {n}"] * 3 for name in node.tools_by_name for n in range(20)]
    assert asyncio.run(main()) == wanted


def test_calls_from_many_threads_do_not_mix() -> None:
    node = ToolNode([sync_tool, async_tool])
    found: dict[str, list[str]] = {}

    def ask(who: str) -> None:
        user.set(who)
        found[who] = [answer.text for answer in node.invoke([_turn("sync_tool", 2)])]
        found[who] += [answer.text for answer in node.invoke([_turn("async_tool", 2)])]

    threads = [threading.Thread(target=ask, args=(f"thread {n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {f"thread {n}": [f"thread {n}"] * 4 for n in range(8)}


@pytest.mark.parametrize("is_async", [False, True])
def test_each_attempt_of_a_call_sees_the_callers_variables(*, is_async: bool) -> None:
    seen: list[str] = []

    def body(context: ToolContext) -> str:
        """Fail once."""
        seen.append(user.get())
        if context.attempt == 1:
            raise ConnectionError
        return "ok"

    async def abody(context: ToolContext) -> str:
        """Fail once."""
        return body(context)

    policy = RetryPolicy(initial_interval=0.001, retry_on=ConnectionError)
    given = tool("body", retry=policy, read_only=True)(abody if is_async else body)
    turn = AIMessage(tool_calls=[{"id": "c", "name": "body", "args": {}}])
    contextvars.copy_context().run(lambda: (user.set("caller"), ToolNode([given]).invoke([turn])))
    assert seen == ["caller", "caller"]


def test_a_listener_and_a_middleware_see_the_callers_variables_too() -> None:
    seen: list[str] = []

    def listener(event: Event) -> None:
        seen.append(user.get())

    def middleware(request: Any, run: Any) -> Any:
        seen.append(user.get())
        return run(request)

    def ask() -> None:
        user.set("caller")
        ToolNode([async_tool, sync_tool], listener=listener, middleware=[middleware]).invoke([_turn("sync_tool", 2)])

    contextvars.copy_context().run(ask)
    assert set(seen) == {"caller"}
