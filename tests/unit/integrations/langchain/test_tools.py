"""LangChain's tools, taken as they are by our nodes and by ``run_tool_calls``."""

# LangChain's own types are partly unknown.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import ToolMessage as TheirMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool as TheirBase
from langchain_core.tools import (
    InjectedToolArg,
    InjectedToolCallId,
    StructuredTool,
    Tool,
    ToolException,
)
from langchain_core.tools import tool as their_tool
from langgraph.prebuilt import InjectedState, InjectedStore, ToolRuntime
from pydantic import BaseModel, Field, field_validator
from pydantic.v1 import BaseModel as LegacyModel

from surehand import AIMessage, InMemoryStore, ToolNode, create_agent, run_tool_calls
from surehand.outcomes import FailureKind
from surehand.testing import ScriptedModel
from surehand.tools import as_tools


def turn(name: str, args: Any = None) -> AIMessage:
    return AIMessage(tool_calls=[{"id": "c1", "name": name, "args": args or {}}])


def answer(tools: Any, args: Any = None, *, name: str | None = None, state: Any = None, **options: Any) -> Any:
    given = tools if isinstance(tools, list) else [tools]
    message = turn(name or given[0].name, args)
    found = ToolNode(given, **options).invoke({"messages": [message], **(state or {})})
    return found["messages"][0]


@their_tool
def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


def test_the_name_the_description_and_the_schema_are_the_tools_own() -> None:
    (ours,) = as_tools([add])
    assert (ours.spec.name, ours.spec.description) == ("add", "Add two numbers.")
    assert ours.args == {"a": {"type": "integer"}, "b": {"type": "integer", "default": 2}}


def test_arguments_are_checked_as_those_of_any_tool_are() -> None:
    assert answer(add, {"a": "1"}).content == "3"
    refused = answer(add, {"a": "x", "b": [1]})
    assert refused.outcome.kind is FailureKind.INVALID_ARGUMENTS
    assert "$.a" in refused.content
    assert "$.b" in refused.content


def test_a_tool_is_run_by_hand_written_loops_and_agents() -> None:
    assert run_tool_calls(turn("add", {"a": 1}), [add])[0].content == "3"
    model = ScriptedModel([turn("add", {"a": 2}), AIMessage("4")])
    assert create_agent(model, [add]).invoke({"messages": [("user", "2+2")]})["messages"][-1].content == "4"


class Search(BaseModel):
    query: str = Field(alias="q")
    limit: int = 3

    @field_validator("limit")
    @classmethod
    def one_more(cls, limit: int) -> int:
        return limit + 1


def test_a_validator_runs_once_on_what_the_tool_is_given() -> None:
    @their_tool(args_schema=Search)
    def search(query: str, limit: int) -> str:
        """Search."""
        return f"{query} {limit}"

    assert answer(search, {"q": "x", "limit": 5}).content == "x 6"
    assert answer(search, {"query": "x"}).content == "x 3"  # by its own name, too; a default is not validated


def test_a_model_of_pydantic_v1_describes_arguments() -> None:
    class Legacy(LegacyModel):
        a: int

    legacy = StructuredTool.from_function(lambda a: a, name="legacy", description="Legacy.", args_schema=Legacy)
    assert answer(legacy, {"a": "1"}).content == "1"
    assert answer(legacy, {"a": "x"}).outcome.kind is FailureKind.INVALID_ARGUMENTS


def test_arguments_of_a_json_schema_are_checked() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    strict = StructuredTool.from_function(lambda n: n * 2, name="double", description="Double.", args_schema=schema)
    assert answer(strict, {"n": "4"}).content == "8"
    assert answer(strict, {}).outcome.kind is FailureKind.INVALID_ARGUMENTS


def test_a_tool_without_a_schema_is_checked_by_its_signature() -> None:
    class Square(TheirBase):
        name: str = "square"
        description: str = "Square."

        def _run(self, n: int, config: RunnableConfig, run_manager: Any = None) -> int:
            return n * n

    (ours,) = as_tools([Square()])
    assert ours.args == {"n": {"type": "integer"}}
    assert answer(Square(), {"n": "3"}).content == "9"
    assert answer(Square(), {"n": "x"}).outcome.kind is FailureKind.INVALID_ARGUMENTS


def test_a_tool_of_one_text_takes_it_under_the_name_that_models_are_told() -> None:
    echo = Tool(name="echo", description="Echo.", func=lambda text: text)
    assert list(as_tools([echo])[0].args) == ["__arg1"]
    assert answer(echo, {"__arg1": "hi"}).content == "hi"
    assert answer(echo, {"tool_input": "hi"}).content == "hi"


