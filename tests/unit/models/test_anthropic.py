from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from support.provider_server import ProviderServer, Served, Stream, provider_server
from surehand import AIMessage, ChatAnthropic, HumanMessage, ModelError, OptionError, SystemMessage, ToolMessage, tool


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def reply(*blocks: dict[str, Any], stop: str = "end_turn") -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": list(blocks) or [{"type": "text", "text": "hello"}],
        "stop_reason": stop,
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }


CALL = {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 2, "b": 3}}


def model(server: ProviderServer, **options: Any) -> ChatAnthropic:
    defaults: dict[str, Any] = {"max_retries": 0, **options}
    return ChatAnthropic("claude", api_key="secret", base_url=server.url, **defaults)


def test_a_reply_becomes_a_message() -> None:
    with provider_server([reply()]) as server:
        message = model(server).invoke("hi")
    assert message.text == "hello"
    assert message.finish_reason == "stop"
    assert message.usage_metadata is not None
    assert message.usage_metadata["input_tokens"] == 3


def test_calls_are_read_with_their_ids() -> None:
    with provider_server([reply(CALL, stop="tool_use")]) as server:
        message = model(server).bind_tools([add]).invoke("hi")
    assert message.tool_calls == [{"id": "t1", "name": "add", "args": {"a": 2, "b": 3}, "type": "tool_call"}]
    assert message.finish_reason == "tool_calls"


def test_a_request_holds_what_the_model_was_built_with() -> None:
    with provider_server([reply()]) as server:
        chat = model(server, temperature=0, max_tokens=9, top_k=5)
        chat.invoke([SystemMessage("Be short."), HumanMessage("hi")])
    body = server.requests[0]
    assert server.paths == ["/v1/messages"]
    assert (body["model"], body["max_tokens"], body["temperature"], body["top_k"]) == ("claude", 9, 0, 5)
    assert "Be short." in str(body["system"])
    assert [message["role"] for message in body["messages"]] == ["user"]


def test_a_conversation_with_calls_names_their_tools_even_where_none_are_offered() -> None:
    called = AIMessage(tool_calls=[{"id": "t1", "name": "add", "args": {"a": 2, "b": 3}}])
    with provider_server([reply(), reply()]) as server:
        model(server).invoke([HumanMessage("hi"), called, ToolMessage("5", tool_call_id="t1")])
        model(server).invoke("hi")
    asked, plain = server.requests
    assert asked["tools"] == [{"name": "add", "input_schema": {"type": "object"}}]
    assert asked["tool_choice"] == {"type": "none"}
    assert not {"tools", "tool_choice"} & plain.keys()


@pytest.mark.parametrize(
    ("choice", "written"),
    [
        ("auto", {"type": "auto"}),
        ("required", {"type": "any"}),
        ("any", {"type": "any"}),
        ("none", {"type": "none"}),
        ("add", {"type": "tool", "name": "add"}),
        ({"type": "any", "x": 1}, {"type": "any", "x": 1}),
    ],
)
def test_a_choice_of_tools_is_written_as_the_provider_spells_it(choice: Any, written: Any) -> None:
    with provider_server([reply()]) as server:
        model(server).bind_tools([add], tool_choice=choice).invoke("hi")
    assert server.requests[0]["tool_choice"] == written
    assert server.requests[0]["tools"][0]["name"] == "add"


