from __future__ import annotations

import asyncio
import threading
from typing import Any, cast

import pytest

from support.fault_server import fault_server
from support.provider_server import Answer, ProviderServer, Served, Stream, provider_server
from surehand import (
    START,
    AIMessage,
    ChatOpenAI,
    HumanMessage,
    MessagesState,
    ModelError,
    OptionError,
    StateGraph,
    SystemMessage,
    ToolMessage,
    tool,
)
from surehand.concurrency import run_sync
from surehand.models import DEEPSEEK, OLLAMA, OPENAI


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def reply(content: str | None = "hello", **message: Any) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "m",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content, **message}}
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    }


def call(arguments: str = '{"a": 2, "b": 3}', call_id: str = "c1") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "add", "arguments": arguments}}


def piece(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def model(server: ProviderServer, **options: Any) -> ChatOpenAI:
    defaults: dict[str, Any] = {"max_retries": 0, **options}
    return ChatOpenAI("m", api_key="secret", base_url=f"{server.url}/v1", **defaults)


def ask(answers: list[Answer], **options: Any) -> AIMessage:
    with provider_server(answers) as server:
        return model(server, **options).invoke("hi")


def test_a_reply_becomes_a_message() -> None:
    message = ask([reply()])
    assert message.text == "hello"
    assert message.finish_reason == "stop"
    assert message.usage_metadata is not None
    assert message.usage_metadata["total_tokens"] == 5


def test_calls_are_read_with_their_ids() -> None:
    message = ask([reply(None, tool_calls=[call()])])
    assert message.tool_calls == [{"id": "c1", "name": "add", "args": {"a": 2, "b": 3}, "type": "tool_call"}]


def test_what_the_sdk_would_not_expect_is_not_lost() -> None:
    message = ask([reply(None, tool_calls=[{"function": {"name": "add", "arguments": {"a": 2, "b": 3}}}])])
    assert message.tool_calls[0]["args"] == {"a": 2, "b": 3}


def test_a_request_holds_what_the_model_was_built_with() -> None:
    with provider_server([reply()]) as server:
        model(server, temperature=0, max_tokens=9, top_p=0.5).invoke([SystemMessage("Be short."), HumanMessage("hi")])
    assert server.paths == ["/v1/chat/completions"]
    assert server.headers[0]["authorization"] == "Bearer secret"
    assert server.requests == [
        {
            "model": "m",
            "messages": [{"role": "system", "content": "Be short."}, {"role": "user", "content": "hi"}],
            "temperature": 0,
            "max_tokens": 9,
            "top_p": 0.5,
        }
    ]


def test_bound_tools_are_offered_by_the_copy_alone() -> None:
    with provider_server([reply(), reply()]) as server:
        plain = model(server)
        plain.bind_tools([add], parallel_tool_calls=False).invoke("hi")
        plain.invoke("hi")
    offered = server.requests[0]["tools"]
    assert [entry["function"]["name"] for entry in offered] == ["add"]
    assert offered[0]["function"]["parameters"]["properties"].keys() == {"a", "b"}
    assert server.requests[0]["parallel_tool_calls"] is False
    assert "tools" not in server.requests[1]


def test_without_tools_nothing_is_said_of_how_they_may_be_called() -> None:
    with provider_server([reply(), reply()]) as server:
        plain = model(server, parallel_tool_calls=False, seed=1)
        plain.bind_tools([add]).invoke("hi")
        plain.invoke("hi")
    assert server.requests[0]["parallel_tool_calls"] is False
    assert server.requests[1].keys() == {"model", "messages", "seed"}


@pytest.mark.parametrize(
    ("choice", "written"),
    [
        ("auto", "auto"),
        ("required", "required"),
        ("any", "required"),
        ("none", "none"),
        ("add", {"type": "function", "function": {"name": "add"}}),
        ({"type": "allowed_tools"}, {"type": "allowed_tools"}),
    ],
)
def test_a_choice_of_tools_is_written_as_the_provider_spells_it(choice: Any, written: Any) -> None:
    with provider_server([reply()]) as server:
        model(server).bind_tools([add], tool_choice=choice).invoke("hi")
    assert server.requests[0]["tool_choice"] == written


def test_a_choice_of_a_tool_that_is_not_bound_is_refused() -> None:
    with pytest.raises(OptionError, match="the name of a bound tool"):
        ChatOpenAI("m").bind_tools([add], tool_choice="subtract")


def test_a_name_that_no_provider_takes_is_translated_both_ways() -> None:
    @tool("查询")
    def query(city: str) -> str:
        """Look a city up."""
        return city

    wire = query.to_openai()["function"]["name"]
    request = {"id": "c1", "type": "function", "function": {"name": wire, "arguments": '{"city": "x"}'}}
    frames = [piece(tool_calls=[{"index": 0, **request}]), piece("tool_calls"), "[DONE]"]
    with provider_server([reply(None, tool_calls=[request]), reply(), Stream(frames)]) as server:
        chat = model(server).bind_tools([query], tool_choice="查询")
        message = chat.invoke("hi")
        chat.invoke([HumanMessage("hi"), message, ToolMessage("x", tool_call_id="c1")])
        pieces = list(chat.stream("hi"))
    assert wire != "查询"
    assert message.tool_calls[0]["name"] == "查询"
    assert server.requests[0]["tool_choice"]["function"]["name"] == wire
    assert server.requests[1]["messages"][1]["tool_calls"][0]["function"]["name"] == wire
    assert pieces[0].tool_calls[0]["name"] == "查询"


def test_thoughts_go_back_to_the_provider_that_wants_them() -> None:
    thinking = AIMessage("so", additional_kwargs={"reasoning_content": "hm"})
    with provider_server([reply(), reply()]) as server:
        model(server, endpoint=DEEPSEEK).invoke([HumanMessage("hi"), thinking, HumanMessage("go on")])
        model(server).invoke([HumanMessage("hi"), thinking, HumanMessage("go on")])
    assert server.requests[0]["messages"][1]["reasoning_content"] == "hm"
    assert "reasoning_content" not in server.requests[1]["messages"][1]


def test_signatures_of_calls_go_back_to_servers_that_are_not_the_providers_own() -> None:
    extra = {"google": {"thought_signature": "CuYB"}}
    request = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}, "extra_content": extra}
    with provider_server([reply(None, tool_calls=[request]), reply()]) as server:
        message = model(server).invoke("hi")
        model(server).invoke([HumanMessage("hi"), message, ToolMessage("x", tool_call_id="c1")])

    assert server.requests[1]["messages"][1]["tool_calls"] == [request]
    assert OPENAI.sent_back(OPENAI.url) == ()


