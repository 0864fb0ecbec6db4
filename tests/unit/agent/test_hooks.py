"""Middlewares as they are given to an agent: read and checked when it is built."""

from __future__ import annotations

import asyncio
import operator
from typing import Annotated, Any, NotRequired, Required, TypedDict

import pytest

from support.agents import add, asking, call
from surehand import (
    AgentMiddleware,
    AnyMessage,
    InjectedState,
    OptionError,
    ToolDefinitionError,
    ToolMessage,
    ToolNode,
    ToolSetRequest,
    add_messages,
    create_agent,
    tool,
)
from surehand.agent import AgentState, before_model, wrap_model_call, wrap_tool_call
from surehand.testing import ScriptedModel


@tool
def shout(text: str) -> str:
    """Say it loud."""
    return text.upper()


class Loud(AgentMiddleware[Any]):
    tools = (shout,)


class Audit(AgentMiddleware[Any]):
    """Notes every call."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name = name
        self.log = log

    async def wrap_tool_call(self, request: Any, run: Any) -> Any:
        self.log.append(f"{self.name} {request.tool_call['name']}")
        return await run(request)


def test_middlewares_of_calls_and_of_agents_keep_their_common_order() -> None:
    log: list[str] = []

    async def plain(request: Any, run: Any) -> Any:
        log.append("plain")
        return await run(request)

    stack: list[Any] = [Audit("x", log), plain, Audit("y", log)]
    create_agent(ScriptedModel([asking(), "5"]), [add], middleware=stack).invoke("hi")
    assert log == ["x add", "plain", "y add"]


def test_the_two_forms_of_a_wrapper_around_calls_go_with_the_door() -> None:
    log: list[str] = []

    class Both(AgentMiddleware[Any]):
        def wrap_tool_call(self, request: Any, run: Any) -> Any:
            log.append("here")
            return run(request)

        async def awrap_tool_call(self, request: Any, run: Any) -> Any:
            log.append("awaited")
            return await run(request)

    agent = create_agent(ScriptedModel([asking(), "5", asking(), "5"]), [add], middleware=[Both()])
    agent.invoke("hi")
    asyncio.run(agent.ainvoke("hi"))
    assert log == ["here", "awaited"]


def test_a_decorated_function_wraps_calls() -> None:
    @wrap_tool_call
    async def double(request: Any, run: Any) -> Any:
        answer = await run(request)
        return answer.replace(content=answer.text * 2)

    result = create_agent(ScriptedModel([asking(), "5"]), [add], middleware=[double]).invoke("hi")
    assert result["messages"][2].text == "55"


def test_two_middlewares_of_one_name_are_refused() -> None:
    with pytest.raises(OptionError, match=r"middleware='Loud'.*different names"):
        create_agent(ScriptedModel([]), middleware=[Loud(), Loud()])


def test_a_name_may_be_given_by_the_class_or_by_the_instance() -> None:
    class Named(AgentMiddleware[Any]):
        name = "critic"

    named, other = Named(), Named()
    other.name = "reader"
    assert (Loud().name, named.name, other.name) == ("Loud", "critic", "reader")
    assert repr(other) == "Named('reader')"


@pytest.mark.parametrize("name", ["", "  ", 5])
def test_a_name_that_says_nothing_is_refused(name: Any) -> None:
    middleware: AgentMiddleware[Any] = AgentMiddleware()
    middleware.name = name
    with pytest.raises(OptionError, match=r"^name="):
        create_agent(ScriptedModel([]), middleware=[middleware])


def test_an_attribute_that_is_not_there_is_missing() -> None:
    with pytest.raises(AttributeError, match="'Loud' object has no attribute 'toolz'"):
        _ = Loud().toolz  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType, reportUnknownMemberType]


class _Duck:
    def before_model(self, state: Any, runtime: Any) -> None:
        """Look like a middleware."""


class _Short(AgentMiddleware[Any]):
    def before_model(self, state: Any) -> None:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        """Take too little."""


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, "a list of middlewares"),
        ("x", "a list of middlewares"),
        ([5], "middleware=5"),
        ([Loud], "an instance of it"),
        ([_Duck()], "an AgentMiddleware, for it has before_model"),
        ([_Short()], "before_model of '_Short' to take two arguments"),
    ],
)
def test_what_is_no_middleware_is_refused(given: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        create_agent(ScriptedModel([]), middleware=given)


def _nothing(self: Any, state: Any, runtime: Any) -> None:
    """Do nothing."""


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("befor_model", "before_model"),
        ("after_models", "after_model"),
        ("abefore_agnt", "abefore_agent"),
        ("wrap_toolcall", "wrap_tool_call"),
    ],
)
def test_a_hook_that_is_misspelt_is_refused(name: str, meant: str) -> None:
    misspelt: Any = type("Mine", (AgentMiddleware,), {name: _nothing})
    with pytest.raises(OptionError, match=rf"{name!r} is none\. Did you mean {meant!r}\?"):
        create_agent(ScriptedModel([]), middleware=[misspelt()])


@pytest.mark.parametrize("name", ["before_tools", "_before_modell", "before_model_of_the_day", "model", "reset"])
def test_a_method_that_is_no_hook_is_left_alone(name: str) -> None:
    other: Any = type("Mine", (AgentMiddleware,), {name: _nothing})
    assert create_agent(ScriptedModel(["ok"]), middleware=[other()]).invoke("hi")["messages"][-1].text == "ok"


# Tools


def test_tools_of_a_middleware_are_tools_of_the_agent() -> None:
    model = ScriptedModel([asking(call("shout", text="hi")), "ok"])
    result = create_agent(model, [add], middleware=[Loud()]).invoke("hi")
    assert model.requests[0].tool_names == ("add", "shout")
    assert result["messages"][2].text == "HI"


def test_an_agent_without_tools_has_those_of_its_middlewares() -> None:
    model = ScriptedModel([asking(call("shout", text="hi")), "ok"])
    assert create_agent(model, middleware=[Loud()]).invoke("hi")["messages"][2].text == "HI"


@pytest.mark.parametrize("form", ["async", "sync", "coroutine"])
def test_they_come_besides_tools_that_are_computed(form: str) -> None:
    async def awaited(request: ToolSetRequest) -> list[Any]:
        return [add]

    def computed(request: ToolSetRequest) -> Any:
        return [add] if form == "sync" else awaited(request)

    model = ScriptedModel([asking(call("shout", text="hi")), "ok"])
    tools = awaited if form == "async" else computed
    result = create_agent(model, tools, middleware=[Loud()]).invoke("hi")
    assert model.requests[0].tool_names == ("add", "shout")
    assert result["messages"][2].text == "HI"


def test_a_node_takes_no_further_tools() -> None:
    with pytest.raises(OptionError, match="middlewares without tools beside a ToolNode"):
        create_agent(ScriptedModel([]), ToolNode([add]), middleware=[Loud()])


def test_a_node_takes_no_further_wrappers_around_calls_but_hooks() -> None:
    with pytest.raises(OptionError, match=r"Give middleware= to the ToolNode\."):
        create_agent(ScriptedModel([]), ToolNode([add]), middleware=[Audit("x", [])])
    hook = before_model(lambda state, runtime: None, name="hook")
    wrap = wrap_model_call(lambda request, handler: handler(request), name="wrap")
    result = create_agent(ScriptedModel(["5"]), ToolNode([add]), middleware=[hook, wrap]).invoke("hi")
    assert result["end_reason"] == "answer"


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ToolDefinitionError, match="shout"):
        create_agent(ScriptedModel([]), [shout], middleware=[Loud()])


def test_a_decorator_may_bring_tools_along() -> None:
    hook = before_model(lambda state, runtime: None, name="hook", tools=[shout])
    model = ScriptedModel(["ok"])
    create_agent(model, middleware=[hook]).invoke("hi")
    assert model.requests[0].tool_names == ("shout",)


# State


class Tokens(TypedDict, total=False):
    tokens: Annotated[int, operator.add]


class OtherTokens(TypedDict, total=False):
    tokens: int


class Trace(AgentState, total=False):
    trace: Annotated[list[str], operator.add]


def counting(schema: Any, name: str = "count") -> AgentMiddleware[Any]:
    return before_model(lambda state, runtime: None, name=name, state_schema=schema)


def test_keys_of_a_middleware_are_merged_by_their_reducers() -> None:
    @before_model(state_schema=Tokens)
    def count(state: Any, runtime: Any) -> dict[str, Any]:
        return {"tokens": 5}

    agent = create_agent(ScriptedModel([asking(), "5"]), [add], middleware=[count])
    assert agent.invoke({"messages": "hi", "tokens": 1})["tokens"] == 11


def test_tools_are_shown_the_keys_of_middlewares() -> None:
    @tool
    def look(state: Annotated[dict[str, Any], InjectedState]) -> int:
        """Look at the state."""
        return int(state["tokens"])

    agent = create_agent(ScriptedModel([asking(call("look")), "ok"]), [look], middleware=[counting(Tokens)])
    result = agent.invoke({"messages": "hi", "tokens": 7})
    assert [message.text for message in result["messages"] if isinstance(message, ToolMessage)] == ["7"]


def test_one_key_may_be_declared_twice_if_it_means_the_same() -> None:
    create_agent(ScriptedModel([]), middleware=[counting(Tokens, "a"), counting(Tokens, "b"), counting(Trace, "c")])


def test_keys_may_say_whether_they_have_to_be_there() -> None:
    class Stated(TypedDict):
        messages: Required[Annotated[list[AnyMessage], add_messages]]
        tokens: NotRequired[Annotated[int, operator.add]]

    create_agent(ScriptedModel([]), middleware=[counting(Tokens, "a"), counting(Stated, "b")])


def test_one_key_that_means_two_things_is_refused() -> None:
    with pytest.raises(OptionError, match=r"the key 'tokens' .* in the same way as by the middleware 'a'"):
        create_agent(ScriptedModel([]), middleware=[counting(Tokens, "a"), counting(OtherTokens, "b")])


def test_the_agents_own_keys_are_not_to_be_declared_in_another_way() -> None:
    class Own(TypedDict):
        messages: list[str]

    with pytest.raises(OptionError, match="as by the agent"):
        create_agent(ScriptedModel([]), middleware=[counting(Own)])


@pytest.mark.parametrize("schema", [dict, 5, int])
def test_a_schema_that_is_no_typeddict_is_refused(schema: Any) -> None:
    with pytest.raises(OptionError, match=r"state_schema=.*a TypedDict"):
        create_agent(ScriptedModel([]), middleware=[counting(schema)])
