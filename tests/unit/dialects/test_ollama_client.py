"""What Ollama's client returns is answered as it is, and the client sends what is answered."""

from __future__ import annotations

import base64
import importlib
import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from support.provider_server import Payload, ProviderServer, Served, provider_server
from surehand import ToolNode, ValidationNode, run_tool_calls, tool
from surehand.dialects import ollama_chat
from surehand.messages import HumanMessage, ToolMessage

Fields = dict[str, Any]

# The signatures of the client hold parts that a strict checker does not know.
ollama: Any = importlib.import_module("ollama")

ASK: Fields = {"role": "user", "content": "2 + 3?"}
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(300)).decode()


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def call(**arguments: Any) -> Fields:
    return {"id": "call_1", "function": {"index": 0, "name": "add", "arguments": arguments}}


def part(*, reason: str | None = "stop", **message: Any) -> Fields:
    end: Fields = {"done_reason": reason, "prompt_eval_count": 3, "eval_count": 4} if reason else {}
    return {"model": "m", "message": {"role": "assistant", "content": "", **message}, "done": bool(reason), **end}


def lines(parts: Sequence[Fields]) -> Served:
    return Served("".join(json.dumps(one) + "\n" for one in parts).encode(), content_type="application/x-ndjson")


@contextmanager
def talking(*answers: Payload | Served) -> Generator[tuple[Any, ProviderServer], None, None]:
    """A client of a server that gives these answers."""
    with provider_server(answers) as server, ollama.Client(host=server.url, trust_env=False, timeout=5) as client:
        yield client, server


def test_loop_over_chat_answers_each_call_in_its_form() -> None:
    asking = part(thinking="hm", tool_calls=[call(a=2, b=3), call(a=1)])
    messages: list[Any] = [ASK]
    node = ToolNode([add])
    with talking(asking, part(content="5")) as (client, server):
        for _ in range(2):
            response = client.chat("m", messages=messages)
            messages.append(response.message)
            if response.message.tool_calls:
                messages += node.invoke(messages)

    assistant, first, second = server.requests[1]["messages"][1:]
    assert (assistant["thinking"], len(assistant["tool_calls"])) == ("hm", 2)
    assert first == {"role": "tool", "content": "5", "tool_name": "add"}
    assert second["tool_name"] == "add"
    assert "b" in second["content"]


def test_whole_response_is_answered() -> None:
    with talking(part(tool_calls=[call(a=2, b=3)])) as (client, _):
        response = client.chat("m", messages=[ASK])

    [answer] = run_tool_calls(response, [add])
    [validated] = ValidationNode([add]).invoke([ASK, response])

    assert answer == {"role": "tool", "content": "5", "tool_name": "add"}
    assert json.loads(validated["content"]) == {"a": 2, "b": 3}
    assert ollama_chat.read_reply(response).usage_metadata == {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}


def test_reply_that_was_cut_off_runs_nothing() -> None:
    with talking(part(reason="length", tool_calls=[call(a=2, b=3)])) as (client, _):
        [answer] = run_tool_calls(client.chat("m", messages=[ASK]), [add])

    assert answer["content"] != "5"


def test_calls_of_a_stream_are_as_many_as_came_though_the_client_drops_their_ids() -> None:
    parts = [part(reason=None, thinking="hm"), *[part(reason=None, tool_calls=[call(a=2, b=3)])] * 2, part()]
    stream = ollama_chat.OllamaStream()
    with talking(lines(parts)) as (client, _):
        for one in client.chat("m", messages=[ASK], stream=True):
            stream.feed(one)

    message = stream.finish()
    answers = run_tool_calls(message, [add])

    assert [answer.content for answer in answers] == ["5", "5"]
    assert message.additional_kwargs == {"thinking": "hm"}
    assert message.finish_reason == "stop"


def test_whatever_is_written_is_sent() -> None:
    message = ollama_chat.read_reply(part(tool_calls=[{"function": {"name": "add", "arguments": "{"}}]))
    image = {"type": "image", "data": PNG, "mimeType": "image/png"}
    answer = ToolMessage("5", tool_call_id=message.tool_calls[0]["id"])
    written = ollama_chat.write_messages([HumanMessage(["see", image]), message, answer])
    with talking(part(content="ok")) as (client, server):
        client.chat("m", messages=written)

    sent = server.requests[0]["messages"]
    assert sent[0] == {"role": "user", "content": "see", "images": [PNG]}
    assert sent[1]["tool_calls"] == [{"function": {"name": "add", "arguments": {"_raw": "{"}}}]
    assert sent[2] == {"role": "tool", "content": "5", "tool_name": "add"}
