"""A1-A4, P6, P8: the agent."""

from __future__ import annotations

from typing import Any

import pytest

from support.provider_server import provider_server
from surehand import (
    AIMessage,
    ChatAnthropic,
    ChatOpenAI,
    HumanMessage,
    OptionError,
    ToolException,
    create_agent,
    init_chat_model,
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
    """查询指定城市的天气。"""
    known = {"杭州": "晴，25°C", "北京": "多云，18°C"}
    if city not in known:
        raise ToolException(f"未收录城市 '{city}'。可使用城市：{', '.join(known)}。")
    return f"{city}天气：{known[city]}"


def asking(name: str, call_id: str = "c1", **args: Any) -> AIMessage:
    return AIMessage(tool_calls=[{"id": call_id, "name": name, "args": args}])


def openai_reply(content: str | None, *calls: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, **({"tool_calls": list(calls)} if calls else {})}
    return {"choices": [{"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": message}]}


def test_A1_the_loop_goes_on_until_no_calls_remain() -> None:
    model = ScriptedModel([asking("add", a=2, b=3), asking("add", "c2", a=5, b=5), "10"])
    agent = create_agent(model=model, tools=[add], system_prompt="Use the tools.")
    result = agent.invoke({"messages": [HumanMessage("2 + 3 + 5?")]})
    assert [message.type for message in result["messages"]] == ["human", "ai", "tool", "ai", "tool", "ai"]
    assert result["messages"][-1].text == "10"
    model.assert_complete()


def test_A1_25_model_calls_are_the_default_limit() -> None:
    model = ScriptedModel([asking("add", f"c{number}", a=1, b=number) for number in range(30)])
    result = create_agent(model, [add]).invoke({"messages": "go"})
    assert len(model.requests) == 25
    assert result["end_reason"] == "max_iterations"


def test_A1_at_the_limit_open_calls_are_answered_and_nothing_is_raised() -> None:
    model = ScriptedModel([asking("add", "c1", a=1, b=1), asking("add", "c2", a=2, b=2)])
    result = create_agent(model, [add], max_iterations=2).invoke({"messages": "go"})
    last = result["messages"][-1]
    assert (last.tool_call_id, last.status, last.outcome.kind) == ("c2", "error", "limit")
    assert result["messages"][2].text == "2"


@pytest.mark.parametrize("name", ["deepseek:deepseek-v4-flash", "openai:gpt-4o", "ollama:qwen3.5:9b"])
def test_A2_openai_compatible_models_are_reached_by_name(name: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2, "b": 3}'}}
    with provider_server([openai_reply(None, call), openai_reply("5")]) as server:
        model = init_chat_model(name, temperature=0, api_key="k", base_url=server.url)
        result = create_agent(model, [add]).invoke({"messages": "2 + 3?"})
    assert result["messages"][-1].text == "5"
    assert server.requests[0]["temperature"] == 0
    assert server.requests[1]["messages"][-1] == {"role": "tool", "tool_call_id": "c1", "content": "5"}


def test_A2_anthropic_models_are_reached_by_name() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 2, "b": 3}}
    replies: list[dict[str, Any]] = [
        {"role": "assistant", "content": [call], "stop_reason": "tool_use"},
        {"role": "assistant", "content": [{"type": "text", "text": "5"}], "stop_reason": "end_turn"},
    ]
    with provider_server(replies) as server:
        model = init_chat_model("anthropic:claude-sonnet-4-5", temperature=0, api_key="k", base_url=server.url)
        result = create_agent(model, [add]).invoke({"messages": "2 + 3?"})
    assert isinstance(model, ChatAnthropic)
    assert result["messages"][-1].text == "5"
    assert server.requests[1]["messages"][-1]["content"][0]["tool_use_id"] == "t1"


def test_A2_tools_are_bound_to_a_copy() -> None:
    model = ChatOpenAI(model="qwen3.5:9b", api_key="ollama", base_url="http://localhost:11434/v1", temperature=0)
    bound = model.bind_tools([add])
    assert [entry.name for entry in bound.tools] == ["add"]
    assert model.tools == ()


def test_A3_a_hand_written_loop_needs_no_graph() -> None:
    model = ScriptedModel([asking("add", a=2, b=3), "5"]).bind_tools([add])
    messages: list[Any] = [HumanMessage("2 + 3?")]
    for _ in range(10):
        ai = model.invoke(messages)
        messages.append(ai)
        if not ai.tool_calls:
            break
        messages.extend(run_tool_calls(ai, [add]))
    assert [message.text for message in messages] == ["2 + 3?", "", "5", "5"]


def test_A4_a_failed_call_is_told_and_can_be_corrected() -> None:
    model = ScriptedModel([asking("get_weather", city="北境"), asking("get_weather", "c2", city="北京"), "多云"])
    result = create_agent(model, [get_weather]).invoke({"messages": "北京天气？"})
    failed, corrected = result["messages"][2], result["messages"][4]
    assert failed.status == "error"
    assert failed.text == "未收录城市 '北境'。可使用城市：杭州, 北京。"
    assert corrected.text == "北京天气：多云，18°C"
    assert model.requests[1][-1].text == failed.text


def test_A4_the_articles_printed_output_needs_errors_let_through() -> None:
    agent = create_agent(ScriptedModel([asking("get_weather", city="北境")]), [get_weather], handle_tool_errors=False)
    with pytest.raises(ToolException, match="未收录城市 '北境'"):
        agent.invoke({"messages": "北京天气？"})


def test_A4_the_exception_that_gets_out_is_the_tools_own() -> None:
    error = KeyError("mine")

    @tool
    def fail() -> str:
        """Fail."""
        raise error

    agent = create_agent(ScriptedModel([asking("fail")]), [fail], handle_tool_errors=False)
    with pytest.raises(KeyError) as caught:
        agent.invoke({"messages": "go"})
    assert caught.value is error


def test_P6_a_model_with_tools_that_nobody_runs_is_refused() -> None:
    model = ScriptedModel([]).bind_tools([add, get_weather])
    with pytest.raises(OptionError, match="get_weather"):
        create_agent(model, [add])
    with pytest.raises(OptionError, match="add, get_weather"):
        create_agent(model, [])
    create_agent(model, [add, get_weather])


def test_P8_a_loop_that_never_ends_ends_with_a_reason() -> None:
    model = ScriptedModel([asking("add", f"c{number}", a=1, b=1) for number in range(5)])
    result = create_agent(model, [add], max_iterations=5).invoke({"messages": "go"})
    assert result["end_reason"] == "max_iterations"
    assert len(result["messages"]) == 11
