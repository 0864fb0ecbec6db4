"""LOOP: how the agent's loop begins, goes on and ends. HIST-01: what it does with a broken history."""

from __future__ import annotations

import itertools
import time
from typing import Any

import pytest

from surehand import (
    AgentMiddleware,
    AIMessage,
    HumanMessage,
    Limits,
    Message,
    ModelError,
    ModelRequest,
    NoProgress,
    ResultCache,
    ToolMessage,
    ToolNode,
    check_transcript,
    create_agent,
    tool,
)
from surehand.errors import ScriptExhausted
from surehand.testing import FunctionModel, ScriptedModel


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(return_direct=True)
def lookup(key: str) -> str:
    """Look a key up."""
    if key == "none":
        raise ValueError("no such key")
    return f"value of {key}"


_numbers = itertools.count()


def asking(*calls: tuple[str, dict[str, Any]]) -> AIMessage:
    return AIMessage(tool_calls=[{"id": f"c{next(_numbers)}", "name": name, "args": args} for name, args in calls])


ADD = ("add", {"a": 1, "b": 2})


@tool
def fail(x: int) -> str:
    """Fail."""
    raise ValueError(f"{x} is no good")


def kinds(result: dict[str, Any]) -> list[str | None]:
    outcomes = [message.outcome for message in result["messages"] if isinstance(message, ToolMessage)]
    return [outcome.kind if outcome else None for outcome in outcomes]


def test_LOOP_01_a_call_that_fails_again_and_again_is_corrected_in_words_then_refused_then_the_end() -> None:
    model = FunctionModel(lambda messages: asking(("fail", {"x": 1})))
    result = create_agent(model, [fail], max_iterations=1_000).invoke("go")
    assert result["end_reason"] == "repeated_failure"
    assert kinds(result) == ["exception"] * 4 + ["limit"] * 4
    texts = [message.text for message in result["messages"] if isinstance(message, ToolMessage)]
    assert "1 is no good" in texts[0]
    assert "The same result as before: it has come 2 times now." in texts[1]
    assert texts[4].startswith("The call was refused: with these arguments it has come to the same result 4 times")
    assert check_transcript(result["messages"]) == []


def test_LOOP_01_a_call_that_succeeds_again_and_again_is_no_progress() -> None:
    @tool(read_only=True)
    def look() -> str:
        """Look."""
        return "nothing new"

    model = FunctionModel(lambda messages: asking(("look", {})))
    result = create_agent(model, [look]).invoke("go")
    assert result["end_reason"] == "no_progress"
    assert kinds(result) == [None] * 4 + ["limit"] * 4


def test_LOOP_01_a_model_that_heeds_the_words_goes_on() -> None:
    def reply(messages: list[Message]) -> AIMessage | str:
        return "I give up." if "The call was refused" in messages[-1].text else asking(("fail", {"x": 1}))

    result = create_agent(FunctionModel(reply), [fail]).invoke("go")
    assert (result["end_reason"], result["messages"][-1].text) == ("answer", "I give up.")


def test_LOOP_01_the_numbers_are_the_hosts_to_choose() -> None:
    model = FunctionModel(lambda messages: asking(("fail", {"x": 1})))
    rule = NoProgress(warn_after=1, refuse_after=2, stop_after=1)
    result = create_agent(model, [fail], no_progress=rule).invoke("go")
    assert kinds(result) == ["exception"] * 2 + ["limit"] * 2


def test_LOOP_01_a_model_that_is_stuck_is_asked_for_its_last_words_without_tools() -> None:
    model = ScriptedModel([*(asking(("fail", {"x": 1})) for _ in range(7)), "1 cannot be done."])
    result = create_agent(model, [fail], tool_choice="fail").invoke("go")
    assert [request.tool_names for request in model.requests] == [("fail",)] * 7 + [()]
    assert "No tool can be called any more" in model.requests[-1][-1].text
    assert (result["end_reason"], result["messages"][-1].text) == ("repeated_failure", "1 cannot be done.")
    assert result["messages"][-2].type == "tool"


def test_LOOP_01_where_the_model_may_not_be_asked_again_the_reason_is_told_all_the_same() -> None:
    model = FunctionModel(lambda messages: asking(("fail", {"x": 1})))
    rule = NoProgress(warn_after=1, refuse_after=2, stop_after=1)
    result = create_agent(model, [fail], no_progress=rule, max_iterations=4).invoke("go")
    assert (result["end_reason"], kinds(result)) == ("repeated_failure", ["exception"] * 2 + ["limit"] * 2)


