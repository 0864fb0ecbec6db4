from __future__ import annotations

import asyncio
import json
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any, cast

import pytest

from support.fault_server import fault_server
from support.gemini import SIGNATURE, Part, answer, call, content, reply
from support.provider_server import Answer, ProviderServer, Served, Stream, provider_server
from surehand import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    ModelError,
    OptionError,
    SystemMessage,
    ToolMessage,
    create_agent,
    tool,
)
from surehand.models import ChatGoogle

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")

NO_WAIT = {"http_options": {"retry_options": {"attempts": 3, "initial_delay": 0.001, "jitter": 0.001}}}
ODD: Part = {"aKindOfPartThatIsNew": {"x": 1}, "aFieldThatIsNew": 2}


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool("do it!")
def do_it() -> str:
    """Do it."""
    return "done"


def hello(**fields: Any) -> Part:
    usage = {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5}
    return {**reply({"text": "hello"}), "usageMetadata": usage, **fields}


def model(server: ProviderServer, name: str = "gemini-3-flash", **options: Any) -> ChatGoogle:
    defaults: dict[str, Any] = {"max_retries": 0, **options}
    return ChatGoogle(name, api_key="secret", base_url=server.url, **defaults)


@pytest.fixture(scope="module")
def provider() -> Generator[ProviderServer]:
    """One for all tests, so that they share the SDK's client: to make one takes as long as a hundred requests."""
    with provider_server([]) as server:
        yield server


@contextmanager
def serving(server: ProviderServer, answers: Iterable[Answer]) -> Generator[ProviderServer]:
    """The server with these answers, and nothing asked of it yet."""
    server.answers = iter(answers)
    for kept in (server.requests, server.paths, server.headers):
        kept.clear()
    yield server


