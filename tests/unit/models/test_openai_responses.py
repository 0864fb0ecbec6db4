"""A model behind OpenAI's Responses is asked and read, whole and in pieces."""

from __future__ import annotations

from typing import Any

import pytest

from support.provider_server import Answer, ProviderServer, Served, Stream, provider_server
from surehand import (
    START,
    AIMessage,
    AIMessageChunk,
    ChatOpenAI,
    HumanMessage,
    MessagesState,
    ModelError,
    OptionError,
    StateGraph,
    SystemMessage,
    ToolMessage,
    create_agent,
    init_chat_model,
    tool,
)

Item = dict[str, Any]

THOUGHT: Item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"}
SEARCH: Item = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}}


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def says(text: str = "hello", **fields: Any) -> Item:
    part: Item = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part], **fields}


def calls(arguments: str = '{"a": 2, "b": 3}', call_id: str = "c1", **fields: Any) -> Item:
    item = {"type": "function_call", "id": "fc_1", "call_id": call_id, "name": "add", "arguments": arguments}
    return {**item, "status": "completed", **fields}


def reply(*output: Item, status: str = "completed", **fields: Any) -> Item:
    usage = {
        "input_tokens": 30,
        "input_tokens_details": {"cached_tokens": 20},
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 4},
        "total_tokens": 39,
    }
    made = list(output) or [says()]
    return {"id": "resp_1", "object": "response", "status": status, "output": made, "usage": usage, **fields}


def event(kind: str, **fields: Any) -> Item:
    return {"type": f"response.{kind}", **fields}


def model(server: ProviderServer, **options: Any) -> ChatOpenAI:
    defaults: dict[str, Any] = {"max_retries": 0, **options}
    return ChatOpenAI("m", api="responses", api_key="secret", base_url=f"{server.url}/v1", **defaults)


def ask(answers: list[Answer], **options: Any) -> AIMessage:
    with provider_server(answers) as server:
        return model(server, **options).invoke("hi")


def total(pieces: list[AIMessageChunk]) -> AIMessageChunk:
    whole = pieces[0]
    for piece in pieces[1:]:
        whole += piece
    return whole


def test_a_reply_becomes_a_message() -> None:
    message = ask([reply()])

    assert (message.content, message.finish_reason) == ("hello", "stop")
    assert message.usage_metadata == {
        "input_tokens": 30,
        "output_tokens": 9,
        "total_tokens": 39,
        "input_token_details": {"cache_read": 20},
        "output_token_details": {"reasoning": 4},
    }


def test_calls_are_read_and_what_the_provider_ran_stays_in_the_content() -> None:
    message = ask([reply(SEARCH, calls())])

    assert message.tool_calls == [{"id": "c1", "name": "add", "args": {"a": 2, "b": 3}, "type": "tool_call"}]
    assert message.content[0] == SEARCH


def test_a_request_holds_what_the_model_was_built_with() -> None:
    with provider_server([reply()]) as server:
        model(server, temperature=0, max_tokens=9, store=False, include=["reasoning.encrypted_content"]).invoke(
            [SystemMessage("Be short."), HumanMessage("hi")]
        )

    assert server.paths == ["/v1/responses"]
    assert server.requests == [
        {
            "model": "m",
            "instructions": "Be short.",
            "input": [{"role": "user", "content": "hi"}],
            "temperature": 0,
            "max_output_tokens": 9,
            "store": False,
            "include": ["reasoning.encrypted_content"],
        }
    ]


@pytest.mark.parametrize(
    ("choice", "written"),
    [
        ("required", "required"),
        ("any", "required"),
        ("add", {"type": "function", "name": "add"}),
        ({"type": "web_search"}, {"type": "web_search"}),
    ],
)
def test_tools_and_choice_are_written_flat_beside_those_of_the_provider(choice: Any, written: Any) -> None:
    with provider_server([reply()]) as server:
        model(server, tools=[{"type": "web_search"}]).bind_tools([add], tool_choice=choice).invoke("hi")

    bound, own = server.requests[0]["tools"]
    assert (bound["type"], bound["name"], bound["strict"], own) == ("function", "add", False, {"type": "web_search"})
    assert server.requests[0]["tool_choice"] == written


def test_without_tools_nothing_is_said_of_how_they_may_be_called() -> None:
    with provider_server([reply(), reply()]) as server:
        model(server, parallel_tool_calls=False).invoke("hi")
        model(server, parallel_tool_calls=False, tools=[{"type": "web_search"}]).invoke("hi")
    assert "parallel_tool_calls" not in server.requests[0]
    assert server.requests[1]["parallel_tool_calls"] is False


