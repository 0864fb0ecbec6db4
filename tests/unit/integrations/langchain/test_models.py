"""LangChain's chat models answer our messages, with our tools, in an agent of ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler, CallbackManagerForLLMRun
from langchain_core.language_models import LanguageModelInput
from langchain_core.language_models.chat_models import BaseChatModel as LangChainBase
from langchain_core.messages import AIMessage as TheirReply
from langchain_core.messages import AIMessageChunk as TheirChunk
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from pydantic import Field

from surehand import (
    START,
    AIMessage,
    AIMessageChunk,
    HumanMessage,
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
from surehand.agent import ModelRequest, ModelResponse, wrap_model_call
from surehand.integrations.langchain.models import LangChainModel
from surehand.outcomes import FailureKind


class Scripted(LangChainBase):
    """A LangChain model that gives prepared replies, whole or in chunks, and keeps what it was asked."""

    replies: list[Any]
    asked: list[tuple[list[BaseMessage], dict[str, Any]]] = Field(default_factory=list[Any])
    model_name: str = "scripted"

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: Any = None, **options: Any
    ) -> Runnable[LanguageModelInput, TheirReply]:
        return self.bind(tools=list(tools), tool_choice=tool_choice, **options)

    def _next(self, messages: list[BaseMessage], options: dict[str, Any]) -> Any:
        self.asked.append((messages, options))
        reply = self.replies[len(self.asked) - 1]
        if isinstance(reply, Exception):
            raise reply
        return reply

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._next(messages, kwargs))])


class Streaming(Scripted):
    """The same, in chunks."""

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in self._next(messages, kwargs):
            yield ChatGenerationChunk(message=chunk)


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def their_call(name: str = "add", call_id: str = "c1", **args: Any) -> TheirReply:
    return TheirReply("", tool_calls=[{"name": name, "args": args, "id": call_id}])


def piece(args: str | None, *, name: str | None = None, id: str | None = None) -> TheirChunk:
    return TheirChunk(
        content="", tool_call_chunks=[{"name": name, "args": args, "id": id, "index": 0, "type": "tool_call_chunk"}]
    )


def test_an_agent_takes_a_langchain_model_as_it_is() -> None:
    model = Scripted(replies=[their_call(a=1, b="2"), TheirReply("It is 3.")])

    end = create_agent(model, [add], system_prompt="Be brief.").invoke({"messages": [("user", "1 + 2?")]})

    assert [message.text for message in end["messages"]] == ["1 + 2?", "", "3", "It is 3."]
    assert all(type(message).__module__.startswith("surehand") for message in end["messages"])
    asked = [message.type for message in model.asked[1][0]]
    assert asked == ["system", "human", "ai", "tool"]
    assert model.asked[0][1]["tools"][0]["function"]["name"] == "add"


def test_a_middleware_may_put_a_langchain_model_in_place_of_the_agents() -> None:
    other = Scripted(replies=[TheirReply("from the other")])

    @wrap_model_call
    def reroute(request: ModelRequest, handler: Any) -> ModelResponse:
        response: ModelResponse = handler(request.override(model=other))
        return response

    agent = create_agent(Scripted(replies=[]), [add], middleware=[reroute])

    assert agent.invoke({"messages": ["hi"]})["messages"][-1].text == "from the other"
    assert other.asked[0][1]["tools"]


def test_messages_are_written_as_langchains_and_calls_that_cannot_be_read_stay_apart() -> None:
    model = Scripted(replies=[TheirReply("ok")])
    broken = AIMessage(
        tool_calls=[{"id": "1", "name": "add", "args": '{"a": 1'}, {"id": "2", "name": "add", "args": {}}]
    )
    answers = [ToolMessage("no", tool_call_id="1", status="error"), ToolMessage("0", tool_call_id="2")]

    LangChainModel(model).invoke([SystemMessage("s"), HumanMessage("hi"), broken, *answers])

    sent = model.asked[0][0]
    assert [message.type for message in sent] == ["system", "human", "ai", "tool", "tool"]
    reply = sent[2]
    assert isinstance(reply, TheirReply)
    assert [call["id"] for call in reply.tool_calls] == ["2"]
    assert [(call["id"], call["args"]) for call in reply.invalid_tool_calls] == [("1", '{"a": 1')]


def test_an_invalid_call_of_theirs_is_answered_and_can_be_corrected() -> None:
    invalid = TheirReply(
        "",
        invalid_tool_calls=[
            {"type": "invalid_tool_call", "name": "add", "args": '{"a": 1', "id": "c1", "error": "cut off"}
        ],
    )
    model = Scripted(replies=[invalid, their_call(a=1, b=2), TheirReply("3")])

    end = create_agent(model, [add]).invoke({"messages": ["1 + 2?"]})

    refused = end["messages"][2]
    assert refused.outcome.kind is FailureKind.MALFORMED
    assert end["messages"][-1].text == "3"


def test_a_call_that_a_stream_cut_off_never_runs() -> None:
    ran: list[Any] = []

    @tool(description="Delete files.")
    def delete(path: str, exclude: list[str] | None = None) -> str:
        ran.append((path, exclude))
        return "deleted"

    cut = [
        piece('{"path": "/data", "exclude": ["/data/keep", "/data/ke', name="delete", id="c1"),
        TheirChunk(content="", response_metadata={"finish_reason": "length"}, chunk_position="last"),
    ]
    model = Streaming(replies=[cut, [TheirChunk(content="stopped")]])
    agent = create_agent(model, [delete])

    *_, (_, end) = (
        item
        for item in agent.stream({"messages": ["clean up"]}, stream_mode=["messages", "values"])
        if item[0] == "values"
    )

    assert ran == []
    assert [m.outcome.kind for m in end["messages"] if m.type == "tool"] == [FailureKind.TRUNCATED]


def test_pieces_add_up_to_the_reply_and_tokens_are_totals() -> None:
    chunks = [
        TheirChunk(content="Let me", usage_metadata={"input_tokens": 7, "output_tokens": 1, "total_tokens": 8}),
        piece('{"a": 1,', name="add", id="c1"),
        piece(' "b": 2}'),
        TheirChunk(content="", usage_metadata={"input_tokens": 0, "output_tokens": 4, "total_tokens": 4}),
        TheirChunk(content="", response_metadata={"finish_reason": "tool_calls"}, chunk_position="last"),
    ]
    model = LangChainModel(Streaming(replies=[chunks])).bind_tools([add])

    pieces = list(model.stream("1 + 2?"))
    whole = AIMessageChunk()
    for each in pieces:
        whole += each

    assert [(call["id"], call["args"]) for call in whole.tool_calls] == [("c1", {"a": 1, "b": 2})]
    assert whole.text == "Let me"
    assert whole.usage_metadata == {"input_tokens": 7, "output_tokens": 5, "total_tokens": 12}
    assert whole.finish_reason == "tool_calls"


def test_a_model_that_does_not_stream_gives_its_reply_as_one_piece() -> None:
    model = LangChainModel(Scripted(replies=[their_call(a=1, b=2)])).bind_tools([add])

    pieces = [each for each in model.stream("1 + 2?") if each.tool_call_chunks]

    assert [(call["name"], call["args"]) for call in pieces[0].tool_calls] == [("add", {"a": 1, "b": 2})]


@pytest.mark.parametrize(("choice", "sent"), [("required", "any"), ("auto", "auto"), ("add", "add"), (None, None)])
def test_the_choice_of_tools_is_said_in_langchains_words(choice: Any, sent: Any) -> None:
    model = Scripted(replies=[TheirReply("ok")])

    LangChainModel(model).bind_tools([add], tool_choice=choice).invoke("hi")

    assert model.asked[0][1]["tool_choice"] == sent


def test_names_that_no_provider_takes_are_offered_by_others_and_come_back_as_they_were() -> None:
    @tool("files.read")
    def read(path: str) -> str:
        """Read a file."""
        return f"content of {path}"

    model = Scripted(replies=[their_call("files_read", path="a.txt"), TheirReply("done")])

    end = create_agent(model, [read]).invoke({"messages": ["read it"]})

    assert end["messages"][1].tool_calls[0]["name"] == "files.read"
    reply = model.asked[1][0][1]
    assert isinstance(reply, TheirReply)
    assert reply.tool_calls[0]["name"] == "files_read"
    assert model.asked[1][0][2].name == "files_read"


def test_tools_that_are_bound_already_have_to_be_the_agents() -> None:
    bound = Scripted(replies=[TheirReply("ok")]).bind_tools([add.to_openai()])

    assert [each.spec.name for each in LangChainModel(bound).tools] == ["add"]
    with pytest.raises(OptionError, match="add"):
        create_agent(bound, [])


def test_options_around_a_model_stay_when_other_tools_are_bound() -> None:
    inner = Scripted(replies=[TheirReply("ok")])

    LangChainModel(inner.bind(top_p=0.5)).bind_tools([add], seed=7).invoke("hi")

    assert (inner.asked[0][1]["seed"], inner.asked[0][1]["top_p"]) == (7, 0.5)
    assert inner.asked[0][1]["tools"]


def test_what_a_model_raises_is_an_error_of_the_model_with_its_status() -> None:
    class RateLimited(Exception):
        status_code = 429

    with pytest.raises(ModelError, match="RateLimited: slow down") as caught:
        LangChainModel(Scripted(replies=[RateLimited("slow down")])).invoke("hi")

    assert caught.value.status_code == 429
    assert isinstance(caught.value.__cause__, RateLimited)


def test_a_model_without_tools_says_so() -> None:
    class Plain(Scripted):
        def bind_tools(
            self, tools: Sequence[Any], *, tool_choice: Any = None, **options: Any
        ) -> Runnable[LanguageModelInput, TheirReply]:
            return LangChainBase.bind_tools(self, tools, tool_choice=tool_choice, **options)

    with pytest.raises(OptionError, match="cannot be bound to tools"):
        LangChainModel(Plain(replies=[])).bind_tools([add]).invoke("hi")


@pytest.mark.parametrize("value", [object(), Scripted, "gpt", None])
def test_what_is_no_langchain_model_is_refused(value: object) -> None:
    with pytest.raises(OptionError, match="LangChain chat model"):
        LangChainModel(value)


def test_a_bound_tool_without_a_name_is_refused() -> None:
    bound = Scripted(replies=[]).bind(tools=[{"function": {"parameters": {"type": "object"}}}])

    with pytest.raises(ToolDefinitionError, match="needs a name"):
        LangChainModel(bound)


def test_retries_around_a_model_stay_when_tools_are_bound() -> None:
    inner = Scripted(replies=[ConnectionError("reset"), TheirReply("ok")])
    model = LangChainModel(inner.with_retry(wait_exponential_jitter=False, stop_after_attempt=2))

    assert model.bind_tools([add]).invoke("hi").text == "ok"
    assert [bool(options.get("tools")) for _, options in inner.asked] == [True, True]


def test_fallbacks_of_a_model_are_offered_the_tools_too() -> None:
    first, second = Scripted(replies=[ConnectionError("down")]), Scripted(replies=[TheirReply("ok")])

    assert LangChainModel(first.with_fallbacks([second])).bind_tools([add]).invoke("hi").text == "ok"
    assert second.asked[0][1]["tools"]


def test_a_langchain_model_is_a_node_of_our_graph() -> None:
    graph = StateGraph(MessagesState)
    graph.add_node("model", Scripted(replies=[TheirReply("hello")]))
    graph.add_edge(START, "model")

    assert graph.compile().invoke({"messages": ["hi"]})["messages"][-1].text == "hello"


@pytest.mark.parametrize("way", ["invoke", "stream"])
def test_callbacks_of_an_agents_run_hear_of_the_model(way: str) -> None:
    heard: list[Any] = []

    class Listener(BaseCallbackHandler):
        def on_chat_model_start(self, serialized: Any, messages: Any, **details: Any) -> None:
            heard.append((details["tags"], details["metadata"]["who"]))

    agent = create_agent(Scripted(replies=[TheirReply("hello")]), [add])
    config: Any = {"callbacks": [Listener()], "tags": ["mine"], "metadata": {"who": "ada"}}
    given: Any = {"messages": ["hi"]}

    _ = agent.invoke(given, config) if way == "invoke" else list(agent.stream(given, config, stream_mode="messages"))

    assert heard == [(["mine"], "ada")]


def test_a_model_may_have_fields_that_are_called_like_those_of_wrappers() -> None:
    class Named(Scripted):
        bound: list[Any] = Field(default_factory=list[Any])
        runnable: str = "yes"

    assert LangChainModel(Named(replies=[TheirReply("ok")])).bind_tools([add]).invoke("hi").text == "ok"
