from __future__ import annotations

import asyncio
import re
import threading
import time
from typing import Annotated, Any, cast

import pytest

from surehand import (
    AIMessage,
    CircuitBreaker,
    HumanMessage,
    InjectedStore,
    InMemoryStore,
    InputError,
    Limits,
    Message,
    MessagesState,
    ModelError,
    NoProgress,
    OptionError,
    ResultShelf,
    RetryPolicy,
    StateGraph,
    SystemMessage,
    ToolDefinitionError,
    ToolException,
    ToolMessage,
    ToolNode,
    ToolSetRequest,
    check_transcript,
    create_agent,
    tool,
)
from surehand.control import END, START
from surehand.events import CallFinished
from surehand.testing import FakeClock, FunctionModel, ScriptedModel, faults, record_events


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


def test_replies_to_which_a_provider_gives_one_id_are_several() -> None:
    replies = [AIMessage("", tool_calls=[call("c1", a=1, b=1)], id="m"), AIMessage("2", id="m")]
    result = create_agent(ScriptedModel(replies), [add]).invoke("1 + 1?")
    assert kinds(result) == ["human", "ai", "tool", "ai"]
    assert result["messages"][1].id == "m"
    assert len({message.id for message in result["messages"]}) == 4


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


@pytest.mark.parametrize("metadata", [{"finish_reason": "length"}, {"finish_reason": "error"}, {"broke_off": True}])
def test_an_answer_that_was_cut_off_says_so(metadata: dict[str, Any]) -> None:
    cut = AIMessage("The answer is", response_metadata=metadata)
    assert create_agent(ScriptedModel([cut]), [add]).invoke("hi")["end_reason"] == "truncated"


def test_a_call_of_a_reply_that_broke_off_is_answered_and_made_again_by_the_model() -> None:
    broken = asking().replace(response_metadata={"broke_off": True})
    result = create_agent(ScriptedModel([broken, asking(), "5"]), [add]).invoke("hi")
    answers = [message for message in result["messages"] if isinstance(message, ToolMessage)]
    assert [answer.text for answer in answers] == [
        "Your reply was cut off by a failure on its way, so none of its calls was executed. Send the call again.",
        "5",
    ]
    assert result["messages"][-1].text == "5"


def test_an_empty_answer_that_broke_off_is_asked_for_again() -> None:
    lost = AIMessage("", response_metadata={"broke_off": True})
    assert create_agent(ScriptedModel([lost, "5"]), [add]).invoke("hi")["messages"][-1].text == "5"


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
        {"limits": 5},
        {"limits": NoProgress()},
        {"no_progress": 5},
        {"retry_budget": -1, "tools": [add]},
        {"fatal": 5, "tools": [add]},
        {"groups": {"db": 1}, "tools": [add]},
        {"middleware": [5]},
        {"shelf": 5, "tools": [add]},
    ],
)
def test_an_option_of_an_agent_that_makes_no_sense_is_refused_by_name(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=f"^{next(iter(options))}="):
        create_agent(**cast("dict[str, Any]", {"model": ScriptedModel(["x"]), **options}))


@pytest.mark.parametrize("replies", [5, "hello", [5]])
def test_a_script_that_is_none_is_refused(replies: Any) -> None:
    with pytest.raises(OptionError, match=r"^replies="):
        ScriptedModel(replies)


# What a run may use up


def adding(count: int) -> FunctionModel:
    """A model that calls as long as it is offered a tool, each time for other numbers, so many times a turn."""

    def reply(messages: list[Message]) -> AIMessage | str:
        if messages[-1].type == "human" and len(messages) > 1:
            return "that is all"
        number = len(messages)
        return asking(*(call(f"c{number}_{n}", a=number, b=n) for n in range(count)))

    return FunctionModel(reply)