def test_LOOP_01_the_same_holds_in_a_loop_of_the_hosts_own() -> None:
    node, ran = ToolNode([fail]), list[str | None]()
    messages: list[Any] = [{"role": "user", "content": "go"}]
    for number in range(6):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "fail", "arguments": '{"x": 1}'}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        answers = node.invoke(messages)
        messages += answers
        ran.append(answers[0]["content"])
    assert [text is not None and text.startswith("The call was refused") for text in ran] == [False] * 4 + [True] * 2


def test_LOOP_03_a_futile_loop_ends_with_what_was_reached() -> None:
    calls = [{"id": f"c{number}", "name": "add", "args": {"a": number, "b": 2}} for number in range(5)]
    model = ScriptedModel([AIMessage(tool_calls=[call]) for call in calls])
    result = create_agent(model, [add], max_iterations=5).invoke("go")
    assert result["end_reason"] == "max_iterations"
    assert [message.text for message in result["messages"] if isinstance(message, ToolMessage)][:4] == list("2345")
    assert check_transcript(result["messages"]) == []


def test_LOOP_03_the_last_request_may_be_for_the_models_last_words() -> None:
    def reply(messages: list[Message]) -> AIMessage | str:
        number = len(messages)
        return (
            asking(("add", {"a": number, "b": 1}))
            if not isinstance(messages[-1], HumanMessage) or number == 1
            else "So far."
        )

    result = create_agent(FunctionModel(reply), [add], limits=Limits(calls=5)).invoke("go")
    assert (result["end_reason"], result["messages"][-1].text) == ("max_calls", "So far.")
    assert kinds(result) == [None] * 5


def test_LOOP_05_a_direct_result_ends_the_loop() -> None:
    result = create_agent(ScriptedModel([asking(("lookup", {"key": "k"}))]), [lookup]).invoke("go")
    assert result["messages"][-1].text == "value of k"


def test_LOOP_06_a_failed_direct_call_goes_back_to_the_model() -> None:
    model = ScriptedModel([asking(("lookup", {"key": "none"})), "There is none."])
    result = create_agent(model, [lookup]).invoke("go")
    assert result["messages"][-1].text == "There is none."


@pytest.mark.parametrize(
    "calls",
    [
        [("lookup", {"key": "k"}), ADD],
        [("lookup", {"key": "k"}), ("lookup", {"key": "none"})],
        [("lookup", {"key": "k"}), ("lookup", dict[str, str]())],
    ],
)
def test_LOOP_06_a_mixed_turn_ends_only_if_all_are_direct_and_all_succeeded(calls: Any) -> None:
    result = create_agent(ScriptedModel([asking(*calls), "done"]), [lookup, add]).invoke("go")
    assert result["messages"][-1].text == "done"


def test_LOOP_06_a_turn_of_direct_calls_that_all_succeeded_ends() -> None:
    calls = [("lookup", {"key": "k"}), ("lookup", {"key": "l"})]
    result = create_agent(ScriptedModel([asking(*calls)]), [lookup]).invoke("go")
    assert [message.text for message in result["messages"][-2:]] == ["value of k", "value of l"]


@pytest.mark.parametrize("choice", ["add", "required", "any"])
def test_LOOP_08_a_forced_choice_is_for_the_first_request_only(choice: str) -> None:
    model = ScriptedModel([asking(ADD), "3"])
    create_agent(model, [add], tool_choice=choice).invoke("go")
    assert model.requests[0].tool_choice is not None
    assert model.requests[1].tool_choice is None


@pytest.mark.parametrize("choice", ["add", "required"])
def test_LOOP_08_nor_is_it_asked_for_again_where_a_middleware_is_around_the_requests(choice: str) -> None:
    class Narrowing(AgentMiddleware):
        async def awrap_model_call(self, request: ModelRequest, handler: Any) -> Any:
            return await handler(request.override(tools=[each for each in request.tools if each.spec.name == "add"]))

    model = ScriptedModel([asking(ADD), asking(("add", {"a": 3, "b": 3})), "3"])
    create_agent(model, [add, lookup], tool_choice=choice, middleware=[Narrowing()]).invoke("go")
    assert [request.tool_names for request in model.requests] == [("add",)] * 3
    assert [request.tool_choice is not None for request in model.requests] == [True, False, False]


@pytest.mark.parametrize("choice", ["add", "required"])
def test_LOOP_09_at_the_limit_the_model_is_asked_once_more_without_tools(choice: str) -> None:
    model = ScriptedModel([*(asking(("add", {"a": number, "b": 1})) for number in range(3)), "6 in all"])
    result = create_agent(model, [add], tool_choice=choice, limits=Limits(calls=3)).invoke("go")
    assert [request.tool_names for request in model.requests] == [("add",)] * 3 + [()]
    assert model.requests[-1].tool_choice is None
    assert "No tool can be called any more" in model.requests[-1][-1].text
    assert (result["end_reason"], result["messages"][-1].text) == ("max_calls", "6 in all")


