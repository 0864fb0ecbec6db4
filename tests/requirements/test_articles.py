"""The statements of the articles, one test each; the programs themselves run in tests/examples."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, create_model

from surehand import (
    AIMessage,
    BaseTool,
    FunctionNode,
    HumanMessage,
    InjectedToolCallId,
    NodeError,
    RetryPolicy,
    Tool,
    ToolException,
    ToolMessage,
    ToolNode,
    create_agent,
    run_tool_calls,
    tool,
)
from surehand.testing import ScriptedModel


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def get_weather(city: str) -> str:
    """Look up the weather.

    Args:
        city: The city's full name.
    """
    if city != "北京":
        raise ToolException(f"未收录城市 '{city}'。")
    return f"{city}天气：多云，18°C"


def turn(name: str, args: Any, id: str = "call_1") -> AIMessage:
    return AIMessage(tool_calls=[{"id": id, "name": name, "args": args}])


def answer(found: Any, args: Any) -> ToolMessage:
    called: BaseTool = found if isinstance(found, BaseTool) else Tool.from_function(found)
    message: ToolMessage = ToolNode([called]).invoke([turn(called.name, args)])[0]
    return message


@contextmanager
def within(seconds: float) -> Generator[None]:
    start = time.monotonic()
    yield
    assert time.monotonic() - start < seconds


# article 001


def test_T4_a_direct_tool_ends_the_agent_with_its_result() -> None:
    @tool(return_direct=True)
    def search_direct(keyword: str) -> str:
        """Search."""
        return f"搜索结果：{keyword}"

    model = ScriptedModel([turn("search_direct", {"keyword": "Python"})])
    result = create_agent(model, [search_direct]).invoke({"messages": [HumanMessage(content="搜索 Python 课程")]})
    assert result["messages"][-1].content == "搜索结果：Python"
    assert len(model.requests) == 1


def test_T4_a_direct_tool_that_fails_goes_back_to_the_model() -> None:
    direct = tool(return_direct=True)(get_weather.func)
    model = ScriptedModel([turn("get_weather", {"city": "北境"}), "没有这个城市。"])
    result = create_agent(model, [direct]).invoke({"messages": "北境的天气？"})
    assert result["messages"][-1].content == "没有这个城市。"


def test_T5_the_injected_id_is_hidden_from_the_model_and_not_the_models_to_set() -> None:
    @tool
    def log_user_action(action: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> str:
        """Log an action."""
        return f"{tool_call_id}: {action}"

    assert list(log_user_action.args) == ["action"]
    message = answer(log_user_action, {"action": "x", "tool_call_id": "forged"})
    assert message.content == "call_1: x"


def test_T6_a_tool_exception_is_raised_to_a_direct_caller_and_told_to_the_model() -> None:
    with pytest.raises(ToolException, match="北境"):
        get_weather.invoke({"city": "北境"})
    assert answer(get_weather, {"city": "北境"}).content == "未收录城市 '北境'。"


@pytest.mark.parametrize(
    ("rule", "result"),
    [(True, "未收录城市 '北境'。"), ("查询失败", "查询失败"), ((ToolException,), "未收录城市 '北境'。")],
)
def test_T7_a_tools_own_rule_turns_its_errors_into_its_result(rule: Any, result: str) -> None:
    assert get_weather.with_config(handle_tool_errors=rule).invoke({"city": "北境"}) == result


@pytest.mark.parametrize("rule", [False, (KeyError,)])
def test_T7_a_tools_own_rule_lets_other_errors_out(rule: Any) -> None:
    with pytest.raises(ToolException):
        get_weather.with_config(handle_tool_errors=rule).invoke({"city": "北境"})


def test_N9_an_agent_that_does_not_handle_errors_lets_the_tools_own_exception_out() -> None:
    model = ScriptedModel([turn("get_weather", {"city": "北境"})])
    with pytest.raises(ToolException, match="北境"):
        create_agent(model, [get_weather], handle_tool_errors=False).invoke({"messages": "北境的天气？"})


def test_A4_a_failed_call_is_told_and_the_model_calls_again() -> None:
    model = ScriptedModel(
        [turn("get_weather", {"city": "北境"}, "a"), turn("get_weather", {"city": "北京"}, "b"), "多云"]
    )
    result = create_agent(model, [get_weather]).invoke({"messages": "北境的天气？"})
    told = [message for message in result["messages"] if isinstance(message, ToolMessage)]
    assert [message.status for message in told] == ["error", "success"]
    assert model.requests[1][-1].text == "未收录城市 '北境'。"


# article 002


@pytest.mark.parametrize(
    "noise", ["{city: Beijing}", "city=Beijing", '```json\n{"city": "Bei', '{"city": "Beijing"', "Beijing"]
)
def test_N1_text_that_is_not_json_never_runs_the_tool(noise: str) -> None:
    ran: list[str] = []

    def weather(city: str = "nowhere") -> str:
        """Look up the weather."""
        ran.append(city)
        return city

    assert answer(weather, noise).status == "error"
    assert not ran


@pytest.mark.parametrize("nothing", [None, "", "  ", "null", {}])
def test_N1_nothing_is_an_empty_object(nothing: Any) -> None:
    def weather(city: str = "here") -> str:
        """Look up the weather."""
        return city

    assert answer(weather, nothing).content == "here"


def test_N2_the_articles_schema_coerces_fills_defaults_and_reports_every_broken_rule() -> None:
    class SearchArgs(BaseModel):
        query: str = Field(..., min_length=1, max_length=200)
        limit: int = Field(default=10, ge=1, le=100)
        category: str | None = None

    class Search(BaseTool):
        """Search."""

        args_schema = SearchArgs

        def _run(self, args: SearchArgs) -> str:
            return f"{args.query} {args.limit} {args.category}"

    assert answer(Search(), '{"query": "x", "limit": "5"}').content == "x 5 None"
    refused = answer(Search(), {"query": "", "limit": 1000})
    assert "$.query" in refused.text
    assert "$.limit" in refused.text


def test_T2_a_tool_class_takes_its_arguments_by_name() -> None:
    class UserProfileTool(BaseTool):
        name = "fetch_user_profile"
        description = "Fetch user profile and history"
        args_schema = create_model(
            "UserProfileArgs", user_id=(str, Field(description="The unique ID")), include_history=(bool, False)
        )

        def _run(self, user_id: str, include_history: bool) -> list[Any]:  # noqa: FBT001 - the article's
            return [user_id, include_history]

    assert json.loads(answer(UserProfileTool(), '{"user_id": "U123", "include_history": 1}').text) == ["U123", True]


@pytest.mark.parametrize("name", ["patient_age", "p_age"])
def test_T8_a_field_takes_its_alias_and_its_own_name(name: str) -> None:
    class Patient(BaseModel):
        patient_age: int = Field(alias="p_age")

    @tool(args_schema=Patient)
    def triage(patient_age: int) -> int:
        """Decide."""
        return patient_age

    assert answer(triage, {name: 40}).content == "40"


def test_N4_the_authors_retryable_is_retried_without_the_tools_help() -> None:
    attempts: list[int] = []

    @tool(retry=RetryPolicy(initial_interval=0.001))
    def pay(amount: float) -> str:
        """Pay."""
        attempts.append(1)
        if len(attempts) < 3:
            raise ToolException("Payment gateway busy, retrying...", retryable=True)
        return "paid"

    message = answer(pay, {"amount": 1})
    assert (message.content, message.outcome and message.outcome.attempts) == ("paid", 3)


def test_N5_whatever_the_tool_returns_the_content_is_text() -> None:
    def report() -> dict[str, int]:
        """Report."""
        return {"results": 1}

    message = answer(report, {})
    assert isinstance(message.content, str)
    assert json.loads(message.content) == {"results": 1}


def test_N8_a_failed_call_leaves_an_answer_in_the_transcript() -> None:
    messages = ToolNode([add, get_weather]).invoke(
        [
            AIMessage(
                tool_calls=[
                    {"id": "1", "name": "add", "args": {"a": 1, "b": 2}},
                    {"id": "2", "name": "get_weather", "args": {"city": "?"}},
                    {"id": "3", "name": "add", "args": "{"},
                ]
            )
        ]
    )
    assert [(message.tool_call_id, message.status) for message in messages] == [
        ("1", "success"),
        ("2", "error"),
        ("3", "error"),
    ]


def test_N13_a_slow_service_is_answered_within_three_seconds() -> None:
    @tool(timeout=0.2)
    async def track(order_id: str) -> str:
        """Ask the carrier."""
        await asyncio.sleep(30)
        return order_id

    with within(20):
        message = answer(track, {"order_id": "U123"})
    assert message.outcome is not None
    assert message.outcome.kind == "timeout"


def test_F2_a_function_takes_state_keys_by_name_with_its_defaults() -> None:
    def fetch_user_profile(user_id: str, include_history: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002
        return {"profile": [user_id, include_history]}

    node = FunctionNode(fetch_user_profile)
    assert node.invoke({"user_id": "U123", "messages": [], "retry_count": 2}) == {"profile": ["U123", False]}


def test_F2_a_missing_key_is_an_error_that_names_it() -> None:
    def fetch_user_profile(user_id: str) -> dict[str, Any]:
        return {"profile": user_id}

    with pytest.raises(NodeError, match="user_id"):
        FunctionNode(fetch_user_profile).invoke({"uid": "U123"})


def test_F3_a_function_cannot_write_what_it_did_not_declare() -> None:
    def careless(state: dict[str, Any]) -> dict[str, Any]:
        return {"messages": []}

    with pytest.raises(NodeError, match="messages"):
        FunctionNode(careless, writes=["result"]).invoke({"payload": {}})


# article 003


def test_A3_a_loop_by_hand_needs_one_function() -> None:
    ai = AIMessage(tool_calls=[{"id": "1", "name": "add", "args": {"a": 1, "b": 2}}])
    [message] = run_tool_calls(ai, [add])
    assert (message.content, message.tool_call_id) == ("3", "1")


def test_N7_the_node_returns_the_new_messages_only() -> None:
    ai = turn("add", {"a": 2, "b": 3})
    out = ToolNode([add]).invoke({"messages": [HumanMessage("计算 2+3，必须用 add 工具。"), ai]})
    assert [type(message).__name__ for message in out["messages"]] == ["ToolMessage"]


def test_N10_a_tool_that_was_never_registered_is_answered() -> None:
    [message] = ToolNode([add]).invoke([turn("foo", {})])
    assert message.outcome.kind == "unknown_tool"
    assert "add" in message.text


def test_N11_the_calls_of_a_turn_run_at_the_same_time() -> None:
    all_of_them = threading.Barrier(8)

    def nap(n: int) -> int:
        """Wait for the others, which all have to run for that."""
        all_of_them.wait(20)
        return n

    calls = [{"id": str(n), "name": "nap", "args": {"n": n}} for n in range(8)]
    messages = ToolNode([nap]).invoke([AIMessage(tool_calls=calls)])
    assert [message.content for message in messages] == [str(n) for n in range(8)]


def test_N12_the_id_is_copied_from_the_call() -> None:
    [message] = ToolNode([add]).invoke([turn("add", {"a": 1, "b": 2}, id="call_abc123")])
    assert message.tool_call_id == "call_abc123"