def test_a_history_with_an_open_call_is_sent_closed() -> None:
    history = [
        HumanMessage("hi"),
        AIMessage(tool_calls=[{"id": "c1", "name": "add", "args": {"a": 1, "b": 2}}]),
        HumanMessage("go on"),
    ]
    with provider_server([reply()]) as server:
        model(server).invoke(history)
    assert [message["role"] for message in server.requests[0]["messages"]] == ["user", "assistant", "tool", "user"]


def test_a_nudge_is_sent_and_not_kept() -> None:
    history = [
        HumanMessage("hi"),
        AIMessage(tool_calls=[{"id": "c1", "name": "add", "args": {"a": 1, "b": 2}}]),
        ToolMessage("3", tool_call_id="c1"),
    ]
    with provider_server([reply()]) as server:
        model(server, nudge=True).invoke(history)
    assert server.requests[0]["messages"][-1]["content"].startswith("3\nWhen this is all")
    assert history[-1].text == "3"


def test_a_call_in_the_text_is_read_where_that_was_asked_for() -> None:
    text = '```json\n{"name": "add", "arguments": {"a": 2, "b": 3}}\n```'
    with provider_server([reply(text), reply(text)]) as server:
        read = model(server, text_calls=True).bind_tools([add]).invoke("hi")
        left = model(server).bind_tools([add]).invoke("hi")
    assert [(entry["name"], entry["args"]) for entry in read.tool_calls] == [("add", {"a": 2, "b": 3})]
    assert left.tool_calls == []