def test_LOOP_09_a_model_that_goes_on_calling_is_answered_and_ended() -> None:
    model = FunctionModel(lambda messages: asking(("add", {"a": len(messages), "b": 1})))
    result = create_agent(model, [add], tool_choice="add", limits=Limits(calls=3)).invoke("go")
    assert result["end_reason"] == "max_calls"
    assert kinds(result) == [None] * 3 + ["limit"]
    assert check_transcript(result["messages"]) == []


def test_LOOP_09_the_words_for_the_last_request_are_not_kept() -> None:
    model = ScriptedModel([asking(ADD), "3"])
    result = create_agent(model, [add], limits=Limits(calls=1)).invoke("go")
    assert [message.type for message in result["messages"]] == ["human", "ai", "tool", "ai"]


def test_LOOP_10_of_a_turn_that_exceeds_the_limit_the_first_calls_run_and_the_others_are_answered() -> None:
    ran: list[int] = []

    @tool
    def count(number: int) -> int:
        """Count."""
        ran.append(number)
        return number

    model = ScriptedModel([asking(*(("count", {"number": number}) for number in range(8))), "done"])
    result = create_agent(model, [count], limits=Limits(calls=6)).invoke("go")
    assert sorted(ran) == list(range(6))
    assert kinds(result) == [None] * 6 + ["limit"] * 2
    assert "the limit of 6 calls for this run is reached" in result["messages"][-2].text
    assert (result["end_reason"], result["messages"][-1].text) == ("max_calls", "done")


def test_LOOP_10_the_limit_holds_over_turns_and_for_a_conversation_that_was_stored() -> None:
    first = ToolNode([add], limits=Limits(calls=6))
    many = [("add", {"a": number, "b": 1}) for number in range(4)]
    conversation: list[Any] = [HumanMessage("go"), asking(*many)]
    conversation += first.invoke(conversation)
    again = asking(*(("add", {"a": number, "b": 2}) for number in range(4)))
    answers = ToolNode([add], limits=Limits(calls=6)).invoke([*conversation, again])  # another program's node
    assert [answer.outcome.kind for answer in answers] == [None, None, "limit", "limit"]


def test_LOOP_12_bad_arguments_are_told_to_the_model_which_corrects_them() -> None:
    model = ScriptedModel([asking(("add", {"a": "one", "b": 2})), asking(ADD), "3"])
    result = create_agent(model, [add]).invoke("go")
    assert result["messages"][2].outcome.kind == "invalid_arguments"
    assert "one" in model.requests[1][-1].text
    assert result["messages"][-1].text == "3"


def test_LOOP_12_bad_arguments_are_told_even_where_errors_are_let_through() -> None:
    model = ScriptedModel([asking(("add", {"a": "one", "b": 2})), "sorry"])
    result = create_agent(model, [add], handle_tool_errors=False).invoke("go")
    assert result["messages"][-1].text == "sorry"


LOST = AIMessage("", response_metadata={"finish_reason": "MALFORMED_FUNCTION_CALL"})


def test_LOOP_14_a_reply_that_the_provider_lost_is_asked_for_again() -> None:
    model = ScriptedModel([LOST, asking(ADD), LOST, "3"])
    result = create_agent(model, [add]).invoke("go")
    assert [message.type for message in result["messages"]] == ["human", "ai", "tool", "ai"]
    assert result["end_reason"] == "answer"
    assert isinstance(model.requests[1][-1], HumanMessage)


def test_LOOP_14_asking_again_has_an_end_with_a_reason() -> None:
    model = ScriptedModel([LOST] * 10)
    result = create_agent(model, [add]).invoke("go")
    assert len(model.requests) == 3
    assert result["end_reason"] == "empty_reply"


def test_LOOP_14_asking_again_counts_as_a_model_call() -> None:
    model = ScriptedModel([LOST] * 10)
    create_agent(model, [add], max_iterations=2).invoke("go")
    assert len(model.requests) == 2


@pytest.mark.parametrize("reason", ["tool_calls", "length", "content_filter", "other"])
def test_LOOP_14_every_abnormal_end_without_a_reply_is_asked_again(reason: str) -> None:
    model = ScriptedModel([AIMessage("", response_metadata={"finish_reason": reason}), "here"])
    assert create_agent(model, [add]).invoke("go")["messages"][-1].text == "here"


def test_LOOP_15_a_model_that_fails_leaves_what_was_reached() -> None:
    down = ModelError(model="m", problem="it is down", remedy="Wait.")
    agent = create_agent(ScriptedModel([asking(ADD), asking(ADD), down]), [add])
    with pytest.raises(ModelError) as caught:
        agent.invoke("go")
    assert caught.value is down
    assert [message.type for message in down.state["messages"]] == ["human", "ai", "tool", "ai", "tool"]