def outcomes(result: dict[str, Any]) -> list[Any]:
    answers = [message for message in result["messages"] if isinstance(message, ToolMessage)]
    return [answer.outcome.kind for answer in answers if answer.outcome is not None]


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(turns=3), "max_iterations"),
        (Limits(calls=4), "max_calls"),
        (Limits(calls_per_tool=4), "max_calls"),
        (Limits(seconds=0.02), "max_seconds"),
        (Limits(output_chars=5), "max_output"),
    ],
)
def test_each_limit_ends_the_run_in_words_with_a_reason_of_its_own(limits: Limits, reason: str) -> None:
    @tool
    def add(a: int, b: int) -> int:
        """Add two numbers, slowly."""
        time.sleep(0.01)
        return a + b

    result = create_agent(adding(2), [add], limits=limits).invoke("go")
    assert result["end_reason"] == reason
    assert check_transcript(result["messages"]) == []
    assert (result["messages"][-1].text == "that is all") is (reason != "max_iterations")


def test_no_limit_ends_nothing() -> None:
    result = create_agent(ScriptedModel([asking(), "5"]), [add], limits=Limits(corrections=None)).invoke("hi")
    assert result["end_reason"] == "answer"


@pytest.mark.parametrize(("turns", "iterations"), [(2, 25), (5, 2)])
def test_the_smaller_of_turns_and_iterations_holds(turns: int, iterations: int) -> None:
    model = adding(1)
    result = create_agent(model, [add], limits=Limits(turns=turns), max_iterations=iterations).invoke("hi")
    assert (result["end_reason"], kinds(result).count("ai")) == ("max_iterations", 2)


def test_when_turns_are_used_up_too_there_are_no_last_words() -> None:
    result = create_agent(adding(4), [add], limits=Limits(calls=2), max_iterations=1).invoke("hi")
    assert result["end_reason"] == "max_iterations"
    assert kinds(result) == ["human", "ai"] + ["tool"] * 4


def test_a_tool_that_was_called_often_enough_is_offered_no_longer() -> None:
    @tool
    def other() -> str:
        """Do something else."""
        return "done"

    model = ScriptedModel([asking(), asking(call("c2", "other", x=1)), "5"])
    create_agent(model, [add, other], limits=Limits(calls_per_tool=1)).invoke("hi")
    assert [request.tool_names for request in model.requests] == [("add", "other"), ("other",), ()]


def test_each_run_begins_with_all_it_may_use() -> None:
    agent = create_agent(adding(2), [add], limits=Limits(calls=2))
    first = agent.invoke("hi")
    second = agent.invoke({"messages": [*first["messages"], HumanMessage("again")]})
    assert outcomes(second) == [None] * 2
    assert second["messages"][-1].text == "that is all"


def test_an_agent_that_is_a_node_has_a_clock_of_its_own() -> None:
    def wait(state: MessagesState) -> None:
        time.sleep(1.05)

    graph = StateGraph(MessagesState)
    graph.add_node("wait", wait)
    graph.add_node("helper", create_agent(ScriptedModel([asking(), "5"]), [add], limits=Limits(seconds=1)))
    graph.add_edge(START, "wait")
    graph.add_edge("wait", "helper")
    assert graph.compile().invoke("hi")["messages"][2].text == "5"


def test_turns_that_hold_nothing_that_can_be_run_are_counted_and_not_their_calls() -> None:
    wrong = call(name="nosuch")
    model = ScriptedModel([*([asking(wrong, wrong, wrong)] * 9), asking(wrong, call("c9")), "5"])
    result = create_agent(model, [add]).invoke("hi")
    assert result["end_reason"] == "answer"


@pytest.mark.parametrize(("limits", "turns"), [(None, 10), (Limits(calls=99), 10), (Limits(corrections=2), 2)])
def test_too_many_of_them_in_a_row_end_the_run(limits: Limits | None, turns: int) -> None:
    model = FunctionModel(lambda messages: asking(call(f"c{len(messages)}", a="x")))
    result = create_agent(model, [add], limits=limits).invoke("hi")
    assert result["end_reason"] == "corrections"
    assert outcomes(result) == [*["invalid_arguments"] * turns, "limit"]