def test_a_reply_becomes_a_message(provider: ProviderServer) -> None:
    with serving(provider, [hello(responseId="r")]) as server:
        message = model(server).invoke("hi")
    assert message.text == "hello"
    assert message.finish_reason == "stop"
    assert message.usage_metadata == {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
    assert message.response_metadata["id"] == "r"
    assert server.headers[0]["x-goog-api-key"] == "secret"
    assert server.paths[0].endswith("/models/gemini-3-flash:generateContent")


def test_a_request_holds_what_the_model_was_built_with(provider: ProviderServer) -> None:
    with serving(provider, [hello()]) as server:
        chat = model(server, temperature=0, max_tokens=9, topP=0.5, safetySettings=[], generationConfig={"seed": 1})
        chat.invoke([SystemMessage("Be short."), HumanMessage("hi")])
    assert server.requests[0] == {
        "systemInstruction": {"parts": [{"text": "Be short."}]},
        "contents": [content("user", {"text": "hi"})],
        "generationConfig": {"temperature": 0, "maxOutputTokens": 9, "topP": 0.5, "seed": 1},
        "safetySettings": [],
    }


@pytest.mark.parametrize(
    ("choice", "written"),
    [
        ("auto", {"mode": "AUTO"}),
        ("required", {"mode": "ANY"}),
        ("any", {"mode": "ANY"}),
        ("none", {"mode": "NONE"}),
        ("add", {"mode": "ANY", "allowedFunctionNames": ["add"]}),
        ("do it!", {"mode": "ANY", "allowedFunctionNames": ["do_it"]}),
        ({"mode": "VALIDATED"}, {"mode": "VALIDATED"}),
        ({"functionCallingConfig": {"mode": "ANY"}}, {"mode": "ANY"}),
    ],
)
def test_a_choice_of_tools_is_written_as_the_provider_spells_it(
    provider: ProviderServer, choice: Any, written: Any
) -> None:
    with serving(provider, [hello()]) as server:
        model(server).bind_tools([add, do_it], tool_choice=choice).invoke("hi")
    (request,) = server.requests
    (declared,) = request["tools"]
    assert request["toolConfig"] == {"functionCallingConfig": written}
    assert [each["name"] for each in declared["functionDeclarations"]] == ["add", "do_it"]
    assert "parametersJsonSchema" in declared["functionDeclarations"][0]


def test_what_a_configuration_of_tools_says_besides_the_choice_is_kept(provider: ProviderServer) -> None:
    config = {"functionCallingConfig": {"streamFunctionCallArguments": True}, "retrievalConfig": {"languageCode": "en"}}
    with serving(provider, [hello()]) as server:
        model(server).bind_tools([add], tool_choice="any", toolConfig=config).invoke("hi")
    assert server.requests[0]["toolConfig"] == {
        "functionCallingConfig": {"mode": "ANY", "streamFunctionCallArguments": True},
        "retrievalConfig": {"languageCode": "en"},
    }


def test_without_tools_nothing_is_said_of_how_they_may_be_called(provider: ProviderServer) -> None:
    config = {"functionCallingConfig": {"mode": "AUTO"}, "retrievalConfig": {"languageCode": "en"}}
    with serving(provider, [hello(), hello()]) as server:
        model(server, toolConfig=config).invoke("hi")
        model(server, toolConfig={"functionCallingConfig": {"mode": "AUTO"}}).invoke("hi")
    assert server.requests[0]["toolConfig"] == {"retrievalConfig": {"languageCode": "en"}}
    assert "toolConfig" not in server.requests[1]


def test_what_the_sdk_has_no_class_for_goes_through_it_both_ways(provider: ProviderServer) -> None:
    said = reply(call("add", a=2, b=3, signature=SIGNATURE), ODD)
    with serving(provider, [said, hello(), Stream([said])]) as server:
        chat = model(server).bind_tools([add])
        message = chat.invoke("hi")
        (called,) = message.tool_calls
        chat.invoke([HumanMessage("hi"), message, ToolMessage("5", tool_call_id=called["id"])])
        streamed = sum_of(list(chat.stream("hi")))
    assert message.content == streamed.to_message().content == said["candidates"][0]["content"]["parts"]
    assert server.requests[1]["contents"] == [
        content("user", {"text": "hi"}),
        said["candidates"][0]["content"],
        content("user", answer("add", output="5")),
    ]


@pytest.mark.parametrize(
    ("name", "is_signed"),
    [
        ("gemini-2.5-flash", False),
        ("models/gemini-1.5-pro", False),
        ("gemma-3-27b-it", False),
        ("gemini-3-pro-preview", True),
        ("gemini-3.6-flash", True),
        ("gemini-4-pro", True),
        ("gemini-flash-latest", True),
    ],
)
def test_calls_of_another_model_are_vouched_for_where_signatures_are_demanded(
    provider: ProviderServer,
    name: str,
    is_signed: bool,  # noqa: FBT001 - a table's column
) -> None:
    foreign = AIMessage(tool_calls=[{"id": "toolu_1", "name": "add", "args": {"a": 1, "b": 2}}])
    with serving(provider, [hello()]) as server:
        model(server, name).invoke([HumanMessage("hi"), foreign, ToolMessage("3", tool_call_id="toolu_1")])
    (part,) = server.requests[0]["contents"][1]["parts"]
    assert ("thoughtSignature" in part) is is_signed
    assert server.paths[0].split("/")[-1] == f"{name.removeprefix('models/')}:generateContent"


def sum_of(pieces: list[AIMessageChunk]) -> AIMessageChunk:
    total = AIMessageChunk()
    for piece in pieces:
        total += piece
    return total


def test_a_stream_comes_in_pieces_that_add_up_to_the_reply(provider: ProviderServer) -> None:
    usage = {"promptTokenCount": 3, "candidatesTokenCount": 2}
    frames = [
        reply({"text": "so "}, reason=None),
        reply({"text": "be it"}, reason=None),
        {**reply(call("add", a=2, b=3, signature=SIGNATURE)), "usageMetadata": usage},
    ]
    with serving(provider, [Stream(frames)]) as server:
        pieces = list(model(server).bind_tools([add]).stream("hi"))
    whole = sum_of(pieces)
    assert [piece.text for piece in pieces[:2]] == ["so ", "be it"]
    assert [(each["name"], each["args"]) for each in whole.tool_calls] == [("add", {"a": 2, "b": 3})]
    assert whole.finish_reason == "stop"
    assert whole.usage_metadata == {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
    assert server.paths[0].endswith(":streamGenerateContent?alt=sse")


def test_an_agent_goes_on_after_a_call_that_the_api_refused(provider: ProviderServer) -> None:
    lost = reply(reason="MALFORMED_FUNCTION_CALL", finishMessage="Malformed function call: print(default_api.add(a=2,")
    with serving(provider, [lost, reply(call("add", a=2, b=3)), hello()]) as server:
        state = create_agent(model(server), [add]).invoke({"messages": [HumanMessage("hi")]})
    told = server.requests[1]["contents"][2]["parts"][0]["functionResponse"]
    assert state["messages"][-1].text == "hello"
    assert told["name"] == "add"
    assert "one complete JSON object" in told["response"]["error"]


def test_tools_have_their_own_names_in_the_reply(provider: ProviderServer) -> None:
    with serving(provider, [reply(call("do_it")), Stream([reply(call("do_it"))])]) as server:
        chat = model(server).bind_tools([do_it])
        assert [each["name"] for each in chat.invoke("hi").tool_calls] == ["do it!"]
        assert [each["name"] for each in sum_of(list(chat.stream("hi"))).tool_calls] == ["do it!"]


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "refused the request (HTTP 400: no such field)"),
        (401, "refused the key (HTTP 401: no such field). Check GOOGLE_API_KEY"),
        (404, "knows no such model or path"),
        (429, "limits the rate"),
        (500, "Google failed"),
    ],
)
@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_providers_refusal_is_told_with_its_words(
    provider: ProviderServer,
    status: int,
    words: str,
    is_streamed: bool,  # noqa: FBT001 - both doors
) -> None:
    refusal = Served({"error": {"code": status, "message": "no such field", "status": "WRONG"}}, status=status)
    with serving(provider, [refusal]) as server, pytest.raises(ModelError) as caught:
        list(model(server).stream("hi")) if is_streamed else model(server).invoke("hi")
    assert words in str(caught.value)
    assert caught.value.status_code == status


