"""What a middleware can be, and what it is given."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from support.turns import turn
from surehand import AIMessage, OptionError, ToolCallRequest, ToolNode, tool
from surehand.calls import as_middleware


@tool(read_only=True)
def search(query: str, limit: int = 10) -> str:
    """Search."""
    return f"{query} {limit}"


def passing(request: Any, run: Any) -> Any:
    return run(request)


async def passing_async(request: Any, run: Any) -> Any:
    return await run(request)


class Both:
    def wrap_tool_call(self, request: Any, run: Any) -> Any:
        return run(request)

    async def awrap_tool_call(self, request: Any, run: Any) -> Any:
        return await run(request)


class CalledAsync:
    async def __call__(self, request: Any, run: Any) -> Any:
        return await run(request)


def narrow(request: Any) -> Any:
    return request


def request_of(message: AIMessage, **options: Any) -> ToolCallRequest:
    seen: list[ToolCallRequest] = []

    def keep(request: ToolCallRequest, run: Any) -> Any:
        seen.append(request)
        return run(request)

    state = {"messages": [message], "user": "ann"}
    config: Any = {"configurable": {"thread_id": "t"}}
    ToolNode([search], middleware=[keep], **options).invoke(state, config, context={"tenant": 7})
    return seen[0]


@pytest.mark.parametrize("given", [passing, partial(passing), passing_async, CalledAsync(), Both()])
def test_functions_and_objects_are_middlewares(given: Any) -> None:
    [answer] = ToolNode([search], middleware=[given]).invoke([turn(("search", {"query": "a"}))])
    assert answer.content == "a 10"


@pytest.mark.parametrize(
    "given",
    [None, "audit", 3, Both, narrow, object()],
    ids=lambda value: str(value)[:20],
)
def test_anything_else_is_refused_when_the_node_is_built(given: Any) -> None:
    with pytest.raises(OptionError, match="middleware"):
        ToolNode([search], middleware=[given])


@pytest.mark.parametrize("given", [passing, "audit", 3, None])
def test_what_is_no_list_is_refused(given: Any) -> None:
    with pytest.raises(OptionError, match="expected a list of middlewares"):
        ToolNode([search], middleware=given)


@pytest.mark.parametrize(
    ("given", "needs_loop"), [(passing, False), (passing_async, True), (Both(), False), (CalledAsync(), True)]
)
def test_only_what_is_asynchronous_alone_needs_a_loop(*, given: Any, needs_loop: bool) -> None:
    [middleware] = as_middleware([given])
    assert middleware.needs_loop is needs_loop


def test_a_request_shows_the_call_its_tool_and_where_it_belongs() -> None:
    request = request_of(turn(("search", {"query": "a", "limit": "5"})))

    assert request.tool_call == {
        "id": "c0",
        "name": "search",
        "args": {"query": "a", "limit": "5"},
        "type": "tool_call",
    }
    assert request.tool.name == "search"
    assert request.options.read_only is True
    assert request.options.timeout == 300.0
    assert request.arguments.limit == 5
    assert request.state["user"] == "ann"
    assert request.context == {"tenant": 7}
    assert request.thread_id == "t"


def test_the_state_of_a_request_is_read_only() -> None:
    request = request_of(turn(("search", {"query": "a"})))
    with pytest.raises(TypeError):
        request.state["user"] = "bob"


def test_override_changes_the_arguments_of_a_copy() -> None:
    request = request_of(turn(("search", {"query": "a"})))
    assert request.override(args={"query": "b"}).tool_call["args"] == {"query": "b"}
    assert request.override(tool_call={**request.tool_call, "args": {"query": "c"}}).tool_call["args"] == {"query": "c"}
    assert request.tool_call["args"] == {"query": "a"}


@pytest.mark.parametrize("changed", [{"id": "other"}, {"name": "delete"}])
def test_override_takes_no_call_of_another_tool_or_id(changed: dict[str, Any]) -> None:
    request = request_of(turn(("search", {"query": "a"})))
    with pytest.raises(OptionError, match="the call 'c0' of 'search' with other args"):
        request.override(tool_call={**request.tool_call, **changed})


def test_what_a_middleware_does_to_the_call_it_was_given_reaches_no_message() -> None:
    message = turn(("search", {"query": "a"}))
    request_of(message).tool_call["args"]["query"] = "changed"
    assert message.tool_calls[0]["args"] == {"query": "a"}