def test_an_agent_without_tools_is_kept_from_calling_for_ever_too() -> None:
    model = FunctionModel(lambda messages: asking(call(f"c{len(messages)}")))
    result = create_agent(model).invoke("hi")
    assert (result["end_reason"], outcomes(result)) == ("corrections", [*["unknown_tool"] * 10, "limit"])


def test_without_the_guard_a_model_may_repeat_itself() -> None:
    @tool(read_only=True)
    def look() -> str:
        """Look."""
        return "the same"

    model = FunctionModel(lambda messages: asking(call(f"c{len(messages)}", "look")))
    result = create_agent(model, [look], no_progress=None).invoke("hi")
    assert result["end_reason"] == "max_iterations"
    assert outcomes(result)[:-1] == [None] * 24


def test_a_refusal_beside_a_success_does_not_end_the_run() -> None:
    @tool(read_only=True)
    def look(key: int = 0) -> str:
        """Look."""
        return f"{key}"

    def reply(messages: list[Message]) -> AIMessage:
        number = len(messages)
        return asking({"id": f"a{number}", "name": "look", "args": {}}, call(f"b{number}", "look", key=number))

    result = create_agent(FunctionModel(reply), [look]).invoke("hi")
    assert result["end_reason"] == "max_iterations"
    assert outcomes(result).count("limit") == 20 + 2


# What is offered


def test_tools_may_be_computed_for_each_turn() -> None:
    @tool
    def later(x: int) -> int:
        """Only later."""
        return 10 * x

    def tools_of(request: ToolSetRequest) -> list[Any]:
        return [later] if len(request.state["messages"]) > 2 else [add]

    model = ScriptedModel([asking(), asking(call("c2", "later", x=4)), "40"])
    result = create_agent(model, tools_of).invoke("hi")
    assert [request.tool_names for request in model.requests] == [("add",), ("later",), ("later",)]
    assert [message.text for message in result["messages"] if isinstance(message, ToolMessage)] == ["5", "40"]


def test_a_call_means_the_tool_that_was_offered() -> None:
    def made(name: str) -> Any:
        return tool("who")(lambda: name)

    sets = iter([[made("first")], [made("second")], [made("third")]])
    model = ScriptedModel([asking(call(name="who")), asking(call("c2", "who")), "done"])
    result = create_agent(model, lambda request: next(sets), no_progress=None).invoke("hi")
    answers = [message.text for message in result["messages"] if isinstance(message, ToolMessage)]
    assert answers[0] == "first"


def test_a_computed_tool_may_be_direct() -> None:
    direct = tool("direct", return_direct=True)(lambda: "the answer")
    result = create_agent(ScriptedModel([asking(call(name="direct"))]), lambda request: [direct]).invoke("hi")
    assert (result["end_reason"], result["messages"][-1].text) == ("return_direct", "the answer")


def test_a_choice_that_is_not_among_the_computed_tools_is_left_open() -> None:
    model = ScriptedModel(["hello", "hello"])
    create_agent(model, lambda request: [add], tool_choice="nosuch").invoke("hi")
    create_agent(model, lambda request: [add], tool_choice="add").invoke("hi")
    assert [request.tool_choice for request in model.requests] == [None, "add"]


def test_what_a_function_of_tools_raises_gets_out_with_what_was_reached() -> None:
    def tools_of(request: ToolSetRequest) -> list[Any]:
        raise KeyError("user")

    with pytest.raises(KeyError) as caught:
        create_agent(ScriptedModel(["x"]), tools_of).invoke("hi")
    state: Any = getattr(caught.value, "state", None)
    assert [message.text for message in state["messages"]] == ["hi"]


