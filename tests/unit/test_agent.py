from __future__ import annotations

import asyncio
import threading
from typing import Annotated, Any, cast

import pytest

from surehand import (
    AIMessage,
    HumanMessage,
    InjectedStore,
    InMemoryStore,
    InputError,
    MessagesState,
    ModelError,
    OptionError,
    StateGraph,
    SystemMessage,
    ToolDefinitionError,
    ToolMessage,
    create_agent,
    tool,
)
from surehand.control import END, START
from surehand.events import CallFinished
from surehand.testing import FunctionModel, ScriptedModel, record_events


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def call(call_id: str = "c1", name: str = "add", **args: Any) -> dict[str, Any]:
    return {"id": call_id, "name": name, "args": args or {"a": 2, "b": 3}}


def asking(*calls: dict[str, Any], content: str = "") -> AIMessage:
    return AIMessage(content, tool_calls=list(calls) or [call()])


def kinds(result: dict[str, Any]) -> list[str]:
    return [message.type for message in result["messages"]]


def test_the_result_holds_the_conversation_and_the_reason() -> None:
    result = create_agent(ScriptedModel([asking(), "5"]), [add]).invoke({"messages": [HumanMessage("2 + 3?")]})
    assert result.keys() == {"messages", "end_reason"}
    assert kinds(result) == ["human", "ai", "tool", "ai"]
    assert result["messages"][2].text == "5"
    assert result["end_reason"] == "answer"


def test_text_and_lists_are_inputs_too() -> None:
    for given in ("hi", ("user", "hi"), [HumanMessage("hi")], {"messages": "hi"}):
        result = create_agent(ScriptedModel(["hello"])).invoke(given)
        assert kinds(result) == ["human", "ai"]


def test_an_input_that_holds_no_messages_is_refused() -> None:
    with pytest.raises(InputError):
        create_agent(ScriptedModel(["hello"])).invoke(3)


def test_the_system_prompt_is_sent_and_not_kept() -> None:
    model = ScriptedModel([asking(), "5"])
    result = create_agent(model, [add], system_prompt="Be short.").invoke("2 + 3?")
    assert [request[0] for request in model.requests] == [SystemMessage("Be short.")] * 2
    assert "system" not in kinds(result)


def test_a_system_message_can_be_the_prompt() -> None:
    model = ScriptedModel(["5"])
    create_agent(model, system_prompt=SystemMessage("Be short.", name="boss")).invoke("hi")
    assert model.requests[0][0].name == "boss"


def test_a_prompt_that_is_no_text_is_refused() -> None:
    with pytest.raises(OptionError, match="system_prompt"):
        create_agent(ScriptedModel([]), system_prompt=cast("Any", ["Be short."]))


def test_the_model_may_be_a_name() -> None:
    agent = create_agent("deepseek:deepseek-v4-flash", [add])
    assert agent.name == "agent"


def test_functions_are_tools_too() -> None:
    def double(number: int) -> int:
        """Double a number."""
        return 2 * number

    result = create_agent(ScriptedModel([asking(call(name="double", number=4)), "8"]), [double]).invoke("hi")
    assert result["messages"][2].text == "8"


def test_the_limit_counts_one_run_and_not_the_conversation() -> None:
    agent = create_agent(ScriptedModel([asking(), "5", asking(call("c2")), "5"]), [add], max_iterations=2)
    first = agent.invoke("2 + 3?")
    second = agent.invoke({"messages": [*first["messages"], HumanMessage("again?")]})
    assert (first["end_reason"], second["end_reason"]) == ("answer", "answer")
    assert len(second["messages"]) == 8


def test_many_turns_do_not_meet_the_graphs_own_limit() -> None:
    replies = [asking(call(f"c{number}", a=number, b=1)) for number in range(59)]
    result = create_agent(ScriptedModel([*replies, "done"]), [add], max_iterations=60).invoke("hi")
    assert result["messages"][-1].text == "done"


@pytest.mark.parametrize("limit", [0, -1, True, 2.5])
def test_a_limit_below_one_is_refused(limit: Any) -> None:
    with pytest.raises(OptionError, match="max_iterations"):
        create_agent(ScriptedModel([]), max_iterations=limit)


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ToolDefinitionError, match="add"):
        create_agent(ScriptedModel([]), [add, add])


def test_an_agent_without_tools_answers_calls_all_the_same() -> None:
    result = create_agent(ScriptedModel([asking(), "sorry"])).invoke("hi")
    assert kinds(result) == ["human", "ai", "tool", "ai"]
    assert result["messages"][2].outcome.kind == "unknown_tool"


def test_a_forced_choice_without_tools_is_refused() -> None:
    with pytest.raises(OptionError, match="tool_choice"):
        create_agent(ScriptedModel([]), tool_choice="required")


def test_a_choice_bound_to_the_model_is_for_the_first_request_too() -> None:
    model = ScriptedModel([asking(), "5"])
    create_agent(model.bind_tools([add], tool_choice="add"), [add]).invoke("hi")
    assert [request.tool_choice for request in model.requests] == ["add", None]


def test_an_answer_that_was_cut_off_says_so() -> None:
    cut = AIMessage("The answer is", response_metadata={"finish_reason": "length"})
    assert create_agent(ScriptedModel([cut]), [add]).invoke("hi")["end_reason"] == "truncated"