def test_parallel_calls_are_switched_off_in_the_providers_way() -> None:
    with provider_server([reply()]) as server:
        model(server).bind_tools([add], parallel_tool_calls=False).invoke("hi")
    assert server.requests[0]["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    assert "parallel_tool_calls" not in server.requests[0]


def test_answers_go_back_as_tool_results() -> None:
    history = [
        HumanMessage("hi"),
        AIMessage(tool_calls=[{"id": "t1", "name": "add", "args": {"a": 1, "b": 2}}]),
        ToolMessage("3", tool_call_id="t1"),
    ]
    with provider_server([reply()]) as server:
        model(server).bind_tools([add]).invoke(history)
    result = server.requests[0]["messages"][-1]
    assert result["role"] == "user"
    assert result["content"][0]["tool_use_id"] == "t1"


def test_a_stream_adds_up_to_the_reply() -> None:
    frames: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**reply(), "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "so be it"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "ping"},
        {"type": "content_block_start", "index": 1, "content_block": {**CALL, "input": {}}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"a": 2,'}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": ' "b": 3}'}},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ]
    with provider_server([Stream(frames)]) as server:
        pieces = list(model(server).bind_tools([add]).stream("hi"))
    whole = pieces[0]
    for part in pieces[1:]:
        whole = whole + part
    assert whole.text == "so be it"
    assert [(call["id"], call["args"]) for call in whole.tool_calls] == [("t1", {"a": 2, "b": 3})]
    assert whole.finish_reason == "tool_calls"
    assert server.requests[0]["stream"] is True


def test_a_call_that_a_stream_began_and_gave_up_is_no_call_of_the_reply() -> None:
    start: dict[str, Any] = {"type": "message_start", "message": {**reply(), "content": [], "stop_reason": None}}
    begun = {"type": "content_block_start", "index": 0, "content_block": {**CALL, "id": "first", "input": {}}}
    again = {"type": "content_block_start", "index": 0, "content_block": {**CALL, "id": "second", "input": {}}}
    frames: list[dict[str, Any]] = [
        start,
        begun,
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"a": 2'}},
        start,
        again,
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"a": 3}'}},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ]
    with provider_server([Stream(frames)]) as server:
        pieces = list(model(server).bind_tools([add]).stream("hi"))
    whole = pieces[0]
    for part in pieces[1:]:
        whole = whole + part
    assert [(call["id"], call["args"]) for call in whole.tool_calls] == [("second", {"a": 3})]
    assert whole.invalid_tool_calls == []
    assert [piece.is_restart for piece in pieces].count(True) == 1


def test_one_model_serves_several_loops() -> None:
    with provider_server([reply(), reply(), reply()]) as server:
        chat = model(server)
        chat.invoke("hi")
        asyncio.run(chat.ainvoke("hi"))
        asyncio.run(chat.ainvoke("hi"))
    assert len(server.requests) == 3


def test_a_missing_key_is_an_error_with_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ModelError, match="Set the environment variable ANTHROPIC_API_KEY"):
        ChatAnthropic("claude", base_url="http://127.0.0.1:1").invoke("hi")


def test_key_and_address_are_read_when_the_model_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    chat = ChatAnthropic("claude")
    with provider_server([reply()]) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "late")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        chat.invoke("hi")
    assert "late" in str(server.headers[0])


def test_a_refusal_of_the_provider_keeps_its_words() -> None:
    refusal = {"type": "error", "error": {"type": "invalid_request_error", "message": "max_tokens: 9 > 8"}}
    with (
        provider_server([Served(refusal, status=400)]) as server,
        pytest.raises(ModelError, match="max_tokens: 9 > 8") as caught,
    ):
        model(server).invoke("hi")
    assert caught.value.status_code == 400


@pytest.mark.parametrize(
    ("body", "words"), [("<html>", "no JSON object"), ({"type": "error", "error": {"message": "quota"}}, "quota")]
)
def test_a_reply_that_is_none_is_an_error_that_shows_it(body: Any, words: str) -> None:
    with provider_server([Served(body)]) as server, pytest.raises(ModelError, match=words):
        model(server).invoke("hi")


def test_an_error_inside_a_stream_is_an_error() -> None:
    frames = [{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}]
    with provider_server([Stream(frames)]) as server, pytest.raises(ModelError, match="Overloaded"):
        list(model(server).stream("hi"))


@pytest.mark.parametrize("name", ["messages", "stream", "system", "tools"])
def test_fields_that_follow_from_the_call_are_refused(name: str) -> None:
    with pytest.raises(OptionError, match=name):
        ChatAnthropic("claude", **cast("dict[str, Any]", {name: True}))


def test_a_connection_that_breaks_is_an_error() -> None:
    start: dict[str, Any] = {"type": "message_start", "message": {**reply(), "content": [], "stop_reason": None}}
    cut_off = Served(Stream([start]), is_cut_off=True)
    with provider_server([cut_off]) as server, pytest.raises(ModelError, match=r"broke|cannot be reached"):
        list(model(server).stream("hi"))
