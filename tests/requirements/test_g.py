"""G1-G5 and P8: the graph."""

from __future__ import annotations

import asyncio
import json
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypedDict

import pytest
from pydantic import BaseModel, field_validator

from surehand import (
    END,
    START,
    AIMessage,
    GraphRecursionError,
    HumanMessage,
    MessagesState,
    RemoveMessage,
    RetryPolicy,
    StateGraph,
    ToolMessage,
    ToolNode,
    ValidationNode,
    add_messages,
    tool,
    tools_condition,
)
from surehand.testing import ScriptedModel


class Typed(TypedDict):
    text: str
    log: Annotated[list[str], operator.add]


@dataclass
class Record:
    text: str
    log: Annotated[list[str], operator.add] = field(default_factory=list[str])


class Model(BaseModel):
    text: str
    log: Annotated[list[str], operator.add] = []


def as_dict(state: Any) -> dict[str, Any]:
    return {key: state[key] if isinstance(state, dict) else getattr(state, key) for key in ("text", "log")}


@pytest.mark.parametrize("schema", [Typed, Record, Model])
def test_G1_a_graph_is_built_compiled_invoked_awaited_and_streamed_over_every_kind_of_state(schema: Any) -> None:
    def plan(state: Any) -> dict[str, Any]:
        return {"text": as_dict(state)["text"] + "!", "log": ["plan"]}

    def route(state: Any) -> Literal["act", "__end__"]:
        return "act" if as_dict(state)["text"] == "go!" else END

    builder = StateGraph(schema)
    builder.add_node("plan", plan)
    builder.add_node("act", lambda state: {"log": ["act"]})
    builder.add_edge(START, "plan")
    builder.add_conditional_edges("plan", route)
    builder.add_edge("act", END)
    graph = builder.compile()
    assert as_dict(graph.invoke({"text": "go"})) == {"text": "go!", "log": ["plan", "act"]}
    assert as_dict(asyncio.run(graph.ainvoke({"text": "stop"}))) == {"text": "stop!", "log": ["plan"]}
    assert list(graph.stream({"text": "go"})) == [{"plan": {"text": "go!", "log": ["plan"]}}, {"act": {"log": ["act"]}}]


class SelectNumber(BaseModel):
    a: int

    @field_validator("a")
    @classmethod
    def a_must_be_meaningful(cls, v: int) -> int:
        if v != 37:
            raise ValueError("Only 37 is allowed")
        return v


def article_000(model: Any) -> Any:
    """The graph of the article, its program kept but for the imports and the model."""
    builder = StateGraph(Annotated[list, add_messages])  # pyright: ignore[reportMissingTypeArgument] - as written there
    builder.add_node("model", model)
    builder.add_node("validation", ValidationNode([SelectNumber]))
    builder.add_edge(START, "model")

    def should_validate(state: list[Any]) -> Literal["validation", "__end__"]:
        if state[-1].tool_calls:
            return "validation"
        return END

    builder.add_conditional_edges("model", should_validate)

    def should_reprompt(state: list[Any]) -> Literal["model", "__end__"]:
        for msg in state[::-1]:
            if msg.type == "ai":
                return END
            if msg.additional_kwargs.get("is_error"):
                return "model"
        return END

    builder.add_conditional_edges("validation", should_reprompt)
    return builder.compile()


def selecting(*numbers: int) -> ScriptedModel:
    calls = [{"name": "SelectNumber", "args": {"a": a}, "id": f"toolu_{n}"} for n, a in enumerate(numbers)]
    return ScriptedModel([AIMessage(tool_calls=[call]) for call in calls])


def test_G2_a_user_tuple_starts_a_message_list_and_the_result_is_its_messages() -> None:
    result = article_000(selecting(42, 37)).invoke(("user", "Select a number, any number"))
    assert [message.type for message in result] == ["human", "ai", "tool", "ai", "tool"]
    assert json.loads(result[-1].content) == {"a": 37}


def test_G2_the_messages_print_in_the_articles_form(capsys: pytest.CaptureFixture[str]) -> None:
    for msg in article_000(selecting(37)).invoke(("user", "Select a number, any number")):
        msg.pretty_print()
    title, text, *rest = [line for line in capsys.readouterr().out.splitlines() if line]
    assert title == " Human Message ".center(80, "=")
    assert text == "Select a number, any number"
    calls = rest.index("Tool Calls:")
    assert rest[calls + 1 : calls + 4] == ["  SelectNumber (toolu_0)", "  Args:", "    a: 37"]
    assert "Name: SelectNumber" in rest