def test_the_model_is_bound_once_for_the_same_tools() -> None:
    bound: list[tuple[str, ...]] = []

    class Watched(ScriptedModel):
        def bind_tools(self, tools: Any, **options: Any) -> Any:
            bound.append(tuple(each.spec.name for each in tools))
            return super().bind_tools(tools, **options)

    replies = [reply for n in range(4) for reply in (asking(call(f"c{n}", a=n, b=n)), "done")]
    agent = create_agent(Watched(replies), [add])
    for _ in range(4):
        agent.invoke("hi")
    assert bound == [("add",)]


def test_a_tool_that_keeps_failing_may_be_hidden() -> None:
    @tool(circuit_breaker=CircuitBreaker(failures=1, hides_tool=True), retry=None)
    def quote() -> str:
        """Fail."""
        raise ToolException("down")

    model = ScriptedModel([asking(call(name="quote")), "sorry"])
    create_agent(model, [add, quote]).invoke("hi")
    assert [request.tool_names for request in model.requests] == [("add", "quote"), ("add",)]


def test_a_choice_of_a_tool_that_is_hidden_is_left_open() -> None:
    @tool(circuit_breaker=CircuitBreaker(failures=1, hides_tool=True), retry=None)
    def quote() -> str:
        """Fail."""
        raise ToolException("down")

    model = ScriptedModel([asking(call(name="quote")), "sorry", "hello"])
    agent = create_agent(model, [add, quote], tool_choice="quote")
    agent.invoke("hi")
    agent.invoke("hi")
    assert [(request.tool_choice, request.tool_names) for request in model.requests[::2]] == [
        ("quote", ("add", "quote")),
        (None, ("add",)),
    ]


def test_a_choice_of_a_tool_that_is_not_there_is_refused() -> None:
    with pytest.raises(OptionError, match="tool_choice"):
        create_agent(ScriptedModel([]), [add], tool_choice="nosuch")


def test_a_long_result_can_be_read_on_with_a_tool_that_is_offered_from_then_on() -> None:
    @tool(max_output=1_000)
    def dump() -> str:
        """Say a lot."""
        return "".join(f"line {n}\n" for n in range(1_000))

    def reply(messages: list[Message]) -> AIMessage | str:
        if len(messages) == 1:
            return asking(call(name="dump"))
        found = re.search(r'handle="([^"]+)"', messages[-1].text)
        return (
            asking(call("c2", "read_tool_result", handle=found[1], contains="line 500")) if found else messages[-1].text
        )

    agent = create_agent(FunctionModel(reply), [dump])
    result = agent.invoke("hi")
    assert "line 500" in result["messages"][4].text


def test_a_shelf_of_the_hosts_or_none_at_all() -> None:
    @tool(max_output=500)
    def dump() -> str:
        """Say a lot."""
        return "x" * 1_000

    shelf = ResultShelf()
    kept = ScriptedModel([asking(call(name="dump")), "ok"])
    create_agent(kept, [dump], shelf=shelf).invoke("hi")
    bare = ScriptedModel([asking(call(name="dump")), "ok"])
    create_agent(bare, [dump], shelf=None).invoke("hi")
    assert shelf.holds("")
    assert (kept.requests[1].tool_names, bare.requests[1].tool_names) == (("dump", "read_tool_result"), ("dump",))


# What is handed on to the node


def test_a_fatal_exception_ends_the_run_with_what_was_reached() -> None:
    class AuthError(Exception):
        pass

    @tool
    def ask() -> str:
        """Ask a service."""
        raise AuthError("the key has expired")

    with pytest.raises(AuthError) as caught:
        create_agent(ScriptedModel([asking(call(name="ask"))]), [ask], fatal=AuthError).invoke("hi")
    state: Any = getattr(caught.value, "state", None)
    assert [message.type for message in state["messages"]] == ["human", "ai", "tool"]


def test_middleware_runs_around_every_call() -> None:
    async def double(request: Any, run: Any) -> Any:
        answer = await run(request)
        return answer.replace(content=answer.text * 2)

    result = create_agent(ScriptedModel([asking(), "5"]), [add], middleware=[double]).invoke("hi")
    assert result["messages"][2].text == "55"