def test_LOOP_15_any_exception_of_a_model_carries_the_state() -> None:
    agent = create_agent(ScriptedModel([asking(ADD)]), [add])
    with pytest.raises(ScriptExhausted) as caught:
        agent.invoke("go")
    state: Any = getattr(caught.value, "state", None)
    assert [message.type for message in state["messages"]] == ["human", "ai", "tool"]


def test_LOOP_15_an_exception_of_a_tool_that_is_let_out_carries_the_turn_too() -> None:
    model = ScriptedModel([asking(ADD), asking(ADD, ("fail", {"x": 1}))])
    agent = create_agent(model, [add, fail], handle_tool_errors=False)
    with pytest.raises(ValueError, match="no good") as caught:
        agent.invoke("go")
    state: Any = getattr(caught.value, "state", None)
    assert [message.type for message in state["messages"]] == ["human", "ai", "tool", "ai", "tool", "tool"]
    assert check_transcript(state["messages"]) == []


def fetched() -> tuple[Any, list[str]]:
    asked: list[str] = []

    @tool(read_only=True)
    def fetch(url: str) -> str:
        """Fetch a page."""
        asked.append(url)
        if "down" in url:
            raise ValueError("down")
        return f"page {len(asked)}"

    return fetch, asked


def test_LOOP_16_a_cache_that_is_asked_for_pays_once_and_marks_what_came_from_it() -> None:
    fetch, asked = fetched()
    urls = ["u", "v", "w", "u"]
    model = ScriptedModel([*(asking(("fetch", {"url": url})) for url in urls), "done"])
    result = create_agent(model, [fetch], middleware=[ResultCache()]).invoke("go")
    answers = [message for message in result["messages"] if isinstance(message, ToolMessage)]
    assert asked == ["u", "v", "w"]
    assert answers[3].text == answers[0].text
    assert answers[3].outcome is not None
    assert (answers[3].outcome.attempts, len(answers[3].outcome.notes)) == (0, 1)


def test_LOOP_16_without_it_the_call_is_made_again() -> None:
    fetch, asked = fetched()
    model = ScriptedModel([asking(("fetch", {"url": "u"})), asking(("fetch", {"url": "u"})), "done"])
    create_agent(model, [fetch]).invoke("go")
    assert asked == ["u", "u"]


def test_LOOP_16_failures_and_tools_that_write_are_not_kept() -> None:
    fetch, asked = fetched()
    wrote: list[str] = []

    @tool(idempotent=True)
    def write(text: str) -> str:
        """Write."""
        wrote.append(text)
        return "written"

    turn = [("fetch", {"url": "down"}), ("write", {"text": "a"})]
    model = ScriptedModel([asking(*turn), asking(*turn), "done"])
    create_agent(model, [fetch, write], middleware=[ResultCache()]).invoke("go")
    assert (len(asked), len(wrote)) == (2, 2)


def test_LOOP_16_what_comes_from_the_cache_uses_up_no_call() -> None:
    fetch, _ = fetched()
    model = ScriptedModel([*(asking(("fetch", {"url": url})) for url in ["u", "u", "v"]), "done"])
    result = create_agent(model, [fetch], middleware=[ResultCache()], limits=Limits(calls=2)).invoke("go")
    assert kinds(result) == [None] * 3


def test_HIST_01_open_calls_of_a_loaded_history_are_closed_before_the_model_is_asked() -> None:
    history = [HumanMessage("a"), AIMessage(tool_calls=[{"id": "c1", "name": "add", "args": {}}]), HumanMessage("b")]
    model = ScriptedModel(["hello"])
    result = create_agent(model, [add]).invoke({"messages": history})
    assert [message.type for message in model.requests[0]] == ["human", "ai", "tool", "human"]
    assert [message.type for message in result["messages"]] == ["human", "ai", "tool", "human", "ai"]
    assert result["messages"][2].status == "error"
    assert check_transcript(result["messages"]) == []


def test_HIST_01_a_sound_history_stays_as_it_is() -> None:
    history = [HumanMessage("a", id="1"), AIMessage("b", id="2"), HumanMessage("c", id="3")]
    result = create_agent(ScriptedModel(["hello"]), [add]).invoke({"messages": history})
    assert result["messages"][:3] == history


def test_HIST_01_a_long_history_costs_little() -> None:
    history = [message for _ in range(500) for message in (HumanMessage("a"), AIMessage("b"))]
    started = time.process_time()
    create_agent(ScriptedModel(["hello"]), [add]).invoke({"messages": history})
    assert time.process_time() - started < 1
