"""ToolNode as a node: the forms it takes and gives, and the functions beside it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from anthropic.types import Message
from openai.types.chat import ChatCompletionMessage

from surehand import (
    END,
    START,
    AIMessage,
    BaseTool,
    Command,
    HumanMessage,
    MessagesState,
    OptionError,
    RetryPolicy,
    StateGraph,
    ToolMessage,
    ToolNode,
    ToolOptions,
    run_tool_calls,
    tool,
    tools_condition,
)
from surehand.calls import MemoryJournal
from surehand.errors import InputError, ToolDefinitionError


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(requires_approval=True)
def wire(amount: int) -> str:
    """Wire money."""
    return f"wired {amount}"


def _call(name: str, args: Any, call_id: str = "c1") -> AIMessage:
    return AIMessage(tool_calls=[{"id": call_id, "name": name, "args": args}])


OPENAI: dict[str, Any] = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2, "b": 3}'}},
        {"id": "call_2", "type": "function", "function": {"name": "add", "arguments": '{"a": 2'}},
    ],
}
ANTHROPIC: dict[str, Any] = {
    "role": "assistant",
    "content": [
        {"type": "text", "text": "Adding."},
        {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 2, "b": 3}},
        {"type": "tool_use", "id": "toolu_2", "name": "sub", "input": {}},
    ],
}


def test_openai_payloads_are_answered_as_openai_tool_messages() -> None:
    answers = ToolNode([add]).invoke([{"role": "user", "content": "2+3?"}, OPENAI])

    assert answers[0] == {"role": "tool", "tool_call_id": "call_1", "content": "5"}
    assert answers[1]["tool_call_id"] == "call_2"
    assert "Nothing was executed" in answers[1]["content"]


def test_anthropic_payloads_are_answered_as_one_user_message_of_tool_results() -> None:
    (answer,) = ToolNode([add]).invoke({"messages": [{"role": "user", "content": "2+3?"}, ANTHROPIC]})["messages"]

    assert answer["role"] == "user"
    first, second = answer["content"]
    assert (first["type"], first["tool_use_id"], first["content"]) == ("tool_result", "toolu_1", "5")
    assert (second["tool_use_id"], second["is_error"]) == ("toolu_2", True)


def test_the_objects_of_an_sdk_are_answered_like_its_json() -> None:
    completion = ChatCompletionMessage.model_validate(OPENAI)
    message = Message.model_validate(
        {
            "id": "msg_1",
            "type": "message",
            "model": "claude",
            "stop_reason": "tool_use",
            "usage": {"input_tokens": 1, "output_tokens": 1},
            **ANTHROPIC,
        }
    )

    first, _ = ToolNode([add]).invoke([{"role": "user", "content": "2+3?"}, completion])
    assert first == {"role": "tool", "tool_call_id": "call_1", "content": "5"}
    (answer,) = run_tool_calls(message, [add])
    assert [block["tool_use_id"] for block in answer["content"]] == ["toolu_1", "toolu_2"]


def test_a_message_without_calls_needs_no_answer() -> None:
    assert ToolNode([add]).invoke({"messages": [AIMessage("hello")]}) == {"messages": []}
    assert ToolNode([add]).invoke([AIMessage("hello")]) == []


def test_the_newest_ai_message_counts_even_with_messages_after_it() -> None:
    answers = ToolNode([add]).invoke([_call("add", {"a": 1, "b": 1}), HumanMessage("hurry up")])
    assert [answer.content for answer in answers] == ["2"]


def _nameless() -> Any:
    return lambda x: x  # pyright: ignore[reportUnknownLambdaType, reportUnknownVariableType] - nothing is known of it


@pytest.mark.parametrize("given", [_nameless(), 3, "add", object()])
def test_what_is_no_tool_is_refused_when_the_node_is_built(given: Any) -> None:
    with pytest.raises((ToolDefinitionError, OptionError)):
        ToolNode([given])


def test_a_class_in_place_of_a_tool_is_refused_with_the_remedy() -> None:
    class Search(BaseTool):
        """Search."""

        def _run(self, q: str) -> str:
            return q

    with pytest.raises(ToolDefinitionError, match=r"Pass Search\(\)"):
        ToolNode([Search])


@pytest.mark.parametrize("options", [{"timeout": 0}, {"timeout": "3"}, {"max_concurrency": 0}, {"max_output": -1}])
def test_an_option_that_makes_no_sense_is_refused_when_the_node_is_built(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        ToolNode([add], **options)


def test_plain_functions_become_tools() -> None:
    def double(n: int) -> int:
        """Double a number."""
        return n * 2

    assert ToolNode([double]).invoke([_call("double", {"n": 4})])[0].content == "8"


@pytest.mark.parametrize("override", [{"max_output": 30}, ToolOptions(max_output=30)])
def test_a_tool_can_be_given_options_by_the_node(override: Any) -> None:
    @tool
    def long() -> str:
        """Return much."""
        return "x" * 1_000

    (answer,) = ToolNode([long], overrides={"long": override}).invoke([_call("long", {})])
    assert len(answer.content) < 500
    assert answer.artifact == "x" * 1_000


def test_a_call_that_needs_approval_is_denied_where_nobody_can_be_asked() -> None:
    (answer,) = ToolNode([wire]).invoke([_call("wire", {"amount": 5})])
    assert answer.outcome.kind == "denied"
    assert "nobody can be asked" in answer.content


@pytest.mark.parametrize(
    ("verdict", "content"),
    [
        (True, "wired 5"),
        (False, "not approved"),
        ("Too much.", "Too much."),
        (1, "not approved"),
        (None, "not approved"),
    ],
)
def test_the_host_decides_about_a_call_that_needs_approval(verdict: Any, content: str) -> None:
    asked: list[Any] = []

    async def approve(name: str, arguments: Any) -> Any:
        asked.append((name, dict(arguments)))
        return verdict

    (answer,) = ToolNode([wire], approve=approve).invoke([_call("wire", {"amount": "5"})])
    assert content in answer.content
    assert asked == [("wire", {"amount": 5})]


@pytest.mark.parametrize("error", [ConnectionError, asyncio.CancelledError])
def test_an_approver_that_fails_keeps_the_call_from_running(error: type[BaseException]) -> None:
    def approve(name: str, arguments: Any) -> bool:
        raise error

    (answer,) = ToolNode([wire], approve=approve).invoke([_call("wire", {"amount": 5})])
    assert answer.outcome.kind == "internal"


def test_whether_approval_is_needed_may_depend_on_the_arguments() -> None:
    @tool(requires_approval=lambda arguments: arguments["amount"] > 100)
    def pay(amount: int) -> str:
        """Pay."""
        return "paid"

    node = ToolNode([pay])
    assert node.invoke([_call("pay", {"amount": 5})])[0].content == "paid"
    assert node.invoke([_call("pay", {"amount": 500})])[0].outcome.kind == "denied"


def test_a_tool_message_that_a_tool_returns_gets_the_calls_id_and_name() -> None:
    @tool
    def forge() -> ToolMessage:
        """Answer with another id."""
        return ToolMessage("mine", tool_call_id="other", name="other", status="error", artifact=[1])

    (answer,) = ToolNode([forge]).invoke([_call("forge", {})])
    assert (answer.content, answer.tool_call_id, answer.name) == ("mine", "c1", "forge")
    assert (answer.status, answer.artifact) == ("error", [1])


def _several(kind: str) -> Any:
    update = Command(update={"secret": "hunter2"})
    return {"list": ["done", update], "tuple": (update, update)}[kind]


@pytest.mark.parametrize("kind", ["list", "tuple", "items"])
@pytest.mark.parametrize("commands", [True, False])
def test_commands_among_other_things_are_refused_and_not_written_out_for_the_model(kind: str, commands: bool) -> None:  # noqa: FBT001 - a parameter of the test
    @tool
    def several() -> Any:
        """Ask for several things at once."""
        return _several(kind)

    @tool("several")
    def yielding() -> Iterator[Any]:
        """Ask for several things, one after another."""
        yield from _several("list")

    node = ToolNode([yielding if kind == "items" else several], commands=commands)
    (answer,) = node.invoke({"messages": [_call("several", {})]})["messages"]
    assert answer.outcome.kind == "internal"
    assert "hunter2" not in answer.text


def test_the_answer_that_a_command_brings_along_is_the_calls_answer() -> None:
    @tool
    def hand_off() -> Command:
        """Hand over to another agent."""
        mine = ToolMessage("handed over", tool_call_id="c1")
        return Command(goto="other", update={"messages": [mine, HumanMessage("extra")], "owner": "other"})

    first, second = ToolNode([hand_off], commands=True).invoke({"messages": [_call("hand_off", {})]})
    assert [message.content for message in first.update["messages"]] == ["handed over"]
    assert [message.content for message in second.update["messages"]] == ["extra"]
    assert (second.update["owner"], second.goto) == ("other", "other")


def test_tools_condition_looks_at_the_newest_message() -> None:
    assert tools_condition({"messages": [_call("add", {})]}) == "tools"
    assert tools_condition([HumanMessage("hi"), AIMessage("hello")]) == END
    assert tools_condition({"chat": [_call("add", {})]}, messages_key="chat") == "tools"
    assert tools_condition([OPENAI]) == "tools"
    with pytest.raises(InputError):
        tools_condition({"messages": []})


def test_calls_that_cannot_be_read_are_routed_to_the_node_and_answered() -> None:
    message = _call("add", '{"a": 1')
    assert tools_condition([message]) == "tools"
    assert ToolNode([add]).invoke([message])[0].status == "error"


@pytest.mark.parametrize(
    ("options", "journal", "ran"),
    [
        ({}, None, ["pay", "flaky"]),
        ({"idempotent": True}, None, ["pay", "flaky", "pay", "flaky"]),
        ({}, MemoryJournal(), ["pay", "flaky", "flaky"]),
    ],
)
def test_a_retry_of_the_node_never_runs_a_finished_effect_again(options: Any, journal: Any, ran: list[str]) -> None:
    seen: list[str] = []

    @tool(**options)
    def pay() -> str:
        """Pay."""
        seen.append("pay")
        return "paid"

    @tool(read_only=True, retry=None)
    def flaky() -> str:
        """Fail once."""
        seen.append("flaky")
        if seen.count("flaky") == 1:
            raise ConnectionError("reset")
        return "read"

    node = ToolNode([pay, flaky], handle_tool_errors=False, journal=journal, max_concurrency=1)
    builder = StateGraph(MessagesState).add_node("tools", node, retry=RetryPolicy(initial_interval=0.001))
    turn = AIMessage(id="m", tool_calls=[{"id": "1", "name": "pay"}, {"id": "2", "name": "flaky"}])
    with suppress(ConnectionError):
        builder.add_edge(START, "tools").compile().invoke({"messages": [turn]})

    assert seen == ran


@pytest.mark.parametrize(
    "options",
    [
        {"name": ""},
        {"name": 5},
        {"messages_key": 5},
        {"tags": "one"},
        {"commands": "yes"},
        {"approve": "yes"},
        {"listener": 5},
        {"journal": "file.db"},
        {"store": "file.db"},
        {"overrides": [add]},
        {"overrides": {"add": 5}},
        {"max_concurrency": 0},
        {"stop_on_failure": True},
        {"clock": time.monotonic},
        {"fatal": [ValueError]},
        {"fatal": KeyboardInterrupt},
    ],
)
def test_an_option_of_the_node_that_makes_no_sense_is_refused_by_name(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=rf"^{next(iter(options))}"):
        ToolNode([add], **options)


@pytest.mark.parametrize(
    "config", [5, {"max_concurrency": 0}, {"max_concurrency": "two"}, {"configurable": "thread-1"}]
)
def test_a_configuration_of_a_run_that_makes_no_sense_is_refused_before_anything_runs(config: Any) -> None:
    with pytest.raises(OptionError):
        ToolNode([add]).invoke([_call("add", {"a": 1, "b": 2})], config)