@pytest.mark.parametrize(
    ("served", "words"),
    [
        (Served("no JSON"), "broken JSON"),
        (Served("[1]"), "no JSON object"),
        (Served({"error": {"message": "told with 200"}}), "told with 200"),
        (Served({"usageMetadata": {}}), "without candidates"),
    ],
)
def test_what_is_no_reply_is_told_with_the_address(provider: ProviderServer, served: Served, words: str) -> None:
    with serving(provider, [served]) as server, pytest.raises(ModelError, match=words) as caught:
        model(server).invoke("hi")
    assert server.url in str(caught.value)


@pytest.mark.parametrize(
    ("served", "words"),
    [
        (Served(Stream([])), "an empty stream"),
        (Served(Stream(["no JSON"])), "the request failed: Failed to parse response as JSON"),
        (Served(Stream([[1]])), "a chunk that is no object"),
        (Served(Stream([{"error": {"code": 503, "message": "overloaded", "status": "U"}}])), "overloaded"),
        (Served(Stream([reply({"text": "a"}, reason=None)]), is_cut_off=True), "the connection to .* broke"),
    ],
)
def test_a_stream_that_goes_wrong_is_told(provider: ProviderServer, served: Served, words: str) -> None:
    with serving(provider, [served]) as server, pytest.raises(ModelError, match=words):
        list(model(server).stream("hi"))


def test_a_refused_prompt_is_a_message_that_says_so(provider: ProviderServer) -> None:
    with serving(provider, [{"promptFeedback": {"blockReason": "SAFETY"}}]) as server:
        message = model(server).invoke("hi")
    assert (message.content, message.finish_reason) == ("", "content_filter")


