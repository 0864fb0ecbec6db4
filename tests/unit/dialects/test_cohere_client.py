"""What Cohere's client returns is answered as it is, and the client sends what is answered."""

from __future__ import annotations

import importlib
import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import httpx

from support.provider_server import Payload, ProviderServer, Stream, provider_server
from surehand import ToolNode, ValidationNode, run_tool_calls, tool
from surehand.dialects import cohere_chat
from surehand.messages import ToolMessage

Fields = dict[str, Any]

# The client imports its parts as they are asked for, and no checker knows them.
cohere: Any = importlib.import_module("cohere")

ASK: Fields = {"role": "user", "content": "2 + 3?"}
USAGE: Fields = {
    "billed_units": {"input_tokens": 1, "output_tokens": 2},
    "tokens": {"input_tokens": 3, "output_tokens": 4},
}


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def call(call_id: str, arguments: str) -> Fields:
    return {"id": call_id, "type": "function", "function": {"name": "add", "arguments": arguments}}


def reply(reason: str = "TOOL_CALL", **message: Any) -> Fields:
    return {"id": "r", "finish_reason": reason, "message": {"role": "assistant", **message}, "usage": USAGE}


@contextmanager
def talking(*answers: Payload | Stream) -> Generator[tuple[Any, ProviderServer], None, None]:
    """A client of a server that gives these answers."""
    with provider_server(answers) as server, httpx.Client(trust_env=False, timeout=5) as http:
        yield cohere.ClientV2(api_key="none", base_url=server.url, httpx_client=http), server


def test_loop_over_chat_answers_each_call_in_its_form() -> None:
    asking = reply(tool_plan="I add.", tool_calls=[call("x", '{"a": 2, "b": 3}'), call("y", '{"a": 1}')])
    messages: list[Any] = [ASK]
    node = ToolNode([add])
    with talking(asking, reply("COMPLETE", content=[{"type": "text", "text": "5"}])) as (client, server):
        for _ in range(2):
            response = client.chat(model="m", messages=messages)
            messages.append(response.message)
            if response.message.tool_calls:
                messages += node.invoke(messages)

    assistant, first, second = server.requests[1]["messages"][1:]
    assert (assistant["tool_plan"], len(assistant["tool_calls"])) == ("I add.", 2)
    assert first == {"role": "tool", "tool_call_id": "x", "content": "5"}
    assert second["tool_call_id"] == "y"
    assert "b" in second["content"]


def test_whole_response_is_answered() -> None:
    with talking(reply(tool_plan="p", tool_calls=[call("x", '{"a": 2, "b": 3}')])) as (client, _):
        response = client.chat(model="m", messages=[ASK])

    message = cohere_chat.read_reply(response)

    assert run_tool_calls(response, [add]) == [{"role": "tool", "tool_call_id": "x", "content": "5"}]
    assert json.loads(ValidationNode([add]).invoke([ASK, response])[0]["content"]) == {"a": 2, "b": 3}
    assert message.usage_metadata == {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    assert message.additional_kwargs["tool_plan"] == "p"


def test_reply_that_was_cut_off_runs_nothing() -> None:
    with talking(reply("MAX_TOKENS", tool_calls=[call("x", '{"a": 2, "b": 3}')])) as (client, _):
        [answer] = run_tool_calls(client.chat(model="m", messages=[ASK]), [add])

    assert answer["content"] != "5"


def test_message_of_the_client_without_a_plan_is_cohere() -> None:
    with talking(reply("COMPLETE", content=[{"type": "thinking", "thinking": "hm"}])) as (client, _):
        message = client.chat(model="m", messages=[ASK]).message

    assert cohere_chat.knows(message, message.model_dump(exclude_none=True))


def test_stream_is_put_together() -> None:
    events: list[Fields] = [
        {
            "type": "message-start",
            "id": "r",
            "delta": {"message": {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": []}},
        },
        {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": "I add."}}},
        {"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": call("x", "")}}},
        {
            "type": "tool-call-delta",
            "index": 0,
            "delta": {"message": {"tool_calls": {"function": {"arguments": '{"a": 2,'}}}},
        },
        {
            "type": "tool-call-delta",
            "index": 0,
            "delta": {"message": {"tool_calls": {"function": {"arguments": ' "b": 3}'}}}},
        },
        {"type": "tool-call-end", "index": 0},
        {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL", "usage": USAGE}},
    ]
    stream = cohere_chat.CohereStream()
    with talking(Stream(events)) as (client, _):
        for event in client.chat_stream(model="m", messages=[ASK]):
            stream.feed(event)

    message = stream.finish()
    [answer] = run_tool_calls(message, [add])

    assert isinstance(answer, ToolMessage)
    assert (answer.tool_call_id, answer.content) == ("x", "5")
    assert message.additional_kwargs == {"tool_plan": "I add."}
    assert message.finish_reason == "tool_calls"


def test_whatever_is_written_is_sent() -> None:
    document = {"type": "document", "document": {"id": "1", "data": {"n": 5}}}
    message = cohere_chat.read_reply(reply(tool_plan="p", tool_calls=[call("x", "{")]))
    written = cohere_chat.write_messages([message, ToolMessage([document], tool_call_id="x")])
    with talking(reply("COMPLETE", content=[])) as (client, server):
        client.chat(model="m", messages=written)

    assert server.requests[0]["messages"] == written