def test_what_the_host_fills_is_neither_shown_nor_taken_from_the_model() -> None:
    @their_tool
    def look(  # noqa: PLR0917 - LangChain fills them by name
        key: str,
        call_id: Annotated[str, InjectedToolCallId],
        city: Annotated[str, InjectedState("city")],
        state: Annotated[dict[str, Any], InjectedState],
        store: Annotated[Any, InjectedStore()],
        runtime: ToolRuntime,
    ) -> str:
        """Look."""
        item = store.get(("ns",), key)
        return f"{call_id} {city} {state['city']} {item.value['v']} {runtime.state['city']} {runtime.tool_call_id}"

    store = InMemoryStore()
    store.put(("ns",), "k", {"v": "stored"})
    assert list(as_tools([look])[0].args) == ["key"]
    told = answer(look, {"key": "k", "city": "forged", "call_id": "x"}, state={"city": "Rome"}, store=store)
    assert told.content == "c1 Rome Rome stored Rome c1"


def test_a_marked_argument_of_the_hosts_own_comes_from_its_context() -> None:
    @their_tool
    def who(user: Annotated[str, InjectedToolArg]) -> str:
        """Who."""
        return user

    node = ToolNode([who])
    found = node.invoke([turn("who", {"user": "mallory"})], context={"user": "ada"})
    assert found[0].content == "ada"
    assert node.invoke([turn("who")])[0].outcome.kind is FailureKind.INTERNAL


def test_the_configuration_reaches_the_tool() -> None:
    @their_tool
    def where(config: RunnableConfig) -> str:
        """Where."""
        return str(config.get("configurable", {}).get("thread_id"))

    node = ToolNode([where])
    assert node.invoke([turn("where")], {"configurable": {"thread_id": "t1"}})[0].content == "t1"


def test_content_and_artifact_are_kept_apart() -> None:
    @their_tool(response_format="content_and_artifact")
    def pair() -> tuple[str, list[int]]:
        """Pair."""
        return "three", [1, 2, 3]

    told = answer(pair)
    assert (told.content, told.artifact) == ("three", [1, 2, 3])


def test_a_result_that_json_cannot_carry_is_written_as_any_result_is() -> None:
    @their_tool
    def points() -> list[Any]:
        """Points."""
        return [Point(x=1)]

    assert answer(points).content == '[{"x": 1}]'


def test_a_direct_tool_ends_an_agent() -> None:
    @their_tool(return_direct=True)
    def final() -> str:
        """Final."""
        return "done"

    model = ScriptedModel([turn("final")])
    assert create_agent(model, [final]).invoke({"messages": [("user", "go")]})["messages"][-1].content == "done"


def test_an_asynchronous_tool_runs_on_the_loop_and_from_synchronous_code() -> None:
    @their_tool
    async def later(n: int) -> int:
        """Later."""
        return n + 1

    found = asyncio.run(ToolNode([later]).ainvoke([turn("later", {"n": 1})]))
    assert found[0].content == answer(later, {"n": 1}).content == "2"


def test_callbacks_hear_of_the_call() -> None:
    heard: list[Any] = []

    class Ears(BaseCallbackHandler):
        def on_tool_start(self, serialized: Any, input_str: str, **more: Any) -> None:
            heard.append((serialized["name"], more["tags"]))

        def on_tool_end(self, output: Any, **_: Any) -> None:
            heard.append(output.content)

    noisy = StructuredTool.from_function(
        lambda a: a, name="noisy", description="Noisy.", callbacks=[Ears()], tags=["loud"], args_schema=Number
    )
    assert answer(noisy, {"a": 1}).content == "1"
    assert heard == [("noisy", ["loud"]), "1"]


class Number(BaseModel):
    a: int


class Point(BaseModel):
    x: int


def test_the_authors_exception_is_told_word_for_word() -> None:
    @their_tool
    def fail() -> str:
        """Fail."""
        raise ToolException("Only on weekdays.")

    told = answer(fail)
    assert (told.content, told.outcome.kind) == ("Only on weekdays.", FailureKind.TOOL_ERROR)
    with pytest.raises(ToolException, match="Only on weekdays"):
        answer(fail, handle_tool_errors=False)


def test_a_tool_that_handles_its_own_errors_goes_first() -> None:
    @their_tool
    def fail(n: int) -> str:
        """Fail."""
        raise ToolException("no")

    fail.handle_tool_error = "It is closed."
    fail.handle_validation_error = "A number, please."
    told = answer(fail, {"n": 1})
    assert (told.content, told.status) == ("It is closed.", "error")
    assert answer(fail, {"n": "x"}).content == "A number, please."


def test_a_message_that_a_tool_returns_answers_its_own_call() -> None:
    @their_tool
    def talk() -> TheirMessage:
        """Talk."""
        return TheirMessage("hello", tool_call_id="another", artifact={"a": 1})

    told = answer(talk)
    assert (told.content, told.tool_call_id, told.artifact) == ("hello", "c1", {"a": 1})
