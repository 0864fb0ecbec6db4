"""Hooks as steps: their order, what they write, where they lead."""

from __future__ import annotations

import asyncio
import operator
from typing import Annotated, Any, cast

import pytest

from support.agents import add, asking, call, kinds, outcomes
from surehand import (
    REMOVE_ALL_MESSAGES,
    AgentMiddleware,
    AIMessage,
    Command,
    HumanMessage,
    NodeError,
    RemoveMessage,
    ToolMessage,
    check_transcript,
    create_agent,
    tool,
)
from surehand.agent import AgentState, after_agent, after_model, before_agent, before_model
from surehand.control import END
from surehand.testing import FunctionModel, ScriptedModel


class Seen(AgentState, total=False):
    seen: Annotated[list[str], operator.add]


class Watcher(AgentMiddleware[Any]):
    """Writes down what runs, by its name."""

    state_schema = Seen

    def __init__(self, name: str) -> None:
        self.name = name

    def note(self, hook: str) -> dict[str, Any]:
        return {"seen": [f"{self.name}.{hook}"]}

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
        return self.note("before_agent")

    async def before_model(self, state: Any, runtime: Any) -> dict[str, Any]:
        return self.note("before_model")

    def after_model(self, state: Any, runtime: Any) -> dict[str, Any]:
        return self.note("after_model")

    async def after_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
        return self.note("after_agent")


def test_hooks_run_in_order_before_and_in_reverse_after() -> None:
    model = ScriptedModel([asking(), "5"])
    result = create_agent(model, [add], middleware=[Watcher("x"), Watcher("y")]).invoke("hi")
    before, after = ["x.before_model", "y.before_model"], ["y.after_model", "x.after_model"]
    ends = (["x.before_agent", "y.before_agent"], ["y.after_agent", "x.after_agent"])
    assert result["seen"] == [*ends[0], *before, *after, *before, *after, *ends[1]]


def test_each_hook_is_a_step_of_its_own_name() -> None:
    agent = create_agent(ScriptedModel(["5"]), middleware=[Watcher("x")])
    steps = [name for step in agent.stream("hi") for name in step]
    assert steps == ["x.before_agent", "x.before_model", "model", "x.after_model", "x.after_agent"]


def test_a_hook_that_nobody_wrote_is_no_step() -> None:
    class Idle(AgentMiddleware):
        pass

    assert list(create_agent(ScriptedModel([]), [add], middleware=[Idle()]).plan.nodes) == ["model", "tools"]


def test_the_loops_own_limit_comes_before_that_of_the_graph() -> None:
    model = FunctionModel(lambda messages: asking(call(call_id=f"c{len(messages)}", a=len(messages), b=1)))
    result = create_agent(model, [add], max_iterations=40, middleware=[Watcher(f"m{n}") for n in range(6)]).invoke("hi")
    assert result["end_reason"] == "max_iterations"
    assert kinds(result).count("ai") == 40


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("5", "answer"),
        (AIMessage("5 and", response_metadata={"finish_reason": "length"}), "truncated"),
        (AIMessage("", response_metadata={"finish_reason": "other"}), "empty_reply"),
        ('{"name": "add", "arguments": {"a": 1, "b": 2}}', "text_call"),
    ],
)
def test_with_hooks_a_run_ends_for_the_same_reasons(reply: Any, reason: str) -> None:
    plain = create_agent(ScriptedModel([reply] * 3), [add]).invoke("hi")
    hooked = create_agent(ScriptedModel([reply] * 3), [add], middleware=[Watcher("x")]).invoke("hi")
    assert (plain["end_reason"], hooked["end_reason"]) == (reason, reason)
    metadata = [result["messages"][-1].response_metadata for result in (plain, hooked)]
    assert metadata[0] == metadata[1]


def test_a_hook_after_the_model_sees_the_reply_last_also_at_the_limit() -> None:
    newest: list[Any] = []
    look = after_model(lambda state, runtime: newest.append(state["messages"][-1].type), name="look")
    result = create_agent(ScriptedModel([asking()]), [add], middleware=[look], max_iterations=1).invoke("hi")
    assert newest == ["ai"]
    assert (result["end_reason"], outcomes(result)) == ("max_iterations", ["limit"])


