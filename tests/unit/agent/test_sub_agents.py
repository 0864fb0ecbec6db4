"""Agents as tools of other agents."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest
from pydantic import BaseModel

from support.agents import add, asking, call, outcomes
from surehand import (
    AIMessage,
    InjectedToolArg,
    Limits,
    ModelError,
    OptionError,
    ToolContext,
    ToolDefinitionError,
    ToolMessage,
    create_agent,
    tool,
)
from surehand.agent import Agent
from surehand.events import CallFinished
from surehand.testing import FakeClock, FunctionModel, ScriptedModel, record_events

HELP = call("helper", request="What is 2 + 3?")


def helper(*replies: Any, tools: Any = (add,), **options: Any) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel(list(replies))
    return create_agent(model, tools, name="helper", **options), model


def told(agent: Agent, *, request: Any = HELP, **options: Any) -> ToolMessage:
    """What a calling model is told of an agent's answer."""
    caller = create_agent(ScriptedModel([asking(request), "ok"]), [agent.as_tool(description="Ask.", **options)])
    result = caller.invoke("hi")
    answer = result["messages"][2]
    assert isinstance(answer, ToolMessage)
    return answer


def test_the_answer_of_the_agent_is_the_result() -> None:
    agent, model = helper(asking(), "It is 5.")
    answer = told(agent)
    assert (answer.text, answer.status) == ("It is 5.", "success")
    model.assert_complete()


def test_it_is_described_as_a_tool_with_one_argument() -> None:
    agent, _ = helper()
    spec = agent.as_tool(description="Ask about numbers.", name="calculator", timeout=5).spec
    assert (spec.name, spec.description, spec.options.timeout) == ("calculator", "Ask about numbers.", 5)
    assert spec.schema.json_schema["properties"].keys() == {"request"}
    assert agent.as_tool(description="Ask.").spec.name == "helper"


def test_options_and_names_are_checked() -> None:
    agent, _ = helper()
    with pytest.raises(OptionError, match="timeout"):
        agent.as_tool(description="Ask.", timeout=0)
    with pytest.raises(ToolDefinitionError, match="name"):
        agent.as_tool(description="Ask.", name=" ")


def test_its_conversation_is_its_own() -> None:
    agent, model = helper("5", system_prompt="You calculate.")
    caller_model = ScriptedModel([asking(HELP), "ok"])
    caller = create_agent(caller_model, [agent.as_tool(description="Ask.")], system_prompt="The code is 1234.")
    caller.invoke("My password is hunter2.")
    assert [message.text for message in model.requests[0]] == ["You calculate.", "What is 2 + 3?"]


def test_a_structured_answer_is_the_result_as_json() -> None:
    class Sum(BaseModel):
        value: int

    agent, _ = helper(asking(call("Sum", value=5)), response_format=Sum)
    assert told(agent).text == '{"value": 5}'


def test_direct_results_are_the_result() -> None:
    @tool(return_direct=True)
    def look(key: str) -> str:
        """Look."""
        return f"value of {key}"

    one, _ = helper(asking(call("look", key="a")), tools=[look])
    two, _ = helper(asking(call("look", key="a"), call("look", "c2", key="b")), tools=[look])
    assert told(one).text == "value of a"
    assert told(two).text == "value of a\n\nvalue of b"


def test_an_end_without_an_answer_is_told_with_its_reason_and_the_last_words() -> None:
    stuck, _ = helper(AIMessage("Let me see.", tool_calls=[call()]), max_iterations=1)
    answer = told(stuck)
    assert answer.status == "error"
    assert answer.text == "The agent 'helper' ended without an answer (max_iterations). Its last words: Let me see."


def test_an_end_at_its_own_limit_is_none_of_the_callers() -> None:
    limited, model = helper(asking(), "So far: 5.", limits=Limits(calls=1))
    assert told(limited).text == "The agent 'helper' ended without an answer (max_calls). Its last words: So far: 5."
    assert len(model.requests) == 2


def test_without_words_there_are_none_to_tell() -> None:
    lost = AIMessage("", response_metadata={"finish_reason": "other"})
    agent, _ = helper(lost, lost, lost)
    assert told(agent).text == "The agent 'helper' ended without an answer (empty_reply)."


def test_a_failing_model_fails_the_call_and_not_the_caller() -> None:
    agent, _ = helper(ModelError(model="m", problem="down", remedy="Wait."))
    answer = told(agent)
    assert (answer.status, answer.outcome is not None and answer.outcome.kind) == ("error", "exception")


