"""What boto3 returns is answered as it is, and boto3 sends what is answered."""

from __future__ import annotations

import base64
import importlib
import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

from support.event_stream import converse_stream, invoke_stream
from support.provider_server import Payload, ProviderServer, Served, provider_server
from surehand import ToolNode, ValidationNode, run_tool_calls, tool
from surehand.dialects import anthropic_messages, bedrock_converse
from surehand.dialects.bedrock_invoke import InvokeStream
from surehand.messages import AIMessage, HumanMessage, ToolMessage, convert_to_messages

Fields = dict[str, Any]

# boto3 makes its classes as it runs, and no checker knows them.
boto3: Any = importlib.import_module("boto3")
botocore: Any = importlib.import_module("botocore")
exceptions: Any = importlib.import_module("botocore.exceptions")

PNG = b"\x89PNG\r\n\x1a\n"
TOOLS: Fields = {"tools": [{"toolSpec": {"name": "add", "inputSchema": {"json": {"type": "object"}}}}]}
ASK: Fields = {"role": "user", "content": [{"text": "2 + 3?"}]}


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def look() -> list[Fields]:
    """Take a picture."""
    return [{"type": "image", "data": base64.b64encode(PNG).decode(), "mimeType": "image/png"}]


def use(call_id: str, name: str = "add", **args: Any) -> Fields:
    return {"toolUse": {"toolUseId": call_id, "name": name, "input": args}}


def reply(*content: Fields, reason: str = "tool_use") -> Fields:
    message = {"role": "assistant", "content": list(content)}
    usage = {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}
    return {"output": {"message": message}, "stopReason": reason, "usage": usage, "metrics": {"latencyMs": 1}}


STREAM: list[Fields] = [
    {"messageStart": {"role": "assistant"}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "I add."}}},
    {"contentBlockStop": {"contentBlockIndex": 0}},
    {"contentBlockStart": {"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "a", "name": "add"}}}},
    {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"toolUse": {"input": '{"a": 2,'}}}},
    {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"toolUse": {"input": ' "b": 3}'}}}},
    {"contentBlockStop": {"contentBlockIndex": 1}},
    {"messageStop": {"stopReason": "tool_use"}},
    {"metadata": {"usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}, "metrics": {"latencyMs": 1}}},
]


def client_of(server: ProviderServer) -> Any:
    session = boto3.session.Session(
        aws_access_key_id="AKIDEXAMPLE", aws_secret_access_key="none", region_name="eu-north-1"
    )
    config = botocore.config.Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=5, proxies={})
    return session.client("bedrock-runtime", endpoint_url=server.url, config=config)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Makes a client of a server that gives these answers; nothing of the machine's own settings is read."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    servers: list[Any] = []
    clients: list[Any] = []

    def start(*answers: Served | Payload) -> tuple[Any, ProviderServer]:
        servers.append(provider_server(answers))
        server = servers[-1].__enter__()
        clients.append(client_of(server))
        return clients[-1], server

    yield start
    for client in clients:
        client.close()
    for server in servers:
        server.__exit__(None, None, None)


def test_loop_over_converse_answers_each_call_in_its_form(serve: Any) -> None:
    client, server = serve(
        reply({"text": "I add."}, use("x.1:0", a=2, b=3), use("y", a=1)), reply({"text": "5"}, reason="end_turn")
    )
    messages: list[Any] = [ASK]
    node = ToolNode([add])

    for _ in range(2):
        response = client.converse(modelId="m", messages=messages, toolConfig=TOOLS)
        messages.append(response["output"]["message"])
        if response["stopReason"] == "tool_use":
            messages += node.invoke(messages)

    first, second = (block["toolResult"] for block in server.requests[1]["messages"][2]["content"])
    assert first == {"toolUseId": "x.1:0", "content": [{"text": "5"}], "status": "success"}
    assert (second["toolUseId"], second["status"]) == ("y", "error")
    assert "b" in second["content"][0]["text"]


def test_whole_response_is_answered(serve: Any) -> None:
    client, _ = serve(reply(use("a", a=2, b=3)))
    response = client.converse(modelId="m", messages=[ASK], toolConfig=TOOLS)

    [answer] = run_tool_calls(response, [add])
    [validated] = ValidationNode([add]).invoke([ASK, response])

    assert answer["content"][0]["toolResult"]["content"] == [{"text": "5"}]
    assert json.loads(validated["content"][0]["toolResult"]["content"][0]["text"]) == {"a": 2, "b": 3}


