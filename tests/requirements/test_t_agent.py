"""T4 with an agent: a tool's result as the answer."""

from __future__ import annotations

from typing import Any

from surehand import AIMessage, HumanMessage, ToolException, create_agent, tool
from surehand.testing import ScriptedModel


@tool
def search_normal(keyword: str) -> str:
    """搜索课程（普通模式）"""
    return f"{keyword}：基础教程"


@tool(return_direct=True)
def search_direct(keyword: str) -> str:
    """搜索课程（直接返回模式）"""
    if keyword == "?":
        raise ToolException("The keyword is empty.")
    return f"{keyword}：基础教程"


def asking(*calls: tuple[str, str]) -> AIMessage:
    return AIMessage(
        tool_calls=[
            {"id": f"c{number}", "name": name, "args": {"keyword": keyword}}
            for number, (name, keyword) in enumerate(calls)
        ]
    )


def run(*replies: Any, **options: Any) -> tuple[dict[str, Any], ScriptedModel]:
    model = ScriptedModel(list(replies))
    agent = create_agent(model=model, tools=[search_normal, search_direct], **options)
    return agent.invoke({"messages": [HumanMessage(content="搜索 Python 课程")]}), model


def test_T4_a_normal_result_goes_back_to_the_model() -> None:
    result, model = run(asking(("search_normal", "Python")), "以下课程")
    assert result["messages"][-1].content == "以下课程"
    assert len(model.requests) == 2


def test_T4_a_direct_result_is_the_answer() -> None:
    result, model = run(asking(("search_direct", "Python")))
    assert result["messages"][-1].content == "Python：基础教程"
    assert result["end_reason"] == "return_direct"
    assert len(model.requests) == 1


def test_T4_a_failed_direct_call_goes_back_to_the_model() -> None:
    result, model = run(asking(("search_direct", "?")), asking(("search_direct", "Python")))
    assert [message.type for message in result["messages"]] == ["human", "ai", "tool", "ai", "tool"]
    assert result["messages"][-1].content == "Python：基础教程"
    model.assert_complete()


def test_T4_a_direct_call_needs_no_further_model_call_at_the_limit() -> None:
    result, _ = run(asking(("search_direct", "Python")), max_iterations=1)
    assert result["messages"][-1].content == "Python：基础教程"
    assert result["end_reason"] == "return_direct"


def test_T4_a_failed_direct_call_at_the_limit_ends_there() -> None:
    result, _ = run(asking(("search_direct", "?")), max_iterations=1)
    assert result["messages"][-1].text == "The keyword is empty."
    assert result["end_reason"] == "max_iterations"