def test_its_tools_are_given_the_hosts_object() -> None:
    @tool
    def who(context: ToolContext) -> str:
        """Say who asks."""
        return str(context.context)

    agent, model = helper(asking(call("who")), "done", tools=[who])
    caller = create_agent(ScriptedModel([asking(HELP), "ok"]), [agent.as_tool(description="Ask.")])
    caller.invoke("hi", context="Ann")
    assert model.requests[1][-1].text == "Ann"


def test_its_thread_is_its_own_and_differs_from_call_to_call() -> None:
    threads: list[str] = []

    @tool
    def where(context: ToolContext) -> str:
        """Say where."""
        threads.append(context.thread_id)
        return "here"

    def reply(messages: list[Any]) -> Any:
        return "done" if messages[-1].type == "tool" else asking(call("where"))

    agent = create_agent(FunctionModel(reply), [where], name="helper")
    other = {**HELP, "id": "c2", "args": {"request": "And 3 + 4?"}}
    caller = create_agent(ScriptedModel([asking(HELP, other), "ok"]), [agent.as_tool(description="Ask.")])
    caller.invoke("hi", {"configurable": {"thread_id": "t", "checkpoint_id": "x", "user": "Ann"}})
    assert len(set(threads)) == 2
    assert all(thread.startswith("t/helper/") for thread in threads)


def test_what_its_tools_do_is_told_to_its_own_listener() -> None:
    events = record_events()
    agent, _ = helper(asking(), "5", listener=events)
    told(agent)
    assert [event.tool_name for event in events.of(CallFinished)] == ["add"]


def test_the_timeout_of_the_call_ends_it() -> None:
    stopped: list[bool] = []

    @tool
    async def hang() -> str:
        """Hang."""
        try:
            await asyncio.sleep(60)
        finally:
            stopped.append(True)
        return "never"

    agent, _ = helper(asking(call("hang")), tools=[hang.with_config(timeout=None)])
    model = ScriptedModel([asking(HELP), "ok"])
    caller = create_agent(model, [agent.as_tool(description="Ask.", timeout=5)], clock=FakeClock())
    answer = caller.invoke("hi")["messages"][2]
    assert (answer.outcome.kind, stopped) == ("timeout", [True])


def test_cancelling_the_caller_cancels_it() -> None:
    stopped: list[bool] = []
    began = asyncio.Event()

    @tool
    async def hang() -> str:
        """Hang."""
        began.set()
        try:
            await asyncio.sleep(60)
        finally:
            stopped.append(True)
        return "never"

    agent, _ = helper(asking(call("hang")), tools=[hang])
    caller = create_agent(ScriptedModel([asking(HELP)]), [agent.as_tool(description="Ask.")])

    async def main() -> None:
        task = asyncio.create_task(caller.ainvoke("hi"))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert stopped == [True]


def test_several_run_side_by_side() -> None:
    together = asyncio.Barrier(3)

    @tool
    async def meet(number: int) -> str:
        """Wait for the others."""
        await asyncio.wait_for(together.wait(), 5)
        return str(number)

    def reply(messages: list[Any]) -> Any:
        return messages[-1].text if messages[-1].type == "tool" else asking(call("meet", number=int(messages[0].text)))

    agent = create_agent(FunctionModel(reply), [meet], name="helper")
    calls = [{"id": f"c{n}", "name": "helper", "args": {"request": str(n)}} for n in range(3)]
    caller = create_agent(ScriptedModel([asking(*calls), "ok"]), [agent.as_tool(description="Ask.")])
    result = asyncio.run(caller.ainvoke("hi"))
    assert [message.text for message in result["messages"] if isinstance(message, ToolMessage)] == ["0", "1", "2"]


def test_a_tool_that_is_called_directly_runs_the_agent_too() -> None:
    agent, _ = helper("It is 5.")
    assert agent.as_tool(description="Ask.").invoke({"request": "2 + 3?"}) == "It is 5."


def test_an_agent_may_have_an_agent_that_has_an_agent() -> None:
    inner, _ = helper("5")
    middle = create_agent(ScriptedModel([asking(HELP), "It is 5."]), [inner.as_tool(description="Ask.")], name="middle")
    outer = create_agent(
        ScriptedModel([asking(call("middle", request="2 + 3?")), "5, I hear."]), [middle.as_tool(description="Ask.")]
    )
    result = outer.invoke("hi")
    assert (result["messages"][-1].text, outcomes(result)) == ("5, I hear.", [None])


def test_injected_values_stay_with_the_tools_they_belong_to() -> None:
    @tool
    def use(key: Annotated[str, InjectedToolArg] = "secret") -> str:
        """Use a key."""
        return f"{len(key)}"

    agent, model = helper(asking(call("use")), "done", tools=[use])
    told(agent)
    assert model.requests[1][-1].text == "6"
