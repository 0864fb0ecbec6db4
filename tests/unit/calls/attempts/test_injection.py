"""What a tool gets that the model does not see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from surehand import (
    AIMessage,
    InjectedState,
    InjectedStore,
    InjectedToolArg,
    InMemoryStore,
    ToolContext,
    ToolNode,
    tool,
)


def _ask(node: ToolNode, name: str, args: dict[str, Any] | None = None, **state: Any) -> Any:
    message = AIMessage(id="m", tool_calls=[{"id": "c1", "name": name, "args": args or {}}])
    return node.invoke({"messages": [message], **state}, context=state.get("context"))["messages"][0]


@tool
def field(user: Annotated[str | None, InjectedState("user")] = None) -> str:
    """Read one field."""
    return f"user {user}"


def test_one_field_of_the_state() -> None:
    assert _ask(ToolNode([field]), "field", user="U1").content == "user U1"


def test_a_field_that_is_not_there_leaves_the_default() -> None:
    assert _ask(ToolNode([field]), "field").content == "user None"


def test_a_field_that_may_be_none_is_none_where_it_is_not_there() -> None:
    @tool
    def optional(user: Annotated[str | None, InjectedState("user")]) -> str:
        """Read one field."""
        return f"user {user}"

    assert _ask(ToolNode([optional]), "optional").content == "user None"


def test_a_field_that_has_to_be_there_is_the_hosts_fault_and_not_the_models() -> None:
    @tool
    def needs(user: Annotated[str, InjectedState("user")]) -> str:
        """Read one field."""
        return user

    answer = _ask(ToolNode([needs]), "needs")
    assert answer.outcome.kind == "internal"
    assert "not in your arguments" in answer.content
    assert "user" not in answer.content


def test_the_whole_state_reads_like_the_original_and_cannot_be_changed() -> None:
    @tool
    def meddle(state: Annotated[dict[str, Any], InjectedState]) -> str:
        """Change what was given."""
        state["items"].append(4)
        return "changed"

    items = [1, 2, 3]
    assert _ask(ToolNode([meddle]), "meddle", items=items).status == "error"
    assert items == [1, 2, 3]


def test_the_state_of_a_list_input_holds_the_messages() -> None:
    @tool
    def count(state: Annotated[dict[str, Any], InjectedState]) -> int:
        """Count the messages."""
        return len(state["messages"])

    message = AIMessage(tool_calls=[{"id": "c1", "name": "count", "args": {}}])
    assert ToolNode([count]).invoke([message])[0].content == "1"


def test_the_store_of_the_node() -> None:
    @tool
    def remember(store: Annotated[InMemoryStore, InjectedStore]) -> str:
        """Write to the store."""
        store.put(("notes",), "k", {"v": 1})
        return "ok"

    store = InMemoryStore()
    assert _ask(ToolNode([remember], store=store), "remember").content == "ok"
    assert store.get(("notes",), "k") is not None
    assert _ask(ToolNode([remember]), "remember").outcome.kind == "internal"


@dataclass
class _Host:
    api_key: str


@pytest.mark.parametrize("context", [_Host(api_key="secret-key-123"), {"api_key": "secret-key-123"}])
def test_a_value_of_the_host_that_the_model_cannot_set_and_no_error_shows(context: Any) -> None:
    @tool
    def call_api(query: str, api_key: Annotated[str, InjectedToolArg]) -> str:
        """Call."""
        raise RuntimeError(f"401 for {api_key} on {query}")

    answer = _ask(ToolNode([call_api]), "call_api", {"query": "q", "api_key": "forged"}, context=context)
    assert "secret-key-123" not in answer.content
    assert "401 for [redacted] on q" in answer.content


def test_the_context_knows_the_call() -> None:
    seen: list[ToolContext[Any]] = []

    @tool(timeout=5)
    def look(ctx: ToolContext) -> str:
        """Look around."""
        seen.append(ctx)
        return "ok"

    _ask(ToolNode([look]), "look", context="host", user="U1")
    (ctx,) = seen
    assert (ctx.call_id, ctx.tool_name, ctx.attempt, ctx.context) == ("c1", "look", 1, "host")
    assert ctx.state["user"] == "U1"
    assert ctx.deadline is not None
    assert len(ctx.idempotency_key) == 32


def test_the_context_knows_the_conversation() -> None:
    @tool
    def look(ctx: ToolContext) -> str:
        """Look around."""
        return ctx.thread_id

    message = AIMessage(tool_calls=[{"id": "c1", "name": "look", "args": {}}])
    [answer] = ToolNode([look]).invoke([message], {"configurable": {"thread_id": "t1"}})
    assert answer.content == "t1"


def test_the_idempotency_key_is_the_calls_and_no_others() -> None:
    keys: list[str] = []

    @tool
    def key(n: int, ctx: ToolContext) -> str:
        """Keep the key."""
        keys.append(ctx.idempotency_key)
        return "ok"

    node = ToolNode([key])
    for n in (1, 1, 2):
        _ask(node, "key", {"n": n})
    assert keys[0] == keys[1]
    assert keys[0] != keys[2]
