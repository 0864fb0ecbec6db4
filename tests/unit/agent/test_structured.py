"""Answers in a form that the host chose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import pytest
from pydantic import BaseModel, Field, field_validator

from support.agents import add, asking, call, kinds, outcomes
from support.provider_server import provider_server
from surehand import (
    AIMessage,
    ChatOpenAI,
    HumanMessage,
    Limits,
    OptionError,
    ToolDefinitionError,
    ToolMessage,
    check_transcript,
    create_agent,
    tool,
)
from surehand.agent import ProviderStrategy, ToolStrategy, after_agent, after_model, wrap_model_call
from surehand.testing import ScriptedModel


class Weather(BaseModel):
    """The weather of a city."""

    city: str
    celsius: float = Field(ge=-90, le=60)


@dataclass
class Point:
    x: int
    y: int = 0


class Row(TypedDict):
    id: int


JSON = {
    "title": "Order",
    "description": "An order.",
    "type": "object",
    "properties": {"article": {"type": "string"}, "count": {"type": "integer", "default": 1}},
    "required": ["article"],
}
OSLO: dict[str, Any] = {"city": "Oslo", "celsius": 3}


def answering(name: str = "Weather", call_id: str = "a1", **args: Any) -> dict[str, Any]:
    return {"id": call_id, "name": name, "args": args or OSLO}


def run(*replies: Any, response_format: Any = Weather, **options: Any) -> tuple[dict[str, Any], ScriptedModel]:
    model = ScriptedModel(list(replies))
    agent = create_agent(model, options.pop("tools", [add]), response_format=response_format, **options)
    return agent.invoke("What is it like?"), model


# By a call


@pytest.mark.parametrize(
    ("form", "name", "args", "answer"),
    [
        (Weather, "Weather", {"city": "Oslo", "celsius": "3"}, Weather(city="Oslo", celsius=3)),
        (Point, "Point", {"x": 1}, Point(1, 0)),
        (Row, "Row", {"id": 7}, {"id": 7}),
        (JSON, "Order", {"article": "chair"}, {"article": "chair", "count": 1}),
    ],
    ids=["model", "dataclass", "TypedDict", "JSON Schema"],
)
def test_the_answer_has_the_form_that_was_asked_for(form: Any, name: str, args: dict[str, Any], answer: Any) -> None:
    result, model = run(asking(answering(name, **args)), response_format=form)
    assert result["structured_response"] == answer
    assert type(result["structured_response"]) is type(answer)
    assert (result["end_reason"], kinds(result)) == ("structured_response", ["human", "ai", "tool"])
    assert model.requests[0].tool_names == ("add", name)
    assert check_transcript(result["messages"]) == []


def test_the_model_works_with_tools_first() -> None:
    result, model = run(asking(), asking(answering()))
    assert (outcomes(result), result["structured_response"]) == ([None, None], Weather(city="Oslo", celsius=3))
    assert [request.tool_choice for request in model.requests] == [None, None]


def test_an_agent_without_tools_can_answer_too() -> None:
    result, model = run(asking(answering()), tools=None)
    assert result["structured_response"] == Weather(city="Oslo", celsius=3)
    assert model.requests[0].tool_names == ("Weather",)


def test_a_wrong_answer_goes_back_with_all_complaints_at_once() -> None:
    result, model = run(asking(answering(celsius=99)), asking(answering(call_id="a2")))
    refused = model.requests[1][-1]
    assert isinstance(refused, ToolMessage)
    assert "$.city: missing" in refused.text
    assert "$.celsius:" in refused.text
    assert outcomes(result) == ["invalid_arguments", None]
    assert result["structured_response"].city == "Oslo"


def test_an_answer_that_cannot_be_read_goes_back_too() -> None:
    broken = {"id": "a1", "name": "Weather", "args": '{"city": "Os'}
    result, _ = run(asking(broken), asking(answering(call_id="a2")))
    assert outcomes(result) == ["malformed", None]


def test_wrong_answers_are_sent_back_a_few_times_and_then_the_run_ends() -> None:
    wrong = [asking(answering(call_id=f"a{n}", city="Oslo")) for n in range(9)]
    result, model = run(*wrong, response_format=ToolStrategy(Weather, corrections=3))
    assert (result["end_reason"], result["structured_response"]) == ("corrections", None)
    assert len(model.requests) == 3


def test_the_limit_of_iterations_ends_it_without_an_answer() -> None:
    wrong = [asking(answering(call_id=f"a{n}", city="Oslo")) for n in range(9)]
    result, model = run(*wrong, response_format=ToolStrategy(Weather, corrections=None), max_iterations=2)
    assert (result["end_reason"], result["structured_response"], len(model.requests)) == ("max_iterations", None, 2)


def test_an_answer_at_the_limit_is_taken() -> None:
    result, _ = run(asking(answering()), max_iterations=1)
    assert result["end_reason"] == "structured_response"


def test_several_answers_in_one_turn_are_refused_with_words() -> None:
    result, model = run(asking(answering(), answering(call_id="a2")), asking(answering(call_id="a3")))
    assert outcomes(result) == ["skipped", "skipped", None]
    assert "there were 2 in one turn" in model.requests[1][-1].text


def test_beside_other_calls_an_answer_is_too_early_and_the_calls_run() -> None:
    result, model = run(asking(answering(), call()), asking(answering(call_id="a2")))
    answers = [message for message in result["messages"] if isinstance(message, ToolMessage)]
    assert [answer.tool_call_id for answer in answers] == ["a1", "c1", "a2"]
    assert (outcomes(result), answers[1].text) == (["skipped", None, None], "5")
    assert "before their results were known" in model.requests[1][-2].text


def test_beside_other_calls_at_the_limit_nothing_runs() -> None:
    result, _ = run(asking(answering(), call()), max_iterations=1)
    assert (result["end_reason"], outcomes(result)) == ("max_iterations", ["limit", "limit"])
    assert result["structured_response"] is None


def test_words_are_asked_for_again_with_the_answer_forced() -> None:
    result, model = run("It is cold.", asking(answering()))
    assert (model.requests[1].tool_names, model.requests[1].tool_choice) == (("Weather",), "Weather")
    assert (
        model.requests[1][-1].text == "Give your answer now by calling 'Weather'. Plain text is not taken as an answer."
    )
    assert kinds(result) == ["human", "ai", "ai", "tool"]
    assert result["structured_response"] == Weather(city="Oslo", celsius=3)


def test_words_again_end_the_run_without_an_answer() -> None:
    result, model = run("It is cold.", "As I said.")
    assert (result["end_reason"], result["structured_response"]) == ("unstructured_answer", None)
    assert len(model.requests) == 2


def test_words_of_an_earlier_run_do_not_count() -> None:
    model = ScriptedModel(["It is cold.", asking(answering())])
    agent = create_agent(model, response_format=Weather)
    result = agent.invoke([HumanMessage("hi"), AIMessage("hello"), AIMessage("there")])
    assert result["end_reason"] == "structured_response"
    assert model.requests[0].tool_choice is None


def test_a_text_that_is_the_answer_is_taken() -> None:
    result, model = run('```json\n{"city": "Oslo", "celsius": 3}\n```')
    assert (result["structured_response"], len(model.requests)) == (Weather(city="Oslo", celsius=3), 1)
    assert (result["end_reason"], kinds(result)) == ("structured_response", ["human", "ai"])


@pytest.mark.parametrize("text", ['{"city": "Oslo"}', '{"city": "Oslo", "celsius": 3, "wind": 2}', "", "{}"])
def test_a_text_that_only_looks_like_it_is_not(text: str) -> None:
    result, model = run(text, asking(answering()))
    assert (len(model.requests), result["end_reason"]) == (2, "structured_response")


def test_a_reply_that_was_cut_off_is_no_answer() -> None:
    cut = AIMessage("It is", response_metadata={"finish_reason": "length"})
    result, _ = run(cut)
    assert (result["end_reason"], result["structured_response"]) == ("truncated", None)


def test_when_a_limit_is_reached_the_last_words_are_the_answer() -> None:
    result, model = run(asking(), asking(answering()), limits=Limits(calls=1))
    assert (model.requests[1].tool_names, model.requests[1].tool_choice) == (("Weather",), "Weather")
    assert result["end_reason"] == "structured_response"


def test_when_a_limit_is_reached_and_there_are_but_words_that_limit_is_the_reason() -> None:
    result, _ = run(asking(), "It is cold.", limits=Limits(calls=1))
    assert (result["end_reason"], result["structured_response"]) == ("max_calls", None)


def test_a_direct_result_ends_the_run_without_a_structured_answer() -> None:
    direct = tool("direct", return_direct=True)(lambda: "the answer")
    result, _ = run(asking(call("direct")), tools=[direct])
    assert (result["end_reason"], result["structured_response"]) == ("return_direct", None)


def test_an_unknown_tool_is_answered_as_ever() -> None:
    result, _ = run(asking(call("nosuch", x=1)), asking(answering()))
    assert outcomes(result) == ["unknown_tool", None]
    bare, _ = run(asking(call("nosuch", x=1)), asking(answering()), tools=None)
    assert outcomes(bare) == ["unknown_tool", None]


def test_one_of_several_forms_may_be_asked_for() -> None:
    result, model = run(asking(answering("Point", x=1)), response_format=Weather | Point)
    assert result["structured_response"] == Point(1)
    assert model.requests[0].tool_names == ("add", "Weather", "Point")
    words, forced = run("Hm.", asking(answering()), response_format=Weather | Point)
    assert (forced.requests[1].tool_names, forced.requests[1].tool_choice) == (("Weather", "Point"), "required")
    assert words["structured_response"] == Weather(city="Oslo", celsius=3)


def test_the_tool_may_be_named_and_described() -> None:
    shown: list[Any] = []

    class Watched(ScriptedModel):
        def bind_tools(self, tools: Any, **options: Any) -> Any:
            shown.extend(each.spec for each in tools)
            return super().bind_tools(tools, **options)

    strategy = ToolStrategy(Weather, name="report", description="The report.")
    result = create_agent(Watched([asking(answering("report"))]), response_format=strategy).invoke("hi")
    assert result["structured_response"] == Weather(city="Oslo", celsius=3)
    assert {(spec.name, spec.description.partition("\n")[0]) for spec in shown} == {("report", "The report.")}


def test_a_validator_that_raises_anything_is_the_applications_fault() -> None:
    class Odd(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def check(cls, value: int) -> int:
            raise RuntimeError("broken")

    result, _ = run(asking(answering("Odd", n=1)), '{"n": 1}', "Sorry.", response_format=Odd)
    assert (outcomes(result), result["end_reason"]) == (["internal"], "unstructured_answer")


@pytest.mark.parametrize(
    ("form", "error"),
    [
        (5, OptionError),
        ("Weather", OptionError),
        ({"type": "array"}, ToolDefinitionError),
        (int, ToolDefinitionError),
    ],
)
def test_what_describes_no_answer_is_refused(form: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        create_agent(ScriptedModel([]), response_format=form)


@pytest.mark.parametrize("corrections", [0, -1, True, 1.5])
def test_a_budget_that_cannot_be_meant_is_refused(corrections: Any) -> None:
    with pytest.raises(OptionError, match="corrections"):
        ToolStrategy(Weather, corrections=corrections)
    with pytest.raises(OptionError, match="corrections"):
        ProviderStrategy(Weather, corrections=corrections)


def test_one_name_for_several_forms_is_refused() -> None:
    with pytest.raises(OptionError, match=r"^name="):
        create_agent(ScriptedModel([]), response_format=ToolStrategy(Weather | Point, name="x"))


def test_a_tool_of_the_same_name_is_refused() -> None:
    same = tool("Weather")(lambda: "x")
    with pytest.raises(ToolDefinitionError, match="'Weather': the structured answer has this name too"):
        create_agent(ScriptedModel([]), [same], response_format=Weather)
    computed = create_agent(ScriptedModel([]), lambda request: [same], response_format=Weather)
    with pytest.raises(ToolDefinitionError, match="'Weather': the structured answer has this name too"):
        computed.invoke("hi")


def test_a_name_that_is_nearly_right_is_the_answer_unless_a_tool_has_it() -> None:
    result, _ = run(asking(answering("functions.weather")))
    assert result["end_reason"] == "structured_response"
    lower = tool("weather")(lambda: "It is cold.")
    other, _ = run(asking(call("weather")), asking(answering()), tools=[lower])
    assert next(message.text for message in other["messages"] if isinstance(message, ToolMessage)) == "It is cold."


def test_each_run_begins_without_an_answer() -> None:
    agent = create_agent(ScriptedModel([asking(answering()), "a", "b"]), response_format=Weather)
    first = agent.invoke("hi")
    second = agent.invoke({**first, "messages": [*first["messages"], HumanMessage("again")]})
    assert second["structured_response"] is None


def test_the_choice_of_the_first_request_may_be_the_answer() -> None:
    _, model = run(asking(answering()), tool_choice="Weather", tools=None)
    assert model.requests[0].tool_choice == "Weather"


# With middlewares


def test_hooks_see_the_answer_and_may_ask_for_another() -> None:
    @after_agent
    def only_warm(state: Any, runtime: Any) -> dict[str, Any] | None:
        if state["structured_response"].celsius > 0:
            return None
        return {"messages": [HumanMessage("Somewhere warm!")], "jump_to": "model"}

    cold, warm = answering(city="Oslo", celsius=-5), answering(call_id="a2", city="Rome", celsius=20)
    result, _ = run(asking(cold), asking(warm), middleware=[only_warm])
    assert result["structured_response"] == Weather(city="Rome", celsius=20)


def test_hooks_after_the_model_leave_the_rules_as_they_are() -> None:
    look = after_model(lambda state, runtime: None, name="look")
    for replies in (["Hm.", asking(answering())], ['{"city": "Oslo", "celsius": 3}'], [asking(answering())]):
        result, _ = run(*replies, middleware=[look])
        assert result["structured_response"] == Weather(city="Oslo", celsius=3)
    words, _ = run("Hm.", "Hm.", middleware=[look])
    assert words["end_reason"] == "unstructured_answer"


def test_a_wrapper_may_keep_the_model_from_answering_yet() -> None:
    def not_yet(request: Any, handler: Any) -> Any:
        is_first = len(request.messages) == 1
        return handler(request.override(response_format=None) if is_first else request)

    result, model = run(asking(), asking(answering()), middleware=[wrap_model_call(not_yet)])
    assert [request.tool_names for request in model.requests] == [("add",), ("add", "Weather")]
    assert result["end_reason"] == "structured_response"


def test_an_answer_that_is_not_asked_for_is_not_forced() -> None:
    def never(request: Any, handler: Any) -> Any:
        return handler(request.override(response_format=None))

    result, model = run("Hm.", "Hm.", middleware=[wrap_model_call(never)])
    assert [(request.tool_names, request.tool_choice) for request in model.requests] == [(("add",), None), ((), None)]
    assert result["end_reason"] == "unstructured_answer"


def test_a_wrapper_sees_what_is_forced() -> None:
    found: list[Any] = []

    def look(request: Any, handler: Any) -> Any:
        found.append((request.tools, request.tool_choice, request.response_format.schema))
        return handler(request)

    run("Hm.", asking(answering()), middleware=[wrap_model_call(look)])
    assert found == [((add,), None, Weather), ((), "Weather", Weather)]


# By the provider


def chat_reply(content: str | None, *calls: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, **({"tool_calls": list(calls)} if calls else {})}
    return {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}


def served(*replies: dict[str, Any], form: Any, tools: Any = None) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    with provider_server(list(replies)) as server:
        model = ChatOpenAI("gpt", api_key="k", base_url=server.url)
        result = create_agent(model, tools, response_format=form).invoke("hi")
    return result, server.requests


def test_the_provider_is_asked_to_keep_to_the_schema_and_its_text_is_the_answer() -> None:
    reply = chat_reply('{"city": "Oslo", "celsius": 3}')
    result, requests = served(reply, form=ProviderStrategy(Weather))
    asked = requests[0]["response_format"]
    assert (asked["type"], asked["json_schema"]["name"], asked["json_schema"]["strict"]) == (
        "json_schema",
        "Weather",
        True,
    )
    assert asked["json_schema"]["schema"]["required"] == ["city", "celsius"]
    assert "tools" not in requests[0]
    assert (result["structured_response"], result["end_reason"]) == (
        Weather(city="Oslo", celsius=3),
        "structured_response",
    )


def test_the_provider_may_use_tools_before() -> None:
    wanted = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2, "b": 3}'}}
    replies = chat_reply(None, wanted), chat_reply('{"city": "Oslo", "celsius": 5}')
    result, requests = served(*replies, form=ProviderStrategy(Weather, strict=False), tools=[add])
    assert [request["response_format"]["json_schema"]["strict"] for request in requests] == [False, False]
    assert (outcomes(result), result["structured_response"].celsius) == ([None], 5)


def test_a_text_that_does_not_fit_goes_back_with_all_complaints() -> None:
    replies = chat_reply('{"celsius": 99}'), chat_reply('{"city": "Oslo", "celsius": 3}')
    result, requests = served(*replies, form=ProviderStrategy(Weather))
    said = requests[1]["messages"][-1]["content"]
    assert "$.city: missing" in said
    assert "$.celsius:" in said
    assert kinds(result) == ["human", "ai", "ai"]
    assert result["structured_response"] == Weather(city="Oslo", celsius=3)


def test_texts_that_do_not_fit_end_the_run_at_last() -> None:
    result, requests = served(*[chat_reply("Hm.")] * 3, form=ProviderStrategy(Weather, corrections=3))
    assert (result["end_reason"], result["structured_response"], len(requests)) == ("corrections", None, 3)


def test_a_model_whose_json_mode_is_not_known_is_refused() -> None:
    with pytest.raises(OptionError, match="a ToolStrategy for a model like ScriptedModel"):
        create_agent(ScriptedModel([]), response_format=ProviderStrategy(Weather))


def test_a_schema_that_no_provider_can_guarantee_is_refused_when_the_agent_is_built() -> None:
    class Free(BaseModel):
        anything: dict[str, Any]

    with pytest.raises(ToolDefinitionError, match="Free"):
        create_agent(ChatOpenAI("gpt"), response_format=ProviderStrategy(Free))


def test_an_annotated_answer_is_described_to_the_model() -> None:
    class Noted(BaseModel):
        text: Annotated[str, Field(description="In one sentence.")]

    _, requests = served(chat_reply('{"text": "x"}'), form=ProviderStrategy(Noted))
    schema = requests[0]["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["text"]["description"] == "In one sentence."