def test_groups_share_a_limit() -> None:
    running, most = 0, 0

    @tool(group="db", idempotent=True)
    async def query(x: int) -> int:
        """Ask the database."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        return x

    model = ScriptedModel([asking(*(call(f"c{n}", "query", x=n) for n in range(6))), "done"])
    create_agent(model, [query], groups={"db": 2}).invoke("hi")
    assert most == 2


def test_retries_of_a_turn_share_a_budget() -> None:
    tried = 0

    @tool(retry=RetryPolicy(max_attempts=5, initial_interval=0.001))
    def busy(x: int) -> str:
        """Fail."""
        nonlocal tried
        tried += 1
        raise ToolException("busy", retryable=True)

    model = ScriptedModel([asking(call(name="busy", x=1), call("c2", "busy", x=2)), "sorry"])
    create_agent(model, [busy], retry_budget=3).invoke("hi")
    assert tried == 2 + 3


def test_the_tools_of_an_agent_keep_the_time_of_the_clock_it_is_given() -> None:
    clock = FakeClock()

    @tool
    async def wait() -> str:
        """Wait."""
        return "waited"

    model = ScriptedModel([asking(call(name="wait")), "It hangs."])
    state = create_agent(model, [faults.hang().on(wait)], clock=clock).invoke("hi")
    assert (state["messages"][-2].outcome.kind, clock.now()) == ("timeout", 300)


def test_the_time_that_a_run_may_take_is_that_of_the_clock() -> None:
    clock = FakeClock(autojump=None)

    @tool
    async def wait(minutes: int) -> str:
        """Wait."""
        clock.advance(60 * minutes)
        return "waited"

    model = ScriptedModel([asking(call(name="wait", minutes=1)), asking(call("c2", "wait", minutes=9)), "So far."])
    result = create_agent(model, [wait], limits=Limits(seconds=300), clock=clock).invoke("hi")
    assert (result["end_reason"], clock.now()) == ("max_seconds", 600)
    again = ScriptedModel([asking(call(name="wait", minutes=1)), "done"])
    assert create_agent(again, [wait], limits=Limits(seconds=300), clock=clock).invoke("hi")["end_reason"] == "answer"


# -- a node of the host's own ----------------------------------------------------------------------------------------


def test_an_agent_uses_a_node_as_it_is() -> None:
    @tool
    def broken() -> str:
        """Break."""
        raise ValueError("broken")

    node = ToolNode([broken, add], sequential=True, stop_on_failure=True)
    calls: list[Any] = [{"id": "1", "name": "broken", "args": {}}, {"id": "2", "name": "add", "args": {"a": 1, "b": 2}}]
    model = ScriptedModel([AIMessage(tool_calls=calls), AIMessage("done")])
    state = create_agent(model, node).invoke({"messages": "go"})
    answers = [message for message in state["messages"] if isinstance(message, ToolMessage)]
    kinds = [answer.outcome.kind for answer in answers if answer.outcome is not None]
    assert (kinds, model.requests[0].tool_names) == (["exception", "skipped"], ("broken", "add"))


def test_the_limits_of_a_node_end_a_run_in_words() -> None:
    replies = [AIMessage(tool_calls=[{"id": str(n), "name": "add", "args": {"a": n, "b": n}}]) for n in range(2)]
    model = ScriptedModel([*replies, AIMessage("That is all.")])
    state = create_agent(model, ToolNode([add], limits=Limits(calls=2))).invoke({"messages": "go"})
    assert (state["end_reason"], state["messages"][-1].text) == ("max_calls", "That is all.")


@pytest.mark.parametrize("options", [{"fatal": ValueError}, {"limits": Limits(calls=1)}, {"listener": print}])
def test_the_options_of_a_node_are_given_to_the_node(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="to the ToolNode"):
        create_agent(ScriptedModel([]), ToolNode([add]), **options)