def test_hooks_may_be_asynchronous_and_agents_awaited() -> None:
    agent = create_agent(ScriptedModel(["5"]), middleware=[Watcher("x")])
    assert len(asyncio.run(agent.ainvoke("hi"))["seen"]) == 4


def test_of_two_forms_the_one_of_the_door_runs() -> None:
    class Both(AgentMiddleware[Any]):
        state_schema = Seen

        def before_model(self, state: Any, runtime: Any) -> Any:
            return {"seen": ["here"]}

        async def abefore_model(self, state: Any, runtime: Any) -> Any:
            return {"seen": ["awaited"]}

    agent = create_agent(ScriptedModel(["5", "5"]), middleware=[Both()])
    assert agent.invoke("hi")["seen"] == ["here"]
    assert asyncio.run(agent.ainvoke("hi"))["seen"] == ["awaited"]


def test_a_hook_is_given_what_the_graph_hands_to_its_nodes() -> None:
    found: list[Any] = []
    look = before_model(lambda state, runtime: found.append((runtime.context, runtime.config["tags"])), name="look")
    create_agent(ScriptedModel(["5"]), middleware=[look]).invoke("hi", {"tags": ["x"]}, context="me")
    assert found == [("me", ["x"])]


# Where hooks lead


def test_a_run_may_be_ended_before_it_begins() -> None:
    @before_agent
    def refuse(state: Any, runtime: Any) -> dict[str, Any]:
        return {"messages": [AIMessage("We are closed.")], "jump_to": "end"}

    model = ScriptedModel([])
    result = create_agent(model, [add], middleware=[refuse, Watcher("x")]).invoke("hi")
    assert (result["end_reason"], result["messages"][-1].text) == ("middleware", "We are closed.")
    assert result["seen"] == ["x.after_agent"]


def test_a_command_leads_too() -> None:
    @before_model
    async def stop(state: Any, runtime: Any) -> Command[str]:
        return Command(update={"messages": [AIMessage("No.")]}, goto=END)

    result = create_agent(ScriptedModel([]), middleware=[stop]).invoke("hi")
    assert (result["end_reason"], result["messages"][-1].text) == ("middleware", "No.")


def test_a_command_may_lead_by_its_update() -> None:
    stop = before_model(lambda state, runtime: Command(update={"jump_to": "end"}), name="stop")
    assert create_agent(ScriptedModel([]), middleware=[stop]).invoke("hi")["end_reason"] == "middleware"


def test_a_jump_to_the_model_leaves_out_the_other_hooks_of_the_beginning() -> None:
    skip = before_agent(lambda state, runtime: {"jump_to": "model"}, name="skip")
    result = create_agent(ScriptedModel(["5"]), middleware=[skip, Watcher("x")]).invoke("hi")
    assert result["seen"] == ["x.before_model", "x.after_model", "x.after_agent"]


def test_calls_of_the_application_run_before_the_model_is_asked() -> None:
    @before_agent
    def look_up(state: Any, runtime: Any) -> dict[str, Any]:
        return {"messages": [asking(call(a=1, b=1))], "jump_to": "tools"}

    model = ScriptedModel(["2"])
    result = create_agent(model, [add], middleware=[look_up]).invoke("1 + 1?")
    assert kinds(result) == ["human", "ai", "tool", "ai"]
    assert (model.requests[0][-1].text, result["end_reason"]) == ("2", "answer")


def test_the_model_may_be_asked_again_and_its_calls_are_answered() -> None:
    @after_model
    def only_small(state: Any, runtime: Any) -> dict[str, Any] | None:
        newest = state["messages"][-1]
        if any(each["args"]["a"] > 10 for each in newest.tool_calls):
            return {"messages": [HumanMessage("Use small numbers.")], "jump_to": "model"}
        return None

    model = ScriptedModel([asking(call(a=99, b=1)), asking(call(call_id="c2", a=1, b=1)), "2"])
    result = create_agent(model, [add], middleware=[only_small]).invoke("hi")
    assert outcomes(result) == ["skipped", None]
    assert check_transcript(result["messages"]) == []
    assert "asks for another reply" in next(m for m in result["messages"] if isinstance(m, ToolMessage)).text
    assert result["end_reason"] == "answer"