def test_G2_every_form_of_the_input_works_on_a_messages_key() -> None:
    graph = StateGraph(MessagesState).add_node("n", lambda state: None).add_edge(START, "n").compile()
    for given in (("user", "hi"), "hi", HumanMessage("hi"), [("user", "hi")], {"messages": [("user", "hi")]}):
        (message,) = graph.invoke(given)["messages"]
        assert (message.type, message.content) == ("human", "hi")


def test_G3_messages_are_appended_replaced_by_id_and_removed() -> None:
    def edit(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("new"), HumanMessage("changed", id="1"), RemoveMessage(id="2")]}

    graph = StateGraph(MessagesState).add_node("edit", edit).add_edge(START, "edit").compile()
    result = graph.invoke({"messages": [HumanMessage("old", id="1"), HumanMessage("gone", id="2")]})
    assert [message.content for message in result["messages"]] == ["changed", "new"]


def test_G3_parallel_branches_merge_through_the_reducer_in_the_order_of_the_nodes() -> None:
    builder = StateGraph(Typed)
    for word in ("a", "b", "c"):
        builder.add_node(word, saying(word)).add_edge(START, word).add_edge(word, "join")
    builder.add_node("join", lambda state: {"text": "".join(state["log"])})
    assert builder.compile().invoke({})["text"] == "abc"


def saying(word: str) -> Callable[[Any], Any]:
    async def node(state: Typed) -> dict[str, Any]:
        await asyncio.sleep(0.003 if word == "a" else 0)
        return {"log": [word]}

    return node


def test_G4_a_retry_policy_on_a_node_makes_failed_attempts_again() -> None:
    attempts: list[int] = []

    def flaky(state: Typed) -> dict[str, Any]:
        attempts.append(1)
        if len(attempts) < 3:
            raise ConnectionError("down")
        return {"text": "up"}

    builder = StateGraph(Typed)
    builder.add_node("flaky", flaky, retry=RetryPolicy(max_attempts=3, initial_interval=0.001))
    assert builder.add_edge(START, "flaky").compile().invoke({})["text"] == "up"


def test_G4_P8_a_loop_ends_at_the_limit_with_a_clear_error_and_the_state_that_was_reached() -> None:
    builder = StateGraph(Typed).add_node("loop", lambda state: {"log": ["x"]})
    graph = builder.add_edge(START, "loop").add_edge("loop", "loop").compile()
    with pytest.raises(GraphRecursionError, match=r"did not end within 5 steps\..*recursion_limit") as caught:
        graph.invoke({}, {"recursion_limit": 5})
    assert caught.value.state["log"] == ["x"] * 5


def test_G5_a_chat_model_is_a_node_and_so_is_any_callable() -> None:
    class Shout:
        def __call__(self, state: MessagesState) -> AIMessage:
            return AIMessage(state["messages"][-1].text.upper())

    builder = StateGraph(MessagesState).add_node("model", ScriptedModel([AIMessage("hello")]))
    graph = builder.add_node("shout", Shout()).add_edge(START, "model").add_edge("model", "shout").compile()
    assert [message.content for message in graph.invoke("hi")["messages"]] == ["hi", "hello", "HELLO"]


def test_G5_a_model_that_gives_one_id_to_several_replies_adds_them_all() -> None:
    builder = StateGraph(MessagesState)
    for name in ("one", "two"):
        builder.add_node(name, ScriptedModel([AIMessage(name, id="same")]))
    messages = builder.add_edge(START, "one").add_edge("one", "two").compile().invoke("hi")["messages"]
    assert [message.content for message in messages] == ["hi", "one", "two"]


def test_G5_the_loop_of_model_and_tools_is_a_graph() -> None:
    @tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    model = ScriptedModel(
        [AIMessage(tool_calls=[{"id": "c1", "name": "add", "args": {"a": 1, "b": 2}}]), AIMessage("It is 3.")]
    )
    builder = StateGraph(MessagesState).add_node("model", model.bind_tools([add])).add_node(ToolNode([add]))
    builder.add_edge(START, "model").add_conditional_edges("model", tools_condition).add_edge("tools", "model")
    messages = builder.compile().invoke("1 + 2?")["messages"]
    assert [message.content for message in messages] == ["1 + 2?", "", "3", "It is 3."]
    assert isinstance(messages[2], ToolMessage)