def test_a_turn_goes_back_as_it_came_with_its_answer() -> None:
    turn = [THOUGHT, SEARCH, says("Let me add.", phase="commentary"), calls()]
    with provider_server([reply(*turn), reply()]) as server:
        chat = model(server)
        message = chat.invoke("hi")
        chat.invoke([HumanMessage("hi"), message, ToolMessage("5", tool_call_id="c1")])

    answer = {"type": "function_call_output", "call_id": "c1", "output": "5"}
    assert server.requests[1]["input"] == [{"role": "user", "content": "hi"}, *turn, answer]


def test_an_agent_goes_on_after_the_call() -> None:
    with provider_server([reply(THOUGHT, calls()), reply(says("It is 5."))]) as server:
        result = create_agent(model(server), [add]).invoke("2 + 3?")

    assert [message.text for message in result["messages"]] == ["2 + 3?", "", "5", "It is 5."]
    assert [item.get("type") for item in server.requests[1]["input"]][1:] == [
        "reasoning",
        "function_call",
        "function_call_output",
    ]


STREAM = [
    event("created", response={"id": "resp_1", "status": "in_progress", "output": []}),
    event("output_item.added", output_index=0, item={"type": "reasoning", "id": "rs_1", "summary": []}),
    event("output_item.done", output_index=0, item=THOUGHT),
    event("output_item.added", output_index=1, item={**says(), "content": [], "status": "in_progress"}),
    event("output_text.delta", output_index=1, item_id="msg_1", content_index=0, delta="so "),
    event("output_text.delta", output_index=1, item_id="msg_1", content_index=0, delta="be it"),
    event("output_item.done", output_index=1, item=says("so be it")),
    event("output_item.added", output_index=2, item=calls("", status="in_progress")),
    event("function_call_arguments.delta", output_index=2, item_id="fc_1", delta='{"a": 2,'),
    event("function_call_arguments.delta", output_index=2, item_id="fc_1", delta=' "b": 3}'),
    event("function_call_arguments.done", output_index=2, item_id="fc_1", arguments='{"a": 2, "b": 3}'),
    event("output_item.done", output_index=2, item=calls()),
    event("completed", response=reply(THOUGHT, says("so be it"), calls())),
]


def test_a_stream_adds_up_to_the_reply() -> None:
    with provider_server([Stream(STREAM), reply(THOUGHT, says("so be it"), calls())]) as server:
        chat = model(server).bind_tools([add])
        pieces = list(chat.stream("hi"))
        whole = chat.invoke("hi")
    summed = total(pieces)

    assert server.requests[0]["stream"] is True
    assert [piece.content for piece in pieces if piece.content] == ["so ", "be it"]
    assert summed.to_message().content == whole.content
    assert summed.tool_calls == whole.tool_calls
    assert (summed.finish_reason, summed.usage_metadata) == (whole.finish_reason, whole.usage_metadata)


def test_thoughts_of_a_reply_that_was_streamed_in_a_graph_go_back_too() -> None:
    with provider_server([Stream(STREAM), reply()]) as server:
        graph = StateGraph(MessagesState).add_node("chat", model(server)).add_edge(START, "chat").compile()
        items = list(graph.stream("hi", stream_mode=["messages", "values"]))
        model(server).invoke([*items[-1][1]["messages"], ToolMessage("5", tool_call_id="c1")])

    assert THOUGHT in server.requests[1]["input"]


@pytest.mark.parametrize("options", [{"api": "completions"}, {"api": "responses", "input": "x"}])
def test_options_that_cannot_be_meant_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        ChatOpenAI("m", **options)


def test_the_api_is_an_option_of_init_chat_model() -> None:
    with provider_server([reply()]) as server:
        init_chat_model("openai:m", api="responses", api_key="k", base_url=f"{server.url}/v1").invoke("hi")

    assert server.paths == ["/v1/responses"]


def test_a_reply_that_was_cut_off_says_so() -> None:
    cut = reply(
        calls('{"a": 2', status="incomplete"), status="incomplete", incomplete_details={"reason": "max_output_tokens"}
    )
    message = ask([cut])

    assert message.finish_reason == "length"
    assert [call["id"] for call in message.invalid_tool_calls] == ["c1"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (reply(status="failed", error={"code": "server_error", "message": "The model broke."}), "The model broke"),
        ({"object": "list"}, "a reply without output"),
        (Served({"error": {"message": "Unknown parameter: 'tpo_p'."}}, status=400), "tpo_p"),
    ],
)
def test_what_is_no_reply_is_an_error(answer: Any, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        ask([answer])


@pytest.mark.parametrize(
    "frame",
    [
        event("failed", response=reply(status="failed", error={"code": "server_error", "message": "overloaded"})),
        {"type": "error", "code": "server_error", "message": "overloaded", "param": None},
        {"type": "error", "error": {"code": "server_error", "message": "overloaded"}},
    ],
)
def test_a_failure_inside_a_stream_is_an_error(frame: Item) -> None:
    with provider_server([Stream([*STREAM[:6], frame])]) as server, pytest.raises(ModelError, match="overloaded"):
        list(model(server).stream("hi"))
