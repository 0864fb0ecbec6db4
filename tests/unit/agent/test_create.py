"""Agents whose runs are kept: threads, questions, stops, and going on elsewhere."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from support.agents import add, asking, call, kinds, outcomes
from surehand import (
    AIMessage,
    Command,
    HumanMessage,
    InputError,
    InterruptError,
    Limits,
    MemorySaver,
    Message,
    ModelError,
    ToolMessage,
    ToolSetRequest,
    check_transcript,
    create_agent,
    interrupt,
    tool,
)
from surehand.agent import Agent, AgentState, after_model, before_model, wrap_model_call
from surehand.testing import FunctionModel, ScriptedModel

THREAD: Any = {"configurable": {"thread_id": "t"}}


def questions(result: dict[str, Any]) -> list[Any]:
    """What a result asks."""
    return [question.value for question in result.get("__interrupt__", [])]


def test_a_later_input_goes_on_with_the_conversation_and_counts_anew() -> None:
    model = ScriptedModel([asking(), "5", asking(call(call_id="c2")), "5 again"])
    agent = create_agent(model, [add], checkpointer=MemorySaver(), max_iterations=2)
    first = agent.invoke("2 + 3?", THREAD)
    second = agent.invoke("Once more?", THREAD)
    assert (first["end_reason"], second["end_reason"]) == ("answer", "answer")
    assert kinds(second) == ["human", "ai", "tool", "ai"] * 2
    assert [message.text for message in model.requests[2]] == ["2 + 3?", "", "5", "5", "Once more?"]


def test_threads_are_kept_apart() -> None:
    agent = create_agent(ScriptedModel(["a", "b"]), checkpointer=MemorySaver())
    agent.invoke("hi", THREAD)
    other = agent.invoke("hi", {"configurable": {"thread_id": "u"}})
    assert kinds(other) == ["human", "ai"]


def test_a_thread_may_have_more_steps_than_one_run() -> None:
    agent = create_agent(FunctionModel(lambda messages: "ok"), checkpointer=MemorySaver(), max_iterations=1)
    lengths = [len(agent.invoke("hi", THREAD)["messages"]) for _ in range(12)]
    assert lengths == list(range(2, 26, 2))


def test_the_state_of_a_thread_can_be_read_and_changed() -> None:
    agent = create_agent(ScriptedModel(["a", "b"]), checkpointer=MemorySaver())
    agent.invoke("hi", THREAD)
    agent.update_state(THREAD, {"messages": [HumanMessage("and?")], "end_reason": None}, as_node="tools")
    assert agent.get_state(THREAD).next == ("model",)
    assert agent.invoke(None, THREAD)["messages"][-1].text == "b"


def test_a_run_whose_model_failed_goes_on_where_it_stopped() -> None:
    ran: list[int] = []

    @tool
    def count(number: int) -> int:
        """Count."""
        ran.append(number)
        return number

    error = ModelError(model="m", problem="down", remedy="Wait.")
    agent = create_agent(
        ScriptedModel([asking(call("count", number=1)), error, "done"]), [count], checkpointer=MemorySaver()
    )
    with pytest.raises(ModelError):
        agent.invoke("hi", THREAD)
    result = agent.invoke(None, THREAD)
    assert (result["messages"][-1].text, ran, outcomes(result)) == ("done", [1], [None])


def test_a_run_may_stop_before_the_tools() -> None:
    agent = create_agent(ScriptedModel([asking(), "5"]), [add], checkpointer=MemorySaver(), interrupt_before=["tools"])
    stopped = agent.invoke("hi", THREAD)
    assert (kinds(stopped), stopped["end_reason"]) == (["human", "ai"], None)
    assert agent.invoke(None, THREAD)["messages"][-1].text == "5"


def test_a_run_may_stop_after_the_model() -> None:
    agent = create_agent(ScriptedModel([asking(), "5"]), [add], checkpointer=MemorySaver(), interrupt_after=["model"])
    assert kinds(agent.invoke("hi", THREAD)) == ["human", "ai"]


def test_answers_without_a_checkpointer_fit_nothing() -> None:
    with pytest.raises(InterruptError):
        create_agent(ScriptedModel([])).invoke(Command(resume="yes"), THREAD)
    with pytest.raises(InputError):
        create_agent(ScriptedModel([])).invoke(None, THREAD)


# Questions


def asking_hooks(saver: MemorySaver, log: list[str], *replies: Any) -> Agent:
    """An agent with a hook that asks, between two that do not."""

    @before_model
    def first(state: Any, runtime: Any) -> None:
        log.append("first")

    @before_model
    def ask(state: Any, runtime: Any) -> dict[str, Any] | None:
        log.append("ask")
        if interrupt("Go on?") == "no":
            return {"messages": [AIMessage("Stopped.")], "jump_to": "end"}
        return None

    @after_model
    def last(state: Any, runtime: Any) -> None:
        log.append("last")

    return create_agent(ScriptedModel(list(replies)), checkpointer=saver, middleware=[first, ask, last])


def test_a_hook_may_ask_and_is_run_again_alone() -> None:
    saver, log = MemorySaver(), list[str]()
    asked = asking_hooks(saver, log, "5").invoke("hi", THREAD)
    assert (questions(asked), asked["end_reason"], kinds(asked)) == (["Go on?"], None, ["human"])
    result = asking_hooks(saver, log, "5").invoke(Command(resume="yes"), THREAD)
    assert (result["messages"][-1].text, log) == ("5", ["first", "ask", "ask", "last"])
    assert "__interrupt__" not in result


def test_an_answer_may_end_the_run() -> None:
    saver = MemorySaver()
    asking_hooks(saver, []).invoke("hi", THREAD)
    result = asking_hooks(saver, []).invoke(Command(resume="no"), THREAD)
    assert (result["messages"][-1].text, result["end_reason"]) == ("Stopped.", "middleware")


def test_a_hook_after_the_model_may_ask_about_its_calls_in_another_process() -> None:
    saver = MemorySaver()

    def make(*replies: Any) -> Agent:
        @after_model
        def review(state: Any, runtime: Any) -> dict[str, Any] | None:
            calls = state["messages"][-1].tool_calls
            if not calls or interrupt({"calls": [each["name"] for each in calls]}):
                return None
            return {"messages": [ToolMessage("No.", tool_call_id=each["id"], status="error") for each in calls]}

        return create_agent(ScriptedModel(list(replies)), [add], checkpointer=saver, middleware=[review])

    asked = make(asking()).invoke("hi", THREAD)
    assert questions(asked) == [{"calls": ["add"]}]
    denied = make("Then not.").invoke(Command(resume=False), THREAD)
    assert [message.text for message in denied["messages"]][-2:] == ["No.", "Then not."]
    assert check_transcript(denied["messages"]) == []


def test_a_wrapper_around_the_model_may_ask() -> None:
    @wrap_model_call
    def ask(request: Any, handler: Any) -> Any:
        return handler(request.override(system_prompt=interrupt("Who am I?")))

    model = ScriptedModel(["5"])
    agent = create_agent(model, checkpointer=MemorySaver(), middleware=[ask])
    assert questions(agent.invoke("hi", THREAD)) == ["Who am I?"]
    agent.invoke(Command(resume="A poet."), THREAD)
    assert model.requests[0][0].text == "A poet."


# In another process


def test_a_structured_answer_is_kept_as_what_it_is() -> None:
    class Sum(BaseModel):
        value: int

    saver = MemorySaver()
    reply = asking(call("Sum", value=5))
    create_agent(ScriptedModel([reply]), response_format=Sum, checkpointer=saver).invoke("hi", THREAD)
    elsewhere = create_agent(ScriptedModel(["no", "no"]), response_format=Sum, checkpointer=saver)
    assert elsewhere.get_state(THREAD).values["structured_response"] == Sum(value=5)
    assert elsewhere.invoke("again", THREAD)["structured_response"] is None


def test_what_a_middleware_adds_to_the_state_is_kept() -> None:
    class Own(AgentState, total=False):
        seen: set[str]

    @before_model(state_schema=Own)
    def note(state: Any, runtime: Any) -> dict[str, Any]:
        return {"seen": {*state.get("seen", set()), state["messages"][-1].text}}

    saver = MemorySaver()
    for text in ("a", "b"):
        result = create_agent(ScriptedModel(["ok"]), checkpointer=saver, middleware=[note]).invoke(text, THREAD)
    assert result["seen"] == {"a", "b"}


def test_computed_tools_that_are_direct_end_a_run_that_another_process_began() -> None:
    saver = MemorySaver()

    def make(*replies: Any) -> Agent:
        def tools_of(request: ToolSetRequest) -> list[Any]:
            return [tool("direct", return_direct=True)(lambda: "the answer")]

        return create_agent(ScriptedModel(list(replies)), tools_of, checkpointer=saver, interrupt_before=["tools"])

    make(asking(call("direct"))).invoke("hi", THREAD)
    result = make().invoke(None, THREAD)
    assert (result["end_reason"], result["messages"][-1].text) == ("return_direct", "the answer")


def test_a_limit_that_was_reached_is_the_reason_in_another_process_too() -> None:
    saver = MemorySaver()
    stop = after_model(lambda state, runtime: None, name="stop")

    def make(*replies: Any) -> Agent:
        return create_agent(
            ScriptedModel(list(replies)),
            [add],
            checkpointer=saver,
            middleware=[stop],
            limits=Limits(calls=1),
            interrupt_after=["model"],
        )

    make(asking()).invoke("hi", THREAD)
    make("So far.").invoke(None, THREAD)
    assert make().invoke(None, THREAD)["end_reason"] == "max_calls"


# Agents inside of agents


def nested(saver: MemorySaver, log: list[str], inner: list[Any], outer: list[Any]) -> Agent:
    """An agent whose tool is an agent whose tool asks."""

    @tool
    def look(key: str) -> str:
        """Look a key up."""
        log.append(f"look {key}")
        return f"value of {key}"

    @before_model
    def confirm(state: Any, runtime: Any) -> None:
        if isinstance(state["messages"][-1], ToolMessage):
            log.append(f"confirmed: {interrupt('Use it?')}")

    helper = create_agent(ScriptedModel(inner), [look], name="helper", middleware=[confirm])
    return create_agent(ScriptedModel(outer), [helper.as_tool(description="Ask.")], checkpointer=saver)


def test_a_question_of_an_agent_inside_is_the_question_of_the_run_and_no_step_is_repeated() -> None:
    saver, log = MemorySaver(), list[str]()
    inner, outer = [asking(call("look", key="a"))], [asking(call("helper", request="Look."))]
    asked = nested(saver, log, inner, outer).invoke("hi", THREAD)
    assert questions(asked) == ["Use it?"]
    result = nested(saver, log, ["It is a."], ["I see: a."]).invoke(Command(resume="yes"), THREAD)
    assert (result["messages"][-1].text, outcomes(result)) == ("I see: a.", [None])
    assert log == ["look a", "confirmed: yes"]


def test_an_agent_inside_begins_anew_in_each_call() -> None:
    seen: list[list[str]] = []

    def reply(messages: list[Message]) -> str:
        seen.append([message.text for message in messages])
        return "ok"

    helper = create_agent(FunctionModel(reply), name="helper")
    calls = [asking(call("helper", f"c{n}", request=f"number {n}")) for n in range(2)]
    agent = create_agent(
        ScriptedModel([*calls, "done"]), [helper.as_tool(description="Ask.")], checkpointer=MemorySaver()
    )
    agent.invoke("hi", THREAD)
    assert seen == [["number 0"], ["number 1"]]


def test_an_approval_inside_is_asked_of_whoever_runs_the_agent_outside() -> None:
    log: list[str] = []

    @tool(requires_approval=True)
    def wipe(place: str) -> str:
        """Wipe a place."""
        log.append(f"wiped {place}")
        return "clean"

    @tool
    def look(place: str) -> str:
        """Look at a place."""
        log.append(f"looked at {place}")
        return "a mess"

    inner: list[Any] = [asking(call("look", "c1", place="desk"), call("wipe", "c2", place="desk")), "It is clean."]
    helper = create_agent(ScriptedModel(inner), [look, wipe], name="helper")
    outer: list[Any] = [asking(call("helper", request="Clean up."), call("look", "c2", place="door")), "Done."]
    agent = create_agent(ScriptedModel(outer), [helper.as_tool(description="Ask."), look], checkpointer=MemorySaver())
    (question,) = agent.invoke("hi", THREAD)["__interrupt__"]
    assert (question.kind, question.tool, question.value["arguments"]) == ("approval", "wipe", {"place": "desk"})
    result = agent.invoke(Command(resume=True), THREAD)
    assert (result["messages"][-1].text, outcomes(result)) == ("Done.", [None, None])
    assert sorted(log) == ["looked at desk", "looked at door", "wiped desk"]


def test_questions_of_several_agents_inside_are_answered_one_by_one() -> None:
    @tool
    def confirm(what: str) -> str:
        """Have it confirmed."""
        return str(interrupt(what))

    def reply(messages: list[Message]) -> Any:
        newest = messages[-1]
        return newest.text if newest.type == "tool" else asking(call("confirm", what=newest.text))

    helper = create_agent(FunctionModel(reply), [confirm], name="helper")
    turn = asking(call("helper", "c1", request="one?"), call("helper", "c2", request="two?"))
    agent = create_agent(
        ScriptedModel([turn, "Done."]), [helper.as_tool(description="Ask.")], checkpointer=MemorySaver()
    )
    asked = agent.invoke("hi", THREAD)["__interrupt__"]
    by_value = {question.value: question.id for question in asked}
    left = agent.invoke(Command(resume={by_value["two?"]: "yes, two"}), THREAD)
    assert questions(left) == ["one?"]
    result = agent.invoke(Command(resume="yes, one"), THREAD)
    answers = [message.text for message in result["messages"] if isinstance(message, ToolMessage)]
    assert answers == ["yes, one", "yes, two"]