@pytest.mark.parametrize("is_replaced", [True, False])
def test_answers_to_calls_that_are_left_behind_stand_right_behind_them(is_replaced: bool) -> None:  # noqa: FBT001 - a case
    @after_model
    def end(state: Any, runtime: Any) -> dict[str, Any]:
        newest = state["messages"][-1]
        own = newest.replace(content="Hm.") if is_replaced else asking(call(call_id="c9"))
        before = [] if is_replaced else [ToolMessage("No.", tool_call_id="c1")]
        return {"messages": [*before, own, HumanMessage("Stop.")], "jump_to": "end"}

    result = create_agent(ScriptedModel([asking()]), [add], middleware=[end]).invoke("hi")
    assert check_transcript(result["messages"]) == []
    assert result["messages"][-1].text == "Stop."


def test_a_conversation_that_was_written_anew_has_no_open_call_either() -> None:
    @after_model
    def anew(state: Any, runtime: Any) -> dict[str, Any]:
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *state["messages"]], "jump_to": "end"}

    result = create_agent(ScriptedModel([asking()]), [add], middleware=[anew]).invoke("hi")
    assert (kinds(result), check_transcript(result["messages"])) == (["human", "ai", "tool"], [])


def test_what_would_stand_between_calls_and_their_answers_is_an_error() -> None:
    say = after_model(lambda state, runtime: {"messages": [HumanMessage("And?")]}, name="say")
    look = after_model(lambda state, runtime: None, name="look")
    with pytest.raises(
        NodeError, match=r"'say\.after_model': it leaves HumanMessage.* between calls and their answers"
    ):
        create_agent(ScriptedModel([asking()]), [add], middleware=[look, say]).invoke("hi")


def test_a_run_may_be_ended_at_a_reply_with_calls_which_are_answered() -> None:
    stop = after_model(lambda state, runtime: {"jump_to": "end"}, name="stop")
    result = create_agent(ScriptedModel([asking()]), [add], middleware=[stop]).invoke("hi")
    assert (result["end_reason"], outcomes(result)) == ("middleware", ["skipped"])
    assert check_transcript(result["messages"]) == []


def test_an_answer_that_is_ended_is_an_answer() -> None:
    stop = after_model(lambda state, runtime: {"jump_to": "end"}, name="stop")
    assert create_agent(ScriptedModel(["5"]), middleware=[stop]).invoke("hi")["end_reason"] == "answer"


def test_a_jump_to_the_tools_leaves_out_the_other_hooks() -> None:
    @after_model
    def quick(state: Any, runtime: Any) -> dict[str, Any] | None:
        return {"jump_to": "tools"} if state["messages"][-1].tool_calls else None

    result = create_agent(ScriptedModel([asking(), "5"]), [add], middleware=[Watcher("x"), quick]).invoke("hi")
    assert result["seen"].count("x.after_model") == 1
    assert outcomes(result) == [None]


def test_the_end_may_be_no_end_until_the_limit() -> None:
    @after_agent
    def once_more(state: Any, runtime: Any) -> dict[str, Any]:
        return {"messages": [HumanMessage("Are you sure?")], "jump_to": "model"}

    model = ScriptedModel(["5", "5", "yes"])
    result = create_agent(model, middleware=[once_more], max_iterations=3).invoke("hi")
    assert [m.text for m in result["messages"] if m.type == "ai"] == ["5", "5", "yes"]
    assert result["end_reason"] == "max_iterations"


def test_asking_again_ends_at_the_limit() -> None:
    again = after_model(lambda state, runtime: {"jump_to": "model"}, name="again")
    result = create_agent(ScriptedModel(["a", "b"]), middleware=[again], max_iterations=2).invoke("hi")
    assert (result["end_reason"], kinds(result)) == ("max_iterations", ["human", "ai", "ai"])


@pytest.mark.parametrize(
    ("hook", "target"),
    [
        ("before_agent", "nowhere"),
        ("before_model", "model"),
        ("after_agent", "end"),
        ("after_agent", "tools"),
        ("after_model", 5),
        ("after_model", ["end", "model"]),
    ],
)
def test_a_hook_that_leads_where_it_may_not_is_an_error(hook: str, target: Any) -> None:
    def lead(state: Any, runtime: Any) -> dict[str, Any]:
        return {"jump_to": target}

    middleware: AgentMiddleware[Any] = AgentMiddleware()
    setattr(middleware, hook, lead)
    with pytest.raises(NodeError, match=rf"'AgentMiddleware\.{hook}': it leads to .* may lead to: "):
        create_agent(ScriptedModel(["5"]), [add], middleware=[middleware]).invoke("hi")