def test_what_may_pass_is_tried_again_so_often_and_no_more(provider: ProviderServer) -> None:
    busy = Served({"error": {"code": 503, "message": "busy"}}, status=503)
    with serving(provider, [busy, busy, hello(), busy, busy, busy, hello()]) as server:
        chat = model(server, client_options=NO_WAIT)
        assert chat.invoke("hi").text == "hello"
        with pytest.raises(ModelError, match="busy"):
            chat.invoke("hi")
    assert len(server.requests) == 6


def test_a_refusal_is_not_tried_again(provider: ProviderServer) -> None:
    with serving(provider, [Served({"error": {"code": 400, "message": "no"}}, status=400), hello()]) as server:
        with pytest.raises(ModelError):
            model(server, client_options=NO_WAIT).invoke("hi")
        assert len(server.requests) == 1


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_provider_that_does_not_answer_is_given_up_after_the_time(is_streamed: bool) -> None:  # noqa: FBT001 - both doors
    with fault_server() as url:
        chat = ChatGoogle("m", api_key="k", base_url=f"{url}/hang", timeout=0.2)
        with pytest.raises(ModelError, match="did not answer in time"):
            list(chat.stream("hi")) if is_streamed else chat.invoke("hi")


def test_the_time_is_that_of_each_part_of_a_stream() -> None:
    async def tell(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        for word in "abcdefgh":
            part = reply({"text": word}, reason="STOP" if word == "h" else None)
            writer.write(f"data: {json.dumps(part)}\n\n".encode())
            await asyncio.sleep(0.3)
        writer.close()
        await writer.wait_closed()

    async def ask() -> str:
        async with await asyncio.start_server(tell, "127.0.0.1", 0) as server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            chat = ChatGoogle("m", api_key="k", base_url=url, timeout=2, max_retries=0)
            text = "".join([piece.text async for piece in chat.astream("hi")])
            await chat.aclose()
        return text

    assert asyncio.run(ask()) == "abcdefgh"


def test_an_address_that_nobody_serves_is_told() -> None:
    with pytest.raises(ModelError, match=r"connection to http://127\.0\.0\.1:9 broke"):
        ChatGoogle("m", api_key="k", base_url="http://127.0.0.1:9", max_retries=0).invoke("hi")


def test_a_key_is_read_from_the_environment_when_the_model_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.delenv(name, raising=False)
    with provider_server([hello()]) as server:
        chat = ChatGoogle("m", base_url=server.url)
        with pytest.raises(ModelError, match=r"no API key for Google\. Set the environment variable GOOGLE_API_KEY"):
            chat.invoke("hi")
        monkeypatch.setenv("GEMINI_API_KEY", "from the environment")
        chat.invoke("hi")
    assert server.headers[0]["x-goog-api-key"] == "from the environment"


def test_vertex_ai_is_reached_with_the_sdks_own_arguments(provider: ProviderServer) -> None:
    with serving(provider, [hello()]) as server:
        options = {"vertexai": True}
        model(server, client_options=options).invoke("hi")
    assert server.paths[0].endswith("/publishers/google/models/gemini-3-flash:generateContent")


def test_arguments_that_the_sdk_refuses_are_told() -> None:
    chat = ChatGoogle("m", api_key="k", client_options={"http_options": {"nonsense": 1}})
    with pytest.raises(ModelError, match=r"the SDK refuses its options: [^.]*nonsense"):
        chat.invoke("hi")


@pytest.mark.parametrize("name", ["contents", "tools", "systemInstruction"])
def test_options_that_the_model_itself_decides_are_refused(name: str) -> None:
    with pytest.raises(OptionError, match=name):
        ChatGoogle("m", **cast("Any", {name: []}))


def test_several_answers_are_refused() -> None:
    with pytest.raises(OptionError, match="ask several times"):
        ChatGoogle("m", candidateCount=2)