def test_a_stream_adds_up_to_the_reply() -> None:
    frames: list[Any] = [
        piece(role="assistant", content="so "),
        piece(content="be it"),
        piece(tool_calls=[{"index": 0, "id": "c1", "function": {"name": "add", "arguments": '{"a": 2,'}}]),
        piece(tool_calls=[{"index": 0, "function": {"arguments": ' "b": 3}'}}]),
        piece("tool_calls"),
        {"id": "c", "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}},
        "[DONE]",
    ]
    with provider_server([Stream(frames)]) as server:
        pieces = list(model(server).bind_tools([add]).stream("hi"))
    whole = pieces[0]
    for part in pieces[1:]:
        whole = whole + part
    assert len(pieces) > 2
    assert whole.text == "so be it"
    assert [(entry["id"], entry["args"]) for entry in whole.tool_calls] == [("c1", {"a": 2, "b": 3})]
    assert whole.finish_reason == "tool_calls"
    assert whole.usage_metadata is not None
    assert whole.usage_metadata["total_tokens"] == 5
    assert server.requests[0]["stream"] is True
    assert server.requests[0]["stream_options"] == {"include_usage": True}


def test_a_stream_can_be_left_early() -> None:
    frames = [piece(content=str(number)) for number in range(50)]
    with provider_server([Stream(frames), reply()]) as server:
        chat = model(server)
        for part in chat.stream("hi"):
            assert part.text == "0"
            break
        assert chat.invoke("hi").text == "hello"


def test_calls_in_the_text_of_a_stream_come_last() -> None:
    frames = [
        piece(content='{"name": "add", '),
        piece(content='"arguments": {"a": 2, "b": 3}}'),
        piece("stop"),
        "[DONE]",
    ]
    with provider_server([Stream(frames)]) as server:
        pieces = list(model(server, text_calls=True).bind_tools([add]).stream("hi"))
    assert [entry["args"] for entry in pieces[-1].tool_calls] == [{"a": 2, "b": 3}]


def test_one_model_serves_several_loops_and_threads() -> None:
    answers = [reply(str(number)) for number in range(6)]
    texts: list[str] = []
    with provider_server(answers) as server:
        chat = model(server)

        async def twice() -> None:
            texts.extend([(await chat.ainvoke("hi")).text, (await chat.ainvoke("hi")).text])

        texts.append(chat.invoke("hi").text)
        asyncio.run(twice())
        thread = threading.Thread(target=lambda: texts.append(chat.invoke("hi").text))
        thread.start()
        thread.join()
        asyncio.run(twice())
    assert sorted(texts) == ["0", "1", "2", "3", "4", "5"]


def test_connections_can_be_closed_before_their_loop_ends() -> None:
    async def use(chat: ChatOpenAI) -> list[str]:
        first = await chat.ainvoke("hi")
        await chat.aclose()
        return [first.text, (await chat.ainvoke("hi")).text]

    with provider_server([reply("1"), reply("2")]) as server:
        assert run_sync(lambda: use(model(server))) == ["1", "2"]


def test_a_missing_key_is_an_error_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelError, match="Set the environment variable OPENAI_API_KEY"):
        ChatOpenAI("gpt-4o").invoke("hi")


def test_key_and_address_are_read_when_the_model_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    chat = ChatOpenAI("m", endpoint=DEEPSEEK)
    with provider_server([reply()]) as server:
        monkeypatch.setenv("DEEPSEEK_API_KEY", "late")
        monkeypatch.setenv("DEEPSEEK_BASE_URL", server.url)
        chat.invoke("hi")
    assert server.headers[0]["authorization"] == "Bearer late"
    assert server.paths == ["/chat/completions"]


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://localhost:11434/v1"),
        ("gpu-7", "http://gpu-7:11434/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("10.0.0.2:8080", "http://10.0.0.2:8080/v1"),
        ("https://ollama.example.com", "https://ollama.example.com/v1"),
        ("http://gpu-7:11434/", "http://gpu-7:11434/v1"),
    ],
)
def test_ollamas_own_variable_is_understood(monkeypatch: pytest.MonkeyPatch, host: str, url: str) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert OLLAMA.address(None) == url
    assert OLLAMA.address("http://given/v1") == "http://given/v1"


def test_openai_itself_gets_the_new_name_of_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert OPENAI.limit_field(None) == "max_completion_tokens"
    assert OPENAI.limit_field("http://gpu-7/v1") == "max_tokens"


@pytest.mark.parametrize("name", ["messages", "model", "stream", "tools"])
def test_fields_that_follow_from_the_call_are_refused(name: str) -> None:
    with pytest.raises((OptionError, TypeError)):
        ChatOpenAI("m", **cast("dict[str, Any]", {name: True}))