def test_a_jump_to_the_tools_without_a_call_is_an_error() -> None:
    jump = before_model(lambda state, runtime: {"jump_to": "tools"}, name="jump")
    with pytest.raises(NodeError, match="no call without an answer"):
        create_agent(ScriptedModel([]), [add], middleware=[jump]).invoke("hi")


def test_the_graph_around_the_agent_is_not_to_be_led() -> None:
    leave = after_model(lambda state, runtime: Command(graph=Command.PARENT, goto="x"), name="leave")
    with pytest.raises(NodeError, match="leads to the graph around the agent"):
        create_agent(ScriptedModel(["5"]), middleware=[leave]).invoke("hi")


# What hooks write


@pytest.mark.parametrize("returned", ["text", 5, [AIMessage("x")], Command(update=[AIMessage("x")]), Command(resume=1)])
def test_a_hook_that_returns_no_update_is_an_error(returned: Any) -> None:
    wrong = before_model(lambda state, runtime: returned, name="wrong")
    with pytest.raises(NodeError, match=r"'wrong\.before_model': it returned"):
        create_agent(ScriptedModel(["5"]), middleware=[wrong]).invoke("hi")


@pytest.mark.parametrize("key", ["end_reason", "model_calls"])
def test_the_loops_own_keys_are_not_to_be_written(key: str) -> None:
    wrong = after_model(lambda state, runtime: {key: None}, name="wrong")
    with pytest.raises(NodeError, match=f"it writes '{key}'"):
        create_agent(ScriptedModel(["5"]), middleware=[wrong]).invoke("hi")


def test_a_key_that_the_state_does_not_have_is_an_error() -> None:
    wrong = before_model(lambda state, runtime: {"tokens": 3}, name="wrong")
    with pytest.raises(NodeError, match="a key that AgentState does not have"):
        create_agent(ScriptedModel(["5"]), middleware=[wrong]).invoke("hi")


def test_an_exception_of_a_hook_gets_out_with_the_middlewares_name_and_what_was_reached() -> None:
    @after_model(name="critic")
    def fail(state: Any, runtime: Any) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError) as caught:
        create_agent(ScriptedModel(["5"]), middleware=[fail]).invoke("hi")
    assert "In after_model of the middleware 'critic'." in caught.value.__notes__
    assert [message.text for message in cast("Any", caught.value).state["messages"]] == ["hi", "5"]


def test_a_hook_may_replace_the_reply_before_it_is_acted_on() -> None:
    @after_model
    def without_calls(state: Any, runtime: Any) -> dict[str, Any]:
        return {"messages": [state["messages"][-1].replace(content="I would rather not.", tool_calls=[])]}

    result = create_agent(ScriptedModel([asking()]), [add], middleware=[without_calls]).invoke("hi")
    assert (result["end_reason"], kinds(result)) == ("answer", ["human", "ai"])


def test_a_hook_may_answer_calls_itself_and_the_others_run() -> None:
    @after_model
    def denied(state: Any, runtime: Any) -> dict[str, Any] | None:
        newest = state["messages"][-1]
        mine = [each for each in newest.tool_calls if each["args"].get("a") == 99]
        return {"messages": [ToolMessage("No.", tool_call_id=each["id"], status="error") for each in mine]}

    model = ScriptedModel([asking(call(a=99, b=1), call(call_id="c2", a=1, b=1)), "2"])
    result = create_agent(model, [add], middleware=[denied]).invoke("hi")
    assert [m.text for m in result["messages"] if isinstance(m, ToolMessage)] == ["No.", "2"]
    assert check_transcript(result["messages"]) == []


