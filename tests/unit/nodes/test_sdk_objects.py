"""The objects of the official SDKs, fetched over HTTP, are answered in the form that their API takes."""

from __future__ import annotations

from typing import Any

import anthropic
import openai
import pytest

from support.data import committed_data, read_lines
from support.provider_server import Served, Stream, provider_server
from support.recordings import exception_of
from surehand import Tool, ToolNode, run_tool_calls
from surehand.dialects import anthropic_messages, openai_chat, openai_responses

Record = dict[str, Any]

FOLDER = committed_data() / "provider_recordings"
OURS = {"function", "tool_use", "custom"}


def recorded(api: str, file: str = "responses.jsonl") -> list[Record]:
    """Recordings with calls of ours, all of which have names and ids."""
    records = [record for record in read_lines(FOLDER / file) if record["api"] == api and not exception_of(record)]
    return [record for record in records if ids_of(record) and all(ids_of(record)) and not has_choices(record)]


def ids_of(record: Record) -> list[str]:
    return [call["id"] for call in record["tool_calls"] if call["kind"] in OURS and call["name"]]


def has_choices(record: Record) -> bool:
    return len(record.get("response", {}).get("choices", ())) > 1


def tools_of(record: Record) -> list[Tool]:
    names = dict.fromkeys(call["name"] for call in record["tool_calls"] if call["kind"] in OURS and call["name"])
    schema: Record = {"type": "object", "properties": {}, "additionalProperties": True}
    return [Tool.from_json_schema(name, schema, done, description="Answers.") for name in names]


def done(**arguments: Any) -> str:
    return f"done with {len(arguments)}"


def test_a_response_is_answered_with_output_items() -> None:
    records = recorded("openai.responses")
    with (
        provider_server(Served(record["response"]) for record in records) as server,
        openai.OpenAI(api_key="k", base_url=server.url, max_retries=0) as client,
    ):
        for record in records:
            response = client.responses.create(model="m", input="hi")
            answers = run_tool_calls(response, tools_of(record))

            assert [answer["call_id"] for answer in answers] == ids_of(record), record["source"]
            assert {answer["type"] for answer in answers} <= {"function_call_output", "custom_tool_call_output"}


def test_input_items_with_the_output_appended_are_answered_and_can_be_sent_on() -> None:
    records = recorded("openai.responses")
    with (
        provider_server(Served(record["response"]) for record in records) as server,
        openai.OpenAI(api_key="k", base_url=server.url, max_retries=0) as client,
    ):
        for record in records:
            items: list[Any] = [{"role": "user", "content": "hi"}]
            items += client.responses.create(model="m", input=items).output
            answers = ToolNode(tools_of(record)).invoke(items)
            read = openai_responses.read_messages([*items, *answers])
            _, written = openai_responses.write_messages(read)

            assert [answer["call_id"] for answer in answers] == ids_of(record), record["source"]
            assert ToolNode(tools_of(record)).invoke([*items, *answers]) == []
            assert [item for item in written if item.get("type") in OUTPUTS] == answers


OUTPUTS = ("function_call_output", "custom_tool_call_output")


def test_events_of_a_stream_are_read_as_their_json_is() -> None:
    records = recorded("openai.responses", "streams.jsonl")
    with (
        provider_server(Stream(record["events"]) for record in records) as server,
        openai.OpenAI(api_key="k", base_url=server.url, max_retries=0) as client,
    ):
        for record in records:
            stream = openai_responses.ResponseStream()
            for event in client.responses.create(model="m", input="hi", stream=True):
                stream.feed(event)

            assert [call["id"] for call in stream.finish().tool_calls] == ids_of(record), record["source"]


@pytest.mark.parametrize("form", ["completion", "message"])
def test_a_completion_and_its_message_are_answered_with_tool_messages(form: str) -> None:
    records = recorded("openai.chat")
    with (
        provider_server(Served(record["response"]) for record in records) as server,
        openai.OpenAI(api_key="k", base_url=server.url, max_retries=0) as client,
    ):
        for record in records:
            completion = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
            given: Any = completion if form == "completion" else completion.choices[0].message
            answers = run_tool_calls(given, tools_of(record))
            history = openai_chat.read_messages([{"role": "user", "content": "hi"}, given, *answers])

            assert {answer["role"] for answer in answers} == {"tool"}
            if len(set(ids_of(record))) == len(ids_of(record)):
                assert [answer["tool_call_id"] for answer in answers] == ids_of(record), record["source"]
                assert len(openai_chat.write_messages(history)) == len(answers) + 2


def test_a_message_of_anthropics_is_answered_with_a_message_of_results() -> None:
    records = recorded("anthropic.messages")
    with (
        provider_server(Served(record["response"]) for record in records) as server,
        anthropic.Anthropic(api_key="k", base_url=server.url, max_retries=0) as client,
    ):
        for record in records:
            message = client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}])
            (answer,) = run_tool_calls(message, tools_of(record))
            history = anthropic_messages.read_messages([{"role": "user", "content": "hi"}, message, answer])

            assert answer["role"] == "user"
            assert [block["tool_use_id"] for block in answer["content"]] == ids_of(record), record["source"]
            assert anthropic_messages.write_messages(history)[1][-1]["content"] == answer["content"]