def test_an_empty_answer_that_ended_normally_is_an_answer() -> None:
    empty = AIMessage("", response_metadata={"finish_reason": "stop"})
    assert create_agent(ScriptedModel([empty]), [add]).invoke("hi")["end_reason"] == "answer"


def test_a_reply_that_is_no_message_is_an_error() -> None:
    class Broken(ScriptedModel):
        async def ainvoke(self, input: Any, config: Any = None) -> Any:
            return "text"

    with pytest.raises(InputError, match="no AIMessage"):
        create_agent(Broken([])).invoke("hi")


def test_events_go_to_the_listener() -> None:
    events = record_events()
    create_agent(ScriptedModel([asking(), "5"]), [add], listener=events).invoke("hi")
    assert [event.call_id for event in events.of(CallFinished)] == ["c1"]


def test_approvals_are_asked_for() -> None:
    @tool(requires_approval=True)
    def wipe() -> str:
        """Delete everything."""
        return "gone"

    reply = asking({"id": "c1", "name": "wipe", "args": {}})
    denied = create_agent(ScriptedModel([reply, "ok"]), [wipe]).invoke("hi")
    allowed = create_agent(ScriptedModel([reply, "ok"]), [wipe], approve=lambda name, values: True).invoke("hi")
    assert denied["messages"][2].outcome.kind == "denied"
    assert allowed["messages"][2].text == "gone"


def test_tools_reach_the_store() -> None:
    @tool
    async def remember(text: str, store: Annotated[Any, InjectedStore]) -> str:
        """Keep a text."""
        await store.aput(("notes",), "last", {"text": text})
        return "kept"

    store = InMemoryStore()
    create_agent(ScriptedModel([asking(call(name="remember", text="x")), "ok"]), [remember], store=store).invoke("hi")
    item = store.get(("notes",), "last")
    assert item is not None
    assert item.value == {"text": "x"}


def test_the_steps_can_be_watched() -> None:
    steps = list(create_agent(ScriptedModel([asking(), "5"]), [add]).stream("hi"))
    assert len(steps) == 3


def test_the_steps_can_be_awaited() -> None:
    async def watch() -> list[Any]:
        return [step async for step in create_agent(ScriptedModel([asking(), "5"]), [add]).astream("hi")]

    assert len(asyncio.run(watch())) == 3


def test_an_agent_is_a_node() -> None:
    graph = StateGraph(MessagesState)
    graph.add_node("helper", create_agent(ScriptedModel([asking(), "5"]), [add]))
    graph.add_edge(START, "helper")
    graph.add_edge("helper", END)
    result = graph.compile().invoke({"messages": [HumanMessage("hi")]})
    assert [message.type for message in result["messages"]] == ["human", "ai", "tool", "ai"]


def test_one_agent_serves_many_at_once() -> None:
    def answer(messages: list[Any]) -> AIMessage:
        newest = messages[-1]
        if isinstance(newest, ToolMessage):
            return AIMessage(newest.text)
        number = int(newest.text)
        return asking(call(f"c{number}", a=number, b=1))

    agent = create_agent(FunctionModel(answer), [add])
    answers: dict[int, str] = {}

    def run(number: int) -> None:
        answers[number] = agent.invoke(str(number))["messages"][-1].text

    async def run_all() -> list[str]:
        results = await asyncio.gather(*(agent.ainvoke(str(number)) for number in range(20)))
        return [result["messages"][-1].text for result in results]

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: str(number + 1) for number in range(8)}
    assert asyncio.run(run_all()) == [str(number + 1) for number in range(20)]


def test_an_error_that_carries_a_state_of_its_own_keeps_it() -> None:
    error = ModelError(model="m", problem="down", remedy="Wait.")
    error.state = "mine"
    with pytest.raises(ModelError) as caught:
        create_agent(ScriptedModel([error])).invoke("hi")
    assert caught.value.state == "mine"


def test_an_agent_inside_a_graph_keeps_its_own_limit() -> None:
    replies = [asking(call(f"c{number}", a=number, b=1)) for number in range(24)]
    graph = StateGraph(MessagesState)
    graph.add_node("helper", create_agent(ScriptedModel([*replies, "done"]), [add]))
    graph.add_edge(START, "helper")
    result = graph.compile().invoke({"messages": [HumanMessage("hi")]})
    assert result["messages"][-1].text == "done"


@pytest.mark.parametrize(
    "options",
    [
        {"model": 5},
        {"model": None},
        {"model": ScriptedModel},
        {"approve": "yes"},
        {"listener": 5},
        {"name": ""},
        {"name": 5},
        {"handle_tool_errors": None},
    ],
)
def test_an_option_of_an_agent_that_makes_no_sense_is_refused_by_name(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=f"^{next(iter(options))}="):
        create_agent(**cast("dict[str, Any]", {"model": ScriptedModel(["x"]), **options}))


@pytest.mark.parametrize("replies", [5, "hello", [5]])
def test_a_script_that_is_none_is_refused(replies: Any) -> None:
    with pytest.raises(OptionError, match=r"^replies="):
        ScriptedModel(replies)