def test_where_a_hook_has_answered_all_calls_the_model_goes_on() -> None:
    @after_model
    def denied(state: Any, runtime: Any) -> dict[str, Any]:
        calls = state["messages"][-1].tool_calls
        return {"messages": [ToolMessage("No.", tool_call_id=each["id"]) for each in calls]}

    result = create_agent(ScriptedModel([asking(), "Then not."]), [add], middleware=[denied]).invoke("hi")
    assert (result["end_reason"], kinds(result)) == ("answer", ["human", "ai", "tool", "ai"])


def test_a_hook_may_take_the_reply_back() -> None:
    @after_model
    def forget(state: Any, runtime: Any) -> dict[str, Any] | None:
        newest = state["messages"][-1]
        return {"messages": [RemoveMessage(id=newest.id)]} if newest.text == "bad" else None

    result = create_agent(ScriptedModel(["bad", "good"]), middleware=[forget]).invoke("hi")
    assert [message.text for message in result["messages"]] == ["hi", "good"]


def test_an_end_before_the_model_leaves_no_call_open() -> None:
    stop = before_model(lambda state, runtime: {"jump_to": "end"}, name="stop")
    broken = [HumanMessage("hi"), asking(), HumanMessage("and?")]
    result = create_agent(ScriptedModel([]), [add], middleware=[stop]).invoke({"messages": broken})
    assert check_transcript(result["messages"]) == []
    assert outcomes(result) == ["unknown_outcome"]


def test_a_hook_before_the_model_may_shorten_the_conversation_for_good() -> None:
    @before_model
    def shorten(state: Any, runtime: Any) -> dict[str, Any]:
        return {"messages": [RemoveMessage(id=message.id) for message in state["messages"][:-1]]}

    model = ScriptedModel(["ok"])
    result = create_agent(model, middleware=[shorten]).invoke([HumanMessage(str(n)) for n in range(5)])
    assert [message.text for message in model.requests[0]] == ["4"]
    assert [message.text for message in result["messages"]] == ["4", "ok"]


def test_a_direct_result_ends_the_run_with_hooks_too() -> None:
    direct = tool("direct", return_direct=True)(lambda: "the answer")
    result = create_agent(ScriptedModel([asking(call("direct"))]), [direct], middleware=[Watcher("x")]).invoke("hi")
    assert (result["end_reason"], result["messages"][-1].text) == ("return_direct", "the answer")
    assert result["seen"][-1] == "x.after_agent"


def test_what_the_loop_alone_needs_is_not_in_the_result() -> None:
    result = create_agent(ScriptedModel(["5"]), middleware=[Watcher("x")]).invoke("hi")
    assert result.keys() == {"messages", "end_reason", "seen"}


def test_calls_that_a_hook_adds_at_the_end_are_answered() -> None:
    @after_agent
    def add_a_call(state: Any, runtime: Any) -> Any:
        return {"messages": [asking(call(call_id="late"))]}

    result = create_agent(ScriptedModel(["5"]), [add], middleware=[add_a_call]).invoke("hi")
    assert kinds(result) == ["human", "ai", "ai", "tool"]
    assert outcomes(result) == ["skipped"]
    assert result["end_reason"] == "answer"


def test_calls_that_a_hook_leaves_open_during_a_run_are_answered_before_the_model_is_asked() -> None:
    @before_model
    def add_a_call(state: Any, runtime: Any) -> Any:
        return {"messages": [asking(call(call_id="late"))]} if kinds(state)[-1] == "tool" else None

    model = ScriptedModel([asking(), "5"])
    result = create_agent(model, [add], middleware=[add_a_call]).invoke("hi")
    assert kinds(result) == ["human", "ai", "tool", "ai", "tool", "ai"]
    assert check_transcript(result["messages"]) == []
    assert [each.id for each in result["messages"]][:-1] == [each.id for each in model.requests[1]]


@pytest.mark.parametrize("call_id", ["c1", "of nobody"])
def test_an_answer_that_no_call_waits_for_is_an_error(call_id: str) -> None:
    @after_model
    def answer(state: Any, runtime: Any) -> Any:
        return {"messages": [ToolMessage("5", tool_call_id="c1"), ToolMessage("6", tool_call_id=call_id)]}

    agent = create_agent(ScriptedModel([asking()]), [add], middleware=[answer])
    with pytest.raises(NodeError, match=rf"it answers '{call_id}', which no call of the newest AI message waits for"):
        agent.invoke("hi")
