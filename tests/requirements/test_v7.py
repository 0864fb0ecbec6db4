"""V7: the article's whole example, model -> validation -> model until valid, with conditional edges."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from pydantic import BaseModel, field_validator

from support.programs import anthropic_reply
from support.provider_server import provider_server
from surehand import END, START, AIMessage, ChatAnthropic, StateGraph, ToolMessage, ValidationNode, add_messages
from surehand.testing import ScriptedModel


class SelectNumber(BaseModel):
    a: int

    @field_validator("a")
    @classmethod
    def only_37(cls, value: int) -> int:
        if value != 37:
            raise ValueError("Only 37 is allowed")
        return value


def should_validate(state: list[Any]) -> Literal["validation", "__end__"]:
    return "validation" if state[-1].tool_calls else END


def should_reprompt(state: list[Any]) -> Literal["model", "__end__"]:
    for message in state[::-1]:
        if message.type == "ai":
            return END
        if message.additional_kwargs.get("is_error"):
            return "model"
    return END


def graph_around(model: Any) -> Any:
    builder = StateGraph(Annotated[list[Any], add_messages])
    builder.add_node("model", model)
    builder.add_node("validation", ValidationNode([SelectNumber]))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", should_validate)
    builder.add_conditional_edges("validation", should_reprompt)
    return builder.compile()


def scripted(*numbers: Any) -> ScriptedModel:
    calls = [[{"id": f"call_{n}", "name": "SelectNumber", "args": {"a": a}}] for n, a in enumerate(numbers)]
    return ScriptedModel([AIMessage(tool_calls=call) for call in calls])


def kinds(messages: list[Any]) -> list[str]:
    return [message.type for message in messages]


def test_V7_the_model_is_asked_again_until_its_arguments_are_valid() -> None:
    model = scripted(42, 37)
    messages = graph_around(model).invoke(("user", "Select a number, any number"))
    model.assert_complete()
    assert kinds(messages) == ["human", "ai", "tool", "ai", "tool"]
    assert "Only 37 is allowed" in messages[2].text
    assert messages[4].text.replace(" ", "") == '{"a":37}'


def test_V7_a_valid_first_answer_ends_the_graph() -> None:
    messages = graph_around(scripted(37)).invoke(("user", "Select a number, any number"))
    assert kinds(messages) == ["human", "ai", "tool"]


def test_V7_an_answer_without_calls_skips_the_validation() -> None:
    messages = graph_around(ScriptedModel(["37"])).invoke(("user", "Select a number, any number"))
    assert kinds(messages) == ["human", "ai"]


def test_V7_the_failure_is_marked_for_the_conditional_edge_and_for_providers() -> None:
    messages = graph_around(scripted(42, 37)).invoke(("user", "Select a number, any number"))
    failure, success = messages[2], messages[4]
    assert isinstance(failure, ToolMessage)
    assert (failure.status, failure.additional_kwargs["is_error"], failure.tool_call_id) == ("error", True, "call_0")
    assert (success.status, success.additional_kwargs.get("is_error")) == ("success", None)


def test_V7_the_graph_runs_from_asynchronous_code() -> None:
    graph = graph_around(scripted(42, 37))
    messages = asyncio.run(graph.ainvoke(("user", "Select a number, any number")))
    assert kinds(messages) == ["human", "ai", "tool", "ai", "tool"]


def test_V7_the_articles_model_is_asked_over_http(monkeypatch: Any) -> None:
    replies = [
        anthropic_reply([{"type": "tool_use", "id": f"toolu_{a}", "name": "SelectNumber", "input": {"a": a}}])
        for a in (42, 37)
    ]
    with provider_server(replies) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
        model = ChatAnthropic(model="claude-3-5-haiku-latest").bind_tools([SelectNumber])
        messages = graph_around(model).invoke(("user", "Select a number, any number"))
    assert [message.tool_call_id for message in messages if message.type == "tool"] == ["toolu_42", "toolu_37"]


def test_V7_the_messages_print_in_the_articles_form() -> None:
    messages = graph_around(scripted(42, 37)).invoke(("user", "Select a number, any number"))
    assert messages[0].pretty_repr().splitlines()[0].center(80) == " Human Message ".center(80, "=")
    assert messages[1].pretty_repr().splitlines()[-4:] == [
        "Tool Calls:",
        "  SelectNumber (call_0)",
        "  Args:",
        "    a: 42",
    ]
    assert "Name: SelectNumber" in messages[2].pretty_repr().splitlines()