def test_reply_that_was_cut_off_runs_nothing(serve: Any) -> None:
    client, _ = serve(reply(use("a", a=2, b=3), reason="max_tokens"))

    [answer] = run_tool_calls(client.converse(modelId="m", messages=[ASK], toolConfig=TOOLS), [add])

    assert answer["content"][0]["toolResult"]["status"] == "error"


def test_image_arrives_as_the_bytes_it_was(serve: Any) -> None:
    client, server = serve(reply(use("a", "look")), reply({"text": "a"}))
    messages: list[Any] = [ASK, client.converse(modelId="m", messages=[ASK], toolConfig=TOOLS)["output"]["message"]]
    messages += run_tool_calls(messages[-1], [look])

    _, again = bedrock_converse.write_messages(bedrock_converse.read_messages(messages))
    client.converse(modelId="m", messages=again, toolConfig=TOOLS)

    [block] = server.requests[1]["messages"][2]["content"][0]["toolResult"]["content"]
    assert block == {"image": {"format": "png", "source": {"bytes": "iVBORw0KGgo="}}}


def test_whatever_is_written_passes_boto3s_own_checks(serve: Any) -> None:
    client, _ = serve(reply({"text": "ok"}))
    system, messages = bedrock_converse.write_messages(
        convert_to_messages(
            [
                {"role": "system", "content": "s"},
                AIMessage(
                    [{"type": "thinking", "thinking": "t"}, "x"], tool_calls=[{"id": "", "name": "", "args": "{"}]
                ),
                HumanMessage([{"type": "mystery"}, {"type": "image_url", "image_url": {"url": "https://x/y"}}]),
            ]
        )
    )

    response = client.converse(modelId="m", system=system, messages=messages, toolConfig=TOOLS)

    assert bedrock_converse.read_reply(response).text == "ok"


def test_stream_is_put_together(serve: Any) -> None:
    client, _ = serve(converse_stream(STREAM))
    stream = bedrock_converse.ConverseStream()
    for event in client.converse_stream(modelId="m", messages=[ASK], toolConfig=TOOLS)["stream"]:
        stream.feed(event)

    message = stream.finish()
    [answer] = run_tool_calls(message, [add])

    assert message.text == "I add."
    assert isinstance(answer, ToolMessage)
    assert (answer.tool_call_id, answer.content) == ("a", "5")


@pytest.mark.parametrize("count", range(len(STREAM)))
def test_stream_that_breaks_off_runs_no_call_that_was_not_complete(serve: Any, count: int) -> None:
    events = [*STREAM[:count], {"modelStreamErrorException": {"message": "broke off"}}]
    client, _ = serve(converse_stream(events))
    frames = iter(client.converse_stream(modelId="m", messages=[ASK], toolConfig=TOOLS)["stream"])
    stream = bedrock_converse.ConverseStream()
    for _ in range(count):
        stream.feed(next(frames))

    with pytest.raises(exceptions.EventStreamError, match="broke off"):
        next(frames)
    message = stream.finish()
    assert message.finish_reason == ("tool_calls" if count > 7 else None)
    whole = [call for call in message.tool_calls if call["id"] not in {bad["id"] for bad in message.invalid_tool_calls}]
    assert [call["args"] for call in whole] == ([{"a": 2, "b": 3}] if count > 5 else [])


def test_anthropics_body_is_read_through_invoke_model(serve: Any) -> None:
    body: Fields = {
        "id": "msg_bdrk_1", "type": "message", "role": "assistant", "model": "claude", "stop_reason": "tool_use",
        "content": [{"type": "tool_use", "id": "toolu_bdrk_1", "name": "add", "input": {"a": 2, "b": 3}}],
        "usage": {"input_tokens": 1, "output_tokens": 2},
    }  # fmt: skip
    client, _ = serve(body)

    response = json.loads(client.invoke_model(modelId="m", body=json.dumps({"messages": []}))["body"].read())

    assert run_tool_calls(response, [add]) == [
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_bdrk_1", "content": "5"}]}
    ]


def test_anthropics_stream_is_read_through_invoke_model(serve: Any) -> None:
    events: list[Fields] = [
        {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 1}}},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "id": "t", "name": "add", "input": {}},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": '{"a": 2, "b": 3}'},
        },
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]
    client, _ = serve(invoke_stream(events))
    stream = InvokeStream()
    for event in client.invoke_model_with_response_stream(modelId="m", body="{}")["body"]:
        stream.feed(event)

    [answer] = run_tool_calls(stream.finish(), [add])

    assert (answer.tool_call_id, answer.content) == ("t", "5")
    assert anthropic_messages.write_answers([answer])[0]["content"][0]["content"] == "5"