def test_several_answers_at_once_are_refused() -> None:
    with pytest.raises(OptionError, match="n=2 is not usable: expected 1"):
        ChatOpenAI("m", n=2)
    with pytest.raises(OptionError, match="n=3"):
        ChatOpenAI("m").bind_tools([add], n=3)
    ChatOpenAI("m", n=1)


def test_a_refusal_of_the_provider_keeps_its_words_and_cause() -> None:
    refusal = Served({"error": {"message": "Unknown parameter: 'tpo_p'.", "type": "invalid_request_error"}}, status=400)
    with pytest.raises(ModelError, match="Unknown parameter: 'tpo_p'") as caught:
        ask([refusal])
    assert caught.value.status_code == 400
    assert caught.value.__cause__ is not None


def test_a_server_that_is_not_there_is_named() -> None:
    with pytest.raises(ModelError, match=r"http://127\.0\.0\.1:1/v1 cannot be reached"):
        ChatOpenAI("m", api_key="k", base_url="http://127.0.0.1:1/v1", max_retries=0).invoke("hi")


def test_a_server_that_fails_once_is_asked_again() -> None:
    assert ask([Served({"error": {"message": "busy"}}, status=503), reply()], max_retries=1).text == "hello"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("<html>login</html>", "text that is no JSON object"),
        ({"error": {"message": "quota"}}, "quota"),
        ({"object": "list"}, "a reply without choices"),
        ({"choices": [None]}, "a reply without choices"),
        ([1], "text that is no JSON object"),
    ],
)
def test_a_reply_that_is_none_is_an_error_that_shows_it(body: Any, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        ask([Served(body)])


def test_broken_json_is_an_error_that_shows_it() -> None:
    with pytest.raises(ModelError, match="broken JSON"):
        ask([Served("{", content_type="application/json")])


@pytest.mark.parametrize("frame", [{"error": {"message": "overloaded"}}, {"object": "error", "message": "overloaded"}])
def test_an_error_inside_a_stream_is_an_error(frame: dict[str, Any]) -> None:
    frames = [piece(content="so"), frame]
    with provider_server([Stream(frames)]) as server, pytest.raises(ModelError, match="overloaded"):
        list(model(server).stream("hi"))


def test_a_connection_that_breaks_is_an_error() -> None:
    cut_off = Served(Stream([piece(content="so")]), is_cut_off=True)
    with provider_server([cut_off]) as server, pytest.raises(ModelError, match=r"broke|cannot be reached"):
        list(model(server).stream("hi"))
    with pytest.raises(ModelError, match=r"broke|cannot be reached"):
        ask([Served(reply(), is_cut_off=True)])


def test_a_server_that_takes_too_long_is_an_error() -> None:
    with fault_server() as url:
        chat = ChatOpenAI("m", api_key="secret", base_url=f"{url}/hang", max_retries=0, timeout=0.1)
        with pytest.raises(ModelError, match="did not answer in time"):
            chat.invoke("hi")


def test_a_stream_without_a_frame_is_an_error() -> None:
    with provider_server([Stream(["[DONE]"])]) as server, pytest.raises(ModelError, match="an empty stream"):
        list(model(server).stream("hi"))


def test_in_a_graph_whose_messages_are_read_the_reply_is_streamed_and_elsewhere_it_is_not() -> None:
    whole = reply("Hello")
    frames = [piece(content="Hel"), piece(content="lo"), piece("stop"), "[DONE]"]
    with provider_server([whole, Stream(frames)]) as server:
        builder = StateGraph(MessagesState).add_node("chat", model(server)).add_edge(START, "chat")
        graph = builder.compile()
        invoked = graph.invoke("hi")["messages"][-1]
        items = list(graph.stream("hi", stream_mode=["messages", "values"]))
    told = [item[0].text for mode, item in items if mode == "messages" and item[0].text]
    streamed = items[-1][1]["messages"][-1]
    assert [request.get("stream") for request in server.requests] == [None, True]
    assert told == ["Hel", "lo"]
    assert (invoked.text, invoked.finish_reason) == (streamed.text, streamed.finish_reason) == ("Hello", "stop")
