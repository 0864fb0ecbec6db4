"""A reply that the server made and then refused is a reply, at both doors; what is none stays an error."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from support.provider_server import ProviderServer, Served, Stream, provider_server
from surehand import ChatOpenAI, ModelError, create_agent, tool

FAILED = '{"name": "add", "arguments": {"a": 2}}'


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def error(generation: str | None = FAILED) -> dict[str, Any]:
    said = {"message": "Tool call validation failed", "type": "invalid_request_error", "code": "tool_use_failed"}
    return {"error": {**said, "failed_generation": generation}}


def refusal(generation: str | None = FAILED) -> Served:
    return Served(error(generation), status=400)


def frame(**delta: Any) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def model(server: ProviderServer, api: Literal["chat", "responses"] = "chat") -> ChatOpenAI:
    return ChatOpenAI("m", api=api, api_key="k", base_url=f"{server.url}/v1", max_retries=0)


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_a_refused_call_is_the_reply(api: Literal["chat", "responses"]) -> None:
    with provider_server([refusal()]) as server:
        message = model(server, api).bind_tools([add]).invoke("hi")

    assert [(call["name"], call["args"]) for call in message.tool_calls] == [("add", {"a": 2})]
    assert message.response_metadata["recovered"]["code"] == "tool_use_failed"
    assert message.finish_reason == "tool_calls"


def test_a_refused_call_is_the_reply_of_a_stream_that_did_not_begin() -> None:
    with provider_server([refusal()]) as server:
        (piece,) = model(server).bind_tools([add]).stream("hi")

    assert [call["args"] for call in piece.tool_calls] == [{"a": 2}]


def test_what_a_stream_told_of_a_refused_call_is_void() -> None:
    begun = {"index": 0, "id": "c1", "function": {"name": "add", "arguments": '{"a":'}}
    with provider_server([Stream([frame(content="so "), frame(tool_calls=[begun]), error()])]) as server:
        pieces = list(model(server).bind_tools([add]).stream("hi"))

    whole = pieces[0] + pieces[1] + pieces[2]
    assert pieces[-1].is_restart
    assert [(call["name"], call["args"]) for call in whole.tool_calls] == [("add", {"a": 2})]


def test_the_model_corrects_a_refused_call() -> None:
    call = {"id": "c2", "function": {"name": "add", "arguments": '{"a": 2, "b": 3}'}}
    good = {"choices": [{"finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": [call]}}]}
    last = {"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "It is 5."}}]}
    with provider_server([refusal(), good, last]) as server:
        result = create_agent(model(server), [add]).invoke("2 + 3?")

    assert [message.type for message in result["messages"]] == ["human", "ai", "tool", "ai", "tool", "ai"]
    assert "b" in result["messages"][2].text
    assert result["messages"][4].text == "5"


def test_a_call_that_cannot_be_read_is_answered_and_not_run() -> None:
    last = {"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "Sorry."}}]}
    with provider_server([refusal('<function=add{"a": 2, "b'), last]) as server:
        result = create_agent(model(server), [add]).invoke("2 + 3?")

    answer = result["messages"][2]
    assert (answer.status, answer.outcome.kind) == ("error", "malformed")


def test_text_that_was_refused_is_the_text_of_the_reply() -> None:
    with provider_server([refusal("maybe")]) as server:
        message = model(server).bind_tools([add], tool_choice="required").invoke("hi")

    assert (message.text, message.tool_calls, message.finish_reason) == ("maybe", [], "stop")


def test_a_model_that_goes_on_being_refused_ends_at_the_limit() -> None:
    with provider_server(refusal() for _ in range(9)) as server:
        result = create_agent(model(server), [add], max_iterations=3).invoke("2 + 3?")

    assert result["end_reason"] == "max_iterations"
    assert len(server.requests) == 3


def test_a_refusal_is_an_error_where_no_tool_was_to_be_called_or_nothing_is_told() -> None:
    with provider_server([refusal(), refusal(), refusal("")]) as server:
        plain = model(server)
        for chat in (plain, plain.bind_tools([add], tool_choice="none"), plain.bind_tools([add])):
            with pytest.raises(ModelError, match="Tool call validation failed"):
                chat.invoke("hi")


def test_a_name_on_the_wire_is_the_tools_own_again() -> None:
    @tool("查询")
    def query(city: str) -> str:
        """Look a city up."""
        return city

    wire = query.to_openai()["function"]["name"]
    with provider_server([refusal(f'<function={wire}{{"city": "x"}}</function>')]) as server:
        message = model(server).bind_tools([query]).invoke("hi")

    assert [call["name"] for call in message.tool_calls] == ["查询"]
