"""A reply that breaks off is an error of the model's, however it came and whoever speaks; what came is no reply."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal

import pytest

from support.data import committed_data, read_lines
from support.provider_server import Answer, ProviderServer, Stream, provider_server
from support.recordings import exception_of
from surehand import (
    START,
    AIMessage,
    AIMessageChunk,
    ChatAnthropic,
    ChatOpenAI,
    MessagesState,
    ModelError,
    RetryPolicy,
    StateGraph,
    create_agent,
    tool,
)
from surehand.models import BaseChatModel, ChatGoogle
from surehand.shapes import items_of, mapping_of

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")

Frame = dict[str, Any]
RECORDINGS: Final[Path] = committed_data() / "provider_recordings"


def openai(server: ProviderServer, api: Literal["chat", "responses"] = "chat", **options: Any) -> ChatOpenAI:
    return ChatOpenAI("m", api=api, api_key="k", base_url=f"{server.url}/v1", max_retries=0, **options)


def responses(server: ProviderServer) -> ChatOpenAI:
    return openai(server, "responses")


def anthropic(server: ProviderServer) -> ChatAnthropic:
    return ChatAnthropic("m", api_key="k", base_url=server.url, max_retries=0)


def google(server: ProviderServer) -> ChatGoogle:
    return ChatGoogle("m", api_key="k", base_url=server.url, max_retries=0)


MODELS: Final[dict[str, Callable[[ProviderServer], BaseChatModel]]] = {
    "openai.chat": openai,
    "openai.responses": responses,
    "anthropic.messages": anthropic,
    "gemini.generateContent": google,
}


def summed(pieces: list[AIMessageChunk]) -> AIMessage:
    whole = pieces[0]
    for piece in pieces[1:]:
        whole += piece
    return whole.to_message()


def told(message: AIMessage) -> list[Any]:
    return [(call["name"], call["args"]) for call in message.tool_calls]


def shortest(api: str) -> list[Frame]:
    """The frames of the shortest recorded stream of one reply that has calls."""
    found: list[list[Frame]] = []
    for record in read_lines(RECORDINGS / "streams.jsonl"):
        frames = [event["data"] for event in record["events"] if isinstance(event["data"], dict)]
        is_one = not any(
            mapping_of(choice).get("index") for frame in frames for choice in items_of(frame.get("choices"))
        )
        is_ours = any(call["kind"] in ("function", "tool_use") for call in record["tool_calls"])
        if record["api"] == api and is_ours and is_one and len(frames) > 1 and exception_of(record) is None:
            found.append(frames)
    return min(found, key=len)


@pytest.mark.parametrize("api", MODELS)
def test_a_recorded_stream_is_a_reply_with_its_last_event_only(api: str) -> None:
    frames = shortest(api)
    cuts: list[Answer] = [Stream(frames[:end]) for end in range(1, len(frames) + 1)]
    outcomes: list[Any] = []
    with provider_server([*cuts, Stream(frames)]) as server:
        model = MODELS[api](server)
        for _ in cuts:
            try:
                outcomes.append(told(summed(list(model.stream("hi")))))
            except ModelError as error:
                outcomes.append("broken" if "before the reply of" in str(error) else str(error))
        whole = summed(list(model.stream("hi")))

    assert whole.tool_calls
    first = outcomes.index(told(whole))
    assert outcomes == ["broken"] * first + [told(whole)] * (len(outcomes) - first)
    assert first > 0, "the first frame is not the last"


@pytest.mark.parametrize("api", MODELS)
def test_a_recorded_stream_that_comes_twice_is_the_reply_once(api: str) -> None:
    frames = shortest(api)
    with provider_server([Stream(frames), Stream([*frames, *frames])]) as server:
        model = MODELS[api](server)
        once, twice = (summed(list(model.stream("hi"))) for _ in range(2))

    assert (told(twice), twice.text) == (told(once), once.text)


def chat(finish_reason: str | None = None, **delta: Any) -> Frame:
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}


CALL: Final = {"index": 0, "id": "a", "function": {"name": "add", "arguments": '{"a": 1}'}}


@pytest.mark.parametrize("reason", [None, ""])
def test_a_server_that_gives_no_reason_ends_its_reply_with_the_last_frame(reason: str | None) -> None:
    with provider_server([Stream([chat(reason, tool_calls=[CALL]), "[DONE]"])]) as server:
        reply = summed(list(openai(server).stream("hi")))

    assert told(reply) == [("add", {"a": 1})]
    assert (reply.finish_reason, reply.is_cut_off) == ("stop", False)


def test_pieces_reach_the_reader_before_the_error_does() -> None:
    pieces: list[str] = []
    with provider_server([Stream([chat(content="so "), chat(content="far")])]) as server:
        with pytest.raises(ModelError, match="the stream ended before the reply of http") as caught:
            pieces.extend(piece.text for piece in openai(server).stream("hi"))
        assert caught.value.status_code is None
    assert pieces == ["so ", "far"]


@pytest.mark.parametrize("word", ["error", "network_error", "insufficient_system_resource"])
def test_a_server_that_gave_up_is_an_error_in_one_piece_or_many(word: str) -> None:
    reply = {"choices": [{"finish_reason": word, "message": {"content": "so", "tool_calls": [CALL]}}]}
    with provider_server([reply, Stream([chat(word, content="so")])]) as server:
        model = openai(server)
        with pytest.raises(ModelError, match="the provider gave up before"):
            model.invoke("hi")
        with pytest.raises(ModelError, match="the provider gave up before"):
            list(model.stream("hi"))


def test_an_error_that_only_a_frame_tells_is_told() -> None:
    frames: list[Any] = [
        {"type": "message_start", "message": {"id": "m"}},
        {"event": "message_delta", "data": {"type": "error", "error": {"message": "overloaded"}}},
    ]
    with provider_server([Stream(frames)]) as server, pytest.raises(ModelError, match="Anthropic failed: overloaded"):
        list(anthropic(server).stream("hi"))


def test_a_node_that_is_retried_asks_again_for_a_reply_that_broke_off() -> None:
    answers = [Stream([chat(tool_calls=[CALL])]), Stream([chat("stop", content="It is done.")])]
    with provider_server(answers) as server:
        graph = StateGraph(MessagesState).add_edge(START, "model")
        graph.add_node("model", openai(server), retry_policy=RetryPolicy(initial_interval=0.001))
        *_, (_, last) = graph.compile().stream("hi", stream_mode=["messages", "values"])

    assert [message.text for message in last["messages"]] == ["hi", "It is done."]


def test_an_agent_runs_nothing_of_a_reply_that_broke_off_and_ends_with_the_error() -> None:
    done: list[int] = []

    @tool
    def add(a: int) -> str:
        """Add."""
        done.append(a)
        return "done"

    with (
        provider_server([Stream([chat(tool_calls=[CALL])])]) as server,
        pytest.raises(ModelError, match="ended before"),
    ):
        list(create_agent(openai(server), [add]).stream("hi", stream_mode="messages"))
    assert done == []
